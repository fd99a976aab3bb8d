"""Leaders: how the items of a giant list are clustered without comparing every pair.

The problem. Where a million pages differ in a word or two, every pair is a match, and to list them all is quadratic
however they are found. To choose which pages stay it is enough that each meets the one it is removed for.

The idea. The first few items of the list in keep order lead; every other item is compared with the leaders before it.
One that matches is attached to its best leader and done; leaders are done too, for the whole list has met them. The
rest goes into the next round. Where nearly all are alike, one round attaches nearly all of them.
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import kernel
from lookalike.types import BoolArray, I64Array
from lookalike.verify.jaccard import jaccard

__all__ = ["attach_rows", "first_living"]


@kernel(
    "void(Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, uint32[::1], int64[::1], "
    "float64[::1])"
)
def attach_rows(
    items, offsets, values, lead_offsets, lead_values, list_offsets, lists, team_offsets, teams, leaders, rank,
    threshold, tested, best, similarity,
):  # fmt: skip
    """Compare each item with the leaders of its lists that come before it in keep order, and keep the best match.

    Row i of (offsets, values) is item items[i]; row t of (lead_offsets, lead_values) is leader t, item leaders[t].
    Item x is in lists[list_offsets[x] : list_offsets[x + 1]]; list l is led by teams[team_offsets[l] : …[l + 1]].
    best[i] = the leader t of highest similarity, the earliest in keep order if several are equal, or -1.
    """
    for i in range(len(items)):
        x = np.int64(items[i])
        best[i] = -1
        similarity[i] = -1.0
        for e in range(list_offsets[x], list_offsets[x + 1]):
            each = np.int64(lists[e])
            for f in range(team_offsets[each], team_offsets[each + 1]):
                t = np.int64(teams[f])
                leader = np.int64(leaders[t])
                if tested[t] == np.uint32(x + 1) or rank[leader] >= rank[x]:
                    continue
                tested[t] = np.uint32(x + 1)
                j = jaccard(
                    values, offsets[i], offsets[i + 1], lead_values, lead_offsets[t], lead_offsets[t + 1], threshold
                )
                if j < 0.0:
                    continue
                before = best[i] >= 0 and rank[leader] < rank[np.int64(leaders[best[i]])]
                if j > similarity[i] or (j == similarity[i] and before):
                    similarity[i] = j
                    best[i] = t


def first_living(living: BoolArray, starts: I64Array, most: int) -> BoolArray:
    """The first `most` living places of each list; list l has the places starts[l] … starts[l + 1] - 1."""
    total = np.concatenate([[0], np.cumsum(living)])
    before = np.repeat(total[starts[:-1]], np.diff(starts))
    first: BoolArray = living & (total[:-1] - before < most)
    return first
