"""Exact inner products of candidate pairs of dense vectors, as they are: x·y, with float64 sums.

A row is the float32 components of a vector, two a word. Products of two float32 need no rounding in a float64, and
their sum is that of the cosine (`dot` in `cosine.py`): in an order that depends on the two rows only.

    x = (3, 4), y = (4, 3):  3·4 + 4·3 = 24
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.kernels.simd import pointer
from lookalike.types import F64Array, I64Array, U64Array
from lookalike.verify.cosine import dot

__all__ = ["dot_pairs", "inner_products"]


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(float32,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, float64[::1])"
)
def dot_pairs(offsets, floats, left, right, threshold, scores):
    """scores[p] = x·y of the rows left[p] and right[p] where it is >= threshold, otherwise -inf."""
    data = pointer(floats)
    for p in range(len(left)):
        i, j = 2 * offsets[left[p]], 2 * offsets[right[p]]
        product = dot(data, i, data, j, 2 * offsets[left[p] + 1] - i)
        scores[p] = product if product >= threshold else -np.inf


def inner_products(offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float) -> F64Array:
    """The exact product of each pair of rows, or -inf where it is below the threshold."""
    scores = np.empty(len(left), np.float64)
    dot_pairs(offsets, words.view(np.float32), left, right, threshold, scores)
    return scores
