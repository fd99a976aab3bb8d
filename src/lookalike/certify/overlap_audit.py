"""The audit of sets and bags: what shares enough with a sampled item is compared, and nothing else.

`row_audit.py` with an index in front of it: all elements of the sample, sorted, each with the sampled item that has it.
A row looks its elements up, and what it shares with each sampled item is added up; where that is less than a match
needs, the pair need not be compared. A table of flags lets few elements through to the look-up that are not in the
sample. No prefix, no order by rarity: it shares nothing with the join that it checks.

    overlap    what a shared element adds    what a match needs
    count      1                             threshold · the smaller of both sizes (containment)
    least      the smaller weight            t/(1+t) · the weights of both (weighted Jaccard)
    product    the product of its weights    threshold · both lengths (cosine)
    fields     the smaller w_f / |A_f|       threshold · the weight of the columns of either (rows by columns)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np

from lookalike.certify.row_audit import RowAudit
from lookalike.types import BoolArray, F64Array, I64Array, U64Array

__all__ = ["OverlapAudit"]

_FLAGS = 1 << 22
_LAST = np.uint64(_FLAGS - 1)
# Shared elements that are counted at a time.
_SHARED = 1 << 19


class ComparesColumns(Protocol):
    """What compares rows column by column: see `measures.field_measure.FieldJudge`."""

    weights: F64Array

    def field_of(self, elements: U64Array) -> I64Array: ...

    def weight_of(self, fields: I64Array) -> F64Array: ...


@dataclass(slots=True)
class _Postings:
    """The elements of the first `items` items of a sample, ascending, and the place of each one's item in it."""

    items: int = 0
    elements: U64Array = field(default_factory=lambda: np.empty(0, np.uint64))
    weights: F64Array = field(default_factory=lambda: np.empty(0, np.float64))
    owners: I64Array = field(default_factory=lambda: np.empty(0, np.int64))
    flags: BoolArray = field(default_factory=lambda: np.zeros(_FLAGS, np.bool_))

    def add(self, elements: U64Array, weights: F64Array, owners: I64Array, items: int) -> None:
        """The elements of those that joined the sample since."""
        self.flags[elements & _LAST] = True
        merged = np.concatenate([self.elements, elements])
        order = np.argsort(merged, kind="stable")
        self.elements, self.owners = merged[order], np.concatenate([self.owners, owners])[order]
        self.weights = np.concatenate([self.weights, weights])[order]
        self.items = items


