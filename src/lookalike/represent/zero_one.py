"""Sets that are written as rows of 0 and 1, or as elements of weight 1: each is the set of the columns that it has.

    1 0 1 1 0   →   {0, 2, 3}

A row that holds anything else is told in `bad`, and is empty.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.key import PUBLIC_KEY
from lookalike.represent.bags import bags
from lookalike.represent.elements import element_sets
from lookalike.represent.vectors import packed_bits
from lookalike.types import Sets, U64Array

__all__ = ["column_numbers", "column_sets", "unweighted_sets"]


def column_numbers(items: pa.Array, columns: int | None) -> tuple[pa.Array, list[tuple[int, str]]]:
    """The columns in which each row has a 1, as lists, and what is wrong with some rows.

    Rows are lists of booleans or of numbers 0 and 1, or packed bits, as `packed_bits` takes them.
    """
    found = packed_bits(items, columns)
    bits = np.unpackbits(found.words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
    ends = np.concatenate([[0], np.cumsum(bits.sum(axis=1, dtype=np.int64))])
    numbers = pa.array(np.nonzero(bits)[1], pa.int64())
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), numbers), found.bad


def column_sets(items: pa.Array, columns: int | None, key: U64Array = PUBLIC_KEY) -> Sets:
    """The sets of columns of rows of 0 and 1, which have so many columns."""
    numbers, bad = column_numbers(items, columns)
    sets = element_sets(numbers, key)
    sets.bad.extend(bad)
    return sets


def unweighted_sets(items: pa.Array, key: U64Array = PUBLIC_KEY) -> Sets:
    """The sets of elements with weights, which must be 1; those of weight 0 are none."""
    found = bags(items, key=key, negative=True)
    row = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))
    bad = dict(found.bad)
    for place in np.flatnonzero(found.weights != 1)[::-1].tolist():
        bad[int(row[place])] = (
            f"has an element of weight {found.weights[place]:g}, and only weighted-jaccard has weights"
        )
    wrong = np.zeros(len(found.offsets) - 1, np.bool_)
    wrong[list(bad)] = True
    ends = np.concatenate([[0], np.cumsum(np.where(wrong, 0, np.diff(found.offsets)))]).astype(np.int64)
    return Sets(ends, found.values[~wrong[row]], found.fingerprints, bad=sorted(bad.items()))
