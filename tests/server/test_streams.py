"""Streams of lines: answered as they come, in their order, and never held without bound."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.server.conftest import TEXTS, Server


class Stream:
    """A request that is still being sent while its answer is read."""

    def __init__(self, connection: socket.socket, path: str) -> None:
        self.connection = connection
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
        connection.sendall(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        self._incoming = connection.makefile("rb")

    def send(self, data: bytes) -> None:
        self.connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.connection.sendall(b"0\r\n\r\n")

    def status(self) -> int:
        status = int(self._incoming.readline().split()[1])
        while self._incoming.readline().strip():
            pass
        return status

    def chunk(self) -> list[Any]:
        """The lines of the next part of the answer; none at its end."""
        size = int(self._incoming.readline(), 16)
        data = self._incoming.read(size)
        self._incoming.readline()
        return [json.loads(line) for line in data.splitlines()]


@contextmanager
def streaming(server: Server, path: str) -> Iterator[Stream]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        yield Stream(connection, path)


def lines(*told: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in told)


def test_lines_are_answered_while_others_are_still_to_come(server: Server) -> None:
    with streaming(server, "/v1/query/batch") as stream:
        stream.send(lines({"item": TEXTS["cat"]}))
        assert stream.status() == 200
        assert stream.chunk()[0]["matches"][0]["id"] == "cat"
        stream.send(lines({"item": TEXTS["fox"]}) + b'{"item": "half')
        assert [each["matches"][0]["id"] for each in stream.chunk()] == ["fox"]
        stream.send(b' a line"}\n\n\n')
        assert stream.chunk()[0]["matches"] == []
        stream.send(json.dumps({"item": TEXTS[7]}).encode())  # the last one needs no newline
        stream.end()
        assert stream.chunk()[0]["matches"][0]["id"] == 7
        assert stream.chunk() == []


def test_a_bad_line_is_told_in_its_place_and_the_others_are_done(server: Server) -> None:
    with streaming(server, "/v1/seen/batch") as stream:
        new = {"id": "streamed", "item": "a line of a stream with quite a few words"}
        stream.send(lines(new) + b"{bad\n\xff\n" + lines({"id": "", "item": "x"}, new | {"id": "again"}))
        stream.end()
        assert stream.status() == 200
        told = stream.chunk()
    assert [each.get("error", {}).get("code", each.get("added")) for each in told] == [
        True, "malformed", "malformed", "invalid-id", False,
    ]  # fmt: skip


def test_a_line_that_never_ends_ends_the_stream(server: Server) -> None:
    with streaming(server, "/v1/items/batch") as stream:
        assert stream.status() == 200
        for _ in range(11):
            stream.send(b"x" * 10_000)
        assert stream.chunk()[0]["error"]["code"] == "too-large"


def test_a_stream_that_does_not_go_on_is_ended(server: Server) -> None:
    with streaming(server, "/v1/query/batch") as stream:
        assert stream.status() == 200
        assert stream.chunk()[0]["error"]["code"] == "timeout"
        assert stream.chunk() == []


def test_a_client_that_does_not_read_is_not_read_from(server: Server) -> None:
    """Its lines stop being taken when the buffers of the system are full, and after a while it is given up."""
    with streaming(server, "/v1/query/batch") as stream:
        some = lines(*[{"item": TEXTS["cat"]}] * 200)
        stream.connection.settimeout(0.3)
        sent, most = 0, 200_000_000
        until = time.monotonic() + 30
        with pytest.raises(OSError):
            while sent < most and time.monotonic() < until:
                stream.send(some)
                sent += len(some)
        assert sent < most
    assert server.ask("GET", "/healthz").status == 200
