"""The second stage: one task has all entries of its keys, and all items of its fingerprints.

    entries ── fold ── group ──┬─▶ pairs    (item, item, bands in which they met) to the task of the smaller item
                               └─▶ giants   items of buckets with too many to compare, to the task of the item
    prints  ── group ──────────┬─▶ copies   each leader with its copies, to the task of the leader
                               ├─▶ orders   what the keep policy goes by, of each leader
                               └─▶ clashes  items that share half of a fingerprint, and are not identical

Identical items share all their keys, so those that are here in one bucket are all there are, and the least leads. They
are told by half of their fingerprints. That two different items share that half happens by accident once in 10¹⁹ pairs,
and by intent where somebody knows the seed. Where it does, the task of the fingerprints sees it: those items are named,
and this stage is done again with the leader of each of them (`known`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.collide.buckets import Buckets
from lookalike.collide.fold import lead_buckets
from lookalike.collide.group import Groups, group
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.numbering import of_references, part_of_item
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import BoolArray, I64Array, U16Array, U32Array, U64Array

__all__ = ["KINDS", "BucketStage", "pack_pairs", "told_items", "unpack_bands"]

KINDS = ("pairs", "giants", "copies", "orders", "clashes", "counts")
_CHUNK = 1 << 18


@dataclass(frozen=True)
class BucketStage:
    """What a task does with its keys and fingerprints.

    Attributes:
        parts: how many tasks there are.
        bands: how many bands items meet in; 0 where all pairs are compared, or none.
        most: the largest bucket whose pairs are compared.
        whole: whether all items are compared with all others, as those of giant buckets are.
        known: items that share half of a fingerprint with others, ascending, and the leader of each.
    """

    parts: int
    bands: int
    most: int
    whole: bool
    known: tuple[I64Array, I64Array] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["entries", "prints"])
        entries, prints = found["entries"], found["prints"]
        out, tallies = BatchWriter(KINDS), Tallies()
        if prints:
            self._fold(prints, out, tallies)
        prints.clear()
        if entries:
            yield from self._meet(entries, out, tallies)
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _fold(self, blobs: list[Arrays1D], out: BatchWriter, tallies: Tallies) -> None:
        """Identical items under their first."""
        numbers = np.concatenate([blob["base"][0] + blob["items"].astype(np.int64) for blob in blobs])
        order = np.argsort(numbers)
        numbers = numbers[order]
        first, second, full = (
            np.concatenate([blob[name] for blob in blobs])[order] for name in ("first", "second", "full")
        )
        leader = np.arange(len(numbers), dtype=np.uint32)
        halves = group(first.copy(), leader.copy(), np.zeros(len(numbers), np.bool_), most=len(numbers))
        lead_buckets(halves.members, halves.starts, second[halves.members], leader)
        led = leader != np.arange(len(leader), dtype=np.uint32)
        tallies.add("identical", int((led & (numbers >= 0)).sum()))
        self._tell_clashes(numbers, leader, halves, out)
        if self.whole:
            giants = numbers[~led & (full > 0)]
            self._add_giants(giants, None, out)
        best = leader.astype(np.int64)
        if "order" in blobs[0]:
            keys = np.concatenate([blob["order"] for blob in blobs])[order]
            best = self._best(leader, keys)
            self._add_orders(numbers[~led], keys[best[~led]], numbers[best[~led]], out)
        if led.any():
            sizes = np.bincount(leader, minlength=len(leader))
            # Pairs of two references are nobody's.
            others = np.bincount(leader[numbers < 0], minlength=len(leader))
            tallies.add("within", int((sizes * (sizes - 1) // 2 - others * (others - 1) // 2).sum()))
            in_folds = np.flatnonzero(sizes[leader] > 1)
            self._add_copies(numbers[leader[in_folds]], numbers[in_folds], numbers[best[in_folds]], out)

    @staticmethod
    def _best(leader: U32Array, keys: I64Array) -> I64Array:
        """For each item the one of its copies that is kept first."""
        by_fold = np.lexsort((np.arange(len(keys)), keys, leader))
        first = np.ones(len(keys), np.bool_)
        first[1:] = leader[by_fold][1:] != leader[by_fold][:-1]
        best = np.empty(len(keys), np.int64)
        best[leader[by_fold[first]]] = by_fold[first]
        found: I64Array = best[leader]
        return found

    def _add_orders(self, leaders: I64Array, keys: I64Array, best: I64Array, out: BatchWriter) -> None:
        """What the keep policy goes by, of the best copy of each leader."""
        for each, mine in by_number(part_of_item(leaders, self.parts)):
            out.add("orders", each, {"leaders": leaders[mine], "keys": keys[mine], "best": best[mine]})

    def _tell_clashes(self, numbers: I64Array, leader: U32Array, halves: Groups, out: BatchWriter) -> None:
        """Items of buckets that have more than one leader."""
        bucket = np.repeat(np.arange(len(halves)), np.diff(halves.starts))
        leaders = leader[halves.members]
        clash = np.zeros(len(halves), np.bool_)
        clash[bucket[leaders != leaders[halves.starts[bucket]]]] = True
        mine = halves.members[clash[bucket]]
        if len(mine):
            out.add("clashes", 0, {"items": numbers[mine], "leaders": numbers[leader[mine]]})

    def _add_copies(self, leaders: I64Array, items: I64Array, best: I64Array, out: BatchWriter) -> None:
        """(leader, item, the best of them), the leader itself included, by the task of the leader."""
        for each, mine in by_number(part_of_item(leaders, self.parts)):
            out.add("copies", each, {"leaders": leaders[mine], "items": items[mine], "best": best[mine]})

    def _meet(self, blobs: list[Arrays1D], out: BatchWriter, tallies: Tallies) -> Iterator[pa.RecordBatch]:
        """The pairs that share a bucket, and the items of giant ones."""
        # Blobs have different items, those of each ascend, and so do all of them in the order of their first ones.
        blobs.sort(key=_base)
        items, local = told_items(blobs)
        prints: U64Array = np.concatenate([blob["prints"] for blob in blobs])
        leads = self._leads(items, prints)
        keys = np.concatenate([blob["keys"] for blob in blobs])
        band = np.concatenate([np.repeat(np.arange(self.bands, dtype=np.uint16), blob["counts"]) for blob in blobs])
        blobs.clear()
        stays = leads[local]
        keys, members, band = keys[stays], local[stays].astype(np.uint32), band[stays]
        grouped, giants = self._grouped(keys, members, band, len(items), tallies)
        buckets = Buckets(len(items), grouped)
        del keys, local, members, band
        tallies.add("entries", int(stays.sum()))
        giant = np.zeros(len(items), np.bool_)
        for number, each in enumerate(giants):
            giant[each] = True
            if len(each):
                self._add_giants(items[each], number, out)
        first_of = items[_first_in_buckets(grouped, len(items))]
        for left, right in buckets.candidates(giant, chunk=_CHUNK):
            asked = ~of_references(items[left], items[right])
            left, right = left[asked], right[asked]
            ends, bands = buckets.hits(left, right)
            pack_pairs(items[left], items[right], first_of[left], ends, bands, self.parts, out)
            yield from out.full()

    def _add_giants(self, giants: I64Array, band: int | None, out: BatchWriter) -> None:
        """Items of a bucket that is giant in this band, or wherever they are."""
        for each, mine in by_number(part_of_item(giants, self.parts)):
            bands = np.full(0 if band is None else len(mine), band or 0, np.uint16)
            out.add("giants", each, {"items": giants[mine], "bands": bands})

    def _leads(self, items: I64Array, prints: U64Array) -> BoolArray:
        """Which items are the first of their kind."""
        leads = np.zeros(len(items), np.bool_)
        # Items ascend, and so the first with a fingerprint is the least.
        leads[np.unique(prints, return_index=True)[1]] = True
        known, leaders = self.known
        if len(known):
            at = np.minimum(np.searchsorted(known, items), len(known) - 1)
            named = known[at] == items
            leads[named] = leaders[at[named]] == items[named]
        return leads

    def _grouped(
        self, keys: U64Array, items: U32Array, band: U16Array, count: int, tallies: Tallies
    ) -> tuple[list[Groups], list[I64Array]]:
        """The buckets of each band, and the items of giant ones."""
        order = np.lexsort((items, band))
        ends = np.cumsum(np.bincount(band, minlength=self.bands))
        found, giants = [], []
        for number in range(self.bands):
            mine = order[(ends[number - 1] if number else 0) : ends[number]]
            giant = np.zeros(count, np.bool_)
            buckets = group(keys[mine], items[mine], giant, most=self.most)
            giants.append(np.flatnonzero(giant) if buckets.giants else np.empty(0, np.int64))
            tallies.add("giant_buckets", buckets.giants)
            tallies.largest("bucket", buckets.largest)
            found.append(buckets)
        return found, giants


def _base(blob: Arrays1D) -> int:
    return int(blob["base"][0])


def told_items(entries: list[Arrays1D]) -> tuple[I64Array, I64Array]:
    """(the items that entries are of, the place among them of the item of each entry)."""
    items = np.concatenate([_base(blob) + blob["told"].astype(np.int64) for blob in entries])
    firsts = np.cumsum([0, *(len(blob["told"]) for blob in entries)])
    return items, np.concatenate(
        [first + blob["items"].astype(np.int64) for first, blob in zip(firsts, entries, strict=False)]
    )


def _first_in_buckets(grouped: list[Groups], items: int) -> I64Array:
    """For each item the first one that it shares a bucket with; itself where that comes first."""
    first = np.arange(items, dtype=np.int64)
    for each in grouped:
        members = each.members.astype(np.int64)
        first[members] = np.minimum(first[members], np.repeat(members[each.starts[:-1]], np.diff(each.starts)))
    return first


def pack_pairs(
    left: I64Array, right: I64Array, first: I64Array, ends: I64Array, bands: U16Array, parts: int, out: BatchWriter
) -> None:
    """Pairs of items with the bands in which they met, by the task of the left one; `first` shared a bucket with it."""
    counts = np.diff(ends).astype(np.uint16)
    for each, mine in by_number(part_of_item(left, parts)):
        arrays: Arrays1D = {"left": left[mine], "right": right[mine], "hits": counts[mine], "first": first[mine]}
        out.add("pairs", each, arrays | {"bands": unpack_bands(ends, bands, mine)})


def unpack_bands(ends: I64Array, bands: U16Array, some: I64Array) -> U16Array:
    """The bands of some pairs, one after another: of pair i they are bands[ends[i] : ends[i + 1]]."""
    counts = ends[some + 1] - ends[some]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    return bands[np.repeat(ends[some] - starts, counts) + np.arange(int(counts.sum()))]
