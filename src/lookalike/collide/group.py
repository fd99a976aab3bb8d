"""Grouping: from band keys to candidate pairs, each once, in chunks of bounded size.

The idea. Sort the items of one band by key; a run of equal keys is a bucket. A pair that meets in several bands is
emitted in the first of them only: when it meets in band t, the keys of bands 0 … t-1 are compared, and if one agrees
the pair has been seen. So no set of seen pairs is kept, and the order of bands alone decides, not that of items.

A bucket of m items holds m(m-1)/2 pairs. They come out in chunks: `chunk` pairs at most are in memory at once, so a
large bucket costs time, never memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lookalike.jit import kernel
from lookalike.types import I64Array, U64Array

__all__ = ["candidates", "largest_bucket", "meeting", "shared_rows"]


@kernel(
    "int64(Array(uint64,2,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, "
    "int64[::1], int64[::1], int64[::1])"
)
def _emit_band(keys, order, band, cursor, left, right):
    """Fill left/right with new pairs of this band, going on from `cursor` = (i, j) in `order`; how many.

    i walks the sorted items, j the rest of i's bucket. The band is finished when cursor[0] reaches the end.
    """
    n, room, count = len(order), len(left), 0
    i, j = cursor[0], cursor[1]
    while i < n:
        a = order[i]
        while j < n and keys[order[j], band] == keys[a, band]:
            if count == room:
                cursor[0], cursor[1] = i, j
                return count
            b = order[j]
            new = True
            for earlier in range(band):
                if keys[a, earlier] == keys[b, earlier]:
                    new = False
                    break
            if new:
                left[count], right[count] = min(a, b), max(a, b)
                count += 1
            j += 1
        i += 1
        j = i + 1
    cursor[0], cursor[1] = i, j
    return count


def shared_rows(key: U64Array) -> I64Array:
    """The rows of one band whose key is not theirs alone, by key, then by row: its buckets, one after another."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    same = ordered[1:] == ordered[:-1]
    shared = np.zeros(len(key), np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    return order[shared].astype(np.int64, copy=False)


def meeting(groups: Sequence[I64Array], rows: int) -> I64Array:
    """The rows that share a key with another row in at least one band: all that candidates can name."""
    meets = np.zeros(rows, np.bool_)
    for group in groups:
        meets[group] = True
    return np.flatnonzero(meets)


def candidates(
    keys: U64Array,
    groups: Sequence[I64Array],
    *,
    chunk: int = 1 << 20,
    on_band: Callable[[], None] = lambda: None,
) -> Iterator[tuple[I64Array, I64Array]]:
    """Every pair of rows that share a key in at least one band, as arrays (smaller, larger) of up to `chunk` pairs.

    groups[t] are the `shared_rows` of band t.
    """
    left, right = np.empty(chunk, np.int64), np.empty(chunk, np.int64)
    for band, order in enumerate(groups):
        cursor = np.array([0, 1], np.int64)
        while cursor[0] < len(order):
            count = _emit_band(keys, order, band, cursor, left, right)
            if count:
                yield left[:count].copy(), right[:count].copy()
        on_band()


def largest_bucket(keys: U64Array) -> int:
    """The number of rows in the largest bucket of any band."""
    largest = 0
    for band in range(keys.shape[1]):
        _, counts = np.unique(keys[:, band], return_counts=True)
        largest = max(largest, int(counts.max(initial=0)))
    return largest
