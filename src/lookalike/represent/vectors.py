"""Vectors that the user brings: rows of numbers to float32 or to packed bits, and what is wrong with some of them.

A null row is absent. A row that cannot be compared with the others (another number of components, NaN, infinity, a
null among its components) is told in `bad`, and is then absent, too: zeros stand in its place, so that the rows of a
batch keep their numbers and nothing after this step meets a NaN.

A vector of d numbers is d float32 in a row of a C-contiguous array. Where Arrow has float32 without nulls, that array
is Arrow's memory itself, not to be written to; everything else is one copy.

Bit i of packed bits is bit i mod 64 of word i / 64. Bytes are the little-endian bytes of these words, so that bit i is
bit i mod 8 of byte i / 8: `numpy.packbits(rows, axis=1, bitorder="little")`. (For a Hamming distance any other order is
as good, if it is that of all rows.)

Fingerprints are `hash_raw` of the float32 of a vector, -0.0 taken as 0.0, and of the words of packed bits; those of
absent rows are of no bytes at all.

    [[1, 2], None, [3], [nan, 0]], dimensions=2   →   values 1 2, 0 0, 0 0, 0 0   present 1 0 0 0
                                                      bad (2, "has 1 component, the others have 2"), (3, "holds NaN")
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.kernels.jit import fold, kernel
from lookalike.key import PUBLIC_KEY
from lookalike.represent.buffers import byte_buffers, is_binary, list_buffers, missing, number_buffer, stored
from lookalike.represent.elements import hash_raw
from lookalike.spec import C1, C2, span_key
from lookalike.types import BoolArray, Dense, I64Array, U64Array

__all__ = ["Bad", "PackedBits", "dense", "fingerprint_vectors", "packed_bits"]

Bad = list[tuple[int, str]]

_MAGNITUDE = np.uint32(0x7FFFFFFF)
_INFINITY = np.uint32(0x7F800000)
_WORD = 64


@kernel("void(Array(uint32,2,'C',readonly=True), Array(uint64,1,'C',readonly=True), uint64[:,::1], uint32[::1])")
def fingerprint_vectors(components, key, fingerprints, largest):
    """The fingerprint of each row of float32, and the bits of its largest magnitude: above infinity's, it has a NaN.

    `components` are the float32 as they lie. The two halves of a fingerprint go side by side, because each step
    has to wait for the one before.
    """
    rows, d = components.shape
    length, factor, last = span_key(key)
    for i in range(rows):
        first = (np.uint64(4 * d + 1) * length) ^ C1
        second = (np.uint64(4 * d + 1) * length) ^ C2
        most = np.uint64(0)
        for j in range(0, max(d, 1), 2):
            low = components[i, j] if j < d else np.uint32(0)
            high = components[i, j + 1] if j + 1 < d else np.uint32(0)
            most = max(most, np.uint64(low & _MAGNITUDE), np.uint64(high & _MAGNITUDE))
            # -0.0 is the only float32 that has a sign and no magnitude.
            lane = np.uint64(low if low & _MAGNITUDE else np.uint32(0))
            lane |= np.uint64(high if high & _MAGNITUDE else np.uint32(0)) << np.uint64(32)
            first = fold(first ^ lane, factor)
            second = fold(second ^ lane, factor)
        fingerprints[i, 0], fingerprints[i, 1] = fold(first, last), fold(second, last)
        largest[i] = np.uint32(most)


class PackedBits(NamedTuple):
    """A batch of n rows of bits: words (n, ceil(bits / 64)), zeros for absent rows; `bad` as for `Dense`."""

    words: U64Array
    present: BoolArray
    fingerprints: U64Array
    bad: Bad


def dense(items: pa.Array, dimensions: int | None = None, key: U64Array = PUBLIC_KEY) -> Dense:
    """The vectors of an Arrow column.

    Args:
        items: lists of any kind of numbers, of any list type; or binary, of which four bytes each are a float32,
            little-endian.
        dimensions: how many components every vector has; if None, as many as the first that has any.
        key: of the fingerprints.

    Raises:
        InputError: if the column holds something else.
    """
    items = stored(items)
    present, bad = ~missing(items), dict[int, str]()
    numbers, offsets = _numbers(items, present, bad, "vectors")
    # A binary row is cut as bytes, and only then read as numbers: it may lie at any address.
    unit = 4 if is_binary(items.type) else 1
    for row in np.flatnonzero(present & (np.diff(offsets) % unit != 0)).tolist():
        bad[row] = f"has {offsets[row + 1] - offsets[row]} bytes, which are no float32 numbers"
        present[row] = False
    width = _width(offsets, present, None if dimensions is None else unit * dimensions)
    _check_sizes(offsets, present, bad, width, unit, "component")
    block = _block(numbers, offsets, present, width)
    if unit > 1:
        block = block.view("<f4")
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.require(block, np.float32, ["C", "A"])
    fingerprints, largest = np.empty((len(items), 2), np.uint64), np.empty(len(items), np.uint32)
    fingerprint_vectors(values.view(np.uint32), key, fingerprints, largest)
    odd = np.flatnonzero(largest >= _INFINITY)
    if len(odd):
        for row in odd.tolist():
            bad[row] = _not_finite(block[row])
        values = values.copy() if np.may_share_memory(values, numbers) else values
        values[odd] = 0
        present[odd] = False
    return Dense(values, _without_absent(fingerprints, present, key), present, sorted(bad.items()))


def packed_bits(
    items: pa.Array, bits: int | None = None, key: U64Array = PUBLIC_KEY, *, packed: bool = False
) -> PackedBits:
    """The bits of an Arrow column.

    Args:
        items: binary of one length (all its bits count, those beyond `bits` in the last byte, too); lists of
            booleans or of numbers 0 and 1; or integers, of which all bits of their type count.
        bits: how many every row has; if None, as many as the first that has any.
        key: of the fingerprints.
        packed: lists hold bytes (uint8) of eight bits each, as rows of an array that numpy.packbits made.

    Raises:
        InputError: if the column holds something else.
    """
    items = stored(items)
    present, bad = ~missing(items), dict[int, str]()
    if pa.types.is_integer(items.type):
        rows = _integer_bytes(items, bits, present, bad)
    elif packed or is_binary(items.type):
        data, offsets = _numbers(items, present, bad, "packed bits")
        if data.dtype != np.uint8 and len(data):
            raise InputError(f"packed bits must be bytes (uint8), not {data.dtype}")
        width = _width(offsets, present, None if bits is None else -(-bits // 8))
        _check_sizes(offsets, present, bad, width, 1, "byte")
        rows = _block(data, offsets, present, width)
    else:
        numbers, offsets = _numbers(items, present, bad, "bits")
        width = _width(offsets, present, bits)
        _check_sizes(offsets, present, bad, width, 1, "bit")
        block = _block(numbers, offsets, present, width)
        odd = (block != 0) & (block != 1)
        for row in np.flatnonzero(odd.any(axis=1)).tolist():
            bad[row] = f"holds {block[row, odd[row].argmax()]}, not 0 or 1"
            present[row] = False
        rows = np.packbits(block.astype(np.bool_), axis=1, bitorder="little")
        rows[~present] = 0
    count = -(-8 * rows.shape[1] // _WORD)
    words = np.zeros((len(items), count), "<u8")
    words.view(np.uint8)[:, : rows.shape[1]] = rows
    words = words.astype(np.uint64, copy=False)
    fingerprints = hash_raw(words.view(np.uint8).ravel(), np.arange(len(items) + 1, dtype=np.int64) * (8 * count), key)
    return PackedBits(words, present, _without_absent(fingerprints, present, key), sorted(bad.items()))


def _numbers(items: pa.Array, present: BoolArray, bad: dict[int, str], what: str) -> tuple[NDArray[Any], I64Array]:
    """The numbers of all rows and the rows' offsets; rows with a null among them are bad."""
    if is_binary(items.type):
        return byte_buffers(items)
    elements, offsets = list_buffers(items, what)
    if elements.null_count:
        gaps = np.concatenate([[0], np.cumsum(missing(elements))])
        for row in np.flatnonzero(present & (gaps[offsets[1:]] > gaps[offsets[:-1]])).tolist():
            bad[row] = "holds a null"
            present[row] = False
    return number_buffer(elements, what), offsets


