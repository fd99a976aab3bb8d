"""What a run needs of a measure, and of what compares candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeGuard

import numpy as np
import pyarrow as pa

from lookalike.collide.buckets import Likeness
from lookalike.config import Config
from lookalike.recipe import Recipe
from lookalike.types import BoolArray, Dense, F64Array, I64Array, Sets, U32Array, U64Array

__all__ = [
    "ElementJudge",
    "Judge",
    "Measure",
    "Represented",
    "Unsketched",
    "compares_elements",
    "has_weights",
    "is_binary_like",
    "is_list",
]

Represented = Sets | Dense


class Measure(Protocol):
    """What engines need of a measure, which is made for one recipe: that decides all bits, and the shape of keys."""

    recipe: Recipe

    def represent(self, items: pa.Array, groups: U64Array | None = None) -> Any:
        """The arrays that stand for items; items of different groups have nothing in common."""
        ...

    def sketch(self, items: Any) -> Any:
        """The slots of each item, as `band` and `codes` take them; nothing where there are none."""
        ...

    def band(self, sketch: Any, items: Any) -> U64Array:
        """keys[j] has the key of each item in band j of the recipe that the measure was made with."""
        ...

    @property
    def code_slots(self) -> int:
        """How many slots a code has; 0 where there are none."""
        ...

    def codes(self, sketch: Any, items: Any) -> U64Array | None:
        """The sketches of all items in few bits (`sketch/codes.py`)."""
        ...

    def keys(self, items: Any) -> U64Array:
        """The keys of items, from the beginning."""
        return self.band(self.sketch(items), items)

    def judge(self, config: Config) -> Judge | None:
        """What compares candidates; nothing where they are taken as they are."""
        ...


class Unsketched(Measure, Protocol):
    """A measure for whose items there are no sketches."""

    def sketch(self, items: Any) -> None:
        """There is none."""
        return

    def band(self, sketch: None, items: Any) -> U64Array:
        """Of no band."""
        return np.empty((0, len(items)), np.uint64)

    @property
    def code_slots(self) -> int:
        return 0

    def codes(self, sketch: None, items: Any) -> None:
        """There are none."""
        return


class Judge(Protocol):
    """Compares items by their rows of words. A score is larger for items that are more alike."""

    # The score from which two rows match, and one that all reach.
    threshold: float
    lowest: float
    # Whether rows are sets of sorted elements, so that those of giant buckets can be joined by their rare elements.
    has_elements: bool

    def lengths(self, sizes: U32Array) -> I64Array:
        """How many words the row of each item has that candidates are compared on."""
        ...

    def rows(self, items: Any) -> tuple[I64Array, U64Array]:
        """(offsets, words) of those rows."""
        ...

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        """The score of each pair of rows, or less than the threshold where it is below that."""
        ...

    def plain(self) -> Judge:
        """The same without signatures, for comparisons that no bucket suggests."""
        ...

    def crossed(self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array) -> BoolArray:
        """Of each of some rows with each of others, whether they may match: (left x right), never wrong about "no"."""
        ...

    def similarity(self, scores: F64Array) -> F64Array:
        """The score of two items from that of their rows."""
        ...

    def likeness(self, offsets: I64Array, words: U64Array) -> Likeness | None:
        """Signatures that tell at once which candidates need not be compared; None where there are none."""
        ...

    def scan(
        self, offsets: I64Array, words: U64Array, threads: int, labels: I64Array | None = None
    ) -> Iterator[tuple[I64Array, I64Array]]:
        """The pairs of all rows that may match, none left out: for whole collections, and for giant buckets.

        Pairs of rows with the same label may be left out.
        """
        ...


class ElementJudge(Judge, Protocol):
    """Compares sets of sorted elements, which can be joined."""

    # Whether any element of the larger set of a pair may be one that both share.
    open_probes: bool

    def prefix(self, offsets: I64Array, values: U64Array) -> tuple[I64Array, I64Array]:
        """How many of its rarest elements each row needs, as the smaller and as the larger of a pair."""
        ...

    def reach(self, sizes: I64Array) -> tuple[F64Array, F64Array] | None:
        """What a set of so many adds to the elements that a match may have apart, as the smaller and as the larger.

        None where nothing is known of it.
        """
        ...

    def plain_score(self, one: U64Array, other: U64Array) -> float:
        """The score of two rows by nothing but NumPy, for checks of the kernels."""
        ...


def compares_elements(judge: Judge) -> TypeGuard[ElementJudge]:
    """Whether the rows of a judge can be joined by their rare elements."""
    return judge.has_elements


def is_binary_like(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text or bytes, so that an item is as long as it has bytes."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists: sets, or vectors."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def has_weights(kind: pa.DataType) -> bool:
    """Whether a column of this type holds elements with weights."""
    if is_list(kind):
        return bool(pa.types.is_struct(kind.value_type))
    return bool(pa.types.is_map(kind) or pa.types.is_struct(kind))
