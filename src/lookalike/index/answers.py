"""What an index answers: matches, best first, and how they came about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["Answer", "Match", "Near"]


class Match(NamedTuple):
    """An item that is like the one that was asked for."""

    id: str | int
    similarity: float
    payload: Any = None


class Near(NamedTuple):
    """The same for measures that are distances."""

    id: str | int
    distance: float
    payload: Any = None


class Answer(list[Any]):
    """The matches of a query, best first, and how they came about.

    Attributes:
        compared: candidates that were compared.
        left_out: candidates and entries of buckets that were not looked at, since there were too many.
        recall: of the nearest items, the chance that one that belongs among them is there; otherwise None.
    """

    # Without a dictionary of its own an answer is made in half of the time.
    __slots__ = ("compared", "left_out", "recall")

    def __init__(
        self, matches: Iterable[Any] = (), compared: int = 0, left_out: int = 0, recall: float | None = None
    ) -> None:
        super().__init__(matches)
        self.compared = compared
        self.left_out = left_out
        self.recall = recall

    @property
    def complete(self) -> bool:
        """Whether every candidate was compared."""
        return not self.left_out
