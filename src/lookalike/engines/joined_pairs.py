"""What pairs that only a join of giant buckets found tell about those that all bands missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from lookalike.certify.joined import LOW, JoinedSample
from lookalike.certify.missed import JoinedTerms, joined_terms
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.measures import Measure
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U64Array

__all__ = ["JoinedPairs"]

# Joined pairs whose band keys are made anew at a time.
_REMADE = 1024


class HoldsRows(Protocol):
    """Items, ascending, and the rows that they are compared by."""

    @property
    def items(self) -> I64Array: ...

    @property
    def store(self) -> StoredRows: ...


class CountsGiantBands(Protocol):
    """In which bands items stand in giant buckets: see `collide/giant_bands.py`."""

    def of(self, items: I64Array) -> BoolArray: ...

    def number(self, items: I64Array) -> I64Array: ...


@dataclass(frozen=True, slots=True)
class JoinedPairs:
    """A sample of the pairs that a join found; rows must be what band keys are made of."""

    measure: Measure
    giant_bands: CountsGiantBands
    sample: JoinedSample = field(default_factory=JoinedSample.empty)

    def offer(self, left: I64Array, right: I64Array, similarity: F64Array, weights: F64Array) -> None:
        """Let these pairs, which stand for so many each, join the sample."""
        low = np.minimum(self.giant_bands.number(left), self.giant_bands.number(right)) <= LOW
        one, other = np.minimum(left, right)[low], np.maximum(left, right)[low]
        self.sample.offer(one, other, similarity[low], weights[low])

    def terms(self, held: HoldsRows, chances: Callable[[F64Array], F64Array]) -> JoinedTerms | None:
        """What the sample tells; `chances` are those to meet in some bands, by similarity."""
        sample, weights = self.sample, self.sample.expanded()
        likely = chances(sample.similarities)
        terms: JoinedTerms | None = None
        for at in range(0, max(1, len(weights)), _REMADE):
            some = slice(at, at + _REMADE)
            left, right = sample.left[some], sample.right[some]
            hits = self._keys(held, left) == self._keys(held, right)
            giant = self.giant_bands.of(left), self.giant_bands.of(right)
            more = joined_terms(likely[some], weights[some], hits, *giant)
            terms = more if terms is None else terms + more
        return terms

    def _keys(self, held: HoldsRows, items: I64Array) -> U64Array:
        """The band keys of some items, one row each, from the elements that are compared."""
        rows, back = np.unique(np.searchsorted(held.items, items), return_inverse=True)
        offsets, values = held.store.gather(rows)
        keys = self.measure.keys(Sets(offsets, values, np.zeros((len(rows), 2), np.uint64)))
        return keys.T[back]
