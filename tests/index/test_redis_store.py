"""An index in Redis: one round trip, many who write at once, lost answers, a Redis that goes away, and damage."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from lookalike import Index, InputError, Match, OptionError, OutputError, UnavailableError
from lookalike.index.redis_link import RedisLink
from lookalike.index.redis_scripts import LOAD
from lookalike.index.redis_store import RedisStore
from tests.index.test_index import random_texts
from tests.redis_server import RedisServer, find_redis, free_port, wait_until

redis = pytest.importorskip("redis")


@pytest.fixture
def address(redis_server: RedisServer) -> str:
    return redis_server.address()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that may be killed: what it has acknowledged is on the disk."""
    if find_redis() is None:
        pytest.skip("there is no redis-server: make redis installs it")
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis", "--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.kill()


def link_of(index: Index) -> RedisLink:
    assert isinstance(index._store, RedisStore)
    return index._store._link


def keys_of(address: str, kind: str = "") -> tuple[Any, list[bytes]]:
    """A client, and the keys of an index of one kind."""
    asked = urlsplit(address)
    client = redis.Redis(port=asked.port)
    return client, sorted(client.keys(f"lookalike:{{{parse_qs(asked.query)['name'][0]}}}:{kind}*"))


def text_of(number: int) -> str:
    return f"text number {number} has words such as w{number} x{number} y{number} z{number} of its own"


def test_a_query_and_an_addition_are_one_round_trip_each(address: str) -> None:
    texts = random_texts(120)
    with Index.create(address, shingle="word:1", threshold=0.5) as index:
        index.add_many(enumerate(texts))

        def trips(call: Callable[[], Any]) -> int:
            before = link_of(index).round_trips
            call()
            return link_of(index).round_trips - before

        assert trips(lambda: index.query(texts[0])) == 1
        assert trips(lambda: index.query("nothing is like this at all")) == 1
        assert trips(lambda: index.add("new", "another text of some words")) == 1
        assert trips(lambda: index.query_many(texts[:100])) == 1
        assert trips(lambda: index.seen("seen", texts[0])) == 1
        assert trips(lambda: index.seen("new too", "words that nobody has used so far")) == 2
        # The ids are looked at first, so that nothing is stored where one is taken.
        assert trips(lambda: index.add_many((f"n{i}", text_of(i)) for i in range(100))) == 2


def test_buckets_stay_in_small_hashes_however_many_items_there_are(address: str) -> None:
    with Index.create(address, shingle="word:1", bands=4, rows=3) as index:
        index.add_many((i, text_of(i)) for i in range(700))
        client, hashes = keys_of(address, "b")
        assert {client.object("encoding", key) for key in hashes} == {b"listpack"}
        # Four bands and the ids; each begins with one hash, and the turns differ by one.
        assert abs(len(hashes) - 5 * (1 + 700 / LOAD)) <= 5
        assert max(client.hlen(key) for key in hashes) <= 4 * LOAD
        assert index.verify(50).sound
        client.close()


def test_a_bucket_of_many_items_is_kept_apart_and_shrinks_again(address: str) -> None:
    with Index.create(address, shingle="word:1", bands=4, rows=3) as index:
        index.add_many((i, "the same text for all") for i in range(50))
        index.add("other", "some words that are not the same")
        client, long = keys_of(address, "l")
        assert len(long) == 4
        assert [client.strlen(key) for key in long] == [250] * 4
        answer = index.query("the same text for all", examine=10)
        assert (len(answer), answer.compared, answer.left_out) == (10, 10, 40)
        assert len(index.query("the same text for all", examine=None)) == 50
        assert index.seen("more", "the same text for all") is not None
        index.replace(49, "other words for the last one")
        for i in range(49):
            index.remove(i)
        assert list(index) == ["other", 49]
        assert keys_of(address, "l")[1] == []
        assert index.verify().sound
        client.close()


def test_keys_of_others_stay(redis_server: RedisServer, tmp_path: Path) -> None:
    address = redis_server.address("mine")
    client = redis.Redis(port=redis_server.port)
    client.set("lookalike:{mine2}:index", "theirs")
    (tmp_path / "bad.jsonl").write_text('{"text": "one text of words"}\n{"text": 7}\n')
    with pytest.raises(InputError):
        Index.build(address, tmp_path / "bad.jsonl")
    # Nothing is left of what could not be built.
    assert keys_of(address)[1] == []
    assert client.get("lookalike:{mine2}:index") == b"theirs"
    Index.build(address, ["one text", "another text"]).close()
    with pytest.raises(OutputError, match="mine already holds an index"):
        Index.create(address)
    with pytest.raises(OutputError, match="mine already holds an index"):
        Index.build(address, ["one text", "another text"])
    with Index.open(address) as index:
        assert len(index) == 2
    client.close()


