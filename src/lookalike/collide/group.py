"""Grouping: the keys of one band fall into buckets; a bucket is the items that share a key.

The idea. Keys are uniform hashes, so their top bits say where each belongs: scatter the entries by up to 11 bits, then
each part, which fits the cache, by up to 14 more, and an insertion sort has next to nothing left to do. Linear, and
stable: the items of a bucket keep the order in which they came. A part in which it has much to do, because somebody
chose the hashes, is sorted by all bits (`kernels/chosen_hashes.py`). Only buckets of two or more are kept.

A bucket of m items stands for m(m-1)/2 candidate pairs. Buckets larger than `most` are not kept either: their items
are marked as giant, and an exact join finds the pairs among those (`prefix.py`), so that no bucket costs more than
linear time and none is cut short.

The same kernel groups by other keys than those of bands: fingerprints (`fold.py`) and rare elements (`prefix.py`).
There an entry may be marked as a probe by the top bit of its item: pairs are made of entries that are not probes with
all others, so the probes stand at the end of their bucket, and only the others count for its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lookalike.kernels.chosen_hashes import sort_pairs, steps_allowed
from lookalike.kernels.jit import kernel
from lookalike.types import BoolArray, I64Array, U32Array, U64Array

__all__ = ["PROBE", "Groups", "group", "group_entries", "select_keys"]

# The mark of a probe; item numbers stay below it.
PROBE = 1 << 31

_COARSE_BITS = 11
_FINE_BITS = 14
_PROBE = np.uint32(PROBE)
_ITEM = np.uint32(PROBE - 1)


@kernel(
    "int64(Array(uint64,1,'C',readonly=True), Array(uint8,1,'C',readonly=True), int64, uint64, uint64, "
    "uint64[::1], uint32[::1], int64)"
)
def select_keys(keys, active, first, low, high, out, items, count):
    """Append the keys from low to high of the active items first, first + 1, … to out and items; the new count.

    With too little room in `out` nothing more is written, and the caller comes again.
    """
    for i in range(len(keys)):
        key = keys[i]
        if active[i] and low <= key and key <= high:
            if count < len(out):
                out[count] = key
                items[count] = np.uint32(first + i)
            count += 1
    return count


@kernel(
    "void(uint64[::1], uint32[::1], uint64[::1], uint32[::1], int64[::1], int64[::1], int64, uint8[::1], "
    "uint32[::1], int64[::1], int64[::1], int64[::1])"
)
def group_entries(keys, items, spare_keys, spare_items, counts, fine, most, giant, members, starts, splits, totals):
    """Sort the entries (keys, items) and keep the buckets of two or more that hold no more than `most`.

    Bucket g is members[starts[g] : starts[g + 1]], of which splits[g] and all after it are probes, marks removed. A
    bucket of probes alone makes no pairs and is left out. Items of larger buckets get giant[item] = 1.
    totals = (buckets kept, members kept, giant buckets, items in the largest bucket).
    """
    n = len(keys)
    bits = 0
    while bits < _COARSE_BITS and (512 << bits) < n:
        bits += 1
    parts = 1 << bits
    # A shift by 64 is not defined; with one part there is nothing to scatter.
    shift = np.uint64(64 - bits)
    for i in range(parts + 1):
        counts[i] = 0
    for i in range(n):
        part = np.int64(keys[i] >> shift) if bits else 0
        counts[part + 1] += 1
    for i in range(parts):
        counts[i + 1] += counts[i]
    for i in range(n):
        part = np.int64(keys[i] >> shift) if bits else 0
        at = counts[part]
        spare_keys[at] = keys[i]
        spare_items[at] = items[i]
        counts[part] = at + 1

    groups = kept = giants = largest = 0
    begin = 0
    for part in range(parts):
        end = counts[part]
        size = end - begin
        depth = 1
        while depth < _FINE_BITS and (1 << depth) < size:
            depth += 1
        down = np.uint64(64 - bits - depth)
        mask = np.uint64((1 << depth) - 1)
        for i in range((1 << depth) + 1):
            fine[i] = 0
        for i in range(begin, end):
            fine[np.int64((spare_keys[i] >> down) & mask) + 1] += 1
        for i in range(1 << depth):
            fine[i + 1] += fine[i]
        for i in range(begin, end):
            place = np.int64((spare_keys[i] >> down) & mask)
            at = begin + fine[place]
            keys[at] = spare_keys[i]
            items[at] = spare_items[i]
            fine[place] += 1
        left = steps_allowed(size)
        for i in range(begin + 1, end):
            key, item = keys[i], items[i]
            j = i
            while j > begin and keys[j - 1] > key and left > 0:
                keys[j] = keys[j - 1]
                items[j] = items[j - 1]
                j -= 1
                left -= 1
            keys[j] = key
            items[j] = item
        if left == 0:
            sort_pairs(keys[begin:end], items[begin:end])

        i = begin
        while i < end:
            j = i + 1
            while j < end and keys[j] == keys[i]:
                j += 1
            indexed = 0
            for k in range(i, j):
                indexed += np.int64(items[k] < _PROBE)
            largest = max(largest, indexed)
            if indexed > most:
                giants += 1
                for k in range(i, j):
                    giant[np.int64(items[k] & _ITEM)] = 1
            elif j - i > 1 and indexed > 0:
                starts[groups] = kept
                splits[groups] = kept + indexed
                first, second = kept, kept + indexed
                for k in range(i, j):
                    if items[k] < _PROBE:
                        members[first] = items[k]
                        first += 1
                    else:
                        members[second] = items[k] & _ITEM
                        second += 1
                kept += j - i
                groups += 1
            i = j
        begin = end
    starts[groups] = kept
    totals[0], totals[1], totals[2], totals[3] = groups, kept, giants, largest


@dataclass(frozen=True, slots=True)
class Groups:
    """Buckets, by key: bucket g is members[starts[g] : starts[g + 1]], items in the order they came, probes last."""

    members: U32Array
    starts: I64Array
    splits: I64Array
    giants: int
    largest: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def chosen(self, flags: BoolArray) -> Groups:
        """Some of the buckets."""
        if flags.all():
            return self
        sizes = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(sizes[flags])]).astype(np.int64)
        splits = starts[1:]
        if not np.shares_memory(self.splits, self.starts):
            splits = starts[:-1] + (self.splits - self.starts[:-1])[flags]
        return Groups(self.members[np.repeat(flags, sizes)], starts, splits, self.giants, self.largest)

    def only(self, stay: BoolArray) -> Groups:
        """The buckets without the members that do not stay; one that makes no pair any more is left out."""
        before = np.concatenate([[0], np.cumsum(stay)])
        starts, splits = before[self.starts], before[self.splits]
        left = Groups(self.members[stay], starts, splits, self.giants, self.largest)
        return left.chosen((np.diff(starts) > 1) & (splits > starts[:-1]))

    def ascending(self) -> Groups:
        """The same buckets, their members ascending, of probes and of the others."""
        borders = np.column_stack([self.starts[:-1], self.splits]).ravel()
        packed = np.repeat(np.arange(len(borders)) << 32, np.diff(borders, append=self.starts[-1:]))
        packed |= self.members
        packed.sort()
        return replace(self, members=packed.astype(np.uint32))


def group(keys: U64Array, items: U32Array, giant: BoolArray, *, most: int) -> Groups:
    """The buckets of the entries, which are used up; items of buckets above `most` are marked in `giant`."""
    n = len(keys)
    members, starts = np.empty(n, np.uint32), np.empty(n // 2 + 2, np.int64)
    splits, totals = np.empty(n // 2 + 1, np.int64), np.zeros(4, np.int64)
    counts, fine = np.empty((1 << _COARSE_BITS) + 1, np.int64), np.empty((1 << _FINE_BITS) + 1, np.int64)
    group_entries(
        keys, items, np.empty(n, np.uint64), np.empty(n, np.uint32), counts, fine, most, giant.view(np.uint8),
        members, starts, splits, totals,
    )  # fmt: skip
    groups, kept, giants, largest = totals.tolist()
    begins = starts[: groups + 1].copy()
    # Where there are no probes, buckets end where their probes would begin; millions of buckets need not say it twice.
    plain = np.array_equal(splits[:groups], begins[1:])
    return Groups(members[:kept].copy(), begins, begins[1:] if plain else splits[:groups].copy(), giants, largest)
