"""Sign bits of vectors: on which side of a random hyperplane each lies, by structured random rotations.

The idea (Charikar 2002). A random hyperplane through the origin separates two vectors with probability angle/π, so one
bit, the sign of the product with a random direction, agrees with 1 - angle/π. Drawn one by one, D directions cost D·d
products a vector. A structured rotation gives n directions at once: flip the signs of the components at random, apply
the Walsh–Hadamard transform (every output is a sum of all components, some of them negated), and repeat, three times in
all. The n outputs are the products with n orthogonal directions that are as good as random, for 3·n·log₂(n) additions.

Source: Andoni, Indyk, Laarhoven, Razenshteyn and Schmidt, "Practical and optimal LSH for angular distance" (2015). Why
three times: after one, (1, 0, 0, …) and (0.8, 0.6, 0, …) agree in every bit, because the sign of ±0.8 ± 0.6 is that of
the first; after two they agree too often (0.810 instead of 0.795 in 64 dimensions); after three the difference is gone
(0.797, and 0.795 in 512). Short vectors are padded with zeros for the same reason.

A block is one such rotation. Directions of one block are orthogonal, those of two blocks independent: a band takes its
bits from as many blocks, so that they agree with the r-th power of one.

Only additions and subtractions, in an order that depends on n alone, sixteen vectors side by side: a vector has the
same bits alone and in any batch, on every machine. A matrix product promises none of that, and took three times as long
(8,192 bits of 384 components, one core: 41 µs, and 124 µs with OpenBLAS).

    n = 2, no flips:  (3, 1) → (4, 2) → (6, 2) → (8, 4), signs 1 1
"""

from __future__ import annotations

import numpy as np

from lookalike.jit import device, kernel
from lookalike.spec import C1, GOLDEN, mix
from lookalike.types import F32Array, U64Array

__all__ = ["fill_flips", "flips", "rotate_signs", "sign_bits", "width_of"]

_ROUNDS = 3
# With fewer components, three rounds do not mix a vector of one component enough.
_LEAST_WIDTH = 128
_LANES = 16
_WORD = 64


def width_of(dimensions: int) -> int:
    """How many components a vector is padded to, and how many bits a block has: a power of two."""
    width = _LEAST_WIDTH
    while width < dimensions:
        width *= 2
    return width


@kernel("void(uint64, float32[:,:,::1])")
def fill_flips(seed, out):
    """The signs of all blocks and rounds, 64 from each mixed number; blocks are the same however many follow."""
    blocks, rounds, width = out.shape
    state = mix(mix(seed) ^ C1)
    words = width // _WORD
    for block in range(blocks):
        for turn in range(rounds):
            for word in range(words):
                number = np.uint64((block * rounds + turn) * words + word + 1)
                bits = mix(state + number * GOLDEN)
                for j in range(_WORD):
                    positive = (bits >> np.uint64(j)) & np.uint64(1)
                    out[block, turn, word * _WORD + j] = np.float32(1.0) if positive else np.float32(-1.0)


def flips(blocks: int, width: int, seed: int) -> F32Array:
    """The random signs of so many blocks."""
    out = np.empty((blocks, _ROUNDS, width), np.float32)
    fill_flips(np.uint64(seed), out)
    return out


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


@kernel("void(Array(float32,2,'C',readonly=True), Array(float32,3,'C',readonly=True), uint64[:,:,::1])")
def rotate_signs(vectors, flips, bits):
    """bits[i, block] = the signs of the rotated vector i, position j in bit j mod 64 of word j / 64; 1 for >= 0."""
    items, dimensions = vectors.shape
    blocks, rounds, width = flips.shape
    padded = np.zeros((width, _LANES), np.float32)
    buffer = np.empty((width, _LANES), np.float32)
    for first in range(0, items, _LANES):
        count = min(_LANES, items - first)
        for lane in range(count):
            for j in range(dimensions):
                padded[j, lane] = vectors[first + lane, j]
        for block in range(blocks):
            for j in range(width):
                flip = flips[block, 0, j]
                for lane in range(_LANES):
                    buffer[j, lane] = padded[j, lane] * flip
            _transform(buffer, width)
            for turn in range(1, rounds):
                for j in range(width):
                    flip = flips[block, turn, j]
                    for lane in range(_LANES):
                        buffer[j, lane] *= flip
                _transform(buffer, width)
            for word in range(width // _WORD):
                for lane in range(count):
                    found = np.uint64(0)
                    for j in range(_WORD):
                        positive = buffer[word * _WORD + j, lane] >= np.float32(0.0)
                        found |= np.uint64(positive) << np.uint64(j)
                    bits[first + lane, block, word] = found


def sign_bits(vectors: F32Array, blocks: int, seed: int) -> U64Array:
    """The sign bits of each vector: blocks · width of them, packed into words."""
    width = width_of(vectors.shape[1])
    out = np.empty((len(vectors), blocks, width // _WORD), np.uint64)
    rotate_signs(np.ascontiguousarray(vectors), flips(blocks, width, seed), out)
    return out
