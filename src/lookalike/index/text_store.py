"""One text, from what was sketched of it into the log and the table of recent items, in one call.

`LogStore.add` does the same for any number of items of any kind. For one text the arrays that it hands from one step to
the next took longer than the steps themselves. Each step is the function that is called there, and what is written is
the same, byte for byte.
"""

from __future__ import annotations

import numpy as np

from lookalike.index.index_items import INTEGER_SALT
from lookalike.index.lookup import TAKEN, look_in_segment, look_in_table
from lookalike.index.packed_sets import ELEMENT_BITS, pack_row, packed_size
from lookalike.index.recent_table import hang_item
from lookalike.index.records import NO_ROOM, append_record
from lookalike.index.segments import ODD_WORDS
from lookalike.kernels.jit import kernel, peek, poke
from lookalike.kernels.kinds import array_of, int64
from lookalike.kernels.signatures import turn_over
from lookalike.sketch.codes import code_row
from lookalike.spec import C1, hash_bytes, span_key
from lookalike.verify.jaccard import sort_row

__all__ = ["FULL", "MAYBE_THERE", "STORED", "store_text"]

# What became of a text: it is stored; something has its id, or one that looks like it; or there is no room for it.
STORED, MAYBE_THERE, FULL = 0, 1, 2
_CUT = np.uint64(64 - ELEMENT_BITS)
_ZERO = np.uint64(0)
_WORDS, _NUMBERS = array_of(np.uint64), array_of(np.int64)


@kernel(
    int64(
        *(array_of(np.uint8, readonly=True), int64, array_of(np.uint8, readonly=True), int64),
        *(array_of(np.uint64, readonly=True), int64, array_of(np.uint32, 2, readonly=True)),
        *(_NUMBERS, _WORDS, _WORDS, _WORDS, _NUMBERS, array_of(np.uint8), array_of(np.uint64, 2)),
        *(array_of(np.uint64, 2), array_of(np.int64, 2, readonly=True), array_of(np.int64, 2, readonly=True)),
        *(_WORDS, _NUMBERS, _WORDS, _NUMBERS, array_of(np.uint8), _NUMBERS, int64, array_of(np.uint64, 2)),
        *(_WORDS, array_of(np.uint64, 2), array_of(np.uint32, 2), array_of(np.uint32, 2), int64),
    )
)
def store_text(
    id, integer, payload, moment, key, finished, sketch, ends, values, elements, spare, counts, row, signature, keys,
    segments, recent, taken, slots, places, signatures, volume, state, number, table_keys, table_places,
    table_signatures, heads, following, count,
):  # fmt: skip
    """Store a text as item `count` of the table: STORED, MAYBE_THERE or FULL; in the last two cases nothing is stored.

    Its elements are values[: ends[1]]; they are sorted, cut and signed here unless that is `finished`. The last of its
    keys becomes that of its id. The caller sees to it that the table has room, and tells others of the item.
    """
    bands = keys.shape[1] - 1
    salt = INTEGER_SALT if integer else _ZERO
    keys[0, bands] = hash_bytes(id, 0, len(id), C1, span_key(key)) ^ salt
    there, looked, missed = np.int64(0), np.int64(0), np.int64(0)
    for which in range(len(recent)):
        found = (taken, slots, places, signatures, np.int64(0), there, looked, missed)
        there, looked, missed = look_in_table(keys, 0, bands, bands + 1, recent, which, TAKEN, found)
    for segment in range(len(segments)):
        found = (taken, slots, places, signatures, np.int64(0), there, looked, missed)
        there, looked, missed = look_in_segment(keys, 0, bands, bands + 1, segments, segment, TAKEN, found)
    if there > 0:
        for i in range(there):
            taken[slots[i]] = _ZERO
        return MAYBE_THERE
    n = ends[1]
    if not finished:
        for word in range(ODD_WORDS):
            signature[0, word] = _ZERO
        turn_over(values, 0, n, signature[0], 0, ODD_WORDS)
        sort_row(values, 0, n, spare, counts)
        for i in range(n):
            poke(elements, i, peek(values, i) >> _CUT)
    pack_row(elements, 0, n, row, 0)
    place = append_record(
        volume, state, number, key, moment, n, integer, id, 0, len(id), payload, 0, len(payload), row, 0, packed_size(n)
    )  # fmt: skip
    if place == NO_ROOM:
        return FULL
    code_row(sketch, 0, signature, 0, ODD_WORDS)
    for band in range(bands + 1):
        table_keys[count, band] = keys[0, band]
    for word in range(signature.shape[1]):
        table_signatures[count, word] = signature[0, word]
    table_places[count] = place
    hang_item(table_keys, count, heads, following)
    return STORED
