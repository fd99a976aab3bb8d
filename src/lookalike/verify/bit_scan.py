"""The nearest items of a batch of queries by the Hamming distance of their sign bits, looking at every item.

The idea. A comparison of D bits is D/64 exclusive-ors and population counts, so a scan of all items takes a tenth of
that of their products or less, and needs no index. Sign bits agree with 1 - angle/π, so the nearest R items by bits
hold the nearest k by angle for an R that a sample tells (`search/nearest.py`).

Layout. 32 items stand side by side: word w of the items 32·g to 32·g + 31 at 32·(g·words + w) and after. Their
distances to a query are four vectors of eight running sums: an exclusive-or, a count and an addition for each word of
the query, and no sum across a vector. Where the processor counts bits in vectors (AVX-512 VPOPCNTDQ) a count is one
instruction for eight words; LLVM finds the best way elsewhere.

A chunk of items is compared with all queries of a batch while it is in the second-level cache. Of each query a
histogram of the distances seen so far gives the distance T that the R-th best has. From then on only items below T
count, R·ln(n/R) of n in no particular order, and each lets T sink where it can. No heap, and no order among equals but
the item number: items come in this order, and the first R stay.

    R = 2, distances 5 3 4 3 3:  after 5 3 T = 5; 4 is below: T = 4; 3 is below: T = 3; the last 3 is not. Items 1, 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from lookalike.kernels.jit import device, intrinsic, kernel, peek
from lookalike.kernels.later import cgutils, types
from lookalike.threads.ordered import ordered_map
from lookalike.types import I64Array, U64Array

__all__ = ["nearest_bits", "nearest_by_bits", "side_by_side"]

_LANES = 32
_CHUNK = 256 * 1024  # bytes of items that stay in the cache while all queries of a batch pass
_BATCH = 32  # queries


@intrinsic
def _distances(typingctx: Any, packed: Any, start: Any, queries: Any, place: Any, words: Any, out: Any) -> Any:
    """out[:32] = the Hamming distances of 32 items, from packed[start], to the query from queries[place]."""
    signature = types.void(packed, types.int64, queries, types.int64, types.int64, out)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        packed, start, queries, place, words, out = arguments
        kinds = signature.args
        word, narrow = ir.IntType(64), ir.IntType(16)
        row = ir.VectorType(word, _LANES)

        def data(number: int, value: Any) -> Any:
            return context.make_array(kinds[number])(context, builder, value).data

        def zero_lanes(value: Any) -> Any:
            one = builder.insert_element(ir.Constant(row, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
            return builder.shuffle_vector(one, ir.Constant(row, ir.Undefined), mask)

        kind = ir.FunctionType(row, [row])
        count = cgutils.get_or_insert_function(builder.module, kind, f"llvm.ctpop.v{_LANES}i64")
        total = cgutils.alloca_once_value(builder, ir.Constant(row, [0] * _LANES))
        items = builder.gep(data(0, packed), [start])
        query = builder.gep(data(2, queries), [place])
        with cgutils.for_range(builder, words) as loop:
            address = builder.gep(items, [builder.mul(loop.index, ir.Constant(word, _LANES))])
            theirs = builder.load(builder.bitcast(address, row.as_pointer()))
            theirs.align = 8
            ours = builder.load(builder.gep(query, [loop.index]))
            differing = builder.call(count, [builder.xor(theirs, zero_lanes(ours))])
            builder.store(builder.add(builder.load(total), differing), total)
        narrowed = builder.trunc(builder.load(total), ir.VectorType(narrow, _LANES))
        stored = builder.store(narrowed, builder.bitcast(data(5, out), ir.VectorType(narrow, _LANES).as_pointer()))
        stored.align = 2
        return context.get_dummy_value()

    return signature, codegen


@device
def _below(distances, limit):
    """Whether any of 32 distances is below the limit."""
    found = np.uint16(0)
    for lane in range(_LANES):
        found |= np.uint16(peek(distances, lane) < limit)
    return found > 0


@device
def _forget(ids, distances, q, size, limit, below, wanted):
    """Keep of q's first `size` entries those below the limit, and of those at it the first that complete `wanted`."""
    kept, at_limit = 0, wanted - below
    for place in range(size):
        distance = distances[q, place]
        if distance < limit or (distance == limit and at_limit > 0):
            at_limit -= np.int64(distance == limit)
            ids[q, kept], distances[q, kept] = ids[q, place], distance
            kept += 1
    return kept


