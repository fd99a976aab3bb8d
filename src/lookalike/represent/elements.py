"""Sets that the user brings: integers or strings to 64-bit hashes, each element once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError
from lookalike.kernels.jit import kernel
from lookalike.key import INTEGER, PUBLIC_KEY
from lookalike.represent import shingle_kernels as kernels
from lookalike.represent.buffers import memory, text_buffers
from lookalike.spec import C1, C2, GOLDEN, hash_bytes, mix, span_key
from lookalike.types import I64Array, Sets, U8Array, U64Array

__all__ = [
    "element_sets",
    "hash_cells",
    "hash_elements",
    "hash_ints",
    "hash_raw",
    "hash_spans",
    "hash_strings",
    "plain_elements",
    "sets_of_hashes",
]


@kernel("void(Array(uint64,1,'C',readonly=True), uint64, uint64[::1])")
def _hash_ints(values, mask, hashes):
    for i in range(len(values)):
        hashes[i] = mix(values[i] ^ mask)


@kernel(
    "void(Array(uint8,1,'C',readonly=True), Array(int64,1,'C',readonly=True), uint64, "
    "Array(uint64,1,'C',readonly=True), uint64[::1])"
)
def hash_spans(data, offsets, salt, key, hashes):
    """hashes[i] = the hash of the bytes data[offsets[i] : offsets[i + 1]] with a salt."""
    parts = span_key(key)
    for i in range(len(offsets) - 1):
        hashes[i] = hash_bytes(data, offsets[i], offsets[i + 1] - offsets[i], salt, parts)


def hash_ints(values: U64Array, key: U64Array = PUBLIC_KEY) -> U64Array:
    """`hash_int` of each whole number, one to one."""
    hashes = np.empty(len(values), np.uint64)
    _hash_ints(values, key[INTEGER], hashes)
    return hashes


def hash_strings(strings: Sequence[bytes], key: U64Array = PUBLIC_KEY) -> U64Array:
    """`hash_bytes` of each string."""
    offsets = np.zeros(len(strings) + 1, np.int64)
    np.cumsum([len(s) for s in strings], out=offsets[1:])
    hashes = np.empty(len(strings), np.uint64)
    hash_spans(np.frombuffer(b"".join(strings), np.uint8), offsets, np.uint64(0), key, hashes)
    return hashes


def hash_cells(column: pa.Array, key: U64Array = PUBLIC_KEY) -> U64Array:
    """64 bits of each cell as text: equal for equal cells; null is equal to null only."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    missing = column.is_null().to_numpy(zero_copy_only=False)
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not (text or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
        try:
            column = column.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"items cannot be grouped by a column of {column.type}") from None
    data, offsets = text_buffers(column)
    hashes = np.empty(len(column), np.uint64)
    hash_spans(data, offsets, C1, key, hashes)
    hashes[missing] = GOLDEN
    return hashes


def hash_raw(data: U8Array, offsets: I64Array, key: U64Array = PUBLIC_KEY) -> U64Array:
    """128 bits of each row's bytes: the fingerprint of an item that has no elements."""
    fingerprints = np.empty((len(offsets) - 1, 2), np.uint64)
    for column, salt in enumerate((C1, C2)):
        hashes = np.empty(len(offsets) - 1, np.uint64)
        hash_spans(data, offsets, salt, key, hashes)
        fingerprints[:, column] = hashes
    return fingerprints


def sets_of_hashes(
    hashes: U64Array,
    offsets: I64Array,
    k: int,
    flags: int,
    key: U64Array = PUBLIC_KEY,
    *,
    raw: tuple[U8Array, I64Array] | None = None,
) -> Sets:
    """Sets from token hashes (k >= 1) or element hashes (k = 0), rows cut by `offsets`; `raw` tells empty apart."""
    rows = len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=0))
    values = memory.take("values", int(offsets[-1] - offsets[0]) + 1, np.uint64)
    ends = np.empty(rows + 1, np.int64)
    fingerprints = np.empty((rows, 2), np.uint64)
    kernels.shingle_tokens(hashes, offsets, k, flags, key, memory.scratch(longest), values, ends, fingerprints)
    empty = np.flatnonzero(np.diff(ends) == 0)
    if len(empty):
        data, cut = raw if raw is not None else (np.empty(0, np.uint8), np.zeros(rows + 1, np.int64))
        fingerprints[empty] = hash_raw(data, cut, key)[empty]
    return Sets(ends, memory.give("values", values, ends[-1]), fingerprints)


def element_sets(lists: pa.Array, key: U64Array = PUBLIC_KEY) -> Sets:
    """The sets of an Arrow list column of integers or strings; a null list is the empty set, null elements go."""
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.large_list(lists.type.value_type))
    rows = len(lists)
    sizes = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    elements = plain_elements(lists.flatten())
    if elements.null_count:
        valid = elements.is_valid().to_numpy(zero_copy_only=False)
        kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(valid, dtype=np.int64)])
        offsets = kept[offsets]
        elements = elements.drop_null()
    return sets_of_hashes(hash_elements(elements, key), offsets, 0, 0, key)


def plain_elements(elements: pa.Array) -> pa.Array:
    """A dictionary's values, among which may be nulls; views as strings, for Arrow cannot filter views."""
    if pa.types.is_dictionary(elements.type):
        elements = elements.dictionary_decode()
    if pa.types.is_string_view(elements.type):
        return elements.cast(pa.large_string())
    if pa.types.is_binary_view(elements.type):
        return elements.cast(pa.large_binary())
    return elements


def hash_elements(elements: pa.Array, key: U64Array = PUBLIC_KEY) -> U64Array:
    """The hash of each element, integer or string, of an array without nulls."""
    kind = elements.type
    hashes = np.empty(len(elements), np.uint64)
    if pa.types.is_boolean(kind):
        elements = elements.cast(pa.uint8())
        kind = elements.type
    if pa.types.is_integer(kind):
        wide = pa.uint64() if pa.types.is_unsigned_integer(kind) else pa.int64()
        numbers = elements.cast(wide).to_numpy(zero_copy_only=False)
        return hash_ints(np.ascontiguousarray(numbers).view(np.uint64), key)
    if pa.types.is_null(kind):
        return hashes[:0]
    try:
        data, offsets = text_buffers(elements)
    except InputError:
        raise InputError(f"the elements of a set must be integers or strings, not {kind}") from None
    hash_spans(data, offsets, np.uint64(0), key, hashes)
    return hashes
