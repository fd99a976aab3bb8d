"""Buckets as an index: from an item to the buckets it is in, and from those to its candidates.

The idea. Write the buckets of all bands one after another; `where` lists for each item the places in which it stands.
The candidates of an item are what follows it in its buckets, each noted once by a stamp, whatever number of bands it
shares. So no list of candidate pairs is ever sorted or held: they come out item by item, ordered by (left, right), in
chunks of bounded size, and the buckets need 12 bytes for each of their members.

    band 0: {2, 5, 9} {3, 4}     band 1: {2, 9}
    members  2 5 9 | 3 4 | 2 9        item 2 stands at 0 and 5: its candidates are 5, 9 and (seen) 9

`hits` tells afterwards in which bands a pair met: those whose bucket holds both.

Where buckets have probes (see `group.py`), a pair needs the smaller of its two items to be no probe there.

Items may have signatures of some words each. Then a pair is a candidate only if these differ in few enough bits, which
is seen at once, while most pairs of a bucket would be compared in vain. How many are few enough may depend on both
items. Or only so many bits of the item's signature may be missing in that of its partner: what most of a set must be
inside another one has to show.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collide.group import Groups
from lookalike.kernels.jit import device, kernel, peek, poke
from lookalike.kernels.signatures import missing_bits, signature_distances
from lookalike.kernels.simd import pointer, pop_count, popped_xor, prefetch
from lookalike.threads.ordered import run_all
from lookalike.types import BoolArray, F64Array, I64Array, U8Array, U16Array, U64Array

__all__ = ["Buckets", "Likeness", "Pairs", "Task", "Walk"]

# Pairs of items, some at a time; and what gives some of them when it is called, on any thread.
Pairs: TypeAlias = Iterator[tuple[I64Array, I64Array]]
Task: TypeAlias = Callable[[], Pairs]

_AHEAD = 16
_LANES = 8
_UPPER = np.uint64(32)
_LOWER = np.uint64((1 << 32) - 1)
_HALF = np.int64(32)
_LOW = np.int64((1 << 32) - 1)
# Pairs of buckets that a thread looks at in one task; signatures rule most of them out, at 10 ns each.
_SPAN, _FILTERED_SPAN = 1 << 16, 1 << 22


@kernel("void(Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, uint64[::1])")
def _fill_entries(members, starts, at, entries):
    """entries[at + i] = member i of a band's buckets, with the end of its bucket above it."""
    for bucket in range(len(starts) - 1):
        end = np.uint64(at + starts[bucket + 1]) << _UPPER
        for i in range(starts[bucket], starts[bucket + 1]):
            entries[at + i] = end | np.uint64(members[i])


@kernel("void(Array(uint64,1,'C',readonly=True), int64, int64, int64[::1])")
def _count_places(entries, low, high, counts):
    """counts[i] = in how many places item i stands, for the items from low to before high."""
    for i in range(low, high):
        counts[i] = 0
    for place in range(len(entries)):
        item = np.int64(entries[place] & _LOWER)
        if low <= item and item < high:
            counts[item] += 1


@kernel("void(Array(uint64,1,'C',readonly=True), int64, int64, int64[::1], uint32[::1])")
def _place_members(entries, low, high, free, where):
    """where[free[i]], where[free[i] + 1], … = the places of item i, ascending, for the items from low to before high.

    free[i] is then where those of the next item begin.
    """
    for place in range(len(entries)):
        item = np.int64(entries[place] & _LOWER)
        if low <= item and item < high:
            where[free[item]] = np.uint32(place)
            free[item] += 1


@device
def _differing(signatures, data, item, partner, words, lacking):
    """In how many bits the signature of the item differs from that of its partner; or that it has and its partner not.

    `data` is a `simd.pointer` to the signatures.
    """
    differing = 0
    w = 0
    while w + _LANES <= words and not lacking:
        differing += popped_xor(data, item * words + w, data, partner * words + w)
        w += _LANES
    while w < words:
        ours, theirs = peek(signatures, item * words + w), peek(signatures, partner * words + w)
        differing += pop_count(ours & ~theirs if lacking else ours ^ theirs)
        w += 1
    return differing


