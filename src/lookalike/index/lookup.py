"""From the keys of a query to its candidates: every band of every segment and of what is recent, in one call.

Waiting for memory is most of what there is to a look-up: two cache misses for each band and segment, 40 for 20 bands of
one segment. So all directories are asked for first, then all entries, and only then is anything read.

Items that share several bands come up as often; each is taken once, by a small hash table of what was taken. When a
page template fills buckets with many thousands of items, no more than `most` entries are looked at, and those that were
not are counted. Of segments small buckets come before large ones, where the template is: what a page shares with its
own copies beside it is in the small ones.
"""

from __future__ import annotations

import numpy as np

from lookalike.index.item_places import SIZE_KNOWN, size_in, spot_of, volume_of
from lookalike.index.packed_sets import unpack_at
from lookalike.index.records import ROW_SIZE, row_of, stored_record
from lookalike.index.segments import ENTRY, KEY_BITS
from lookalike.kernels.addresses import prefetch_at, u32_at, u64_at
from lookalike.kernels.jit import device, kernel, peek, poke
from lookalike.kernels.kinds import array_of, float64, int64
from lookalike.kernels.simd import pop_count, prefetch
from lookalike.spec import GOLDEN
from lookalike.verify.containment import containment
from lookalike.verify.jaccard import jaccard

__all__ = ["ALL", "SLOTS", "TAKEN", "find_places", "find_rows", "look_in_segment", "look_in_table", "score_sets"]

# Different candidates of one query that are taken at the most, and the slots of the hash table for them.
TAKEN = 1 << 16
SLOTS = 2 * TAKEN
# Entries of one bucket that are looked at together, and matches from which on the whole hash table is cleared.
TOGETHER, _CLEARED = 32, SLOTS // 16
# Entries from which on a bucket is a large one; and more than any has.
LARGE, ALL = 1 << 10, 1 << 62
# Signatures that are asked for ahead, and lines of memory of a record: the rest comes by itself.
_AHEAD, _LINES = 32, 8
_LOAD = 3
_CUT = np.uint64(64 - KEY_BITS)
_LONG, _ZERO, _ONE = np.uint64(2**48 - 1), np.uint64(0), np.uint64(1)
_HASH = np.uint64(64 - 17)


@device
def _take(place, signature, table, slots, places, signatures, begun, count):
    """Note a candidate that was not noted yet; how many there are now, and 1 if there was no room for it."""
    slot = np.int64((place * GOLDEN) >> _HASH)
    while True:
        there = peek(table, slot)
        if there == _ZERO:
            break
        if there == place + _ONE:
            return count, 0
        slot = (slot + 1) & (SLOTS - 1)
    if count - begun >= TAKEN:
        return count, 1
    poke(table, slot, place + _ONE)
    poke(slots, count - begun, slot)
    poke(places, count, place)
    poke(signatures, count, signature)
    return count + 1, 0


@device
def look_in_segment(keys, query, first, last, fields, segment, least, below, most, state):
    """Walk the buckets of one segment that have from `least` to less than `below` entries.

    `state` are the arrays and counters of `find_places`; the last counter is of larger buckets, which are passed over.
    """
    table, slots, places, signatures, begun, count, looked, left_out, larger = state
    items, bits = fields[segment, 0], fields[segment, 1]
    if items == 0:
        return count, looked, left_out, larger
    left, room = np.uint64(KEY_BITS - bits), np.uint64(bits + _LOAD)
    mask, item_mask = (_ONE << left) - _ONE, (_ONE << room) - _ONE
    directory, entries = fields[segment, 2], fields[segment, 3]
    stored, signed, width = fields[segment, 4], fields[segment, 5], fields[segment, 6]
    stride, length = 4 * ((1 << bits) + 1), ENTRY * items
    for band in range(first, last):
        prefetch_at(directory + band * stride + 4 * np.int64((keys[query, band] >> _CUT) >> left))
    for band in range(first, last):
        at = directory + band * stride + 4 * np.int64((keys[query, band] >> _CUT) >> left)
        prefetch_at(entries + band * length + ENTRY * np.int64(u32_at(at)))
    for band in range(first, last):
        key = keys[query, band] >> _CUT
        at = directory + band * stride + 4 * np.int64(key >> left)
        # A damaged directory leads nowhere else.
        begin, end = min(np.int64(u32_at(at)), items), min(np.int64(u32_at(at + 4)), items)
        wanted = key & mask
        if end < begin:
            end = begin
        if end - begin < least:
            continue
        if end - begin >= below:
            larger += 1
            continue
        if looked + end - begin > most:
            allowed = max(np.int64(0), most - looked)
            left_out += end - begin - allowed
            end = begin + allowed
        looked += end - begin
        base, fast = entries + band * length, begin
        # Of a large bucket some entries are looked at together, so that memory is waited for once for all of them.
        while least > 0 and end - fast >= TOGETHER and count - begun + TOGETHER <= TAKEN:
            for i in range(fast, fast + TOGETHER):
                prefetch_at(stored + 8 * np.int64(u64_at(base + ENTRY * i) & item_mask))
            waiting = count
            for i in range(fast, fast + TOGETHER):
                entry = u64_at(base + ENTRY * i) & _LONG
                item = np.int64(entry & item_mask)
                if entry >> room == wanted and item < items:
                    place = u64_at(stored + 8 * item)
                    poke(places, waiting, place)
                    poke(signatures, waiting, signed + width * item if width != 0 else 0)
                    prefetch(table, np.int64((place * GOLDEN) >> _HASH))
                    waiting += 1
            for i in range(count, waiting):
                place, signature = peek(places, i), peek(signatures, i)
                count, none = _take(place, signature, table, slots, places, signatures, begun, count)
            fast += TOGETHER
        for i in range(fast, end):
            entry = u64_at(base + ENTRY * i) & _LONG
            if entry >> room == wanted:
                item = np.int64(entry & item_mask)
                if item < items:
                    signature = signed + width * item if width != 0 else 0
                    place = u64_at(stored + 8 * item)
                    count, none = _take(place, signature, table, slots, places, signatures, begun, count)
                    left_out += none
    return count, looked, left_out, larger


