"""Overlaps of all pairs of a few items, counted element by element: most pairs share none."""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import kernel

__all__ = ["add_overlaps"]


@kernel("void(Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64[:,::1])")
def add_overlaps(members, starts, overlaps):
    """overlaps[i, j] += 1 for each element that items i < j share; list g of an element is members[starts[g] : …]."""
    for g in range(len(starts) - 1):
        for a in range(starts[g], starts[g + 1]):
            i = np.int64(members[a])
            for b in range(a + 1, starts[g + 1]):
                overlaps[i, np.int64(members[b])] += 1
