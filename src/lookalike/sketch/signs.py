"""Band keys from sign bits: the r bits of a band are from as many blocks as are worth their price.

Bits of two blocks are independent, those of one block share their random draws. A block of n bits serves n bands with
a bit each; fewer bands may have several bits of it, n/128 at most, which saves as many blocks. Measured on planted
pairs, that changes the chance of a band hardly: of 384 components, four of 512 bits agree with 1.0007·p⁴ at cosine 0.8
and 1.002·p⁴ at 0.5, which for twenty rows is a third of a percent of the pairs that meet in a band.

The bits of a block come side by side, 64 to a word, so r words are the bits of 64 bands: as the rows of a square, which
is turned over (`turning.py`).

    blocks 0b0110, 0b0011 (bit 0 right):  band 0 has 0 and 1, band 1 has 1 and 1, band 2 has 1 and 0, band 3 has 0 and 0
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.kernels.simd import pointer
from lookalike.sketch.turning import turn
from lookalike.spec import GOLDEN, mix
from lookalike.types import U64Array

__all__ = ["blocks_for", "key_rows", "shared_rows", "sign_keys"]

_WORD = 64
# A band has no more than one bit of so many of a block.
_APART = 128


def shared_rows(bands: int, width: int) -> int:
    """How many bits of one block a band has: a power of two, as many as leave enough bits for all bands."""
    share = 1
    while 2 * share * bands <= width and 2 * share * _APART <= width:
        share *= 2
    return share


def blocks_for(bands: int, rows: int, width: int) -> int:
    """How many blocks of `width` bits so many bands need."""
    share = shared_rows(bands, width)
    return -(-rows // share) * -(-bands * share // width)


@kernel("void(Array(uint64,3,'C',readonly=True), int64, int64, int64, uint64[::1], uint64[:,::1])")
def key_rows(bits, bands, rows, share, scratch, keys):
    """keys[j, i] = the chained `mix` of the r bits of band j of item i, 64 bits a step, begun with the band.

    Bit i of band j is in block i / share (after those of bands for which there was no room before) at position
    j + (i mod share)·width/share, j counted from the first band of its blocks. `scratch` holds 64 words.
    """
    width = bits.shape[2] * _WORD // share
    words = width // _WORD
    each = (rows + share - 1) // share
    square = pointer(scratch)
    for item in range(len(bits)):
        for first in range(0, bands, _WORD):
            group, word = first // width, (first % width) // _WORD
            count = min(_WORD, bands - first)
            for j in range(count):
                keys[first + j, item] = mix(np.uint64(first + j + 1) * GOLDEN)
            for row in range(0, rows, _WORD):
                for i in range(_WORD):
                    place = row + i
                    square[i] = np.uint64(0)
                    if place < rows:
                        square[i] = bits[item, group * each + place // share, word + place % share * words]
                turn(square, 0)
                for j in range(count):
                    keys[first + j, item] = mix(keys[first + j, item] ^ square[j])


def sign_keys(bits: U64Array, bands: int, rows: int) -> U64Array:
    """The keys of all bands, a row each, from the sign bits of `blocks_for` blocks."""
    keys = np.empty((bands, len(bits)), np.uint64)
    scratch = np.empty(_WORD, np.uint64)
    key_rows(bits, bands, rows, shared_rows(bands, bits.shape[2] * _WORD), scratch, keys)
    return keys
