"""Which of two matching items is kept first, where that is not the one that comes first.

    matches ── by left leader ── order of the left ── by right leader ── order of the right ──▶ edges

The order of a leader is that of the best of its copies: a number (`keep_keys.py`) and the item. Where the smaller of
two items is inside the larger one, it can only go for that: then the larger ones come first, whatever the number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.keep_keys import BEFORE_ALL
from lookalike.engines.packed.lookup_stage import ORDERED
from lookalike.engines.packed.numbering import part_of_item
from lookalike.types import BoolArray, I64Array

__all__ = [
    "EDGES",
    "SIZES",
    "EdgesOf",
    "OrderLeft",
    "OrderRight",
    "in_keep_order",
    "keep_columns",
    "left_comes_first",
    "orders_of",
]

# What matches have beside them where a pair has a direction: how large both items are.
SIZES = ("left_size", "right_size")
EDGES = ("edges",)


@dataclass(frozen=True)
class EdgesOf:
    """Matches as edges, where items are kept in their own order; all to `one` task, or to that of the left leader."""

    one: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(EDGES)
        for task, blob in blobs(batches, "matches"):
            out.add("edges", 0 if self.one else task, _edges(blob))
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class OrderLeft:
    """Puts the order of left leaders beside matches, which go to the task of the right one."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(ORDERED)
        _, found = of_one_task(batches, ["matches", "orders"])
        orders = _Orders(found["orders"])
        for blob in found["matches"]:
            left = orders.of(blob["left"])
            for each, mine in by_number(part_of_item(blob["right"], self.parts)):
                edges = {name: array[mine] for name, array in _edges(blob).items()}
                out.add("ordered", each, edges | {"left_key": left[0][mine], "left_best": left[1][mine]})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class OrderRight:
    """Puts the order of right leaders beside matches, which go to one task, or back to that of the left leader."""

    parts: int
    one: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(EDGES)
        _, found = of_one_task(batches, ["ordered", "orders"])
        orders = _Orders(found["orders"])
        for blob in found["ordered"]:
            right = orders.of(blob["right"])
            whole = blob | {"right_key": right[0], "right_best": right[1]}
            task = np.zeros(len(blob["left"]), np.int64) if self.one else part_of_item(blob["left"], self.parts)
            for each, mine in by_number(task):
                out.add("edges", each, {name: array[mine] for name, array in whole.items()})
            yield from out.full()
        yield from out.rest()


def orders_of(leaders: I64Array, ordered: list[Arrays1D]) -> tuple[I64Array, I64Array]:
    """(number, best copy) of leaders, all of which were found."""
    return _Orders(ordered).of(leaders)


def in_keep_order(best: I64Array, keys: I64Array | None, sizes: I64Array | None) -> I64Array:
    """The places of leaders in the order in which they are kept: by their best copies, their numbers and their sizes.

    Numbers and sizes are there where they count. References are kept before all others.
    """
    columns = [best] if keys is None else [best, keys]
    if sizes is not None:
        columns.append(np.where(best < 0, BEFORE_ALL, -sizes))
    return np.lexsort(columns)


def keep_columns(edges: Arrays1D, left: BoolArray) -> list[I64Array]:
    """What one leader of each edge, the left one where that is told, is ordered by; as `in_keep_order` does it."""

    def of(name: str) -> I64Array:
        chosen: I64Array = np.where(left, edges[f"left{name}"], edges[f"right{name}"])
        return chosen

    best = of("_best") if "left_best" in edges else of("")
    columns = [best] if "left_key" not in edges else [best, of("_key")]
    if SIZES[0] in edges:
        columns.append(np.where(best < 0, BEFORE_ALL, -of("_size")))
    return columns


def left_comes_first(edges: Arrays1D) -> BoolArray:
    """Of which edges the left leader is kept before the right one."""
    everywhere = np.ones(len(edges["left"]), np.bool_)
    first, same = np.zeros(len(everywhere), np.bool_), everywhere
    left, right = keep_columns(edges, everywhere), keep_columns(edges, ~everywhere)
    for one, other in zip(reversed(left), reversed(right), strict=True):
        first |= same & (one < other)
        same = same & (one == other)
    return first


def _edges(matches: Arrays1D) -> Arrays1D:
    """What is told of matches where keepers are chosen."""
    return {name: matches[name] for name in ("left", "right", "similarity", *SIZES) if name in matches}


class _Orders:
    """The orders of leaders, to be looked up."""

    def __init__(self, found: list[Arrays1D]) -> None:
        none = np.empty(0, np.int64)
        leaders, keys, best = (
            np.concatenate([none, *(blob[name] for blob in found)]) for name in ("leaders", "keys", "best")
        )
        order = np.argsort(leaders)
        self._leaders, self._keys, self._best = leaders[order], keys[order], best[order]

    def of(self, leaders: I64Array) -> tuple[I64Array, I64Array]:
        """(number, best copy) of leaders, all of which are there."""
        at = np.searchsorted(self._leaders, leaders)
        return self._keys[at], self._best[at]
