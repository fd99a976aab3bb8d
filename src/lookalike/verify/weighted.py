"""Exact comparison of bags (weighted sets): weighted Jaccard and cosine, by one merge of two sorted rows.

A bag of n elements is a row of n + ⌈n/2⌉ words: its elements, ascending, then their float32 weights in the same order,
two a word. So a row of L words has 2L // 3 elements, and no header.

    {7: 0.5, 3: 2.0, 9: 1.0}  →  3  7  9  (2.0 | 0.5 << 32)  (1.0)

At each step of the merge the smaller element stands alone, or both are equal; what is absent weighs 0. Every sum takes
its terms in the order of the elements, and a term of 0 changes nothing: two identical rows add the same numbers in the
same order, so their quotient is 1 to the last bit, and left and right may be exchanged. A step has no branch to
mispredict, and a pair is counted to its end: half of all candidates are matches or more, and for them there is no
shorter way.
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.kernels.chosen_hashes import sort_pairs, steps_allowed
from lookalike.kernels.jit import device, kernel
from lookalike.types import F32Array, F64Array, I64Array, U64Array
from lookalike.verify.cosine import PARALLEL

__all__ = [
    "bag_rows",
    "pack_bags",
    "sparse_cosine",
    "sparse_cosine_pairs",
    "weighted_jaccard",
    "weighted_jaccard_pairs",
]

_ROWS = "Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(float32,1,'C',readonly=True)"
_PAIRS = "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), float64, float64[::1]"


@kernel(f"void({_ROWS}, Array(int64,1,'C',readonly=True), uint64[::1], float32[::1], int64[::1], int64[::1])")
def pack_bags(offsets, values, weights, starts, words, halves, order, counts):
    """words[starts[i] :] = the elements of row i, ascending; behind them their weights. `halves` is words as float32.

    Elements are mostly hashes, so their top bits say within a place or two where each belongs, as in `sort_rows`: the
    order is scattered by them and mended by insertion. `order` and `counts` hold the longest row and twice that.
    """
    for row in range(len(offsets) - 1):
        start = offsets[row]
        n = offsets[row + 1] - start
        bits = 1
        while (1 << bits) < n:
            bits += 1
        shift = np.uint64(64 - bits)
        for i in range(1 << bits):
            counts[i] = 0
        for i in range(n):
            counts[np.int64(values[start + i] >> shift)] += 1
        before = 0
        for i in range(1 << bits):
            before, counts[i] = before + counts[i], before
        for i in range(n):
            bucket = np.int64(values[start + i] >> shift)
            order[counts[bucket]] = i
            counts[bucket] += 1
        out = starts[row]
        first = 2 * (out + n)
        if n % 2 == 1:
            halves[first + n] = np.float32(0.0)
        left = steps_allowed(n)
        for i in range(n):
            x, w = values[start + order[i]], weights[start + order[i]]
            j = i
            while j > 0 and words[out + j - 1] > x and left > 0:
                words[out + j] = words[out + j - 1]
                halves[first + j] = halves[first + j - 1]
                j -= 1
                left -= 1
            words[out + j] = x
            halves[first + j] = w
        if left == 0:
            sort_pairs(words[out : out + n], halves[first : first + n])


@device
def _step(words, halves, i, i_end, i_weights, j, j_end, j_weights):
    """The weights of the next element in either row (0 where it is absent), and how far each row goes on."""
    if i < i_end and j < j_end:
        p, q = words[i], words[j]
        in_left, in_right = np.int64(p <= q), np.int64(q <= p)
    else:
        in_left, in_right = np.int64(i < i_end), np.int64(j < j_end)
    a = np.float64(halves[i_weights + i]) if in_left else 0.0
    b = np.float64(halves[j_weights + j]) if in_right else 0.0
    return a, b, in_left, in_right


@kernel(f"void({_ROWS}, {_PAIRS})")
def weighted_jaccard_pairs(offsets, words, halves, left, right, threshold, scores):
    """scores[p] = Σ min(a, b) / Σ max(a, b) over the elements of either row, -inf where it is below the threshold."""
    for p in range(len(left)):
        i, j = offsets[left[p]], offsets[right[p]]
        i_end = i + 2 * (offsets[left[p] + 1] - i) // 3
        j_end = j + 2 * (offsets[right[p] + 1] - j) // 3
        # The weight of the element at word i is at 2·i_end + (i - start).
        i_weights, j_weights = 2 * i_end - i, 2 * j_end - j
        least, most = 0.0, 0.0
        while i < i_end or j < j_end:
            a, b, in_left, in_right = _step(words, halves, i, i_end, i_weights, j, j_end, j_weights)
            least += min(a, b)
            most += max(a, b)
            i += in_left
            j += in_right
        similarity = least / most if most > 0.0 else -math.inf
        scores[p] = similarity if similarity >= threshold else -math.inf


@kernel(f"void({_ROWS}, {_PAIRS})")
def sparse_cosine_pairs(offsets, words, halves, left, right, threshold, scores):
    """scores[p] = Σ a·b / sqrt(Σ a² · Σ b²), within [-1, 1], 1 where parallel, -inf where it is below the threshold."""
    for p in range(len(left)):
        i, j = offsets[left[p]], offsets[right[p]]
        i_end = i + 2 * (offsets[left[p] + 1] - i) // 3
        j_end = j + 2 * (offsets[right[p] + 1] - j) // 3
        i_weights, j_weights = 2 * i_end - i, 2 * j_end - j
        dot, square, other_square = 0.0, 0.0, 0.0
        while i < i_end or j < j_end:
            a, b, in_left, in_right = _step(words, halves, i, i_end, i_weights, j, j_end, j_weights)
            dot += a * b
            square += a * a
            other_square += b * b
            i += in_left
            j += in_right
        # One root of the product: the root of a square is exact, the product of two roots is not.
        norms = math.sqrt(square * other_square)
        cosine = max(-1.0, dot / norms) if norms > 0.0 else -math.inf
        if cosine >= PARALLEL:
            cosine = 1.0
        scores[p] = cosine if cosine >= threshold else -math.inf


def bag_rows(offsets: I64Array, values: U64Array, weights: F32Array) -> tuple[I64Array, U64Array]:
    """(offsets, words) of the rows of bags whose elements values[offsets[i] : offsets[i + 1]] are in any order."""
    sizes = np.diff(offsets)
    starts = np.zeros(len(offsets), np.int64)
    np.cumsum(sizes + (sizes + 1) // 2, out=starts[1:])
    words = np.empty(int(starts[-1]), np.uint64)
    longest = int(sizes.max(initial=1))
    order, counts = np.empty(longest, np.int64), np.empty(2 * longest + 2, np.int64)
    pack_bags(offsets, values, weights, starts, words, words.view(np.float32), order, counts)
    return starts, words


def weighted_jaccard(offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float) -> F64Array:
    """Σmin / Σmax of each pair of rows, whose weights are not negative; -inf below the threshold and of empty pairs."""
    scores = np.empty(len(left), np.float64)
    weighted_jaccard_pairs(offsets, words, words.view(np.float32), left, right, threshold, scores)
    return scores


def sparse_cosine(offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float) -> F64Array:
    """The cosine of the angle between each pair of rows; -inf below the threshold and where a row has no length."""
    scores = np.empty(len(left), np.float64)
    sparse_cosine_pairs(offsets, words, words.view(np.float32), left, right, threshold, scores)
    return scores
