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

from collections.abc import Iterable

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.types import F64Array, I64Array, U32Array

__all__ = ["choose_keepers", "representatives"]


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "uint32[::1], float64[::1])"
)
def choose_keepers(earlier, later, weights, keeper, similarity):
    """keeper[i] = i for a kept item, otherwise the kept item it is removed for; similarity[i] to that keeper.

    Match e joins items earlier[e] and later[e] (in keep order) and has similarity weights[e]; matches are ordered by
    (later, earlier) in keep order, and may come in several calls. keeper begins as 0, 1, 2, …, similarity as 1; an item
    that is removed for something else begins with another keeper, which only a better match replaces.
    """
    best = -np.inf
    for e in range(len(later)):
        i, j = later[e], earlier[e]
        if e == 0 or later[e - 1] != i:
            best = similarity[i] if keeper[i] != np.uint32(i) else -np.inf
        # The fate of the earlier item is sealed: all its own matches with still earlier ones have passed by.
        if keeper[j] == np.uint32(j) and weights[e] > best:
            best = weights[e]
            keeper[i] = np.uint32(j)
            similarity[i] = best


def representatives(
    items: int,
    matches: Iterable[tuple[I64Array, I64Array, F64Array]],
    outside: tuple[I64Array, U32Array, F64Array] | None = None,
) -> tuple[U32Array, F64Array]:
    """The keeper of each item, and how similar they are.

    `matches` are (earlier, later, similarity), ordered by later and earlier in keep order, some at a time. `outside`
    has items that match something which is kept in any case and comes before all of them: the items, a number from
    `items` on for what each matches best, and how similar they are.
    """
    keeper, similarity = np.arange(items, dtype=np.uint32), np.ones(items, np.float64)
    if outside is not None:
        removed, numbers, scores = outside
        keeper[removed], similarity[removed] = numbers, scores
    for earlier, later, similarities in matches:
        choose_keepers(earlier, later, similarities, keeper, similarity)
    return keeper, similarity
