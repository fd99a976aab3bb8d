"""The fifth stage: pairs are compared exactly, by the rows that were sent for them.

    pairs, rows ── compare ──▶ matches  (item, item, similarity, bands in which they met)

One task more has the items of giant buckets, and finds every match among them by a join on rare elements
(`engines/giants.py`). A pair of two of those is left to it, wherever else it met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.engines.giants import Join
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.bucket_stage import unpack_bands
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.ship_stage import read_rows
from lookalike.engines.packed.tallies import Tallies
from lookalike.measures import Judge, compares_elements, measure_of
from lookalike.recipe import Recipe
from lookalike.types import F64Array, I64Array
from lookalike.verify.verifier import HeldRows, Verifier

__all__ = ["KINDS", "VerifyStage", "add_sure"]

KINDS = ("matches", "counts")


@dataclass(frozen=True)
class VerifyStage:
    """What a task does with its pairs and the rows for them."""

    recipe: Recipe
    config: Config
    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["pairs", "rows"])
        pairs, sent = found["pairs"], found["rows"]
        out, tallies = BatchWriter(KINDS), Tallies()
        judge = measure_of(self.recipe).judge(self.config)
        assert judge is not None
        if task is not None and sent:
            items, rows, giant = read_rows(sent)
            if task == self.parts:
                yield from self._join(judge, items, rows, out, tallies)
            for blob in pairs:
                self._compare(judge, items, rows, giant, blob, task, out, tallies)
                yield from out.full()
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _compare(
        self, judge: Judge, items: I64Array, rows: HeldRows, giant: I64Array, blob: Arrays1D, task: int,
        out: BatchWriter, tallies: Tallies,
    ) -> None:  # fmt: skip
        """The matches among some pairs."""
        left, right = np.searchsorted(items, blob["left"]), np.searchsorted(items, blob["right"])
        ends = np.concatenate([[0], np.cumsum(blob["hits"], dtype=np.int64)])
        asked = np.flatnonzero((giant[left] & giant[right]) == 0)
        left, right = left[asked], right[asked]
        scores = Verifier(judge, rows).scores(left, right)
        hit = np.flatnonzero(scores >= judge.threshold)
        tallies.add("candidates", len(left))
        tallies.add("matches", len(hit))
        if len(hit):
            arrays: Arrays1D = {"left": items[left[hit]], "right": items[right[hit]]}
            arrays |= {"similarity": judge.similarity(scores[hit]), "hits": blob["hits"][asked[hit]]}
            out.add("matches", task, arrays | {"bands": unpack_bands(ends, blob["bands"], asked[hit])})

    def _join(
        self, judge: Judge, items: I64Array, rows: HeldRows, out: BatchWriter, tallies: Tallies
    ) -> Iterator[pa.RecordBatch]:
        """All matches among the items of giant buckets."""
        assert compares_elements(judge), "only sets are joined"
        store = StoredRows(np.diff(rows.offsets))
        store.put(0, len(items), rows.words)
        budget = self.config.budget
        join = Join.of(
            store, np.arange(len(items)), judge, budget.join(len(items), rows_in_file=False), self.config.limits
        )
        for done in Verifier(judge, store).verified(join.pairs()):
            tallies.add("candidates", done.compared)
            tallies.add("matches", len(done.left))
            if len(done.left):
                add_sure(items[done.left], items[done.right], done.similarity, self.parts, out)
                yield from out.full()


def add_sure(a: I64Array, b: I64Array, similarity: F64Array, parts: int, out: BatchWriter) -> None:
    """Matches that no band found, to the task of the smaller item."""
    left, right = np.minimum(a, b), np.maximum(a, b)
    for each, mine in by_number(part_of_item(left, parts)):
        arrays: Arrays1D = {"left": left[mine], "right": right[mine], "similarity": similarity[mine]}
        none = {"hits": np.zeros(len(mine), np.uint16), "bands": np.empty(0, np.uint16)}
        out.add("matches", each, arrays | none)
