"""Writes to an index that is shared: each worker writes by itself, and several at once.

Nothing is to be gained by a single writer or by sharing a sync, as for a folder (`group_commit.py`): the store keeps
writes apart by itself, and most of the time of one is waiting for its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lookalike.index.index import Index
from lookalike.server.asked import Operation
from lookalike.server.metrics import Metrics
from lookalike.server.operations import carried_out, is_written

__all__ = ["DirectWrites"]

# As many as may wait for an answer at once.
_THREADS = 8


class DirectWrites:
    """Writes of one process to an index that others write to as well."""

    def __init__(self, index: Index, metrics: Metrics) -> None:
        self._index, self._metrics = index, metrics
        self._threads = ThreadPoolExecutor(_THREADS, "lookalike-write")

    async def write(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        """Carry writes out, one after another; their outcomes."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, self._apply, operations)
        # A client that goes away does not take back what it asked for.
        outcomes = await asyncio.shield(running)
        done = sum(map(is_written, outcomes))
        if done:
            self._metrics.committed(done)
        return outcomes

    def check(self) -> None:
        """Whatever failed may work the next time."""

    async def close(self) -> None:
        """Wait until nothing is left to write."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    def _apply(self, operations: Sequence[Operation]) -> list[dict[str, Any]]:
        return [carried_out(self._index, each) for each in operations]
