"""Both clients have the verbs of an index, over connections that are kept, with the errors of an index."""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import lookalike
from lookalike import AsyncClient, Client, InputError, Match, OptionError, ServerError
from lookalike.server.client_calls import TRIES, AddressOfServer
from tests.server.conftest import READ, TEXTS, WRITE, Server


class Waiting:
    """An `AsyncClient` whose verbs are waited for, so that one test is for both."""

    def __init__(self, address: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(address, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: self._loop.run_until_complete(getattr(self._client, name)(*given, **named))

    def __contains__(self, id: Any) -> bool:
        return bool(self._loop.run_until_complete(self._client.contains(id)))

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.run_until_complete(self._client.close())
        # Transports close when the loop turns once more.
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


CLIENTS: list[Any] = [Client, Waiting]


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_does_what_an_index_does(server: Server, kind: Any) -> None:
    name = kind.__name__
    with kind(server.address) as index:
        text = f"a text of the client {name} with some words of its own and more"
        assert index.seen(f"{name}/1", text, {"n": 1}) is None
        assert index.seen(f"{name}/2", text.upper()) == Match(f"{name}/1", 1.0, {"n": 1})
        assert f"{name}/1" in index
        assert f"{name}/2" not in index
        answer = index.query(text, threshold=0.7, k=1)
        assert answer == [Match(f"{name}/1", 1.0, {"n": 1})]
        assert (answer.compared >= 1, answer.complete) == (True, True)
        near = index.nearest(text + " that nobody has seen", 1)
        assert [match.id for match in near] == [f"{name}/1"]
        assert near.recall is not None and near.recall >= 0.95
        index.replace(f"{name}/1", text, "other")
        assert index.get(f"{name}/1") == "other"
        with pytest.raises(InputError, match="already"):
            index.add(f"{name}/1", text)
        many = [(f"{name} {number}", f"{name} adds many texts, number {number} is this one") for number in range(30)]
        assert index.add_many(many) == 30
        assert [each[0].id for each in index.query_many([text for _, text in many], k=1)] == [name for name, _ in many]
        for each, _ in many:
            index.remove(each)
        with pytest.raises(KeyError):
            index.remove(f"{name} 0")
        with pytest.raises(KeyError):
            index.get("nobody has this id")
        assert index.stats()["measure"] == "jaccard"


@pytest.mark.parametrize("kind", CLIENTS)
def test_errors_are_those_of_an_index_with_the_words_of_the_server(server: Server, kind: Any) -> None:
    with kind(server.address) as index:
        with pytest.raises(OptionError, match=r"threshold is 0\.1"):
            index.query(TEXTS["cat"], threshold=0.1)
        with pytest.raises(InputError, match="text is needed here"):
            index.query([1.5])
        with pytest.raises(InputError, match="more than 100,000 bytes"):
            index.query("x" * 300_000)
        with pytest.raises(InputError, match="1 to 1,000 are allowed"):
            index.seen("", "text")
        with pytest.raises(InputError, match="there is an item 'cat' already"):
            index.add_many([("cat", TEXTS["cat"])])


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_token_is_sent_and_its_refusal_is_told(guarded: Server, kind: Any) -> None:
    with kind(guarded.address, token=WRITE) as index:
        index.replace("mine", "a text that was put there by a client with a token")
    with kind(guarded.address, token=READ) as index:
        assert "mine" in index
        with pytest.raises(ServerError, match="this token allows reading only") as error:
            index.remove("mine")
        assert error.value.code == "forbidden"
    with kind(guarded.address) as index, pytest.raises(ServerError, match="the token is missing"):
        index.stats()


def test_ids_of_all_kinds_come_through(server: Server) -> None:
    with Client(server.address) as index:
        for named in (-(2**63), 2**63 - 1, "int:3", "str:3", "a/../b?c#d", "ä\u2028", ".", "..", "\ud800", "%41", "+ "):
            text = f"the words of the item {named!a} and a few more of them"
            index.add(named, text, [named])
            assert index.get(named) == [named]
            assert index.query(text, k=1)[0].id == named
            index.remove(named)
            assert named not in index
        assert None not in index
        assert len(index) >= len(TEXTS)


def test_what_json_does_not_have_is_sent_as_what_it_has() -> None:
    from lookalike.server.client_calls import call_query

    for item in ({1, 2}, (1, 2), np.array([1, 2])):
        assert call_query(item, None, None).body == b'{"item":[1,2]}'


def whole_request(connection: socket.socket) -> bytes:
    """All of a request: what is closed with something unread takes its answer back."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    while found is not None and len(body) < int(found[1]):
        body += connection.recv(1 << 16)
    return head + body


@contextmanager
def dropping(times: int, answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that hangs up so many times, and then answers; and the heads of the requests that it got."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            for number in range(times + 1):
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    asked.append(whole_request(connection))
                    if number == times:
                        connection.sendall(answer)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


FOUND = b'{"matches":[],"compared":3,"left_out":0}'
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (len(FOUND), FOUND)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x;x=y\r\n%s\r\n0\r\nT: x\r\n\r\n" % (
    FOUND[:5], len(FOUND) - 5, FOUND[5:],
)  # fmt: skip
ENDLESS = b"HTTP/1.0 200 OK\r\n\r\n" + FOUND


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("answer", [PLAIN, CHUNKED, ENDLESS])
def test_a_request_that_only_reads_is_sent_again(kind: Any, answer: bytes) -> None:
    with dropping(TRIES - 1, answer) as (address, asked), kind(address, timeout=10) as index:
        assert index.query("text").compared == 3
        assert len(asked) == TRIES


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_request_that_writes_is_sent_once(kind: Any) -> None:
    with dropping(1, PLAIN) as (address, asked), kind(address, timeout=10) as index:
        with pytest.raises(ServerError, match="gave no answer"):
            index.seen("a", "text")
        assert len(asked) == 1


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_server_that_is_not_there_or_is_another_one_is_told(kind: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nobody = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with kind(nobody, timeout=0.1) as index, pytest.raises(ServerError, match="it took too long"):
            index.stats()
    with kind(nobody) as index, pytest.raises(ServerError, match="gave no answer"):
        index.stats()
    other = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi"
    with (
        dropping(0, other) as (address, _),
        kind(address) as index,
        pytest.raises(ServerError, match="is it a lookalike server"),
    ):
        index.stats()
    odd = b"HTTP/1.1 502 Bad\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]"
    with dropping(0, odd) as (address, _), kind(address) as index, pytest.raises(ServerError, match="answered 502"):
        index.stats()


def test_an_address_is_checked_when_the_client_is_made() -> None:
    assert AddressOfServer.parse("https://seen.example/under/") == AddressOfServer("seen.example", 443, True, "/under")
    assert AddressOfServer.parse("http://[::1]:81").name == "[::1]:81"
    for wrong in ("localhost:8080", "ftp://x", "http://", "http://x:port", "http://x/?a=b"):
        with pytest.raises(OptionError, match="address is"):
            lookalike.Client(wrong)


def test_threads_share_a_client_and_tasks_an_async_one(server: Server) -> None:
    with Client(server.address) as index:
        found: list[Any] = []
        threads = [threading.Thread(target=lambda: found.append(index.query(TEXTS["cat"])[0].id)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == ["cat"] * 8

    async def ask() -> list[Any]:
        async with AsyncClient(server.address) as index:
            return await asyncio.gather(*(index.query(TEXTS["fox"]) for _ in range(8)))

    assert [answer[0].id for answer in asyncio.run(ask())] == ["fox"] * 8


def test_a_connection_that_is_reset_while_it_is_made_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def reset(connection: http.client.HTTPConnection) -> None:
        raise ConnectionResetError("it was reset")

    monkeypatch.setattr(http.client.HTTPConnection, "connect", reset)
    with Client("http://127.0.0.1:9") as index, pytest.raises(ServerError, match="gave no answer: it was reset"):
        index.add("a", "some words of a text")
