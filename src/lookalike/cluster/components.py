"""Connected components of the verified pairs, by union-find with path halving (Tarjan and van Leeuwen 1984).

The smaller root wins, so that a component is named by its smallest item whatever the order of the edges.
Components chain: a–b and b–c put a and c together however little they share. `representative` does not.
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import kernel
from lookalike.types import I64Array

__all__ = ["components", "union_edges"]


@kernel("void(int64[::1], Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True))")
def union_edges(parent, left, right):
    """Unite the ends of each edge; afterwards parent[i] is the smallest item of i's component."""
    for e in range(len(left)):
        a, b = left[e], right[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    for i in range(len(parent)):
        parent[i] = parent[parent[i]]


def components(items: int, left: I64Array, right: I64Array) -> I64Array:
    """For each item the smallest item of its component."""
    parent = np.arange(items, dtype=np.int64)
    union_edges(parent, left, right)
    return parent
