"""The memory that kernels read and work in: Arrow's buffers as they lie, and scratch that threads keep."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.represent import shingle_kernels as kernels
from lookalike.types import BoolArray, I64Array, U8Array

__all__ = ["byte_buffers", "is_binary", "list_buffers", "memory", "missing", "number_buffer", "stored", "text_buffers"]

# What a thread may hold on to between batches, per array; a larger one is given back after its batch.
KEEP_BYTES = 256 << 20


def text_buffers(texts: pa.Array) -> tuple[U8Array, I64Array]:
    """The bytes and the n + 1 offsets of an Arrow string or binary array; a null is the empty string."""
    kind = texts.type
    if pa.types.is_dictionary(kind):
        texts = texts.dictionary_decode()
        kind = texts.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        texts = texts.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
        kind = texts.type
    if pa.types.is_null(kind):
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if not (wide or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        raise InputError(f"the text column holds {kind}, not text")
    if texts.null_count:
        # Arrow leaves the bytes behind a null undefined.
        empty = b"" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else ""
        texts = pc.fill_null(texts, pa.scalar(empty, kind))
    _, offset_buffer, data_buffer = texts.buffers()
    if len(texts) == 0 or offset_buffer is None:
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    return data, offsets.astype(np.int64)


def stored(items: pa.Array) -> pa.Array:
    """An array without what only names it: extension types as their storage, dictionaries as their values."""
    if isinstance(items, pa.ExtensionArray):
        items = items.storage
    return items.dictionary_decode() if pa.types.is_dictionary(items.type) else items


def missing(items: pa.Array) -> BoolArray:
    """Which rows are null."""
    if not items.null_count:
        return np.zeros(len(items), np.bool_)
    gone: BoolArray = items.is_null().to_numpy(zero_copy_only=False)
    return gone


def is_binary(kind: pa.DataType) -> bool:
    """Whether `byte_buffers` reads a type."""
    tests = (pa.types.is_fixed_size_binary, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def byte_buffers(items: pa.Array) -> tuple[U8Array, I64Array]:
    """The bytes and the n + 1 offsets of binary rows; where all have one width, undefined bytes stand for a null."""
    if not pa.types.is_fixed_size_binary(items.type):
        data, offsets = text_buffers(items)
        return data[offsets[0] : offsets[-1]], offsets - offsets[0]
    width = items.type.byte_width
    whole = items.buffers()[1]
    data = np.empty(0, np.uint8) if whole is None else np.frombuffer(whole, np.uint8)
    return data[items.offset * width :][: len(items) * width], np.arange(len(items) + 1, dtype=np.int64) * width


def list_buffers(lists: pa.Array, what: str) -> tuple[pa.Array, I64Array]:
    """The elements and the n + 1 offsets of an Arrow list or map array; those behind a null row are undefined.

    Raises:
        InputError: that `what` must be lists, if they are not.
    """
    kind, rows = lists.type, len(lists)
    if pa.types.is_null(kind):
        return pa.nulls(0), np.zeros(rows + 1, np.int64)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        return lists.values.slice(lists.offset * size, rows * size), np.arange(rows + 1, dtype=np.int64) * size
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        offsets = np.zeros(rows + 1, np.int64)
        np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), out=offsets[1:])
        return lists.flatten(), offsets
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)):
        raise InputError(f"{what} must be lists, not {kind}")
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return lists.values.slice(offsets[0], offsets[-1] - offsets[0]), offsets - offsets[0]


def number_buffer(numbers: pa.Array, what: str) -> NDArray[Any]:
    """The numbers of an array as they lie; those behind a null are undefined.

    Raises:
        InputError: that `what` must hold numbers, if they do not.
    """
    numbers = stored(numbers)
    kind = numbers.type
    if pa.types.is_null(kind):
        return np.zeros(len(numbers), np.float32)
    if pa.types.is_boolean(kind):
        numbers = numbers.cast(pa.uint8())
    elif pa.types.is_decimal(kind):
        numbers = numbers.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"{what} must hold numbers, not {kind}")
    dtype = np.dtype(numbers.type.to_pandas_dtype())
    whole = numbers.buffers()[1]
    if whole is None or not len(numbers):
        return np.zeros(len(numbers), dtype)
    return np.frombuffer(whole, dtype, len(numbers), numbers.offset * dtype.itemsize)


class _ThreadMemory(threading.local):
    """Memory that a thread uses again for every batch: fresh pages would cost a third of the kernel's time."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def take(self, name: str, size: int, dtype: type[np.generic]) -> NDArray[Any]:
        array = self._arrays.get(name)
        if array is None or len(array) < size:
            # Half as much again, so that slowly growing batches do not allocate each time. Pages that no row touches
            # are never backed by memory.
            array = np.empty(size + size // 2, dtype)
            if array.nbytes <= KEEP_BYTES:
                self._arrays[name] = array
        return array

    def give(self, name: str, array: NDArray[Any], size: int) -> NDArray[Any]:
        """The beginning of an array that was taken, for the caller to keep."""
        return array[:size].copy() if self._arrays.get(name) is array else array[:size]

    def scratch(self, longest: int) -> kernels.TextScratch:
        """The arrays for rows of up to `longest` bytes (or tokens)."""
        text, points, tokens, slots = kernels.scratch_sizes(longest)
        return kernels.TextScratch(
            out=self.take("out", text, np.uint8),
            marks=self.take("marks", text, np.uint8),
            cps=self.take("cps", points, np.uint32),
            kinds=self.take("kinds", points, np.uint8),
            spare=self.take("spare", points, np.uint32),
            places=self.take("places", tokens, np.int32),
            ends=self.take("ends", tokens, np.int32),
            hashes=self.take("hashes", tokens, np.uint64),
            codes=self.take("codes", tokens, np.uint64),
            table=self.take("table", slots, np.uint64),
            counts=self.take("counts", slots, np.int32),
        )


memory = _ThreadMemory()
