"""An index in Redis: bytes an item, times and round trips, beside datasketch in Redis on the same items.

    python -m benchmarks.collection docs.parquet --docs 20000 --bytes 2000 --template-share 0
    python -m benchmarks.index_redis docs.parquet
    python -m benchmarks.index_redis docs.parquet --peer          (in the environment of `make bench`)

It starts a Redis of its own for each contender, and asks it what it takes: `used_memory`, less what an empty one has.
Bytes are those of Redis, so they have its own overhead of every key and value in them. Every hundredth document is held
back and asked for; datasketch finds candidates and compares nothing, for which it would need the sketches, its pickled
`MinHash` for each item: that is what is measured as `with sketches`.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from benchmarks.index import BANDS, ROWS, K, each, rate, say, shingled, split, told

SINGLE = 2_000


@contextmanager
def redis_server() -> Iterator[tuple[Any, int]]:
    """A Redis without persistence: a client for it, and its port."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise SystemExit("there is no redis-server: make redis installs it")
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port = trial.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        client = import_module("redis").Redis(port=port)
        try:
            while not _answers(client):
                time.sleep(0.01)
            yield client, port
        finally:
            client.close()
            process.kill()
            process.wait()


def _answers(client: Any) -> bool:
    try:
        return bool(client.ping())
    except import_module("redis").ConnectionError:
        return False


def used(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


def calls(client: Any) -> int:
    return int(client.info("stats")["total_commands_processed"])


def in_redis(client: Any, count: int, call: Callable[[], Any]) -> str:
    """What a call costs Redis: time of its thread for each of so many items."""
    before = client.info("cpu")
    call()
    after = client.info("cpu")
    busy = sum(after[name] - before[name] for name in ("used_cpu_user", "used_cpu_sys"))
    return f"   Redis {busy / count * 1e6:6.0f} µs each"


def ours(stored: list[str], asked: list[str], verify: Literal["exact", "sketch"]) -> None:
    from lookalike import Index
    from lookalike.index.redis_store import RedisStore

    with redis_server() as (client, port):
        empty = used(client)
        index = Index.create(f"redis://127.0.0.1:{port}/0?name=bench", verify=verify)
        store = index._store
        assert isinstance(store, RedisStore)
        name = f"lookalike, verify={verify}"
        index.add("warm", "some text of some words to load what it takes")
        index.remove("warm")
        busy: list[str] = []
        filling = rate(
            len(stored), lambda: busy.append(in_redis(client, len(stored), lambda: index.add_many(enumerate(stored))))
        )
        say(f"{name}: add_many", filling + busy[0])
        taken, records = (used(client) - empty) / len(index), index.stats()["record_bytes"] / len(index)
        print(f"    {index.recipe}")
        say(f"{name}: in Redis", f"{taken:10,.0f} bytes an item, {taken - records:,.0f} of them beside the records")
        single = [(f"n{i}", text[: len(text) // 2] + str(i)) for i, text in enumerate(stored[:SINGLE])]
        seen = [(f"s{i}", text[len(text) // 2 :] + str(i)) for i, text in enumerate(stored[:SINGLE])]
        for what, call, arguments in (
            ("query", index.query, asked),
            ("add", lambda pair: index.add(*pair), single),
            ("seen, which adds", lambda pair: index.seen(*pair), seen),
        ):
            before, times = store._link.round_trips, []
            cost = in_redis(client, len(arguments), lambda: times.append(each(call, arguments)))  # noqa: B023 (called here)
            trips = (store._link.round_trips - before) / len(arguments)
            say(f"{name}: {what}", f"{told(times[0])}{cost}   {trips:.2f} round trips")
        many = asked * (1 + 5_000 // len(asked))
        say(f"{name}: query_many", rate(len(many), lambda: index.query_many(many)))
        index.close()


def peer(stored: list[str], asked: list[str]) -> None:
    """datasketch with its storage in Redis, which has no sketches, and what these take as pickled values."""
    module, hashed = import_module("datasketch"), import_module("xxhash").xxh32_intdigest
    with redis_server() as (client, port):
        empty = used(client)
        storage = {"type": "redis", "basename": b"bench", "redis": {"host": "127.0.0.1", "port": port}}
        index = module.MinHashLSH(threshold=0.8, params=(BANDS, ROWS), num_perm=K, storage_config=storage)

        def sketch(text: str) -> Any:
            found = module.MinHash(num_perm=K, hashfunc=hashed)
            found.update_batch([word.encode() for word in set(shingled(text))])
            return found

        def fill() -> None:
            with index.insertion_session() as session:
                for number, text in enumerate(stored):
                    session.insert(number, sketch(text), check_duplication=False)

        say("datasketch: insertion session", rate(len(stored), fill))
        taken = (used(client) - empty) / len(stored)
        say("datasketch: in Redis", f"{taken:10,.0f} bytes an item, no sketches, no rows")
        before = calls(client)
        times = each(lambda text: index.query(sketch(text)), asked)
        say("datasketch: query", f"{told(times)}   {(calls(client) - before) / len(asked):.1f} commands")
        single = [(f"n{i}", text[: len(text) // 2] + str(i)) for i, text in enumerate(stored[:SINGLE])]
        before = calls(client)
        times = each(lambda pair: index.insert(pair[0], sketch(pair[1])), single)
        say("datasketch: insertion", f"{told(times)}   {(calls(client) - before) / len(single):.1f} commands")
        before, some = used(client), stored[:SINGLE]
        client.mset({f"sketch:{number}": pickle.dumps(sketch(text)) for number, text in enumerate(some)})
        say("datasketch: with sketches", f"{taken + (used(client) - before) / len(some):10,.0f} bytes an item")
        before = used(client)
        rows = {f"row:{number}": pickle.dumps(set(map(hashed, shingled(text)))) for number, text in enumerate(some)}
        client.mset(rows)
        say("datasketch: with exact rows", f"{taken + (used(client) - before) / len(some):10,.0f} bytes an item")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--items", type=int, help="the first so many documents only")
    parser.add_argument("--peer", action="store_true", help="datasketch instead")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    stored, asked = split(options.path, options.items)
    if options.peer:
        peer(stored, asked)
        return
    ours(stored, asked, "exact")
    ours(stored, asked, "sketch")


if __name__ == "__main__":
    main()
