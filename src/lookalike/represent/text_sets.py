"""Texts to sets: Arrow string columns go to the shingle kernel as they lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError, ItemError, failed
from lookalike.key import PUBLIC_KEY
from lookalike.represent import shingle_kernels as kernels
from lookalike.represent.buffers import memory, text_buffers
from lookalike.represent.elements import hash_strings, sets_of_hashes
from lookalike.represent.unicode import tables
from lookalike.shingle import Shingle
from lookalike.types import I64Array, Sets, U8Array, U64Array

__all__ = ["LONGEST_ROW", "NO_SPANS", "shingle_flags", "shingle_texts", "spans_of", "token_spans", "tokens_of"]

# Token positions inside one row are 32-bit: two gigabytes of normalised text, a third of that in the worst case.
LONGEST_ROW = (2**31 - 1) // 3 - kernels.PAD


def shingle_flags(shingle: Shingle) -> int:
    """What the kernels are told of the options of a shingle."""
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


NO_SPANS = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))


def shingle_texts(texts: pa.Array, shingle: Shingle, *, key: U64Array = PUBLIC_KEY, every: bool = False) -> Sets:
    """The shingle sets of a batch of texts; with `every`, each shingle as often as it occurs (`weights.py` counts)."""
    data, offsets = text_buffers(texts)
    flags = shingle_flags(shingle) | (kernels.EVERY if every else 0)
    if shingle.tokens is not None:
        return _shingle_callable(data, offsets, shingle, flags, key, shingle.tokens)
    rows = len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=0))
    if longest > LONGEST_ROW:
        raise InputError(f"a text of {longest:,} bytes is too long: the limit is {LONGEST_ROW:,} bytes")
    values = memory.take("values", int(offsets[-1] - offsets[0]) + rows, np.uint64)
    ends = np.empty(rows + 1, np.int64)
    fingerprints = np.empty((rows, 2), np.uint64)
    tally = np.zeros(3, np.int64)
    ends[0] = 0
    rest = (shingle.k, flags, key, tables(), memory.scratch(longest), values, ends, fingerprints, tally)
    row = 0
    while row < rows:
        if flags & ~(kernels.LOWER | kernels.EVERY) == 0:
            row = kernels.shingle_words(data, offsets, row, *rest)
        if row < rows:
            row = kernels.shingle_rows(data, offsets, row, *rest, *NO_SPANS)
    return Sets(ends, memory.give("values", values, ends[-1]), fingerprints, invalid=int(tally[0]), short=int(tally[1]))


def _shingle_callable(
    data: U8Array,
    offsets: I64Array,
    shingle: Shingle,
    flags: int,
    key: U64Array,
    tokenize: Callable[[str], Iterable[str]],
) -> Sets:
    tokens: list[str] = []
    counts = [0]
    invalid = 0
    raw = data.tobytes()
    for start, end in pairwise(offsets):
        text = raw[start:end].decode("utf-8", "replace")
        invalid += text.count("\ufffd") > raw.count(b"\xef\xbf\xbd", start, end)
        position = len(counts) - 1
        try:
            cut = list(tokenize(text))
        except BaseException as error:
            raise failed(tokenize, error, position) from error
        odd = next((token for token in cut if not isinstance(token, str)), None)
        if odd is not None:
            raise ItemError(f"the tokens callable gave {odd!r}: tokens must be strings", position)
        tokens.extend(cut)
        counts.append(len(tokens))
    hashes = hash_strings([token.encode("utf-8", "surrogatepass") for token in tokens], key)
    ends = np.array(counts, np.int64)
    sets = sets_of_hashes(hashes, ends, shingle.k, flags, key, raw=(data, offsets))
    lengths = np.diff(ends)
    short = int(((lengths > 0) & (lengths < shingle.k)).sum())
    return Sets(sets.offsets, sets.values, sets.fingerprints, invalid, short)


def tokens_of(text: bytes, shingle: Shingle) -> list[bytes]:
    """The tokens of one text as they are hashed: normalised, in UTF-8, in order."""
    if shingle.tokens is not None:
        return [token.encode("utf-8", "surrogatepass") for token in shingle.tokens(text.decode("utf-8", "replace"))]
    scratch, flags, tally = memory.scratch(len(text)), shingle_flags(shingle), np.zeros(3, np.int64)
    row = (
        np.frombuffer(text, np.uint8), np.array([0, len(text)]), 0, shingle.k, flags, PUBLIC_KEY, tables(), scratch,
        np.empty(len(text) + 2, np.uint64), np.zeros(2, np.int64), np.empty((1, 2), np.uint64), tally,
    )  # fmt: skip
    if flags & ~kernels.LOWER or not kernels.shingle_words(*row):
        kernels.shingle_rows(*row, *NO_SPANS)
    count = int(tally[2])
    places, ends = scratch.places[:count].tolist(), scratch.ends[:count].tolist()
    whole = scratch.out[: max(ends, default=0)].tobytes()
    return [whole[begin:end] for begin, end in zip(places, ends, strict=True)]


def spans_of(text: str | bytes, shingle: Shingle, key: U64Array = PUBLIC_KEY) -> tuple[U64Array, I64Array]:
    """Every shingle of one text, and the bytes of the UTF-8 text that it stands on, as (start, end) rows."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    spans, scratch = _spanned(raw, shingle, key)
    return scratch.codes[: len(spans)].copy(), spans


def token_spans(text: bytes, shingle: Shingle) -> tuple[I64Array, kernels.TextScratch]:
    """The bytes that each token of one text stands on, and the memory of this thread that the tokens are still in."""
    return _spanned(text, shingle if shingle.k == 1 else replace(shingle, k=1), PUBLIC_KEY)


def _spanned(raw: bytes, shingle: Shingle, key: U64Array) -> tuple[I64Array, kernels.TextScratch]:
    size, points, tokens, _ = kernels.scratch_sizes(len(raw))
    scratch, flags, tally = memory.scratch(len(raw)), shingle_flags(shingle), np.zeros(3, np.int64)
    row = (
        np.frombuffer(raw, np.uint8), np.array([0, len(raw)]), 0, shingle.k, flags, key, tables(), scratch,
        np.empty(tokens, np.uint64), np.zeros(2, np.int64), np.empty((1, 2), np.uint64), tally,
    )  # fmt: skip
    if flags & ~kernels.LOWER == 0 and raw.isascii():
        # Each byte of ASCII is written as one byte, so the tokens stand where they stood.
        kernels.shingle_words(*row)
        count = int(tally[2])
        k = min(shingle.k, count)
        begins, ends = scratch.places[: count - k + 1], scratch.ends[max(k - 1, 0) : count]
        spans = np.stack([begins[: len(ends)], ends], axis=1).astype(np.int64)
    else:
        spans = np.empty((tokens, 2), np.int64)
        origin, reach = np.empty(points, np.int64), np.empty(points, np.int64)
        kernels.shingle_rows(*row, origin, reach, np.empty((size, 2), np.int64), spans)
    count = int(tally[2])
    shingles = count - min(shingle.k, count) + 1 if count else 0
    return spans[:shingles], scratch
