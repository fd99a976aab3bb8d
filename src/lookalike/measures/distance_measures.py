"""Euclidean, Manhattan and Lr distances of dense vectors: stable projections for the bands, exact sums for the rest.

Stable distributions exist for orders up to 2. Above, no family of hash functions is known, and all pairs are compared.
The row of a vector is its components, two float32 a word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa

from lookalike.collide.band import band_keys
from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import key_of, sketch_seed
from lookalike.measure_table import measure_named
from lookalike.measures.base import Judge, Measure
from lookalike.measures.comparable import Comparable, all_rows
from lookalike.measures.vector_measures import component_words, grouped_keys, in_groups, row_offsets
from lookalike.recipe import Recipe
from lookalike.represent.vectors import dense
from lookalike.sketch.codes import CODE_NUMBERS, codes_of_slots
from lookalike.sketch.stable import StableMatrix, stable_matrix, stable_slots_of
from lookalike.types import Dense, F64Array, I64Array, U32Array, U64Array
from lookalike.verify.distances import minkowski
from lookalike.verify.scan import EUCLIDEAN, MANHATTAN, all_pairs_within

__all__ = ["ComponentJudge", "Distance", "DistanceJudge"]

_SCANNED = {1.0: MANHATTAN, 2.0: EUCLIDEAN}


@lru_cache(maxsize=2)
def _directions(dimensions: int, slots: int, order: float, seed: int) -> StableMatrix:
    """The directions of all slots: they take longer to draw than a batch to sketch."""
    return stable_matrix(dimensions, slots, order, seed)


class Distance(Measure):
    """(Σ|x_i - y_i|^r)^(1/r) of vectors of one length."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.dimensions = recipe.dimensions
        self.order = measure_named(recipe.measure).order or 2.0
        self._bands, self._rows = recipe.bands, recipe.rows
        self._width = 1.0 if recipe.width is None else recipe.width
        self._seed = sketch_seed(recipe.seed)
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Dense:
        return in_groups(dense(items, self.dimensions, self._key), groups)

    def sketch(self, items: Dense) -> U32Array:
        if not self._bands:
            return np.empty((len(items), 0), np.uint32)
        assert self.dimensions is not None, "the number of components is known before a vector is hashed"
        directions = _directions(self.dimensions, self._bands * self._rows, self.order, self._seed)
        return stable_slots_of(items.values, directions, self._width)

    def band(self, sketch: U32Array, items: Dense) -> U64Array:
        return grouped_keys(np.ascontiguousarray(band_keys(sketch, self._bands, self._rows).T), items)

    @property
    def code_slots(self) -> int:
        return min(CODE_NUMBERS, self._bands * self._rows)

    def codes(self, sketch: U32Array, items: Dense) -> U64Array:
        return codes_of_slots(sketch)

    def judge(self, config: Config) -> Judge | None:
        if config.verify == "none":
            return None
        if config.verify == "sketch":
            raise OptionError(
                f"verify=sketch is not for {self.recipe.measure}: its slots tell no distance; use exact or none"
            )
        return DistanceJudge(self.order, config.scale.threshold)


class ComponentJudge(Comparable):
    """What compares vectors as they are, whatever they are compared by: a row has their components."""

    lowest = -math.inf

    def lengths(self, sizes: U32Array) -> I64Array:
        return (sizes.astype(np.int64) + 1) // 2

    def rows(self, items: Dense) -> tuple[I64Array, U64Array]:
        words = component_words(items.values if items.present.all() else items.values[items.present])
        return row_offsets(items, words), words.reshape(-1)


class DistanceJudge(ComponentJudge):
    """Compares the vectors themselves; a score is minus the distance."""

    def __init__(self, order: float, threshold: float) -> None:
        self._order = order
        self.threshold = threshold

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        return minkowski(offsets, words, left, right, threshold, self._order)

    def scan(
        self, offsets: I64Array, words: U64Array, threads: int, labels: I64Array | None = None
    ) -> Iterator[tuple[I64Array, I64Array]]:
        if self._order not in _SCANNED or not len(words):
            return all_rows(len(offsets) - 1)
        vectors = words.reshape(len(offsets) - 1, -1).view(np.float32)
        return all_pairs_within(vectors, -self.threshold, threads, _SCANNED[self._order], labels)
