"""What two texts share: which of their shingles, and where those stand in the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.represent.text_sets import shingle_texts, spans_of
from lookalike.shingle import Shingle
from lookalike.types import BoolArray, I64Array, U64Array

__all__ = ["Comparison", "compare_texts"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The shingle sets of two texts, side by side.

    `shared_a` and `shared_b` mark the bytes of each text (as UTF-8) that stand in a shared shingle.
    """

    size_a: int
    size_b: int
    both: int
    shared_a: BoolArray
    shared_b: BoolArray

    @property
    def similarity(self) -> float:
        """Jaccard: shared shingles in all shingles; 0 where there are none."""
        either = self.size_a + self.size_b - self.both
        return self.both / either if either else 0.0

    @property
    def a_in_b(self) -> float:
        """The share of a's shingles that b has."""
        return self.both / self.size_a if self.size_a else 0.0

    @property
    def b_in_a(self) -> float:
        """The share of b's shingles that a has."""
        return self.both / self.size_b if self.size_b else 0.0


def compare_texts(a: bytes, b: bytes, shingle: Shingle) -> Comparison:
    """Compare two texts as the pipeline would, and mark what they share."""
    sets = shingle_texts(pa.array([a, b], pa.large_binary()), shingle)
    first, second = sets.values[: sets.offsets[1]], sets.values[sets.offsets[1] :]
    both = len(np.intersect1d(first, second, assume_unique=True))
    return Comparison(len(first), len(second), both, _marks(a, second, shingle), _marks(b, first, shingle))


def _marks(text: bytes, other: U64Array, shingle: Shingle) -> BoolArray:
    """The bytes of `text` that stand in a shingle which is also in `other`, and what only stands between such ones."""
    hashes, spans = spans_of(text, shingle)
    marks = _covered(len(text), spans[np.isin(hashes, other)])
    # Punctuation that is in no shingle is no difference: it goes with what stands on both sides of it.
    edges = np.diff(np.concatenate([[True], _covered(len(text), spans), [True]]).astype(np.int8))
    for begin, end in zip(np.flatnonzero(edges < 0), np.flatnonzero(edges > 0), strict=True):
        before, after = begin == 0 or marks[begin - 1], end == len(text) or marks[end]
        marks[begin:end] = before and after and end - begin < len(text)
    return marks


def _covered(size: int, spans: I64Array) -> BoolArray:
    """The bytes that are in any of some spans: +1 where one begins, -1 where it ends, and the sum is above 0."""
    steps = np.zeros(size + 1, np.int64)
    np.add.at(steps, spans[:, 0], 1)
    np.add.at(steps, spans[:, 1], -1)
    covered: BoolArray = np.cumsum(steps[:-1]) > 0
    return covered
