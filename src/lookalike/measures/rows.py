"""Rows of candidates, whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lookalike.types import I64Array

__all__ = ["all_rows"]


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
