"""Cosine of dense vectors: sign bits for the bands, signatures in front of the comparison, matrix products for all.

The row of a vector has a signature of 512 sign bits, its length, and its components:

    [8 words: signature] [1 word: length as float64] [d/2 words: components, two float32 each]

Each bit of the signature has a direction of its own (`sketch/planes.py`), and none that a band has. So for every two
vectors the bits that differ are Binomial(512, 1 - p(s)), whatever the bands say: a pair passes with the chance that
these do not exceed `most`, which is set so that one in 100,000 pairs at the threshold is lost, and fewer above it.

A bit takes time in proportion to the components, so of more than 512 components there are 256 bits. At 1,536 that
saves 14 µs a vector, for which 70 more candidates of it may be compared. At a threshold of 0.8 signatures of 512 bits
rule out pairs up to a cosine of 0.63, and 256 bits up to 0.56.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from lookalike.collide.buckets import Likeness
from lookalike.config import Config
from lookalike.key import key_of, sketch_seed
from lookalike.measures.base import Judge, Measure
from lookalike.measures.comparable import Comparable
from lookalike.recipe import Recipe
from lookalike.represent.vectors import dense
from lookalike.sketch.codes import CODE_BITS, codes_of_bits
from lookalike.sketch.planes import plane_signs
from lookalike.sketch.rotation import sign_bits, width_of
from lookalike.sketch.signs import blocks_for, sign_keys
from lookalike.theory.differing import most_differing
from lookalike.theory.families import cosine as agreeing
from lookalike.types import BoolArray, Dense, F32Array, F64Array, I64Array, U32Array, U64Array
from lookalike.verify.cosine import cosine, norms
from lookalike.verify.products import products_of
from lookalike.verify.scan import all_pairs_above

__all__ = ["Cosine", "CosineJudge", "SignJudge", "signs_allowed"]

# Bits of a signature, of vectors of up to so many components, and of more.
_BITS, _SHORT, _FEWER_BITS = 512, 512, 256
# Of the pairs at the threshold, the share that the signature may lose.
_LOSS = 1e-5
# The signature's directions are those of another seed.
_SIGNATURE_SEED = 0x5157_4E41_5455_5245


class Cosine(Measure):
    """u·v / |u||v| of vectors of one length; a vector of zeros has no direction, and is bad."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.dimensions = recipe.dimensions
        self._bands, self._rows = recipe.bands, recipe.rows
        self._seed = sketch_seed(recipe.seed)
        self._key = key_of(recipe.seed)

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Dense:
        found = dense(items, self.dimensions, self._key)
        zero = np.flatnonzero(found.present & ~found.values.any(axis=1))
        if len(zero):
            present = found.present.copy()
            present[zero] = False
            bad = [*found.bad, *((int(row), "is zero and has no direction") for row in zero)]
            found = replace(found, present=present, bad=sorted(bad))
        return in_groups(found, groups)

    def sketch(self, items: Dense) -> U64Array:
        if not self._bands:
            return np.empty((len(items), 0, 1), np.uint64)
        return sign_bits(items.values, blocks_for(self._bands, self._rows, self._width), self._seed)

    def band(self, sketch: U64Array, items: Dense) -> U64Array:
        return grouped_keys(sign_keys(sketch, self._bands, self._rows), items)

    @property
    def code_slots(self) -> int:
        return min(CODE_BITS, blocks_for(self._bands, self._rows, self._width) * self._width) if self._bands else 0

    def codes(self, sketch: U64Array, items: Dense) -> U64Array:
        return codes_of_bits(sketch)

    @cached_property
    def _width(self) -> int:
        assert self.dimensions is not None, "the number of components is known before a vector is hashed"
        return width_of(self.dimensions)

    def judge(self, config: Config) -> Judge | None:
        if config.verify == "none":
            return None
        if config.verify == "sketch":
            return SignJudge(config)
        return CosineJudge(config, signature_bits(self.dimensions or 1) if self._bands else 0)


def in_groups(items: Dense, groups: U64Array | None) -> Dense:
    """The vectors with their groups, which only their fingerprints and keys tell apart."""
    if groups is None:
        return items
    return replace(items, fingerprints=items.fingerprints ^ groups[:, None], groups=groups)


def grouped_keys(keys: U64Array, items: Dense) -> U64Array:
    """Keys that only items of one group share."""
    return keys if items.groups is None else keys ^ items.groups[None, :]


def signature_bits(dimensions: int) -> int:
    """How many bits stand in front of the comparison of vectors of so many components."""
    return _BITS if dimensions <= _SHORT else _FEWER_BITS


