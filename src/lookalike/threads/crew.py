"""Threads that copy: several files at once, and idle ones lent to a file that is being copied.

Arrow decodes, filters and encodes without the interpreter lock, so threads are enough. A file is copied by one
thread, which is the best use of it while files are waiting. When none is, idle threads are lent to a file that is
being copied (`behind.py`).

Nothing that is written depends on threads: each file gets its rows in order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from lookalike.errors import OptionError

T = TypeVar("T")
# What a job needs in bytes, asked for on the thread that does the job, and the job.
Job = tuple[Callable[[], int], Callable[[], T]]
_LONGEST_WAIT = 0.2  # seconds

__all__ = ["Crew", "Job"]


class _Stopped(BaseException):
    """Another job failed, or the caller was interrupted."""


class Crew:
    """So many busy threads in all, and so many bytes for the files that are copied at once."""

    def __init__(self, threads: int, memory: int | None = None) -> None:
        if threads < 1:
            raise OptionError(f"threads: {threads} is less than 1")
        self.threads = threads
        self._memory = memory
        self._changed = threading.Condition()
        self._busy = 1  # the calling thread
        self._waiting = 0
        self._held: list[int] = []
        self._open = False
        self._stopped = False

    def lend(self) -> bool:
        """Take an idle thread, if there is one that no file is waiting for."""
        with self._changed:
            if self._waiting or self._busy >= self.threads:
                return False
            self._busy += 1
            return True

    def give_back(self) -> None:
        """The thread that was lent is idle again."""
        with self._changed:
            self._busy -= 1

    def guarded(self, told: Callable[[int], None] | None) -> Callable[[int], None]:
        """A function that is called by one thread at a time, and that ends the job of a crew that was stopped."""
        lock = threading.Lock()

        def call(amount: int) -> None:
            if self._stopped:
                raise _Stopped
            if told is not None:
                with lock:
                    told(amount)

        return call

    def run(self, jobs: Iterable[Job[T]], done: Callable[[T], None]) -> None:
        """Do jobs, several at a time; `done` gets their results in order, on the calling thread.

        With one thread the next job is asked for only after the one before is done. The first error in the order
        of the jobs is raised, after all threads have ended.
        """
        todo = jobs if self.threads == 1 else list(jobs)
        if not isinstance(todo, list) or len(todo) < 2:
            for _, work in todo:
                done(work())
            return
        self._busy, self._waiting = 0, len(todo)
        failure: BaseException | None = None
        futures: list[Future[T]] = []
        pool = ThreadPoolExecutor(min(self.threads, len(todo)), thread_name_prefix="lookalike-copy")
        try:
            for need, work in todo:
                futures.append(pool.submit(self._work, need, work))
            self._begin()
            for future in futures:
                # An interrupt that comes just before a wait is only seen after it: no wait is long.
                while not wait([future], _LONGEST_WAIT).done:
                    pass
                done(future.result())
        except BaseException as error:
            self._stop()
            failure = error
        finally:
            pool.shutdown(cancel_futures=True)
        self._busy, self._open = 1, False
        if failure is not None:
            raise _cause(failure, futures)

    def _work(self, need: Callable[[], int], work: Callable[[], T]) -> T:
        try:
            size = need() if self._memory is not None else 0
            self._enter(size)
            try:
                return work()
            finally:
                self._leave(size)
        except BaseException:
            self._stop()
            raise

    def _enter(self, size: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or (self._open and self._fits(size)))
            if self._stopped:
                raise _Stopped
            self._held.append(size)
            self._waiting -= 1
            self._busy += 1

    def _fits(self, size: int) -> bool:
        return self._memory is None or not self._held or sum(self._held) + size <= self._memory

    def _leave(self, size: int) -> None:
        with self._changed:
            self._held.remove(size)
            self._busy -= 1
            self._changed.notify_all()

    def _begin(self) -> None:
        """Let jobs begin. An interrupt before this, while threads are being started, finds none that does anything."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def _cause(error: BaseException, futures: list[Future[T]]) -> BaseException:
    """What went wrong first, if `error` only says that something did."""
    if not isinstance(error, _Stopped):
        return error
    found = (future.exception() for future in futures if not future.cancelled())
    return next((each for each in found if each is not None and not isinstance(each, _Stopped)), error)
