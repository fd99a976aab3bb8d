"""Connected items where no task sees all matches: stars that grow until each component is one.

The idea (large-star and small-star; Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii 2014). A large star: each item
sends its larger neighbours to the least of all its neighbours. A small star: it sends its smaller neighbours and itself
to the least of these. Neither takes a component apart or joins two. When no star changes anything, every item is linked
to the least of its component and to nothing else; that takes a number of rounds that grows with the logarithm of the
longest chain. Matches of one task are connected there first, so few links are ever sent.

    chain 1–2–3–4:  large stars give 2→1, 3→1, 4→2;  small stars leave them;  large stars again: 4→1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.cluster.components import components
from lookalike.engines.packed.blobs import BatchWriter, by_number, of_one_task
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.order_stage import EDGES
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import I64Array

__all__ = ["LINKS", "LabelEdges", "LargeStar", "LinkMatches", "SmallStar"]

LINKS = ("links", "counts")


@dataclass(frozen=True)
class LinkMatches:
    """The items of a task's edges, each linked to the least that it is connected with there; to the tasks of both."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(LINKS)
        _, found = of_one_task(batches, ["edges"])
        if found["edges"]:
            left, right = (np.concatenate([blob[name] for blob in found["edges"]]) for name in ("left", "right"))
            items, back = np.unique(np.concatenate([left, right]), return_inverse=True)
            one, other = back.reshape(2, -1)
            root = components(len(items), [(one, other)])
            led = np.flatnonzero(root != np.arange(len(items)))
            _send_both(items[led], items[root[led]], self.parts, out)
        yield from out.rest()


@dataclass(frozen=True)
class LargeStar:
    """Links larger neighbours to the least of all; to the task of the larger one."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        item, neighbour = _links(batches)
        out, tallies = BatchWriter(LINKS), Tallies()
        if len(item):
            least = np.minimum(_least(item, neighbour), item)
            larger = neighbour > item
            tallies.add("changed", int((larger & (least != item)).sum()))
            _send(neighbour[larger], least[larger], self.parts, out)
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


@dataclass(frozen=True)
class SmallStar:
    """Links an item and its smaller neighbours to the least of these; to the tasks of both."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        item, neighbour = _links(batches)
        out, tallies = BatchWriter(LINKS), Tallies()
        if len(item):
            least = _least(item, neighbour)
            others = neighbour != least
            tallies.add("changed", int(others.sum()))
            item = np.where(others, neighbour, item)
            _send_both(item, least, self.parts, out)
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


@dataclass(frozen=True)
class LabelEdges:
    """Edges to the task of the least item of their component, by the links of their left items, which are settled."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["edges", "links"])
        out = BatchWriter(EDGES)
        none = np.empty(0, np.int64)
        item = np.concatenate([none, *(blob["items"] for blob in found["links"])])
        other = np.concatenate([none, *(blob["others"] for blob in found["links"])])
        smaller = other < item
        item, other = item[smaller], other[smaller]
        order = np.argsort(item)
        item, other = item[order], other[order]
        for blob in found["edges"]:
            left = blob["left"]
            root = left.copy()
            if len(item):
                at = np.minimum(np.searchsorted(item, left), len(item) - 1)
                root = np.where(item[at] == left, other[at], left)
            for each, mine in by_number(part_of_item(root, self.parts)):
                out.add("edges", each, {name: array[mine] for name, array in blob.items()})
            yield from out.full()
        yield from out.rest()


def _links(batches: Iterator[pa.RecordBatch]) -> tuple[I64Array, I64Array]:
    """(item, neighbour) of all links of a task's items, in order, each once."""
    _, found = of_one_task(batches, ["links"])
    none = np.empty(0, np.int64)
    item = np.concatenate([none, *(blob["items"] for blob in found["links"])])
    other = np.concatenate([none, *(blob["others"] for blob in found["links"])])
    order = np.lexsort((other, item))
    item, other = item[order], other[order]
    fresh = np.ones(len(item), np.bool_)
    fresh[1:] = (item[1:] != item[:-1]) | (other[1:] != other[:-1])
    return item[fresh], other[fresh]


def _least(item: I64Array, neighbour: I64Array) -> I64Array:
    """The least neighbour of each link's item; links are in order."""
    begins = np.flatnonzero(np.concatenate([[True], item[1:] != item[:-1]]))
    return np.repeat(neighbour[begins], np.diff(np.append(begins, len(item))))


def _send(item: I64Array, other: I64Array, parts: int, out: BatchWriter) -> None:
    """Links to the tasks of their items."""
    for each, mine in by_number(part_of_item(item, parts)):
        out.add("links", each, {"items": item[mine], "others": other[mine]})


def _send_both(item: I64Array, other: I64Array, parts: int, out: BatchWriter) -> None:
    _send(item, other, parts, out)
    _send(other, item, parts, out)
