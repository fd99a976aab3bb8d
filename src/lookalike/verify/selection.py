"""What comes near enough is scored exactly, and the best stay: the kernels behind `scan.py`.

A scan has approximate scores of a block of rows and columns. Here they are held against a limit, sixteen at a time; the
few that are not below it are scored in float64, in an order that depends on the two vectors alone, and go into a heap
of the best k, or into a list of pairs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir

from lookalike.kernels.jit import device, intrinsic, kernel, peek
from lookalike.kernels.later import cgutils, types

__all__ = [
    "COSINE", "EUCLIDEAN", "MANHATTAN", "NOBODY", "collect_pairs", "keep_best", "manhattan_block", "replace_worst",
    "score_lists", "sort_best", "worse",
]  # fmt: skip

COSINE, EUCLIDEAN, MANHATTAN = 0, 1, 2
NOBODY = np.int64(0x7FFFFFFFFFFFFFFF)  # the item of an empty place in a heap: any other is better

_SUMS = 32
_AHEAD = 4  # items of a list that are on their way while one is scored
_STEP = 64  # products that are looked at together

_VECTORS = "Array(float32,2,'C',readonly=True)"
_PRODUCTS = "Array(float32,1,'C',readonly=True)"
_FLOATS = "Array(float64,1,'C',readonly=True)"
_NUMBERS = "Array(int64,1,'C',readonly=True)"


@intrinsic
def _sum(typingctx: Any, measure: Any, x: Any, i: Any, y: Any, j: Any, d: Any) -> Any:
    """Σ over c of the terms of x[i + c] and y[j + c] in float64: 32 running sums, then halves onto halves.

    Running sum l has the components c = l, l + 32, l + 64, …; the components that fill no 32 are added at the end one
    by one. In LLVM's vectors, since it must not reorder a sum by itself: four times as fast as eight single sums.
    """
    signature = types.float64(types.int64, x, types.int64, y, types.int64, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        measure, x, i, y, j, d = arguments
        word, double = ir.IntType(64), ir.DoubleType()

        def data(number: int, array: Any, start: Any) -> Any:
            pointer = context.make_array(signature.args[number])(context, builder, array).data
            return builder.gep(pointer, [start])

        def term(kind: int, one: Any, other: Any) -> Any:
            if kind == COSINE:
                return builder.fmul(one, other)
            off = builder.fsub(one, other)
            if kind == EUCLIDEAN:
                return builder.fmul(off, off)
            name = f"llvm.fabs.v{off.type.count}f64" if isinstance(off.type, ir.VectorType) else "llvm.fabs.f64"
            absolute = cgutils.get_or_insert_function(builder.module, ir.FunctionType(off.type, [off.type]), name)
            return builder.call(absolute, [off])

        def added(kind: int, total: Any, narrow: Any, wide: Any, place: Any) -> None:
            numbers = []
            for start in (ours, theirs):
                address = builder.bitcast(builder.gep(start, [place]), narrow.as_pointer())
                number = builder.load(address)
                number.align = 4
                numbers.append(builder.fpext(number, wide))
            builder.store(builder.fadd(builder.load(total), term(kind, *numbers)), total)

        ours, theirs = data(1, x, i), data(3, y, j)
        row, narrow = ir.VectorType(double, _SUMS), ir.VectorType(ir.FloatType(), _SUMS)
        sums = cgutils.alloca_once_value(builder, ir.Constant(row, [0.0] * _SUMS))
        result = cgutils.alloca_once_value(builder, ir.Constant(double, 0.0))
        size = ir.Constant(word, _SUMS)
        rounds = builder.sdiv(d, size)
        whole = builder.mul(rounds, size)
        for kind in (COSINE, EUCLIDEAN, MANHATTAN):
            with builder.if_then(builder.icmp_signed("==", measure, ir.Constant(word, kind))):
                builder.store(ir.Constant(row, [0.0] * _SUMS), sums)
                with cgutils.for_range(builder, rounds) as loop:
                    added(kind, sums, narrow, row, builder.mul(loop.index, size))
                total, count = builder.load(sums), _SUMS
                while count > 1:
                    count //= 2
                    undefined = ir.Constant(total.type, ir.Undefined)
                    halves = [
                        ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(start, start + count)))
                        for start in (0, count)
                    ]
                    total = builder.fadd(*(builder.shuffle_vector(total, undefined, half) for half in halves))
                builder.store(builder.extract_element(total, ir.Constant(ir.IntType(32), 0)), result)
                with cgutils.for_range(builder, builder.sub(d, whole)) as loop:
                    added(kind, result, ir.FloatType(), double, builder.add(whole, loop.index))
        return builder.load(result)

    return signature, codegen


@intrinsic
def _prefetch(typingctx: Any, array: Any, start: Any, size: Any) -> Any:
    """Ask for so many numbers from array[start], which are wanted soon: items of a list lie anywhere in memory."""
    signature = types.void(array, types.int64, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, size = arguments
        flag, address = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        first = builder.gep(context.make_array(signature.args[0])(context, builder, array).data, [start])
        line = ir.Constant(ir.IntType(64), 16)  # 64 bytes
        lines = builder.add(builder.sdiv(size, line), ir.Constant(ir.IntType(64), 1))
        with cgutils.for_range(builder, lines) as loop:
            place = builder.bitcast(builder.gep(first, [builder.mul(loop.index, line)]), address)
            builder.call(ask, [place, *(ir.Constant(flag, option) for option in (0, 3, 1))])
        return context.get_dummy_value()

    return signature, codegen


@device
def _score(measure, x, i, y, j, d):
    """The exact score of the vectors x[i : i + d] and y[j : j + d]."""
    total = _sum(measure, x, i, y, j, d)
    if measure == COSINE:
        return total
    return -math.sqrt(total) if measure == EUCLIDEAN else -total


@device
def worse(score, item, other_score, other_item):
    return score < other_score or (score == other_score and item > other_item)


@device
def replace_worst(scores, ids, row, size, score, item):
    """Put an entry in the place of the worst, the root of the heap of row[:size], and sink it to where it belongs."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and worse(scores[row, child + 1], ids[row, child + 1], scores[row, child], ids[row, child]):
            child += 1
        if not worse(scores[row, child], ids[row, child], score, item):
            break
        scores[row, at], ids[row, at] = scores[row, child], ids[row, child]
        at = child
    scores[row, at], ids[row, at] = score, item


