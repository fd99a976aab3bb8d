"""Every pair of vectors, or the best k items of every query, by comparing all with all, fast and exactly.

The idea. Matrix products are what processors do best: a block of queries times a block of items gives all their
products at 2·d operations a pair, close to the peak of the machine. But BLAS rounds to float32, in an order that
depends on the shape of the block and on the processor. So its products only rule out: whatever could reach the limit
within the error of a float32 sum is computed again, in float64 and in an order that depends on the two vectors alone.
What comes out is therefore the same for all blocks, threads and machines.

The error. A float32 sum of d products, in any order and with or without fused operations, is off by at most
γ·Σ|x_i·y_i| <= γ·|x|·|y| with γ = d·u / (1 - d·u) and u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms,
section 3.1): 2.3·10⁻⁵ for unit vectors of 384 components. `_slack` adds eight u for what follows the product.

    cosine      s = x·y of unit vectors, the score itself
    euclidean   s = x·y - |y|²/2 = (|x|² - |x-y|²)/2, so that the largest s has the smallest distance. Vectors are moved
                by the mean of the items first, which changes no distance and makes the norms, and so the error, small.
    manhattan   s = -Σ|x_i - y_i|, by a kernel of our own; a sum of positive terms is off by γ times itself

Scores: the larger the better; of a distance it is minus the distance. Equal scores are ordered by item number.

Blocks of 512 x 512 products (1 MB) stay in the second-level cache until they are looked through, which takes a
twentieth of the time of the product: 0.06 to 0.11 ns a pair, beside 2.2 for 100 components and 7.8 for 384 (one core of
an AMD EPYC with AVX-512).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.jit import device, kernel, peek
from lookalike.parallel import ordered_map
from lookalike.types import F64Array, I64Array

__all__ = [
    "COSINE", "EUCLIDEAN", "MANHATTAN", "all_pairs_above", "all_pairs_within", "collect_pairs", "keep_best",
    "manhattan_block", "score_lists", "sort_best", "top",
]  # fmt: skip

F32Array = NDArray[np.float32]

COSINE, EUCLIDEAN, MANHATTAN = 0, 1, 2

_BLOCK = 512
_STRIP = 16  # blocks of one task: 16 of 512 x 512 hold 67 MB of pairs if every pair is one
_STEP = 64  # products that are looked at together
_UNIT = 2.0**-24
_NOBODY = np.int64(0x7FFFFFFFFFFFFFFF)

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
    f"void(int64, {_PRODUCTS}, {_PRODUCTS}, int64, {_VECTORS}, {_VECTORS}, "
    f"{_NUMBERS}, {_FLOATS}, {_FLOATS}, int64[:,::1], float64[:,::1])"
)
def keep_best(measure, near, halves, first, items, queries, own, lifts, margins, ids, scores):
    """Take a block of items into the heaps of the best k of each query, ids and scores (queries x k), worst first.

    With the rows of `near` one after another, near[q, j] - halves[j] is the approximate score of item first + j up to a
    constant of the query. Only what could be
    better than the worst of the heap is scored exactly, about k·ln(n/k) of n items in no particular order. Item own[q]
    is left out. Not a number passes: products that overflow are no reason to lose an item.
    """
    width, k = len(halves), ids.shape[1]
    for q in range(len(queries)):
        limit = _limit(measure, scores[q, 0], lifts[q], margins[q])
        for start in range(0, width, _STEP):
            stop = min(start + _STEP, width)
            if _below(near, q * width, halves, start, stop, limit) == stop - start:
                continue
            for j in range(start, stop):
                item = first + j
                if near[q * width + j] - halves[j] < limit or item == own[q]:
                    continue
                score = _score(measure, queries, q, items, item)
                if _worse(scores[q, 0], ids[q, 0], score, item):
                    _replace_worst(scores, ids, q, k, score, item)
                    limit = _limit(measure, scores[q, 0], lifts[q], margins[q])


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


@kernel(f"int64({_PRODUCTS}, {_PRODUCTS}, {_FLOATS}, int64, int64, boolean, int64[::1], int64[::1], int64[::1])")
def collect_pairs(near, halves, limits, row, column, fill, counts, left, right):
    """The pairs (row + i, column + j), left < right, whose near[i, j] - halves[j] is not below limits[i].

    Counts them for each i, so that there is room for them before a second call fills them in.
    """
    total, width = 0, len(halves)
    for i in range(len(limits)):
        limit = np.float32(limits[i])
        start = min(max(0, row + i + 1 - column), width)
        if not fill:
            counts[i] = width - start - _below(near, i * width, halves, start, width, limit)
            total += counts[i]
        elif counts[i]:
            for j in range(start, width):
                if not near[i * width + j] - halves[j] < limit:
                    left[total], right[total] = row + i, column + j
                    total += 1
    return total


@kernel(f"void({_VECTORS}, {_VECTORS}, float32[:,::1])")
def manhattan_block(queries, columns, near):
    """near[q, j] = -Σ|queries[q, c] - columns[c, j]| in float32; items stand in columns, so that vectors hold items."""
    d, width = columns.shape
    whole = d - d % 4
    for q in range(len(queries)):
        for j in range(width):
            near[q, j] = np.float32(0.0)
        for c in range(0, whole, 4):
            x0, x1, x2, x3 = queries[q, c], queries[q, c + 1], queries[q, c + 2], queries[q, c + 3]
            for j in range(width):
                first = abs(x0 - columns[c, j]) + abs(x1 - columns[c + 1, j])
                second = abs(x2 - columns[c + 2, j]) + abs(x3 - columns[c + 3, j])
                near[q, j] -= first + second
        for c in range(whole, d):
            x0 = queries[q, c]
            for j in range(width):
                near[q, j] -= abs(x0 - columns[c, j])


def _slack(dimensions: int) -> float:
    """The relative error of a float32 sum of so many products, and of the few operations after it."""
    terms = (dimensions + 8) * _UNIT
    return terms / (1.0 - terms) if terms < 0.5 else math.inf


@dataclass(frozen=True)
class _Side:
    """Vectors as they are scored (`exact`) and as they are multiplied (`fast`), with what the sums need beside them."""

    exact: F32Array
    fast: F32Array
    halves: F32Array
    lifts: F64Array

    @classmethod
    def of(cls, measure: int, vectors: F32Array, centre: F64Array | None) -> _Side:
        if measure != EUCLIDEAN or centre is None:
            zeros = np.zeros(len(vectors))
            return cls(vectors, vectors, zeros.astype(np.float32), zeros)
        fast = np.empty_like(vectors)
        lifts = np.empty(len(vectors))
        for start in range(0, len(vectors), _BLOCK):
            rows = slice(start, start + _BLOCK)
            fast[rows] = vectors[rows] - centre
            lifts[rows] = np.square(fast[rows], dtype=np.float64).sum(axis=1) / 2
        with np.errstate(over="ignore"):
            return cls(vectors, fast, lifts.astype(np.float32), lifts)

    def margins(self, measure: int, other: _Side) -> F64Array:
        """The error of each row's approximations with any row of the other side, for Manhattan as a share of them."""
        slack = _slack(self.exact.shape[1])
        if measure != EUCLIDEAN:
            # 1.001: what float32 makes of unit vectors may be a little longer.
            return np.full(len(self.exact), 1.001 * slack)
        # With X and Y the two norms, M the larger: the product is off by γ·X·Y, the halves by u/2·(X² + Y²), their
        # difference by u·(X·Y + Y²/2), and moving both vectors shifts the distance by u·(X + Y), its half square by
        # u·(X + Y)²; together less than (d + 8)·u·M². Each operation may also be off by the smallest normal number.
        # Where a product may be infinite, everything is scored.
        largest = np.maximum(self.lifts, other.lifts.max(initial=0.0))
        smallest = (self.exact.shape[1] + 8) * 2.0**-126
        return np.where(largest < 2.0**125, 2.0 * slack * largest + smallest, np.inf)


