"""The stage before all others, where it is needed: in how many documents each shingle stands.

    rows     ── count ──▶ shingles  (shingle, documents that have it) to the task of the shingle
    shingles ── merge ──▶ shingles  each once
             └─ spread ─▶ counters  where there are too many different ones: (counter, documents), by slice of the table
    counters ── sum ────▶ counters  each slice of the table once

How many different shingles there are decides whether they are counted exactly or in a table of counters, as in the
local engine (`represent/document_counts.py`); both are sums over documents, so that tasks may add them up in any order.
What comes out has a size of its own, 512 MB at the most, however many documents there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs, by_number, of_one_task
from lookalike.engines.packed.carrier import Carrier, Shared, Table
from lookalike.engines.packed.numbering import part_of_key
from lookalike.engines.packed.tallies import Tallies
from lookalike.items.from_rows import Items
from lookalike.items.make_items import make_items
from lookalike.measures.shingled_texts import Texts
from lookalike.recipe import Recipe
from lookalike.types import I64Array, U32Array, U64Array

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["count_documents", "share_frequencies", "shared_frequencies"]

SHINGLES = ("shingles", "counts")
COUNTERS = ("counters",)
# Shingles that a task counts before it sends them on: far fewer than are counted exactly.
_HELD = 1 << 22
# Shingles of one blob, 12 bytes each.
_BLOB = 1 << 18
# Slices of the table of counters, 8 MB each.
_SLICES = 64
_FULL = np.int64(0xFFFFFFFF)


def count_documents(
    carrier: Carrier,
    rows: Sequence[tuple[Items, Table]],
    parts: int,
    *,
    exact: int | None = None,
    width: int | None = None,
) -> Frequencies:
    """Count the shingles of all items in some rows; `exact` and `width` are those of `Frequencies`, if not given."""
    from lookalike.represent.document_counts import EXACT, WIDTH, Frequencies

    exact, width = exact or EXACT, width or WIDTH
    each = (
        carrier.map(some, CountStage(items.recipe, items.columns, items.group_by, parts), SHINGLES)
        for items, some in rows
    )
    counted = carrier.save("counted shingles", carrier.together(*each))
    told = Tallies.merged(carrier.collect(counted, "counts")[0])
    merged = carrier.map(carrier.exchange(carrier.only(counted, "shingles"), parts), MergeStage(), SHINGLES)
    merged = carrier.save("merged shingles", merged)
    different = Tallies.merged(carrier.collect(merged, "counts")[0]).get("different", 0)
    totals = np.array([told.get("documents", 0), told.get("length", 0), exact, width], np.int64)
    shingles = carrier.only(merged, "shingles")
    if different > exact:
        spread = carrier.exchange(carrier.map(shingles, SpreadStage(width), COUNTERS), _SLICES)
        summed = carrier.save("counters", carrier.map(spread, SumStage(2 * width), COUNTERS))
        table = np.zeros(2 * width, np.uint32)
        for blob in carrier.collect(summed, "counters")[0]:
            first = int(blob["first"][0])
            table[first : first + len(blob["counts"])] = blob["counts"]
        return Frequencies.from_state({"totals": totals, "table": table})
    elements, counts = _together(carrier.collect(shingles, "shingles")[0])
    return Frequencies.from_state({"totals": totals, "elements": elements, "counts": counts})


# What a process read last: tasks of one run follow one another in it, and have the same.
_READ: list[tuple[Shared, Frequencies]] = []


def share_frequencies(carrier: Carrier, found: Frequencies) -> Shared:
    """Let every task have the frequencies."""
    return carrier.share("frequencies", {name: array.reshape(-1) for name, array in found.state().items()})


def shared_frequencies(shared: Shared) -> Frequencies:
    """The frequencies that a carrier shares, in a task."""
    from lookalike.represent.document_counts import Frequencies

    known = next((found for where, found in _READ if where is shared or where == shared), None)
    if known is None:
        known = Frequencies.from_state(shared.read())
        _READ[:] = [(shared, known)]
    return known


@dataclass(frozen=True)
class CountStage:
    """What a task does with its part of the input; counts of it go to the tasks of their shingles."""

    recipe: Recipe
    columns: tuple[str, ...]
    group_by: str | None
    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from lookalike.represent.document_counts import Frequencies

        out, tallies, texts = BatchWriter(SHINGLES), Tallies(), Texts(self.recipe)
        found, held = Frequencies(), 0
        for batch in batches:
            sets = texts.counted(make_items(batch, self.recipe, self.columns, self.group_by).values)
            found.add(sets)
            held += len(sets.values)
            if held >= _HELD:
                self._send(found, out, tallies)
                found, held = Frequencies(), 0
                yield from out.full()
        self._send(found, out, tallies)
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _send(self, found: Frequencies, out: BatchWriter, tallies: Tallies) -> None:
        """Everything that was counted."""
        elements, counts = found.listed()
        for each, mine in by_number(part_of_key(elements, self.parts)):
            out.add("shingles", each, {"elements": elements[mine], "counts": counts[mine]})
        tallies.add("documents", found.documents)
        tallies.add("length", found.length)


@dataclass(frozen=True)
class MergeStage:
    """Adds up what was counted of each shingle of a task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["shingles"])
        out, tallies = BatchWriter(SHINGLES), Tallies()
        if task is not None:
            elements, counts = _together(found["shingles"])
            tallies.add("different", len(elements))
            for begin in range(0, len(elements), _BLOB):
                some = slice(begin, begin + _BLOB)
                out.add("shingles", task, {"elements": elements[some], "counts": counts[some]})
                yield from out.full()
        out.add("counts", 0, tallies.packed())
        yield from out.rest()