@device
def _limit(measure, worst, lift, margin):
    """What the approximation of an item must reach, so that its score could be `worst` or better."""
    if measure == COSINE:
        return np.float32(worst - lift - margin)
    if measure == EUCLIDEAN:
        return np.float32(-worst * worst / 2.0 - lift - margin)
    return np.float32(worst * (1.0 + margin))


@device
def _below(near, base, halves, start, stop, limit):
    """How many of near[base + j] - halves[j] are below the limit, sixteen at a time."""
    below = np.int32(0)
    for j in range(start, stop):
        below = np.int32(below + np.int32(peek(near, base + j) - peek(halves, j) < limit))
    return np.int64(below)


@kernel(
    f"int64(int64, {_PRODUCTS}, int64, {_PRODUCTS}, int64, {_VECTORS}, {_FLOATS}, {_VECTORS}, {_FLOATS}, {_NUMBERS}, "
    f"{_FLOATS}, {_FLOATS}, int64[:,::1], float64[:,::1])"
)
def keep_best(
    measure, near, stride, halves, first, items, item_scales, queries, scales, own, lifts, margins, ids, scores
):
    """Take a block of items into the heaps of the best k of each query, ids and scores (queries x k), worst first.

    near[q·stride + j] - halves[j] is the approximate score of item first + j up to a constant of the query. Only what
    could be better than the worst of the heap is scored, about k·ln(n/k) of n items in no particular order; returns how
    many. Products are multiplied by the scales of both vectors. Item own[q] is left out. Not a number passes: products
    that overflow are no reason to lose an item.
    """
    width, k, d = len(halves), ids.shape[1], items.shape[1]
    flat_items, flat_queries = items.reshape(items.size), queries.reshape(queries.size)
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
                score = _score(measure, flat_queries, q * d, flat_items, item * d, d)
                if measure == COSINE:
                    score *= scales[q] * item_scales[item]
                if worse(scores[q, 0], ids[q, 0], score, item):
                    replace_worst(scores, ids, q, k, score, item)
                    limit = _limit(measure, scores[q, 0], lifts[q], margins[q])
    return scored


