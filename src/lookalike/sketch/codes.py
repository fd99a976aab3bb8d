"""Codes: a sketch in 256 bits, short enough to look at that of every stored item.

A code has one bit of each of 256 slots that are bits, or two bits of each of 128 slots that are numbers. The number of
slots in which two codes differ tells how alike two items are: slots that agree agree in the code as well, others by
accident in a fourth of all cases (half, where a slot is a bit, but then `p` knows that already). So of S slots of two
items whose slots agree with chance p

    Binomial(S, q) differ in the code,    q = 1 - p for bits,    q = 3/4 · (1 - p) for numbers.

Two bits of 128 slots tell nearly as much as one bit of 256, for half of the sketch: at a similarity of 0.5 they tell it
with a standard error of 0.057 instead of 0.054, at 0.9 of 0.031 instead of 0.027.

Layout: four words. Of numbers, the first two words have the lowest bits of slots 0 … 127, the others the second lowest,
so that two exclusive ors and one or tell 64 slots. Of bits, slot i is bit i mod 64 of word i / 64.
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.kernels.kinds import array_of, void
from lookalike.kernels.simd import pop_count
from lookalike.sketch.sampling import positions
from lookalike.spec import GOLDEN, mix
from lookalike.types import U32Array, U64Array

__all__ = [
    "CODE_BITS",
    "CODE_NUMBERS",
    "CODE_WORDS",
    "code_row",
    "code_rows",
    "codes_of_bits",
    "codes_of_slots",
    "sampled_codes",
    "slots_apart",
]

CODE_WORDS = 4
# Slots that a code has room for.
CODE_BITS, CODE_NUMBERS = 256, 128
_ONE, _SECOND = np.uint64(1), np.uint64(2)
_SAMPLE_SEED = 0x434F_4445_5341_4D50


@device
def code_row(slots, item, codes, row, first):
    """codes[row, first : first + 4] = the code of an item; see `code_rows`."""
    for word in range(2):
        lowest, second = np.uint64(0), np.uint64(0)
        for j in range(64 * word, min(slots.shape[1], 64 * word + 64)):
            slot = mix(np.uint64(slots[item, j]) + np.uint64(j + 1) * GOLDEN)
            place = np.uint64(j & 63)
            lowest |= (slot & _ONE) << place
            second |= ((slot & _SECOND) >> _ONE) << place
        codes[row, first + word], codes[row, first + word + 2] = lowest, second


@kernel(void(array_of(np.uint32, 2, readonly=True), array_of(np.uint64, 2)))
def code_rows(slots, codes):
    """codes[i] = two bits of each of the first 128 slots of item i; places for which there is no slot are 0.

    They are the lowest bits of mix(slot + j·GOLDEN). Without j two numbers that come up again and again, such as those
    of neighbouring intervals, would have the same bits in all slots or in none.
    """
    for item in range(len(slots)):
        code_row(slots, item, codes, item, 0)


@device
def slots_apart(a0, a1, a2, a3, b0, b1, b2, b3, numbers):
    """In how many slots two codes differ, each given by its words."""
    if numbers:
        return pop_count((a0 ^ b0) | (a2 ^ b2)) + pop_count((a1 ^ b1) | (a3 ^ b3))
    return pop_count(a0 ^ b0) + pop_count(a1 ^ b1) + pop_count(a2 ^ b2) + pop_count(a3 ^ b3)


def codes_of_slots(slots: U32Array) -> U64Array:
    """The codes of sketches whose slots are numbers."""
    codes = np.empty((len(slots), CODE_WORDS), np.uint64)
    code_rows(slots, codes)
    return codes


def codes_of_bits(bits: U64Array) -> U64Array:
    """The codes of sketches whose slots are bits, in any number of words each: the first 256."""
    words = bits.reshape(len(bits), math.prod(bits.shape[1:]))[:, :CODE_WORDS]
    codes = np.zeros((len(words), CODE_WORDS), np.uint64)
    codes[:, : words.shape[1]] = words
    return codes


def sampled_codes(words: U64Array, bits: int, seed: int) -> U64Array:
    """The codes of strings of bits: the strings, or of longer ones 256 positions, each drawn by itself."""
    if bits <= CODE_BITS:
        return codes_of_bits(words)
    places = positions(bits, 1, CODE_BITS, seed ^ _SAMPLE_SEED)[0]
    found = np.ascontiguousarray(words[:, places >> 6] >> (places & 63).astype(np.uint64)) & _ONE
    return np.packbits(found.astype(np.uint8), axis=1, bitorder="little").view(np.uint64)
