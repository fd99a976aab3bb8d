"""The arrays that pass between the steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "Dense",
    "F32Array",
    "F64Array",
    "I32Array",
    "I64Array",
    "Sets",
    "U8Array",
    "U16Array",
    "U32Array",
    "U64Array",
]

U8Array = NDArray[np.uint8]
U16Array = NDArray[np.uint16]
U32Array = NDArray[np.uint32]
U64Array = NDArray[np.uint64]
I32Array = NDArray[np.int32]
I64Array = NDArray[np.int64]
F32Array = NDArray[np.float32]
F64Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sets:
    """A batch of sets: item i has the distinct elements values[offsets[i] : offsets[i + 1]].

    `fingerprints[i]` are 128 bits of the set (of the raw bytes for an item without elements): equal for identical
    items only. `invalid` counts items with invalid UTF-8 (replaced by U+FFFD), `short` those with fewer tokens than a
    shingle (one shingle, the whole). With `weights`, one for each of the values, they are weighted sets, or bags.
    """

    offsets: I64Array
    values: U64Array
    fingerprints: U64Array
    invalid: int = 0
    short: int = 0
    weights: F32Array | None = None
    # Items that cannot be compared, and are therefore empty: (row, what is wrong with it).
    bad: list[tuple[int, str]] = field(default_factory=list)
    # What else was seen, by the name of its counter.
    noted: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> I64Array:
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Dense:
    """A batch of vectors of one length: row i of `values`, float32 components or words of packed bits.

    Items that are not `present` are null, or `bad`: (row, what is wrong with it); their values are 0. `groups` tells
    apart the items that must not be compared.
    """

    values: NDArray[Any]
    fingerprints: U64Array
    present: BoolArray
    bad: list[tuple[int, str]] = field(default_factory=list)
    groups: U64Array | None = None
    invalid: int = 0
    short: int = 0
    noted: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def sizes(self) -> I64Array:
        """As many as there are components, or words; 0 for an item that is not present."""
        return np.where(self.present, self.values.shape[1], 0)
