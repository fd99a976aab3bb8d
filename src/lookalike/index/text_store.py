"""One text, from what was sketched of it into the log and the table of recent items, in one call.

`LogStore.add` does the same for any number of items of any kind. For one text the arrays that it hands from one step to
the next took longer than the steps themselves. Each step is the function that is called there, and what is written is
the same, byte for byte.
"""

from __future__ import annotations

import numpy as np

from lookalike.index.index_items import INTEGER_SALT
from lookalike.index.lookup import ALL, TAKEN, look_in_segment, look_in_table
from lookalike.index.packed_sets import pack_row, packed_size
from lookalike.index.recent_table import COUNT, hang_item, prefetch_heads
from lookalike.index.records import begin_record, end_record
from lookalike.index.segments import ODD_WORDS
from lookalike.index.shared_state import ITEMS
from lookalike.index.text_sketch import finish_row
from lookalike.kernels.jit import kernel, poke
from lookalike.kernels.kinds import array_of, int64
from lookalike.sketch.codes import code_row
from lookalike.spec import C1, hash_bytes, span_key

__all__ = ["FULL", "MAYBE_THERE", "STORED", "TABLE_FULL", "store_text"]

# What became of a text: it is stored; and the table has no room after it; something has its id, or one that looks like
# it; or there is no room for it.
STORED, TABLE_FULL, MAYBE_THERE, FULL = 0, 1, 2, 3
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_WORDS, _NUMBERS = array_of(np.uint64), array_of(np.int64)


@kernel(
    int64(
        *(array_of(np.uint8, readonly=True), int64, array_of(np.uint8, readonly=True), int64, int64),
        *(array_of(np.uint64, readonly=True), array_of(np.uint32, 2, readonly=True), _NUMBERS, _WORDS, _WORDS),
        *(_WORDS, _NUMBERS, array_of(np.uint64, 2), array_of(np.uint64, 2), _WORDS, _NUMBERS, _WORDS, _NUMBERS),
        *(array_of(np.int64, 2, readonly=True), array_of(np.int64, 2, readonly=True), array_of(np.uint8), _NUMBERS),
        *(int64, array_of(np.uint64, 2), _WORDS, array_of(np.uint64, 2), array_of(np.uint32, 2)),
        *(array_of(np.uint32, 2), _WORDS, _WORDS),
    )
)
def store_text(
    id, integer, payload, moment, finished, key, sketch, ends, values, spare, elements, counts, signature, keys, taken,
    slots, places, signatures, segments, recent, volume, state, number, table_keys, table_places, table_signatures,
    heads, following, table_head, shared,
):  # fmt: skip
    """Store a text as the next item of the table: STORED or TABLE_FULL; if MAYBE_THERE or FULL, nothing is stored.

    Its elements are values[: ends[1]]; they are sorted, cut and signed here unless that is `finished`, and then each is
    there once. The last of its keys becomes that of its id. Others see the item when this returns.
    """
    count = np.int64(table_head[COUNT])
    if count == len(table_places):
        return FULL
    bands = keys.shape[1] - 1
    salt = INTEGER_SALT if integer else _ZERO
    keys[0, bands] = hash_bytes(id, 0, len(id), C1, span_key(key)) ^ salt
    prefetch_heads(keys, heads)
    there, looked, missed = np.int64(0), np.int64(0), np.int64(0)
    for which in range(len(recent)):
        found = (taken, slots, places, signatures, np.int64(0), there, looked, missed)
        there, looked, missed = look_in_table(keys, 0, bands, bands + 1, recent, which, TAKEN, found)
    for segment in range(len(segments)):
        found = (taken, slots, places, signatures, np.int64(0), there, looked, missed, np.int64(0))
        in_segment = look_in_segment(keys, 0, bands, bands + 1, segments, segment, 0, ALL, TAKEN, found)
        there, looked, missed, _ = in_segment
    if there > 0:
        for i in range(there):
            taken[slots[i]] = _ZERO
        return MAYBE_THERE
    if not finished:
        ends[1] = finish_row(values, ends[1], spare, counts, elements, signature)
    n = ends[1]
    size = packed_size(n)
    to = begin_record(volume, state, moment, n, integer, id, 0, len(id), payload, 0, len(payload), size)
    if to < 0:
        return FULL
    # Right to where it stays; what is padded is written over first.
    for i in range(8):
        poke(volume, to + ((size + 7) & -8) - 8 + i, 0)
    pack_row(elements, 0, n, volume, to)
    place = end_record(volume, state, number, key, n)
    code_row(sketch, 0, signature, 0, ODD_WORDS)
    for band in range(bands + 1):
        table_keys[count, band] = keys[0, band]
    for word in range(signature.shape[1]):
        table_signatures[count, word] = signature[0, word]
    table_places[count] = place
    hang_item(table_keys, count, heads, following)
    table_head[COUNT] = np.uint64(count + 1)
    shared[ITEMS] += _ONE
    return TABLE_FULL if count + 1 == len(table_places) else STORED
