"""Exact Jaccard similarity of candidate pairs: |A∩B| / |A∪B| by a merge of two sorted sets.

Two shortcuts lose nothing. The sizes alone bound the similarity by min/max. And the merge stops as soon as the elements
left can no longer lift the pair to the threshold. The quotient is one correctly rounded division, so a pair at exactly
0.8 meets a threshold of 0.8.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.chosen_hashes import sort_pairs, steps_allowed
from lookalike.kernels.jit import device, kernel, peek, poke
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["jaccard", "jaccard_pairs", "similarities", "sort_row", "sort_rows", "sort_sets"]


@device
def sort_row(values, start, n, spare, counts):
    """Sort values[start : start + n] in place.

    Hashes are uniform, so their top bits say within a place or two where each belongs: scatter into as many buckets as
    there are elements, then an insertion sort that hardly moves anything. Linear, and compiled in a quarter of the time
    of Numba's quicksort. Where somebody chose hashes with equal top bits, all bits are sorted
    (`kernels/chosen_hashes.py`). `spare` and `counts` hold n and 2n + 2.
    """
    bits = 1
    while (1 << bits) < n:
        bits += 1
    shift = np.uint64(64 - bits)
    for i in range(1 << bits):
        poke(counts, i, 0)
    for i in range(n):
        bucket = np.int64(peek(values, start + i) >> shift)
        poke(counts, bucket, peek(counts, bucket) + 1)
    before = 0
    for i in range(1 << bits):
        there = peek(counts, i)
        poke(counts, i, before)
        before += there
    for i in range(n):
        x = peek(values, start + i)
        bucket = np.int64(x >> shift)
        place = peek(counts, bucket)
        poke(spare, place, x)
        poke(counts, bucket, place + 1)
    left = steps_allowed(n)
    for i in range(n):
        x = peek(spare, i)
        j = start + i
        while j > start and peek(values, j - 1) > x and left > 0:
            poke(values, j, peek(values, j - 1))
            j -= 1
            left -= 1
        poke(values, j, x)
    if left == 0:
        sort_pairs(values[start : start + n], spare[:n])


@kernel("void(Array(int64,1,'C',readonly=True), uint64[::1], uint64[::1], int64[::1])")
def sort_rows(offsets, values, spare, counts):
    """Sort each row values[offsets[i] : offsets[i+1]] in place; `spare` and `counts` are for the longest."""
    for row in range(len(offsets) - 1):
        sort_row(values, offsets[row], offsets[row + 1] - offsets[row], spare, counts)


@device
def jaccard(x, i, i_end, y, j, j_end, threshold):
    """J of the sorted sets x[i:i_end] and y[j:j_end] where it is >= threshold, otherwise -1."""
    m, n = i_end - i, j_end - j
    if min(m, n) == 0 or min(m, n) / max(m, n) < threshold:
        return -1.0
    # |A∩B| >= t/(1+t)·(|A|+|B|), less one for the rounding of this bound itself.
    needed = np.int64(threshold / (1.0 + threshold) * (m + n)) - 1
    both = 0
    while i < i_end and j < j_end:
        p, q = x[i], y[j]
        both += np.int64(p == q)
        i += np.int64(p <= q)
        j += np.int64(q <= p)
        if both + min(i_end - i, j_end - j) < needed:
            return -1.0
    similarity = both / (m + n - both)
    return similarity if similarity >= threshold else -1.0


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, float64[::1])"
)
def jaccard_pairs(offsets, values, left, right, threshold, similarities):
    """similarities[p] = J(left[p], right[p]) where it is >= threshold, otherwise -1 (it was not counted to the end)."""
    for p in range(len(left)):
        a, b = left[p], right[p]
        similarities[p] = jaccard(values, offsets[a], offsets[a + 1], values, offsets[b], offsets[b + 1], threshold)


def sort_sets(offsets: I64Array, values: U64Array) -> U64Array:
    """The values with each row sorted."""
    out = values.copy()
    longest = int(np.diff(offsets).max(initial=1))
    sort_rows(offsets, out, np.empty(longest, np.uint64), np.empty(2 * longest + 2, np.int64))
    return out


def similarities(offsets: I64Array, values: U64Array, left: I64Array, right: I64Array, threshold: float) -> F64Array:
    """The exact similarity of each pair of sorted rows, or -1 where it is below the threshold."""
    out = np.empty(len(left), np.float64)
    jaccard_pairs(offsets, values, left, right, threshold, out)
    return out
