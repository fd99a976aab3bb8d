"""Records: what is stored of an item, one after another in volumes of the log.

    bytes 0 to 1    the state: "LL" for an item that is there, "gg" for one that was removed
    2 to 3          the bytes of the id, or 65,535 for an integer, which takes eight
    4 to 7          a checksum of all but the state
    8 to 11         the bytes of the record, a multiple of 8
    12 to 15        the bytes of the payload
    16 to 19        the size of the row: how many elements, or words
    20 to 23        up to where the volume was known to be on the disk when this was written, in units of 8 bytes
    24 to 31        when it was written, in milliseconds since 1970
    32 on           id, payload and row, each padded to a multiple of 8

The log is both the store of the rows and what a crash leaves: a record is there if its checksum is right, which knows
the place as well. Whoever returns something of a record looks at the checksum first. To remove an item is to write two
bytes over its state, which no crash can leave half done; and every reader that has the volume mapped sees it at once.

After a power failure any of the pages that were not synced may be missing, the earlier ones too. So a record that is
not whole ends the log, and was never acknowledged, unless a whole one after it says that it had been on the disk.
"""

from __future__ import annotations

import numpy as np

from lookalike.index.item_places import place_of, spot_of, volume_of
from lookalike.kernels.addresses import u16_at, u32_at, u64_at
from lookalike.kernels.jit import device, fold, kernel, peek, poke
from lookalike.kernels.kinds import array_of, int64
from lookalike.spec import GOLDEN, hash_bytes, span_key

__all__ = [
    "GONE",
    "ID_LENGTH",
    "INTEGER_ID",
    "LIVE",
    "PAYLOAD_LENGTH",
    "RECORD",
    "ROW_SIZE",
    "SPARE",
    "SYNCED",
    "TIME",
    "append_records",
    "begin_record",
    "check_records",
    "end_record",
    "row_of",
    "stored_record",
    "take_in_records",
]

LIVE, GONE = 0x4C4C, 0x6767
RECORD = 32
ID_LENGTH, CHECKSUM, LENGTH, PAYLOAD_LENGTH, ROW_SIZE, SYNCED, TIME = 2, 4, 8, 12, 16, 20, 24
INTEGER_ID = 0xFFFF
SPARE = 64
# In the place of a place.
NO_ROOM = np.uint64(2**64 - 1)
_HALF = np.uint64(0xFFFFFFFF)
_MIDDLE, _HIGH = np.uint64(16), np.uint64(48)


@device
def _number(data, at, size):
    """The number of so many bytes at a place."""
    value = np.uint64(0)
    for i in range(size):
        value |= np.uint64(peek(data, at + i)) << np.uint64(8 * i)
    return np.int64(value)


@device
def _put_number(data, at, size, value):
    for i in range(size):
        poke(data, at + i, (np.uint64(value) >> np.uint64(8 * i)) & np.uint64(255))


@device
def _put_bytes(data, at, source, begin, end):
    """Copy some bytes and pad them; where the next ones go."""
    for i in range(end - begin):
        poke(data, at + i, peek(source, begin + i))
    size = end - begin
    padded = (size + 7) & -8
    for i in range(size, padded):
        poke(data, at + i, 0)
    return at + padded


@device
def _salt(volume, at, name):
    """What a checksum begins with: where the record is, and how long its id."""
    return (np.uint64(volume) << _HIGH) ^ (np.uint64(at) << _MIDDLE) ^ np.uint64(name + 1)


@device
def _checksum(data, at, length, volume, key):
    """Of a record: all after the checksum, the length of the id, and its place."""
    salt = _salt(volume, at, _number(data, at + ID_LENGTH, 2)) * GOLDEN
    return np.int64(hash_bytes(data, at + LENGTH, length - LENGTH, salt, span_key(key)) & _HALF)


