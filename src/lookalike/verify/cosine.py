"""Exact cosine similarity of candidate pairs of dense vectors: x·y / (|x|·|y|), with float64 sums.

A row is `skip` words that are not compared, one word with the float64 length of the vector, and its float32 components,
two a word. The length is `norms` of the vector, kept because it would cost as much again to compute for each pair.

Products of two float32 need no rounding in a float64. Their sum has 32 partial sums (component i belongs to sum i mod
32), so that it depends on the two rows only, and runs at the speed of four independent chains of additions. Its error
is below 1e-15 for d up to a few thousand; the quotient is clipped to [-1, 1]. Components are rounded to float32, which
turns a vector by up to 2⁻²⁴: a multiple of it may be at an angle of 2⁻²³, and their cosine 1 - 2⁻⁴⁷. So what is within
2⁻⁴⁵ of 1 is exactly 1: identical vectors, and parallel ones. A vector of length zero has no direction, and is like
nothing.

    x = (3, 4), y = (4, 3):  24 / (5·5) = 0.96
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.kernels.jit import device, kernel
from lookalike.kernels.simd import add, load, load_first, multiply_add, pointer, total, zeros
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["PARALLEL", "cosine", "cosine_pairs", "dot", "norms", "row_norms"]

# Two vectors with this cosine are parallel but for the rounding of their components.
PARALLEL = 1.0 - 2.0**-45


@device
def dot(x, i, y, j, count):
    """Σ x[i + k]·y[j + k] of float32, k < count, in 32 partial sums; x and y are pointers."""
    a, b, c, d = zeros(), zeros(), zeros(), zeros()
    k = 0
    while k + 32 <= count:
        a = multiply_add(load(x, i + k), load(y, j + k), a)
        b = multiply_add(load(x, i + k + 8), load(y, j + k + 8), b)
        c = multiply_add(load(x, i + k + 16), load(y, j + k + 16), c)
        d = multiply_add(load(x, i + k + 24), load(y, j + k + 24), d)
        k += 32
    if k < count:
        rest = count - k
        a = multiply_add(load_first(x, i + k, rest), load_first(y, j + k, rest), a)
        b = multiply_add(load_first(x, i + k + 8, rest - 8), load_first(y, j + k + 8, rest - 8), b)
        c = multiply_add(load_first(x, i + k + 16, rest - 16), load_first(y, j + k + 16, rest - 16), c)
        d = multiply_add(load_first(x, i + k + 24, rest - 24), load_first(y, j + k + 24, rest - 24), d)
    return total(add(add(a, b), add(c, d)))


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(float32,1,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, int64, float64[::1])"
)
def cosine_pairs(offsets, floats, lengths, left, right, threshold, skip, scores):
    """scores[p] = x·y / (|x|·|y|) of the rows left[p] and right[p] where it is >= threshold, otherwise -inf.

    floats and lengths are the words of the rows, read as float32 and as float64.
    """
    data = pointer(floats)
    for p in range(len(left)):
        i, j = offsets[left[p]] + skip, offsets[right[p]] + skip
        count = 2 * (offsets[left[p] + 1] - i - 1)
        product = dot(data, 2 * i + 2, data, 2 * j + 2, count)
        scale = lengths[i] * lengths[j]
        scores[p] = -np.inf
        if scale > 0.0:
            score = max(product / scale, -1.0)
            if score >= PARALLEL:
                score = 1.0
            if score >= threshold:
                scores[p] = score


@kernel("void(Array(float32,2,'C',readonly=True), float64[::1])")
def row_norms(vectors, out):
    """out[i] = the Euclidean length of vector i, its squares summed as `dot` does."""
    items, dimensions = vectors.shape
    data = pointer(vectors.reshape(items * dimensions))
    for i in range(items):
        out[i] = np.sqrt(dot(data, i * dimensions, data, i * dimensions, dimensions))


def norms(vectors: NDArray[np.float32]) -> F64Array:
    """The Euclidean length of each vector."""
    out = np.empty(len(vectors), np.float64)
    row_norms(vectors, out)
    return out


def cosine(
    offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float, skip: int
) -> F64Array:
    """The exact similarity of each pair of rows, or -inf where it is below the threshold."""
    scores = np.empty(len(left), np.float64)
    cosine_pairs(offsets, words.view(np.float32), words.view(np.float64), left, right, threshold, skip, scores)
    return scores
