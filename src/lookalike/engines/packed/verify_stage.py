"""The fifth stage: pairs are compared exactly, by the rows that were sent for them.

    pairs, rows ── compare ──▶ matches  (item, item, similarity, bands in which they met)

A pair of two items of giant buckets is left to the task that has all of these (`giant_stage.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, of_one_task
from lookalike.engines.packed.bucket_stage import unpack_bands
from lookalike.engines.packed.ship_stage import read_rows
from lookalike.engines.packed.tallies import Tallies
from lookalike.measures import Judge, measure_of
from lookalike.recipe import Recipe
from lookalike.types import I64Array
from lookalike.verify.verifier import HeldRows, Verifier

__all__ = ["KINDS", "VerifyStage"]

KINDS = ("matches", "counts")


@dataclass(frozen=True)
class VerifyStage:
    """What a task does with its pairs and the rows for them; with `every`, all of them count, however little alike."""

    recipe: Recipe
    config: Config
    every: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, ["pairs", "rows"])
        pairs, sent = found["pairs"], found["rows"]
        out, tallies = BatchWriter(KINDS), Tallies()
        judge = measure_of(self.recipe).judge(self.config)
        assert judge is not None
        if task is not None and sent:
            items, rows, giant = read_rows(sent)
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
        likeness = None if self.every else judge.likeness(*rows.whole())
        if likeness is not None:
            asked = asked[likeness.may_match(left[asked], right[asked])]
        left, right = left[asked], right[asked]
        least = judge.lowest if self.every else judge.threshold
        scores = Verifier(judge, rows).scores(left, right, least)
        hit = np.flatnonzero(scores >= least)
        tallies.add("candidates", len(left))
        tallies.add("matches", len(hit))
        if len(hit):
            arrays: Arrays1D = {"left": items[left[hit]], "right": items[right[hit]]}
            arrays |= {"similarity": judge.similarity(scores[hit]), "hits": blob["hits"][asked[hit]]}
            out.add("matches", task, arrays | {"bands": unpack_bands(ends, blob["bands"], asked[hit])})
