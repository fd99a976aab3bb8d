"""When whoever adds and removes waits for the disk: each time, once for many, or once for what belongs together."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from lookalike.errors import OutputError
from lookalike.index.log_writer import LogWriter
from lookalike.index.storing import Storing

__all__ = ["Commits"]


class Commits:
    """The waits of one index; without `durable` nobody waits."""

    def __init__(self, storing: Storing, *, durable: bool) -> None:
        self._storing = storing
        self._durable = durable and storing.store.waits
        # Of each thread, whether it waits later.
        self._waiting = threading.local()

    def commit(self) -> None:
        """Return when all that this thread has added and removed is safe, unless it waits later."""
        if self._durable and not getattr(self._waiting, "inside", False):
            self._storing.store.commit()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is added and removed inside waits for the disk once, at the end, instead of each time."""
        before, self._waiting.inside = getattr(self._waiting, "inside", False), True
        try:
            yield
        except BaseException:
            self._waiting.inside = before
            # What was added before stays; that it cannot be kept must not hide what went wrong.
            with contextlib.suppress(OutputError):
                self.commit()
            raise
        self._waiting.inside = before
        self.commit()

    @contextlib.contextmanager
    def as_one(self, log: LogWriter, token: str) -> Iterator[None]:
        """What is added inside is there as a whole, or, whatever ends it before, not at all: see `LogWriter`.

        Inside of another such block it is part of that one.
        """
        with self._storing.lock:
            if log.is_bundling:
                yield
                return
            before, self._waiting.inside = getattr(self._waiting, "inside", False), True
            items = log.items
            try:
                log.begin_bundle(token)
                yield
                log.end_bundle(log.items - items)
            except BaseException:
                # What cannot be taken back now is when the index is opened again.
                with contextlib.suppress(OutputError):
                    log.take_back()
                raise
            finally:
                self._waiting.inside = before
