"""Connected components, by union-find with path halving (Tarjan and van Leeuwen 1984).

The smaller root wins, so that a component is named by its smallest item whatever the order of the edges.
Components chain: a–b and b–c put a and c together however little they share. `representative` does not.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.types import I64Array, U32Array

__all__ = ["components", "roots", "union_groups", "unite"]


@kernel("void(uint32[::1], Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True))")
def union_groups(parent, members, starts):
    """Unite members[starts[g] : starts[g + 1]] for each g; afterwards parent[i] is the smallest item connected to i."""
    for g in range(len(starts) - 1):
        for e in range(starts[g] + 1, starts[g + 1]):
            a, b = np.int64(members[e - 1]), np.int64(members[e])
            while np.int64(parent[a]) != a:
                parent[a] = parent[parent[a]]
                a = np.int64(parent[a])
            while np.int64(parent[b]) != b:
                parent[b] = parent[parent[b]]
                b = np.int64(parent[b])
            if a < b:
                parent[b] = np.uint32(a)
            else:
                parent[a] = np.uint32(b)
    for i in range(len(parent)):
        parent[i] = parent[parent[i]]


@kernel("void(uint32[::1], Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True))")
def unite(parent, left, right):
    """Unite left[e] and right[e] for each e; what is connected to neither is not looked at."""
    for e in range(len(left)):
        a, b = left[e], right[e]
        while np.int64(parent[a]) != a:
            parent[a] = parent[parent[a]]
            a = np.int64(parent[a])
        while np.int64(parent[b]) != b:
            parent[b] = parent[parent[b]]
            b = np.int64(parent[b])
        if a < b:
            parent[b] = np.uint32(a)
        else:
            parent[a] = np.uint32(b)


@kernel("void(uint32[::1], Array(int64,1,'C',readonly=True), int64[::1])")
def roots(parent, items, out):
    """out[i] = the smallest item that items[i] is connected with."""
    for i in range(len(items)):
        a = items[i]
        while np.int64(parent[a]) != a:
            parent[a] = parent[parent[a]]
            a = np.int64(parent[a])
        out[i] = a


def components(items: int, edges: Iterable[tuple[I64Array, I64Array]]) -> U32Array:
    """For each item the smallest item of its component; the edges come some at a time."""
    parent = np.arange(items, dtype=np.uint32)
    for left, right in edges:
        members = np.stack([left, right], axis=1).astype(np.uint32).reshape(-1)
        union_groups(parent, members, np.arange(0, len(members) + 1, 2, dtype=np.int64))
    return parent
