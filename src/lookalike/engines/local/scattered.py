"""How alike two items are whose rows are not held together.

Items of one component are connected by matches, and nearly all matches come from buckets, whose items are in one part.
Only the audit connects items of different parts, and items that share no bucket with any other and so were not read
again. How alike such an item is to the one that stands for it is told like that of any other: its row is taken from the
part that holds it, or read once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.items.collection import Collection
from lookalike.measures import Judge, Measure
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["Scattered"]

# Pairs that are compared at a time.
_SOME = 4096


@dataclass(frozen=True, slots=True)
class Scattered:
    """The rows of a run of so many items: `held` has the items of each part and their store; others are read again."""

    collection: Collection
    measure: Measure
    judge: Judge
    held: Sequence[tuple[I64Array, StoredRows]]
    items: int

    def similarity(self, left: I64Array, right: I64Array) -> F64Array:
        """The similarity of each pair of items, however low."""
        loose = self._read(np.unique(np.concatenate([left, right])))
        places = loose + tuple(self.held)
        out = np.empty(len(left), np.float64)
        for start in range(0, len(left), _SOME):
            some = slice(start, start + _SOME)
            wanted, which = np.unique(np.concatenate([left[some], right[some]]), return_inverse=True)
            one, other = np.split(which.astype(np.int64), 2)
            scores = self.judge.compare(*_gathered(wanted, places), one, other, self.judge.lowest)
            out[some] = self.judge.similarity(scores)
        return out

    def _read(self, items: I64Array) -> tuple[tuple[I64Array, StoredRows], ...]:
        """A store of those items that no part holds."""
        missing = items[~np.isin(items, np.concatenate([np.empty(0, np.int64), *(some for some, _ in self.held)]))]
        if not len(missing):
            return ()
        wanted = np.zeros(self.items, np.bool_)
        wanted[missing] = True
        lengths: list[I64Array] = []
        parts: list[U64Array] = []
        for batch in self.collection.again(wanted, lambda amount: None):
            chosen = np.flatnonzero(wanted[batch.first : batch.first + len(batch.values)])
            groups = None if batch.groups is None else batch.groups[chosen]
            offsets, words = self.judge.rows(self.measure.represent(batch.values.take(pa.array(chosen)), groups))
            lengths.append(np.diff(offsets))
            parts.append(words)
        store = StoredRows(np.concatenate(lengths))
        store.put(0, len(missing), np.concatenate(parts))
        return ((missing, store),)


def _gathered(wanted: I64Array, places: Sequence[tuple[I64Array, StoredRows]]) -> tuple[I64Array, U64Array]:
    """(offsets, words) of some items in their order, each from the store that has it."""
    found = list(_pieces(wanted, places))
    lengths = np.zeros(len(wanted), np.int64)
    for mine, offsets, _ in found:
        lengths[mine] = np.diff(offsets)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = np.empty(starts[-1], np.uint64)
    for mine, offsets, piece in found:
        words[np.repeat(starts[mine] - offsets[:-1], np.diff(offsets)) + np.arange(len(piece))] = piece
    return starts, words


def _pieces(
    wanted: I64Array, places: Sequence[tuple[I64Array, StoredRows]]
) -> Iterator[tuple[I64Array, I64Array, U64Array]]:
    """Which of the wanted items each store has, with their rows."""
    for items, store in places:
        at = np.searchsorted(items, wanted)
        mine = np.flatnonzero((at < len(items)) & (items[np.minimum(at, len(items) - 1)] == wanted))
        if len(mine):
            yield mine, *store.gather(at[mine])
