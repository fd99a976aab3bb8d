"""Several threads that write at once share the wait for the disk.

    append ──┐                ┌─ one of them brings all to the disk ─┐
    append ──┤ waiting ───────┘                                      └─ all go on
    append ──┘                   more append, and wait for the next ──┘

A disk takes as long for the records of many threads as for one. Where it is fast, those who were acknowledged last
time have not got round to their next record when it could begin again. So whoever brings things to the
disk waits while others still write, for two milliseconds at the most; a thread that is alone waits for nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["GroupSync"]

# As long as others write, one within so much of the one before, they are waited for, but not longer than that; and how
# often somebody looks whether they have. In seconds.
_BETWEEN, _LONGEST, _STEP = 0.00025, 0.002, 0.00005


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
        # How many writes the last time was for.
        self._last = 1

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
        begun = came = time.perf_counter()
        known = self.written
        # One alone has nobody to wait for.
        while self._last > 1 and (now := time.perf_counter()) < min(came + _BETWEEN, begun + _LONGEST):
            time.sleep(_STEP)
            if self.written > known:
                known, came = self.written, now
        before = self._safe
        self._safe = self._sync()
        self._last = self._safe - before
