"""Sign bits of vectors: on which side of a random hyperplane each lies, by structured random projections.

The idea (Charikar 2002). A random hyperplane through the origin separates two vectors with probability angle/π, so one
bit, the sign of the product with a random direction, agrees with 1 - angle/π. Drawn one by one, D directions cost D·d
products a vector. A structured projection gives n of them at once, for 2·n·log₂(n) additions:

    flip the signs of the components at random       D, so that no vector stays concentrated after
    the Walsh–Hadamard transform,                    H: every output is a sum of all components, some of them negated
    shuffle,                                         Π
    multiply by n draws of N(0, 1),                  G
    and transform again:                             w = H·G·Π·H·D, one row for each bit

Every single bit is exactly right, for every pair of vectors. Row p of w is Σⱼ ±gⱼ·qⱼ, where the qⱼ are the rows of
Π·H·D: orthogonal and of one length. The signs do not matter to a normal draw, so the row is a Gaussian vector in some
turned system of coordinates, that is, in any: its direction is even over the sphere. A plain sequence of flips and
transforms has no such property, however long: its sums of few components cancel. For (1, 1, 0, 0, …) three rounds of
128 leave one sum in fifty at exactly 0, and there the sign is that of the difference of the two components: vectors on
either side of the diagonal then differ in each such bit, whatever their angle.

Bits of one block share their draws, and so depend on one another a little; bits of two blocks do not. With z = Π·H·D·x
the projections p and q of x have the correlation Σⱼ ±zⱼ² / Σⱼ zⱼ², its signs those of row p ^ q of H. Half of them are
negative, and the shuffle puts zⱼ² to them at random, so it is of the size √(κ/n), κ being the relative variance of zⱼ²:
0 for a vector of one component, 1 for two equal ones, and 2 for many. A band takes its bits from as many blocks, so
that they agree with the r-th power of one. Short vectors are padded with zeros, to n = 128 at least, which keeps the
correlation low.

Sources: Ailon and Chazelle, "Approximate nearest neighbors and the fast Johnson–Lindenstrauss transform" (2006); Le,
Sarlós and Smola, "Fastfood" (2013) for H·G·Π·H·D.

Rounding. A vector is multiplied by a power of two first, so that nothing overflows. Of 2·log₂(n) + 1 operations in
float32 each is off by 2⁻²⁴ of its result, which moves a projection by some 10⁻⁷ of its standard deviation: one bit in
ten million is not the one of exact arithmetic.

Only additions, subtractions and one product, in an order that depends on n alone, sixteen vectors side by side: a
vector has the same bits alone and in any batch, on every machine. A matrix product promises none of that, and took four
times as long (8,192 bits of 384 components, one core: OpenBLAS took 124 µs).

    n = 2, no flips, order (second, first), draws (2, 3):  (3, 1) → (4, 2) → (2, 4) → (4, 12) → (16, -8): signs 1 0
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.sketch.draws import draw
from lookalike.spec import C1, GOLDEN, mix
from lookalike.types import F32Array, I64Array, U64Array

__all__ = ["Rotation", "fill_rotation", "project_signs", "rotation_of", "sign_bits", "width_of"]

# Correlations of bits of one block are of the size of √(2/n).
_LEAST_WIDTH = 128
_LANES = 16
_WORD = 64
_HALF = np.uint64(32)


class Rotation(NamedTuple):
    """What is random in some blocks, each (blocks, width): ±1 for each component, their new order, the draws."""

    flips: F32Array
    order: I64Array
    draws: F32Array

    def block(self, number: int) -> Rotation:
        """One of the blocks, alone."""
        one = slice(number, number + 1)
        return Rotation(self.flips[one], self.order[one], self.draws[one])


def width_of(dimensions: int) -> int:
    """How many components a vector is padded to, and how many bits a block has: a power of two."""
    width = _LEAST_WIDTH
    while width < dimensions:
        width *= 2
    return width


@kernel("void(uint64, float32[:,::1], int64[:,::1], float32[:,::1])")
def fill_rotation(seed, flips, order, draws):
    """All that is random, out of mixed numbers; blocks are the same however many follow."""
    blocks, width = flips.shape
    for block in range(blocks):
        state = mix(mix(mix(seed) ^ C1) + np.uint64(block + 1) * GOLDEN)
        for word in range(width // _WORD):
            bits = mix(state + np.uint64(word + 1) * GOLDEN)
            for j in range(_WORD):
                positive = (bits >> np.uint64(j)) & np.uint64(1)
                flips[block, word * _WORD + j] = np.float32(1.0) if positive else np.float32(-1.0)
        for j in range(width):
            order[block, j] = j
        for j in range(width - 1, 0, -1):
            upper = mix(state + np.uint64(width + j) * GOLDEN) >> _HALF
            other = np.int64((upper * np.uint64(j + 1)) >> _HALF)
            order[block, j], order[block, other] = order[block, other], order[block, j]
        column = mix(state)
        for j in range(width):
            draws[block, j] = draw(column, j, 2.0)


@lru_cache(maxsize=4)
def rotation_of(blocks: int, width: int, seed: int) -> Rotation:
    """What is random in so many blocks; kept, since a draw takes as long as ten vectors take for a component."""
    shape = (blocks, width)
    found = Rotation(np.empty(shape, np.float32), np.empty(shape, np.int64), np.empty(shape, np.float32))
    fill_rotation(np.uint64(seed), *found)
    return found


@device
def _transform(buffer, width):
    """The Walsh–Hadamard transform of each lane, in place; two stages at a time, for half the loads and stores."""
    h = 1
    while 4 * h <= width:
        for i in range(0, width, 4 * h):
            for j in range(i, i + h):
                for lane in range(_LANES):
                    a, b = buffer[j, lane], buffer[j + h, lane]
                    c, d = buffer[j + 2 * h, lane], buffer[j + 3 * h, lane]
                    e, f, g, k = a + b, a - b, c + d, c - d
                    buffer[j, lane] = e + g
                    buffer[j + h, lane] = f + k
                    buffer[j + 2 * h, lane] = e - g
                    buffer[j + 3 * h, lane] = f - k
        h *= 4
    if h < width:
        for j in range(h):
            for lane in range(_LANES):
                a, b = buffer[j, lane], buffer[j + h, lane]
                buffer[j, lane] = a + b
                buffer[j + h, lane] = a - b


@kernel(
    "void(Array(float32,2,'C',readonly=True), Array(float32,2,'C',readonly=True), Array(int64,2,'C',readonly=True), "
    "Array(float32,2,'C',readonly=True), uint64[:,:,::1])"
)
def project_signs(vectors, flips, order, draws, bits):
    """bits[i, block] = the signs of the projections of vector i, position j in bit j mod 64 of word j / 64; 1 for >= 0.

    A vector is scaled by a power of two so that its largest component is from 1/2 to 1.
    """
    items, dimensions = vectors.shape
    blocks, width = flips.shape
    padded = np.zeros((width, _LANES), np.float32)
    buffer = np.empty((width, _LANES), np.float32)
    shuffled = np.empty((width, _LANES), np.float32)
    for first in range(0, items, _LANES):
        count = min(_LANES, items - first)
        for lane in range(count):
            largest = np.float32(0.0)
            for j in range(dimensions):
                largest = max(largest, abs(vectors[first + lane, j]))
            scale = math.ldexp(1.0, -math.frexp(np.float64(largest))[1])
            for j in range(dimensions):
                padded[j, lane] = np.float32(np.float64(vectors[first + lane, j]) * scale)
        for block in range(blocks):
            for j in range(width):
                flip = flips[block, j]
                for lane in range(_LANES):
                    buffer[j, lane] = padded[j, lane] * flip
            _transform(buffer, width)
            for j in range(width):
                source, factor = order[block, j], draws[block, j]
                for lane in range(_LANES):
                    shuffled[j, lane] = buffer[source, lane] * factor
            _transform(shuffled, width)
            for word in range(width // _WORD):
                for lane in range(count):
                    found = np.uint64(0)
                    for j in range(_WORD):
                        positive = shuffled[word * _WORD + j, lane] >= np.float32(0.0)
                        found |= np.uint64(positive) << np.uint64(j)
                    bits[first + lane, block, word] = found


def sign_bits(vectors: F32Array, blocks: int, seed: int) -> U64Array:
    """The sign bits of each vector: blocks · width of them, packed into words."""
    width = width_of(vectors.shape[1])
    out = np.empty((len(vectors), blocks, width // _WORD), np.uint64)
    project_signs(np.ascontiguousarray(vectors), *rotation_of(blocks, width, seed), out)
    return out
