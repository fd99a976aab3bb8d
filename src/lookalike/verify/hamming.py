"""Exact Hamming similarity of candidate pairs of bit strings: the share of the bits in which they agree.

A row is the words of the string; bits behind its end are zero. The score (bits - distance)/bits is one division,
correctly rounded, so 9 of 10 equal bits meet a threshold of 0.9. The largest distance that meets the threshold is
known before, by the same division, and counting stops at the first 512 bits that go beyond it.

    0110 and 0111:  distance 1, score 3/4
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.kernels.simd import popped_xor, popped_xor_first
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["hamming", "hamming_pairs"]


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, int64, float64[::1])"
)
def hamming_pairs(offsets, words, left, right, most, bits, scores):
    """scores[p] = (bits - distance)/bits of the rows left[p] and right[p] where distance <= most, otherwise -inf."""
    for p in range(len(left)):
        i, j = offsets[left[p]], offsets[right[p]]
        end = offsets[left[p] + 1]
        distance = 0
        while i + 8 <= end and distance <= most:
            distance += popped_xor(words, i, words, j)
            i += 8
            j += 8
        if i < end and distance <= most:
            distance += popped_xor_first(words, i, words, j, end - i)
        scores[p] = (bits - distance) / bits if distance <= most else -np.inf


def _largest_distance(threshold: float, bits: int) -> int:
    """The largest distance whose score is at the threshold, or -1 where there is none."""
    if threshold <= 0.0:
        return bits
    if threshold > 1.0:
        return -1
    distance = min(bits, math.ceil((1.0 - threshold) * bits) + 1)
    while (bits - distance) / bits < threshold:
        distance -= 1
    return distance


def hamming(
    offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float, bits: int
) -> F64Array:
    """The exact similarity of each pair of rows, or -inf where it is below the threshold."""
    scores = np.empty(len(left), np.float64)
    hamming_pairs(offsets, words, left, right, _largest_distance(threshold, bits), bits, scores)
    return scores
