"""What comes near enough is scored exactly, and the best stay: the kernels behind `scan.py`.

A scan has approximate scores of a block of rows and columns. Here they are held against a limit, sixteen at a time; the
few that are not below it are scored in float64, in an order that depends on the two vectors alone, and go into a heap
of the best k, or into a list of pairs.
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.jit import device, kernel, peek

__all__ = [
    "COSINE", "EUCLIDEAN", "MANHATTAN", "NOBODY", "collect_pairs", "keep_best", "manhattan_block", "score_lists",
    "sort_best",
]  # fmt: skip

COSINE, EUCLIDEAN, MANHATTAN = 0, 1, 2
NOBODY = np.int64(0x7FFFFFFFFFFFFFFF)  # the item of an empty place in a heap: any other is better

_STEP = 64  # products that are looked at together

_VECTORS = "Array(float32,2,'C',readonly=True)"
_PRODUCTS = "Array(float32,1,'C',readonly=True)"
_FLOATS = "Array(float64,1,'C',readonly=True)"
_NUMBERS = "Array(int64,1,'C',readonly=True)"


@device
def _score(measure, x, i, y, j):
    """The exact score of x[i] and y[j]: float64, eight running sums that are added pairwise at the end."""
    d = x.shape[1]
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    whole = d - d % 8
    if measure == COSINE:
        for c in range(0, whole, 8):
            a0 += np.float64(x[i, c]) * np.float64(y[j, c])
            a1 += np.float64(x[i, c + 1]) * np.float64(y[j, c + 1])
            a2 += np.float64(x[i, c + 2]) * np.float64(y[j, c + 2])
            a3 += np.float64(x[i, c + 3]) * np.float64(y[j, c + 3])
            a4 += np.float64(x[i, c + 4]) * np.float64(y[j, c + 4])
            a5 += np.float64(x[i, c + 5]) * np.float64(y[j, c + 5])
            a6 += np.float64(x[i, c + 6]) * np.float64(y[j, c + 6])
            a7 += np.float64(x[i, c + 7]) * np.float64(y[j, c + 7])
        for c in range(whole, d):
            a0 += np.float64(x[i, c]) * np.float64(y[j, c])
    else:
        for c in range(0, whole, 8):
            a0 += _term(measure, np.float64(x[i, c]) - np.float64(y[j, c]))
            a1 += _term(measure, np.float64(x[i, c + 1]) - np.float64(y[j, c + 1]))
            a2 += _term(measure, np.float64(x[i, c + 2]) - np.float64(y[j, c + 2]))
            a3 += _term(measure, np.float64(x[i, c + 3]) - np.float64(y[j, c + 3]))
            a4 += _term(measure, np.float64(x[i, c + 4]) - np.float64(y[j, c + 4]))
            a5 += _term(measure, np.float64(x[i, c + 5]) - np.float64(y[j, c + 5]))
            a6 += _term(measure, np.float64(x[i, c + 6]) - np.float64(y[j, c + 6]))
            a7 += _term(measure, np.float64(x[i, c + 7]) - np.float64(y[j, c + 7]))
        for c in range(whole, d):
            a0 += _term(measure, np.float64(x[i, c]) - np.float64(y[j, c]))
    total = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))
    if measure == COSINE:
        return total
    return -math.sqrt(total) if measure == EUCLIDEAN else -total


@device
def _term(measure, difference):
    return difference * difference if measure == EUCLIDEAN else abs(difference)


@device
def _worse(score, item, other_score, other_item):
    return score < other_score or (score == other_score and item > other_item)


@device
def _replace_worst(scores, ids, row, size, score, item):
    """Put an entry in the place of the worst, the root of the heap of row[:size], and sink it to where it belongs."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _worse(
            scores[row, child + 1], ids[row, child + 1], scores[row, child], ids[row, child]
        ):
            child += 1
        if not _worse(scores[row, child], ids[row, child], score, item):
            break
        scores[row, at], ids[row, at] = scores[row, child], ids[row, child]
        at = child
    scores[row, at], ids[row, at] = score, item


@device
def _limit(measure, worst, lift, margin):
    """What the approximation of an item must reach, so that its score could be `worst` or better."""
    if measure == COSINE:
        return np.float32(worst - margin)
    if measure == EUCLIDEAN:
        return np.float32(lift - worst * worst / 2.0 - margin)
    return np.float32(worst * (1.0 + margin))


@device
def _below(near, base, halves, start, stop, limit):
    """How many of near[base + j] - halves[j] are below the limit, sixteen at a time."""
    below = np.int32(0)
    for j in range(start, stop):
        below = np.int32(below + np.int32(peek(near, base + j) - peek(halves, j) < limit))
    return np.int64(below)


