"""Exact containment of candidate pairs: how much of the smaller set is inside the larger one, |A∩B| / min(|A|, |B|).

Of the two directions the smaller set in the larger one is always the greater, for the overlap is the same; the other is
told by the sizes (`reversed_share`). Sets of about one size are merged. Where one is many times larger, each element of
the smaller is sought in what is left of the larger, in steps that double: 300 elements in 30,000 take some 13 steps
each. Both stop as soon as too many are missing. The quotient is one correctly rounded division, so a pair at exactly
0.8 meets a threshold of 0.8.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["containment", "containment_pairs", "containments", "reversed_share"]

# From this ratio of sizes on seeking is faster than merging.
_SEEK = 16


@device
def _merged(x, i, i_end, y, j, j_end, spare):
    """|A∩B| of the sorted sets x[i:i_end] and y[j:j_end], or -1 where A has more than `spare` elements outside B."""
    m, begin, both = i_end - i, i, np.int64(0)
    while i < i_end and j < j_end:
        p, q = x[i], y[j]
        both += np.int64(p == q)
        i += np.int64(p <= q)
        j += np.int64(q <= p)
        if i - begin - both > spare:
            return np.int64(-1)
    return both if m - both <= spare else np.int64(-1)


@device
def _sought(x, i, i_end, y, j, j_end, spare):
    """The same, where A is much the smaller."""
    both, missing = np.int64(0), np.int64(0)
    while i < i_end:
        p = x[i]
        # y[low - 1] < p <= y[high], if there are such.
        low, step = j, np.int64(_SEEK)
        high = j + step
        while high < j_end and y[high] < p:
            low = high + 1
            step *= 2
            high += step
        high = min(high, j_end)
        while low < high:
            middle = (low + high) >> 1
            if y[middle] < p:
                low = middle + 1
            else:
                high = middle
        j = low
        found = j < j_end and y[j] == p
        both += np.int64(found)
        missing += np.int64(not found)
        if missing > spare:
            return np.int64(-1)
        i += 1
    return both


@device
def containment(x, i, i_end, y, j, j_end, threshold):
    """|A∩B| / min(|A|, |B|) of the sorted sets x[i:i_end] and y[j:j_end] where it is >= threshold, otherwise -1.

    Nothing is inside an empty set, nor an empty set inside anything.
    """
    m, n = i_end - i, j_end - j
    least = min(m, n)
    if least == 0:
        return -1.0
    # How many may be missing, and one more for the rounding of this bound itself.
    spare = least - np.int64(threshold * least) + 1
    if n > _SEEK * m:
        both = _sought(x, i, i_end, y, j, j_end, spare)
    elif m > _SEEK * n:
        both = _sought(y, j, j_end, x, i, i_end, spare)
    elif m <= n:
        both = _merged(x, i, i_end, y, j, j_end, spare)
    else:
        both = _merged(y, j, j_end, x, i, i_end, spare)
    return both / least if both >= 0 and both / least >= threshold else -1.0


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, float64[::1])"
)
def containment_pairs(offsets, values, left, right, threshold, out):
    """out[p] = |A∩B| / min(|A|, |B|) of rows left[p] and right[p] where it is >= threshold, otherwise -1."""
    for p in range(len(left)):
        a, b = left[p], right[p]
        out[p] = containment(values, offsets[a], offsets[a + 1], values, offsets[b], offsets[b + 1], threshold)


def containments(offsets: I64Array, values: U64Array, left: I64Array, right: I64Array, threshold: float) -> F64Array:
    """How much of the smaller of two sorted rows is inside the larger, or -1 where it is below the threshold."""
    out = np.empty(len(left), np.float64)
    containment_pairs(offsets, values, left, right, threshold, out)
    return out


def reversed_share(scores: F64Array, smaller: I64Array, larger: I64Array) -> F64Array:
    """How much of the larger set is inside the smaller one, from the other direction and both sizes."""
    # The score is a quotient of two whole numbers, correctly rounded: the overlap is found again.
    share: F64Array = np.rint(scores * smaller) / larger
    return share
