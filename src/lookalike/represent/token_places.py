"""The words of one text, and where in it each stands: for what is cut out of texts, and compared word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from lookalike.kernels.jit import kernel, peek, poke
from lookalike.represent.text_sets import token_spans
from lookalike.shingle import Shingle
from lookalike.types import I64Array, U8Array

__all__ = ["PlacedTokens", "join_tokens", "place_tokens"]

# It takes 50 bytes of memory for a byte of text to tell where its words stand, if it is not ASCII.
_PIECE = 1 << 20
# No word goes on behind a space, and no normalisation joins an ASCII letter or digit with what stands before it.
_SAFE = re.compile(rb" (?=[0-9A-Za-z])")
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


def place_tokens(text: bytes, shingle: Shingle, piece: int = _PIECE) -> PlacedTokens:
    """The tokens of one text as they are hashed, and where they stand; `piece` bytes are worked on at once."""
    spans, joined, bounds, before = [], [], [np.zeros(1, np.int64)], 0
    for begin, end in _pieces(text, piece):
        placed, scratch = token_spans(text[begin:end], shingle)
        count = len(placed)
        size = int((scratch.ends[:count] - scratch.places[:count]).sum(dtype=np.int64)) + count
        words, ends = np.empty(size, np.uint8), np.empty(count + 1, np.int64)
        join_tokens(scratch.out, scratch.places, scratch.ends, count, words, ends)
        spans.append(placed + begin)
        joined.append(words)
        bounds.append(ends[1:] + before)
        before += size
    return PlacedTokens(np.concatenate(spans), np.concatenate(joined), np.concatenate(bounds))


def _pieces(text: bytes, most: int) -> Iterator[tuple[int, int]]:
    """Where a text can be cut so that each piece has the tokens that it has in the whole."""
    begin = 0
    while len(text) - begin > most:
        found = _SAFE.search(text, begin + most)
        if found is None:
            break
        yield begin, found.end()
        begin = found.end()
    yield begin, len(text)
