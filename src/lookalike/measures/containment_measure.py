"""Containment of sets and shingled text: how much of one item is inside another, |A∩B| / |A|.

It is not symmetric. The score of a pair is that of the smaller item in the larger one, which is the greater of both
directions; the sizes tell which is which, and the other direction too.

There is no sketch. Min-hash knows the Jaccard similarity, which for a page inside a book is near 0, so that bands of
one row and thousands of them would be needed; an exact join by rare elements (`collide/prefix.py`) finds every pair,
whatever the sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.collide.prefix import containment_lengths, containment_reach
from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.measures.base import Judge, Unsketched
from lookalike.measures.comparable import Comparable
from lookalike.measures.set_measures import Jaccard
from lookalike.recipe import Recipe
from lookalike.types import F64Array, I64Array, Sets, U32Array, U64Array
from lookalike.verify.containment import containments
from lookalike.verify.jaccard import sort_sets

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["Containment", "ContainmentJudge"]


class Containment(Unsketched):
    """|A∩B| / |A| of shingle sets or of sets as they are."""

    def __init__(self, recipe: Recipe, frequencies: Frequencies | None = None) -> None:
        self.recipe = recipe
        self._sets = Jaccard(recipe, frequencies)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        return self._sets.represent(items, groups)

    def judge(self, config: Config) -> Judge:
        if config.verify != "exact":
            raise OptionError(f"verify={config.verify} is not for containment, which has no sketch: use exact")
        return ContainmentJudge(config.threshold)


class ContainmentJudge(Comparable):
    """Compares the sets themselves."""

    lowest = 0.0
    has_elements = True
    open_probes = True
    compare = staticmethod(containments)

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def lengths(self, sizes: U32Array) -> I64Array:
        return sizes.astype(np.int64)

    def rows(self, sets: Sets) -> tuple[I64Array, U64Array]:
        return sets.offsets, sort_sets(sets.offsets, sets.values)

    def prefix(self, offsets: I64Array, values: U64Array) -> tuple[I64Array, I64Array]:
        """How many of its rarest elements each set needs, as the smaller and as the larger of a pair."""
        return containment_lengths(np.diff(offsets), self.threshold)

    def reach(self, sizes: I64Array) -> tuple[F64Array, F64Array]:
        """What a set of so many adds to the elements that a match may have apart, as the smaller and as the larger."""
        return containment_reach(sizes, self.threshold)

    def plain_score(self, one: U64Array, other: U64Array) -> float:
        """The containment by nothing but NumPy, for checks of the kernels."""
        both = len(np.intersect1d(one, other, assume_unique=True))
        return both / max(1, min(len(one), len(other)))
