"""Min-hash of rows that are compared column by column: each slot is the min-hash of one column, drawn by weight.

The idea. Let every slot have its own random order of the columns, in which column f comes first with a chance of
w_f / W, and take the min-hash of the first column that the row has. Two rows agree in a slot if the first column that
either of them has is one that both have, and its min-hashes agree:

    Pr = Σ over the columns f of both  w_f / (the weight of the columns of either) · J_f

which is their similarity itself (`verify/field_scores.py`). So bands, plans and certificates are those of plain sets.

    weights 2 and 1, orders of 3 slots:  title year | year title | title year
    a row with both:                     h1(title)    h2(year)     h3(title)
    a row without a year:                h1(title)    h2(title)    h3(title)

An order is a race of exponential draws: column f arrives at -ln(u) / w_f, and the first is each with its share of the
weight, also of those that a row has. The draws of a column depend on the seed and its place alone, so of equal orders
two rows have the same; a table has the winner for every choice of columns and every slot.
"""

from __future__ import annotations

import numpy as np

from lookalike.compared_fields import FIELD_SHIFT
from lookalike.kernels.jit import kernel
from lookalike.sketch.draws import uniform
from lookalike.sketch.minhash import EMPTY_SLOT, minhash_row
from lookalike.spec import GOLDEN, ln, mix
from lookalike.types import F64Array, Sets, U8Array, U32Array

__all__ = ["field_winners", "sketch_fields"]

_SHIFT = np.uint64(FIELD_SHIFT)
_ABOVE = np.uint64(64 - FIELD_SHIFT)
# What tells the draws of columns from all others that are made of the same seed.
_RACE = np.uint64(0x6A09E667F3BCC909)


@kernel("void(Array(float64,1,'C',readonly=True), uint64, uint8[:,::1])")
def _fill_winners(weights, seed, winners):
    state = mix(seed ^ _RACE)
    fields, slots = len(weights), winners.shape[1]
    arrivals = np.empty(fields, np.float64)
    for slot in range(slots):
        for field in range(fields):
            drawn = mix(state + np.uint64(slot * fields + field + 1) * GOLDEN)
            arrivals[field] = -ln(uniform(drawn)) / weights[field]
        for there in range(1, len(winners)):
            best = -1
            for field in range(fields):
                if there >> field & 1 and (best < 0 or arrivals[field] < arrivals[best]):
                    best = field
            winners[there, slot] = best


def field_winners(weights: F64Array, slots: int, seed: int) -> U8Array:
    """winners[there, j] = the column whose min-hash slot j has of a row with these columns, a bit for each."""
    winners = np.zeros((1 << len(weights), slots), np.uint8)
    _fill_winners(weights, np.uint64(seed), winners)
    return winners


@kernel(
    "void(Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "Array(uint32,1,'C',readonly=True), Array(uint8,2,'C',readonly=True), int64, uint64[::1], uint32[:,::1], "
    "uint32[:,::1])"
)
def _sketch_rows(values, offsets, a, b, winners, fields, spare, slots, signatures):
    """signatures[i] = the slots of row i, whose columns stand one after another.

    `spare` holds the longest row, and `slots` a sketch of each column.
    """
    for row in range(len(offsets) - 1):
        there, at, end = 0, offsets[row], offsets[row + 1]
        while at < end:
            field, begin = np.int64(values[at] >> _SHIFT), at
            while at < end and np.int64(values[at] >> _SHIFT) == field:
                # Min-hash reads the upper half of an element, in which there must be nothing but its hash.
                spare[at - begin] = values[at] << _ABOVE
                at += 1
            minhash_row(spare, 0, at - begin, a, b, slots, field)
            there |= 1 << field
        for j in range(len(a)):
            field = np.int64(winners[there, j])
            # What two columns have in common is no agreement.
            signatures[row, j] = slots[field, j] ^ np.uint32(field) if there else EMPTY_SLOT


def sketch_fields(sets: Sets, a: U32Array, b: U32Array, winners: U8Array, fields: int) -> U32Array:
    """The signatures of a batch of rows, K slots each."""
    signatures = np.empty((len(sets), len(a)), np.uint32)
    spare = np.empty(int(sets.sizes.max(initial=0)), np.uint64)
    slots = np.empty((fields, len(a)), np.uint32)
    _sketch_rows(sets.values, sets.offsets, a, b, winners, fields, spare, slots, signatures)
    return signatures