@device
def _checksum_at(record, at, length, volume, key):
    """The same, by the address of the record."""
    factors = span_key(key)
    size = length - LENGTH
    h = (np.uint64(size + 1) * factors[0]) ^ (_salt(volume, at, np.int64(u16_at(record + ID_LENGTH))) * GOLDEN)
    for i in range(LENGTH, length, 8):
        h = fold(h ^ u64_at(record + i), factors[1])
    return np.int64(fold(h, factors[2]) & _HALF)


@device
def stored_record(volumes, place, checked, key):
    """Where a record is in memory; 0 if its item was removed or its volume is not known here, -1 if it is damaged.

    volumes[v] are the addresses at which volume v begins and ends.
    """
    volume, at = volume_of(place), spot_of(place)
    if volume >= len(volumes) or volumes[volume, 0] == 0:
        return np.int64(0)
    record, end = volumes[volume, 0] + at, volumes[volume, 1]
    if record + RECORD + 8 > end:
        return np.int64(-1)
    state = np.int64(u16_at(record))
    if state == GONE:
        return np.int64(0)
    if state != LIVE:
        return np.int64(-1)
    if checked:
        length = np.int64(u32_at(record + LENGTH))
        if length & 7 or length < RECORD or record + length + 8 > end:
            return np.int64(-1)
        if np.int64(u32_at(record + CHECKSUM)) != _checksum_at(record, at, length, volume, key):
            return np.int64(-1)
    return record


@device
def row_of(record):
    """Where the row of a record begins in memory."""
    name = np.int64(u16_at(record + ID_LENGTH))
    # An integer takes eight bytes; names are padded to that, and so are payloads.
    name = 8 if name == INTEGER_ID else (name + 7) & -8
    return record + RECORD + name + ((np.int64(u32_at(record + PAYLOAD_LENGTH)) + 7) & -8)


@device
def begin_record(
    volume, state, moment, size, integer, ids, id_start, id_end, payloads, payload_start, payload_end, row
):  # fmt: skip
    """Write all of a record to the end of a volume but its row, of so many bytes, which goes to where this tells.

    -1 if there is no room. Nothing is there before `end_record`.
    """
    at = state[0]
    name, payload = id_end - id_start, payload_end - payload_start
    length = RECORD + ((name + 7) & -8) + ((payload + 7) & -8) + ((row + 7) & -8)
    if at + length + SPARE > len(volume):
        return np.int64(-1)
    _put_number(volume, at + ID_LENGTH, 2, INTEGER_ID if integer else name)
    _put_number(volume, at + LENGTH, 4, length)
    _put_number(volume, at + PAYLOAD_LENGTH, 4, payload)
    _put_number(volume, at + ROW_SIZE, 4, size)
    _put_number(volume, at + SYNCED, 4, state[1] >> 3)
    _put_number(volume, at + TIME, 8, moment)
    to = _put_bytes(volume, at + RECORD, ids, id_start, id_end)
    return _put_bytes(volume, to, payloads, payload_start, payload_end)


@device
def end_record(volume, state, number, key, size):
    """Have the record there that was begun, now that its row is written and padded with zeros; its place."""
    at = state[0]
    length = _number(volume, at + LENGTH, 4)
    _put_number(volume, at + CHECKSUM, 4, _checksum(volume, at, length, number, key))
    _put_number(volume, at, 2, LIVE)
    state[0] = at + length
    return place_of(number, at, size)


@device
def _append_record(
    volume, state, number, key, moment, size, integer, ids, id_start, id_end, payloads, payload_start, payload_end,
    rows, row_start, row_end,
):  # fmt: skip
    """Write one record to the end of a volume; its place, or NO_ROOM. See `append_records`."""
    to = begin_record(
        volume, state, moment, size, integer, ids, id_start, id_end, payloads, payload_start, payload_end,
        row_end - row_start,
    )  # fmt: skip
    if to < 0:
        return NO_ROOM
    _put_bytes(volume, to, rows, row_start, row_end)
    return end_record(volume, state, number, key, size)


_BYTES, _STARTS = array_of(np.uint8, readonly=True), array_of(np.int64, readonly=True)


