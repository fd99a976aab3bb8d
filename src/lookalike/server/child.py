"""One of the processes of a server with several: the one that writes, or one of those that answer.

Its standard input is its tie to the process that started it: the first line says what to do, and its end, however that
comes about, means to finish and leave. So nothing is left behind even where the parent was killed. Signals are the
parent's: Ctrl-C and a service manager reach all processes at once, and these must not end out of order.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lookalike.errors import LookalikeError
from lookalike.server.serve_settings import ServeSettings

if TYPE_CHECKING:
    from lookalike.index.index import Index
    from lookalike.server.metrics import Metrics
    from lookalike.server.operations import ItemWrites

__all__ = ["ChildTask", "main", "own_writes"]


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What a process is to do: to answer at a socket that it was given, or to write, without one.

    Attributes:
        writer: the path of the Unix-domain socket of the process that writes; None where each writes by itself.
        metrics: the file with the counters of all processes, and `row` which of them are its own.
    """

    settings: ServeSettings
    tokens: list[tuple[str, str]]
    writer: str | None
    metrics: str
    row: int
    listening: int | None = None

    def to_line(self) -> bytes:
        """For the standard input of the process."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> ChildTask:
        """The same the other way."""
        told = json.loads(line)
        settings = ServeSettings.from_json(told.pop("settings"))
        return cls(settings=settings, tokens=[(scope, token) for scope, token in told.pop("tokens")], **told)


def main() -> int:
    """Do what standard input says, and tell the parent when it is ready, or why it never will be."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        asyncio.run(_run())
    except LookalikeError as error:
        _tell({"error": str(error), "exit_code": error.exit_code})
        return error.exit_code
    return 0


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def _run() -> None:
    told = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(told), sys.stdin)
    task = ChildTask.from_line(await told.readline())
    stop = asyncio.Event()

    async def until_end() -> None:
        await told.read()
        stop.set()

    watching = asyncio.create_task(until_end())
    await (_write(task, stop) if task.listening is None else _answer(task, task.listening, stop))
    watching.cancel()


async def _write(task: ChildTask, stop: asyncio.Event) -> None:
    from lookalike.index.index import Index
    from lookalike.server.group_commit import GroupCommit
    from lookalike.server.metrics import Metrics
    from lookalike.server.writer_socket import WriterSocket

    settings = task.settings
    assert task.writer is not None
    with Index.open(settings.index, wait=settings.lock_wait, **settings.open_options) as index:
        writes = GroupCommit(index, Metrics(task.metrics, task.row))
        taking = WriterSocket(writes)
        server = await taking.listen(task.writer)
        _tell({"ready": True})
        await stop.wait()
        # Those who answer finish first, and what they have begun to write is written.
        await taking.wait_until_alone(2 * settings.limits.request_time)
        server.close()
        await writes.close()


async def _answer(task: ChildTask, listening: int, stop: asyncio.Event) -> None:
    from lookalike.index.index import Index
    from lookalike.server.access import Access
    from lookalike.server.http_server import serve_socket
    from lookalike.server.metrics import Metrics
    from lookalike.server.service import Service
    from lookalike.server.writer_socket import RemoteWrites

    settings = task.settings
    with (
        Index.open(settings.index, readonly=task.writer is not None, **settings.open_options) as index,
        socket.socket(fileno=listening) as own,
    ):
        metrics = Metrics(task.metrics, task.row)
        writes = own_writes(index, metrics) if task.writer is None else await RemoteWrites.connect(task.writer)
        service = Service(index, writes, settings.limits, metrics)
        _tell({"ready": True})
        await serve_socket(service, Access(settings, task.tokens), own, stop)
        await service.close()


def own_writes(index: Index, metrics: Metrics) -> ItemWrites:
    """How a process writes to its index itself."""
    from lookalike.server.direct_writes import DirectWrites
    from lookalike.server.group_commit import GroupCommit

    return DirectWrites(index, metrics) if index.is_shared else GroupCommit(index, metrics)


if __name__ == "__main__":
    sys.exit(main())
