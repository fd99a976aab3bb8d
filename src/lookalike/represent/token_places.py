"""The words of one text, and where in it each stands: for what is cut out of texts, and compared word by word."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from lookalike.kernels.jit import kernel, peek, poke
from lookalike.represent.text_sets import token_spans
from lookalike.shingle import Shingle
from lookalike.types import I64Array, U8Array

__all__ = ["PlacedTokens", "join_tokens", "place_tokens"]

# No byte of UTF-8, so that the words of two texts that are joined alike are the same.
_BETWEEN = np.uint8(255)


@kernel(
    "void(Array(uint8,1,'C',readonly=True), Array(int32,1,'C',readonly=True), Array(int32,1,'C',readonly=True), "
    "int64, uint8[::1], int64[::1])"
)
def join_tokens(out, places, ends, count, joined, bounds):
    """joined = the first `count` tokens out[places[i] : ends[i]], 255 behind each; token i begins at bounds[i]."""
    at = np.int64(0)
    for i in range(count):
        bounds[i] = at
        for j in range(np.int64(peek(places, i)), np.int64(peek(ends, i))):
            poke(joined, at, peek(out, j))
            at += 1
        poke(joined, at, _BETWEEN)
        at += 1
    bounds[count] = at


@dataclass(frozen=True, slots=True)
class PlacedTokens:
    """The tokens of a text, normalised.

    Attributes:
        spans: the bytes of the text that each stands on, as (begin, end) rows.
        joined: all of them, one after another.
        bounds: where each begins there, and at last where they end.
    """

    spans: I64Array
    joined: U8Array
    bounds: I64Array

    def __len__(self) -> int:
        return len(self.spans)

    def digest(self, begin: int, end: int) -> bytes:
        """128 bits of the tokens begin … end - 1, which nobody can find other tokens for."""
        return blake2b(self.joined[self.bounds[begin] : self.bounds[end]].data, digest_size=16).digest()


def place_tokens(text: bytes, shingle: Shingle) -> PlacedTokens:
    """The tokens of one text as they are hashed, and where they stand."""
    spans, scratch = token_spans(text, shingle)
    count = len(spans)
    size = int((scratch.ends[:count] - scratch.places[:count]).sum(dtype=np.int64)) + count
    joined, bounds = np.empty(size, np.uint8), np.empty(count + 1, np.int64)
    join_tokens(scratch.out, scratch.places, scratch.ends, count, joined, bounds)
    return PlacedTokens(spans, joined, bounds)
