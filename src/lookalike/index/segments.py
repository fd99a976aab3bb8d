"""Segments: the band keys of many items, sorted once, in arrays that are never changed and looked up where they lie.

Of each band there are 2^k buckets, by the first k bits of a key. A directory tells where each begins; its entries have
six bytes, in which stand as many of the following bits of the key as there is room for, and the item:

    k + 3 bits   the number of the item in the segment, of which there are at most 2^(k+3)
    45 - k bits  what follows in the key after the bits of the bucket

So a bucket has four to eight entries, which one or two cache lines hold, and every segment, however large, knows the
same 45 bits of each key. That is why segments can be merged without the items: buckets of a larger segment are cut by
bits that an entry of a smaller one has. Two different keys agree in 45 bits once in 3·10¹³, and then an item is
compared for nothing.

    directory  uint32 [bands, 2^k + 1]
    entries    6 bytes [bands, items]
    places     uint64 [items]       where each item is stored (`item_places.py`)
    signatures uint64 [items, w]    of sets four words that are odd (`kernels/signatures.py`); then four words that are
                                    a code (`sketch/codes.py`), of all items that have sketches
    vectors    uint64 [items, v]    vectors rounded to bytes (`verify/byte_rows.py`), where items are such; and some
                                    bytes that are nothing's

A directory takes half a byte to one byte for each entry, so 20 bands and the id take 140 bytes an item. Sorting by
open addressing instead doubled the time of a query: it has a cache miss for each step.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lookalike.errors import InputError
from lookalike.kernels.addresses import address_of, u64_at
from lookalike.kernels.jit import device, kernel
from lookalike.kernels.kinds import array_of, int64, void
from lookalike.types import I64Array, U8Array, U32Array, U64Array
from lookalike.verify.byte_rows import ROW_SPARE

__all__ = [
    "ENTRY",
    "KEY_BITS",
    "ODD_WORDS",
    "SEGMENT_FIELDS",
    "Segment",
    "bucket_bits",
    "build_segment",
    "merge_segments",
    "open_segment",
]

ENTRY = 6
KEY_BITS = 45
# The words of a signature that are odd, if there are any.
ODD_WORDS = 4
# Items that a bucket has at the most, on average, in bits.
_LOAD = 3
# What a kernel is told of a segment: items, k, the addresses of directory, entries, places and signatures, and the
# bytes of a signature.
SEGMENT_FIELDS = 7
_MAGIC = 0x3147_4553_4B4F_4F4C  # "LOOKSEG1"
_HEADER = 8  # words
_GONE = np.uint32(2**32 - 1)
_CUT = np.uint64(64 - KEY_BITS)
_SHORT, _LONG = np.uint64(0xFFFF), np.uint64(2**48 - 1)


def bucket_bits(items: int) -> int:
    """k, for so many items."""
    return max(0, (max(1, items) - 1).bit_length() - _LOAD)


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as it lies in memory: `data` is all of it, wherever that is."""

    data: U8Array
    items: int
    bands: int
    bits: int
    places: U64Array
    signatures: U64Array
    vectors: U64Array
    fields: I64Array

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes)

    def checksum(self) -> int:
        """Of all of it, as the manifest has it."""
        return zlib.crc32(self.data.data)


