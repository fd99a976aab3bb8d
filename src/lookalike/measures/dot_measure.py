"""Inner products of dense vectors, which are not scaled: all pairs are compared.

A longer vector has larger products with all others, itself first, so that "alike" is no more than a word here: two
identical vectors may be below the threshold that two others meet. So copies are not folded (`MeasureTraits.boundless`),
and no hash function meets more often where a product is larger. The row of a vector is its components, two a word.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import key_of
from lookalike.measures.base import Judge, Unsketched
from lookalike.measures.comparable import all_rows
from lookalike.measures.distance_measures import ComponentJudge
from lookalike.measures.vector_measures import in_groups
from lookalike.recipe import Recipe
from lookalike.represent.vectors import dense
from lookalike.types import Dense, F64Array, I64Array, U64Array
from lookalike.verify.dot import inner_products
from lookalike.verify.scan import all_pairs_multiplied

__all__ = ["Dot", "DotJudge"]


class Dot(Unsketched):
    """x·y of vectors of one length."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.dimensions = recipe.dimensions
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Dense:
        return in_groups(dense(items, self.dimensions, self._key), groups)

    def judge(self, config: Config) -> Judge | None:
        if config.verify != "exact":
            raise OptionError(f"verify={config.verify} is not for dot: there are no sketches of products, use exact")
        return DotJudge(config.scale.threshold)


class DotJudge(ComponentJudge):
    """Multiplies the vectors themselves."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        return inner_products(offsets, words, left, right, threshold)

    def scan(
        self, offsets: I64Array, words: U64Array, threads: int, labels: I64Array | None = None
    ) -> Iterator[tuple[I64Array, I64Array]]:
        if not len(words):
            return all_rows(len(offsets) - 1)
        vectors = words.reshape(len(offsets) - 1, -1).view(np.float32)
        return all_pairs_multiplied(vectors, self.threshold, threads, labels)