def signatures(vectors: F32Array, seed: int, bits: int) -> U64Array:
    """So many sign bits of each vector, as words: not those of the bands."""
    return plane_signs(vectors, bits, seed ^ _SIGNATURE_SEED)


def signs_allowed(threshold: float, bits: int, loss: float = _LOSS) -> int:
    """In how many of so many sign bits a pair may differ, so that at most `loss` of those at the threshold do more."""
    return most_differing(1.0 - agreeing(threshold), bits, loss)


def component_words(vectors: F32Array) -> U64Array:
    """The components as words, two each, the last padded with 0."""
    if vectors.shape[1] % 2:
        vectors = np.concatenate([vectors, np.zeros((len(vectors), 1), np.float32)], axis=1)
    return np.ascontiguousarray(vectors).view(np.uint64)


def row_offsets(items: Dense, words: U64Array) -> I64Array:
    """Where the rows of items begin; those that are not present have none."""
    return np.concatenate([[0], np.cumsum(np.where(items.present, words.shape[1], 0))]).astype(np.int64)


class CosineJudge(Comparable):
    """Compares the vectors themselves, in float64."""

    lowest = -math.inf

    def __init__(self, config: Config, bits: int) -> None:
        """So many bits stand in front of each vector; where no bucket is walked, none is needed."""
        self._config = config
        self.threshold = config.scale.threshold
        self._seed = sketch_seed(config.seed)
        self._bits, self._words = bits, bits // 64

    def lengths(self, sizes: U32Array) -> I64Array:
        sizes = sizes.astype(np.int64)
        return np.where(sizes > 0, self._words + 1 + (sizes + 1) // 2, 0)

    def rows(self, items: Dense) -> tuple[I64Array, U64Array]:
        values = items.values if items.present.all() else items.values[items.present]
        parts = [norms(values).view(np.uint64)[:, None], component_words(values)]
        if self._words:
            parts.insert(0, signatures(values, self._seed, self._bits))
        words = np.concatenate(parts, axis=1)
        return row_offsets(items, words), words.reshape(-1)

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        return cosine(offsets, words, left, right, threshold, self._words)

    def plain(self) -> CosineJudge:
        return CosineJudge(self._config, 0)

    def crossed(self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array) -> BoolArray:
        """By products of float32, whose rounding is far below the margin."""
        unit = self._unit(offsets, words)
        crossed: BoolArray = products_of(unit[left], unit[right]) >= np.float32(self.threshold - 1e-3)
        return crossed

    def likeness(self, offsets: I64Array, words: U64Array) -> Likeness | None:
        if not self._words:
            return None
        first = words[offsets[:-1, None] + np.arange(self._words)].reshape(-1)
        return Likeness(first, self._words, signs_allowed(self.threshold, self._bits))

    def scan(
        self, offsets: I64Array, words: U64Array, threads: int, labels: I64Array | None = None
    ) -> Iterator[tuple[I64Array, I64Array]]:
        # Of no rows it is not known how wide they are.
        return all_pairs_above(self._unit(offsets, words), self.threshold, threads, labels) if len(words) else iter(())

    def _unit(self, offsets: I64Array, words: U64Array) -> F32Array:
        """The vectors of rows, scaled to length 1."""
        table = words.reshape(len(offsets) - 1, len(words) // max(1, len(offsets) - 1))
        vectors = np.ascontiguousarray(table[:, self._words + 1 :]).view(np.float32)
        lengths = np.ascontiguousarray(table[:, self._words]).view(np.float64)
        unit: F32Array = (vectors / lengths[:, None]).astype(np.float32)
        return unit


class SignJudge(Comparable):
    """Compares sign bits: the share in which two vectors differ tells their angle, and precision is not 1."""

    lowest = -math.inf
    # Two vectors at cosine 0.8 differ in 210 ± 13 bits, which is 0.8 ± 0.024.
    BITS = 1024

    def __init__(self, config: Config) -> None:
        self.threshold = config.scale.threshold
        self._seed = sketch_seed(config.seed)

    def lengths(self, sizes: U32Array) -> I64Array:
        return np.where(sizes > 0, self.BITS // 64, 0).astype(np.int64)

    def rows(self, items: Dense) -> tuple[I64Array, U64Array]:
        words = signatures(items.values[items.present], self._seed, self.BITS)
        return row_offsets(items, words), words.reshape(-1)

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        table = words.reshape(len(offsets) - 1, -1)
        out = np.empty(len(left), np.float64)
        for start in range(0, len(left), 1 << 14):
            part = slice(start, start + (1 << 14))
            differing = np.bitwise_count(table[left[part]] ^ table[right[part]]).sum(axis=1, dtype=np.int64)
            out[part] = np.cos(np.pi * differing / self.BITS)
        return np.where(out >= threshold, out, -math.inf)
