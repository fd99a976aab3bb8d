"""A measure bundles what the four steps need to know about a similarity; nothing after it knows which one runs.

    represent   items → the arrays that stand for them
    sketch      arrays → K slots an item, which agree with probability p(s)
    p(s)        `theory.families`
    exact       candidates → their similarity, or "below the threshold"

So far there is Jaccard on sets, of which shingled text is the common case.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.represent.buffers import text_buffers
from lookalike.represent.elements import element_sets, hash_raw
from lookalike.represent.text import shingle_texts
from lookalike.shingle import Shingle
from lookalike.sketch.minhash import constants, sketch_sets
from lookalike.types import F64Array, I64Array, Sets, U32Array, U64Array
from lookalike.verify.jaccard import SortedSets

__all__ = ["Jaccard", "Judge", "Measure"]


class Judge(Protocol):
    """Holds the items that take part in candidate pairs, and tells how similar two of them are."""

    def add(self, numbers: I64Array, sets: Sets) -> None: ...

    def similarities(self, left: I64Array, right: I64Array, threshold: float) -> F64Array: ...


class Measure(Protocol):
    """What a run needs of a measure."""

    name: str

    def represent(self, items: pa.Array) -> Sets: ...

    def sketch(self, sets: Sets) -> U32Array: ...

    def judge(self, items: int) -> Judge: ...


class Jaccard:
    """|A∩B| / |A∪B| of shingle sets or of sets as they are."""

    name = "jaccard"

    def __init__(self, shingle: Shingle, slots: int, seed: int) -> None:
        self.shingle = shingle
        self.slots = slots
        self.seed = seed

    @cached_property
    def _constants(self) -> tuple[U32Array, U32Array]:
        return constants(self.slots, self.seed)

    def represent(self, items: pa.Array) -> Sets:
        """A list column is a column of sets; anything else must be text."""
        if is_list(items.type):
            return element_sets(items)
        return shingle_texts(items, self.shingle)

    def sketch(self, sets: Sets) -> U32Array:
        return sketch_sets(sets, *self._constants)

    def judge(self, items: int) -> SortedSets:
        return SortedSets(items)


class Identity:
    """Similarity 1 for identical items, 0 for all others: what `exact` means. It has fingerprints and no sketch."""

    name = "identity"

    def __init__(self, config: Config) -> None:
        # A shingle longer than any text is the whole normalised text. Punctuation becomes white space, which must not
        # tell "a, b" and "a b" apart.
        normalize = config.shingle.normalize
        normalize |= {"whitespace"} if "punctuation" in normalize else set()
        self._whole = Shingle("char", 1 << 30, False, normalize) if config.exact_normalized else None

    def represent(self, items: pa.Array) -> Sets:
        if is_list(items.type):
            return element_sets(items)
        if self._whole is not None:
            # Each text is one shingle, the whole; that is no sign of a short one.
            return replace(shingle_texts(items, self._whole), short=0)
        data, offsets = text_buffers(items)
        fingerprints: U64Array = hash_raw(data, offsets)
        # One element where there is text, so that empty items are counted as such.
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(offsets) > 0, dtype=np.int64)])
        return Sets(ends, fingerprints[np.diff(offsets) > 0, 0], fingerprints)

    def sketch(self, sets: Sets) -> U32Array:
        return np.empty((len(sets), 0), np.uint32)

    def judge(self, items: int) -> SortedSets:
        return SortedSets(items)


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds sets."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
