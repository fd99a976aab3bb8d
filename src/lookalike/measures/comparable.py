"""Rows of candidates, whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lookalike.collide.buckets import Likeness
from lookalike.types import BoolArray, F64Array, I64Array, U64Array

__all__ = ["Comparable", "all_rows"]


class Comparable:
    """What judges of any rows have in common: nothing is known of a pair before it is compared."""

    has_elements = False

    def plain(self) -> Any:
        """There are no signatures."""
        return self

    def crossed(self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array) -> BoolArray:
        """Any row may match any other."""
        return np.ones((len(left), len(right)), np.bool_)

    def similarity(self, scores: F64Array) -> F64Array:
        """Rows are as alike as their items."""
        return scores

    def likeness(self, offsets: I64Array, words: U64Array) -> Likeness | None:
        """There are no signatures."""
        return None

    def scan(
        self, offsets: I64Array, words: U64Array, threads: int, labels: I64Array | None = None
    ) -> Iterator[tuple[I64Array, I64Array]]:
        """Every pair."""
        return all_rows(len(offsets) - 1)


def all_rows(rows: int, block: int = 1 << 15) -> Iterator[tuple[I64Array, I64Array]]:
    """Every pair of rows, about so many at a time."""
    first = 0
    while first < rows - 1:
        # As many whole rows of the triangle as fit, and at least one.
        last = min(rows - 1, first + max(1, block // (rows - first)))
        left = np.repeat(np.arange(first, last), rows - 1 - np.arange(first, last))
        right = np.concatenate([np.arange(row + 1, rows) for row in range(first, last)])
        yield left, right
        first = last
