"""The third stage: each pair once, and who needs the stored row of which item.

    pairs  ── sort ── unique ──┬─▶ pairs     (item, item, bands), each once, to the task that compares it
                               └─▶ requests  (item, task that compares it), to the task of the item's chunk
    giants ── unique ──────────┬─▶ (the same requests)
                               └─▶ marks     (item, band in which its bucket is giant), to the task of all giants

A pair is compared by the task of the first item that its left one shares a bucket with, as far as is known: of a family
of copies that is one item for all, and so one task, which has the stored row of each of them once. By their left items
the rows of four copies would be sent nine times.

Requests are then put together chunk by chunk (`merge_requests`), since a row for each chunk and task would be as many
rows as there are items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.bucket_stage import unpack_bands
from lookalike.engines.packed.numbering import chunk_of_item, part_of_item
from lookalike.engines.packed.tallies import Tallies
from lookalike.types import I64Array, U16Array

__all__ = ["KINDS", "REQUESTS", "CandidateStage", "merge_requests", "unique_pairs"]

KINDS = ("pairs", "requests", "marks", "counts")
REQUESTS = ("requests",)


@dataclass(frozen=True)
class CandidateStage:
    """What a task does with the pairs of its items, and with those of its items that are of giant buckets."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["pairs", "giants"])
        pairs, giants = found["pairs"], found["giants"]
        out, tallies = BatchWriter(KINDS), Tallies()
        if pairs:
            left, right, firsts, ends, bands = unique_pairs(pairs)
            for each, mine in by_number(part_of_item(firsts, self.parts)):
                hits = np.diff(ends)[mine].astype(np.uint16)
                arrays: Arrays1D = {"left": left[mine], "right": right[mine], "hits": hits}
                out.add("pairs", each, arrays | {"bands": unpack_bands(ends, bands, mine)})
                self._request(np.unique(np.concatenate([left[mine], right[mine]])), each, out)
                yield from out.full()
            tallies.add("candidates", len(left))
        if giants:
            items = np.unique(np.concatenate([blob["items"] for blob in giants]))
            self._request(items, self.parts, out)
            tallies.add("giant_items", len(items))
            marked = [blob for blob in giants if len(blob["bands"])]
            if marked:
                both = {name: np.concatenate([blob[name] for blob in marked]) for name in ("items", "bands")}
                out.add("marks", 0, both)
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _request(self, items: I64Array, task: int, out: BatchWriter) -> None:
        """Ask for the stored rows of items."""
        owner = part_of_item(chunk_of_item(items), self.parts)
        for each, mine in by_number(owner):
            out.add("requests", each, {"items": items[mine], "tasks": np.full(len(mine), task, np.uint32)})


def unique_pairs(found: list[Arrays1D]) -> tuple[I64Array, I64Array, I64Array, I64Array, U16Array]:
    """(left, right, firsts, ends, bands): pairs in order, each once, with the bands in which it met anywhere.

    `firsts` are the first items that share a bucket with the left one of each.
    """
    left, right, first, hits, bands = (
        np.concatenate([blob[name] for blob in found]) for name in ("left", "right", "first", "hits", "bands")
    )
    found.clear()
    ends = np.concatenate([[0], np.cumsum(hits, dtype=np.int64)])
    order = np.lexsort((right, left))
    left, right, first = left[order], right[order], first[order]
    bands = unpack_bands(ends, bands, order)
    begins = np.ones(len(left), np.bool_)
    begins[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    # The bands of a pair follow one another, wherever they were found; a band is one task's, so none comes twice.
    totals = np.add.reduceat(hits[order].astype(np.int64), np.flatnonzero(begins))
    ends = np.concatenate([[0], np.cumsum(totals)])
    pair = np.repeat(np.arange(len(totals)), totals)
    starts = np.flatnonzero(np.concatenate([[True], left[1:] != left[:-1]]))
    firsts = np.repeat(np.minimum.reduceat(first, starts), np.diff(np.append(starts, len(left))))
    return left[begins], right[begins], firsts[begins], ends, bands[np.lexsort((bands, pair))]


def merge_requests(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The requests of some chunks, one blob for each of them."""
    found = [arrays for _, arrays in blobs(batches, "requests")]
    out = BatchWriter(REQUESTS)
    if found:
        items, tasks = (np.concatenate([blob[name] for blob in found]) for name in ("items", "tasks"))
        order = np.lexsort((tasks, items))
        items, tasks = items[order], tasks[order]
        # Several tasks may ask for one item in the name of the same one.
        fresh = np.ones(len(items), np.bool_)
        fresh[1:] = (items[1:] != items[:-1]) | (tasks[1:] != tasks[:-1])
        items, tasks = items[fresh], tasks[fresh]
        for chunk, mine in by_number(chunk_of_item(items)):
            out.add("requests", chunk, {"items": items[mine], "tasks": tasks[mine]})
            yield from out.full()
    yield from out.rest()
