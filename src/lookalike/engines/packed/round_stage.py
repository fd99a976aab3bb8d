"""Keepers where no task sees all matches: in rounds, each of which decides the items whose earlier neighbours all are.

The kept items are those that a walk in keep order keeps (`cluster/representative.py`): an item stays unless one that
comes before it, stays and matches it. So its fate is known when one of its earlier neighbours is known to stay, or all
are known to go. A task decides what it can of its items, and tells their later neighbours.

    chain a–b–c–d in keep order:  round 1 decides a (stays);  2: b (goes);  3: c (stays);  4: d (goes)

Of real documents nearly all are decided in one to three rounds, of a chain of revisions one a round. So after a few of
them what is open is walked component by component. It is the same walk: an earlier neighbour that stays has nothing
before it there, and one that goes is left out.

    edges  ── first of both ──┬─▶ below  each later item with what comes before it, to the task of the later item
                              └─▶ above  the same, to the task of the earlier item
    below, above, told ───────┬─▶ told   what became of an item, to the tasks of its later neighbours
                              ├─▶ gone   items that go
                              └─▶ below, above of items that are open
    edges, gone ── edges of items that stay, by the later item ── the best of each ──▶ keepers
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.keeper_stage import KEEPERS
from lookalike.engines.packed.lookup_stage import among
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.order_stage import EDGES, keep_columns, left_comes_first
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import BoolArray, I64Array

__all__ = ["OFFERS", "ROUND", "SIDES", "BestOffer", "BothSides", "ByEarlier", "OffersOfKept", "OpenEdges", "Round"]

SIDES = ("below", "above")
ROUND = ("below", "above", "told", "gone", "counts")
OFFERS = ("offers",)


@dataclass(frozen=True)
class BothSides:
    """Edges to the tasks of both their items."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(SIDES)
        for _, blob in blobs(batches, "edges"):
            earlier, later = _ends(blob)
            for each, mine in by_number(part_of_item(later, self.parts)):
                out.add("below", each, {name: array[mine] for name, array in blob.items()})
            for each, mine in by_number(part_of_item(earlier, self.parts)):
                out.add("above", each, {"earlier": earlier[mine], "later": later[mine]})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class Round:
    """Decides what can be decided of a task's items, and tells their later neighbours."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["below", "above", "told"])
        out, tallies = BatchWriter(ROUND), Tallies()
        if task is not None:
            below = _stacked(found["below"])
            _, later = _ends(below) if below else (np.empty(0, np.int64), np.empty(0, np.int64))
            matched, waiting = _told(below, found["told"])
            above = _stacked(found["above"]) or {name: np.empty(0, np.int64) for name in ("earlier", "later")}
            items = np.unique(np.concatenate([later, above["earlier"]]))
            goes, open_ = np.zeros((2, len(items)), np.bool_)
            goes[np.searchsorted(items, later[matched])] = True
            open_[np.searchsorted(items, later[waiting])] = True
            open_ &= ~goes
            tallies.add("open", int(open_.sum()))
            out.add("gone", task, {"items": items[goes]})
            stays = open_[np.searchsorted(items, later)] & waiting
            if stays.any():
                out.add("below", task, {name: array[stays] for name, array in below.items()})
            at = np.searchsorted(items, above["earlier"])
            yet = open_[at]
            if yet.any():
                out.add("above", task, {name: array[yet] for name, array in above.items()})
            told = {name: array[~yet] for name, array in above.items()} | {"stays": (~goes[at[~yet]]).astype(np.uint8)}
            for each, mine in by_number(part_of_item(told["later"], self.parts)):
                out.add("told", each, {name: array[mine] for name, array in told.items()})
                yield from out.full()
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


@dataclass(frozen=True)
class OpenEdges:
    """The edges by which what is still open is decided: those of earlier items that are open, or known to stay."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["below", "told"])
        out = BatchWriter(EDGES)
        below = _stacked(found["below"])
        if below:
            matched, waiting = _told(below, found["told"])
            some = matched | waiting
            # By their left items, as edges are.
            for each, mine in by_number(part_of_item(below["left"][some], self.parts)):
                out.add("edges", each, {name: array[some][mine] for name, array in below.items()})
        yield from out.rest()


@dataclass(frozen=True)
class ByEarlier:
    """Edges to the tasks of their earlier items."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(EDGES)
        for _, blob in blobs(batches, "edges"):
            for each, mine in by_number(part_of_item(_ends(blob)[0], self.parts)):
                out.add("edges", each, {name: array[mine] for name, array in blob.items()})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class OffersOfKept:
    """Edges whose earlier item stays, to the task of the later one.

    What goes is told by the rounds (`gone`), and by those who walked what was left open (`keepers`).
    """

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["edges", "gone", "keepers"])
        out = BatchWriter(OFFERS)
        gone = [blob["items"] for blob in found["gone"]] + [blob["leaders"] for blob in found["keepers"]]
        removed = np.unique(np.concatenate([np.empty(0, np.int64), *gone]))
        for blob in found["edges"]:
            earlier, later = _ends(blob)
            stays = np.flatnonzero(~among(earlier, removed))
            for each, mine in by_number(part_of_item(later[stays], self.parts)):
                out.add("offers", each, {name: array[stays[mine]] for name, array in blob.items()})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class BestOffer:
    """Each item that goes, for the most similar one that stays; of several the first in keep order."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["offers"])
        out = BatchWriter(KEEPERS)
        offers = _stacked(found["offers"])
        if offers and task is not None:
            first = left_comes_first(offers)
            earlier, later = _ends(offers)
            order = np.lexsort((*keep_columns(offers, first), -offers["similarity"], later))
            best = order[np.concatenate([[True], later[order][1:] != later[order][:-1]])]
            chosen: Arrays1D = {"leaders": later[best], "kept": earlier[best], "best": earlier[best]}
            if "left_best" in offers:
                chosen["best"] = np.where(first, offers["left_best"], offers["right_best"])[best]
            chosen["similarity"] = offers["similarity"][best]
            if "left_size" in offers:
                left, right = offers["left_size"], offers["right_size"]
                chosen["contains"] = (np.where(first, right, left) > np.where(first, left, right))[best].astype(
                    np.uint8
                )
            out.add("keepers", task, chosen)
        yield from out.rest()


def _ends(edges: Arrays1D) -> tuple[I64Array, I64Array]:
    """(earlier, later) leaders of edges, in keep order."""
    first = left_comes_first(edges)
    left, right = edges["left"], edges["right"]
    return np.where(first, left, right), np.where(first, right, left)


def _told(below: Arrays1D, told: list[Arrays1D]) -> tuple[BoolArray, BoolArray]:
    """Of edges whose earlier item stays, and of which nothing is known yet; the others are of items that go."""
    count = len(below["left"]) if below else 0
    known, stays = np.zeros((2, count), np.bool_)
    news = _stacked(told)
    if count and news:
        earlier, later = _ends(below)
        both = np.concatenate([np.stack([later, earlier]), np.stack([news["later"], news["earlier"]])], axis=1)
        order = np.lexsort((np.arange(both.shape[1]) < count, both[1], both[0]))
        # News of an edge stands right before it.
        behind, before = order[1:], order[:-1]
        same = (both[:, behind] == both[:, before]).all(axis=0) & (behind < count) & (before >= count)
        known[behind[same]] = True
        stays[behind[same]] = news["stays"][before[same] - count] > 0
    return known & stays, ~known


def _stacked(parts: list[Arrays1D]) -> Arrays1D:
    """The arrays of several blobs as one; nothing where there are none."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
