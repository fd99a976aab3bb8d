"""Running a server: in this process, or in several, of which one writes and the others answer.

Where the index is shared, as one in Redis is, all of them write.

With several, this process only watches: if one of the others ends, all end, and the error says which it was. A service
manager starts the server again, and what was acknowledged is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from lookalike.errors import LookalikeError
from lookalike.index.redis_address import is_redis, shown_path
from lookalike.server.child import ChildTask
from lookalike.server.listening import address_of_server, listen
from lookalike.server.serve_settings import ServeSettings

__all__ = ["run_server"]

Say = Callable[[str], None]


def run_server(settings: ServeSettings, tokens: list[tuple[str, str]], say: Say) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then finish what was accepted.

    Raises:
        LookalikeError: if the index cannot be opened, or a process of the server ends by itself.
    """
    sockets = listen(settings.host, settings.port, settings.workers)
    running = _alone if settings.workers == 1 else _together
    try:
        asyncio.run(running(settings, tokens, sockets, say))
    finally:
        for each in sockets:
            each.close()


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _alone(
    settings: ServeSettings, tokens: list[tuple[str, str]], sockets: list[socket.socket], say: Say
) -> None:  # fmt: skip
    from lookalike.index.index import Index
    from lookalike.server.access import Access
    from lookalike.server.child import own_writes
    from lookalike.server.http_server import serve_socket
    from lookalike.server.metrics import Metrics
    from lookalike.server.service import Service

    stop = _stop_on_signals()
    with Index.open(settings.index, wait=settings.lock_wait, **settings.open_options) as index:
        metrics = Metrics()
        service = Service(index, own_writes(index, metrics), settings.limits, metrics)
        say(f"serving {shown_path(settings.index)} at {address_of_server(sockets[0])}; Ctrl-C ends it")
        await serve_socket(service, Access(settings, tokens), sockets[0], stop)
        await service.close()


async def _together(
    settings: ServeSettings, tokens: list[tuple[str, str]], sockets: list[socket.socket], say: Say
) -> None:  # fmt: skip
    stop = _stop_on_signals()
    with tempfile.TemporaryDirectory(prefix="lookalike-serve-") as private:
        counters = Path(private, "metrics")
        counters.write_bytes(_zeros(1 + len(sockets)))
        writer = None if is_redis(settings.index) else str(Path(private, "writer"))
        children: list[_Child] = []
        try:
            if writer is not None:
                task = ChildTask(settings, [], writer, str(counters), 0)
                children.append(await _Child.start("the process that writes", task))
            for number, each in enumerate(sockets, 1):
                task = ChildTask(settings, tokens, writer, str(counters), number, each.fileno())
                children.append(await _Child.start(f"worker {number}", task))
            address = address_of_server(sockets[0])
            for each in sockets:
                # The workers have them; one that is open here would take connections that nobody answers.
                each.close()
            say(f"serving {shown_path(settings.index)} at {address} with {len(sockets)} workers; Ctrl-C ends it")
            await _until_one_ends(children, stop)
        finally:
            await _end(children, 3 * settings.limits.request_time)


def _zeros(processes: int) -> bytes:
    from lookalike.server.metrics import metrics_bytes

    return bytes(metrics_bytes(processes))


class _Child:
    """A process that was started, and what it is to people."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name, self.process = name, process

    @classmethod
    async def start(cls, name: str, task: ChildTask) -> _Child:
        """Start a process, and wait until it is ready."""
        passed = () if task.listening is None else (task.listening,)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lookalike.server.child", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, pass_fds=passed, start_new_session=True,
        )  # fmt: skip
        child = cls(name, process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(task.to_line())
        line = await process.stdout.readline()
        told = json.loads(line) if line.endswith(b"\n") else {}
        if "error" in told:
            await process.wait()
            error = LookalikeError(told["error"])
            error.exit_code = told["exit_code"]
            raise error
        if not told:
            raise LookalikeError(await child.epitaph())
        return child

    async def epitaph(self) -> str:
        """How it ended."""
        code = await self.process.wait()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"{self.name} (process {self.process.pid}) {how}: the server stops: start it again"

    def tell_to_end(self) -> None:
        """Let it finish and leave."""
        assert self.process.stdin is not None
        self.process.stdin.close()


async def _until_one_ends(children: list[_Child], stop: asyncio.Event) -> None:
    stopping = asyncio.create_task(stop.wait())
    ending = {asyncio.create_task(each.epitaph()): each for each in children}
    done, waiting = await asyncio.wait({stopping, *ending}, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    for task in ending:
        if task in done and not stop.is_set():
            raise LookalikeError(task.result())


async def _end(children: list[_Child], seconds: float) -> None:
    """Have all finish; whoever takes too long is killed."""
    for child in children:
        child.tell_to_end()
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(child.process.wait() for child in children))
    except TimeoutError:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                child.process.kill()
            await child.process.wait()
