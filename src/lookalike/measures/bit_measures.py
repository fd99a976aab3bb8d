"""Hamming similarity of strings of bits: sampled bits for the bands, counted differences for the rest."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.errors import OptionError
from lookalike.key import key_of, sketch_seed
from lookalike.measures.base import Judge, Measure
from lookalike.measures.comparable import Comparable
from lookalike.measures.vector_measures import grouped_keys, in_groups, row_offsets
from lookalike.recipe import Recipe
from lookalike.represent.vectors import packed_bits
from lookalike.sketch.codes import CODE_BITS, sampled_codes
from lookalike.sketch.sampling import sampled_keys
from lookalike.types import Dense, F64Array, I64Array, U32Array, U64Array
from lookalike.verify.hamming import hamming

__all__ = ["BitJudge", "Hamming"]


class Hamming(Measure):
    """The share of the bits in which two strings of one length agree."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.bits = recipe.dimensions
        self._bands, self._rows = recipe.bands, recipe.rows
        self._seed = sketch_seed(recipe.seed)
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Dense:
        found = packed_bits(items, self.bits, self._key)
        return in_groups(Dense(found.words, found.fingerprints, found.present, found.bad), groups)

    def sketch(self, items: Dense) -> U64Array:
        """The strings themselves: keys look at some of their bits."""
        return items.values

    def band(self, sketch: U64Array, items: Dense) -> U64Array:
        if not self._bands:
            return np.empty((0, len(items)), np.uint64)
        return grouped_keys(sampled_keys(sketch, self._length, self._bands, self._rows, self._seed), items)

    @property
    def code_slots(self) -> int:
        return min(CODE_BITS, self._length)

    def codes(self, sketch: U64Array, items: Dense) -> U64Array:
        return sampled_codes(sketch, self._length, self._seed)

    @property
    def _length(self) -> int:
        assert self.bits is not None, "the number of bits is known before a string is hashed"
        return self.bits

    def judge(self, config: Config) -> Judge | None:
        if config.verify == "none":
            return None
        if config.verify == "sketch":
            raise OptionError("verify=sketch is not for hamming: comparing the bits themselves takes no longer")
        return BitJudge(self.bits or 1, config.threshold)


class BitJudge(Comparable):
    """Counts the bits that differ."""

    lowest = -math.inf

    def __init__(self, bits: int, threshold: float) -> None:
        self._bits = bits
        self.threshold = threshold

    def lengths(self, sizes: U32Array) -> I64Array:
        return sizes.astype(np.int64)

    def rows(self, items: Dense) -> tuple[I64Array, U64Array]:
        words = items.values if items.present.all() else items.values[items.present]
        return row_offsets(items, words), np.ascontiguousarray(words).reshape(-1)

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        return hamming(offsets, words, left, right, threshold, self._bits)
