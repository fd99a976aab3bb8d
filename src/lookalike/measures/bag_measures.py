"""Weighted sets: weighted Jaccard by consistent sampling, and their cosine by the signs of random projections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.collide.band import band_keys
from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import key_of, sketch_seed
from lookalike.measures.base import Judge, Measure, is_list
from lookalike.measures.comparable import Comparable
from lookalike.measures.set_measures import in_groups
from lookalike.measures.shingled_texts import Texts
from lookalike.recipe import Recipe
from lookalike.represent.bags import bags
from lookalike.sketch.codes import CODE_BITS, CODE_NUMBERS, codes_of_bits, codes_of_slots
from lookalike.sketch.dart_minhash import sketch_bags
from lookalike.sketch.signs import blocks_for, sign_keys
from lookalike.sketch.sparse import LEAST_WIDTH, sparse_sign_bits
from lookalike.types import F64Array, I64Array, Sets, U32Array, U64Array
from lookalike.verify.weighted import bag_rows, sparse_cosine, weighted_jaccard

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["BagJudge", "SparseCosine", "WeightedJaccard"]


def holds_bags(kind: pa.DataType) -> bool:
    """Whether a column holds elements, with or without weights, and not text."""
    return is_list(kind) or bool(pa.types.is_map(kind) or pa.types.is_struct(kind))


def bags_of(items: pa.Array, key: U64Array, *, negative: bool) -> Sets:
    """The bags of a column."""
    found = bags(items, key=key, negative=negative)
    return Sets(found.offsets, found.values, found.fingerprints, weights=found.weights, bad=found.bad)


class WeightedJaccard(Measure):
    """Σ min / Σ max of the weights of two bags."""

    def __init__(self, recipe: Recipe, frequencies: Frequencies | None = None) -> None:
        self.recipe = recipe
        self._texts = Texts(recipe, frequencies)
        self._bands, self._rows = recipe.bands, recipe.rows
        self._seed = sketch_seed(recipe.seed)
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        found = bags_of(items, self._key, negative=False) if holds_bags(items.type) else self._texts.bags(items)
        return in_groups(found, groups)

    def sketch(self, items: Sets) -> U32Array:
        if not self._bands:
            return np.empty((len(items), 0), np.uint32)
        assert items.weights is not None
        return sketch_bags(items.offsets, items.values, items.weights, self._bands * self._rows, self._seed)

    def band(self, sketch: U32Array, items: Sets) -> U64Array:
        return np.ascontiguousarray(band_keys(sketch, self._bands, self._rows).T)

    @property
    def code_slots(self) -> int:
        return min(CODE_NUMBERS, self._bands * self._rows)

    def codes(self, sketch: U32Array, items: Sets) -> U64Array:
        return codes_of_slots(sketch)

    def judge(self, config: Config) -> Judge | None:
        if config.verify == "none":
            return None
        if config.verify == "sketch":
            raise OptionError("verify=sketch is not for weighted-jaccard: use exact or none")
        return BagJudge(config.scale.threshold, weighted_jaccard, "least")


class SparseCosine(Measure):
    """u·v / |u||v| of vectors of which only the components that are not 0 are named; those without any are bad."""

    def __init__(self, recipe: Recipe, frequencies: Frequencies | None = None) -> None:
        self.recipe = recipe
        self._texts = Texts(recipe, frequencies)
        self._bands, self._rows = recipe.bands, recipe.rows
        self._seed = sketch_seed(recipe.seed)
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        found = bags_of(items, self._key, negative=True) if holds_bags(items.type) else self._texts.bags(items)
        return in_groups(found, groups)

    def sketch(self, items: Sets) -> U64Array:
        assert items.weights is not None
        blocks = blocks_for(self._bands, self._rows, LEAST_WIDTH)
        if not blocks:
            return np.empty((len(items), 0, LEAST_WIDTH // 64), np.uint64)
        return sparse_sign_bits(items.offsets, items.values, items.weights, blocks, LEAST_WIDTH, self._seed)

    def band(self, sketch: U64Array, items: Sets) -> U64Array:
        return sign_keys(sketch, self._bands, self._rows)

    @property
    def code_slots(self) -> int:
        return min(CODE_BITS, blocks_for(self._bands, self._rows, LEAST_WIDTH) * LEAST_WIDTH)

    def codes(self, sketch: U64Array, items: Sets) -> U64Array:
        return codes_of_bits(sketch)

    def judge(self, config: Config) -> Judge | None:
        if config.verify == "none":
            return None
        if config.verify == "sketch":
            raise OptionError("verify=sketch is for the cosine of dense vectors: use exact or none")
        return BagJudge(config.scale.threshold, sparse_cosine, "product")


class BagJudge(Comparable):
    """Compares bags by their sorted elements and weights."""

    lowest = -math.inf

    def __init__(self, threshold: float, compare: Callable[..., F64Array], overlap: str) -> None:
        self.threshold = threshold
        self._compare = compare
        # What a shared element adds to the overlap of two bags: its smaller weight, or the product of its weights.
        self.overlap = overlap

    def lengths(self, sizes: U32Array) -> I64Array:
        wide = sizes.astype(np.int64)
        return wide + (wide + 1) // 2

    def rows(self, items: Sets) -> tuple[I64Array, U64Array]:
        assert items.weights is not None
        return bag_rows(items.offsets, items.values, items.weights)

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        return self._compare(offsets, words, left, right, threshold)