class OverlapAudit(RowAudit):
    """A random sample of sets or bags, compared exactly with all later ones that share enough."""

    _index: _Postings | None = None
    # After how many halvings of the sample it was made, and of how many items it is.
    _indexed: int = -1
    _index_held: int = 0

    @property
    def _overlap(self) -> str:
        """What is added up: count, least or product."""
        return str(getattr(self._judge, "overlap", "count"))

    @property
    def _columns(self) -> ComparesColumns:
        """What tells of which column an element is, where rows are compared column by column."""
        return cast(ComparesColumns, self._judge)

    def _candidates(
        self, offsets: I64Array, words: U64Array, place: I64Array, sampled: I64Array, rows: I64Array
    ) -> tuple[I64Array, I64Array]:
        index = self._up_to_date(offsets, words, place, sampled)
        values, weights, which = self._elements(offsets, words, rows)
        needed = self._needed(self._totals(offsets, words, place[sampled]), self._totals(offsets, words, rows))
        passed = index.flags[values & _LAST]
        values, weights, which = values[passed], weights[passed], which[passed]
        first = np.searchsorted(index.elements, values, side="left")
        count = np.searchsorted(index.elements, values, side="right") - first
        shared = np.zeros(len(place) * len(rows))
        ends = np.concatenate([[0], np.cumsum(count)])
        begin = 0
        while begin < len(count):
            end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + _SHARED, side="right")) - 1)
            some = np.repeat(np.arange(begin, end), count[begin:end])
            nth = np.arange(len(some)) - (ends[some] - ends[begin])
            theirs = first[some] + nth
            added = self._added(index.weights[theirs], weights[some])
            shared += np.bincount(index.owners[theirs] * len(rows) + which[some], weights=added, minlength=len(shared))
            begin = end
        one, other = np.nonzero((shared.reshape(len(place), len(rows))[sampled] >= needed) & (needed > 0))
        return sampled[one], rows[other]

    def _added(self, ours: F64Array, theirs: F64Array) -> F64Array:
        if self._overlap == "count":
            return np.ones(len(ours))
        return ours * theirs if self._overlap == "product" else np.minimum(ours, theirs)

    def _totals(self, offsets: I64Array, words: U64Array, rows: I64Array) -> F64Array:
        """Of each row its number of elements, the sum of its weights, its length, or a bit for each of its columns."""
        values, weights, which = self._elements(offsets, words, rows)
        if self._overlap == "fields":
            columns = np.zeros(len(rows), np.int64)
            np.bitwise_or.at(columns, which, np.int64(1) << self._columns.field_of(values))
            return columns.astype(np.float64)
        squares = weights * weights if self._overlap == "product" else weights
        totals: F64Array = np.bincount(which, weights=squares, minlength=len(rows)).astype(np.float64)
        return np.sqrt(totals) if self._overlap == "product" else totals

    def _needed(self, ours: F64Array, theirs: F64Array) -> F64Array:
        """What each two must share; lowered a little, for sums are rounded, and a pair too many does no harm."""
        threshold = self._judge.threshold * (1.0 - 1e-6)
        if self._overlap == "count":
            return threshold * np.minimum(ours[:, None], theirs)
        if self._overlap == "fields":
            return threshold * self._columns.weight_of(ours.astype(np.int64)[:, None] | theirs.astype(np.int64))
        if self._overlap == "least":
            return threshold / (1.0 + threshold) * (ours[:, None] + theirs)
        return threshold * ours[:, None] * theirs

    def _weights(self, values: U64Array, which: I64Array, rows: int) -> F64Array:
        """What each of these elements counts, which are of so many rows."""
        if self._overlap == "count":
            return np.ones(len(values))
        fields = self._columns.field_of(values)
        place = which * len(self._columns.weights) + fields
        sizes = np.bincount(place, minlength=rows * len(self._columns.weights))
        weights: F64Array = self._columns.weights[fields] / sizes[place]
        return weights

    def _up_to_date(self, offsets: I64Array, words: U64Array, place: I64Array, sampled: I64Array) -> _Postings:
        """The index with those that joined; made anew after a part of the sample was dropped, or has enough matches.

        Of many copies all that were sampled soon have, and would be counted up for every copy that follows.
        """
        fresh = self._index is None or self._indexed != self._halvings
        if not fresh and 2 * len(sampled) < self._index_held:
            fresh = True
        if fresh:
            self._index, self._indexed, self._index_held = _Postings(), self._halvings, 0
        assert self._index is not None
        joined = sampled[sampled >= self._index.items]
        self._index_held += len(joined)
        elements, weights, which = self._elements(offsets, words, place[joined])
        self._index.add(elements, weights, joined[which], len(place))
        return self._index

    def _elements(self, offsets: I64Array, words: U64Array, rows: I64Array) -> tuple[U64Array, F64Array, I64Array]:
        """The elements of some rows, one row after another, their weights, and of which of these rows each is."""
        counts = offsets[rows + 1] - offsets[rows]
        weighted = self._overlap in ("least", "product")
        if weighted:
            # A row of a bag has its elements, and behind them half as many words with their weights.
            counts = 2 * counts // 3
        which = np.repeat(np.arange(len(rows)), counts)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        begins = offsets[rows][which]
        if not weighted:
            values = words[begins + nth]
            return values, self._weights(values, which, len(rows)), which
        behind = 2 * (begins + counts[which]) + nth
        return words[begins + nth], words.view(np.float32)[behind].astype(np.float64), which
