"""From matches of leaders to pairs of items: each leader stands for its copies.

    matches ── by left leader ── copies of the left ── by right leader ── copies of the right ──▶ pairs of items

Two exchanges, since a match stands where its left leader is, and the copies of the right one are elsewhere. Pairs of
identical items come from the copies alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.numbering import of_references, part_of_item
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import F64Array, I64Array

__all__ = ["COUNTED", "HALF", "WHOLE", "UnfoldLeft", "UnfoldRight", "count_pairs"]

HALF = ("half",)
WHOLE = ("listed",)
COUNTED = ("counts",)
# Pairs that are made at a time.
_PAIRS = 1 << 18


@dataclass(frozen=True)
class UnfoldLeft:
    """Puts in the copies of left leaders: (item, right leader), to the task of that."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        halves, folds = _read(batches, "matches")
        out = BatchWriter(HALF)
        for blob in halves:
            for which, item in folds.spread(blob["left"]):
                right = blob["right"][which]
                yield from _sent(right, item, right, blob["similarity"][which], self.parts, out)
        yield from out.rest()


@dataclass(frozen=True)
class UnfoldRight:
    """Puts in the copies of right leaders, and the pairs of identical items, of which each has this similarity."""

    identical: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        halves, folds = _read(batches, "half")
        out = BatchWriter(WHOLE)
        for blob in halves:
            for which, item in folds.spread(blob["right"]):
                yield from self._listed(blob["left"][which], item, blob["similarity"][which], out)
        for which, other in folds.spread(folds.leaders):
            item = folds.items[which]
            mine = (item < other) & ~of_references(item, other)
            yield from self._listed(item[mine], other[mine], np.full(int(mine.sum()), self.identical), out)
        yield from out.rest()

    def _listed(self, a: I64Array, b: I64Array, similarity: F64Array, out: BatchWriter) -> Iterator[pa.RecordBatch]:
        asked = ~of_references(a, b)
        a, b, similarity = a[asked], b[asked], similarity[asked]
        if len(a):
            out.add("listed", 0, {"left": np.minimum(a, b), "right": np.maximum(a, b), "similarity": similarity})
            yield from out.full()


def count_pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many pairs `UnfoldRight` would make of matches, without those of identical items."""
    halves, folds = _read(batches, "half")
    out, tallies = BatchWriter(COUNTED), Tallies()
    for blob in halves:
        tallies.add("pairs", int(folds.counts(blob["right"]).sum()))
        tallies.add("pairs", -int(folds.references(blob["right"][blob["left"] < 0]).sum()))
    out.add("counts", 0, tallies.packed())
    yield from out.rest()


@dataclass(frozen=True)
class _FoldedItems:
    """Pairs (leader, item) in order, for leaders that have copies."""

    leaders: I64Array
    items: I64Array

    def counts(self, leaders: I64Array) -> I64Array:
        """How many items each leads, itself included."""
        first, last = (np.searchsorted(self.leaders, leaders, side) for side in ("left", "right"))
        counts: I64Array = np.maximum(last - first, 1)
        return counts

    def references(self, leaders: I64Array) -> I64Array:
        """How many references each leads, itself included if it is one."""
        mine = self.leaders[self.items < 0]
        first, last = (np.searchsorted(mine, leaders, side) for side in ("left", "right"))
        return np.where(self.counts(leaders) > 1, last - first, leaders < 0)

    def spread(self, leaders: I64Array) -> Iterator[tuple[I64Array, I64Array]]:
        """(which of these leaders, an item that it leads) for all of them; one without copies leads itself."""
        first, last = (np.searchsorted(self.leaders, leaders, side) for side in ("left", "right"))
        counts = np.maximum(last - first, 1)
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(leaders):
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
            some = counts[begin:end]
            which = np.repeat(np.arange(begin, end), some)
            nth = np.arange(len(which)) - np.repeat(np.cumsum(some) - some, some)
            alone = (last == first)[which]
            items = leaders[which].copy()
            items[~alone] = self.items[(first[which] + nth)[~alone]]
            yield which, items
            begin = end


def _read(batches: Iterator[pa.RecordBatch], kind: str) -> tuple[list[Arrays1D], _FoldedItems]:
    """The matches of a task, and the copies of their leaders."""
    _, found = of_one_task(batches, [kind, "copies"])
    leaders, items = (
        [np.empty(0, np.int64), *(blob[name] for blob in found["copies"])] for name in ("leaders", "items")
    )
    leader, item = np.concatenate(leaders), np.concatenate(items)
    order = np.lexsort((item, leader))
    return found[kind], _FoldedItems(leader[order], item[order])


def _sent(
    by: I64Array, left: I64Array, right: I64Array, similarity: F64Array, parts: int, out: BatchWriter
) -> Iterator[pa.RecordBatch]:
    """Matches, to the task of the items that they go by."""
    for each, mine in by_number(part_of_item(by, parts)):
        out.add("half", each, {"left": left[mine], "right": right[mine], "similarity": similarity[mine]})
        yield from out.full()