@kernel(
    "int64(int64, int64, Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), Array(uint8,1,'C',readonly=True), "
    "Array(uint64,1,'C',readonly=True), int64, int64, Array(float64,1,'C',readonly=True), "
    "Array(float64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), uint32[::1], int64[::1], "
    "int64[::1], int64[::1])"
)
def _emit(
    item, end, entries, splits, offsets, where, apart, signatures, words, most, near, far, spare, stamps, left, right,
    filled,
):  # fmt: skip
    """Fill left and right with the candidates of the items from `item` on; the first item that was not done.

    A candidate is larger than the item, shares a bucket in which the item is no probe, has no bit of `apart` in common
    with it, and differs from it in no more than `most` bits of their signatures, which have so many words; where there
    are such numbers, in no more than near[item] + far[partner], or lacks no more than spare[item] bits of the item's.
    With the second, where an item has more partners in its buckets than there are items, all of those are looked at.
    filled[0] tells how many candidates there are. It stops before an item whose candidates might not fit.
    """
    count = 0
    data = pointer(signatures)
    lacking, reaching = len(spare) > 0, len(near) > 0
    items = len(offsets) - 1
    while item < end:
        begun = count
        listed = 0
        first, last = offsets[item], offsets[item + 1]
        for e in range(first, last):
            # The buckets of an item lie anywhere in memory, so they are asked for some places ahead.
            prefetch(entries, np.int64(where[min(e + _AHEAD, last - 1)]))
            place = np.int64(where[e])
            listed += np.int64(peek(entries, place) >> _UPPER) - place
        everyone = reaching and listed > items - item
        if begun + (items - item if everyone else listed) > len(left):
            break
        allowed = np.float64(spare[item] if lacking else most)
        if everyone:
            # The signatures stand side by side, so that to look at all of them is faster than to choose.
            for partner in range(item + 1, items):
                poke(left, count, item)
                poke(right, count, partner)
                differing = _differing(signatures, data, item, partner, words, False)
                asked = (apart[item] & peek(apart, partner)) == 0
                count += np.int64(asked and differing <= near[item] + peek(far, partner))
            item += 1
            continue
        for e in range(first, last):
            place = np.int64(where[e])
            if len(splits) > 0 and place >= np.int64(splits[place]):
                continue
            for other in range(place + 1, np.int64(peek(entries, place) >> _UPPER)):
                partner = np.int64(peek(entries, other) & _LOWER)
                if partner <= item or stamps[partner] == np.uint32(item + 1):
                    continue
                stamps[partner] = np.uint32(item + 1)
                if apart[item] & apart[partner]:
                    continue
                left[count] = item
                right[count] = partner
                count += 1
        if words > 0:
            found, count = count, begun
            for p in range(begun, found):
                prefetch(data, peek(right, min(p + _AHEAD, found - 1)) * words)
                partner = peek(right, p)
                differing = _differing(signatures, data, item, partner, words, lacking)
                if reaching:
                    allowed = near[item] + peek(far, partner)
                poke(right, count, partner)
                count += np.int64(differing <= allowed)
        item += 1
    filled[0] = count
    return item


@kernel(
    "int64(Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), "
    "Array(uint32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), int64[::1], uint16[::1])"
)
def _shared_bands(left, right, entries, splits, offsets, where, band_ends, ends, bands):
    """bands[ends[p] : ends[p + 1]] = the bands in which pair p shares a bucket; how many are needed in all.

    Buckets in which left[p], the smaller, is a probe do not count.
    With too little room in `bands` nothing more is written, and the caller comes again.
    """
    count = 0
    ends[0] = 0
    for p in range(len(left)):
        # The buckets of the next pair are asked for while this one's are looked at.
        ahead = min(p + 1, len(left) - 1)
        for e in range(offsets[left[ahead]], offsets[left[ahead] + 1]):
            prefetch(entries, np.int64(where[e]))
        for e in range(offsets[right[ahead]], offsets[right[ahead] + 1]):
            prefetch(entries, np.int64(where[e]))
        i, i_end = offsets[left[p]], offsets[left[p] + 1]
        j, j_end = offsets[right[p]], offsets[right[p] + 1]
        band = 0
        while i < i_end and j < j_end:
            # A bucket is known by its end.
            x, y = entries[where[i]] >> _UPPER, entries[where[j]] >> _UPPER
            probe = len(splits) > 0 and where[i] >= splits[where[i]]
            if x == y and not probe:
                while band_ends[band] < np.int64(x):
                    band += 1
                if count < len(bands):
                    bands[count] = np.uint16(band)
                count += 1
            i += np.int64(x <= y)
            j += np.int64(y <= x)
        ends[p + 1] = count
    return count


