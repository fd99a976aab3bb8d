"""From buckets to matches by comparing: read ─ compare ─ lead again ─ tell.

    compare_pass.py    reads the items of buckets again: parts of them with the rows that they are compared by
    held_parts.py      compares candidates of a part, chunk by chunk on several threads
    giant_matches.py   sees to buckets with too many items
    noting.py          what becomes of a match
    scattered.py       how alike any two items are

Here is the order of these, and the walk over buckets of common size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lookalike.budget import Limits
from lookalike.collide.buckets import Buckets, Likeness, Walk
from lookalike.collide.group import Groups
from lookalike.engines.giant_matches import GiantMatches, Led
from lookalike.engines.giants import in_large
from lookalike.engines.local.compare_pass import SecondPass
from lookalike.engines.local.held_parts import HeldPart, HeldParts
from lookalike.engines.local.noting import NotedMatches, Noting
from lookalike.engines.local.parts import Grouped
from lookalike.engines.local.run_context import RunContext
from lookalike.engines.local.scattered import Scattered
from lookalike.engines.local.specimens import Specimens
from lookalike.engines.local.unverified import Unverified
from lookalike.measures import Judge, compares_elements
from lookalike.types import BoolArray, F64Array, I64Array, U32Array, U64Array

__all__ = ["Comparing", "comparing_for"]

# Pairs that a thread compares at a time: some 30 ms of work, so that all threads have some to the end.
_CHUNK = 1 << 15


@dataclass(slots=True)
class Comparing:
    """Compares the items of buckets. `connected` asks for no more of giant ones than what is connected."""

    second: SecondPass
    noting: Noting
    limits: Limits
    connected: bool
    held: HeldParts = field(default_factory=HeldParts)
    _led: list[Led] = field(default_factory=list)
    _giants: GiantMatches = field(init=False)

    def read(self, groups: Grouped, sizes: U32Array) -> None:
        """Read the items that share a bucket again."""
        self.held = self.second.read(groups, sizes)

    def compare(self, rank: I64Array | None) -> None:
        """Compare all candidates. `rank` is the place of each item in keep order; None is their own order."""
        self._giants = GiantMatches(
            self.second.judge, self.noting, self.second.budget, self.limits, rank, self.connected
        )
        # One part ends only when all is done: candidates tell that it goes on, though not how many there are.
        one = len(self.held.parts) == 1
        total, unit = (None, "candidates") if one else (self.held.items, "items")
        with self.second.progress.stage("comparing candidates", total, unit) as stage:
            # Giant lists leave most behind, so they come when no other part needs the room any more.
            for held in sorted(self.held.parts, key=lambda each: bool(each.part.giant.any())):
                self._led += self._compare(replace(held, on_compared=stage.advance) if one else held)
                stage.advance(0 if one else len(held.items))

    def _compare(self, held: HeldPart) -> list[Led]:
        """Compare the candidates of one part; leaders see to buckets that are large, unless all pairs are wanted."""
        judge, budget = self.second.judge, self.second.budget
        bands, likeness = held.part.buckets(budget.threads), held.likeness(judge, budget.block)
        large = np.zeros(len(held.items), np.bool_)
        if self.noting.limit is None and not compares_elements(judge):
            large = in_large(bands, len(held.items), self.limits.row_bucket)
        self._compare_small(held, bands, large, likeness)
        return self._giants.find(held, bands, large, likeness)

    def _compare_small(
        self, held: HeldPart, bands: Sequence[Groups], large: BoolArray, likeness: Likeness | None
    ) -> None:
        """Compare the pairs of buckets, but for those of two items that are giant or stand in large ones."""
        if large.any():
            bands = [each.chosen(np.diff(each.starts) <= self.limits.row_bucket) for each in bands]
        buckets, items = Buckets(len(held.items), bands, self.second.budget.threads), held.items
        if self.noting.limit is not None and not compares_elements(self.second.judge):
            self.noting.limit.estimate(buckets, np.arange(len(items)), held)
        walk = Walk(buckets, held.part.giant | large, likeness)

        def noted(left: I64Array, right: I64Array, similarity: F64Array) -> NotedMatches:
            return self.noting.noted(items[left], items[right], similarity, buckets.hits(left, right))

        for done in held.verified(walk.tasks(_CHUNK), self.noting.counts, noted):
            self.noting.take(done.looked_up)

    def lead_again(self, kept: BoolArray) -> int:
        """Look for matches among the items of giant lists that are kept: how many there were."""
        return self._giants.lead_again(self._led, kept)

    def similarity(self, left: I64Array, right: I64Array) -> F64Array:
        """The similarity of any two items, however low."""
        second, items = self.second, len(self.noting.folds.leader)
        rows = Scattered(second.collection, second.measure, second.judge, self.held, items, second.budget)
        return rows.similarity(left, right)

    def match_again(self, left: I64Array, right: I64Array) -> BoolArray:
        """Which pairs of items match by plain intersections of their rows, which must hold elements."""
        return self.held.matching_again(left, right, self.second.judge)

    @property
    def unexamined(self) -> int:
        """Items of giant lists that leaders gave up."""
        return sum(int(each.leading.unexamined.sum()) for each in self._led)

    @property
    def spilled(self) -> int:
        """Bytes that are in files instead of memory."""
        literals = self.noting.literals
        return self.held.spilled + (0 if literals is None else literals.spilled)

    def close(self) -> None:
        """Forget the rows, and what items are made of."""
        self.held.close()
        if self.noting.literals is not None:
            self.noting.literals.close()


def comparing_for(
    run: RunContext, judge: Judge | None, noting: Noting, specimens: Specimens, fingerprints: U64Array
) -> Comparing | Unverified:
    """What makes matches of candidates; `fingerprints` are those of the items that share a bucket."""
    config = run.config
    if judge is None:
        return Unverified(noting, config.limits.bucket)
    second = SecondPass(
        run.collection, run.measure, judge, config.budget, run.work, noting.folds, specimens, noting.literals,
        run.progress, fingerprints,
    )  # fmt: skip
    return Comparing(second, noting, config.limits, connected=config.cluster == "components")
