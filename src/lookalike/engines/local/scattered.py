"""How alike two items are whose rows are not held together.

Items of one component are connected by matches, and nearly all matches come from buckets, whose items are in one part.
Only the audit connects items of different parts, and items that share no bucket with any other and so were not read
again. How alike such an item is to the one that stands for it is told like that of any other: its row is taken from the
part that holds it, or read once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.items.collection import Collection
from lookalike.measures import Judge, Measure
from lookalike.types import F64Array, I64Array, U64Array
from lookalike.verify.verifier import HeldRows, RowsInPlaces, Verifier, VerifierRows

__all__ = ["Scattered"]


@dataclass(frozen=True, slots=True)
class Scattered:
    """The rows of a run of so many items: `held` has the items of each part and their store; others are read again.

    No more than `gathered` bytes of rows are taken together at a time.
    """

    collection: Collection
    measure: Measure
    judge: Judge
    held: Sequence[tuple[I64Array, VerifierRows]]
    items: int
    gathered: int

    def similarity(self, left: I64Array, right: I64Array) -> F64Array:
        """The similarity of each pair of items, however low."""
        loose = self._read(np.unique(np.concatenate([left, right])))
        return Verifier(self.judge, RowsInPlaces([*loose, *self.held]), self.gathered).similarities(left, right)

    def _read(self, items: I64Array) -> list[tuple[I64Array, VerifierRows]]:
        """Those items that no part holds."""
        missing = items[~np.isin(items, np.concatenate([np.empty(0, np.int64), *(some for some, _ in self.held)]))]
        if not len(missing):
            return []
        wanted = np.zeros(self.items, np.bool_)
        wanted[missing] = True
        lengths: list[I64Array] = [np.zeros(1, np.int64)]
        parts: list[U64Array] = []
        for batch in self.collection.again(wanted, lambda amount: None):
            chosen = np.flatnonzero(wanted[batch.first : batch.first + len(batch.values)])
            groups = None if batch.groups is None else batch.groups[chosen]
            offsets, words = self.judge.rows(self.measure.represent(batch.values.take(pa.array(chosen)), groups))
            lengths.append(np.diff(offsets))
            parts.append(words)
        return [(missing, HeldRows(np.cumsum(np.concatenate(lengths)), np.concatenate(parts)))]
