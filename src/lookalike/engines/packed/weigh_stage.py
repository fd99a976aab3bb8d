"""How many pairs of items matches stand for, and what they tell about those that were missed.

    matches ── copies of the left leader ── by right leader ── copies of the right one ──▶ tally, histogram, counts

A match of two leaders stands for as many pairs as they have copies, multiplied. The tally of each task
(`certify/recall.py`) is of whole numbers, so that those of all tasks add up to the same whatever their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.certify.recall import PairTally
from lookalike.engines.evidence import chance_of, histogram_bins
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.bucket_stage import unpack_bands
from lookalike.engines.packed.giant_stage import AUDIT, GIANT
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.tallies import Tallies
from lookalike.scale import Scale
from lookalike.theory import Plan
from lookalike.types import I64Array

__all__ = ["WEIGHED", "WEIGHTS", "WeighLeft", "WeighRight"]

WEIGHED = ("weighed",)
WEIGHTS = ("tally", "counts")


class _CopyCounts:
    """How many items leaders lead, themselves included; one that is not named leads itself alone."""

    def __init__(self, copies: list[Arrays1D]) -> None:
        leaders, items = (
            np.concatenate([np.empty(0, np.int64), *(blob[name] for blob in copies)]) for name in ("leaders", "items")
        )
        self._leaders, place = np.unique(leaders, return_inverse=True)
        self._counts: I64Array = np.bincount(place, minlength=len(self._leaders))
        self._references: I64Array = np.bincount(place[items < 0], minlength=len(self._leaders))

    def of(self, leaders: I64Array) -> tuple[I64Array, I64Array]:
        """The number of items of each leader, and of references among them."""
        alone = np.ones(len(leaders), np.int64), (leaders < 0).astype(np.int64)
        if not len(self._leaders):
            return alone
        at = np.minimum(np.searchsorted(self._leaders, leaders), len(self._leaders) - 1)
        known = self._leaders[at] == leaders
        return np.where(known, self._counts[at], alone[0]), np.where(known, self._references[at], alone[1])


@dataclass(frozen=True)
class WeighLeft:
    """Puts the copies of left leaders beside matches, which go to the task of the right one."""

    parts: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = BatchWriter(WEIGHED)
        _, found = of_one_task(batches, ["matches", "copies"])
        counts = _CopyCounts(found["copies"])
        for blob in found["matches"]:
            ends = np.concatenate([[0], np.cumsum(blob["hits"], dtype=np.int64)])
            whole = {name: blob[name] for name in ("left", "right", "similarity", "hits")}
            whole["copies"], whole["references"] = counts.of(blob["left"])
            for each, mine in by_number(part_of_item(blob["right"], self.parts)):
                arrays = {name: array[mine] for name, array in whole.items()}
                arrays |= {"bands": unpack_bands(ends, blob["bands"], mine)}
                out.add("weighed", each, arrays | {"origin": blob.get("origin", np.zeros(1, np.uint8))})
            yield from out.full()
        yield from out.rest()


@dataclass(frozen=True)
class WeighRight:
    """Counts the pairs that matches stand for.

    Attributes:
        plan: the plan of the run.
        bands: how many bands there are; 0 where nothing is to be tallied.
        scale: what similarities are told on.
        joined: whether giants were joined, and not led: their pairs then belong to the tally.
        wanted: leaders, ascending, of which it is asked how many later items are like them.
    """

    plan: Plan
    bands: int
    scale: Scale
    joined: bool
    wanted: I64Array

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out, tallies = BatchWriter(WEIGHTS), Tallies()
        _, found = of_one_task(batches, ["weighed", "copies"])
        counts = _CopyCounts(found["copies"])
        tally = PairTally(chance_of(self.plan, self.scale), self.bands) if self.bands else None
        for blob in found["weighed"]:
            right, references = counts.of(blob["right"])
            left: tuple[I64Array, I64Array] = blob["copies"], blob["references"]
            weights = left[0] * right - left[1] * references
            self._count(blob, weights, right, tallies)
            if tally is not None:
                self._tally(blob, weights, tally)
        if tally is not None:
            out.add("tally", 0, {"json": np.frombuffer(json.dumps(tally.state()).encode(), np.uint8)})
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _count(self, blob: Arrays1D, weights: I64Array, right: I64Array, tallies: Tallies) -> None:
        """Numbers of pairs, in all and by similarity, and the partners of wanted leaders."""
        tallies.add("pairs", int(weights.sum()))
        if int(blob["origin"][0]) == AUDIT:
            tallies.add("audit_pairs", int(weights.sum()))
        for place, mine in by_number(histogram_bins(self.scale, blob["similarity"])):
            tallies.add(f"bin {place}", int(weights[mine].sum()))
        chosen = np.isin(blob["left"], self.wanted)
        for leader, mine in by_number(blob["left"][chosen]):
            tallies.add(f"partners {leader}", int(right[chosen][mine].sum()))

    def _tally(self, blob: Arrays1D, weights: I64Array, tally: PairTally) -> None:
        origin = int(blob["origin"][0])
        if origin == AUDIT or (origin == GIANT and not self.joined):
            return
        sure = np.full(len(weights), origin == GIANT)
        ends = np.concatenate([[0], np.cumsum(blob["hits"], dtype=np.int64)])
        tally.add(self.scale.share(blob["similarity"]), weights.astype(np.float64), sure, ends, blob["bands"])
