"""Stages that look some things up in a large table: which leader items have, and which pairs are among the matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.block_stage import block_of
from lookalike.engines.packed.bucket_stage import told_items
from lookalike.engines.packed.numbering import Numbering
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import BoolArray, I64Array

__all__ = [
    "FIND",
    "LISTED",
    "ORDERED",
    "SIZED",
    "CountByFile",
    "FindEntries",
    "FindKeepers",
    "FindLeaders",
    "FindMatches",
    "FindOrders",
    "FindRemoved",
    "FindSizes",
    "among",
    "pairs_in",
    "sizes_of",
]

FIND = ("found",)
LISTED = ("listed",)
SIZED = ("sized",)
ORDERED = ("ordered",)


def among(values: I64Array, known: I64Array) -> BoolArray:
    """Which of the values are among those that are known, which ascend.

    `np.isin` would sort what is known again for each blob, of which there are as many as tasks.
    """
    if not len(known):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    found: BoolArray = known[at] == values
    return found


@dataclass(frozen=True)
class FindLeaders:
    """Looks up the leaders of some items, which ascend, in a table of copies."""

    items: I64Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(FIND)
        for _, blob in blobs(batches, "copies"):
            mine = among(blob["items"], self.items)
            if mine.any():
                out.add("found", 0, {"items": blob["items"][mine], "leaders": blob["leaders"][mine]})
        yield from out.rest()

    def leaders(self, found: list[Arrays1D]) -> I64Array:
        """The leader of each item: itself, where no other was found."""
        leaders = self.items.copy()
        for blob in found:
            leaders[np.searchsorted(self.items, blob["items"])] = blob["leaders"]
        return leaders


@dataclass(frozen=True)
class FindRemoved:
    """Looks up which of some leaders, which ascend, go, in a table of keepers."""

    leaders: I64Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(FIND)
        for _, blob in blobs(batches, "keepers"):
            out.add("found", 0, {"leaders": blob["leaders"][among(blob["leaders"], self.leaders)]})
        yield from out.rest()

    def kept(self, found: list[Arrays1D]) -> BoolArray:
        """Which of them stay."""
        removed = np.concatenate([np.empty(0, np.int64), *(blob["leaders"] for blob in found)])
        return ~np.isin(self.leaders, removed)


@dataclass(frozen=True)
class FindEntries:
    """Looks up the keys of some items, which ascend, for the task of all giants."""

    items: I64Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(LISTED)
        for _, blob in blobs(batches, "entries"):
            items, local = told_items([blob])
            mine = among(items, self.items)[local]
            if mine.any():
                numbers = items[local]
                bands = np.repeat(np.arange(len(blob["counts"]), dtype=np.uint16), blob["counts"])
                found = {"items": numbers[mine], "keys": blob["keys"][mine], "bands": bands[mine]}
                out.add("listed", 0, found)
                yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class FindKeepers:
    """Looks up what some items, which ascend, were removed for."""

    items: I64Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(FIND)
        for _, blob in blobs(batches, "removed"):
            mine = among(blob["items"], self.items)
            if mine.any():
                out.add("found", 0, {"items": blob["items"][mine], "kept": blob["kept"][mine]})
        yield from out.rest()

    def keepers(self, found: list[Arrays1D]) -> I64Array:
        """The item that stays for each: itself, where it was not removed."""
        keepers = self.items.copy()
        for blob in found:
            keepers[np.searchsorted(self.items, blob["items"])] = blob["kept"]
        return keepers


@dataclass(frozen=True)
class FindSizes:
    """Looks up how many copies some giants have, for the tasks of their blocks.

    They ascend; where there are too many to tell all tasks of all of them, they stand beside the copies (`told`).
    """

    numbering: Numbering
    blocks: int
    told: I64Array | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(SIZED)
        copies, giants = _beside(batches, "copies", self.told)
        for blob in copies:
            mine = among(blob["leaders"], giants)
            leaders, place = np.unique(blob["leaders"][mine], return_inverse=True)
            references = np.bincount(place[blob["items"][mine] < 0], minlength=len(leaders))
            counts: Arrays1D = {"leaders": leaders, "counts": np.bincount(place), "references": references}
            for block, some in by_number(block_of(leaders, self.numbering, self.blocks)):
                out.add("sized", block, {name: array[some] for name, array in counts.items()})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class FindOrders:
    """Looks up what the keep policy goes by, of some giants, in the same way."""

    numbering: Numbering
    blocks: int
    told: I64Array | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(ORDERED)
        orders, giants = _beside(batches, "orders", self.told)
        for blob in orders:
            found = np.flatnonzero(among(blob["leaders"], giants))
            for block, some in by_number(block_of(blob["leaders"][found], self.numbering, self.blocks)):
                out.add("ordered", block, {name: array[found[some]] for name, array in blob.items()})
            yield from out.full()
        yield from out.rest()


def _beside(batches: Iterator[pa.RecordBatch], kind: str, told: I64Array | None) -> tuple[Iterator[Arrays1D], I64Array]:
    """The blobs of a kind, and the giants that are looked up in them."""
    if told is not None:
        return (blob for _, blob in blobs(batches, kind)), told
    _, found = of_one_task(batches, [kind, "giants"])
    named = np.unique(np.concatenate([np.empty(0, np.int64), *(blob["items"] for blob in found["giants"])]))
    return iter(found[kind]), named


def sizes_of(leaders: I64Array, sized: list[Arrays1D]) -> tuple[I64Array, I64Array]:
    """The number of items of each leader, itself included, and of references among them."""
    sizes, references = np.zeros((2, len(leaders)), np.int64)
    for blob in sized:
        mine = np.searchsorted(leaders, blob["leaders"])
        sizes[mine] += blob["counts"]
        references[mine] += blob["references"]
    alone = sizes == 0
    return np.where(alone, 1, sizes), np.where(alone, leaders < 0, references).astype(np.int64)


@dataclass(frozen=True)
class CountByFile:
    """Counts removed items by their files, or those removed for references by the files of these.

    `firsts` are the places of the first items of the files.
    """

    numbering: Numbering
    firsts: I64Array
    hits: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out, tallies = BatchWriter(["counts"]), Tallies()
        for _, blob in blobs(batches, "removed"):
            own = blob["items"] >= 0
            items = blob["kept"][own & (blob["kept"] < 0)] if self.hits else blob["items"][own]
            files = np.searchsorted(self.firsts, self.numbering.places(items), side="right") - 1
            for file, mine in by_number(files):
                tallies.add(str(file), len(mine))
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


def pairs_in(left: I64Array, right: I64Array) -> tuple[I64Array, I64Array]:
    """Different pairs in order."""
    both = np.unique(np.stack([left, right], axis=1), axis=0)
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


@dataclass(frozen=True)
class FindMatches:
    """Looks up some pairs, which are in order, in a table of matches."""

    left: I64Array
    right: I64Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(FIND)
        for _, blob in blobs(batches, "matches"):
            mine = np.isin(blob["left"], self.left) & np.isin(blob["right"], self.right)
            place = self.place_of(blob["left"][mine], blob["right"][mine])
            if len(place):
                out.add("found", 0, {"places": place[place >= 0]})
        yield from out.rest()

    def place_of(self, left: I64Array, right: I64Array) -> I64Array:
        """The place of each pair among those that are looked up; -1 for others."""
        both = np.concatenate([np.stack([self.left, self.right]), np.stack([left, right])], axis=1)
        _, first, back = np.unique(both, axis=1, return_index=True, return_inverse=True)
        place = first[back.reshape(-1)[len(self.left) :]]
        return np.where(place < len(self.left), place, -1)

    def among(self, found: list[Arrays1D]) -> BoolArray:
        """Which of the pairs are among the matches."""
        known = np.zeros(len(self.left), np.bool_)
        for blob in found:
            known[blob["places"]] = True
        return known