def _lengths(items: int, bands: int, bits: int, width: int, vector: int) -> list[int]:
    """The bytes of header, directory, entries, places, signatures and vectors; each begins at a multiple of 8."""
    parts = [
        8 * _HEADER,
        4 * bands * ((1 << bits) + 1),
        # Entries are read eight bytes at a time.
        ENTRY * bands * items + 2,
        8 * items,
        8 * width * items,
        8 * vector * items + (ROW_SPARE if vector else 0),
    ]
    return [(part + 7) // 8 * 8 for part in parts]


def segment_bytes(items: int, bands: int, width: int, vector: int = 0) -> int:
    """How large a segment is, with signatures and vectors of so many words."""
    return sum(_lengths(items, bands, bucket_bits(items), width, vector))


def open_segment(data: U8Array) -> Segment:
    """The segment that an array of bytes holds; what it says of itself has been checked against a checksum."""
    head = data[: 8 * _HEADER].view(np.uint64) if len(data) >= 8 * _HEADER else np.zeros(_HEADER, np.uint64)
    items, bands, bits, width, vector = (int(word) for word in head[1:6])
    lengths = _lengths(items, bands, bits, width, vector)
    if int(head[0]) != _MAGIC or bits != bucket_bits(items) or sum(lengths) != len(data):
        raise InputError("it is no segment, or not a whole one")
    ends = np.cumsum(lengths).tolist()
    places = data[ends[2] : ends[3]].view(np.uint64)
    signatures = data[ends[3] : ends[4]].view(np.uint64).reshape(items, width)
    vectors = data[ends[4] : ends[4] + 8 * vector * items].view(np.uint64).reshape(items, vector)
    base = address_of(data)
    fields = np.array([items, bits, *(base + end for end in ends[:4]), 8 * width], np.int64)
    return Segment(data, items, bands, bits, places, signatures, vectors, fields)


def _begin(data: U8Array, items: int, bands: int, width: int, vector: int) -> tuple[Segment, U32Array, U8Array]:
    """A segment whose header is written, with the directory and the entries that are to be filled."""
    bits = bucket_bits(items)
    lengths = _lengths(items, bands, bits, width, vector)
    data[: 8 * _HEADER].view(np.uint64)[:] = [_MAGIC, items, bands, bits, width, vector, 0, 0]
    (first, second, third) = np.cumsum(lengths).tolist()[:3]
    directory = data[first : first + 4 * bands * ((1 << bits) + 1)].view(np.uint32).reshape(bands, -1)
    return open_segment(data), directory, data[second:third]


@device
def _put(entries, at, value):
    """Write the six bytes of an entry."""
    for i in range(ENTRY):
        entries[at + i] = np.uint8((value >> np.uint64(8 * i)) & np.uint64(255))


@kernel(void(array_of(np.uint64, readonly=True), int64, array_of(np.uint32), array_of(np.uint8), int64))
def build_band(keys, bits, directory, entries, start):
    """Sort the keys of one band into buckets: directory[bucket] and the entries from byte `start` on.

    A counting sort: how many keys each bucket has, where it begins, then every key to the next free entry of its
    bucket. Filling moves each beginning to the end of its bucket, which is the beginning of the next one.
    """
    left = np.uint64(KEY_BITS - bits)
    room = np.uint64(bits + _LOAD)
    mask = (np.uint64(1) << left) - np.uint64(1)
    for i in range(len(directory)):
        directory[i] = 0
    for i in range(len(keys)):
        directory[np.int64((keys[i] >> _CUT) >> left) + 1] += np.uint32(1)
    for i in range(1, len(directory)):
        directory[i] += directory[i - 1]
    for i in range(len(keys)):
        key = keys[i] >> _CUT
        bucket = np.int64(key >> left)
        at = np.int64(directory[bucket])
        directory[bucket] = np.uint32(at + 1)
        _put(entries, start + ENTRY * at, ((key & mask) << room) | np.uint64(i))
    for i in range(len(directory) - 1, 0, -1):
        directory[i] = directory[i - 1]
    directory[0] = 0


@kernel(
    void(
        *(array_of(np.int64, 2, readonly=True), array_of(np.int64, readonly=True), array_of(np.uint32, readonly=True)),
        *(int64, int64, array_of(np.uint32), array_of(np.uint8), int64),
    )
)
def merge_band(segments, firsts, numbers, band, bits, directory, entries, start):
    """One band of several segments as one: as `build_band`, of entries instead of keys.

    numbers[firsts[s] + i] is the number of item i of segment s in the new one, or 2³² - 1 for one that is gone.
    """
    left = np.uint64(KEY_BITS - bits)
    room = np.uint64(bits + _LOAD)
    mask = (np.uint64(1) << left) - np.uint64(1)
    for i in range(len(directory)):
        directory[i] = 0
    for filling in range(2):
        for s in range(len(segments)):
            items, its_bits = segments[s, 0], segments[s, 1]
            its_left, its_room = np.uint64(KEY_BITS - its_bits), np.uint64(its_bits + _LOAD)
            its_item = (np.uint64(1) << its_room) - np.uint64(1)
            lists = segments[s, 2] + 4 * band * ((1 << its_bits) + 1)
            at = segments[s, 3] + ENTRY * band * items
            bucket = np.int64(0)
            end = np.int64(u64_at(lists + 4) & np.uint64(2**32 - 1)) if items > 0 else np.int64(0)
            for i in range(items):
                while i >= end:
                    bucket += 1
                    # Two numbers of the directory at once; the next one is in the lower half.
                    end = np.int64(u64_at(lists + 4 * (bucket + 1)) & np.uint64(2**32 - 1))
                entry = u64_at(at + ENTRY * i) & _LONG
                number = numbers[firsts[s] + np.int64(entry & its_item)]
                if number == _GONE:
                    continue
                key = (np.uint64(bucket) << its_left) | (entry >> its_room)
                to = np.int64(key >> left)
                if filling == 0:
                    directory[to + 1] += np.uint32(1)
                    continue
                place = np.int64(directory[to])
                directory[to] = np.uint32(place + 1)
                _put(entries, start + ENTRY * place, ((key & mask) << room) | np.uint64(number))
        if filling == 0:
            for i in range(1, len(directory)):
                directory[i] += directory[i - 1]
    for i in range(len(directory) - 1, 0, -1):
        directory[i] = directory[i - 1]
    directory[0] = 0


def build_segment(
    data: U8Array, keys: U64Array, places: U64Array, signatures: U64Array, vectors: U64Array | None = None
) -> Segment:
    """Make a segment of `segment_bytes` in `data`: keys are (bands x items)."""
    bands, items = keys.shape
    vectors = np.empty((items, 0), np.uint64) if vectors is None else vectors
    segment, directory, entries = _begin(data, items, bands, signatures.shape[1], vectors.shape[1])
    for band in range(bands):
        build_band(np.ascontiguousarray(keys[band]), segment.bits, directory[band], entries, ENTRY * band * items)
    segment.places[:] = places
    segment.signatures[:] = signatures
    segment.vectors[:] = vectors
    return segment


def merge_segments(data: U8Array, sources: list[Segment], kept: list[U32Array]) -> Segment:
    """Make one segment of several in `data`: kept[s] has the items of segment s that stay, ascending."""
    items = sum(len(each) for each in kept)
    width, vector = sources[0].signatures.shape[1], sources[0].vectors.shape[1]
    segment, directory, entries = _begin(data, items, sources[0].bands, width, vector)
    firsts = np.cumsum([0, *(source.items for source in sources)])
    numbers = np.full(int(firsts[-1]), _GONE, np.uint32)
    ends = np.cumsum([0, *map(len, kept)])
    for source, each, first, (begin, end) in zip(sources, kept, firsts.tolist(), pairwise(ends.tolist()), strict=False):
        numbers[first + each] = np.arange(begin, end, dtype=np.uint32)
        segment.places[begin:end] = source.places[each]
        segment.signatures[begin:end] = source.signatures[each]
        segment.vectors[begin:end] = source.vectors[each]
    fields = np.stack([source.fields for source in sources])
    for band in range(segment.bands):
        merge_band(fields, firsts[:-1], numbers, band, segment.bits, directory[band], entries, ENTRY * band * items)
    return segment
