"""How alike any two items are, whether or not their rows are held together.

Items of one component are connected by matches, and nearly all matches come from buckets, whose items are in one part.
Only the audit connects items of different parts, and items that share no bucket with any other and so were not read
again. How alike such an item is to the one that stands for it is told like that of any other: its row is taken from the
part that holds it, or read once more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.budget import Budget
from lookalike.engines.local.held_parts import HeldParts
from lookalike.items.collection import Collection
from lookalike.measures import Judge, Measure
from lookalike.types import F64Array, I64Array, U64Array
from lookalike.verify.verifier import HeldRows, RowsInPlaces, Verifier, VerifierRows

__all__ = ["Scattered"]


@dataclass(frozen=True, slots=True)
class Scattered:
    """The rows of a run of so many items: those of its parts, and others, which are read again."""

    collection: Collection
    measure: Measure
    judge: Judge
    held: HeldParts
    items: int
    budget: Budget

    def similarity(self, left: I64Array, right: I64Array) -> F64Array:
        """The similarity of each pair of items, however low."""
        out, apart = np.empty(len(left)), np.ones(len(left), np.bool_)
        for held, mine, *rows in self.held.together(left, right):
            out[mine], apart[mine] = held.verifier.similarities(*rows), False
        if apart.any():
            out[apart] = self._apart(left[apart], right[apart])
        return out

    def _apart(self, left: I64Array, right: I64Array) -> F64Array:
        held: list[tuple[I64Array, VerifierRows]] = [(each.items, each.store) for each in self.held.parts]
        wanted = np.unique(np.concatenate([left, right]))
        missing = wanted[~np.isin(wanted, np.concatenate([np.empty(0, np.int64), *(items for items, _ in held)]))]
        if len(missing):
            held.append((missing, self._read(missing)))
        return Verifier(self.judge, RowsInPlaces(held), self.budget.gathered).similarities(left, right)

    def _read(self, items: I64Array) -> HeldRows:
        """The rows of items that no part holds."""
        wanted = np.zeros(self.items, np.bool_)
        wanted[items] = True
        lengths: list[I64Array] = [np.zeros(1, np.int64)]
        parts: list[U64Array] = []
        for batch in self.collection.again(wanted, lambda amount: None):
            chosen = np.flatnonzero(wanted[batch.first : batch.first + len(batch.values)])
            groups = None if batch.groups is None else batch.groups[chosen]
            offsets, words = self.judge.rows(self.measure.represent(batch.values.take(pa.array(chosen)), groups))
            lengths.append(np.diff(offsets))
            parts.append(words)
        return HeldRows(np.cumsum(np.concatenate(lengths)), np.concatenate(parts))
