"""The audit of items that are no sets: a random sample of rows is compared exactly with all that follow.

The same statement as `audit.py` makes, without its index, which only sets have: each item is compared with each of the
sample. What is random is the same too: item i is in the sample if a hash of (seed, i) is small, and the limit is halved
whenever the sample has more than twice as many items as asked.

Rows are compared some at a time, those of the sample with all of them, and those of them that join the sample with
their followers. What is found depends on the items alone: the sample only ever loses items, so whatever is in it at the
end was in it since it passed by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.audit import Audited
from lookalike.certify.ranks import ranks_of
from lookalike.types import BoolArray, F64Array, I64Array, U64Array

__all__ = ["RowAudit", "Rowed"]

# Rows that are compared with the sample at a time.
_ROWS = 1024


class Rowed(Protocol):
    """What compares rows: see `measures.base.Judge`."""

    threshold: float

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array: ...

    def crossed(self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array) -> BoolArray: ...


class RowAudit:
    """A random sample of rows, compared exactly with all later ones while they pass by."""

    def __init__(self, judge: Rowed, sample: int, seed: int = 0, probe_from: int = 0, most: int = 250) -> None:
        """Items before `probe_from` may be sampled, but are not compared with those before them."""
        self._judge, self.sample, self.seed, self.probe_from, self.most = judge, sample, seed, probe_from, most
        self._halvings = self._seen = self._compared = self._empty = 0
        self._items, self._matches = np.empty(0, np.int64), np.empty(0, np.int64)
        self._groups = np.empty(0, np.uint64)
        self._offsets, self._words = np.zeros(1, np.int64), np.empty(0, np.uint64)
        self._pairs: tuple[I64Array, I64Array, F64Array] = _no_pairs()

    def add(self, first: int, offsets: I64Array, words: U64Array, groups: U64Array | None = None) -> None:
        """Let the items first, first + 1, … pass by, rows cut by `offsets`; only those of one group are compared."""
        if groups is None:
            groups = np.zeros(len(offsets) - 1, np.uint64)
        for start in range(0, len(groups), _ROWS):
            some = slice(start, start + _ROWS)
            here = offsets[start : start + _ROWS + 1]
            self._add(first + start, here - here[0], words[here[0] : here[-1]], groups[some])

    def _add(self, first: int, offsets: I64Array, words: U64Array, groups: U64Array) -> None:
        present = np.diff(offsets) > 0
        items = first + np.flatnonzero(present)
        self._seen += len(items)
        self._compared += int((items >= self.probe_from).sum())
        self._empty += int((~present).sum())
        limit = np.uint64((2**64 - 1) >> self._halvings)
        joins = ranks_of(items, self.seed) <= limit
        before = len(self._items)
        self._items = np.concatenate([self._items, items[joins]])
        self._matches = np.concatenate([self._matches, np.zeros(int(joins.sum()), np.int64)])
        self._groups = np.concatenate([self._groups, groups[items[joins] - first]])
        # The rows of the sample, then those that came: empty rows take no words.
        lengths = np.diff(offsets)[present]
        together = np.concatenate([self._words, words])
        ends = np.concatenate([np.diff(self._offsets), lengths])
        offsets = np.concatenate([[0], np.cumsum(ends)]).astype(np.int64)
        place = np.concatenate([np.arange(before), before + np.flatnonzero(joins)])
        self._compare(items, groups[items - first], offsets, together, place, before)
        self._keep(offsets, together, place, np.ones(len(place), np.bool_))
        while len(self._items) > 2 * self.sample:
            self._halvings += 1
            limit = np.uint64((2**64 - 1) >> self._halvings)
            kept = ranks_of(self._items, self.seed) <= limit
            self._keep(self._offsets, self._words, np.arange(len(kept)), kept)
            self._items, self._matches, self._groups = self._items[kept], self._matches[kept], self._groups[kept]
            left, right, scores = self._pairs
            mine = np.isin(left, self._items)
            self._pairs = left[mine], right[mine], scores[mine]

    def probe(self, first: int, offsets: I64Array, words: U64Array, groups: U64Array | None = None) -> None:
        """Compare the items first, first + 1, … with the sample, which none of them joins; see `add` for groups."""
        if groups is None:
            groups = np.zeros(len(offsets) - 1, np.uint64)
        for start in range(0, len(offsets) - 1, _ROWS):
            here = offsets[start : start + _ROWS + 1]
            lengths = np.diff(here)
            items = first + start + np.flatnonzero(lengths)
            ends = np.cumsum(np.concatenate([[0], np.diff(self._offsets), lengths[lengths > 0]])).astype(np.int64)
            together = np.concatenate([self._words, words[here[0] : here[-1]]])
            sampled = np.arange(len(self._items))
            self._compare(items, groups[items - first], ends, together, sampled, len(sampled))

    def _compare(
        self, items: I64Array, groups: U64Array, offsets: I64Array, words: U64Array, place: I64Array, before: int
    ) -> None:
        """Compare sampled items, whose rows stand at `place`, with those that came, rows `before` and on."""
        sampled = np.flatnonzero(self._matches <= self.most)
        probes = np.flatnonzero(items >= self.probe_from)
        if not len(sampled) or not len(probes):
            return
        one, other = self._candidates(offsets, words, place, sampled, before + probes)
        other -= before
        fits = (self._items[one] < items[other]) & (self._groups[one] == groups[other])
        one, other = one[fits], other[fits]
        scores = self._judge.compare(offsets, words, place[one], before + other, self._judge.threshold)
        hit = np.flatnonzero(scores >= self._judge.threshold)
        # Of each sampled item the first so many, in the order in which they came.
        nth = np.arange(len(hit)) - np.searchsorted(one[hit], one[hit])
        noted = hit[self._matches[one[hit]] + nth < self.most]
        self._matches += np.bincount(one[hit], minlength=len(self._matches))
        left, right, known = self._pairs
        self._pairs = (
            np.concatenate([left, self._items[one[noted]]]),
            np.concatenate([right, items[other[noted]]]),
            np.concatenate([known, scores[noted]]),
        )

    def _candidates(
        self, offsets: I64Array, words: U64Array, place: I64Array, sampled: I64Array, rows: I64Array
    ) -> tuple[I64Array, I64Array]:
        """(sampled item, row) of what may match, by both."""
        one, other = np.nonzero(self._judge.crossed(offsets, words, place[sampled], rows))
        return sampled[one], rows[other]

    def _keep(self, offsets: I64Array, words: U64Array, place: I64Array, kept: BoolArray) -> None:
        """Hold the rows at `place`, as far as they are kept."""
        lengths = np.diff(offsets)
        wanted = np.zeros(len(lengths), np.bool_)
        wanted[place[kept]] = True
        self._words = words[np.repeat(wanted, lengths)]
        self._offsets = np.concatenate([[0], np.cumsum(lengths[place[kept]])]).astype(np.int64)

    def finish(self) -> Audited:
        """What was found so far."""
        left, right, scores = self._pairs
        order = np.lexsort((right, left))
        return Audited(
            items=self._items.copy(),
            left=left[order],
            right=right[order],
            similarities=scores[order],
            full=int((self._matches > self.most).sum()),
            rate=0.5**self._halvings,
            seen=self._seen,
            compared=self._compared,
            empty=self._empty,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that `from_state` needs to go on from here."""
        left, right, scores = self._pairs
        numbers = [self.sample, self.probe_from, self.most, self._halvings, self._seen, self._compared, self._empty]
        return {
            "seed": np.array([self.seed], np.uint64),
            "numbers": np.array(numbers, np.int64),
            "items": self._items,
            "matches": self._matches,
            "groups": self._groups,
            "offsets": self._offsets,
            "words": self._words,
            "left": left,
            "right": right,
            "scores": scores,
        }

    @classmethod
    def from_state(cls, judge: Rowed, state: Mapping[str, NDArray[Any]]) -> RowAudit:
        """The audit that gave this state."""
        sample, probe_from, most, halvings, seen, compared, empty = state["numbers"].tolist()
        audit = cls(judge, sample, int(state["seed"][0]), probe_from, most)
        audit._halvings, audit._seen, audit._compared, audit._empty = halvings, seen, compared, empty
        audit._items, audit._matches, audit._groups = state["items"], state["matches"], state["groups"]
        audit._offsets, audit._words = state["offsets"], state["words"]
        audit._pairs = state["left"], state["right"], state["scores"]
        return audit


def _no_pairs() -> tuple[I64Array, I64Array, F64Array]:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
