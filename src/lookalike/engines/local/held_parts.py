"""Parts of the items with the rows that they are compared by, as the second pass leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lookalike.collide.buckets import Likeness, Task
from lookalike.collide.fold import Folds
from lookalike.engines.counts import Counts
from lookalike.engines.local.parts import Part
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.measures import Judge, compares_elements
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.verify.verifier import Verified, Verifier

__all__ = ["HeldPart", "HeldParts"]


@dataclass(frozen=True, slots=True)
class HeldPart:
    """A part, its rows, and what compares them: those pairs that count."""

    part: Part
    store: StoredRows
    verifier: Verifier
    folds: Folds
    # Told how many candidates were compared.
    on_compared: Callable[[int], None] = lambda _: None

    @property
    def references(self) -> int:
        """Items before this one are those of another collection."""
        return self.folds.references

    @property
    def items(self) -> I64Array:
        """The item of each row."""
        return self.part.items

    @property
    def giant(self) -> BoolArray:
        """Which of them are of giant buckets."""
        return self.part.giant

    def matches(self, tasks: Iterator[Task], counts: Counts) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
        """Of the candidate pairs of rows that tasks give those that match, with their similarity."""
        for done in self.verified(tasks, counts):
            yield done.pairs

    def verified(
        self,
        tasks: Iterator[Task],
        counts: Counts,
        look_up: Callable[[I64Array, I64Array, F64Array], Any] | None = None,
    ) -> Iterator[Verified]:
        """The same, with what the threads that found them looked up of them."""

        def asked(left: I64Array, right: I64Array) -> BoolArray:
            return self.folds.count(self.items[left], self.items[right])

        for done in self.verifier.verified(tasks, None if self.folds.all_count else asked, look_up):
            counts.candidates += done.compared
            self.on_compared(done.compared)
            if len(done.left):
                yield done

    def likeness(self, judge: Judge, block: int) -> Likeness | None:
        """The signatures of all rows, where they have some; a file is read so many bytes at a time."""
        if self.store.in_memory:
            return judge.likeness(*self.store.whole())
        parts = [judge.likeness(*self.store.take(*rows)) for rows in self.store.blocks(block)]
        if not parts or parts[0] is None:
            return None
        return replace(parts[0], signatures=np.concatenate([part.signatures for part in parts if part is not None]))


@dataclass(frozen=True, slots=True)
class HeldParts:
    """All parts of a run, and how many bytes of their rows are in files."""

    parts: list[HeldPart] = field(default_factory=list)
    spilled: int = 0

    @property
    def items(self) -> int:
        """How many items are held."""
        return sum(len(each.items) for each in self.parts)

    def together(self, left: I64Array, right: I64Array) -> Iterator[tuple[HeldPart, I64Array, I64Array, I64Array]]:
        """(part, which pairs of items it holds, their rows on the left and on the right) for each part."""
        for held in self.parts:
            items = held.items
            one, other = (np.minimum(np.searchsorted(items, each), len(items) - 1) for each in (left, right))
            mine = np.flatnonzero((items[one] == left) & (items[other] == right))
            yield held, mine, one[mine], other[mine]

    def matching_again(self, left: I64Array, right: I64Array, judge: Judge) -> BoolArray:
        """Which pairs of items match by plain intersections of their rows, which must hold elements.

        A pair of which the rows are not held together does not match: it was in no part.
        """
        out = np.zeros(len(left), np.bool_)
        assert compares_elements(judge), "only elements are intersected"
        for held, mine, *rows in self.together(left, right):
            for at, a, b in zip(mine.tolist(), *(each.tolist() for each in rows), strict=True):
                one, other = (held.store.take(row, row + 1)[1] for row in (a, b))
                out[at] = judge.plain_score(one, other) >= judge.threshold
        return out

    def close(self) -> None:
        """Forget the rows."""
        for held in self.parts:
            held.store.close()
