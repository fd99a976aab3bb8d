"""Folding: identical items become one before anything is compared.

Items with the same 128-bit fingerprint are the same set (or, without elements, the same bytes). A million copies of one
page are then one item of weight a million instead of a bucket with 5·10¹¹ pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.types import I64Array, U64Array

__all__ = ["Folds", "fold"]


@dataclass(frozen=True, slots=True)
class Folds:
    """`group[i]` is the group of item i; groups are numbered by their first item.

    `members[offsets[g] : offsets[g + 1]]` are the items of group g, in order.
    """

    group: I64Array
    offsets: I64Array
    members: I64Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> I64Array:
        return np.diff(self.offsets)

    @property
    def first(self) -> I64Array:
        """The first item of each group."""
        return self.members[self.offsets[:-1]]

    def unfolded(self, left: I64Array, right: I64Array) -> int:
        """How many pairs of items the pairs of groups (left, right), and the groups in themselves, stand for."""
        sizes = self.sizes
        within = int((sizes * (sizes - 1) // 2).sum())
        return within + int((sizes[left] * sizes[right]).sum())

    def unfold(self, left: I64Array, right: I64Array) -> tuple[I64Array, I64Array, I64Array]:
        """Pairs of items from pairs of groups: (item, item, which pair of groups, or -1 within one group)."""
        pair, a, b = _product(self.offsets[left], self.sizes[left], self.offsets[right], self.sizes[right])
        many = np.flatnonzero(self.sizes > 1)
        _, c, d = _product(self.offsets[many], self.sizes[many], self.offsets[many], self.sizes[many])
        upper = c < d
        first = np.concatenate([self.members[a], self.members[c[upper]]])
        second = np.concatenate([self.members[b], self.members[d[upper]]])
        which = np.concatenate([pair, np.full(int(upper.sum()), -1, np.int64)])
        return first, second, which


def _product(
    left: I64Array, left_sizes: I64Array, right: I64Array, right_sizes: I64Array
) -> tuple[I64Array, I64Array, I64Array]:
    """For each i every combination of left[i] … left[i]+left_sizes[i]-1 with the same of right: (i, l, r)."""
    sizes = left_sizes * right_sizes
    i = np.repeat(np.arange(len(sizes)), sizes)
    nth = np.arange(len(i)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return i, left[i] + nth // np.maximum(right_sizes[i], 1), right[i] + nth % np.maximum(right_sizes[i], 1)


def fold(fingerprints: U64Array) -> Folds:
    """Group the items by fingerprint."""
    items = len(fingerprints)
    order = np.lexsort((fingerprints[:, 1], fingerprints[:, 0]))
    ordered = fingerprints[order]
    begins = np.ones(items, np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    run = np.cumsum(begins) - 1
    # lexsort is stable, so the first of a run is its smallest item; number the runs by it.
    firsts = order[begins]
    rank = np.empty(len(firsts), np.int64)
    rank[np.argsort(firsts, kind="stable")] = np.arange(len(firsts))
    group = np.empty(items, np.int64)
    group[order] = rank[run]
    offsets = np.zeros(len(firsts) + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=len(firsts)), out=offsets[1:])
    return Folds(group, offsets, np.argsort(group, kind="stable").astype(np.int64, copy=False))