@device
def look_in_table(keys, query, first, last, recent, which, most, state):
    """The same for a table of recent items."""
    table, slots, places, signatures, begun, count, looked, left_out = state
    # Read here and not by the caller: of two threads that tell one array of it, one would be told too little.
    seen = np.int64(u64_at(recent[which, 0]))
    bits, bands = recent[which, 1], recent[which, 2]
    if seen == 0:
        return count, looked, left_out
    heads, following, stored_keys = recent[which, 3], recent[which, 4], recent[which, 5]
    stored, signed, width = recent[which, 6], recent[which, 7], recent[which, 8]
    shift = np.uint64(63 - bits)
    for band in range(first, last):
        head = np.int64((keys[query, band] >> _ONE) >> shift)
        prefetch_at(heads + 4 * ((band << bits) + head))
    for band in range(first, last):
        key = keys[query, band]
        head = np.int64((key >> _ONE) >> shift)
        hanging = np.int64(u32_at(heads + 4 * ((band << bits) + head)))
        while hanging > 0:
            if looked >= most:
                left_out += 1
                break
            looked += 1
            item = hanging - 1
            if item < seen and u64_at(stored_keys + 8 * (item * bands + band)) == key:
                signature = signed + width * item if width != 0 else 0
                place = u64_at(stored + 8 * item)
                count, none = _take(place, signature, table, slots, places, signatures, begun, count)
                left_out += none
            hanging = np.int64(u32_at(following + 4 * (item * bands + band)))
    return count, looked, left_out


@kernel(
    int64(
        *(array_of(np.uint64, 2, readonly=True), int64, int64, int64, array_of(np.int64, 2, readonly=True)),
        *(array_of(np.int64, 2, readonly=True), int64, array_of(np.uint64), array_of(np.int64)),
        *(array_of(np.uint64), array_of(np.int64), array_of(np.int64), array_of(np.int64)),
    )
)
def find_places(
    keys, query, first, last, segments, recent, most, table, slots, places, signatures, ends, left_out
):  # fmt: skip
    """The candidates of the queries from `query` on, as long as there is room; returns the first that was not done.

    A candidate shares a key in one of the bands first … last - 1. places[ends[q] : ends[q + 1]] are those of query q,
    and signatures the addresses of their signatures, or 0; left_out[q] entries were not looked at, since no more than
    `most` are. `table` has SLOTS zeros, `slots` has room for TAKEN.
    """
    while query < len(keys) and ends[query] + TAKEN <= len(places):
        begun = ends[query]
        count, looked, missed = begun, np.int64(0), np.int64(0)
        for which in range(len(recent)):
            state = (table, slots, places, signatures, begun, count, looked, missed)
            count, looked, missed = look_in_table(keys, query, first, last, recent, which, most, state)
        larger = np.int64(0)
        for segment in range(len(segments)):
            state = (table, slots, places, signatures, begun, count, looked, missed, larger)
            found = look_in_segment(keys, query, first, last, segments, segment, 0, LARGE, most, state)
            count, looked, missed, larger = found
        for segment in range(len(segments) if larger > 0 else 0):
            state = (table, slots, places, signatures, begun, count, looked, missed, larger)
            found = look_in_segment(keys, query, first, last, segments, segment, LARGE, ALL, most, state)
            count, looked, missed, larger = found
        if count - begun < _CLEARED:
            for i in range(count - begun):
                table[slots[i]] = _ZERO
        else:
            table[:] = _ZERO
        left_out[query] = missed
        ends[query + 1] = count
        query += 1
    return query


@device
def _most_apart(size, other, threshold, inside):
    """How many elements two sets of these sizes may have apart, if they match; less than 0 if they cannot."""
    least = min(size, other)
    if inside:
        return size + other - 2 * (np.int64(threshold * least) - 1)
    if least < threshold * max(size, other):
        return np.int64(-1)
    return size + other - 2 * (np.int64(threshold / (1.0 + threshold) * (size + other)) - 1)