@dataclass(frozen=True)
class SpreadStage:
    """Puts shingles into a table of counters of this width, of which the slices go to different tasks."""

    width: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from lookalike.represent.document_counts import Frequencies

        out, found = BatchWriter(COUNTERS), Frequencies(exact=0, width=self.width)
        for _, blob in blobs(batches, "shingles"):
            found.add_listed(blob["elements"], blob["counts"])
        table = found.state().get("table", np.empty(0, np.uint32)).reshape(-1)
        for number in range(_SLICES):
            begin, end = _slice(number, 2 * self.width)
            used = np.flatnonzero(table[begin:end])
            if len(used):
                arrays: Arrays1D = {"at": used.astype(np.uint32), "counts": table[begin:end][used]}
                out.add("counters", number, arrays)
                yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class SumStage:
    """Adds up the counters of a slice of a table that has so many."""

    counters: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["counters"])
        out = BatchWriter(COUNTERS)
        if task is not None:
            begin, end = _slice(task, self.counters)
            total: I64Array = np.zeros(end - begin, np.int64)
            for blob in found["counters"]:
                total[blob["at"]] += blob["counts"]
            counts = np.minimum(total, _FULL).astype(np.uint32)
            out.add("counters", task, {"first": np.array([begin]), "counts": counts})
        yield from out.rest()


def _slice(number: int, counters: int) -> tuple[int, int]:
    return number * counters // _SLICES, (number + 1) * counters // _SLICES


def _together(found: list[Arrays1D]) -> tuple[U64Array, U32Array]:
    """(elements ascending, each once; the sum of its counts)."""
    elements = np.concatenate([np.empty(0, np.uint64), *(blob["elements"] for blob in found)])
    counts = np.concatenate([np.empty(0, np.int64), *(blob["counts"].astype(np.int64) for blob in found)])
    found.clear()
    order = np.argsort(elements, kind="stable")
    elements, counts = elements[order], counts[order]
    begins = np.flatnonzero(np.concatenate([[True], elements[1:] != elements[:-1]])) if len(elements) else order
    totals = np.add.reduceat(counts, begins) if len(begins) else counts
    return elements[begins], np.minimum(totals, _FULL).astype(np.uint32)