@kernel("void(Array(uint64,1,'C',readonly=True), int64, Array(uint64,2,'C',readonly=True), int64[:,::1])")
def nearest_bits(packed, items, queries, best):
    """best[q] = the items with the smallest Hamming distances to query q, by (distance, item); -1 for none.

    `packed` holds the items side by side, 32 and 32, padded; `queries` has D/64 words each.
    """
    count, words = queries.shape
    wanted = best.shape[1]
    flat = queries.reshape(count * words)
    # Room for entries that a smaller limit will rule out; they are forgotten when it is used up.
    room = 2 * wanted + _LANES
    ids = np.empty((count, room), np.int32)
    distances = np.empty((count, room), np.uint16)
    sizes = np.zeros(count, np.int64)
    limits = np.full(count, 64 * words + 1, np.int64)
    below = np.zeros(count, np.int64)
    seen = np.zeros((count, 64 * words + 2), np.int64)
    found = np.empty(_LANES, np.uint16)
    groups = (items + _LANES - 1) // _LANES
    stride = max(1, _CHUNK // (8 * words * _LANES))
    for first in range(0, groups, stride):
        for q in range(count):
            limit = limits[q]
            for group in range(first, min(first + stride, groups)):
                _distances(packed, group * words * _LANES, flat, q * words, words, found)
                if not _below(found, np.uint16(limit)):
                    continue
                for lane in range(min(_LANES, items - group * _LANES)):
                    distance = np.int64(found[lane])
                    if distance >= limit:
                        continue
                    if sizes[q] == room:
                        sizes[q] = _forget(ids, distances, q, room, limit, below[q], wanted)
                    ids[q, sizes[q]], distances[q, sizes[q]] = group * _LANES + lane, distance
                    sizes[q] += 1
                    seen[q, distance] += 1
                    below[q] += 1
                    while below[q] >= wanted:
                        limit -= 1
                        below[q] -= seen[q, limit]
            limits[q] = limit
    for q in range(count):
        kept = _forget(ids, distances, q, sizes[q], limits[q], below[q], wanted)
        # A counting sort: where each distance begins, then each entry to the next place of its own.
        before = 0
        for distance in range(64 * words + 2):
            seen[q, distance], before = before, before + seen[q, distance]
        for place in range(wanted):
            best[q, place] = -1
        for place in range(kept):
            distance = np.int64(distances[q, place])
            best[q, seen[q, distance]] = ids[q, place]
            seen[q, distance] += 1


def side_by_side(bits: U64Array) -> U64Array:
    """Items with D/64 words each (n x D/64) in the order that `nearest_bits` reads, the last 32 padded with zeros."""
    n, words = bits.shape
    groups = -(-n // _LANES)
    padded = np.zeros((groups * _LANES, words), np.uint64)
    padded[:n] = bits
    return np.ascontiguousarray(padded.reshape(groups, _LANES, words).transpose(0, 2, 1)).reshape(-1)


def nearest_by_bits(packed: U64Array, items: int, queries: U64Array, count: int, threads: int) -> I64Array:
    """The `count` nearest of so many items for each query, nearest first, equals by item number (queries x count)."""
    best = np.empty((len(queries), count), np.int64)

    def task(start: int) -> None:
        nearest_bits(packed, items, queries[start : start + size], best[start : start + size])

    size = max(1, min(_BATCH, -(-len(queries) // threads)))
    for _ in ordered_map(task, range(0, len(queries), size), threads):
        pass
    return best
