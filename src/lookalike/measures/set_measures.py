"""Jaccard on sets, of which shingled text is the common case, and identity.

A sketch is a set too, of K elements (slot, value): two sketches that agree in a share a of their slots have a
similarity of a / (2 - a), so the very same comparison tells a.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.collide.band import band_keys
from lookalike.collide.prefix import jaccard_reach, prefix_lengths
from lookalike.config import Config
from lookalike.key import key_of, sketch_seed
from lookalike.measures.base import Judge, Measure, Unsketched, has_weights, is_list
from lookalike.measures.comparable import Comparable
from lookalike.measures.shingled_texts import Texts
from lookalike.recipe import Recipe
from lookalike.represent.buffers import text_buffers
from lookalike.represent.elements import element_sets, hash_ints, hash_raw
from lookalike.represent.text_sets import shingle_texts
from lookalike.sketch.codes import CODE_NUMBERS, codes_of_slots
from lookalike.sketch.minhash import constants, sketch_sets
from lookalike.types import F64Array, I64Array, Sets, U32Array, U64Array
from lookalike.verify.jaccard import similarities, sort_sets

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["Identity", "Jaccard", "SetJudge", "SketchJudge", "in_groups"]


class Jaccard(Measure):
    """|A∩B| / |A∪B| of shingle sets or of sets as they are."""

    def __init__(self, recipe: Recipe, frequencies: Frequencies | None = None) -> None:
        self.recipe = recipe
        self._texts = Texts(recipe, frequencies)
        self._bands, self._rows = recipe.bands, recipe.rows
        self._seed = sketch_seed(recipe.seed)
        self._key = key_of(recipe.seed)
        # Of rows of 0 and 1, how many of each there are.
        self._columns = recipe.dimensions if recipe.form == "columns" else None

    @property
    def slots(self) -> int:
        """K, the length of a sketch."""
        return self._bands * self._rows

    @cached_property
    def _constants(self) -> tuple[U32Array, U32Array]:
        return constants(self.slots, self._seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        """Rows of 0 and 1, elements with weights, lists of elements; anything else must be text."""
        return in_groups(self._sets(items), groups)

    def _sets(self, items: pa.Array) -> Sets:
        if self._columns is not None or has_weights(items.type):
            # Text and lists, which are more common, need not load these.
            from lookalike.represent.zero_one import column_sets, unweighted_sets

            if self._columns is None:
                return unweighted_sets(items, self._key)
            return column_sets(items, self._columns, self._key)
        return element_sets(items, self._key) if is_list(items.type) else self._texts.sets(items)

    def sketch(self, items: Sets) -> U32Array:
        """K slots an item."""
        return sketch_sets(items, *self._constants)

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
        return SketchJudge(self, config.threshold) if config.verify == "sketch" else SetJudge(config.threshold)


class _OfSets(Comparable):
    """What is the same for all judges of sorted sets."""

    lowest = 0.0
    threshold: float
    has_elements = True
    open_probes = False
    compare = staticmethod(similarities)

    def prefix(self, offsets: I64Array, values: U64Array) -> tuple[I64Array, I64Array]:
        """How many of its rarest elements each set needs, as the smaller and as the larger of a pair."""
        return prefix_lengths(np.diff(offsets), self.threshold)

    def reach(self, sizes: I64Array) -> tuple[F64Array, F64Array]:
        """What a set of so many adds to the elements that a match may have apart, as the smaller and as the larger."""
        return jaccard_reach(sizes, self.threshold)

    def plain_score(self, one: U64Array, other: U64Array) -> float:
        """The Jaccard similarity by nothing but NumPy, for checks of the kernels."""
        both = len(np.intersect1d(one, other, assume_unique=True))
        return both / max(1, len(one) + len(other) - both)


class SetJudge(_OfSets):
    """Compares the sets themselves."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def lengths(self, sizes: U32Array) -> I64Array:
        """How many words the row of each item has that candidates are compared on."""
        return sizes.astype(np.int64)

    def rows(self, sets: Sets) -> tuple[I64Array, U64Array]:
        """(offsets, words) of those rows, each sorted."""
        return sets.offsets, sort_sets(sets.offsets, sets.values)

    def similarity(self, jaccard: F64Array) -> F64Array:
        """The similarity of two items from that of their rows."""
        return jaccard


