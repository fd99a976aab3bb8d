"""`AsyncClient`: the same as `Client`, for programs that do many things at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from lookalike.index.answers import Answer
from lookalike.server import client_calls as calls

__all__ = ["AsyncClient"]

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient:
    """The index that a server holds, with the verbs of `Client`, each to be awaited.

    >>> async with lookalike.AsyncClient("http://127.0.0.1:8080") as index:  # doctest: +SKIP
    ...     await index.seen("a", "the cat sat on the mat")

    As many connections are open as requests are on their way, and they are used again.
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 30.0) -> None:
        self._address = calls.AddressOfServer.parse(address)
        self._token, self._timeout = token, timeout
        self._idle: list[_Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        while self._idle:
            _, writer = self._idle.pop()
            writer.close()

    async def query(self, item: Any, threshold: float | None = None, k: int | None = None) -> Answer:
        """The items that are like this one, best first; see `Index.query`."""
        answer: Answer = await self._do(calls.call_query(item, threshold, k))
        return answer

    async def query_many(
        self, items: Iterable[Any], threshold: float | None = None, k: int | None = None
    ) -> list[Answer]:
        """The same for many items."""
        return [answer for call in calls.call_query_many(items, threshold, k) for answer in await self._do(call)]

    async def nearest(
        self, item: Any, k: int = 10, threshold: float | None = None, *, recall: float = 0.95
    ) -> Answer:  # fmt: skip
        """The items that are most like this one, best first; see `Index.nearest`."""
        answer: Answer = await self._do(calls.call_nearest(item, k, threshold, recall))
        return answer

    async def seen(self, id: str | int, item: Any, payload: Any = None) -> Any:
        """The first match of an item, or None; then it was added, in one step with the look."""
        return await self._do(calls.call_seen(id, item, payload))

    async def add(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Add an item under an id that is not there yet."""
        await self._do(calls.call_add(id, item, payload))

    async def add_many(self, items: Iterable[Sequence[Any]]) -> int:
        """Add items (id, item) or (id, item, payload); how many."""
        return sum([await self._do(call) for call in calls.call_add_many(items)])

    async def replace(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Put an item in the place of the one with this id, or add it."""
        await self._do(calls.call_replace(id, item, payload))

    async def remove(self, id: str | int) -> None:
        """Remove the item with this id; a KeyError if there is none."""
        await self._do(calls.call_remove(id))

    async def get(self, id: str | int) -> Any:
        """The payload of an item, and None where it has none; a KeyError if there is no such item."""
        return await self._do(calls.call_get(id))

    async def contains(self, id: str | int) -> bool:
        """Whether there is an item with this id: what `in` is for a `Client`, which cannot be awaited."""
        try:
            await self.get(id)
        except KeyError:
            return False
        return True

    async def stats(self) -> dict[str, Any]:
        """What the index is and what it takes."""
        told: dict[str, Any] = await self._do(calls.call_stats())
        return told

    async def _do(self, call: calls.Call) -> Any:
        for left in reversed(range(calls.TRIES if call.is_safe else 1)):
            try:
                async with asyncio.timeout(self._timeout):
                    status, body = await self._exchange(call)
            except (OSError, EOFError, ValueError) as error:
                if not left or isinstance(error, TimeoutError):
                    raise calls.unreachable(self._address.name, error) from None
            else:
                return call.result(status, body)
        raise AssertionError("the last try returns or raises")

    async def _exchange(self, call: calls.Call) -> tuple[int, bytes]:
        reader, writer = await self._connection()
        try:
            writer.write(_request(call, self._address, self._token))
            status, body, stays = await _response(reader)
        except BaseException:
            writer.close()
            raise
        if stays:
            self._idle.append((reader, writer))
        else:
            writer.close()
        return status, body

    async def _connection(self) -> _Connection:
        """One that is kept and that the server has not closed meanwhile, or a new one."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not (reader.at_eof() or writer.is_closing()):
                return reader, writer
            writer.close()
        secure = ssl.create_default_context() if self._address.is_secure else None
        return await asyncio.open_connection(self._address.host, self._address.port, ssl=secure)


def _request(call: calls.Call, address: calls.AddressOfServer, token: str | None) -> bytes:
    body = call.body or b""
    headers = {"host": address.name, "content-length": str(len(body)), **call.headers(token)}
    lines = [f"{call.method} {address.path}{call.path} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    """Status and body of an answer, and whether the connection can be used again."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ", 2)[1])
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _chunks(reader)
    elif "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        return status, await reader.read(), False
    return status, body, headers.get("connection", "").lower() != "close"


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """A body in chunks, as proxies send it."""
    parts = []
    while size := int((await reader.readline()).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    while (await reader.readline()).strip():
        pass
    return b"".join(parts)