@dataclass(frozen=True, slots=True)
class Likeness:
    """The signatures of all items, `words` each, and the most bits in which candidates may differ.

    With `reach` the smaller item i and the larger item j of a candidate may differ in reach[0][i] + reach[1][j] bits
    instead, and pairs that share no bucket may be candidates, too; with `spare` the smaller may have spare[i] bits that
    the larger has not.
    """

    signatures: U64Array
    words: int
    most: int
    spare: I64Array = field(default_factory=lambda: np.empty(0, np.int64))
    reach: tuple[F64Array, F64Array] = field(default_factory=lambda: (np.empty(0), np.empty(0)))

    def may_match(self, left: I64Array, right: I64Array) -> BoolArray:
        """Which pairs of items, left < right, have to be compared."""
        signatures = self.signatures.reshape(-1, self.words)
        if len(self.spare):
            return missing_bits(signatures, left, right) <= self.spare[left]
        near, far = self.reach
        allowed = near[left] + far[right] if len(near) else self.most
        return signature_distances(signatures, left, right) <= allowed


@dataclass(slots=True)
class Walk:
    """One walk over the pairs of buckets, in spans of items that several threads may take.

    Of two items that are set `apart` no pair is made. Where there are several kinds of these, each has a bit.
    """

    buckets: Buckets
    apart: BoolArray | U8Array | None = None
    likeness: Likeness | None = None
    _own: threading.local = field(default_factory=threading.local)

    def tasks(self, chunk: int) -> Iterator[Task]:
        """The candidates of all items, cut into tasks for threads, in arrays of up to `chunk` pairs."""
        for begin, end in self.buckets.spans(_SPAN if self.likeness is None else _FILTERED_SPAN):
            yield partial(self.span, begin, end, chunk=chunk)

    def span(self, begin: int, end: int, *, chunk: int, on_items: Callable[[int], None] = lambda _: None) -> Pairs:
        """The candidates of the items from `begin` to before `end`, in arrays of up to `chunk` pairs."""
        buckets, likeness = self.buckets, self.likeness or Likeness(np.empty(0, np.uint64), 0, 0)
        if not hasattr(self._own, "stamps"):
            # A stamp is the number of an item, and each has its walk once: a thread's stamps serve all its spans.
            self._own.stamps = np.zeros(buckets.items, np.uint32)
        flags: U8Array = np.zeros(buckets.items, np.uint8) if self.apart is None else self.apart.view(np.uint8)
        filled = np.zeros(1, np.int64)
        item = begin
        while item < end:
            left, right = np.empty(chunk, np.int64), np.empty(chunk, np.int64)
            done = _emit(
                item, end, buckets.entries, buckets.probes, buckets._offsets, buckets._where, flags,
                likeness.signatures, likeness.words, likeness.most, *likeness.reach, likeness.spare,
                self._own.stamps, left, right, filled,
            )  # fmt: skip
            if done == item:
                # This item alone has more than a chunk.
                chunk *= 2
                continue
            count = int(filled[0])
            if count:
                packed = (left[:count] << _HALF) | right[:count]
                packed.sort()
                yield packed >> _HALF, packed & _LOW
            on_items(done - item)
            item = done


