"""Group commit: writes that come while the disk is busy share the next wait for it.

    write ──┐                ┌─ applied, all of them ─┬─ one sync ─┐
    write ──┤ waiting ───────┘                        │            └─ answered, all of them
    write ──┘                   more come, and wait ──┘

A sync takes as long for a thousand items as for one, so under load each item costs a thousandth of it, and a lone item
waits for nothing but its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lookalike.errors import OutputError
from lookalike.index.index import Index
from lookalike.server.asked import Operation
from lookalike.server.metrics import Metrics
from lookalike.server.operations import carried_out, failed_outcome, is_written
from lookalike.server.request_error import RequestError

__all__ = ["GroupCommit"]

_Waiting = tuple[Sequence[Operation], asyncio.Future[list[dict[str, Any]]]]


class GroupCommit:
    """Writes of one process to its index, by a thread of their own; it is the only one that writes."""

    def __init__(self, index: Index, metrics: Metrics) -> None:
        self._index, self._metrics = index, metrics
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "lookalike-write")
        self._failed: str | None = None

    async def write(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        """Carry writes out; their outcomes, when they are safe."""
        future: asyncio.Future[list[dict[str, Any]]] = asyncio.get_running_loop().create_future()
        self._waiting.append((operations, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        # A client that goes away does not take back what it asked for.
        return await asyncio.shield(future)

    def check(self) -> None:
        """Raise what writes meet since the disk failed."""
        if self._failed is not None:
            raise RequestError(503, "storage", self._failed)

    async def close(self) -> None:
        """Wait until nothing is left to write."""
        while self._running is not None:
            await asyncio.shield(self._running)
        self._thread.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                outcomes = await loop.run_in_executor(self._thread, self._apply, [each for each, _ in group])
                for (_, future), told in zip(group, outcomes, strict=True):
                    if not future.done():
                        future.set_result(told)
        finally:
            self._running = None

    def _apply(self, group: list[Sequence[Operation]]) -> list[list[dict[str, Any]]]:
        try:
            with self._index.together():
                outcomes = [[carried_out(self._index, each) for each in operations] for operations in group]
        except Exception as error:
            # Nothing of the group is known to be on the disk.
            if isinstance(error, OutputError):
                self._failed = str(error)
            failure = failed_outcome(error)
            return [[failure] * len(operations) for operations in group]
        flat = [outcome for told in outcomes for outcome in told]
        refused = next((outcome for outcome in flat if outcome.get("status") == 503), None)
        if refused is not None:
            self._failed = refused["error"]["message"]
        safe = sum(map(is_written, flat))
        if safe:
            self._metrics.committed(safe)
        return outcomes
