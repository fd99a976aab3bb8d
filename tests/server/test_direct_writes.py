"""Servers of an index in Redis: all workers write; while Redis is away they say so, and get over it by themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookalike import Client, Index, UnavailableError
from tests.redis_server import RedisServer, find_redis, wait_until
from tests.server.conftest import Server, serving
from tests.server.test_processes import children_of, text_of

pytest.importorskip("redis")


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that may be killed: what it has acknowledged is on the disk."""
    if find_redis() is None:
        pytest.skip("there is no redis-server: make redis installs it")
    server = RedisServer(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.kill()


def test_workers_of_two_servers_write_to_one_index(redis_server: RedisServer) -> None:
    address = redis_server.address()
    Index.create(address, threshold=0.6).close()
    with serving(address, "--workers", "2") as one, serving(address) as other:
        # Nobody but the workers, and no process that writes for them.
        assert len(children_of(one)) == 2
        new: list[bool] = []

        def see(server: Server, number: int) -> None:
            with Client(server.address) as index:
                new.extend(index.seen(f"{number}-{each}", text_of(each)) is None for each in range(20))
                index.add(number, text_of(1000 + number))

        threads = [threading.Thread(target=see, args=(one if n % 2 else other, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(new) == 20
        for server in (one, other):
            assert server.metric("lookalike_items") == 24
            assert server.ask("GET", "/v1/items/int:3").json == {"id": 3, "payload": None}
            assert server.ask("POST", "/v1/query", {"item": text_of(1003), "k": 1}).json["matches"][0]["id"] == 3
            assert server.ask("GET", "/v1/stats").json["items"] == 24
            assert server.ask("PUT", "/v1/items/int:3?replace=false", {"item": "a text of words"}).code == "exists"
        assert one.ask("DELETE", "/v1/items/int:3").json == {"removed": True}
        assert other.ask("DELETE", "/v1/items/int:3").status == 404
        batch = {"items": [{"id": f"b{n}", "item": text_of(2000 + n)} for n in range(5)]}
        assert other.ask("POST", "/v1/items/batch", batch).json == {"results": [{"stored": True}] * 5}
        assert one.metric("lookalike_acknowledged_writes_total") > 0
        assert (one.end(), other.end()) == (0, 0)
        assert one.stderr.read() == other.stderr.read() == ""


def test_while_redis_is_away_answers_are_503_and_then_all_is_well(own_server: RedisServer) -> None:
    address = own_server.address(retry="0.2")
    Index.create(address, threshold=0.6).close()
    with serving(address) as server, Client(server.address) as client:
        acknowledged: list[int] = []
        reached, away, back, ended = (threading.Event() for _ in range(4))
        refused: list[UnavailableError] = []

        def load() -> None:
            number = 0
            with Client(server.address) as index:
                while not ended.is_set():
                    try:
                        index.add(number, text_of(number))
                        acknowledged.append(number)
                        (back if refused else reached).set()
                    except UnavailableError as error:
                        refused.append(error)
                        away.set()
                    number += 1

        thread = threading.Thread(target=load)
        thread.start()
        assert reached.wait(60)
        own_server.kill()
        asked = [
            ("POST", "/v1/query", {"item": "a text of words"}), ("POST", "/v1/seen", {"id": "s", "item": "some words"}),
            ("PUT", "/v1/items/a", {"item": "a text"}), ("GET", "/v1/items/a", None), ("GET", "/v1/stats", None),
            ("DELETE", "/v1/items/a", None), ("GET", "/readyz", None),
        ]  # fmt: skip
        for method, path, body in asked:
            told = server.ask(method, path, body)
            assert (told.status, told.code, told.headers["retry-after"]) == (503, "unavailable", "1"), path
        assert server.ask("GET", "/healthz").status == 200
        assert "lookalike_items" not in server.ask("GET", "/metrics").body.decode()
        with pytest.raises(UnavailableError, match="cannot be reached"):
            client.query("a text of words")
        # Not before the retries of the load have come to nothing.
        assert away.wait(60)
        own_server.start()
        wait_until(lambda: server.ask("GET", "/readyz").status == 200)
        assert back.wait(60)
        ended.set()
        thread.join()
        assert refused
        assert [number for number in acknowledged if number not in client] == []
        assert server.end() == 0
    with Index.open(address) as index:
        assert len(set(index)) == len(list(index)) == len(index)
        assert index.verify(20).sound


def test_no_password_is_said_anywhere(own_server: RedisServer) -> None:
    assert own_server.ask("CONFIG", "SET", "requirepass", "sesame").startswith(b"+OK")
    address = own_server.address().replace("redis://", "redis://:sesame@")
    Index.create(address, threshold=0.6).close()
    with serving(address) as server:
        assert "sesame" not in server.said
        assert server.ask("GET", "/readyz").status == 200
        own_server.kill()
        assert b"sesame" not in server.ask("GET", "/readyz").body
        assert server.end() == 0
        assert "sesame" not in server.stderr.read()
