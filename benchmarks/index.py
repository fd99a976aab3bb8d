"""The index: how fast it is built, added to and asked, and what it takes, beside its peers on the same items.

    python -m benchmarks.collection docs.parquet --docs 1000000 --bytes 2000 --template-share 0
    python -m benchmarks.index docs.parquet
    python -m benchmarks.collection pages.parquet --docs 1000000 --template-share 0.05 --template-similarity 0.6
    python -m benchmarks.index pages.parquet --only query
    python -m benchmarks.index docs.parquet --peers --items 90000        (in the environment of `make bench`)

Every hundredth document is held back and asked for; the others are stored. Times of single queries and additions are
those of calls from Python with the text as a string, one thread; p50 and p99 of wall time, and beside them the CPU time
of the process for each, which a busy machine does not change. `query_many` uses all cores. Additions wait for the disk
only where that is said. Peers keep everything in memory; only gaoya verifies, on sketches.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

# A query by text, and an insertion of (id, text).
Calls = tuple[Callable[[Any], Any], Callable[[Any], Any]]
HELD_BACK = 100
QUERIES = 5_000
SINGLE = 5_000  # additions one by one
INSERTED = 2_000  # beside peers
K, BANDS, ROWS, SHINGLE = 128, 16, 8, 5


def documents(path: Path, most: int | None) -> Iterator[str]:
    count = 0
    for batch in pq.ParquetFile(path).iter_batches(10_000, columns=["text"]):
        for text in batch.column(0).to_pylist():
            yield text
            count += 1
            if count == most:
                return


def split(path: Path, most: int | None) -> tuple[list[str], list[str]]:
    stored: list[str] = []
    asked: list[str] = []
    for number, text in enumerate(documents(path, most)):
        (asked if number % HELD_BACK == 0 else stored).append(text)
    return stored, asked


def each(call: Callable[[Any], Any], arguments: list[Any]) -> tuple[float, float, float]:
    """p50 and p99 of the wall time in µs, and the mean CPU time."""
    times = np.empty(len(arguments))
    before = time.process_time()
    for number, argument in enumerate(arguments):
        begun = time.perf_counter()
        call(argument)
        times[number] = time.perf_counter() - begun
    cpu = (time.process_time() - before) / max(1, len(arguments))
    return float(np.percentile(times, 50)) * 1e6, float(np.percentile(times, 99)) * 1e6, cpu * 1e6


def say(what: str, value: str) -> None:
    print(f"{what:<44}{value}", flush=True)


def told(found: tuple[float, float, float]) -> str:
    return f"p50 {found[0]:8.1f} µs   p99 {found[1]:9.1f} µs   CPU {found[2]:8.1f} µs each"


def rate(count: int, call: Callable[[], Any]) -> str:
    begun, cpu = time.perf_counter(), time.process_time()
    call()
    wall, used = time.perf_counter() - begun, time.process_time() - cpu
    return f"{count / wall:10,.0f} items/s   CPU {used / count * 1e6:6.1f} µs each   {wall:6.1f} s"


def opened(place: Path, what: str) -> Any:
    """An index, and what it took to open it."""
    from lookalike import Index

    begun, cpu = time.perf_counter(), time.process_time()
    index = Index.open(place)
    wall, used = time.perf_counter() - begun, time.process_time() - cpu
    say(what, f"{wall * 1e3:10,.1f} ms   CPU {used * 1e3:6.1f} ms, {len(index):,} items")
    return index


def ours(path: Path, folder: Path, options: argparse.Namespace) -> None:
    from lookalike import Index

    wanted = options.only or ["build", "add", "query"]
    place = folder / "seen.idx"
    if "build" in wanted:
        count = pq.read_metadata(path).num_rows if options.items is None else options.items
        Index.build(folder / "warm.idx", path, limit=2_000).close()
        say("build from Parquet", rate(count, lambda: Index.build(place, path, limit=options.items).close()))
        size = sum(file.stat().st_size for file in place.iterdir())
        say("on disk", f"{size / count:10,.1f} bytes an item")
        shutil.rmtree(place)
    stored, asked = split(path, options.items)
    queries = asked[:QUERIES]
    index = Index.create(place)
    index.add_many(enumerate(stored[:100], -100))
    say("add_many, then one sync", rate(len(stored), lambda: index.add_many(enumerate(stored))))
    index.close()
    # What was written is on the disk; what else is waiting to be is not the index's business. And the first one to open
    # an index after a change of the code may have to compile what only this needs, which takes half a second.
    with Index.create(folder / "small.idx") as small:
        small.add_many(enumerate(stored[:2_000]))
    Index.open(folder / "small.idx").close()
    os.sync()
    index = opened(place, "open")
    index.close()
    subprocess.run([sys.executable, "-c", f"import lookalike, os; lookalike.Index.open({str(place)!r}); os._exit(0)"])
    index = opened(place, "open, after one who did not close it")
    if "query" in wanted:
        index.query(queries[0])
        for _ in range(2):
            say("query, on disk", told(each(index.query, queries)))
        many = asked * (1 + 20_000 // len(asked))
        say("query_many, all cores", rate(len(many), lambda: index.query_many(many)))
        answers = [index.query(text) for text in queries]
        left = sum(1 for answer in answers if not answer.complete)
        say(
            "matches of a query",
            f"{np.mean([len(answer) for answer in answers]):10.2f}, {left:,} of {len(answers):,} capped",
        )
        say(
            "seen",
            told(each(lambda pair: index.seen(*pair), [(f"s{i}", text) for i, text in enumerate(queries[:2000])])),
        )
    if "add" in wanted:
        halves = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in stored[: SINGLE + 1]]
        single = [(f"n{i}", first + last) for i, ((first, _), (_, last)) in enumerate(pairwise(halves))]
        say("add, waiting for the disk", told(each(lambda pair: index.add(*pair), single[:300])))
        index.close()
        index = Index.open(place, durable=False)
        index.add("one more", "to load what it takes")
        say("add, without waiting", told(each(lambda pair: index.add(*pair), single[300:])))
    say("verify", str(index.verify(50)))
    index.close()


def shingled(text: str) -> list[str]:
    import re

    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))]


def gaoya(stored: list[str]) -> Calls:
    index = import_module("gaoya").minhash.MinHashStringIndex(
        hash_size=32, jaccard_threshold=0.8, num_bands=BANDS, band_size=ROWS, analyzer="word", lowercase=True,
        ngram_range=(SHINGLE, SHINGLE), id_container="smallvec",
    )  # fmt: skip
    index.par_bulk_insert_docs(list(range(len(stored))), stored)
    return index.query, lambda pair: index.insert_document(*pair)


def datasketch(stored: list[str], storage: dict[str, Any] | None = None) -> Calls:
    module, hashed = import_module("datasketch"), import_module("xxhash").xxh32_intdigest
    index = module.MinHashLSH(threshold=0.8, params=(BANDS, ROWS), num_perm=K, storage_config=storage)

    def sketch(text: str) -> Any:
        found = module.MinHash(num_perm=K, hashfunc=hashed)
        found.update_batch([each.encode() for each in set(shingled(text))])
        return found

    with index.insertion_session() as session:
        for number, text in enumerate(stored):
            session.insert(number, sketch(text), check_duplication=False)
    return lambda text: index.query(sketch(text)), lambda pair: index.insert(pair[0], sketch(pair[1]))


def rensa(stored: list[str]) -> Calls:
    module = import_module("rensa")
    index = module.RMinHashLSH(threshold=0.8, num_perm=K, num_bands=BANDS)

    def sketch(text: str) -> Any:
        found = module.RMinHash(num_perm=K, seed=42)
        found.update(shingled(text))
        return found

    for number, text in enumerate(stored):
        index.insert(number, sketch(text))
    return lambda text: index.query(sketch(text)), lambda pair: index.insert(pair[0], sketch(pair[1]))


def lookalike_in_memory(stored: list[str]) -> Calls:
    from lookalike import Index

    index = Index.create()
    index.add_many(enumerate(stored))
    return index.query, lambda pair: index.add(*pair)


def peers(path: Path, options: argparse.Namespace) -> None:
    stored, asked = split(path, options.items)
    asked = asked[:1_000]
    # As long as those that are there, but half of each is another's, so that nothing matches; and half as long.
    halves = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in stored[: 2 * INSERTED + 1]]
    texts = [first + second for (first, _), (_, second) in pairwise(halves[: INSERTED + 1])]
    shorter = [first + str(i) for i, (first, _) in enumerate(halves[INSERTED : 2 * INSERTED])]
    made = {}
    for name, make in (
        ("lookalike", lookalike_in_memory),
        ("gaoya", gaoya),
        ("rensa", rensa),
        ("datasketch", datasketch),
    ):
        begun = time.perf_counter()
        made[name] = make(stored)
        say(f"{name}, {len(stored):,} items in memory", f"{time.perf_counter() - begun:10.1f} s to fill")
    for _ in range(options.rounds):
        for name, (query, _) in made.items():
            say(f"{name}: query", told(each(query, asked)))
    for first, what, new in ((len(stored), "", texts), (2 * len(stored), ", half as long", shorter)):
        for name, (_, insert) in made.items():
            say(f"{name}: insertion{what}", told(each(insert, list(enumerate(new, first)))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--items", type=int, help="the first so many documents only")
    parser.add_argument("--only", nargs="+", choices=["build", "add", "query"])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the index goes meanwhile; beside the file by default")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    if options.peers:
        peers(options.path, options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder or options.path.resolve().parent) as folder:
        ours(options.path, Path(folder), options)


if __name__ == "__main__":
    main()
