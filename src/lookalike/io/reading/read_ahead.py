"""Compressed files of lines are decompressed several at a time.

Such a file cannot be cut: one thread decompresses it, and others parse what comes out. So the next files are begun
while one is being read, each by a thread of its own that stays a few blocks ahead. Files at an address are not: those
in an archive may share one handle, which two threads must not use at once.
"""

from __future__ import annotations

import contextlib
import io
import queue
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lookalike.io.reading.blocks import BLOCK_BYTES
from lookalike.io.reading.places import Place, Stream

__all__ = ["ReadAhead"]

# Blocks of a file that wait; one more is being read.
_WAITING = 2
_LONGEST_WAIT = 0.1  # seconds until a thread that has no room looks whether it is still wanted


class ReadAhead:
    """The files of one pass, taken in order.

    Args:
        files: how many are open at once.
    """

    def __init__(self, places: Sequence[Place], files: int) -> None:
        self._places, self._files = places, files
        self._open: dict[int, _StreamAhead] = {}
        self._current: _StreamAhead | None = None

    def take(self, index: int) -> Place:
        """A file, to be read before the next one is taken."""
        self._leave()
        if self._files > 1:
            for later in range(index, len(self._places)):
                if len(self._open) >= self._files:
                    break
                if later not in self._open and _is_stream(self._places[later]):
                    self._open[later] = _StreamAhead(self._places[later])
        if index not in self._open:
            return self._places[index]
        self._current = self._open.pop(index)
        return replace(self._places[index], begun=self._current.begin)

    def close(self) -> None:
        """Leave all files that were begun."""
        self._leave()
        for stream in self._open.values():
            stream.close()
        self._open.clear()

    def _leave(self) -> None:
        if self._current is not None:
            self._current.close()
            self._current = None


def _is_stream(place: Place) -> bool:
    return place.format in ("jsonl", "lines") and place.compression is not None and not place.remote


class _StreamAhead(io.RawIOBase):
    """A stream of which a thread reads the next blocks."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._ready: queue.Queue[tuple[bytes, int, BaseException | None]] = queue.Queue(_WAITING)
        self._opened, self._stopped = threading.Event(), threading.Event()
        self._unopened: BaseException | None = None
        self._rest = b""
        self._ended: BaseException | bool = False
        self._taken = 0
        self._used = False
        self._thread = threading.Thread(target=self._run, name="lookalike-file-ahead", daemon=True)
        self._thread.start()

    def begin(self) -> Stream | _StreamAhead:
        """This stream, once; whoever begins again gets another. What cannot be opened is told here."""
        if self._used:
            return Stream(self._place)
        self._used = True
        self._opened.wait()
        if self._unopened is not None:
            raise self._unopened
        return self

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        parts, held = [self._rest], len(self._rest)
        while not self._ended and (size < 0 or held < size):
            data, taken, error = self._ready.get()
            parts.append(data)
            held += len(data)
            self._taken += taken
            self._ended = error or not data
        whole = b"".join(parts) if len(parts) > 2 or self._rest else parts[-1]
        if not whole and isinstance(self._ended, BaseException):
            raise self._ended
        cut = len(whole) if size < 0 else size
        self._rest = whole[cut:]
        return whole[:cut]

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def taken(self) -> int:
        """Stored bytes read since the last call, for progress."""
        fresh, self._taken = self._taken, 0
        return fresh

    def close(self) -> None:
        if not self.closed:
            self._stopped.set()
            self._thread.join()
        super().close()

    def _run(self) -> None:
        try:
            stream = Stream(self._place)
        except BaseException as error:
            self._unopened = error
            return
        finally:
            self._opened.set()
        try:
            with stream:
                while not self._stopped.is_set():
                    data = stream.read(BLOCK_BYTES)
                    self._put(data, stream.taken(), None)
                    if not data:
                        return
        except BaseException as error:
            self._put(b"", 0, error)

    def _put(self, data: bytes, taken: int, error: BaseException | None) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._ready.put((data, taken, error), timeout=_LONGEST_WAIT)
                return
