"""Stable projections: in which interval of a random line each vector falls, for Euclidean, Manhattan and Lr distances.

The idea (Datar, Immorlica, Indyk and Mirrokni 2004). Project the vectors on a random direction a whose components are
draws from a stable distribution (`draws.py`): the projections of x and y lie as far apart as one draw times their
distance. Cut the line into intervals of length w, from a random point on; close vectors often fall into the same one,
distant ones seldom. `theory.Stable` has the chance. A slot is

    slot j = the upper 32 bits of mix(floor((aⱼ·x)/w + uⱼ)),      uⱼ even in (0, 1),

the floor taken as the 64 bits of a float64, so that no number is too large for it. Unequal intervals agree with a
chance of 2⁻³².

The products are summed in float64, component after component, and none of them needs rounding, since both factors are
float32: a vector has the same slots alone and in any batch, on every machine. Even at 10⁶ widths from the origin the
sum is exact to 10⁻⁹ of a width or so.

Layout: eight slots side by side (a panel, components one after another), six vectors at a time: 48 running sums are
what fits the registers, and each number loaded is used six or eight times. A panel stays in the first-level cache while
a group of vectors passes by. Measured on one core with AVX-512: see `docs/internals.md`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.kernels.jit import device, kernel, peek, poke
from lookalike.kernels.simd import LANES, broadcast, load, multiply_add, store, zeros
from lookalike.sketch.draws import draw, uniform
from lookalike.spec import C2, GOLDEN, mix
from lookalike.types import F32Array, F64Array, U32Array

__all__ = ["StableMatrix", "fill_stable", "project_rows", "stable_matrix", "stable_slots_of"]


_SHIFT = np.uint64(32)
VECTORS = 6
# A group of vectors as float64 takes about a quarter of a megabyte: it stays in the second-level cache.
_GROUP_NUMBERS = 1 << 15


class StableMatrix(NamedTuple):
    """The random directions of some slots: panels[p, i, l] is component i of slot 8·p + l, starts[j] is uⱼ.

    The last panel may be part of a panel only; it is filled with slots that nobody asks for.
    """

    slots: int
    panels: F32Array
    starts: F64Array


@kernel("void(uint64, float64, float32[:,:,::1], float64[::1])")
def fill_stable(seed, order, panels, starts):
    """The directions and starts of all slots; a slot is the same however many slots and components there are."""
    dimensions = panels.shape[1]
    state = mix(mix(seed) ^ C2)
    for j in range(len(starts)):
        column = mix(state + np.uint64(j + 1) * GOLDEN)
        starts[j] = uniform(mix(column))
        for i in range(dimensions):
            panels[j // LANES, i, j % LANES] = draw(column, i, order)


def stable_matrix(dimensions: int, slots: int, order: float, seed: int) -> StableMatrix:
    """The random directions of so many slots."""
    panels = np.empty((-(-slots // LANES), dimensions, LANES), np.float32)
    starts = np.empty(len(panels) * LANES, np.float64)
    fill_stable(np.uint64(seed), order, panels, starts)
    return StableMatrix(slots, panels, starts)


@device
def turn_group(source, first, size, dimensions, turned):
    """Vectors first … first + size - 1 as float64, six side by side, component after component."""
    for i in range(size):
        to = i // VECTORS * dimensions * VECTORS + i % VECTORS
        for k in range(dimensions):
            poke(turned, to + k * VECTORS, np.float64(peek(source, (first + i) * dimensions + k)))


@device
def multiply_tile(flat, at, turned, x, dimensions, tile):
    """tile[8·i + l] = the product of vector i of the six from turned[x] with direction l of the panel from flat[at].

    The sum runs over components in order.
    """
    a, b, c, d, e, f = zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
    for _ in range(dimensions):
        row = load(flat, at)
        a = multiply_add(row, broadcast(peek(turned, x)), a)
        b = multiply_add(row, broadcast(peek(turned, x + 1)), b)
        c = multiply_add(row, broadcast(peek(turned, x + 2)), c)
        d = multiply_add(row, broadcast(peek(turned, x + 3)), d)
        e = multiply_add(row, broadcast(peek(turned, x + 4)), e)
        f = multiply_add(row, broadcast(peek(turned, x + 5)), f)
        at += LANES
        x += VECTORS
    store(tile, 0, a)
    store(tile, 8, b)
    store(tile, 16, c)
    store(tile, 24, d)
    store(tile, 32, e)
    store(tile, 40, f)


@device
def group_size(dimensions):
    """How many vectors are worked on at a time: whole sixes that stay in the second-level cache."""
    return VECTORS * max(1, min(16, _GROUP_NUMBERS // (VECTORS * max(dimensions, 1))))


@kernel(
    "void(Array(float32,2,'C',readonly=True), Array(float32,3,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "float64, uint32[:,::1])"
)
def project_rows(vectors, panels, starts, width, slots):
    """slots[i, j] = the upper half of mix(floor((aⱼ·xᵢ)/width + uⱼ)); the sum runs over components in order."""
    items, dimensions = vectors.shape
    count, wanted = len(panels), slots.shape[1]
    flat, source, out = panels.reshape(panels.size), vectors.reshape(vectors.size), slots.reshape(slots.size)
    group = group_size(dimensions)
    turned = np.zeros(group * dimensions, np.float64)
    tile = np.empty(VECTORS * LANES, np.float64)
    bits = tile.view(np.uint64)
    for first in range(0, items, group):
        size = min(group, items - first)
        turn_group(source, first, size, dimensions, turned)
        for panel in range(count):
            lanes = min(LANES, wanted - panel * LANES)
            for block in range(0, size, VECTORS):
                multiply_tile(flat, panel * dimensions * LANES, turned, block * dimensions, dimensions, tile)
                # Whole panels, whether they are wanted or not: loops of a known length run eight at a time.
                for i in range(VECTORS):
                    for lane in range(LANES):
                        k = i * LANES + lane
                        poke(tile, k, np.floor(np.divide(peek(tile, k), width) + peek(starts, panel * LANES + lane)))
                for k in range(VECTORS * LANES):
                    poke(bits, k, mix(peek(bits, k)) >> _SHIFT)
                for i in range(min(VECTORS, size - block)):
                    to = (first + block + i) * wanted + panel * LANES
                    for lane in range(lanes):
                        poke(out, to + lane, np.uint32(peek(bits, i * LANES + lane)))


def stable_slots_of(vectors: F32Array, matrix: StableMatrix, width: float) -> U32Array:
    """The slots of each vector, for directions that were made before."""
    slots = np.empty((len(vectors), matrix.slots), np.uint32)
    project_rows(vectors, matrix.panels, matrix.starts, width, slots)
    return slots
