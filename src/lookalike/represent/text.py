"""Texts to sets: Arrow string columns go to the shingle kernel as they lie in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.represent import shingle as kernels
from lookalike.represent.elements import hash_strings, sets_of_hashes
from lookalike.represent.unicode import tables
from lookalike.shingle import Shingle
from lookalike.types import I64Array, Sets, U8Array, U64Array

__all__ = ["shingle_texts", "spans_of", "text_buffers"]

# Token positions inside one row are 32-bit: two gigabytes of normalised text, a third of that in the worst case.
LONGEST_ROW = (2**31 - 1) // 3 - kernels.PAD


def text_buffers(texts: pa.Array) -> tuple[U8Array, I64Array]:
    """The bytes and the n + 1 offsets of an Arrow string or binary array; a null is the empty string."""
    kind = texts.type
    if pa.types.is_dictionary(kind) or pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        texts = texts.cast(
            pa.large_string() if pa.types.is_string(getattr(kind, "value_type", kind)) else pa.large_binary()
        )
        kind = texts.type
    if not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise InputError(f"the text column holds {kind}, not text")
    if texts.null_count:
        # Arrow leaves the bytes behind a null undefined.
        texts = pc.fill_null(texts, pa.scalar(b"" if "binary" in str(kind) else "", kind))
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    _, offset_buffer, data_buffer = texts.buffers()
    if len(texts) == 0 or offset_buffer is None:
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    return data, offsets


def _flags(shingle: Shingle) -> int:
    names = {
        "lower": kernels.LOWER,
        "accents": kernels.ACCENTS,
        "digits": kernels.DIGITS,
        "punctuation": kernels.PUNCTUATION,
        "whitespace": kernels.WHITESPACE,
    }
    flags = sum(names[name] for name in shingle.normalize)
    flags |= kernels.CHAR if shingle.kind == "char" else 0
    return flags | (kernels.BAG if shingle.bag else 0)


class _Scratch(threading.local):
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

    def rows(self, longest: int) -> tuple[NDArray[Any], ...]:
        """The arrays that one row of up to `longest` bytes needs, in the kernels' order."""
        text, points, tokens = kernels.scratch_sizes(longest)
        return (
            self.take("out", text, np.uint8),
            self.take("marks", text, np.uint8),
            self.take("cps", points, np.uint32),
            self.take("kinds", points, np.uint8),
            self.take("spare", points, np.uint32),
            self.take("places", tokens, np.int32),
            self.take("ends", tokens, np.int32),
            self.take("hashes", tokens, np.uint64),
            self.take("codes", tokens, np.uint64),
        )

    def table(self, tokens: int) -> tuple[NDArray[Any], ...]:
        """The hash table, and its counts, for a row of up to `tokens` tokens."""
        capacity = 16
        while capacity < 2 * tokens:
            capacity *= 2
        return self.take("table", capacity, np.uint64), self.take("counts", capacity, np.int32)


# What a thread may hold on to between batches, per array; a larger one is given back after its batch.
KEEP_BYTES = 256 << 20

_scratch = _Scratch()


def shingle_texts(texts: pa.Array, shingle: Shingle) -> Sets:
    """The shingle sets of a batch of texts."""
    data, offsets = text_buffers(texts)
    if shingle.tokens is not None:
        return _shingle_callable(data, offsets, shingle, shingle.tokens)
    rows = len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=0))
    if longest > LONGEST_ROW:
        raise InputError(
            f"a text of {longest:,} bytes is too long: {LONGEST_ROW:,} bytes is the most one item may have"
        )
    values = _scratch.take("values", int(offsets[-1] - offsets[0]) + rows, np.uint64)
    ends = np.empty(rows + 1, np.int64)
    fingerprints = np.empty((rows, 2), np.uint64)
    tally = np.zeros(2, np.int64)
    kernels.shingle_rows(
        data, offsets, shingle.k, _flags(shingle), *tables(), *_scratch.rows(longest), *_scratch.table(longest),
        values, ends, fingerprints, tally,
    )  # fmt: skip
    return Sets(ends, values[: ends[-1]].copy(), fingerprints, invalid=int(tally[0]), short=int(tally[1]))


def _shingle_callable(
    data: U8Array, offsets: I64Array, shingle: Shingle, tokenize: Callable[[str], Iterable[str]]
) -> Sets:
    tokens: list[str] = []
    counts = [0]
    invalid = 0
    raw = data.tobytes()
    for start, end in zip(offsets[:-1], offsets[1:], strict=True):
        text = raw[start:end].decode("utf-8", "replace")
        invalid += text.count("\ufffd") > raw.count(b"\xef\xbf\xbd", start, end)
        tokens.extend(tokenize(text))
        counts.append(len(tokens))
    hashes = hash_strings([token.encode("utf-8", "surrogatepass") for token in tokens])
    ends = np.array(counts, np.int64)
    sets = sets_of_hashes(hashes, ends, shingle.k, kernels.BAG if shingle.bag else 0, raw=(data, offsets))
    lengths = np.diff(ends)
    short = int(((lengths > 0) & (lengths < shingle.k)).sum())
    return Sets(sets.offsets, sets.values, sets.fingerprints, invalid, short)


def spans_of(text: str | bytes, shingle: Shingle) -> tuple[U64Array, I64Array]:
    """Every shingle of one text, and the bytes of the UTF-8 text that it stands on, as (start, end) rows."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    data = np.frombuffer(raw, np.uint8)
    size, points, tokens = kernels.scratch_sizes(len(raw))
    scratch = _scratch.rows(len(raw))
    spans = np.empty((tokens, 2), np.int64)
    count = kernels.shingle_spans(
        data, shingle.k, _flags(shingle), *tables(), *scratch,
        np.empty(points, np.int64), np.empty(points, np.int64), np.empty((size, 2), np.int64), spans,
    )  # fmt: skip
    return scratch[-1][:count].copy(), spans[:count]