class Buckets:
    """The buckets of all bands, over items 0 … items - 1."""

    def __init__(self, items: int, groups: Sequence[Groups], threads: int = 1) -> None:
        sizes = [len(each.members) for each in groups]
        self.items = items
        counts = _stack([np.diff(each.starts) for each in groups], np.int64)
        self._band_ends = np.cumsum([0, *sizes], dtype=np.int64)[1:]
        before = self._band_ends - sizes
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._splits: I64Array = _stack([g.splits + at for g, at in zip(groups, before, strict=True)], np.int64)
        # Each member with the end of its bucket above it, so that one look at memory tells both.
        self.entries = np.empty(sum(sizes), np.uint64)

        def fill(band: int) -> None:
            _fill_entries(groups[band].members, groups[band].starts, int(before[band]), self.entries)

        run_all(fill, range(len(groups)), threads)
        # Where the probes of each member's bucket begin; without any probe nobody needs to know.
        probed = bool((self._splits < self._starts[1:]).any())
        self.probes = np.repeat(self._splits.astype(np.uint32), counts) if probed else np.empty(0, np.uint32)
        self._offsets = np.zeros(items + 1, np.int64)
        self._where = np.empty(len(self.entries), np.uint32)
        self._place(threads)

    def _place(self, threads: int) -> None:
        """Tell for each item where it stands: each thread looks at all entries, and sees to some of the items."""
        cuts = list(pairwise(share * self.items // threads for share in range(threads + 1)))
        counts = self._offsets[1:]
        run_all(lambda cut: _count_places(self.entries, *cut, counts), cuts, threads)
        np.cumsum(counts, out=counts)
        free = self._offsets[:-1].copy()
        run_all(lambda cut: _place_members(self.entries, *cut, free, self._where), cuts, threads)

    def candidates(
        self, apart: BoolArray | None = None, *, chunk: int = 1 << 20, on_items: Callable[[int], None] = lambda _: None
    ) -> Pairs:
        """Every pair of items that share a bucket, once, by (left, right), in arrays of up to `chunk` pairs.

        Pairs of two items that are set apart are left out.
        """
        walk = Walk(self, apart)
        yield from walk.span(0, self.items, chunk=chunk, on_items=on_items)

    def spans(self, work: int) -> list[tuple[int, int]]:
        """Cut the items into spans of one length, whose buckets hold about so many pairs."""
        count = min(self.items, 1 + self.pairs() // work)
        return list(pairwise(i * self.items // max(1, count) for i in range(count + 1)))

    def pairs(self) -> int:
        """How many pairs the buckets hold, one that shares several buckets counted for each."""
        return int(self._counts().sum())

    def _counts(self) -> I64Array:
        """The pairs of each bucket: of two that are no probes, or of one with a probe."""
        indexed = self._splits - self._starts[:-1]
        return indexed * (indexed - 1) // 2 + indexed * (self._starts[1:] - self._splits)

    def draw(self, count: int, seed: int = 0) -> tuple[I64Array, I64Array, I64Array]:
        """Pairs of buckets drawn at random: (left, right, in how many buckets they are a pair).

        The last is 0 where the smaller item is a probe in the bucket that was drawn, and makes no pair there.
        """
        rng = np.random.default_rng(seed)
        ends = np.cumsum(self._counts())
        bucket = np.searchsorted(ends, rng.integers(ends[-1], size=count), side="right")
        start, split, end = self._starts[bucket], self._splits[bucket], self._starts[bucket + 1]
        indexed = split - start
        among = indexed * (indexed - 1) // 2
        probe = rng.random(count) * (among + indexed * (end - split)) >= among
        first = start + (rng.random(count) * indexed).astype(np.int64)
        # The second of two that are no probes is any other one; a probe is any of them.
        other = (
            start + (first - start + 1 + (rng.random(count) * np.maximum(indexed - 1, 1)).astype(np.int64)) % indexed
        )
        second = np.where(probe, split + (rng.random(count) * (end - split)).astype(np.int64), other)
        a, b = ((self.entries[places] & _LOWER).astype(np.int64) for places in (first, second))
        left, right = np.minimum(a, b), np.maximum(a, b)
        ends, _ = self.hits(left, right)
        return left, right, np.where(probe & (b < a), 0, np.diff(ends))

    def hits(self, left: I64Array, right: I64Array) -> tuple[I64Array, U16Array]:
        """(offsets, bands): pair p, left < right, met in the bands[offsets[p] : offsets[p + 1]]."""
        ends = np.empty(len(left) + 1, np.int64)
        room = 16 * len(left) + 16
        while True:
            bands = np.empty(room, np.uint16)
            room = _shared_bands(
                left, right, self.entries, self.probes, self._offsets, self._where, self._band_ends, ends, bands
            )
            if room <= len(bands):
                return ends, bands[:room]


def _stack(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)
