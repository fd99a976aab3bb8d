"""The fifth stage: pairs are compared exactly, by the rows that were sent for them.

    pairs, rows ── compare ──▶ matches  (item, item, similarity, bands in which they met), to the task of the left item

A pair of two items of giant buckets is left to the task that has all of these (`giant_stage.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.bucket_stage import unpack_bands
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.ship_stage import read_rows
from lookalike.engines.packed.tallies import Tallies
from lookalike.measures import measure_of
from lookalike.recipe import Recipe
from lookalike.types import F64Array, I64Array, U16Array
from lookalike.verify.verifier import Verifier

__all__ = ["KINDS", "VerifyStage"]

KINDS = ("matches", "counts")
# Pairs that are compared at a time.
_PAIRS = 1 << 18


@dataclass(frozen=True)
class VerifyStage:
    """What a task does with its pairs and the rows for them; with `every`, all of them count, however little alike."""

    recipe: Recipe
    config: Config
    parts: int
    every: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _, found = of_one_task(batches, ["pairs", "rows"])
        pairs, sent = found["pairs"], found["rows"]
        out, tallies = BatchWriter(KINDS), Tallies()
        judge = measure_of(self.recipe).judge(self.config)
        assert judge is not None
        if sent and pairs:
            items, rows, giant = read_rows(sent)
            left, right, hits, bands = (
                np.concatenate([blob[name] for blob in pairs]) for name in ("left", "right", "hits", "bands")
            )
            pairs.clear()
            left, right = np.searchsorted(items, left), np.searchsorted(items, right)
            ends = np.concatenate([[0], np.cumsum(hits, dtype=np.int64)])
            asked = np.flatnonzero((giant[left] & giant[right]) == 0)
            likeness = None if self.every else judge.likeness(*rows.whole())
            for at in range(0, len(asked), _PAIRS):
                some = asked[at : at + _PAIRS]
                if likeness is not None:
                    some = some[likeness.may_match(left[some], right[some])]
                least = judge.lowest if self.every else judge.threshold
                scores = Verifier(judge, rows).scores(left[some], right[some], least)
                tallies.add("candidates", len(some))
                hit = scores >= least
                matches, similarity = some[hit], judge.similarity(scores[hit])
                tallies.add("matches", len(matches))
                self._add(items[left[matches]], items[right[matches]], similarity, matches, ends, bands, out)
                yield from out.full()
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _add(
        self, left: I64Array, right: I64Array, similarity: F64Array, pairs: I64Array, ends: I64Array, bands: U16Array,
        out: BatchWriter,
    ) -> None:  # fmt: skip
        """Matches, which are pairs of these numbers, with the bands in which they met."""
        hits = np.diff(ends)[pairs].astype(np.uint16)
        for task, mine in by_number(part_of_item(left, self.parts)):
            arrays: Arrays1D = {"left": left[mine], "right": right[mine], "similarity": similarity[mine]}
            out.add("matches", task, arrays | {"hits": hits[mine], "bands": unpack_bands(ends, bands, pairs[mine])})