class SketchJudge(_OfSets):
    """Compares the sketches: the share of slots that agree stands for the similarity, and precision is not 1."""

    def __init__(self, measure: Jaccard, threshold: float) -> None:
        self._measure = measure
        # A pair matches from this number of equal slots on; in whole slots, so that nothing is lost by rounding.
        needed = max(1, math.ceil(threshold * measure.slots - 1e-9))
        self.threshold = needed / (2 * measure.slots - needed)

    def lengths(self, sizes: U32Array) -> I64Array:
        """K words each."""
        return np.full(len(sizes), self._measure.slots, np.int64)

    def rows(self, sets: Sets) -> tuple[I64Array, U64Array]:
        return self.rows_of(self._measure.sketch(sets))

    def rows_of(self, sketches: U32Array) -> tuple[I64Array, U64Array]:
        """A word for each slot: its number above its value, mixed so that words are as uniform as elements."""
        slots = sketches.astype(np.uint64)
        slots |= np.arange(self._measure.slots, dtype=np.uint64) << np.uint64(32)
        offsets = np.arange(0, slots.size + 1, self._measure.slots, dtype=np.int64)
        return offsets, sort_sets(offsets, hash_ints(slots.reshape(-1)))

    def similarity(self, jaccard: F64Array) -> F64Array:
        """j = a / (2 - a) solved for a, in whole slots."""
        slots = self._measure.slots
        return np.where(jaccard < 0, jaccard, np.rint(2.0 * jaccard / (1.0 + jaccard) * slots) / slots)


class Identity(Unsketched):
    """Similarity 1 for identical items, 0 for all others: what `exact` means. It has fingerprints and no sketch."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._form = recipe.form
        self._key = key_of(recipe.seed)
        self._dimensions = recipe.dimensions
        # The whole text is one shingle; where there is none, its bytes are compared.
        self._whole = recipe.shingle

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Sets:
        return in_groups(self._represent(items), groups)

    def _printed(self, items: pa.Array) -> Sets:
        """Vectors and bits by their fingerprints alone: one element each, so that missing ones count as empty."""
        from lookalike.represent.vectors import dense, packed_bits

        if self._form == "vectors":
            found = dense(items, self._dimensions, self._key)
            present, prints, bad = found.present, found.fingerprints, found.bad
        else:
            _, present, prints, bad = packed_bits(items, self._dimensions, self._key)
        ends = np.concatenate([[0], np.cumsum(present)]).astype(np.int64)
        return Sets(ends, np.ascontiguousarray(prints[present, 0]), prints, bad=bad)

    def _represent(self, items: pa.Array) -> Sets:
        if self._form in ("vectors", "bits", "columns"):
            return self._printed(items)
        if self._form == "bags":
            from lookalike.represent.bags import bags

            found = bags(items, key=self._key, negative=True)
            return Sets(found.offsets, found.values, found.fingerprints, bad=found.bad)
        if is_list(items.type):
            return element_sets(items, self._key)
        if self._whole is not None:
            # Each text is one shingle, the whole; that is no sign of a short one.
            return replace(shingle_texts(items, self._whole, key=self._key), short=0)
        data, offsets = text_buffers(items)
        fingerprints: U64Array = hash_raw(data, offsets, self._key)
        # One element where there is text, so that empty items are counted as such.
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(offsets) > 0, dtype=np.int64)])
        return Sets(ends, fingerprints[np.diff(offsets) > 0, 0], fingerprints)

    def judge(self, config: Config) -> Judge | None:
        return SetJudge(config.threshold)


def in_groups(sets: Sets, groups: U64Array | None) -> Sets:
    """The sets with their group in every element and fingerprint, so that items of different groups share nothing."""
    if groups is None:
        return sets
    values = sets.values ^ np.repeat(groups, sets.sizes)
    return replace(sets, values=values, fingerprints=sets.fingerprints ^ groups[:, None])
