"""Bad rows: an error at once, or, with `skip_bad`, counted and left out in the same way on every pass.

A row that is left out takes no number, so all passes must leave out the same rows, although they may look at
different columns. What the first pass over a stretch of a file decided is therefore kept: in a stretch that
was read before, a recorded row is skipped without a look, and a row that turns out bad only now is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lookalike.errors import InputError

_MOST_MESSAGES = 10

__all__ = ["FaultLog", "Faults"]


@dataclass(slots=True)
class FaultLog:
    """What was skipped over all files of a source."""

    skip: bool
    skipped: int = 0
    messages: list[str] = field(default_factory=list)

    @property
    def telling(self) -> bool:
        """Whether the next message will be kept or raised, so that it is worth a search for its line."""
        return not self.skip or len(self.messages) < _MOST_MESSAGES


@dataclass(slots=True)
class Faults:
    """The bad places of one file: line numbers, row numbers, or 0 for the file as a whole.

    Attributes:
        log: where the count and the first messages of all files are kept.
        places: the places that are left out.
        judged: places below this one were looked at by an earlier pass.
    """

    log: FaultLog
    places: set[int] = field(default_factory=set)
    judged: int = 0

    def report(self, place: int, message: str) -> None:
        """Leave out what is at `place`, or raise `InputError` with `message`."""
        if place in self.places:
            return
        if not self.log.skip or place < self.judged:
            raise InputError(message)
        self.places.add(place)
        self.log.skipped += 1
        if len(self.log.messages) < _MOST_MESSAGES:
            self.log.messages.append(str(InputError(message)))

    def apart(self) -> Faults:
        """The same for one thread of several; what it reports is taken over by `absorb`, in order."""
        return Faults(FaultLog(self.log.skip), set(self.places), self.judged)

    def absorb(self, other: Faults) -> None:
        """Take over what was reported apart."""
        self.places |= other.places
        self.log.skipped += other.log.skipped
        self.log.messages += other.log.messages[: _MOST_MESSAGES - len(self.log.messages)]

    def settle(self, end: int) -> None:
        """All places below `end` have been looked at."""
        self.judged = max(self.judged, end)
