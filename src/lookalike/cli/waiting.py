"""A line on the terminal where nothing else has been seen for most of a second: between stages, and before the first.

Bars tell of stages. What lies between them is mostly short, but on a large collection, or a slow machine, it adds up,
and a terminal that shows nothing looks as if something hangs. Without rich, which takes 15 ms to load.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lookalike.cli.stopwatch import elapsed

__all__ = ["WAITING", "WaitingLine"]

# Seconds without anything to see; how often the line is looked after; and what takes a line away.
_PATIENCE, _EVERY = 0.6, 0.1
_CLEAR = "\r\x1b[2K"


class WaitingLine:
    """The line. Who writes to the terminal does so `aside`, or ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = self._drawn = self._left_alone = False
        self._seen = 0.0

    def begin(self) -> None:
        """From now on nothing tells how far it is."""
        with self._lock:
            self._wanted = not self._left_alone and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
            if self._wanted and self._thread is None:
                self._thread = threading.Thread(target=self._look_after, name="lookalike-waiting", daemon=True)
                self._thread.start()

    def end(self) -> bool:
        """Something else is shown from now on; whether the line was there."""
        with self._lock:
            was_there, self._wanted = self._drawn, False
            self._clear()
            return was_there

    def leave_alone(self) -> None:
        """Results go to standard output, which may be the same terminal: there is never a line."""
        self._left_alone = True
        self.end()

    def seen(self) -> None:
        """Something was shown just now."""
        with self._lock:
            self._seen = elapsed()

    def unseen(self) -> float:
        """For how many seconds nothing has been shown."""
        return elapsed() - self._seen

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While something is written."""
        with self._lock:
            self._clear()
            yield
            self._seen = elapsed()

    def _look_after(self) -> None:
        while True:
            with self._lock:
                if self._wanted and (self._drawn or self.unseen() >= _PATIENCE):
                    self._draw(f"{_CLEAR}working, {elapsed():.0f} s so far")
                    self._drawn = True
            threading.Event().wait(_EVERY)

    def _clear(self) -> None:
        if self._drawn:
            self._draw(_CLEAR)
            self._drawn, self._seen = False, elapsed()

    def _draw(self, text: str) -> None:
        # The stream may be closed or gone while the process ends.
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            self._wanted = False


WAITING = WaitingLine()
