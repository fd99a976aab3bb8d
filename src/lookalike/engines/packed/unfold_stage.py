"""From matches of leaders to pairs of items: each leader stands for its copies.

    matches ── by left leader ── copies of the left ── by right leader ── copies of the right ──▶ pairs of items

Two exchanges, since a match stands where its left leader is, and the copies of the right one are elsewhere. Pairs of
identical items come from the copies alone.

Where a pair has a direction, the smaller of both items is the left one, and it is told how much of the larger is inside
it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.numbering import of_references, part_of_item
from lookalike.engines.packed.order_stage import SIZES
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import I64Array
from lookalike.verify.containment import reversed_share

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
            told = {name: blob[name] for name in ("right", "similarity", *SIZES) if name in blob}
            for which, item in folds.spread(blob["left"]):
                halves_of = {name: array[which] for name, array in told.items()}
                yield from _sent(halves_of | {"left": item}, self.parts, out)
        yield from out.rest()


@dataclass(frozen=True)
class UnfoldRight:
    """Puts in the copies of right leaders, and the pairs of identical items, of which each has this similarity."""

    identical: float
    directed: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        halves, folds = _read(batches, "half")
        out = BatchWriter(WHOLE)
        for blob in halves:
            told = {name: blob[name] for name in ("left", "similarity", *SIZES) if name in blob}
            for which, item in folds.spread(blob["right"]):
                yield from self._listed({name: array[which] for name, array in told.items()} | {"right": item}, out)
        for which, other in folds.spread(folds.leaders):
            item = folds.items[which]
            mine = item < other
            alike = np.full(int(mine.sum()), self.identical)
            yield from self._listed({"left": item[mine], "right": other[mine], "similarity": alike}, out)
        yield from out.rest()

    def _listed(self, pairs: Arrays1D, out: BatchWriter) -> Iterator[pa.RecordBatch]:
        asked = ~of_references(pairs["left"], pairs["right"])
        pairs = {name: array[asked] for name, array in pairs.items()}
        a, b, similarity = (pairs[name] for name in ("left", "right", "similarity"))
        if len(a):
            listed: Arrays1D = {"left": np.minimum(a, b), "right": np.maximum(a, b), "similarity": similarity}
            out.add("listed", 0, self._turned(listed, pairs) if self.directed else listed)
            yield from out.full()

    @staticmethod
    def _turned(listed: Arrays1D, pairs: Arrays1D) -> Arrays1D:
        """The same pairs, the smaller item first; those without sizes are of identical items."""
        similarity = listed["similarity"]
        if SIZES[0] not in pairs:
            return listed | {"reversed": similarity}
        a, b, sizes = pairs["left"], pairs["right"], [pairs[name] for name in SIZES]
        smaller = np.where(sizes[0] < sizes[1], a, np.where(sizes[0] > sizes[1], b, listed["left"]))
        share = reversed_share(similarity, np.minimum(*sizes), np.maximum(*sizes))
        return {"left": smaller, "right": np.where(smaller == a, b, a), "similarity": similarity, "reversed": share}


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


def _sent(halves: Arrays1D, parts: int, out: BatchWriter) -> Iterator[pa.RecordBatch]:
    """Matches, to the task of their right leaders."""
    for each, mine in by_number(part_of_item(halves["right"], parts)):
        out.add("half", each, {name: array[mine] for name, array in halves.items()})
        yield from out.full()
