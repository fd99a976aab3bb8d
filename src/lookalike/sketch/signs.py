"""Band keys from sign bits: band j has bit j of r independent blocks.

The bits of a block come side by side, 64 to a word, and a band wants one of each of r blocks. So r words, one a block,
are 64 bands at once: as the rows of a square of 64 x 64 bits, which is turned over by swapping ever smaller halves (six
steps for 64 bands instead of 64·r single bits).

    blocks 0b0110, 0b0011 (bit 0 right):  band 0 has 0 and 1, band 1 has 1 and 1, band 2 has 1 and 0, band 3 has 0 and 0

Source of the transposition: Warren, "Hacker's Delight", section 7-3.
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import device, kernel
from lookalike.spec import GOLDEN, mix
from lookalike.types import U64Array

__all__ = ["blocks_for", "key_rows", "sign_keys"]

_WORD = 64


def blocks_for(bands: int, rows: int, width: int) -> int:
    """How many blocks of `width` bits so many bands need: r for each `width` bands."""
    return rows * -(-bands // width)


@device
def _transpose(square):
    """Bit j of word i becomes bit i of word j."""
    half = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while half > 0:
        shift = np.uint64(half)
        at = 0
        while at < _WORD:
            for i in range(at, at + half):
                low, high = square[i], square[i + half]
                moved = ((low >> shift) ^ high) & mask
                square[i + half] = high ^ moved
                square[i] = low ^ (moved << shift)
            at += 2 * half
        half >>= 1
        mask ^= mask << np.uint64(half)


@kernel("void(Array(uint64,3,'C',readonly=True), int64, int64, uint64[:,::1])")
def key_rows(bits, bands, rows, keys):
    """keys[j, i] = the chained `mix` of the r bits of band j of item i, 64 bits a step, begun with the band."""
    width = bits.shape[2] * _WORD
    square = np.empty(_WORD, np.uint64)
    for item in range(len(bits)):
        for first in range(0, bands, _WORD):
            group, word = first // width, (first % width) // _WORD
            count = min(_WORD, bands - first)
            for j in range(count):
                keys[first + j, item] = mix(np.uint64(first + j + 1) * GOLDEN)
            for row in range(0, rows, _WORD):
                for i in range(_WORD):
                    inside = row + i < rows
                    square[i] = bits[item, group * rows + row + i, word] if inside else np.uint64(0)
                _transpose(square)
                for j in range(count):
                    keys[first + j, item] = mix(keys[first + j, item] ^ square[j])


def sign_keys(bits: U64Array, bands: int, rows: int) -> U64Array:
    """The keys of all bands, a row each, from the sign bits of `blocks_for` blocks."""
    keys = np.empty((bands, len(bits)), np.uint64)
    key_rows(bits, bands, rows, keys)
    return keys
