"""Specimens: the texts of a few items, for people to look at in the report.

To read single rows of a large collection again is expensive, so they are chosen before the second pass and caught as
they pass by: some pairs that share a bucket, items of the largest buckets, and those with the most identical copies.
Which of them turn out to be matches or clusters is seen later; there are enough of them to choose from.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.collide.fold import Folds
from lookalike.grouping import Grouped
from lookalike.measures import is_list
from lookalike.types import BoolArray, I64Array

__all__ = ["Specimens", "choose"]

_PAIRS = 300
_LARGEST = 12
_COPIES = 30
# Characters of a text that are kept.
_MOST = 4000


class Specimens:
    """Texts by item number, caught while the items pass by."""

    def __init__(self, items: I64Array, texts: dict[int, str] | None = None) -> None:
        self.items = np.unique(items)
        self.texts = texts or {}

    def catch(self, first: int, values: pa.Array) -> None:
        """Keep the texts of the chosen ones among the items first, first + 1, … ; may be called from any thread."""
        begin, end = np.searchsorted(self.items, [first, first + len(values)])
        for item in self.items[begin:end].tolist():
            self.texts[item] = _text(values[item - first])


def _text(value: pa.Scalar) -> str:
    if not value.is_valid:
        return ""
    if is_list(value.type):
        return ", ".join(str(element) for element in value.as_py()[:200])
    # An item may be very long: only its beginning is decoded.
    beginning: bytes = value.as_buffer()[: 4 * _MOST].to_pybytes()
    return beginning.decode("utf-8", "replace")[:_MOST]


def choose(grouped: Grouped, folds: Folds, active: BoolArray) -> Specimens:
    """Which items to catch; the same for the same buckets."""
    rng = np.random.default_rng(0)
    items: list[I64Array] = []
    sizes = [np.diff(each.starts) for each in grouped.bands]
    total = sum(len(each) for each in sizes)
    for groups, counts in zip(grouped.bands, sizes, strict=True):
        if not len(counts):
            continue
        share = min(len(counts), -(-_PAIRS * len(counts) // total))
        for bucket in rng.choice(len(counts), share, replace=False):
            other = 1 + int(rng.integers(counts[bucket] - 1))
            items.append(groups.members[groups.starts[bucket] + np.array([0, other])].astype(np.int64))
        for bucket in np.argsort(-counts, kind="stable")[: max(1, _LARGEST // len(sizes))]:
            places = np.linspace(0, counts[bucket] - 1, 4).astype(np.int64)
            items.append(groups.members[groups.starts[bucket] + places].astype(np.int64))
    giant = np.flatnonzero(grouped.giant)
    items.append(giant[np.unique(np.linspace(0, max(0, len(giant) - 1), _LARGEST * 4).astype(np.int64))[: len(giant)]])
    copies = np.flatnonzero((folds.sizes > 1) & active)
    items.append(copies[np.argsort(-folds.sizes[copies], kind="stable")[:_COPIES]])
    return Specimens(np.concatenate(items))
