"""Folding: identical items become one before anything is compared.

Items with the same 128-bit fingerprint are the same set (or, without elements, the same bytes). The first of them
leads: a million copies of one page are then one item of weight a million instead of a bucket with 5·10¹¹ pairs.

The first half of the fingerprint is grouped like the keys of a band; within a bucket the second half decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from lookalike.kernels.chosen_hashes import sort_pairs, steps_allowed
from lookalike.kernels.jit import aside, kernel
from lookalike.types import BoolArray, F64Array, I64Array, U32Array

__all__ = ["Folds", "Wanted", "lead_buckets"]


@kernel(
    "int64(Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "uint32[::1])"
)
def lead_buckets(members, starts, seconds, leader):
    """leader[member] = the first member of its bucket with the same second half; how many are led by another.

    `seconds` stand beside `members`. That the first halves of different items agree is rare: the inner loop almost
    always ends at its first step. Who knows the seed can make such items; their bucket is sorted by the second half.
    """
    led = 0
    for b in range(len(starts) - 1):
        begin, end = starts[b], starts[b + 1]
        own, left = 0, steps_allowed(end - begin)
        for i in range(begin, end):
            j = begin
            while seconds[j] != seconds[i] and left > 0:
                j += 1
                left -= 1
            leader[members[i]] = members[j]
            own += np.int64(j < i)
        led += own if left > 0 else _lead_sorted(members[begin:end], seconds[begin:end], leader)
    return led


@aside
def _lead_sorted(members, seconds, leader):
    """`lead_buckets` of one bucket, by sorting."""
    n = len(members)
    keys, places = seconds.copy(), np.empty(n, np.int64)
    for i in range(n):
        places[i] = i
    sort_pairs(keys, places)
    led = first = 0
    for i in range(n):
        if keys[i] != keys[first]:
            first = i
        leader[members[places[i]]] = members[places[first]]
        led += np.int64(i > first)
    return led


class Wanted(Enum):
    """Which pairs of items count, where the first items are those of another collection; of two of those never any."""

    # What removes items: one that is identical to a reference goes as such, whatever else it is like.
    REMOVING = "removing"
    WITHIN = "within and across"
    ACROSS = "across"


@dataclass(frozen=True)
class Folds:
    """`leader[i]` is the first item that is identical to item i; a leader leads itself.

    The first `references` items are those of another collection; `wanted` says which pairs count.
    """

    leader: U32Array
    references: int = 0
    wanted: Wanted = Wanted.REMOVING

    def __len__(self) -> int:
        """How many different items there are."""
        return int(np.count_nonzero(self.leader == np.arange(len(self.leader), dtype=np.uint32)))

    @property
    def identical(self) -> int:
        """How many items are identical to an earlier one."""
        own = np.arange(self.references, len(self.leader), dtype=np.uint32)
        return int(np.count_nonzero(self.leader[self.references :] != own))

    @cached_property
    def sizes(self) -> I64Array:
        """The number of items that each leads: 0 for those that are led."""
        return np.bincount(self.leader, minlength=len(self.leader))

    @cached_property
    def _reference_sizes(self) -> I64Array | None:
        """The number of references that each leads."""
        if not self.references:
            return None
        return np.bincount(self.leader[: self.references], minlength=len(self.leader))

    @cached_property
    def own_sizes(self) -> I64Array:
        """The number of the run's own items that each leads."""
        return self.sizes if self._reference_sizes is None else self.sizes - self._reference_sizes

    @property
    def all_count(self) -> bool:
        """Whether every pair of leaders counts."""
        return not self.references and self.wanted is not Wanted.ACROSS

    def count(self, left: I64Array, right: I64Array) -> BoolArray:
        """Which pairs of leaders count: whether they stand for a pair of items that does."""
        if self.wanted is Wanted.REMOVING:
            counts: BoolArray = np.maximum(left, right) >= self.references
        else:
            counts = self.weights(left, right) > 0
        return counts

    @cached_property
    def within(self) -> int:
        """How many pairs of identical items there are."""
        if self.wanted is Wanted.ACROSS:
            return 0 if self._reference_sizes is None else int((self._reference_sizes * self.own_sizes).sum())
        total = 0
        for sizes, sign in ((self.sizes, 1), (self._reference_sizes, -1)):
            if sizes is not None:
                many = sizes[sizes > 1]
                total += sign * int((many * (many - 1) // 2).sum())
        return total

    def weights(self, left: I64Array, right: I64Array) -> F64Array:
        """How many pairs of items each pair (left, right) of leaders stands for."""
        sizes, there, own = self.sizes, self._reference_sizes, self.own_sizes
        if self.wanted is Wanted.ACROSS:
            weights: I64Array = own[left] * (sizes - own)[right] + (sizes - own)[left] * own[right]
        else:
            weights = sizes[left] * sizes[right]
            if there is not None:
                weights = weights - there[left] * there[right]
        out: F64Array = weights.astype(np.float64)
        return out

    def unfolded(self, left: I64Array, right: I64Array) -> int:
        """How many pairs of items the pairs (left, right) of leaders stand for."""
        return int(self.weights(left, right).sum())
