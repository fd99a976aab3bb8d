"""Sign bits of sparse vectors: features hashed to a short dense vector, which is then projected at random.

The idea. A structured projection (`rotation.py`) wants a dense vector, and features are 64-bit hashes. So each block
hashes every feature afresh to one place in each quarter of `width` places, with a random sign each (count sketch:
Charikar, Chen and Farach-Colton 2002; Weinberger et al. 2009 for cosine; several places: Kane and Nelson 2014), and
projects the vector that comes of it. Products are kept on average, so a bit agrees with 1 - angle/π as before, and
blocks are independent of one another: r bits from r blocks agree with the r-th power of one.

Why four places, and 1,024 in all. Features that fall on one place are taken for one another, which changes the cosine
of a block, and all bits of a block share the change. Two features share a place in one of 64 blocks, and then a quarter
of their weight; all four places in one of 4 billion. (With one place each, two features were all the same or opposite
in one of 1,024 blocks. Where two equal features were all there was, the vector was then gone, and all bands that take
a bit from that block with it: one of a hundred pairs could not be found with r = 20, whatever the number of bands.)
Over many blocks the changes hardly show: for vectors of one and two features a bit agrees too often or too rarely by
1/(4·width) at most, 2·10⁻⁴, and for vectors of many the changes up and down cancel. A block of 1,024 takes 3.3 µs for
150 features, most of it the projection.

Sums are of whole numbers, weights as multiples of 2⁻⁴⁰ of the largest: the same in any order of the features.

    width 8, a feature of weight 3 at places 1, 2, 5, 7 with signs +, -, -, +:  (0, 3, -3, 0, 0, -3, 0, 3)
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.sketch.rotation import project_signs, rotation_of
from lookalike.spec import C1, GOLDEN, mix
from lookalike.types import F32Array, I64Array, U64Array

__all__ = ["LEAST_WIDTH", "scatter_rows", "sparse_sign_bits", "whole_weights"]

LEAST_WIDTH = 1024

# A weight is a whole number of this many bits, fewer where so many of them would not fit into a sum.
_BITS = 40
# A sum of so many bits, and the sign, are a number of 64.
_ROOM = 62
# A feature has so many places, each told by 16 bits of its hash: one in each part of the block.
_PLACES = 4
_PLACE_BITS = np.uint64(16)
_SIGN_BIT = np.uint64(15)
_MOST_WIDTH = _PLACES << 15
_WORD = 64
# Items worked on at a time: their dense vectors stay in the second-level cache.
_ITEMS = 128

_ONE = np.uint64(1)


@kernel("void(Array(int64,1,'C',readonly=True), Array(float32,1,'C',readonly=True), int64[::1])")
def whole_weights(offsets, weights, out):
    """out[i] = weights[i] as a whole number: the largest of its row has 40 bits, what is below the last bit goes."""
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        largest = 0.0
        for i in range(start, end):
            largest = max(largest, abs(np.float64(weights[i])))
        room = _ROOM
        while (1 << (_ROOM - room)) < end - start:
            room -= 1
        scale = math.ldexp(1.0, min(_BITS, room) - math.frexp(largest)[1])
        for i in range(start, end):
            out[i] = np.int64(np.float64(weights[i]) * scale)


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "int64, uint64, int64, float32[:,::1])"
)
def scatter_rows(offsets, values, wholes, first, seed, block, out):
    """out[i, j] = the sum, with signs, of the weights of row first + i whose features this block puts to place j.

    Quarter k of the places gets a feature at the lower bits of the k-th 16 bits of its hash, with a plus if the upper
    of the 16 is set.
    """
    items, width = out.shape
    state = mix(mix(mix(seed) + C1) + np.uint64(block + 1) * GOLDEN)
    part = width // _PLACES
    mask = np.uint64(part - 1)
    sums = np.empty(width, np.int64)
    for i in range(items):
        sums[:] = 0
        for at in range(offsets[first + i], offsets[first + i + 1]):
            h = mix(values[at] ^ state)
            w = wholes[at]
            for begin in range(0, width, part):
                sums[begin + np.int64(h & mask)] += w if (h >> _SIGN_BIT) & _ONE else -w
                h >>= _PLACE_BITS
        for j in range(width):
            out[i, j] = np.float32(sums[j])


def sparse_sign_bits(
    offsets: I64Array, values: U64Array, weights: F32Array, blocks: int, width: int, seed: int
) -> U64Array:
    """The sign bits of each sparse vector, (n, blocks, width / 64) words; weights are finite, of either sign.

    `width` is a power of two, from LEAST_WIDTH to 2¹⁷. A vector without any weight has no direction: all bits are set.
    """
    if not LEAST_WIDTH <= width <= _MOST_WIDTH or width & (width - 1):
        raise ValueError(f"a block is a power of two of {LEAST_WIDTH} to {_MOST_WIDTH} places wide, not {width}")
    if not np.isfinite(weights).all():
        raise ValueError("the weights of a vector must be finite")
    items = len(offsets) - 1
    wholes = np.empty(len(weights), np.int64)
    whole_weights(offsets, weights, wholes)
    rotation = rotation_of(blocks, width, seed)
    out = np.empty((items, blocks, width // _WORD), np.uint64)
    for first in range(0, items, _ITEMS):
        last = min(first + _ITEMS, items)
        dense = np.empty((last - first, width), np.float32)
        bits = np.empty((last - first, 1, width // _WORD), np.uint64)
        for block in range(blocks):
            scatter_rows(offsets, values, wholes, first, np.uint64(seed), block, dense)
            project_signs(dense, *rotation.block(block), bits)
            out[first:last, block] = bits[:, 0]
    return out
