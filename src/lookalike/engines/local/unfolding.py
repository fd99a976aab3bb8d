"""Pairs of items from matches of leaders: copies are unfolded, and the pairs come in order, some at a time.

A pair belongs to its item of smaller rank. So the unfolding is done by halves: first each item with each leader that
has later items for it, which is sorted (`engines/local/store/matches.py`, spilled where it does not fit); then, item by
item, those leaders' later copies. Of 40,000 copies of a page 40,000 entries are sorted and not their 800 million pairs,
and without copies there is one entry for each pair.

    copies 0 2 and 1 3, which match:   0: 0, 1    1: 0, 1    2: 0, 1              (item: leaders)
                                       0: 2, 1 3    1: 2, 3    2: 3               (item: later copies of those)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lookalike.collide.fold import Folds, Wanted
from lookalike.engines.local.store.matches import STRETCH, Matches
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["BATCH", "pairs_in_order"]

# Pairs that are given out at a time, always as many: what is written must not depend on what was spilled.
BATCH = 1 << 16

_LOW = 0xFFFFFFFF

Stretch = tuple[I64Array, I64Array, F64Array]


def pairs_in_order(
    folds: Folds, matches: Matches, rank: I64Array, level: I64Array | None = None, identical: float = 1.0
) -> Iterator[Stretch]:
    """(first, second, score): every pair of items once, rank[first] < rank[second], by both ranks.

    With a `level` for each item, equal for identical ones, the first is the item of lower level, or of smaller rank on
    one level; the order is still by rank. Copies have the score of `identical` items. Pairs that do not count are left
    out: references come first in rank where items are removed for them, and last where all pairs are wanted. What is
    held is a number of arrays over all items, and the pairs of one item.
    """
    if not len(rank):
        return
    groups = _CopyGroups(folds, rank, np.broadcast_to(np.int64(0), len(rank)) if level is None else level)
    for first, second, similarity in _batches(_unfolded(groups, _partners(groups, matches, identical))):
        yield groups.by_rank[first].astype(np.int64), groups.by_rank[second].astype(np.int64), similarity


class _CopyGroups:
    """Copies by their leader, in order of rank: leader i has the places offsets[i] … offsets[i + 1] - 1.

    `keys` has the leader and, in its lower half, the rank of the item at each place, and so ascends.
    """

    def __init__(self, folds: Folds, rank: I64Array, level: I64Array) -> None:
        items = len(rank)
        self.level = level
        self.by_rank = np.empty(items, np.uint32)
        self.by_rank[rank] = np.arange(items, dtype=np.uint32)
        self._wanted, self._references, self._own = folds.wanted, folds.references, items - folds.references
        # Every pair across begins with an own item and ends with a reference, unless levels turn it round.
        even = self._wanted is Wanted.ACROSS and not level.any()
        self._before = self._own - 1 if even else -1
        self.keys = (folds.leader.astype(np.int64) << 32) | rank
        self.keys.sort()
        self.sizes = folds.sizes
        self.offsets = np.zeros(items + 1, np.int64)
        np.cumsum(self.sizes, out=self.offsets[1:])

    def ranks(self, places: I64Array) -> I64Array:
        return self.keys[places] & _LOW

    def after(self, leaders: I64Array, rank: I64Array, level: I64Array) -> I64Array:
        """The place of the first copy that comes after a rank on some level, for each of some leaders."""
        rank = np.maximum(rank, self._before)
        first = self.offsets[leaders]
        first += self.ranks(first) <= rank
        # Most leaders are alone and need no search.
        many = np.flatnonzero(self.sizes[leaders] > 1)
        first[many] = np.searchsorted(self.keys, (leaders[many] << 32) | rank[many], side="right")
        # All copies are on one level.
        first = np.where(self.level[leaders] > level, self.offsets[leaders], first)
        return np.where(self.level[leaders] < level, self.offsets[leaders + 1], first)

    def counted(self, rank: I64Array, other: I64Array) -> BoolArray | slice:
        """Which pairs of items count, by their ranks."""
        if self._wanted is not Wanted.REMOVING:
            counted: BoolArray = np.minimum(rank, other) < self._own
            return counted & (np.maximum(rank, other) >= self._own) if self._wanted is Wanted.ACROSS else counted
        return np.maximum(rank, other) >= self._references if self._references else slice(None)


def _partners(groups: _CopyGroups, matches: Matches, identical: float) -> Matches:
    """The rank of each item with each leader that has later copies for it: its own, and those that match its own."""
    partners = matches.another()
    earlier = np.flatnonzero(groups.keys[1:] >> 32 == groups.keys[:-1] >> 32)
    partners.add(groups.ranks(earlier), groups.keys[earlier] >> 32, np.full(len(earlier), identical))
    for left, right, similarity in matches.stretches():
        for one, other in ((left, right), (right, left)):
            first = groups.offsets[one]
            count = groups.after(one, groups.ranks(groups.offsets[other + 1] - 1), groups.level[other]) - first
            for begin, end in _cuts(count, STRETCH):
                which, nth = _spread(count[begin:end])
                which += begin
                partners.add(groups.ranks(first[which] + nth), other[which], similarity[which])
    return partners


def _unfolded(groups: _CopyGroups, partners: Matches) -> Iterator[Stretch]:
    """(rank, rank, similarity) of all pairs, in order."""
    for rank, leaders, similarity in _whole(partners.stretches()):
        first = groups.after(leaders, rank, groups.level[groups.by_rank[rank]])
        count = groups.offsets[leaders + 1] - first
        begins = np.flatnonzero(np.concatenate([[True], rank[1:] != rank[:-1]]))
        ends = np.append(begins[1:], len(rank))
        for low, high in _cuts(np.add.reduceat(count, begins), BATCH):
            begin, end = begins[low], ends[high - 1]
            which, nth = _spread(count[begin:end])
            which += begin
            keys = (rank[which] << 32) | groups.ranks(first[which] + nth)
            values = similarity[which]
            if not (keys[1:] > keys[:-1]).all():
                order = np.argsort(keys, kind="stable")
                keys, values = keys[order], values[order]
            counted = groups.counted(keys >> 32, keys & _LOW)
            yield keys[counted] >> 32, keys[counted] & _LOW, values[counted]


def _whole(stretches: Iterator[Stretch]) -> Iterator[Stretch]:
    """The same, cut only where the first number changes."""
    held: Stretch = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))
    for stretch in stretches:
        first, second, values = (np.concatenate(both) for both in zip(held, stretch, strict=True))
        end = int(np.searchsorted(first, first[-1]))
        if end:
            yield first[:end], second[:end], values[:end]
        held = first[end:], second[end:], values[end:]
    if len(held[0]):
        yield held


def _batches(stretches: Iterator[Stretch]) -> Iterator[Stretch]:
    """The same, BATCH each but the last."""
    held: list[Stretch] = []
    count = 0
    for stretch in stretches:
        held.append(stretch)
        count += len(stretch[0])
        if count >= BATCH:
            first, second, values = (np.concatenate(parts) for parts in zip(*held, strict=True))
            for begin in range(0, count - BATCH + 1, BATCH):
                end = begin + BATCH
                yield first[begin:end], second[begin:end], values[begin:end]
            held, count = [(first[end:], second[end:], values[end:])], count - end
    if count:
        first, second, values = (np.concatenate(parts) for parts in zip(*held, strict=True))
        yield first, second, values


def _cuts(sizes: I64Array, most: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of neighbours whose sizes are no more than `most` together, or of one that is larger."""
    ends = np.cumsum(sizes)
    begin, before = 0, 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield begin, end
        begin, before = end, int(ends[end - 1])


def _spread(counts: I64Array) -> tuple[I64Array, I64Array]:
    """(i, 0), (i, 1), … counts[i] of them, for each i."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
