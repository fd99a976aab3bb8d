"""Representative clusters: every removed item matches the very item that is kept in its place.

The idea. Walk the items in keep order. An item is kept if no item kept so far matches it; otherwise it is removed for
its best match among those (the earliest in keep order if several are equally good). This is the greedy maximal
independent set of the match graph: no two kept items match, and no chain of small steps can remove an item for one
that it does not resemble.

    a –0.9– b –0.9– c, keep order a, b, c:   b is removed for a, c is kept.

Whether an item is kept depends on earlier items only, so the matches are walked once, ordered by their later item, and
an item without matches is never looked at.
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import kernel
from lookalike.types import F64Array, I64Array, U32Array

__all__ = ["choose_keepers", "representatives"]


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "uint32[::1], float64[::1])"
)
def choose_keepers(earlier, later, weights, keeper, similarity):
    """keeper[i] = i for a kept item, otherwise the kept item it is removed for; similarity[i] to that keeper.

    Match e joins items earlier[e] and later[e] (in keep order) and has similarity weights[e]; matches are ordered by
    (later, earlier) in keep order. keeper begins as 0, 1, 2, …, similarity as 1.
    """
    best = -1.0
    for e in range(len(later)):
        i, j = later[e], earlier[e]
        if e == 0 or later[e - 1] != i:
            best = -1.0
        # The fate of the earlier item is sealed: all its own matches with still earlier ones have passed by.
        if keeper[j] == np.uint32(j) and weights[e] > best:
            best = weights[e]
            keeper[i] = np.uint32(j)
            similarity[i] = best


def representatives(
    items: int, rank: I64Array | None, left: I64Array, right: I64Array, similarities: F64Array
) -> tuple[U32Array, F64Array]:
    """The keeper of each item, and how similar they are.

    `rank` tells the place of each item in keep order; None is the order of the items themselves.
    """
    keeper, similarity = np.arange(items, dtype=np.uint32), np.ones(items, np.float64)
    first, second = (left, right) if rank is None else (rank[left], rank[right])
    swapped = first > second
    earlier, later = np.where(swapped, right, left), np.where(swapped, left, right)
    order = np.lexsort((np.minimum(first, second), np.maximum(first, second)))
    choose_keepers(earlier[order], later[order], similarities[order], keeper, similarity)
    return keeper, similarity