def _fill(measure: int, queries: F32Array, items: F32Array, near: F32Array) -> None:
    """The approximate scores of all these queries with all these items."""
    if measure == MANHATTAN:
        manhattan_block(queries, np.ascontiguousarray(items.T), near)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(queries, items.T, out=near)


def _spans(first: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
    for start in range(first, stop, step):
        yield start, min(start + step, stop)


def _centre(measure: int, vectors: F32Array) -> F64Array | None:
    return vectors.mean(axis=0, dtype=np.float64) if measure == EUCLIDEAN and len(vectors) else None


def _all_pairs(
    measure: int, vectors: F32Array, limits: F64Array, side: _Side, threads: int
) -> Iterator[tuple[I64Array, I64Array]]:
    n = len(vectors)
    nothing = np.empty(0, np.int64)

    def task(span: tuple[int, int, int, int]) -> tuple[I64Array, I64Array]:
        row, row_end, first, last = span
        buffer = np.empty(_BLOCK * _BLOCK, np.float32)
        counts = np.empty(row_end - row, np.int64)
        found: list[tuple[I64Array, I64Array]] = []
        for column, end in _spans(first, last, _BLOCK):
            near = buffer[: (row_end - row) * (end - column)].reshape(row_end - row, end - column)
            _fill(measure, side.fast[row:row_end], side.fast[column:end], near)
            arguments = near.reshape(-1), side.halves[column:end], limits[row:row_end], row, column
            total = collect_pairs(*arguments, False, counts, nothing, nothing)
            if total:
                found.append((np.empty(total, np.int64), np.empty(total, np.int64)))
                collect_pairs(*arguments, True, counts, *found[-1])
        lefts, rights = zip(*found, strict=True) if found else ((nothing,), (nothing,))
        return np.concatenate(lefts), np.concatenate(rights)

    tasks = ((*rows, *strip) for rows in _spans(0, n, _BLOCK) for strip in _spans(rows[0], n, _STRIP * _BLOCK))
    for left, right in ordered_map(task, tasks, threads):
        if len(left):
            yield left, right


def all_pairs_above(unit: F32Array, threshold: float, threads: int) -> Iterator[tuple[I64Array, I64Array]]:
    """Pairs (left < right) of unit vectors: all whose product reaches the threshold, and few below it, to be compared.

    Those below come within 2·γ of it. The pairs come in chunks, rows of blocks after rows of blocks.
    """
    side = _Side.of(COSINE, unit, None)
    return _all_pairs(COSINE, unit, threshold - side.margins(COSINE, side), side, threads)


def all_pairs_within(
    vectors: F32Array, distance: float, threads: int, measure: int = EUCLIDEAN
) -> Iterator[tuple[I64Array, I64Array]]:
    """Pairs (left < right) at a Euclidean or Manhattan distance of at most `distance`, and few above it."""
    side = _Side.of(measure, vectors, _centre(measure, vectors))
    margins = side.margins(measure, side)
    if measure == EUCLIDEAN:
        limits = side.lifts - distance * distance / 2.0 - margins
    else:
        limits = -distance * (1.0 + margins)
    return _all_pairs(measure, vectors, limits, side, threads)


def top(
    items: F32Array,
    queries: F32Array,
    k: int,
    threads: int,
    measure: int = COSINE,
    own: I64Array | None = None,
) -> tuple[I64Array, F64Array]:
    """The best k items of each query, best first, and their exact scores: int64 and float64 (queries x k).

    For the cosine both are unit vectors. `own` names an item that a query must not find. Where there are fewer than k
    items, the rest of a row is -1 with a score of -inf.
    """
    centre = _centre(measure, items)
    ours, theirs = _Side.of(measure, items, centre), _Side.of(measure, queries, centre)
    margins = theirs.margins(measure, ours)
    own = np.full(len(queries), -1, np.int64) if own is None else own
    ids = np.full((len(queries), k), _NOBODY)
    scores = np.full((len(queries), k), -np.inf)

    def task(span: tuple[int, int]) -> None:
        rows = slice(*span)
        buffer = np.empty(_BLOCK * _BLOCK, np.float32)
        for first, last in _spans(0, len(items), _BLOCK):
            near = buffer[: (span[1] - span[0]) * (last - first)].reshape(-1, last - first)
            _fill(measure, theirs.fast[rows], ours.fast[first:last], near)
            keep_best(
                measure, near.reshape(-1), ours.halves[first:last], first, items, queries[rows], own[rows],
                theirs.lifts[rows], margins[rows], ids[rows], scores[rows],
            )  # fmt: skip
        sort_best(ids[rows], scores[rows])

    # Fewer queries than would fill a block for each thread are dealt out evenly.
    share = max(1, min(_BLOCK, -(-len(queries) // threads)))
    for _ in ordered_map(task, _spans(0, len(queries), share), threads):
        pass
    ids[ids == _NOBODY] = -1
    return ids, scores