@kernel(
    int64(
        *(array_of(np.uint8), array_of(np.int64), int64, int64, _STARTS, array_of(np.uint64, readonly=True)),
        *(_BYTES, _STARTS, _BYTES, _BYTES, _STARTS, _BYTES, _STARTS, _STARTS, array_of(np.uint64)),
    )
)
def append_records(
    volume, state, number, item, times, key, ids, id_starts, integers, payloads, payload_starts, rows, row_starts,
    sizes, places,
):  # fmt: skip
    """Write records of the items from `item` on into volume `number`, as long as there is room; the first not written.

    state[0] is where the volume ends, and up to state[1] it is known to be on the disk. integers[i] is 1 for an id
    that is one. SPARE bytes behind the end stay free: the head of a record that is not there may be looked at, and rows
    be read a little too far.
    """
    while item < len(sizes):
        place = _append_record(
            volume, state, number, key, times[item], sizes[item], integers[item], ids, id_starts[item],
            id_starts[item + 1], payloads, payload_starts[item], payload_starts[item + 1], rows, row_starts[item],
            row_starts[item + 1],
        )  # fmt: skip
        if place == NO_ROOM:
            break
        places[item] = place
        item += 1
    return item


@kernel(
    int64(
        *(_BYTES, array_of(np.int64), int64, int64, array_of(np.uint64, readonly=True)),
        *(array_of(np.uint64), array_of(np.int64)),
    )
)
def check_records(volume, state, number, checked, key, places, found):
    """Walk the records of volume `number` from state[0] on, until one is not whole.

    places[:n] are those that are there, n the result, and `state` is moved behind the last one that is whole; with
    `checked` their checksums are made again. found[0] counts those that were removed. Stops when `places` are full.
    """
    count = 0
    while count < len(places):
        at = state[0]
        if at + RECORD > len(volume):
            break
        kind, length = _number(volume, at, 2), _number(volume, at + LENGTH, 4)
        name, payload = _number(volume, at + ID_LENGTH, 2), _number(volume, at + PAYLOAD_LENGTH, 4)
        name = 8 if name == INTEGER_ID else name
        if kind != LIVE and kind != GONE:
            break
        if length & 7 or length < RECORD + ((name + 7) & -8) + ((payload + 7) & -8) or at + length + 8 > len(volume):
            break
        if checked and _number(volume, at + CHECKSUM, 4) != _checksum(volume, at, length, number, key):
            break
        if kind == LIVE:
            places[count] = place_of(number, at, _number(volume, at + ROW_SIZE, 4))
            count += 1
        else:
            found[0] += 1
        state[0] = at + length
    return count


@kernel(
    int64(array_of(np.uint8), _STARTS, int64, array_of(np.uint64, readonly=True), array_of(np.uint64)),
)
def take_in_records(data, starts, number, key, places):
    """Make records that came from elsewhere those of volume `number`; returns how many, or -1 - i if i is damaged.

    Record i is data[starts[i] : starts[i + 1]] and has the checksum of one that begins volume 0, which is looked at
    first. It gets that of its place here, places[i].
    """
    for i in range(len(starts) - 1):
        at, length = starts[i], starts[i + 1] - starts[i]
        if length < RECORD or _number(data, at, 2) != LIVE or _number(data, at + LENGTH, 4) != length or length & 7:
            return -1 - i
        name, payload = _number(data, at + ID_LENGTH, 2), _number(data, at + PAYLOAD_LENGTH, 4)
        name = 8 if name == INTEGER_ID else name
        if length < RECORD + ((name + 7) & -8) + ((payload + 7) & -8):
            return -1 - i
        salt = _salt(0, 0, _number(data, at + ID_LENGTH, 2)) * GOLDEN
        found = np.int64(hash_bytes(data, at + LENGTH, length - LENGTH, salt, span_key(key)) & _HALF)
        if _number(data, at + CHECKSUM, 4) != found:
            return -1 - i
        _put_number(data, at + CHECKSUM, 4, _checksum(data, at, length, number, key))
        places[i] = place_of(number, at, _number(data, at + ROW_SIZE, 4))
    return len(starts) - 1
