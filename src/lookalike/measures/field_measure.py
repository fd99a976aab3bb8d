"""Rows compared column by column: the mean of the similarities of their columns, by weight (`verify/field_scores.py`).

There is no sketch. A mean that reaches the threshold says little of any single column: titles may differ as long as
authors and year agree. Bands of each column would have to go as low as all others together allow; the exact join by
rare elements (`collide/field_prefix.py`) weighs the elements of all columns against each other, and finds every pair.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.collide.field_prefix import field_prefix
from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import key_of
from lookalike.measures.base import Judge, Unsketched
from lookalike.measures.comparable import Comparable
from lookalike.recipe import Recipe
from lookalike.represent.field_sets import FIELD_SHIFT, field_sets
from lookalike.types import F64Array, I64Array, Sets, U32Array, U64Array
from lookalike.verify.field_scores import field_scores
from lookalike.verify.jaccard import sort_sets

__all__ = ["FieldJudge", "FieldSimilarity"]

_ELEMENT = np.uint64((1 << FIELD_SHIFT) - 1)


class FieldSimilarity(Unsketched):
    """Σ w·J / Σ w over the columns that both rows have."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        sets = field_sets(items, self.recipe.compared, self._key)
        if groups is None:
            return sets
        # The column stays where it is.
        values = sets.values ^ np.repeat(groups & _ELEMENT, sets.sizes)
        return Sets(sets.offsets, values, sets.fingerprints ^ groups[:, None], invalid=sets.invalid, bad=sets.bad)

    def judge(self, config: Config) -> Judge:
        if config.verify != "exact":
            raise OptionError(f"verify={config.verify} does not go with compare, which has no sketch: use exact")
        return FieldJudge(config.scale.threshold, np.array([each.weight for each in self.recipe.compared]))


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
        return field_scores(offsets, words, left, right, self.weights)

    def prefix(self, offsets: I64Array, values: U64Array) -> tuple[I64Array, I64Array]:
        """How many of its rarest elements each row needs: as many whether it is the smaller or the larger of a pair."""
        lengths = field_prefix(offsets, values, self.weights, self.threshold)
        return lengths, lengths

    def reach(self, sizes: I64Array) -> None:
        """Nothing is known: a column that one of two rows lacks may be of any size."""
        return

    def field_of(self, elements: U64Array) -> I64Array:
        """The column that each element is of."""
        return (elements >> np.uint64(FIELD_SHIFT)).astype(np.int64)

    def present_weight(self, fields: I64Array) -> F64Array:
        """What a sum is divided by where two rows have these columns in common, a bit for each."""
        bits = (np.arange(1 << len(self.weights))[:, None] >> np.arange(len(self.weights))) & 1
        weights: F64Array = np.maximum(bits @ self.weights, 0.5 * self.weights.sum())
        return weights[fields]
