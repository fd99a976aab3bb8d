"""What becomes of a match: it is confirmed where that is asked for, tallied, counted against the limit, and stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lookalike.certify.recall import PairTally
from lookalike.collide.fold import Folds
from lookalike.engines.counts import Counts
from lookalike.engines.evidence import chance_of
from lookalike.engines.joined_pairs import JoinedPairs
from lookalike.engines.local.held_parts import HeldPart
from lookalike.engines.local.literal_check import Literals
from lookalike.engines.local.pair_limit import PairLimit
from lookalike.engines.local.parts import Grouped
from lookalike.engines.local.run_context import RunContext
from lookalike.engines.local.store.matches import Matches
from lookalike.scale import Scale
from lookalike.types import BoolArray, F64Array, I64Array, U16Array

__all__ = ["NotedMatches", "Noting", "noting_for"]


# The bands in which each match met: (ends, bands).
Hits: TypeAlias = tuple[I64Array, U16Array]


@dataclass(frozen=True, slots=True)
class NotedMatches:
    """Matches, the smaller item first, how many pairs of items they stand for, and their tally.

    Those that wait to be confirmed have the bands in which they met instead.
    """

    left: I64Array
    right: I64Array
    similarity: F64Array
    pairs: int
    tally: PairTally | None
    waiting: Hits | None = None


@dataclass(frozen=True, slots=True)
class Noting:
    """Notes matches of leaders of folds.

    With `literals` only those count that match by what their items are made of. With a `limit` all pairs are wanted,
    and no more than that. The tally estimates how many were missed, by the bands in which matches met; `joined` does so
    for those that met in no band that was looked at, where it can.
    """

    matches: Matches
    folds: Folds
    counts: Counts
    scale: Scale
    tally: PairTally | None = None
    joined: JoinedPairs | None = None
    literals: Literals | None = None
    limit: PairLimit | None = None

    @property
    def items(self) -> int:
        """How many items the run has."""
        return len(self.folds.leader)

    def note(
        self,
        left: I64Array,
        right: I64Array,
        similarity: F64Array,
        hits: Hits | None = None,
        *,
        tallied: bool = True,
        of: BoolArray | None = None,
    ) -> int:
        """Note matches; how many there were of those that `of` marks.

        `hits` are the bands in which each met, as (ends, bands); without them the match was sure to be found.
        """
        of = np.ones(len(left), np.bool_) if of is None else of
        if self.literals is not None:
            good, similarity = self.literals.confirmed(left, right)
            self.counts.refused_matches += int((~good).sum())
            left, right, similarity, of = left[good], right[good], similarity[good], of[good]
            hits = None if hits is None else _of_some(hits, good)
        self._add(self._tallied(left, right, similarity, hits, tallied=tallied))
        return int(of.sum())

    def noted(self, left: I64Array, right: I64Array, similarity: F64Array, hits: Hits) -> NotedMatches:
        """What is to be noted of matches, for `take`; may be called by several threads at once."""
        if self.literals is not None:
            # Those that are confirmed are not known yet.
            return NotedMatches(left, right, similarity, 0, None, hits)
        return self._tallied(left, right, similarity, hits)

    def take(self, noted: NotedMatches) -> None:
        """Note matches."""
        if noted.waiting is None:
            self._add(noted)
        else:
            self.note(noted.left, noted.right, noted.similarity, noted.waiting)

    def _tallied(
        self, left: I64Array, right: I64Array, similarity: F64Array, hits: Hits | None, *, tallied: bool = True
    ) -> NotedMatches:
        weights, tally = self.folds.weights(left, right), None
        if tallied and self.tally is not None and len(left):
            sure = np.full(len(left), hits is None)
            ends, bands = hits or (np.zeros(len(left) + 1, np.int64), np.empty(0, np.uint16))
            tally = self.tally.another()
            tally.add(self.scale.share(similarity), weights, sure, ends, bands)
            if hits is None and self.joined is not None:
                self.joined.offer(left, right, similarity, weights)
        return NotedMatches(np.minimum(left, right), np.maximum(left, right), similarity, int(weights.sum()), tally)

    def _add(self, noted: NotedMatches) -> None:
        if noted.tally is not None and self.tally is not None:
            self.tally.merge(noted.tally)
        self.matches.add(noted.left, noted.right, noted.similarity)
        if self.limit is not None:
            self.limit.add(noted.pairs)

    def note_giants(self, joined: HeldPart | None = None) -> None:
        """Let the tally know that some matches met in no bucket that was looked at; `joined` has the rows of a join.

        A join finds all of them, so that a sample of them tells about those that no band found.
        """
        if self.tally is None:
            return
        self.tally.giants = True
        if joined is not None and self.joined is not None:
            tally, scale = self.tally, self.scale
            evidence = self.joined.evidence(joined)
            tally.joined = evidence.terms(lambda similarity: tally.chances(scale.share(similarity)))


def noting_for(run: RunContext, folds: Folds, grouped: Grouped) -> Noting:
    """What becomes of the matches of a run, as its options say."""
    config, tally, literals = run.config, None, None
    if run.plan is not None and run.bands and config.verify != "none":
        tally = PairTally(chance_of(run.plan, config.scale), run.bands)
    if run.plan is not None and config.verify_text:
        literals = Literals(run.recipe, config.scale, len(folds.leader), run.work)
    # What weighs matches is made here, and not by each of the threads that note some.
    folds.weights(np.empty(0, np.int64), np.empty(0, np.int64))
    return Noting(
        Matches(run.work, config.budget.matches), folds, run.counts, config.scale, tally,
        JoinedPairs(run.measure, grouped.giant_bands) if run.rows_tell else None, literals,
        PairLimit(config.limits, folds, run.progress) if run.all_pairs else None,
    )  # fmt: skip


def _of_some(hits: Hits, good: BoolArray) -> Hits:
    """The bands in which some of the pairs met."""
    ends, bands = hits
    counts = np.diff(ends)
    return np.concatenate([[0], np.cumsum(counts[good])]).astype(np.int64), bands[np.repeat(good, counts)]