@kernel("void(int64[:,::1], float64[:,::1])")
def sort_best(ids, scores):
    """Each heap into its order, best first: the worst goes to the end, again and again."""
    for row in range(len(ids)):
        for size in range(ids.shape[1] - 1, 0, -1):
            score, item = scores[row, size], ids[row, size]
            scores[row, size], ids[row, size] = scores[row, 0], ids[row, 0]
            replace_worst(scores, ids, row, size, score, item)


@kernel(
    f"void(int64, {_VECTORS}, {_FLOATS}, {_VECTORS}, {_FLOATS}, Array(int64,2,'C',readonly=True), {_NUMBERS}, "
    "int64[:,::1], float64[:,::1])"
)
def score_lists(measure, items, item_scales, queries, scales, lists, own, ids, scores):
    """The heaps of the best k of the items in each query's list, scored as in `keep_best`; an item of -1 is none."""
    k, d = ids.shape[1], items.shape[1]
    flat_items, flat_queries = items.reshape(items.size), queries.reshape(queries.size)
    for q in range(len(lists)):
        for place in range(lists.shape[1]):
            item = lists[q, place]
            if place + _AHEAD < lists.shape[1]:
                _prefetch(flat_items, max(0, lists[q, place + _AHEAD]) * d, d)
            if item < 0 or item == own[q]:
                continue
            score = _score(measure, flat_queries, q * d, flat_items, item * d, d)
            if measure == COSINE:
                score *= scales[q] * item_scales[item]
            if worse(scores[q, 0], ids[q, 0], score, item):
                replace_worst(scores, ids, q, k, score, item)


@kernel(
    f"int64(int64, {_PRODUCTS}, int64, {_PRODUCTS}, {_FLOATS}, {_VECTORS}, {_NUMBERS}, float64, int64, int64, boolean, "
    "int64[::1], int64[::1], int64[::1])"
)
def collect_pairs(
    measure, near, stride, halves, limits, vectors, labels, least, row, column, fill, counts, left, right
):
    """The pairs (row + i, column + j), left < right, whose score is at least `least`, and whose labels, if any, differ.

    Only where near[i·stride + j] - halves[j] is not below limits[i] they are scored. Counts these for each i, so that
    there is room for them before a second call fills in the pairs; returns how many.
    """
    total, width, d = 0, len(halves), vectors.shape[1]
    flat = vectors.reshape(vectors.size)
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
                if len(labels) > 0 and labels[row + i] == labels[column + j]:
                    continue
                if _score(measure, flat, (row + i) * d, flat, (column + j) * d, d) >= least:
                    left[total], right[total] = row + i, column + j
                    total += 1
    return total


@kernel(f"void({_VECTORS}, {_VECTORS}, int64, float32[::1])")
def manhattan_block(queries, columns, stride, near):
    """near[q·stride + j] = -Σ|queries[q, c] - columns[c, j]| in float32; items stand in columns, side by side."""
    d, width = columns.shape
    whole = d - d % 4
    for q in range(len(queries)):
        row = near[q * stride : q * stride + width]
        for j in range(width):
            row[j] = np.float32(0.0)
        for c in range(0, whole, 4):
            x0, x1, x2, x3 = queries[q, c], queries[q, c + 1], queries[q, c + 2], queries[q, c + 3]
            for j in range(width):
                first = abs(x0 - columns[c, j]) + abs(x1 - columns[c + 1, j])
                second = abs(x2 - columns[c + 2, j]) + abs(x3 - columns[c + 3, j])
                row[j] -= first + second
        for c in range(whole, d):
            x0 = queries[q, c]
            for j in range(width):
                row[j] -= abs(x0 - columns[c, j])
