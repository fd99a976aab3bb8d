"""The similarity of two rows that are compared column by column: the mean of Jaccard similarities, by weight.

    A  title {to, be}, year {1603}     J(title) = 1/3, J(year) = 1
    B  title {to, do}, year {1603}     weights 2 and 1: (2·1/3 + 1·1) / 3 = 0.56

A column that both lack is left out of the mean. One that only one of them has counts as different, as an element does
that only one of two sets has.
"""

from __future__ import annotations

import numpy as np

from lookalike.compared_fields import FIELD_SHIFT
from lookalike.kernels.jit import device, kernel, peek
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["field_score", "field_scores"]

_SHIFT = np.uint64(FIELD_SHIFT)
# Far more than the rounding of a sum of eight shares.
_SLACK = 1e-12


@device
def _end_of(x, i, i_end, field):
    """Where the elements of the columns up to this one end in the sorted row x[i:i_end]."""
    low, high = i, i_end
    while low < high:
        middle = (low + high) >> 1
        if np.int64(peek(x, middle) >> _SHIFT) <= field:
            low = middle + 1
        else:
            high = middle
    return low


@device
def _shared(x, i, i_end, y, j, j_end):
    """How many elements two sorted rows share."""
    both = np.int64(0)
    while i < i_end and j < j_end:
        p, q = peek(x, i), peek(y, j)
        both += np.int64(p == q)
        i += np.int64(p <= q)
        j += np.int64(q <= p)
    return both


@device
def field_score(x, i, i_end, y, j, j_end, weights, least):
    """The similarity of the rows x[i:i_end] and y[j:j_end], sorted, their columns in the top bits; 0 of empty ones.

    It is -1 where it is found to be below `least` before it is known.
    """
    # What the sizes of columns allow at the most, and the weight of those that are there.
    whole, most = 0.0, 0.0
    a, b = i, j
    for field in range(len(weights)):
        a_end, b_end = _end_of(x, a, i_end, field), _end_of(y, b, j_end, field)
        m, n = a_end - a, b_end - b
        if m + n > 0:
            whole += weights[field]
            most += weights[field] * (min(m, n) / max(m, n))
        a, b = a_end, b_end
    if whole == 0.0:
        return 0.0
    needed, total = (least - _SLACK) * whole, 0.0
    a, b = i, j
    for field in range(len(weights)):
        if most < needed:
            return -1.0
        a_end, b_end = _end_of(x, a, i_end, field), _end_of(y, b, j_end, field)
        m, n = a_end - a, b_end - b
        if m > 0 and n > 0:
            both = _shared(x, a, a_end, y, b, b_end)
            share = weights[field] * (both / (m + n - both))
            total += share
            most += share - weights[field] * (min(m, n) / max(m, n))
        a, b = a_end, b_end
    return total / whole


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), float64, float64[::1])"
)
def _score_pairs(offsets, values, left, right, weights, least, out):
    for p in range(len(left)):
        a, b = left[p], right[p]
        out[p] = field_score(values, offsets[a], offsets[a + 1], values, offsets[b], offsets[b + 1], weights, least)


def field_scores(
    offsets: I64Array, values: U64Array, left: I64Array, right: I64Array, weights: F64Array, threshold: float = 0.0
) -> F64Array:
    """The similarity of each pair of sorted rows, or -1 where it is below the threshold."""
    out = np.empty(len(left), np.float64)
    _score_pairs(offsets, values, left, right, weights, threshold, out)
    return out
