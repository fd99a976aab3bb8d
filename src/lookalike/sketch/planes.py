"""Sign bits of vectors that are independent of one another: random hyperplanes, drawn one by one.

Bits of a structured projection (`rotation.py`) are cheaper where thousands are wanted, but those of one block depend on
one another. Where it matters how far the number of equal bits may be from what is expected, as for signatures, each
bit has a direction of its own: draws of N(0, 1), as for Euclidean slots. Two vectors at an angle then differ in
Binomial(bits, angle/π) of them, whatever the vectors are. 512 bits of 384 components take 7 µs.

Sums are those of `stable.py`: float64, component after component, no product rounded. The largest error of a sum is
d·2⁻⁵³·Σ|aᵢ·xᵢ|, by Cauchy and Schwarz less than 10⁻¹⁰ of its standard deviation |x| for up to 10,000 components, so a
bit is wrong once in 10¹⁰ times.

    directions (1, -2) and (0, 1):  (3, 1) → 1 and 1, signs 1 1;  (1, 3) → -5 and 3, signs 0 1
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lookalike.kernels.jit import kernel, peek
from lookalike.kernels.simd import LANES
from lookalike.sketch.stable import VECTORS, StableMatrix, group_size, multiply_tile, stable_matrix, turn_group
from lookalike.types import F32Array, U64Array

__all__ = ["plane_rows", "plane_signs"]

_WORD = 64
_PANELS = _WORD // LANES


@lru_cache(maxsize=2)
def _planes(dimensions: int, bits: int, seed: int) -> StableMatrix:
    return stable_matrix(dimensions, bits, 2.0, seed)


@kernel("void(Array(float32,2,'C',readonly=True), Array(float32,3,'C',readonly=True), uint64[:,::1])")
def plane_rows(vectors, panels, words):
    """Bit j of the words of vector i is 1 where its product with direction j is not negative; eight words a panel."""
    items, dimensions = vectors.shape
    flat, source = panels.reshape(panels.size), vectors.reshape(vectors.size)
    group = group_size(dimensions)
    turned = np.zeros(group * dimensions, np.float64)
    tile = np.empty(VECTORS * LANES, np.float64)
    for first in range(0, items, group):
        size = min(group, items - first)
        turn_group(source, first, size, dimensions, turned)
        for panel in range(len(panels)):
            for block in range(0, size, VECTORS):
                multiply_tile(flat, panel * dimensions * LANES, turned, block * dimensions, dimensions, tile)
                for i in range(min(VECTORS, size - block)):
                    found = np.uint64(0)
                    for lane in range(LANES):
                        found |= np.uint64(peek(tile, i * LANES + lane) >= 0.0) << np.uint64(lane)
                    words[first + block + i, panel // _PANELS] |= found << np.uint64(panel % _PANELS * LANES)


def plane_signs(vectors: F32Array, bits: int, seed: int) -> U64Array:
    """So many sign bits of each vector, a multiple of 64, as words."""
    words = np.zeros((len(vectors), bits // _WORD), np.uint64)
    plane_rows(np.ascontiguousarray(vectors), _planes(vectors.shape[1], bits, seed).panels, words)
    return words
