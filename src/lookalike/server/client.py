"""`Client`: an index that lies behind a server, with the verbs of `Index`."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from lookalike.index.answers import Answer
from lookalike.server import client_calls as calls

__all__ = ["Client"]


class Client:
    """The index that a server holds.

    >>> with lookalike.Client("http://127.0.0.1:8080", token=TOKEN) as index:  # doctest: +SKIP
    ...     index.seen("a", "the cat sat on the mat")

    Connections are kept and used again; threads may share a client. A request that only reads is sent again where the
    connection fails. One that writes is not: nobody would know whether it was done once or twice.
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 30.0) -> None:
        self._address = calls.AddressOfServer.parse(address)
        self._token, self._timeout = token, timeout
        # Those that no thread uses now.
        self._idle: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._idle.pop().close()

    def query(self, item: Any, threshold: float | None = None, k: int | None = None) -> Answer:
        """The items that are like this one, best first; see `Index.query`."""
        answer: Answer = self._do(calls.call_query(item, threshold, k))
        return answer

    def query_many(self, items: Iterable[Any], threshold: float | None = None, k: int | None = None) -> list[Answer]:
        """The same for many items."""
        return [answer for call in calls.call_query_many(items, threshold, k) for answer in self._do(call)]

    def nearest(
        self, item: Any, k: int = 10, threshold: float | None = None, *, recall: float = 0.95
    ) -> Answer:  # fmt: skip
        """The items that are most like this one, best first; see `Index.nearest`."""
        answer: Answer = self._do(calls.call_nearest(item, k, threshold, recall))
        return answer

    def seen(self, id: str | int, item: Any, payload: Any = None) -> Any:
        """The first match of an item, or None; then it was added, in one step with the look."""
        return self._do(calls.call_seen(id, item, payload))

    def add(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Add an item under an id that is not there yet."""
        self._do(calls.call_add(id, item, payload))

    def add_many(self, items: Iterable[Sequence[Any]]) -> int:
        """Add items (id, item) or (id, item, payload); how many."""
        return sum(self._do(call) for call in calls.call_add_many(items))

    def replace(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Put an item in the place of the one with this id, or add it."""
        self._do(calls.call_replace(id, item, payload))

    def remove(self, id: str | int) -> None:
        """Remove the item with this id; a KeyError if there is none."""
        self._do(calls.call_remove(id))

    def get(self, id: str | int) -> Any:
        """The payload of an item, and None where it has none; a KeyError if there is no such item."""
        return self._do(calls.call_get(id))

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str | int):
            return False
        try:
            self.get(id)
        except KeyError:
            return False
        return True

    def __len__(self) -> int:
        return int(self.stats()["items"])

    def stats(self) -> dict[str, Any]:
        """What the index is and what it takes."""
        told: dict[str, Any] = self._do(calls.call_stats())
        return told

    def _do(self, call: calls.Call) -> Any:
        for left in reversed(range(calls.TRIES if call.is_safe else 1)):
            try:
                status, body = self._exchange(call)
            except (OSError, http.client.HTTPException) as error:
                if not left or isinstance(error, TimeoutError):
                    raise calls.unreachable(self._address.name, error) from None
            else:
                return call.result(status, body)
        raise AssertionError("the last try returns or raises")

    def _exchange(self, call: calls.Call) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            if connection.sock is None:
                connection.connect()
            # A server that refuses a large body may answer, and close, before it has read all of it.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(call.method, self._address.path + call.path, call.body, call.headers(self._token))
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return status, body

    def _connection(self) -> http.client.HTTPConnection:
        """One that is kept and that the server has not closed meanwhile, or a new one."""
        while self._idle:
            kept = self._idle.pop()
            if kept.sock is not None and not _is_closed(kept.sock):
                return kept
            kept.close()
        kind = http.client.HTTPSConnection if self._address.is_secure else http.client.HTTPConnection
        return kind(self._address.host, self._address.port, timeout=self._timeout)


def _is_closed(sock: socket.socket) -> bool:
    """Whether the other end has hung up: there is something to read where nothing was asked for."""
    watching = select.poll()
    watching.register(sock, select.POLLIN)
    return bool(watching.poll(0))
