"""Folding: identical items become one before anything is compared.

Items with the same 128-bit fingerprint are the same set (or, without elements, the same bytes). The first of them
leads: a million copies of one page are then one item of weight a million instead of a bucket with 5·10¹¹ pairs.

The first half of the fingerprint is grouped like the keys of a band; within a bucket the second half decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lookalike.kernels.chosen_hashes import sort_pairs, steps_allowed
from lookalike.kernels.jit import aside, kernel
from lookalike.types import F64Array, I64Array, U32Array

__all__ = ["Folds", "lead_buckets"]


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


@dataclass(frozen=True)
class Folds:
    """`leader[i]` is the first item that is identical to item i; a leader leads itself.

    The first `references` items are only compared with: pairs of two of them do not count.
    """

    leader: U32Array
    references: int = 0

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
    def within(self) -> int:
        """How many pairs of identical items there are."""
        total = 0
        for sizes, sign in ((self.sizes, 1), (self._reference_sizes, -1)):
            if sizes is not None:
                many = sizes[sizes > 1]
                total += sign * int((many * (many - 1) // 2).sum())
        return total

    def weights(self, left: I64Array, right: I64Array) -> F64Array:
        """How many pairs of items each pair (left, right) of leaders stands for."""
        weights = self.sizes[left] * self.sizes[right]
        if self._reference_sizes is not None:
            weights = weights - self._reference_sizes[left] * self._reference_sizes[right]
        return weights.astype(np.float64)

    def unfolded(self, left: I64Array, right: I64Array) -> int:
        """How many pairs of items the pairs (left, right) of leaders stand for."""
        return int(self.weights(left, right).sum())