@device
def _apart(signature, signatures, query):
    """In how many bits the signature at an address differs from that of a query."""
    differing = np.int64(0)
    for i in range(4):
        differing += pop_count(u64_at(signature + 8 * i) ^ peek(signatures, 4 * query + i))
    return differing


@kernel(
    int64(
        *(int64, array_of(np.uint64, readonly=True), array_of(np.int64, readonly=True)),
        *(array_of(np.int64, readonly=True), array_of(np.int64, 2, readonly=True)),
        *(array_of(np.uint64, readonly=True), array_of(np.int64, readonly=True)),
        *(array_of(np.uint64, readonly=True), array_of(np.uint64, readonly=True), float64, int64, int64, int64),
        array_of(np.uint64),
        *(array_of(np.int64), array_of(np.int64), array_of(np.int64), array_of(np.float64), array_of(np.int64)),
        array_of(np.int64),
    )
)
def score_sets(
    query, places, signatures, ends, volumes, key, offsets, values, signed, threshold, inside, most, until, scratch,
    chosen, apart, hits, scores, hit_ends, compared,
):  # fmt: skip
    """Compare the candidates of queries, from `query` on, with the sets of these; returns the first query not done.

    Query q has the sorted, cut elements values[offsets[q] : offsets[q + 1]] and four words of `signed`, its odd
    signature. Its matches are hits[hit_ends[q] : hit_ends[q + 1]], places in `places`, with their scores. Candidates
    that their size or signature rules out are not compared. Of the others no more than `most` are, those with the most
    similar signatures; and none after the `until`-th match, if that is not 0. If the record of candidate i is damaged,
    the result is -1 - i. compared[2q] tells how many were
    compared, compared[2q + 1] how many were left out. `scratch` must hold the largest set: otherwise it stops in front
    of the query that needs more.
    """
    while query < len(offsets) - 1:
        begin, end = ends[query], ends[query + 1]
        size = offsets[query + 1] - offsets[query]
        # What may match is chosen first; `apart` has how much the signatures differ.
        count = begin
        for i in range(begin, end):
            if i + _AHEAD < end and signatures[i + _AHEAD] != 0:
                prefetch_at(signatures[i + _AHEAD])
            place = places[i]
            other = size_in(place)
            differing = _apart(signatures[i], signed, query) if signatures[i] != 0 else np.int64(0)
            if other < SIZE_KNOWN and differing > _most_apart(size, other, threshold, inside):
                continue
            chosen[count] = i
            apart[count] = differing
            count += 1
        kept, left_out = count, np.int64(0)
        if count - begin > most:
            # The smallest number of bits up to which there are enough.
            having = np.zeros(257, np.int64)
            for i in range(begin, count):
                having[apart[i]] += 1
            limit, below = np.int64(0), np.int64(0)
            while below + having[limit] < most:
                below += having[limit]
                limit += 1
            kept = begin
            for i in range(begin, count):
                if kept - begin < most and apart[i] <= limit:
                    chosen[kept] = chosen[i]
                    kept += 1
            left_out = count - kept
        hit = hit_ends[query]
        done = np.int64(0)
        for i in range(begin, kept):
            if i + 3 < kept and volume_of(places[chosen[i + 3]]) < len(volumes):
                ahead = volumes[volume_of(places[chosen[i + 3]]), 0] + spot_of(places[chosen[i + 3]])
                for line in range(_LINES):
                    prefetch_at(ahead + 64 * line)
            record = stored_record(volumes, places[chosen[i]], 1, key)
            if record == 0:
                continue
            if record < 0:
                return -1 - chosen[i]
            n = np.int64(u32_at(record + ROW_SIZE))
            if n > len(scratch):
                return query
            unpack_at(row_of(record), n, scratch)
            done += 1
            if inside:
                score = containment(values, offsets[query], offsets[query + 1], scratch, np.int64(0), n, threshold)
            else:
                score = jaccard(values, offsets[query], offsets[query + 1], scratch, np.int64(0), n, threshold)
            if score >= threshold:
                hits[hit] = chosen[i]
                scores[hit] = score
                hit += 1
                if hit - hit_ends[query] == until:
                    break
        compared[2 * query] = done
        compared[2 * query + 1] = left_out
        hit_ends[query + 1] = hit
        query += 1
    return query


@kernel(
    int64(
        *(array_of(np.uint64, readonly=True), array_of(np.int64, 2, readonly=True), int64),
        *(array_of(np.uint64, readonly=True), array_of(np.int64), array_of(np.int64), array_of(np.int64)),
    )
)
def find_rows(places, volumes, checked, key, which, addresses, sizes):
    """Of the records at some places those that are there: which of them, where their rows begin, and how large.

    If the record at place i is damaged, the result is -1 - i; with `checked` checksums are looked at.
    """
    count = 0
    for i in range(len(places)):
        record = stored_record(volumes, places[i], checked, key)
        if record < 0:
            return -1 - i
        if record > 0:
            which[count] = i
            addresses[count] = row_of(record)
            sizes[count] = np.int64(u32_at(record + ROW_SIZE))
            count += 1
    return count
