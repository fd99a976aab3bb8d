"""Representative clusters: every removed item matches the very item that is kept in its place.

The idea. Walk the items in keep order. An item is kept if no item kept so far matches it; otherwise it is removed for
its best match among those (the earliest in keep order if several are equally good). This is the greedy maximal
independent set of the match graph: no two kept items match, and no chain of small steps can remove an item for one
that it does not resemble.

    a –0.9– b –0.9– c, keep order a, b, c:   b is removed for a, c is kept.
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import kernel
from lookalike.types import F64Array, I64Array

__all__ = ["choose_keepers", "representatives"]


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "Array(float64,1,'C',readonly=True), int64[::1], float64[::1])"
)
def choose_keepers(order, offsets, neighbours, weights, keeper, similarity):
    """keeper[i] = i for a kept item, otherwise the kept item it is removed for; similarity[i] to that keeper.

    `neighbours` and `weights` list the matches of item i at offsets[i] : offsets[i+1], in keep order.
    """
    keeper[:] = -1
    for i in order:
        best = -1.0
        for e in range(offsets[i], offsets[i + 1]):
            other = neighbours[e]
            # keeper[other] == other holds for items kept so far only; later ones are still -1.
            if keeper[other] == other and weights[e] > best:
                best = weights[e]
                keeper[i] = other
        if best < 0.0:
            keeper[i] = i
            best = 1.0
        similarity[i] = best


def representatives(
    order: I64Array, left: I64Array, right: I64Array, similarities: F64Array
) -> tuple[I64Array, F64Array]:
    """The keeper of each item, and how similar they are; `order` lists all items, best to keep first."""
    items = len(order)
    rank = np.empty(items, np.int64)
    rank[order] = np.arange(items)
    from_ = np.concatenate([left, right])
    to = np.concatenate([right, left])
    by = np.lexsort((rank[to], from_))
    offsets = np.zeros(items + 1, np.int64)
    np.cumsum(np.bincount(from_, minlength=items), out=offsets[1:])
    keeper = np.empty(items, np.int64)
    similarity = np.empty(items, np.float64)
    choose_keepers(order, offsets, to[by], np.concatenate([similarities, similarities])[by], keeper, similarity)
    return keeper, similarity
