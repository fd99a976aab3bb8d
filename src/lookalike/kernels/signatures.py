"""Signatures: bit strings of a fixed number of words, all in one array, compared as fast as memory gives them.

The distance of two signatures is the number of bits in which they differ. Eight words are one AVX-512 instruction to
load, one to combine and one to count (VPOPCNTQ); machines without it count by table look-ups in a register (AVX2) or
word by word.

Odd signatures are those of sets: each element turns one bit over. What two sets have in common turns the same bits in
both, so the signatures differ in no more bits than there are elements in one set only; and in hardly fewer, as long as
these are few beside the bits (Mitzenmacher, Pagh and Pham, "Efficient estimation for high similarities using odd
sketches", 2014). So a pair of which they differ in more bits than a match may have elements apart cannot match.

`signature_distance` is for the inside of other kernels; `signature_distances` takes pairs in any order, and asks for
the memory of pairs some places ahead, since at 512 bits waiting for memory is most of what there is.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device, kernel, peek, poke
from lookalike.kernels.simd import pointer, popped_xor, popped_xor_first, prefetch
from lookalike.types import I64Array, U64Array

__all__ = ["distance_pairs", "missing_bits", "odd_signatures", "signature_distance", "signature_distances", "turn_over"]

_AHEAD = 32
_LINE = 8
_HALF, _SIX, _LAST_SIX, _ONE = np.uint64(32), np.uint64(6), np.uint64(63), np.uint64(1)


@device
def signature_distance(words, i, j, width):
    """In how many bits signatures i and j differ, each of `width` words; `words` is a `simd.pointer` to the first."""
    x, y = i * width, j * width
    differing = 0
    k = 0
    while k + 8 <= width:
        differing += popped_xor(words, x + k, words, y + k)
        k += 8
    if k < width:
        differing += popped_xor_first(words, x + k, words, y + k, width - k)
    return differing


@kernel(
    "void(Array(uint64,1,'C',readonly=True), int64, Array(int64,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), int64[::1])"
)
def distance_pairs(words, width, left, right, out):
    """out[p] = the number of bits in which signatures left[p] and right[p] differ."""
    data = pointer(words)
    last = len(left) - 1
    for p in range(len(left)):
        ahead = min(p + _AHEAD, last)
        x, y = peek(left, ahead) * width, peek(right, ahead) * width
        for k in range(0, width, _LINE):
            prefetch(data, x + k)
            prefetch(data, y + k)
        out[p] = signature_distance(data, peek(left, p), peek(right, p), width)


@device
def turn_over(values, start, end, words, place, width):
    """Turn over a bit for each of the elements values[start:end] in signature `place` of `width` words."""
    bits = np.uint64(64 * width)
    for i in range(start, end):
        bit = ((peek(values, i) >> _HALF) * bits) >> _HALF
        at = place * width + np.int64(bit >> _SIX)
        poke(words, at, peek(words, at) ^ (_ONE << (bit & _LAST_SIX)))


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "int64, uint64[::1])"
)
def odd_signatures(offsets, values, numbers, width, words):
    """Turn over a bit for each element of row i in signature numbers[i] of `width` words; they begin as zeros."""
    for row in range(len(numbers)):
        turn_over(values, offsets[row], offsets[row + 1], words, np.int64(numbers[row]), width)


def signature_distances(signatures: U64Array, left: I64Array, right: I64Array) -> I64Array:
    """The distances of pairs of signatures, which are the rows of an array."""
    out = np.empty(len(left), np.int64)
    distance_pairs(signatures.reshape(-1), signatures.shape[1], left, right, out)
    return out


def missing_bits(signatures: U64Array, left: I64Array, right: I64Array) -> I64Array:
    """How many bits of the one signature the other has not, for pairs of rows of an array."""
    missing: I64Array = np.bitwise_count(signatures[left] & ~signatures[right]).sum(axis=1, dtype=np.int64)
    return missing
