"""What pairs that only a join of giant buckets found tell about those that all bands missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.joined import LOW, JoinedSample
from lookalike.certify.missed import JoinedTerms, joined_terms
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.measures import Measure
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U64Array

__all__ = ["JoinedEvidence", "JoinedPairs"]

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

    def evidence(self, held: HoldsRows) -> JoinedEvidence:
        """The sample, with what the bands tell of it."""
        sample, some = self.sample, []
        for at in range(0, max(1, len(sample.left)), _REMADE):
            left, right = sample.left[at : at + _REMADE], sample.right[at : at + _REMADE]
            some.append(self._keys(held, left) == self._keys(held, right))
        giant = self.giant_bands.of(sample.left), self.giant_bands.of(sample.right)
        return JoinedEvidence(sample, np.concatenate(some), *giant)

    def _keys(self, held: HoldsRows, items: I64Array) -> U64Array:
        """The band keys of some items, one row each, from the elements that are compared."""
        rows, back = np.unique(np.searchsorted(held.items, items), return_inverse=True)
        offsets, values = held.store.gather(rows)
        keys = self.measure.keys(Sets(offsets, values, np.zeros((len(rows), 2), np.uint64)))
        return keys.T[back]


@dataclass(frozen=True, slots=True)
class JoinedEvidence:
    """A sample of joined pairs. By its pairs and bands: where a pair met, and where its items are in giant buckets."""

    sample: JoinedSample
    hits: BoolArray
    left: BoolArray
    right: BoolArray

    @classmethod
    def merged(cls, parts: Sequence[JoinedEvidence]) -> JoinedEvidence:
        """That of all joins, no pair being found by two of them."""
        sample, stay = JoinedSample.merged([part.sample for part in parts])
        names = ("hits", "left", "right")
        return cls(sample, *(np.concatenate([getattr(part, name) for part in parts])[stay] for name in names))

    def terms(self, chances: Callable[[F64Array], F64Array]) -> JoinedTerms:
        """What the sample tells; `chances` are those to meet in some bands, by similarity."""
        weights, likely = self.sample.expanded(), chances(self.sample.similarities)
        terms: JoinedTerms | None = None
        for at in range(0, max(1, len(weights)), _REMADE):
            some = slice(at, at + _REMADE)
            more = joined_terms(likely[some], weights[some], self.hits[some], self.left[some], self.right[some])
            terms = more if terms is None else terms + more
        assert terms is not None, "there is a first stretch"
        return terms

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """The same as plain arrays of one dimension."""
        bands = {name: getattr(self, name).reshape(-1) for name in ("hits", "left", "right")}
        return {f"sample {name}": array for name, array in self.sample.as_arrays().items()} | bands

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], bands: int) -> JoinedEvidence:
        """The evidence whose `as_arrays` this is, for so many bands."""
        sample = {name.removeprefix("sample "): array for name, array in arrays.items() if name.startswith("sample ")}
        hits, left, right = (arrays[name].reshape(-1, bands) for name in ("hits", "left", "right"))
        return cls(JoinedSample.from_arrays(sample), hits, left, right)