def _width(offsets: I64Array, present: BoolArray, given: int | None) -> int:
    """How many numbers a row must have: as many as said, or as the first row that has any."""
    if given is not None:
        return given
    some = present & (np.diff(offsets) > 0)
    first = int(some.argmax()) if len(some) else 0
    return int(offsets[first + 1] - offsets[first]) if some.any() else 0


def _check_sizes(offsets: I64Array, present: BoolArray, bad: dict[int, str], width: int, unit: int, word: str) -> None:
    """Rows of another width are bad."""
    sizes = np.diff(offsets)
    for row in np.flatnonzero(present & ((sizes != width) | (sizes == 0))).tolist():
        bad[row] = f"has {_count(int(sizes[row]) // unit, word)}, the others have {width // unit}"
        present[row] = False


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def _block(numbers: NDArray[Any], offsets: I64Array, present: BoolArray, width: int) -> NDArray[Any]:
    """(rows, width): the numbers as they lie where every row is present, otherwise a copy with zeros for the others."""
    if present.all():
        return numbers.reshape(len(present), width)
    block = np.zeros((len(present), width), numbers.dtype)
    sizes = np.diff(offsets)
    if (sizes == width).all():
        numbers = numbers.reshape(len(present), width)[present]
    elif sizes[~present].any():
        numbers = numbers[np.repeat(present, sizes)]
    block[present] = numbers.reshape(np.count_nonzero(present), width)
    return block


def _not_finite(row: NDArray[Any]) -> str:
    if np.isnan(row).any():
        return "holds NaN"
    return "holds infinity" if np.isinf(row).any() else "holds a number too large for float32"


def _integer_bytes(items: pa.Array, bits: int | None, present: BoolArray, bad: dict[int, str]) -> NDArray[np.uint8]:
    """The bytes of integers of which each is the bits of a row."""
    numbers = number_buffer(items, "bits")
    size = 8 * numbers.itemsize
    bits = size if bits is None else bits
    if not 1 <= bits <= size:
        raise InputError(f"a column of {items.type} holds {size} bits a row, not {bits}")
    numbers = np.where(present, numbers, 0).astype(f"<u{size // 8}")
    if bits < size:
        for row in np.flatnonzero(numbers >> np.uint64(bits)).tolist():
            bad[row] = f"holds {items[row]}, which does not fit {bits} bits"
            present[row] = False
        numbers[~present] = 0
    return numbers.view(np.uint8).reshape(len(items), size // 8)[:, : -(-bits // 8)]


def _without_absent(fingerprints: U64Array, present: BoolArray, key: U64Array) -> U64Array:
    """Absent rows have the fingerprint of no bytes."""
    if not present.all():
        fingerprints[~present] = hash_raw(np.empty(0, np.uint8), np.zeros(2, np.int64), key)
    return fingerprints
