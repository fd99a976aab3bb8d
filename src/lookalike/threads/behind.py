"""What is written to a file, behind the caller who gathers it, on threads that a crew lends.

Each piece is made, by any thread, and then put, one at a time and in order. Where the output is one stream (lines,
gzip) nothing is made and putting is all the work, so one thread is enough. Row groups of Parquet are encoded when they
are made, which takes three times as long as decoding them: the caller then encodes, too, instead of waiting.

A piece that is still to be read needs no room before it is begun. Some of these wait for each thread: the caller is the
only one who finds more, and while it makes one itself the others must not run out.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from lookalike.threads.crew import Crew

T = TypeVar("T")

__all__ = ["Behind"]


_WAITING = 2  # pieces that are still to be read, for each thread


@dataclass(slots=True)
class _Waiting:
    size: int
    make: Callable[[], Any] | None
    put: Callable[[Any], None]
    loaded: bool = True
    begun: bool = False
    made: bool = False
    result: Any = None
    failure: Exception | None = None


class Behind:
    """Work in order, on threads of its own as soon as the crew has one to lend, otherwise at once.

    What is held may come to `room` units of size, or to one piece of work whatever its size; a piece that the caller
    makes itself comes on top.
    """

    def __init__(self, crew: Crew, room: int) -> None:
        self._crew = crew
        self._room = room
        self._changed = threading.Condition()
        self._queue: deque[_Waiting] = deque()
        self._held = 0
        self._putting = False
        self._ending = False
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def do(self, size: int, work: Callable[[], None]) -> None:
        """Do this after everything before it; raises what went wrong in work that was given earlier."""
        if not self._threads:
            self._borrow()
        if self._threads:
            self._add(_Waiting(size, None, _call, begun=True, made=True, result=work))
        else:
            work()

    def make(self, size: int, make: Callable[[], T], put: Callable[[T], None], *, loaded: bool) -> None:
        """Make this at any time, and put it after everything before it; raises what went wrong earlier.

        Args:
            size: what it takes from when it is begun, and if it is `loaded` already, from now on.
        """
        self._borrow()
        if self._threads:
            self._add(_Waiting(size, make, put, loaded))
        else:
            put(make())

    def finish(self) -> None:
        """Wait until everything is done, and help with it."""
        try:
            while self._threads:
                with self._changed:
                    self._check()
                    if not self._queue and not self._putting:
                        break
                    job = self._next(2 * self._room)
                    if job is None:
                        self._changed.wait()
                if job is not None:
                    self._try(job)
        finally:
            self.drop()

    def drop(self) -> None:
        """End after what is being done, and forget the rest."""
        try:
            self._end()
        finally:  # after Ctrl-C, too: what is being done cannot be broken off
            self._end()
            for _ in self._threads:
                self._crew.give_back()
            self._threads.clear()
            self._held = 0
            self._ending = self._putting = False

    def _end(self) -> None:
        with self._changed:
            self._queue.clear()
            self._ending = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:  # else it was interrupted in its start
                thread.join()

    def _borrow(self) -> None:
        """One more thread, if the crew has one to lend."""
        if self._crew.lend():
            self._threads.append(threading.Thread(target=self._run, name="lookalike-copy-behind"))
            self._threads[-1].start()

    def _add(self, piece: _Waiting) -> None:
        """Leave a piece to the threads; while there is no room for it, work like one of them."""
        admitted = False
        while not admitted:
            with self._changed:
                self._check()
                admitted = self._has_room_for(piece)
                job = None if admitted else self._next(2 * self._room)
                if not admitted and job is None and piece.make is not None and self._fits(piece.size, 2 * self._room):
                    admitted = True
                    job = self._begin(piece)
                if admitted:
                    self._queue.append(piece)
                    self._held += piece.size if piece.loaded else 0
                    self._changed.notify_all()
                elif job is None:
                    self._changed.wait()
            if job is not None:
                self._try(job)

    def _has_room_for(self, piece: _Waiting) -> bool:
        if piece.loaded:
            return self._fits(piece.size, self._room)
        return sum(not each.begun for each in self._queue) < _WAITING * len(self._threads)

    def _fits(self, size: int, room: int) -> bool:
        return not self._held or self._held + size <= room

    def _next(self, room: int) -> Callable[[], None] | None:
        """What can be done now: the next piece is put, because that makes room, or else the first is made."""
        if self._queue and self._queue[0].made and not self._putting:
            self._putting = True
            return partial(self._put, self._queue.popleft())
        for piece in self._queue:
            if not piece.begun:
                # All others wait for the first, so it waits for no room.
                fits = piece.loaded or piece is self._queue[0] or self._fits(piece.size, room)
                return self._begin(piece) if fits else None
        return None

    def _begin(self, piece: _Waiting) -> Callable[[], None]:
        piece.begun = True
        if not piece.loaded:
            piece.loaded = True
            self._held += piece.size
        return partial(self._make, piece)

    def _make(self, piece: _Waiting) -> None:
        assert piece.make is not None, "it was to be made"
        result, failure = None, None
        try:
            result = piece.make()
        except Exception as error:  # told when its turn comes: what goes wrong first does not depend on threads
            failure = error
        with self._changed:
            piece.result, piece.failure, piece.made, piece.make = result, failure, True, None
            self._changed.notify_all()

    def _put(self, piece: _Waiting) -> None:
        if piece.failure is not None:
            raise piece.failure
        piece.put(piece.result)
        piece.result = None  # what it held is free before its room is
        with self._changed:
            self._putting = False
            self._held -= piece.size
            self._changed.notify_all()

    def _try(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
                self._queue.clear()
                self._changed.notify_all()
            raise

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        with contextlib.suppress(BaseException):  # the caller gets it, from `_check`
            while True:
                with self._changed:
                    while (job := self._next(self._room)) is None and not self._ending and self._error is None:
                        self._changed.wait()
                if job is None:
                    return
                self._try(job)
                del job


def _call(work: Callable[[], None]) -> None:
    work()