@kernel(
    f"int64(int64, {_PRODUCTS}, int64, {_PRODUCTS}, int64, {_VECTORS}, {_VECTORS}, {_NUMBERS}, {_FLOATS}, {_FLOATS}, "
    "int64[:,::1], float64[:,::1])"
)
def keep_best(measure, near, stride, halves, first, items, queries, own, lifts, margins, ids, scores):
    """Take a block of items into the heaps of the best k of each query, ids and scores (queries x k), worst first.

    near[q·stride + j] - halves[j] is the approximate score of item first + j up to a constant of the query. Only what
    could be better than the worst of the heap is scored, about k·ln(n/k) of n items in no particular order; returns how
    many. Item own[q] is left out. Not a number passes: products that overflow are no reason to lose an item.
    """
    width, k = len(halves), ids.shape[1]
    scored = 0
    for q in range(len(queries)):
        limit = _limit(measure, scores[q, 0], lifts[q], margins[q])
        for start in range(0, width, _STEP):
            stop = min(start + _STEP, width)
            if _below(near, q * stride, halves, start, stop, limit) == stop - start:
                continue
            for j in range(start, stop):
                item = first + j
                if near[q * stride + j] - halves[j] < limit or item == own[q]:
                    continue
                scored += 1
                score = _score(measure, queries, q, items, item)
                if _worse(scores[q, 0], ids[q, 0], score, item):
                    _replace_worst(scores, ids, q, k, score, item)
                    limit = _limit(measure, scores[q, 0], lifts[q], margins[q])
    return scored


@kernel("void(int64[:,::1], float64[:,::1])")
def sort_best(ids, scores):
    """Each heap into its order, best first: the worst goes to the end, again and again."""
    for row in range(len(ids)):
        for size in range(ids.shape[1] - 1, 0, -1):
            score, item = scores[row, size], ids[row, size]
            scores[row, size], ids[row, size] = scores[row, 0], ids[row, 0]
            _replace_worst(scores, ids, row, size, score, item)


@kernel(
    f"void(int64, {_VECTORS}, {_VECTORS}, Array(int64,2,'C',readonly=True), {_NUMBERS}, int64[:,::1], float64[:,::1])"
)
def score_lists(measure, items, queries, lists, own, ids, scores):
    """The heaps of the best k of the items in each query's list, scored exactly; an item of -1 is none."""
    k = ids.shape[1]
    for q in range(len(lists)):
        for place in range(lists.shape[1]):
            item = lists[q, place]
            if item < 0 or item == own[q]:
                continue
            score = _score(measure, queries, q, items, item)
            if _worse(scores[q, 0], ids[q, 0], score, item):
                _replace_worst(scores, ids, q, k, score, item)


@kernel(
    f"int64(int64, {_PRODUCTS}, int64, {_PRODUCTS}, {_FLOATS}, {_VECTORS}, float64, int64, int64, boolean, int64[::1], "
    "int64[::1], int64[::1])"
)
def collect_pairs(measure, near, stride, halves, limits, vectors, least, row, column, fill, counts, left, right):
    """The pairs (row + i, column + j), left < right, whose score is at least `least`.

    Only where near[i·stride + j] - halves[j] is not below limits[i] they are scored. Counts these for each i, so that
    there is room for them before a second call fills in the pairs; returns how many.
    """
    total, width = 0, len(halves)
    for i in range(len(limits)):
        limit = np.float32(limits[i])
        start = min(max(0, row + i + 1 - column), width)
        if not fill:
            counts[i] = width - start - _below(near, i * stride, halves, start, width, limit)
            total += counts[i]
        elif counts[i]:
            for j in range(start, width):
                if near[i * stride + j] - halves[j] < limit:
                    continue
                if _score(measure, vectors, row + i, vectors, column + j) >= least:
                    left[total], right[total] = row + i, column + j
                    total += 1
    return total


@kernel(f"void({_VECTORS}, {_VECTORS}, int64, float32[::1])")
def manhattan_block(queries, columns, stride, near):
    """near[q·stride + j] = -Σ|queries[q, c] - columns[c, j]| in float32; items stand in columns, side by side."""
    d, width = columns.shape
    whole = d - d % 4
    for q in range(len(queries)):
        base = q * stride
        for j in range(width):
            near[base + j] = np.float32(0.0)
        for c in range(0, whole, 4):
            x0, x1, x2, x3 = queries[q, c], queries[q, c + 1], queries[q, c + 2], queries[q, c + 3]
            for j in range(width):
                first = abs(x0 - columns[c, j]) + abs(x1 - columns[c + 1, j])
                second = abs(x2 - columns[c + 2, j]) + abs(x3 - columns[c + 3, j])
                near[base + j] -= first + second
        for c in range(whole, d):
            x0 = queries[q, c]
            for j in range(width):
                near[base + j] -= abs(x0 - columns[c, j])
