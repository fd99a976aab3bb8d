"""What is recent: a hash table that one process fills while any number of others read it.

Every band has heads, 2^h of them, by the first bits of a key; items with the same head hang on one another. An item is
written whole before it hangs anywhere, and the count, which tells readers how many items there are, is written last of
all. So a reader that looks at the count first sees whole items only, and what came meanwhile it passes over. Nothing is
ever taken out or moved: when the table is full its items become a segment, and a new table begins.

    [16 words: header] [heads uint32 [bands, 2^h]] [next uint32 [items, bands]] [keys uint64 [items, bands]]
    [places uint64 [items]] [signatures uint64 [items, w]] [vectors uint64 [items, v]], these as in a segment

A head, and what an item hangs on, are numbers of items plus 1; 0 is the end. The table lies in a file that is mapped,
so that other processes see it; after a crash it is made again from the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lookalike.errors import InputError
from lookalike.kernels.addresses import address_of
from lookalike.kernels.jit import device, kernel
from lookalike.kernels.kinds import array_of, int64, void
from lookalike.kernels.simd import pointer, prefetch
from lookalike.types import I64Array, U8Array, U32Array, U64Array
from lookalike.verify.byte_rows import ROW_SPARE

__all__ = ["COUNT", "TABLE_FIELDS", "RecentTable", "hang_item", "prefetch_heads", "table_bytes"]

_MAGIC = 0x3142_4154_4B4F_4F4C  # "LOOKTAB1"
_HEADER = 16  # words
# Where the number of items stands in it.
COUNT = 8
# What a kernel is told of a table: where its count is, bits of heads, bands, the addresses of heads, next, keys, places
# and signatures, and the bytes of a signature.
TABLE_FIELDS = 9


def _lengths(capacity: int, bands: int, width: int, vector: int) -> list[int]:
    parts = [
        8 * _HEADER, 4 * bands * capacity, 4 * bands * capacity, 8 * bands * capacity, 8 * capacity,
        8 * width * capacity, 8 * vector * capacity + (ROW_SPARE if vector else 0),
    ]  # fmt: skip
    return [(part + 7) // 8 * 8 for part in parts]


def table_bytes(capacity: int, bands: int, width: int, vector: int = 0) -> int:
    """How large a table is, with signatures and vectors of so many words."""
    return sum(_lengths(capacity, bands, width, vector))


@device
def _head_shift(heads):
    """By how much a key is shifted, once by one bit and then by this, to be the number of a head."""
    bits = 0
    while (1 << bits) < heads.shape[1]:
        bits += 1
    # A shift by 64 bits is none.
    return np.uint64(63 - bits)


@device
def hang_item(keys, item, heads, following):
    """Hang an item, whose keys are written, on the heads of its keys."""
    shift = _head_shift(heads)
    for band in range(keys.shape[1]):
        head = np.int64((keys[item, band] >> np.uint64(1)) >> shift)
        following[item, band] = heads[band, head]
        heads[band, head] = np.uint32(item + 1)


@device
def prefetch_heads(keys, heads):
    """Ask for the memory of the heads on which an item with the keys keys[0] is going to hang."""
    shift = _head_shift(heads)
    first = pointer(heads)
    for band in range(keys.shape[1]):
        head = np.int64((keys[0, band] >> np.uint64(1)) >> shift)
        prefetch(first, band * heads.shape[1] + head)


@kernel(void(array_of(np.uint64, 2, readonly=True), int64, int64, array_of(np.uint32, 2), array_of(np.uint32, 2)))
def hang_items(keys, first, last, heads, following):
    """Hang the items first … last - 1, whose keys are written, on the heads of their keys."""
    for item in range(first, last):
        hang_item(keys, item, heads, following)


@dataclass(slots=True)
class RecentTable:
    """A table in memory, wherever that is."""

    data: U8Array
    head: U64Array
    heads: U32Array
    following: U32Array
    keys: U64Array
    places: U64Array
    signatures: U64Array
    vectors: U64Array
    fields: I64Array
    # What an item is written to: keys, places, signatures, heads and what hangs on them, and the header.
    arrays: tuple[U64Array, U64Array, U64Array, U32Array, U32Array, U64Array] = field(init=False)

    def __post_init__(self) -> None:
        self.arrays = self.keys, self.places, self.signatures, self.heads, self.following, self.head

    @classmethod
    def begin(cls, data: U8Array, capacity: int, bands: int, width: int, vector: int = 0) -> RecentTable:
        """An empty table in memory of `table_bytes` zeros."""
        data[: 8 * _HEADER].view(np.uint64)[:5] = [_MAGIC, capacity, bands, width, vector]
        return cls.open(data)

    @classmethod
    def open(cls, data: U8Array) -> RecentTable:
        """The table that an array of bytes holds."""
        head = data[: 8 * _HEADER].view(np.uint64) if len(data) >= 8 * _HEADER else np.zeros(_HEADER, np.uint64)
        capacity, bands, width, vector = (int(word) for word in head[1:5])
        lengths = _lengths(capacity, bands, width, vector)
        if int(head[0]) != _MAGIC or capacity & (capacity - 1) or sum(lengths) != len(data):
            raise InputError("it is no table of recent items, or not a whole one")
        ends = np.cumsum(lengths).tolist()
        base = address_of(data)
        return cls(
            data,
            head,
            data[ends[0] : ends[1]].view(np.uint32)[: bands * capacity].reshape(bands, capacity),
            data[ends[1] : ends[2]].view(np.uint32)[: bands * capacity].reshape(capacity, bands),
            data[ends[2] : ends[3]].view(np.uint64).reshape(capacity, bands),
            data[ends[3] : ends[4]].view(np.uint64),
            data[ends[4] : ends[5]].view(np.uint64).reshape(capacity, width),
            data[ends[5] : ends[5] + 8 * vector * capacity].view(np.uint64).reshape(capacity, vector),
            np.array(
                [base + 8 * COUNT, capacity.bit_length() - 1, bands, *(base + end for end in ends[:5]), 8 * width],
                np.int64,
            ),
        )

    @property
    def capacity(self) -> int:
        return len(self.places)

    @property
    def count(self) -> int:
        """How many items it has."""
        return int(self.head[COUNT])

    @property
    def free(self) -> int:
        return self.capacity - self.count

    def add(self, keys: U64Array, places: U64Array, signatures: U64Array) -> None:
        """Add items, for which there must be room: keys are (items x bands), signatures end with the vectors."""
        first = self.count
        last = first + len(places)
        self.keys[first:last] = keys
        self.places[first:last] = places
        width, vector = self.signatures.shape[1], self.vectors.shape[1]
        self.signatures[first:last] = signatures[:, :width]
        self.vectors[first:last] = signatures[:, width : width + vector]
        hang_items(self.keys, first, last, self.heads, self.following)
        self.head[COUNT] = last
