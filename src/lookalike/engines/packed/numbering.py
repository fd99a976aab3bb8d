"""The numbers of items where many tasks read them: which task, and the how manieth there.

An item's number has the number of the part of the input above 33 bits, and its place in that part below: what a task
knows without asking another. Numbers ascend as the items do, and are all that stages need to tell items apart and to
know which comes first. How many items each part has is known when all are read; then each has its place in the whole,
0, 1, 2, …, which is what the user sees, and what the local engine calls the number of an item.

References, which are only compared with, have negative numbers: so they come first, and whoever has a number knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lookalike.types import BoolArray, I64Array, U64Array

__all__ = [
    "FIRST_REFERENCE",
    "NUMBER",
    "POSITION_BITS",
    "Numbering",
    "chunk_of_item",
    "of_references",
    "part_of_item",
    "part_of_key",
]

# The column of the input with the number of each row.
NUMBER = "_lookalike_number"
POSITION_BITS = 33
# What is added to the number of a row of the collection to compare against.
FIRST_REFERENCE = -(1 << 62)
# Items whose stored rows are looked up together: 4,096 rows of 160 words are 5 MB.
_CHUNK_BITS = 12
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@dataclass(frozen=True)
class Numbering:
    """The parts of the input that have items, ascending, and the place in the whole of the first item of each."""

    parts: I64Array
    firsts: I64Array
    total: int

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> Numbering:
        """From the number of items in each part."""
        parts = np.array(sorted(counts), np.int64)
        ends = np.cumsum([counts[int(part)] for part in parts], dtype=np.int64)
        return cls(parts, np.concatenate([[0], ends[:-1]]).astype(np.int64), int(ends[-1]) if len(ends) else 0)

    @property
    def references(self) -> int:
        """How many of the items are references."""
        own = int(np.searchsorted(self.parts, 0))
        return int(self.firsts[own]) if own < len(self.parts) else self.total

    def places(self, numbers: I64Array) -> I64Array:
        """The place of each item among all."""
        part = np.searchsorted(self.parts, numbers >> POSITION_BITS)
        found: I64Array = self.firsts[part] + (numbers & ((1 << POSITION_BITS) - 1))
        return found

    def numbers(self, places: I64Array) -> I64Array:
        """The number of the item in each place."""
        part = np.searchsorted(self.firsts, places, side="right") - 1
        found: I64Array = (self.parts[part] << POSITION_BITS) + places - self.firsts[part]
        return found


def of_references(left: I64Array, right: I64Array) -> BoolArray:
    """Which pairs are of two references: nobody asks for these."""
    both: BoolArray = (left < 0) & (right < 0)
    return both


def chunk_of_item(numbers: I64Array) -> I64Array:
    """The chunk in which the stored row of each item is."""
    return numbers >> _CHUNK_BITS


def part_of_item(numbers: I64Array, parts: int) -> I64Array:
    """Which of so many tasks sees to an item: neighbours go to different ones, so that none has all the long runs."""
    return part_of_key(numbers.astype(np.uint64) * _SPREAD, parts)


def part_of_key(keys: U64Array, parts: int) -> I64Array:
    """Which of so many tasks sees to a key, by its upper bits, which are uniform."""
    found: I64Array = (((keys >> _HALF) * np.uint64(parts)) >> _HALF).astype(np.int64)
    return found