def test_what_cannot_be_opened_is_told(redis_server: RedisServer) -> None:
    with pytest.raises(InputError, match="no index at redis://127"):
        Index.open(redis_server.address())
    address = redis_server.address()
    Index.create(address, threshold=0.7).close()
    with pytest.raises(OptionError, match=r"threshold=0\.7, and 0\.8"):
        Index.open(address, threshold=0.8)
    with Index.open(address, readonly=True) as reader, pytest.raises(OutputError, match="read-only"):
        reader.add("a", "a text")
    with pytest.raises(InputError, match="closed"):
        len(reader)
    client, (name,) = keys_of(address)
    about = client.hget(name, "about")
    client.hset(name, "about", about.replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(InputError, match="cannot be read"):
        Index.open(address)
    client.close()


def test_another_version_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Index.create(address).close()
    monkeypatch.setattr("lookalike.index.redis_store.FORMAT", 2)
    with pytest.raises(InputError, match="version 1 of the format of an index in Redis, and this reads version 2"):
        Index.open(address)


def test_damage_is_an_error_and_never_a_wrong_answer(address: str) -> None:
    with Index.create(address, shingle="word:1") as index:
        index.add("a", "some words of a text", {"n": 1})
        client, (name,) = keys_of(address, "r")
        record = client.hget(name, "0")
        for byte in range(0, len(record), 7):
            client.hset(name, "0", record[:byte] + bytes([record[byte] ^ 4]) + record[byte + 1 :])
            with pytest.raises(InputError, match="damaged"):
                index.query("some words of a text")
            assert not index.verify().sound
        client.delete(name)
        with pytest.raises(InputError, match="noeviction"):
            index.query("some words of a text")
        client.hset(name, "0", record)
        assert index.query("some words of a text") == [Match("a", 1.0, {"n": 1})]
        client.delete(keys_of(address, "b")[1][0])
        assert "1 of 1 items cannot be found by all of their keys" in str(index.verify())
        client.close()


def test_an_index_that_is_lost_or_made_anew_is_told(redis_server: RedisServer, address: str) -> None:
    with Index.create(address, shingle="word:1") as index:
        index.add("a", "some words of a text")
        client, names = keys_of(address)
        client.delete(*names)
        for again in (False, True):
            if again:
                Index.create(address, shingle="word:2").close()
            calls: list[Callable[[], Any]] = [
                lambda: index.query("some words"), lambda: index.add("b", "a text"), lambda: len(index), index.check,
                lambda: list(index), lambda: index.replace("a", "a text"),
            ]  # fmt: skip
            for call in calls:
                with pytest.raises(UnavailableError, match="no longer exists"):
                    call()
        client.close()


def losing_answers(index: Index, monkeypatch: pytest.MonkeyPatch, each: int) -> list[int]:
    """Have every so-manieth answer get lost, after Redis has done what it was asked for; how many were."""
    link, lost, sent = link_of(index), [0], itertools.count(1)
    whole = link._sent

    def partly(commands: Any) -> list[Any]:
        found = whole(commands)
        if next(sent) % each == 0:
            lost[0] += 1
            raise redis.ConnectionError("the connection is lost")
        return found

    monkeypatch.setattr(link, "_sent", partly)
    return lost


def test_nothing_is_added_twice_where_answers_are_lost(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.create(address, shingle="word:1") as index:
        index.add("first", "the first text")
        lost = losing_answers(index, monkeypatch, 2)
        for i in range(20):
            index.add(i, text_of(i))
            assert index.seen(f"s{i}", text_of(1000 + i)) is None
            index.replace(f"r{i % 3}", text_of(2000 + i))
        index.add_many((f"m{i}", text_of(3000 + i)) for i in range(300))
        for i in range(0, 20, 2):
            index.remove(i)
        with pytest.raises(InputError, match="1 exists already"):
            index.add(1, text_of(1))
        assert lost[0] > 50
        monkeypatch.undo()
        assert len(index) == 1 + 10 + 20 + 3 + 300
        assert len(set(index)) == len(list(index)) == len(index)
        assert [match.id for match in index.query(text_of(2019))] == ["r1"]
        assert index.verify(20).sound


def test_scripts_that_redis_has_forgotten_are_told_again(redis_server: RedisServer, address: str) -> None:
    with Index.create(address, shingle="word:1") as index:
        index.add("a", "some words of a text")
        assert redis_server.ask("SCRIPT", "FLUSH").startswith(b"+OK")
        assert [match.id for match in index.query("some words of a text")] == ["a"]
        assert redis_server.ask("SCRIPT", "FLUSH").startswith(b"+OK")
        assert index.add_many((i, text_of(i)) for i in range(50)) == 50


def test_two_who_make_the_first_item_agree_on_what_items_are(address: str) -> None:
    with Index.create(address, threshold=0.9) as one, Index.open(address) as other:
        assert one.recipe is None
        assert other.recipe is None
        # Both look before either has said what the items are.
        description = other._store.description
        one.add("a", "a text of some words")
        assert description["recipe"] is None
        other._store._index.about, other._store._index.manifest["bands"] = (  # type: ignore[attr-defined]
            b"what it was before", 0,
        )  # fmt: skip
        with pytest.raises(InputError, match="index is one of text"):
            other.add("b", {1, 2, 3})
        other.add("b", "another text with words")
        assert list(one) == ["a", "b"]


ADDING = """
import sys
from lookalike import Index
from tests.index.test_redis_store import text_of
address, first = sys.argv[1], int(sys.argv[2])
with Index.open(address) as index:
    sys.stdin.readline()
    new = 0
    for number in range(300):
        index.add(first + number, text_of(first + number))
        new += index.seen(f"{first}-{number}", text_of(100_000 + number)) is None
        index.replace("contended", text_of(first + number))
    index.add_many((-first - number, text_of(first + 10_000 + number)) for number in range(300))
print(new)
"""


def test_processes_that_write_at_once_lose_nothing(address: str) -> None:
    Index.create(address, shingle="word:1").close()
    command = [sys.executable, "-c", ADDING, address]
    pipe = subprocess.PIPE
    writers = [subprocess.Popen([*command, str(1 + 1000 * n)], stdin=pipe, stdout=pipe, text=True) for n in range(2)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    new = [int(writer.communicate(timeout=60)[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    with Index.open(address) as index:
        # Of two equal items exactly one was new, whichever process came first.
        assert sum(new) == 300
        assert len(index) == len(set(index)) == 2 * 600 + 300 + 1
        assert all(f"1-{i}" in index or f"1001-{i}" in index for i in range(300))
        assert index.verify(20).sound


@pytest.mark.parametrize("measure", ["jaccard", "containment"])
def test_of_equal_items_of_several_threads_one_is_new(address: str, measure: str) -> None:
    with Index.create(address, measure=measure, threshold=0.8) as index:
        index.add("first", {1, 2, 3})
        together = threading.Barrier(6)

        def see(thread: int) -> int:
            new = 0
            for number in range(8):
                together.wait(60)
                item = {f"{number} {element}" for element in range(20)}
                new += index.seen(f"{thread}-{number}", item) is None
            return new

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(see, range(6))) == 8
        assert len(index) == 9


def test_readers_and_removers_beside_writers_see_whole_items(address: str) -> None:
    with Index.create(address, shingle="word:1") as index:
        index.add("first", "the first text")
        done = threading.Event()

        def churn() -> None:
            for number in range(150):
                index.add(number, text_of(number % 5))
                if number >= 5:
                    index.remove(number - 5)
            done.set()

        writer = threading.Thread(target=churn)
        writer.start()
        while not done.is_set():
            assert index.query("the first text")[0].id == "first"
            assert len(index.query(text_of(2))) <= 2
            assert set(index) >= {"first"}
        writer.join()
        assert sorted(each for each in index if each != "first") == list(range(145, 150))


def test_a_redis_that_is_killed_under_load_and_comes_back(own_server: RedisServer) -> None:
    address = own_server.address(retry="0.2")
    acknowledged: list[int] = []
    refused: list[str] = []
    reached, away, back, ended = (threading.Event() for _ in range(4))
    with Index.create(address, shingle="word:1") as index:

        def load() -> None:
            number = 0
            while not ended.is_set():
                try:
                    index.add(number, text_of(number))
                    acknowledged.append(number)
                    (back if refused else reached).set()
                except UnavailableError as error:
                    refused.append(str(error))
                    away.set()
                number += 1

        thread = threading.Thread(target=load)
        thread.start()
        assert reached.wait(60)
        own_server.kill()
        with pytest.raises(UnavailableError, match="cannot be reached"):
            while True:
                index.query("a text")
        with pytest.raises(UnavailableError):
            index.check()
        # Not before the retries of the load have come to nothing.
        assert away.wait(60)
        own_server.start()
        assert back.wait(60)
        ended.set()
        thread.join()
        assert {error.partition(":")[0] for error in refused} == {"redis"}
        assert all("127.0.0.1" in error and "\n" not in error and "try again" in error for error in refused)
        assert [number for number in acknowledged if number not in index] == []
        # What was sent and not answered may be there, but never twice.
        assert len(index) == len(set(index)) == len(list(index))
        assert index.verify(20).sound


def test_a_redis_without_memory_is_told_and_nothing_is_half_done(own_server: RedisServer) -> None:
    with Index.create(own_server.address(), shingle="word:1") as index:
        index.add("a", text_of(0))
        assert own_server.ask("CONFIG", "SET", "maxmemory", "1").startswith(b"+OK")
        for write in (index.add, index.seen, index.replace):
            with pytest.raises(UnavailableError, match="takes nothing at the moment"):
                write("b", text_of(1))
        assert [match.id for match in index.query(text_of(0))] == ["a"]
        assert own_server.ask("CONFIG", "SET", "maxmemory", "0").startswith(b"+OK")
        index.add("b", text_of(1))
        assert index.verify().sound


def test_a_cluster_whose_node_tells_where_the_keys_are(tmp_path: Path) -> None:
    if find_redis() is None:
        pytest.skip("there is no redis-server: make redis installs it")
    nodes, between = [], [free_port(), free_port()]
    try:
        for number in range(2):
            (tmp_path / str(number)).mkdir()
            own = ("--cluster-enabled", "yes", "--cluster-port", str(between[number]))
            nodes.append(RedisServer(tmp_path / str(number), *own))
        has, knows = nodes
        assert has.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383").startswith(b"+OK")
        assert knows.ask("CLUSTER", "MEET", "127.0.0.1", str(has.port), str(between[0])).startswith(b"+OK")
        wait_until(lambda: b"cluster_state:ok" in knows.ask("CLUSTER", "INFO"))
        with Index.create(knows.address("seen"), shingle="word:1") as index:
            index.add_many((i, text_of(i)) for i in range(100))
            index.remove(7)
            assert [match.id for match in index.query(text_of(8))] == [8]
            assert len(index) == 99
            assert index.verify(10).sound
    finally:
        for node in nodes:
            node.kill()


def test_nobody_is_let_in_without_the_password(own_server: RedisServer) -> None:
    address = own_server.address("seen")
    assert own_server.ask("CONFIG", "SET", "requirepass", "sesame").startswith(b"+OK")
    with pytest.raises(InputError, match="lets nobody in"):
        Index.create(address)
    with Index.create(address.replace("redis://", "redis://:sesame@"), shingle="word:1") as index:
        index.add("a", "a text of words")
        with pytest.raises(InputError) as told:
            index.add("a", "a text of words")
        assert "sesame" not in str(told.value) + index._store.name


def test_without_the_library_the_extra_is_named() -> None:
    program = "import sys; sys.modules['redis'] = None\nfrom lookalike import Index; Index.open('redis://h/0?name=x')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'lookalike[redis]'" in done.stderr


def test_an_index_goes_from_a_folder_to_redis_and_back(address: str, tmp_path: Path) -> None:
    texts = random_texts(90)
    with Index.create(tmp_path / "a.idx", shingle="word:1", threshold=0.5) as folder:
        folder.add_many((i, text, {"n": i}) for i, text in enumerate(texts))
        with Index.create(address, shingle="word:1", threshold=0.5) as index:
            assert index.merge(folder) == 90
            index.backup(tmp_path / "b.idx")
            assert index.query_many(texts) == folder.query_many(texts)
        with Index.open(tmp_path / "b.idx") as copy:
            assert copy.query_many(texts) == folder.query_many(texts)
            assert list(copy) == list(folder)


@pytest.mark.parametrize("options", [{"threshold": 0.6}, {"threshold": 0.6, "verify": "sketch"}], ids=str)
def test_the_nearest_items_are_those_of_an_index_in_memory(address: str, options: dict[str, Any]) -> None:
    texts = random_texts(150)
    with Index.create(address, shingle="word:1", **options) as index:
        plain = Index.create(shingle="word:1", **options)
        for each in (index, plain):
            each.add_many(enumerate(texts))
        for text in texts[::29]:
            answer = index.nearest(text, 5, recall=1.0)
            assert [match.similarity for match in answer] == [
                match.similarity for match in plain.nearest(text, 5, recall=1.0)
            ]
            assert len({match.id for match in answer}) == 5
            assert answer.recall == 1.0
