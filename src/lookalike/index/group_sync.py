"""Several threads that write at once share the wait for the disk.

    append ──┐                ┌─ one of them brings all to the disk ─┐
    append ──┤ waiting ───────┘                                      └─ all go on
    append ──┘                   more append, and wait for the next ──┘

A disk takes as long for the records of many threads as for one. Where it is fast, those who were acknowledged last
time have not got round to their next record when it could begin again. Whoever brings things to the disk waits for as
many as the last time, but no longer than that took; a thread that is alone waits for nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["GroupSync"]

# The longest wait for others, in seconds, and how long they are given at a time.
_LONGEST, _STEP = 0.002, 0.00005


class GroupSync:
    """Brings what was written to the disk.

    Args:
        sync: bring all that was written so far to the disk, and tell how many writes that were.
    """

    def __init__(self, sync: Callable[[], int]) -> None:
        self._sync = sync
        self._gate = threading.Lock()
        self._done: threading.Event | None = None
        # Writes that were made, and those of them that are on the disk.
        self.written = 0
        self._safe = 0
        # Of the last time: how many writes it was for, and how long it took.
        self._last, self._took = 1, 0.0

    @property
    def is_busy(self) -> bool:
        """Whether somebody is bringing things to the disk."""
        return self._done is not None

    def wait(self, mine: int) -> None:
        """Return when the first `mine` writes are on the disk."""
        while True:
            with self._gate:
                if self._safe >= mine:
                    return
                leads = self._done is None
                done = self._done = self._done or threading.Event()
            if not leads:
                done.wait()
                continue
            try:
                self._lead()
            finally:
                with self._gate:
                    self._done = None
                done.set()

    def _lead(self) -> None:
        begun = time.perf_counter()
        until = begun + min(_LONGEST, self._took)
        while self.written - self._safe < self._last and time.perf_counter() < until:
            time.sleep(_STEP)
        begun, before = time.perf_counter(), self._safe
        self._safe = self._sync()
        self._last, self._took = self._safe - before, time.perf_counter() - begun
