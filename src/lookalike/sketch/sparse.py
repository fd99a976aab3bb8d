"""Sign bits of sparse vectors: features hashed to a short dense vector, which is then rotated at random.

The idea. A structured rotation (`rotation.py`) wants a dense vector, and features are 64-bit hashes. So each block
hashes every feature afresh to one of `width` places, with a random sign (count sketch: Charikar, Chen and
Farach-Colton 2002; Weinberger et al. 2009 for cosine), and rotates the vector that comes of it. Products are kept on
average, so a bit agrees with 1 - angle/π as before, and blocks are independent of one another: r bits from r blocks
agree with the r-th power of one.

Why 1,024 places at least. Features that fall on one place are taken for one another, which changes the cosine of a
block. Over many blocks that hardly shows: for vectors of one and two features a bit agrees too often or too rarely by
1/(4·width) at most, 2·10⁻⁴ at 1,024, and for vectors of many the changes up and down cancel. But all bits of a block
share the change, and where two features are all there is, they may make all bits disagree, with a chance of
1/(2·width). Bands that take one bit from each of the same r blocks then fail together: 1% of the time for r = 20 at
1,024, 8% at 128. A block of 1,024 took 5.2 µs for 150 features, nearly all of it the rotation.

Sums are of whole numbers, weights as multiples of 2⁻⁴⁰ of the largest: the same in any order of the features.

    width 4, features at places 2, 0, 2 with signs +, -, -, weights 3, 1, 2:  (-1, 0, 1, 0)
"""

from __future__ import annotations

import math

import numpy as np

from lookalike.jit import kernel
from lookalike.sketch.rotation import flips, rotate_signs
from lookalike.spec import C1, GOLDEN, mix
from lookalike.types import F32Array, I64Array, U64Array

__all__ = ["LEAST_WIDTH", "scatter_rows", "sparse_sign_bits", "whole_weights"]

LEAST_WIDTH = 1024

# A weight is a whole number of this many bits, fewer where so many of them would not fit into a sum.
_BITS = 40
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
        room = 62
        while (1 << (62 - room)) < end - start:
            room -= 1
        scale = math.ldexp(1.0, min(_BITS, room) - math.frexp(largest)[1])
        for i in range(start, end):
            out[i] = np.int64(np.float64(weights[i]) * scale)


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "int64, uint64, int64, float32[:,::1])"
)
def scatter_rows(offsets, values, wholes, first, seed, block, out):
    """out[i, j] = the sum, with signs, of the weights of row first + i whose features this block puts to place j."""
    items, width = out.shape
    state = mix(mix(mix(seed) + C1) + np.uint64(block + 1) * GOLDEN)
    shift = np.uint64(64)
    while (1 << np.int64(np.uint64(64) - shift)) < width:
        shift -= _ONE
    sums = np.empty(width, np.int64)
    for i in range(items):
        sums[:] = 0
        for at in range(offsets[first + i], offsets[first + i + 1]):
            h = mix(values[at] ^ state)
            w = wholes[at]
            sums[np.int64(h >> shift)] += w if h & _ONE else -w
        for j in range(width):
            out[i, j] = np.float32(sums[j])


def sparse_sign_bits(
    offsets: I64Array, values: U64Array, weights: F32Array, blocks: int, width: int, seed: int
) -> U64Array:
    """The sign bits of each sparse vector, (n, blocks, width / 64) words; weights are finite, of either sign.

    `width` is a power of two, LEAST_WIDTH or more. A vector without any weight has all bits set: it has no direction.
    """
    if width < LEAST_WIDTH or width & (width - 1):
        raise ValueError(f"a block is a power of two of at least {LEAST_WIDTH} places wide, not {width}")
    if not np.isfinite(weights).all():
        raise ValueError("the weights of a vector must be finite")
    items = len(offsets) - 1
    wholes = np.empty(len(weights), np.int64)
    whole_weights(offsets, weights, wholes)
    signs = flips(blocks, width, seed)
    out = np.empty((items, blocks, width // _WORD), np.uint64)
    for first in range(0, items, _ITEMS):
        last = min(first + _ITEMS, items)
        dense = np.empty((last - first, width), np.float32)
        bits = np.empty((last - first, 1, width // _WORD), np.uint64)
        for block in range(blocks):
            scatter_rows(offsets, values, wholes, first, np.uint64(seed), block, dense)
            rotate_signs(dense, signs[block : block + 1], bits)
            out[first:last, block] = bits[:, 0]
    return out
