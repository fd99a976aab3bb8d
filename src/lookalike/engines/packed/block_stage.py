"""Giants that no one task could hold: in blocks, one for each task, and in pairs of blocks.

    pairs       each pair of blocks, a block with itself included, is one task, which joins the items of the one with
                those of the other: every pair of items is looked for in one task
    components  a task connects the items of two blocks; any two items are in two blocks together
    keepers     each block is led by itself. Who is kept then, of all blocks, is led again, and so on until no two that
                are kept match. There are few of them where a template is what made the giants, so they are mostly one
                block; where they are many, each pair of blocks is led

The kept items are those of the local engine, since no two of them match and each of the others matches an earlier one.
Which of several that it matches an item goes for may be another one, and so may be which matches of giants are listed
beside clusters: leaders compare no more than they need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.numbering import Numbering, part_of_item
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import I64Array

__all__ = [
    "GIANT_KINDS",
    "LIVING",
    "MATCHED",
    "BlockPairs",
    "KeptGiants",
    "MarksByBlock",
    "NameGiants",
    "RemovedByBlock",
    "UniqueMatches",
    "block_of",
    "blocks_of",
    "both_blocks",
    "pair_count",
]

# Sets that one task holds: joining them takes three times as much.
_BLOCK_BYTES = 512 << 20
# What is told of giants, by their blocks.
GIANT_KINDS = ("giant_rows", "marks", "listed", "sized", "ordered")
LIVING = ("giant_rows", "ordered", "counts")
MATCHED = ("matches", "counts")


def blocks_of(held: float) -> int:
    """In how many blocks items are whose sets have so many bytes."""
    return max(1, math.ceil(held / _BLOCK_BYTES))


def block_of(items: I64Array, numbering: Numbering, blocks: int) -> I64Array:
    """The block of each item: by its place among all, so that it does not matter which task read it."""
    return part_of_item(numbering.places(items), blocks)


def pair_count(blocks: int) -> int:
    """How many pairs of blocks there are, those of a block with itself included."""
    return blocks * (blocks + 1) // 2


def both_blocks(pair: int) -> tuple[int, int]:
    """The two blocks of a pair, the smaller first: (0, 0) (0, 1) (1, 1) (0, 2) …"""
    other = (math.isqrt(8 * pair + 1) - 1) // 2
    return pair - pair_count(other), other


@dataclass(frozen=True)
class BlockPairs:
    """Sends what is told of the items of a block to the tasks of all pairs of blocks that it is in.

    Neighbouring ones of so many `blocks` are put together to fewer, `merged`, first. A block is paired with itself only
    where that is asked for (`within`).
    """

    blocks: int
    merged: int
    within: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            mine = batch.column(0).to_numpy() * self.merged // self.blocks
            for other in range(self.merged):
                some = np.flatnonzero((mine != other) | self.within)
                if len(some):
                    low, high = np.minimum(mine[some], other), np.maximum(mine[some], other)
                    taken = batch.take(pa.array(some))
                    pairs = pa.array(high * (high + 1) // 2 + low, pa.int64())
                    yield pa.RecordBatch.from_arrays([pairs, *taken.columns[1:]], schema=batch.schema)


@dataclass(frozen=True)
class NameGiants:
    """The giants whose rows were sent, to the tasks that know their copies, or all to one."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(["giants"])
        for _, blob in blobs(batches, "giant_rows"):
            for each, mine in by_number(part_of_item(blob["items"], self.parts)):
                out.add("giants", each, {"items": blob["items"][mine]})
        yield from out.rest()


@dataclass(frozen=True)
class MarksByBlock:
    """The marks of giants, to the tasks of their blocks."""

    numbering: Numbering
    blocks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(["marks"])
        for _, blob in blobs(batches, "marks"):
            for each, mine in by_number(block_of(blob["items"], self.numbering, self.blocks)):
                out.add("marks", each, {name: array[mine] for name, array in blob.items()})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class RemovedByBlock:
    """The leaders that go, to the tasks of the blocks that they would be in."""

    numbering: Numbering
    blocks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(["removed"])
        for _, blob in blobs(batches, "keepers"):
            for each, mine in by_number(block_of(blob["leaders"], self.numbering, self.blocks)):
                out.add("removed", each, {"items": blob["leaders"][mine]})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class KeptGiants:
    """What is told of the giants of a block, as far as they are kept."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        block, found = of_one_task(batches, ["giant_rows", "ordered", "removed"])
        out, tallies = BatchWriter(LIVING), Tallies()
        removed = np.concatenate([np.empty(0, np.int64), *(blob["items"] for blob in found["removed"])])
        for blob in found["giant_rows"]:
            stays = ~np.isin(blob["items"], removed)
            tallies.add("kept_giants", int(stays.sum()))
            tallies.add("kept_words", int(blob["sizes"][stays].sum()))
            words = blob["words"][np.repeat(stays, blob["sizes"])]
            others = {name: array[stays] for name, array in blob.items() if name != "words"}
            out.add("giant_rows", block or 0, others | {"words": words})
            yield from out.full()
        for blob in found["ordered"]:
            stays = ~np.isin(blob["leaders"], removed)
            out.add("ordered", block or 0, {name: array[stays] for name, array in blob.items()})
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


@dataclass(frozen=True)
class UniqueMatches:
    """Each match once, where several tasks may have found it."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["matches"])
        out, tallies = BatchWriter(MATCHED), Tallies()
        if found["matches"]:
            told = [name for name in found["matches"][0] if name not in ("bands", "origin")]
            whole = {name: np.concatenate([blob[name] for blob in found["matches"]]) for name in told}
            order = np.lexsort((whole["right"], whole["left"]))
            left, right = whole["left"][order], whole["right"][order]
            fresh = np.ones(len(order), np.bool_)
            fresh[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
            once = order[fresh]
            tallies.add("matches", len(once))
            # A join found them, and no band.
            unsaid = {name: found["matches"][0][name] for name in ("bands", "origin")}
            out.add("matches", task or 0, {name: array[once] for name, array in whole.items()} | unsaid)
        out.add("counts", 0, tallies.packed())
        yield from out.rest()
