"""Which of two matching items is kept first, where that is not the one that comes first.

    matches ── by left leader ── order of the left ── by right leader ── order of the right ──▶ edges

The order of a leader is that of the best of its copies: a number (`keep_keys.py`) and the item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.lookup_stage import among
from lookalike.engines.packed.numbering import part_of_item
from lookalike.types import I64Array

__all__ = ["EDGES", "ORDERED", "EdgesOf", "FindOrders", "OrderLeft", "OrderRight", "ranks_of_leaders"]

ORDERED = ("ordered",)
EDGES = ("edges",)


@dataclass(frozen=True)
class EdgesOf:
    """Matches as edges, where items are kept in their own order; all to `one` task, or to that of the left leader."""

    one: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(EDGES)
        for task, blob in blobs(batches, "matches"):
            out.add("edges", 0 if self.one else task, {name: blob[name] for name in ("left", "right", "similarity")})
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
                edges = {name: blob[name][mine] for name in ("left", "right", "similarity")}
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


@dataclass(frozen=True)
class FindOrders:
    """Looks up the order of some leaders, which ascend, for the task of the giants."""

    leaders: I64Array
    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(ORDERED)
        for _, blob in blobs(batches, "orders"):
            mine = among(blob["leaders"], self.leaders)
            if mine.any():
                out.add("ordered", self.parts, {name: array[mine] for name, array in blob.items()})
        yield from out.rest()


def ranks_of_leaders(leaders: I64Array, ordered: list[Arrays1D]) -> I64Array:
    """The place of each leader among them, in the order in which they are kept."""
    key, best = _Orders(ordered).of(leaders)
    ranks = np.empty(len(leaders), np.int64)
    ranks[np.lexsort((best, key))] = np.arange(len(ranks))
    return ranks


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
