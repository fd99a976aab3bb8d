"""One process writes for several: they send it their writes over a Unix-domain socket and get the outcomes back.

A message is its length, four bytes, and JSON: a list of writes one way, the list of their outcomes the other. Those
of a connection are answered in the order in which they came, so they need no numbers, and many may be on their way at
once. The socket lies in a folder that only the user of the server can enter.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Sequence
from typing import Any

from lookalike.server.asked import Operation
from lookalike.server.operations import ItemWrites
from lookalike.server.request_error import RequestError
from lookalike.server.wire import encoded

__all__ = ["RemoteWrites", "WriterSocket"]

_HEAD = 4


async def _read(reader: asyncio.StreamReader) -> Any:
    size = int.from_bytes(await reader.readexactly(_HEAD), "big")
    return json.loads(await reader.readexactly(size))


def _frame(data: Any) -> bytes:
    body = encoded(data)
    return len(body).to_bytes(_HEAD, "big") + body


class RemoteWrites:
    """The end of a process that has writes done by another one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sent: deque[asyncio.Future[list[dict[str, Any]]]] = deque()
        self._gone = False
        self._receiving = asyncio.create_task(self._receive())

    @classmethod
    async def connect(cls, path: str) -> RemoteWrites:
        """Connect to the process that writes."""
        return cls(*await asyncio.open_unix_connection(path))

    async def write(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        """Have writes carried out; their outcomes, when they are safe."""
        self.check()
        future: asyncio.Future[list[dict[str, Any]]] = asyncio.get_running_loop().create_future()
        self._sent.append(future)
        self._writer.write(_frame(operations))
        with contextlib.suppress(ConnectionError):  # the future is told
            await self._writer.drain()
        return await future

    def check(self) -> None:
        """Raise what writes meet when the other process is gone."""
        if self._gone:
            raise RequestError(503, "storage", "the process that writes is gone")

    async def _receive(self) -> None:
        try:
            while True:
                outcomes = await _read(self._reader)
                future = self._sent.popleft()
                if not future.done():
                    future.set_result(outcomes)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._gone = True
            for future in self._sent:
                if not future.done():
                    future.set_exception(RequestError(503, "storage", "the process that writes is gone"))

    async def close(self) -> None:
        """Let go of the other process."""
        self._writer.close()
        self._receiving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._receiving


class WriterSocket:
    """The end of the process that writes."""

    def __init__(self, writes: ItemWrites) -> None:
        self._writes = writes
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, path: str) -> asyncio.Server:
        """Begin to take writes."""
        return await asyncio.start_unix_server(self._connected, path)

    async def wait_until_alone(self, seconds: float) -> None:
        """Wait until nobody is connected any more."""
        if self._connections:
            await asyncio.wait(self._connections, timeout=seconds)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        answers: asyncio.Queue[asyncio.Task[list[dict[str, Any]]] | None] = asyncio.Queue()
        answering = asyncio.create_task(self._answer(answers, writer))
        try:
            while True:
                told = await _read(reader)
                answers.put_nowait(asyncio.create_task(self._writes.write([Operation(*each) for each in told])))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            answers.put_nowait(None)
            await answering
            writer.close()
            self._connections.discard(task)

    @staticmethod
    async def _answer(
        answers: asyncio.Queue[asyncio.Task[list[dict[str, Any]]] | None], writer: asyncio.StreamWriter
    ) -> None:
        while (task := await answers.get()) is not None:
            outcomes = await task
            with contextlib.suppress(ConnectionError):
                writer.write(_frame(outcomes))
                await writer.drain()
