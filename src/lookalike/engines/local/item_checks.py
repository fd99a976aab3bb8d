"""Items that are made again by the slow twins, on a thread of its own.

The twins are plain Python: whoever runs them holds the interpreter lock, and waits for it all the time where other
threads want it, too. Half of all drawn items are among the first few thousand, so the first batch came last: with 16
threads that cost a quarter of a second, where all checks together take a tenth.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from lookalike.certify.step_checks import DrawnItem, ItemCheck

__all__ = ["ItemChecks"]


class ItemChecks:
    """Counts how many items were made again, and how many of them came out differently."""

    def __init__(self, check: ItemCheck | None, threads: int) -> None:
        self._check = check
        self._pool = ThreadPoolExecutor(1, "lookalike-check") if check is not None and threads > 1 else None
        self._asked: list[Future[list[bool]]] = []
        self._differ: list[bool] = []

    def add(self, items: list[DrawnItem]) -> None:
        """Make these again, now or later."""
        if not items:
            return
        if self._pool is None:
            self._differ += self._made_again(items)
        else:
            self._asked.append(self._pool.submit(self._made_again, items))

    def _made_again(self, items: list[DrawnItem]) -> list[bool]:
        assert self._check is not None, "items are drawn by it"
        return [self._check.differs(item) for item in items]

    def settle(self) -> tuple[int, int]:
        """Wait for all that were given: how many since the last time, and how many of these came out differently."""
        for each in self._asked:
            self._differ += each.result()
        found = len(self._differ), sum(self._differ)
        self._asked, self._differ = [], []
        return found

    def close(self) -> None:
        """Let the thread go."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
