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
_LAST = np.uint64((1 << (64 - FIELD_SHIFT)) - 1)


@device
def field_score(x, i, i_end, y, j, j_end, weights):
    """The similarity of the rows x[i:i_end] and y[j:j_end], sorted, their columns in the top bits; 0 of empty ones."""
    total, whole = 0.0, 0.0
    while i < i_end or j < j_end:
        mine = peek(x, i) >> _SHIFT if i < i_end else _LAST
        theirs = peek(y, j) >> _SHIFT if j < j_end else _LAST
        field = min(mine, theirs)
        both, either = 0, 0
        while i < i_end and j < j_end:
            p, q = peek(x, i), peek(y, j)
            if p >> _SHIFT != field or q >> _SHIFT != field:
                break
            both += np.int64(p == q)
            either += 1
            i += np.int64(p <= q)
            j += np.int64(q <= p)
        while i < i_end and peek(x, i) >> _SHIFT == field:
            either += 1
            i += 1
        while j < j_end and peek(y, j) >> _SHIFT == field:
            either += 1
            j += 1
        total += weights[field] * (both / either)
        whole += weights[field]
    return total / whole if whole > 0.0 else 0.0


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), float64[::1])"
)
def _score_pairs(offsets, values, left, right, weights, out):
    for p in range(len(left)):
        a, b = left[p], right[p]
        out[p] = field_score(values, offsets[a], offsets[a + 1], values, offsets[b], offsets[b + 1], weights)


def field_scores(offsets: I64Array, values: U64Array, left: I64Array, right: I64Array, weights: F64Array) -> F64Array:
    """The similarity of each pair of sorted rows."""
    out = np.empty(len(left), np.float64)
    _score_pairs(offsets, values, left, right, weights, out)
    return out
