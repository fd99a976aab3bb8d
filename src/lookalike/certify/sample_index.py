"""The index of a sample of sets: which sampled items a set may match, and which it does.

The idea (prefix filter: Chaudhuri, Ganti, Kaushik 2006; with counting: Wang, Li, Feng 2012). If a sampled x and a
later y match, they share at least o = ⌈t/(1+t)·(|x|+|y|)⌉ elements, so y lacks at most |x| - o of x. Hence of any
p = |x| - o + 1 elements of x one is in y, and of p + g at least g + 1. The elements of x are ordered by the number of
sampled items that have them, rarest first, and the first |x| - ⌈t|x|⌉ + 1 are indexed, which is p for the smallest y:

    t = 0.8, |x| = 300:  |y| = 240 needs o = 240, p = 61;  |y| = 300 needs o = 267, p = 34

Which of these count depends on |y|: the rare ones always, others only up to position p + g, where g is as large as it
is useful. So a template that many items share costs nothing until it could lift a pair to the threshold by itself; such
items soon have more than `most` matches, and leave the index. Where it lies just below, their odd signatures tell most
of them apart. Each element has a list of (largest |y| for which its position counts, x), largest first, of which y
reads the head.

In front of the hash table stands a Bloom filter, two bits in one word: 256 kB for 1,000 to 2,000 items of 300 elements.
A row is filtered without branches, then the few elements that pass are looked up. A list is found by the lower half of
its element, from a slot that a key of the process decides on, so that nobody can choose elements of one slot; an
accident makes one hit too many, and what has enough hits is compared exactly in any case.

Items are entered by one thread, while nobody reads the index; between that, any number of threads look into it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.ranks import rank_of
from lookalike.kernels.chosen_hashes import slot_hash, table_words
from lookalike.kernels.jit import device, kernel, peek, poke, trailing_zeros
from lookalike.kernels.kinds import array_of, float64, int64, tuple_of, uint64, void
from lookalike.kernels.signatures import signature_distance, turn_over
from lookalike.kernels.simd import pointer
from lookalike.key import TABLE_KEY
from lookalike.spec import C1, mix
from lookalike.types import F64Array, I64Array, U64Array

__all__ = [
    "BROKEN",
    "EMPTY",
    "ITEMS",
    "KEYS",
    "SEEN",
    "Probe",
    "SampleIndex",
    "empty_index",
    "enter_rows",
    "extent_of",
    "index_items",
    "indexed_elements",
    "leave_items",
    "measure_rows",
    "probe_rows",
]  # fmt: skip

# Bounds in floating point are lowered by this much: far more than their rounding, far less than one element.
_ROOM = 1.0 - 2.0**-40

# The class of an element is the number of bits in the number of sampled items that have it: up to three is rare.
_CLASSES = 17
_RARE = 2
# One cache line.
_ODD_WORDS = 8

# More elements than any y has.
_ANY = np.int64(2**31 - 1)
_HALF = np.int64(32)
_LOW = np.int64(2**32 - 1)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_SIX_BITS = np.uint64(63)
_UPPER = np.uint64(32)
_LOWER = np.uint64(2**32 - 1)
_SIXTY = np.uint64(60)

# Where in `counts` each number stands.
ITEMS, KEYS, _ENTRIES, SEEN, EMPTY, _LONGEST, BROKEN = range(7)


class SampleIndex(NamedTuple):
    """The sample, its index, and scratch for those that join it.

    The sampled item in place s has values[offsets[s] : offsets[s + 1]], of which the first rare[s] are rare; more[s] is
    its g, matches[s] how often it was found, and odd[8·s : 8·(s + 1)] its odd signature (`kernels/signatures.py`). A
    slot of `table` is (lower half of an element, place of its list in `entries`), or 0. A list is its length and so
    many (largest |y|, s). Of two halves in one number the first is the upper one.
    """

    counts: I64Array
    items: I64Array
    ranks: U64Array
    groups: U64Array
    matches: I64Array
    rare: I64Array
    more: I64Array
    offsets: I64Array
    values: U64Array
    frequency: NDArray[np.uint16]
    filter: U64Array
    table: I64Array
    entries: I64Array
    buckets: I64Array
    slots: NDArray[np.int32]
    odd: U64Array
    key: U64Array


class Probe(NamedTuple):
    """What one thread needs to look into an index, and what it found there: (place of x, y, similarity).

    `odd` are the signatures of the sample with that of y behind them; counts[0] is the number of pairs.
    """

    counts: I64Array
    matches: I64Array
    pair_places: I64Array
    pair_items: I64Array
    similarities: F64Array
    hits: I64Array
    touched: I64Array
    found: U64Array
    slots: NDArray[np.int32]
    odd: U64Array

    @classmethod
    def of(cls, index: SampleIndex, longest: int) -> Probe:
        """For sets of at most so many elements."""
        places, pairs = len(index.items), 2 * len(index.items) + 1024
        return cls(
            counts=np.zeros(1, np.int64),
            matches=np.zeros(places, np.int64),
            pair_places=np.empty(pairs, np.int64),
            pair_items=np.empty(pairs, np.int64),
            similarities=np.empty(pairs, np.float64),
            hits=np.zeros(places, np.int64),
            touched=np.empty(places, np.int64),
            found=np.empty(longest, np.uint64),
            slots=_slots(longest),
            odd=np.concatenate([index.odd, np.zeros(_ODD_WORDS, np.uint64)]),
        )


@device
def _quotient(a, b):
    """a / b for a b that is never 0; where a division may raise, Numba counts references to every array in sight."""
    return a / b if b != 0 else 0.0


@device
def _needed(ratio, m, n):
    """The overlap that sets of m and n elements need for a match, where ratio = t/(1+t)."""
    return max(np.int64(1), np.int64(np.ceil(ratio * _ROOM * np.float64(m + n))))


@device
def _indexed(threshold, m):
    """How many elements of m are indexed: those that a y of the least possible size, ⌈tm⌉, would need."""
    return m + 1 - max(np.int64(1), np.int64(np.ceil(threshold * _ROOM * np.float64(m))))


@device
def _shift(filter):
    """What leaves the first bits of an element as its place in the filter, whose length is a power of two."""
    return np.uint64(64 - trailing_zeros(np.uint64(len(filter))))


@device
def _slot_of(x, table, words):
    """Where in `table` the list of the element x stands, or the free slot where it belongs."""
    slot = np.int64(((slot_hash(x, words) & _LOWER) * np.uint64(len(table))) >> _UPPER)
    tag = np.int64(x & _LOWER)
    word = peek(table, slot)
    while word != 0 and (word >> _HALF) & _LOW != tag:
        slot += 1
        if slot == len(table):
            slot = 0
        word = peek(table, slot)
    return slot


@device
def _count(values, start, n, frequency):
    """Count the elements of an item; those that share a counter only look less rare than they are."""
    mask = np.uint64(len(frequency) - 1)
    for i in range(start, start + n):
        at = np.int64(peek(values, i) & mask)
        seen = peek(frequency, at)
        poke(frequency, at, seen + np.uint16(seen < 65535))


@device
def _order(values, start, n, s, m):
    """Append the elements of an item to m.values, rarest first, equally rare ones by their first bits.

    The second makes items of one template choose the same elements of it, so that its others are never looked up.
    """
    mask = np.uint64(len(m.frequency) - 1)
    for bucket in range(len(m.buckets)):
        m.buckets[bucket] = 0
    for i in range(start, start + n):
        x = peek(values, i)
        bits = 0
        seen = np.int64(peek(m.frequency, np.int64(x & mask)))
        while seen > 0:
            bits += 1
            seen >>= 1
        bucket = 16 * bits + np.int64(x >> _SIXTY)
        poke(m.slots, i - start, bucket)
        m.buckets[bucket] += 1
    before = m.offsets[s]
    for bucket in range(len(m.buckets)):
        if bucket == 16 * (_RARE + 1):
            m.rare[s] = before - m.offsets[s]
        m.buckets[bucket], before = before, before + m.buckets[bucket]
    for i in range(n):
        bucket = np.int64(peek(m.slots, i))
        poke(m.values, m.buckets[bucket], peek(values, start + i))
        m.buckets[bucket] += 1
    m.offsets[s + 1] = before


@device
def _insert(x, entry, counts, table, entries, words):
    """Add an entry to the list of an element, in descending order."""
    slot = _slot_of(x, table, words)
    at = table[slot] & _LOW
    length = entries[at]
    counts[KEYS] += np.int64(at == 0)
    if length & (length - 1) == 0:
        # A list has room for the next power of two. A full one moves to the end; what it leaves is lost until the index
        # is built anew.
        end = counts[_ENTRIES]
        counts[_ENTRIES] += 1 + max(np.int64(1), 2 * length)
        for i in range(1, length + 1):
            entries[end + i] = entries[at + i]
        at = end
    i = at + length + 1
    while i > at + 1 and (entries[i - 1] >> _HALF) < (entry >> _HALF):
        entries[i] = entries[i - 1]
        i -= 1
    entries[i] = entry
    entries[at] = length + 1
    # Outside the branch, though only a list that moved needs it: Numba otherwise counts references to the array.
    table[slot] = np.int64(x << _UPPER) | at
    counts[_LONGEST] = max(counts[_LONGEST], length + 1)


@device
def _useful(s, size, indexed, ratio, m):
    """g of an item: how many elements beyond p are to count, though not rare. m.buckets are as `_order` left them.

    It is the g of least expected cost for a y of the same size that has each element as often as the sample has it: one
    for each hit, and |x| for a comparison. The chance of that is Cantelli's bound on the tail, variance / (variance +
    distance²), since the elements of a text come together and a normal tail would be far too thin.
    """
    others = np.float64(max(np.int64(1), m.counts[ITEMS] - 1))
    p = min(indexed, size - _needed(ratio, size, size) + 1)
    mean, variance, least = 0.0, 0.0, np.inf
    k, useful, bits = np.int64(0), np.int64(0), np.int64(0)
    while k < indexed and mean < least:
        while m.offsets[s] + k >= m.buckets[16 * bits + 15]:
            bits += 1
        # Halfway between 2^(bits-1) and 2^bits, less the item itself.
        share = min(1.0, _quotient(0.75 * np.float64(1 << bits) - 1.0, others))
        mean += share
        variance += share * (1.0 - share)
        k += 1
        distance = max(0.0, k - p + 1 - mean)
        cost = mean + size * min(1.0, _quotient(variance, variance + distance * distance))
        if k >= max(p, m.rare[s]) and cost < least:
            least = cost
            useful = k - p
    return useful if p + useful > m.rare[s] else 0


@device
def _enter(s, threshold, m):
    """Index the sampled item in place s; without room for it the index is broken, and must be built anew."""
    ratio = _quotient(threshold, 1.0 + threshold)
    start, size = m.offsets[s], m.offsets[s + 1] - m.offsets[s]
    indexed = _indexed(threshold, size)
    m.more[s] = _useful(s, size, indexed, ratio, m)
    _sign(m.values, start, size, s, m.odd)
    shift, words = _shift(m.filter), table_words(m.key)
    k = np.int64(1)
    while k <= indexed and m.counts[BROKEN] == 0:
        largest = _ANY
        if k > m.rare[s]:
            # The largest |y| for which k <= p + more, that is for which no more than `overlap` is needed.
            overlap = size + 1 + m.more[s] - k
            largest = np.int64(min(np.float64(_ANY), _quotient(overlap, ratio) - size + 2.0))
            while _needed(ratio, size, largest) > overlap:
                largest -= 1
        x = m.values[start + k - 1]
        bits = (_ONE << (x & _SIX_BITS)) | (_ONE << ((x >> _SIX) & _SIX_BITS))
        m.filter[np.int64(x >> shift)] |= bits
        _insert(x, (largest << _HALF) | s, m.counts, m.table, m.entries, words)
        k += 1
        # The next list may be the longest, and have to move.
        short = np.int64(m.counts[_ENTRIES] + 2 * m.counts[_LONGEST] + 2 > len(m.entries))
        m.counts[BROKEN] = short | np.int64(2 * m.counts[KEYS] > len(m.table))


@device
def _leave(s, threshold, m):
    """Take the item in place s out of the index; its elements stay in the filter until that is built anew."""
    start, size = m.offsets[s], m.offsets[s + 1] - m.offsets[s]
    words = table_words(m.key)
    for k in range(_indexed(threshold, size)):
        at = m.table[_slot_of(m.values[start + k], m.table, words)] & _LOW
        i = at + 1
        while m.entries[i] & _LOW != s:
            i += 1
        while i < at + m.entries[at]:
            m.entries[i] = m.entries[i + 1]
            i += 1
        m.entries[at] -= 1


@device
def _touch(values, start, n, m, probe):
    """Count in probe.hits how many elements of y count for each sampled item; how many items have any."""
    shift, words = _shift(m.filter), table_words(m.key)
    passed = 0
    for i in range(start, start + n):
        x = peek(values, i)
        word = peek(m.filter, np.int64(x >> shift))
        poke(probe.found, passed, x)
        passed += np.int64((word >> (x & _SIX_BITS)) & (word >> ((x >> _SIX) & _SIX_BITS)) & _ONE)
    touched = 0
    least = np.int64(n) << _HALF
    for i in range(passed):
        at = peek(m.table, _slot_of(peek(probe.found, i), m.table, words)) & _LOW
        end = at + peek(m.entries, at)
        while at < end:
            at += 1
            entry = peek(m.entries, at)
            if entry < least:
                break
            s = entry & _LOW
            hits = peek(probe.hits, s)
            poke(probe.touched, touched, s)
            touched += np.int64(hits == 0)
            poke(probe.hits, s, hits + 1)
    return touched


@device
def _hashed(values, start, n, slots, words):
    """Put the elements of y into a hash table of their places; its mask."""
    capacity = 16
    while capacity < 3 * n:
        capacity *= 2
    for i in range(capacity):
        poke(slots, i, 0)
    mask = np.int64(capacity - 1)
    for i in range(n):
        slot = np.int64(slot_hash(peek(values, start + i), words)) & mask
        while peek(slots, slot) != 0:
            slot = (slot + 1) & mask
        poke(slots, slot, i + 1)
    return mask


@device
def _sign(values, start, n, place, odd):
    """The odd signature of an item."""
    for w in range(place * _ODD_WORDS, (place + 1) * _ODD_WORDS):
        odd[w] = 0
    turn_over(values, start, start + n, odd, place, _ODD_WORDS)


@device
def _overlap(s, values, start, mask, spare, m, slots):
    """How many elements the item in place s shares with y; counted no further than until y lacks more than `spare`."""
    lacking, words = 0, table_words(m.key)
    i = m.offsets[s]
    while i < m.offsets[s + 1] and lacking <= spare:
        x = peek(m.values, i)
        slot = np.int64(slot_hash(x, words)) & mask
        place = np.int64(peek(slots, slot))
        while place != 0 and peek(values, start + place - 1) != x:
            slot = (slot + 1) & mask
            place = np.int64(peek(slots, slot))
        lacking += np.int64(place == 0)
        i += 1
    return m.offsets[s + 1] - m.offsets[s] - lacking


@device
def _compare(item, group, values, start, n, threshold, most, m, probe):
    """Compare y with every earlier sampled item that enough of its elements hit, and note the matches."""
    touched = _touch(values, start, n, m, probe)
    ratio = _quotient(threshold, 1.0 + threshold)
    last = len(m.items)
    mask = np.int64(0)
    for t in range(touched):
        s = peek(probe.touched, t)
        hits = peek(probe.hits, s)
        poke(probe.hits, s, 0)
        size = m.offsets[s + 1] - m.offsets[s]
        needed = _needed(ratio, size, n)
        if needed > min(size, n) or m.groups[s] != group or m.items[s] >= item or probe.matches[s] > most:
            continue
        indexed = _indexed(threshold, size)
        p = size - needed + 1
        counted = min(indexed, max(m.rare[s], p + m.more[s]))
        if hits <= counted - min(indexed, p):
            continue
        if mask == 0:
            mask = _hashed(values, start, n, probe.slots, table_words(m.key))
            _sign(values, start, n, last, probe.odd)
        if signature_distance(pointer(probe.odd), s, last, _ODD_WORDS) > size + n - 2 * needed:
            continue
        both = _overlap(s, values, start, mask, size - needed, m, probe.slots)
        similarity = _quotient(both, size + n - both)
        if similarity >= threshold:
            probe.matches[s] += 1
            pair = probe.counts[0]
            probe.pair_places[pair], probe.pair_items[pair], probe.similarities[pair] = s, item, similarity
            probe.counts[0] += 1


_INDEX = tuple_of(SampleIndex)
_PROBE = tuple_of(Probe)
_VALUES = array_of(np.uint64, readonly=True)
_OFFSETS = array_of(np.int64, readonly=True)


@kernel(void(int64, _VALUES, _OFFSETS, float64, int64, _INDEX))
def index_items(items, values, offsets, threshold, most, m):
    """Build the index of `items` sampled items anew in empty memory, from their elements.

    A full item, one with more than `most` matches, is not in it.
    """
    for s in range(items):
        _count(values, offsets[s], offsets[s + 1] - offsets[s], m.frequency)
    for s in range(items):
        _order(values, offsets[s], offsets[s + 1] - offsets[s], s, m)
        if m.matches[s] <= most:
            _enter(s, threshold, m)


@kernel(
    int64(
        *(int64, int64, _VALUES, _OFFSETS, _VALUES, float64, uint64, uint64),
        *(int64, _INDEX),
    )
)
def enter_rows(first, row, values, offsets, groups, threshold, seed, limit, largest, m):
    """Put the items from `row` on whose rank is not above the limit into the sample.

    Returns the row to go on with: earlier than the end if the sample exceeds `largest` items, or room must be made.
    """
    state = mix(seed ^ C1)
    going = True
    while going and row < len(offsets) - 1:
        start, n = offsets[row], offsets[row + 1] - offsets[row]
        item, items = first + row, m.counts[ITEMS]
        going = (
            items <= largest
            and items < len(m.items)
            and m.offsets[items] + n <= len(m.values)
            and m.counts[BROKEN] == 0
        )
        if going and n > 0:
            m.counts[SEEN] += 1
            rank = rank_of(item, state)
            if rank <= limit:
                m.items[items], m.ranks[items], m.groups[items], m.matches[items] = item, rank, groups[row], 0
                m.counts[ITEMS] += 1
                _count(values, start, n, m.frequency)
                _order(values, start, n, items, m)
                _enter(items, threshold, m)
        if going:
            m.counts[EMPTY] += np.int64(n == 0)
            row += 1
    return row


@kernel(
    int64(
        *(int64, int64, _VALUES, _OFFSETS, _VALUES, float64, int64, int64, _INDEX),
        _PROBE,
    )
)
def probe_rows(first, row, values, offsets, groups, threshold, probe_from, most, m, probe):
    """Compare the items from `row` on with those of the sample that came before them.

    Returns the row to go on with: earlier than the end if there is no more room for pairs. Of a sampled item that has
    more than `most` matches no others are noted.
    """
    row = max(row, probe_from - first)
    going = True
    while going and row < len(offsets) - 1:
        start, n = offsets[row], offsets[row + 1] - offsets[row]
        going = probe.counts[0] + m.counts[ITEMS] <= len(probe.pair_items)
        if going:
            if n > 0:
                _compare(first + row, groups[row], values, start, n, threshold, most, m, probe)
            row += 1
    return row


@kernel(void(_OFFSETS, float64, _INDEX))
def leave_items(places, threshold, m):
    """Take the items in these places out of the index; they stay in the sample."""
    for place in places:
        _leave(place, threshold, m)


@kernel(void(_OFFSETS, int64, array_of(np.int64)), brief=True)
def measure_rows(offsets, begin, extent):
    """extent = the most elements of any set, and how many sets from row `begin` on have elements."""
    extent[0] = extent[1] = 0
    for row in range(len(offsets) - 1):
        size = offsets[row + 1] - offsets[row]
        extent[0] = max(extent[0], size)
        extent[1] += np.int64(size > 0 and row >= begin)


def extent_of(offsets: I64Array, begin: int = 0) -> tuple[int, int]:
    """The most elements of any set, and how many sets from row `begin` on have elements."""
    extent = np.empty(2, np.int64)
    measure_rows(offsets, begin, extent)
    return int(extent[0]), int(extent[1])


def indexed_elements(threshold: float, sizes: I64Array) -> I64Array:
    """How many elements of sets of these sizes are indexed, or one more."""
    needed: I64Array = np.ceil(threshold * _ROOM * sizes).astype(np.int64)
    return sizes + 1 - needed


def empty_index(places: int, values: int, keys: int, entries: int, longest: int) -> SampleIndex:
    """Room for so many sampled items, elements of them, lists, entries in lists, and for items of so many elements."""
    index = SampleIndex(
        counts=np.zeros(7, np.int64),
        items=np.empty(places, np.int64),
        ranks=np.empty(places, np.uint64),
        groups=np.empty(places, np.uint64),
        matches=np.empty(places, np.int64),
        rare=np.empty(places, np.int64),
        more=np.empty(places, np.int64),
        offsets=np.zeros(places + 1, np.int64),
        values=np.empty(values, np.uint64),
        frequency=np.zeros(_power(max(values, 1 << 12)), np.uint16),
        filter=np.zeros(_power(keys // 4), np.uint64),
        table=np.zeros(2 * keys, np.int64),
        entries=np.zeros(entries, np.int64),
        buckets=np.empty(16 * _CLASSES, np.int64),
        slots=_slots(longest),
        odd=np.empty(_ODD_WORDS * places, np.uint64),
        key=TABLE_KEY.copy(),
    )
    index.counts[[_ENTRIES, _LONGEST]] = 1
    return index


def _slots(longest: int) -> NDArray[np.int32]:
    """What an item of `longest` elements is worked on in."""
    return np.empty(_power(3 * longest + 16), np.int32)


def _power(least: int) -> int:
    """The power of two that is not below `least`."""
    return 1 << (least - 1).bit_length()
