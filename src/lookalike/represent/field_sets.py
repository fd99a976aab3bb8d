"""Rows of several columns as one set each: the elements of all columns, with the column in their top bits.

    title "To be"    word:1   {to, be}         0|to  0|be
    year  1603       equal    {1603}           1|1603

So a row that is sorted has its columns one after another, and all that works on sets works on rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.compared_fields import FIELD_SHIFT, ComparedField
from lookalike.kernels.jit import kernel
from lookalike.key import PUBLIC_KEY
from lookalike.represent.elements import element_sets
from lookalike.represent.text_sets import shingle_texts
from lookalike.spec import GOLDEN, mix
from lookalike.types import I64Array, Sets, U64Array

__all__ = ["field_sets"]

_ELEMENT = np.uint64((1 << FIELD_SHIFT) - 1)


@kernel("void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), uint64, int64[::1], uint64[::1])")
def place_field(offsets, values, field, free, out):
    """out[free[i]], … = the elements of row i with the field in their top bits; free[i] is then what follows them."""
    top = field << np.uint64(FIELD_SHIFT)
    for i in range(len(offsets) - 1):
        at = free[i]
        for j in range(offsets[i], offsets[i + 1]):
            out[at] = (values[j] & _ELEMENT) | top
            at += 1
        free[i] = at


@kernel("void(Array(uint64,2,'C',readonly=True), uint64, uint64[:,::1])")
def join_fingerprints(more, field, fingerprints):
    """Put those of one more field into the fingerprints of rows."""
    for i in range(len(fingerprints)):
        for half in range(2):
            fingerprints[i, half] = mix((fingerprints[i, half] + more[i, half]) * GOLDEN + field)


def field_sets(rows: pa.StructArray, compared: Sequence[ComparedField], key: U64Array = PUBLIC_KEY) -> Sets:
    """The set of each row of a batch, which has a column for each of `compared`."""
    parts = [_of_column(rows.field(number), each, key) for number, each in enumerate(compared)]
    sizes = np.sum([part.sizes for part in parts], axis=0, dtype=np.int64)
    offsets: I64Array = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    values, free = np.empty(int(offsets[-1]), np.uint64), offsets[:-1].copy()
    fingerprints = np.zeros((len(rows), 2), np.uint64)
    for number, part in enumerate(parts):
        place_field(part.offsets, part.values, np.uint64(number), free, values)
        join_fingerprints(part.fingerprints, np.uint64(number), fingerprints)
    bad = sorted({row: what for part in parts for row, what in part.bad}.items())
    return Sets(offsets, values, fingerprints, invalid=max(part.invalid for part in parts), bad=bad)


def _of_column(column: pa.Array, compared: ComparedField, key: U64Array) -> Sets:
    """The elements of one column; that a text is shorter than a shingle is nothing to be told of a name or a year."""
    if compared.shingle is None:
        return element_sets(column, key)
    return shingle_texts(column, compared.shingle, key=key)
