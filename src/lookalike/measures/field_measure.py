"""Rows compared column by column: the mean of the similarities of their columns, by weight (`verify/field_scores.py`).

Each slot of a sketch is the min-hash of one column, drawn by weight (`sketch/field_minhash.py`), so that a slot agrees
with that mean as its chance. All columns together make a candidate: no single one must be alike, nor is it enough.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from lookalike.collide.band import band_keys
from lookalike.collide.field_prefix import field_prefix
from lookalike.compared_fields import FIELD_SHIFT
from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import key_of, sketch_seed
from lookalike.measures.base import Judge, Measure
from lookalike.measures.comparable import Comparable
from lookalike.recipe import Recipe
from lookalike.represent.field_sets import field_sets
from lookalike.sketch.codes import CODE_NUMBERS, codes_of_slots
from lookalike.sketch.field_minhash import field_winners, sketch_fields
from lookalike.sketch.minhash import constants
from lookalike.types import F64Array, I64Array, Sets, U8Array, U32Array, U64Array
from lookalike.verify.field_scores import field_scores
from lookalike.verify.jaccard import sort_sets

__all__ = ["FieldJudge", "FieldSimilarity"]

_ELEMENT = np.uint64((1 << FIELD_SHIFT) - 1)


class FieldSimilarity(Measure):
    """Σ w·J / Σ w over the columns that either row has."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.weights = np.array([each.weight for each in recipe.compared])
        self._slots, self._seed = recipe.bands * recipe.rows, sketch_seed(recipe.seed)

    @cached_property
    def _constants(self) -> tuple[U32Array, U32Array]:
        return constants(self._slots, self._seed)

    @cached_property
    def _winners(self) -> U8Array:
        return field_winners(self.weights, self._slots, self._seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        sets = field_sets(items, self.recipe.compared, key_of(self.recipe.seed))
        if groups is None:
            return sets
        # The column stays where it is.
        values = sets.values ^ np.repeat(groups & _ELEMENT, sets.sizes)
        return Sets(sets.offsets, values, sets.fingerprints ^ groups[:, None], invalid=sets.invalid, bad=sets.bad)

    def sketch(self, items: Sets) -> U32Array:
        """K slots an item; the elements of a row must stand column by column."""
        return sketch_fields(items, *self._constants, self._winners, len(self.weights))

    def band(self, sketch: U32Array, items: Sets) -> U64Array:
        return np.ascontiguousarray(band_keys(sketch, self.recipe.bands, self.recipe.rows).T)

    @property
    def code_slots(self) -> int:
        return min(CODE_NUMBERS, self._slots)

    def codes(self, sketch: U32Array, items: Sets) -> U64Array:
        return codes_of_slots(sketch)

    def judge(self, config: Config) -> Judge:
        if config.verify != "exact":
            raise OptionError(f"verify={config.verify} does not go with compare: use exact")
        return FieldJudge(config.scale.threshold, self.weights)


class FieldJudge(Comparable):
    """Compares rows column by column."""

    lowest = 0.0
    has_elements = True
    open_probes = False
    # What a shared element adds: see `certify/overlap_audit.py`.
    overlap = "fields"

    def __init__(self, threshold: float, weights: F64Array) -> None:
        self.threshold, self.weights = threshold, weights

    def lengths(self, sizes: U32Array) -> I64Array:
        return sizes.astype(np.int64)

    def rows(self, sets: Sets) -> tuple[I64Array, U64Array]:
        return sets.offsets, sort_sets(sets.offsets, sets.values)

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        return field_scores(offsets, words, left, right, self.weights, threshold)

    def prefix(self, offsets: I64Array, values: U64Array) -> tuple[I64Array, I64Array]:
        """How many of its rarest elements each row needs: as many whether it is the smaller or the larger of a pair."""
        lengths = field_prefix(offsets, values, self.weights, self.threshold)
        return lengths, lengths

    def reach(self, sizes: I64Array) -> None:
        """The sizes of whole rows tell nothing of their columns."""
        return

    def plain_score(self, one: U64Array, other: U64Array) -> float:
        """The similarity by nothing but NumPy, for checks of the kernels."""
        sizes, others = (np.bincount(self.field_of(row), minlength=len(self.weights)) for row in (one, other))
        both = np.bincount(
            self.field_of(np.intersect1d(one, other, assume_unique=True)), minlength=len(self.weights)
        )  # fmt: skip
        either = sizes + others - both
        there = either > 0
        shares = both[there] / either[there]
        return float((self.weights[there] * shares).sum() / self.weights[there].sum()) if there.any() else 0.0

    def field_of(self, elements: U64Array) -> I64Array:
        """The column that each element is of."""
        return (elements >> np.uint64(FIELD_SHIFT)).astype(np.int64)

    def weight_of(self, fields: I64Array) -> F64Array:
        """The weight of some columns together, a bit for each."""
        bits = (np.arange(1 << len(self.weights))[:, None] >> np.arange(len(self.weights))) & 1
        weights: F64Array = (bits @ self.weights)[fields]
        return weights
