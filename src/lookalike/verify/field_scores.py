"""The similarity of two rows that are compared column by column: the mean of Jaccard similarities, by weight.

    A  title {to, be}, year {1603}     J(title) = 1/3, J(year) = 1
    B  title {to, do}, year {1603}     weights 2 and 1: (2·1/3 + 1·1) / 3 = 0.56

A column that is empty in one of the two tells nothing and is left out of the mean. What is left must not be too little:
the sum is divided by half of all weight at least, so that two rows of which only the year is known never match by it.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, kernel, peek
from lookalike.represent.field_sets import FIELD_SHIFT
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["field_score", "field_scores", "least_weight"]

_SHIFT = np.uint64(FIELD_SHIFT)


def least_weight(weights: F64Array) -> float:
    """What a sum is divided by at least."""
    return 0.5 * float(weights.sum())


@device
def field_score(x, i, i_end, y, j, j_end, weights, least):
    """The similarity of the rows x[i:i_end] and y[j:j_end], sorted, their fields in the top bits."""
    total, present = 0.0, 0.0
    while i < i_end and j < j_end:
        field, other = peek(x, i) >> _SHIFT, peek(y, j) >> _SHIFT
        if field != other:
            # A column that only one of them has.
            behind = field < other
            i += np.int64(behind)
            j += np.int64(not behind)
            continue
        both, either = 0, 0
        while i < i_end and j < j_end:
            p, q = peek(x, i), peek(y, j)
            mine, theirs = p >> _SHIFT == field, q >> _SHIFT == field
            if not (mine and theirs):
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
        present += weights[field]
    return total / max(present, least)


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), float64, float64[::1])"
)
def _score_pairs(offsets, values, left, right, weights, least, out):
    for p in range(len(left)):
        a, b = left[p], right[p]
        out[p] = field_score(values, offsets[a], offsets[a + 1], values, offsets[b], offsets[b + 1], weights, least)


def field_scores(offsets: I64Array, values: U64Array, left: I64Array, right: I64Array, weights: F64Array) -> F64Array:
    """The similarity of each pair of sorted rows."""
    out = np.empty(len(left), np.float64)
    _score_pairs(offsets, values, left, right, weights, least_weight(weights), out)
    return out
