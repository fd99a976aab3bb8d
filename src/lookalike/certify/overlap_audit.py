"""The audit of containment: what shares enough elements with a sampled item is compared, and nothing else.

`row_audit.py` with an index in front of it: all elements of the sample, sorted, each with the sampled item that has it.
A row looks its elements up, and what it shares with each sampled item is counted; where that is less than the threshold
times the smaller of both sizes, the pair need not be compared. A table of flags lets few elements through to the
look-up that are not in the sample. No prefix, no order by rarity: it shares nothing with the join that it checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lookalike.certify.row_audit import RowAudit
from lookalike.types import BoolArray, I64Array, U64Array

__all__ = ["OverlapAudit"]

_FLAGS = 1 << 22
_LAST = np.uint64(_FLAGS - 1)
# Shared elements that are counted at a time.
_SHARED = 1 << 22


@dataclass(slots=True)
class _Index:
    """The elements of the first `items` items of a sample, ascending, and the place of each one's item in it."""

    items: int = 0
    elements: U64Array = field(default_factory=lambda: np.empty(0, np.uint64))
    owners: I64Array = field(default_factory=lambda: np.empty(0, np.int64))
    flags: BoolArray = field(default_factory=lambda: np.zeros(_FLAGS, np.bool_))

    def add(self, elements: U64Array, owners: I64Array, items: int) -> None:
        """The elements of those that joined the sample since."""
        self.flags[elements & _LAST] = True
        merged = np.concatenate([self.elements, elements])
        order = np.argsort(merged, kind="stable")
        self.elements, self.owners = merged[order], np.concatenate([self.owners, owners])[order]
        self.items = items


class OverlapAudit(RowAudit):
    """A random sample of sets, compared exactly with all later ones that share enough elements."""

    _index: _Index | None = None
    _indexed: int = -1

    def _crossed(self, offsets: I64Array, words: U64Array, sampled: I64Array, rows: I64Array) -> BoolArray:
        # Of the sample those are asked for that have not too many matches; those that joined just now have none.
        asked = np.flatnonzero(self._matches <= self.most)
        index = self._up_to_date(offsets, words, sampled, asked)
        sizes = np.diff(offsets)
        values, which = _elements(offsets, words, rows)
        passed = index.flags[values & _LAST]
        values, which = values[passed], which[passed]
        first = np.searchsorted(index.elements, values, side="left")
        count = np.searchsorted(index.elements, values, side="right") - first
        shared = np.zeros(index.items * len(rows), np.int64)
        ends = np.concatenate([[0], np.cumsum(count)])
        begin = 0
        while begin < len(count):
            end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + _SHARED, side="right")) - 1)
            some = np.repeat(np.arange(begin, end), count[begin:end])
            nth = np.arange(len(some)) - (ends[some] - ends[begin])
            shared += np.bincount(index.owners[first[some] + nth] * len(rows) + which[some], minlength=len(shared))
            begin = end
        smaller = np.minimum(sizes[sampled][:, None], sizes[rows][None, :])
        # A bound that is lowered a little lets a pair too many through.
        enough: BoolArray = shared.reshape(index.items, len(rows))[asked] >= self._judge.threshold * smaller - 1e-6
        return enough & (smaller > 0)

    def _up_to_date(self, offsets: I64Array, words: U64Array, sampled: I64Array, asked: I64Array) -> _Index:
        """The index with those that joined; made anew after a part of the sample was dropped."""
        if self._index is None or self._indexed != self._halvings:
            self._index, self._indexed = _Index(), self._halvings
        joined = np.flatnonzero(asked >= self._index.items)
        elements, which = _elements(offsets, words, sampled[joined])
        self._index.add(elements, asked[joined][which], len(self._matches))
        return self._index


def _elements(offsets: I64Array, words: U64Array, rows: I64Array) -> tuple[U64Array, I64Array]:
    """The elements of some rows, one row after another, and of which of these rows each is."""
    counts = offsets[rows + 1] - offsets[rows]
    which = np.repeat(np.arange(len(rows)), counts)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return words[offsets[rows][which] + nth], which
