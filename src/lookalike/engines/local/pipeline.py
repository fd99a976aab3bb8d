"""The way of the data: represent ─ sketch ─ band ─ fold ─ group ─ verify ─ cluster.

    sketch_pass.py      reads every item once and keeps a fingerprint, a size and b band keys of it
    parts.py            folds identical items, and finds those that share a bucket
    compare_pass.py     reads those again and compares them; `giants.py` sees to buckets with too many items
    cluster_matches.py  which item stands for which, and which one stays

The result depends on the items and options alone, not on batches, threads, memory or interruptions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from lookalike.certify.audit import Audited
from lookalike.certify.recall import PairTally
from lookalike.cluster.keep import KeepPolicy, keep_order, parse_keep
from lookalike.collide.fold import Folds
from lookalike.collide.group import PROBE
from lookalike.config import Config, check_options
from lookalike.engines.local.cluster_matches import best_copies, cluster
from lookalike.engines.local.compare_pass import Comparing, too_many
from lookalike.engines.local.counts import Counts
from lookalike.engines.local.frequency_pass import count_frequencies
from lookalike.engines.local.literal_check import Literals, split_folds
from lookalike.engines.local.matched import Matched, chance_of, matches_file
from lookalike.engines.local.parts import MOST, Grouped, fold, group_bands
from lookalike.engines.local.planning import Expected, more_memory, plan_run
from lookalike.engines.local.room import give_back_memory
from lookalike.engines.local.run_audit import Auditing
from lookalike.engines.local.sketch_pass import Sketched, sketch
from lookalike.engines.local.specimens import choose
from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.work_folder import Work
from lookalike.errors import OptionError
from lookalike.io.source import Source
from lookalike.items.collection import Collection, open_collection
from lookalike.items.from_rows import Items
from lookalike.measure_table import Slots, form_named
from lookalike.measures import Judge, measure_of
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array
from lookalike.wording.progress import SILENT, Progress

__all__ = ["Found", "find"]

# A process that holds no more than this may keep what it freed for its next stage: fresh pages are slow to come by.
_SMALL = 1_000_000_000


@dataclass(frozen=True)
class Found:
    """A finished run: what it read, how, and what it found."""

    collection: Collection
    config: Config
    plan: Plan | None
    sketched: Sketched
    matched: Matched
    expected: Expected | None = None

    @property
    def items(self) -> Items:
        """The run's own items."""
        return self.collection.items

    @property
    def counts(self) -> Counts:
        return self.matched.counts


def find(
    source: Source,
    config: Config,
    progress: Progress = SILENT,
    *,
    verb: str = "dedup",
    against: Source | None = None,
    work: Work | None = None,
) -> Found:
    """From a source to matches and, unless pairs are wanted, clusters."""
    work = work or Work()
    try:
        return _LocalRun(source, against, config, verb, work, progress).find()
    finally:
        work.close()


class _LocalRun:
    """One run: its stages, and what they leave for the next."""

    def __init__(
        self, source: Source, against: Source | None, config: Config, verb: str, work: Work, progress: Progress
    ) -> None:
        self.verb, self.work, self.progress = verb, work, progress
        self.counts = Counts()
        self.collection = open_collection(source, against, config)
        items = self.collection.items
        check_options(config, items.form)
        self.config = config = replace(config, measure=config.measure or form_named(items.form).measure)
        self.keep = parse_keep(config.keep)
        self.seconds: dict[str, float] = {}
        self._begun = time.perf_counter()
        self.frequencies = None
        if items.recipe.needs_frequencies:
            self.frequencies = count_frequencies(self.collection, config, work, progress)
            self._lap("counting shingles")
        self.plan, self.expected = plan_run(self.collection, config, self.frequencies, progress, verb)
        self.recipe = items.recipe.planned(self.plan)
        self.measure = measure_of(self.recipe, self.frequencies)
        if self.expected is not None and self.plan is not None:
            progress.note(_announcement(self.plan, self.expected, items.form))

    def find(self) -> Found:
        """All stages; those that an earlier process finished are taken over."""
        sketched = sketch(
            self.collection, self.recipe, self.frequencies, self._audit(), self.config, self.keep, self.counts,
            self.work, self.progress,
        )  # fmt: skip
        self._lap("reading and sketching")
        result = Matched.load(self.work, self.plan, self.config.scale, self._for_matches())
        if result is None:
            result = self._match(sketched)
            if self.work.resumable:
                result.save(self.work)
        return Found(self.collection, self.config, self.plan, sketched, result, self.expected)

    def _audit(self) -> Auditing | None:
        """The audit, where one is asked for and there is more to look for than identical items."""
        if not self.config.audit or self.plan is None:
            return None
        # Items of the other collection are not compared with one another: from which item on is known when they end.
        return Auditing(self.config, self.measure, 0 if self.collection.against is None else 2**62)

    def _match(self, sketched: Sketched) -> Matched:
        config, counts, sketches = self.config, self.counts, sketched.sketches
        folds = fold(sketches, config.memory // 4, self.collection.references)
        if config.verify_text:
            folds, counts.refused_identical = split_folds(self.collection, folds, self.progress)
            self._lap("reading identical items again")
        counts.identical = folds.identical
        if self.verb == "pairs" and folds.within > config.max_pairs:
            raise OptionError(too_many(folds.within, config.max_pairs))

        # Items without elements have no keys: they are like nothing but their own copies.
        sizes = sketches.column("sizes")
        active: BoolArray = (folds.leader == np.arange(len(sizes), dtype=np.uint32)) & (sizes > 0)
        bands = self.plan.bands if self.plan is not None else 0
        judge = self.measure.judge(config)
        if self.plan is not None and self.plan.exhaustive:
            grouped = Grouped([], np.zeros(len(active), np.bool_), active)
        else:
            grouped = group_bands(
                sketches, bands, active, counts, most=self._most(judge), memory=config.memory // 4,
                threads=config.threads, progress=self.progress,
            )  # fmt: skip
        fingerprints = sketches.look_up("fingerprints", 0, np.flatnonzero(grouped.wanted()))
        sketches.forget()
        specimens = choose(grouped, folds, active, self.collection.items.form)
        self._lap("grouping")

        matches = Matches(self.work, self._for_matches())
        tally = None
        if self.plan is not None and bands and config.verify != "none":
            tally = PairTally(chance_of(self.plan, config.scale), bands)
        rank = _keep_rank(self.keep, self.collection, sketched, directed=config.scale.is_directed)
        comparing = Comparing(
            self.collection, self.measure, judge, config.scale, folds, counts, self.work, config.memory,
            config.threads, self.progress, self.verb == "pairs", config.max_pairs, specimens, fingerprints,
            self._literals(len(sizes)), config.cluster == "components",
            config.verify == "exact" and self.recipe.traits.slots is Slots.MINHASH,
        )  # fmt: skip
        del fingerprints
        try:
            comparing.load(grouped, sizes)
            self._lap("reading again")
            order = None if rank is None else rank[best_copies(folds, rank)]
            led = comparing.compare(matches, tally, order)
            if not counts.led_items and not config.verify_text and config.audit:
                self._check_drawn(grouped, comparing, matches)
            missed = self._missed(sketched.audit, folds, matches)
            if not counts.led_items and config.verify == "exact" and not config.verify_text:
                counts.audit_pairs = self._add_missed(sketched.audit, missed, folds, matches)
            self._lap("comparing")
            clustering = None
            if self.verb != "pairs":
                clustering = cluster(config, folds, rank, matches, comparing, led)
                self._lap("clustering")
            matches.settle(matches_file(self.work))
            counts.matches = len(matches)
            counts.unexamined_items += sum(int(each.leading.unexamined.sum()) for each in led)
        finally:
            comparing.close()
        pairs = sum(folds.unfolded(left, right) for left, right, _ in matches.stretches()) + folds.within
        spilled = sketches.spilled + comparing.spilled + matches.spilled
        spilled += 0 if comparing.literals is None else comparing.literals.spilled
        return Matched(folds, matches, pairs, clustering, tally, counts, self.seconds, spilled, specimens.texts, missed)

    def _check_drawn(self, grouped: Grouped, comparing: Comparing, matches: Matches) -> None:
        """Compare some pairs that share a bucket again: those that match must be among the matches."""
        references = self.collection.references

        def contains(left: I64Array, right: I64Array) -> BoolArray:
            return (np.maximum(left, right) < references) | matches.contains(left, right)

        self.counts.checked_pairs, self.counts.lost_pairs = grouped.drawn.lost(comparing.match_again, contains)

    def _missed(self, audited: Audited | None, folds: Folds, matches: Matches) -> BoolArray:
        """Which pairs of the audit are of different items, and not among the matches."""
        if audited is None:
            return np.zeros(0, np.bool_)
        a, b = (folds.leader[each].astype(np.int64) for each in (audited.left, audited.right))
        # Items that are identical to those compared against are removed as such, and not compared with one another.
        same = (a == b) | (np.maximum(a, b) < folds.references)
        found: BoolArray = same | matches.contains(np.minimum(a, b), np.maximum(a, b))
        return ~found

    def _add_missed(self, audited: Audited | None, missed: BoolArray, folds: Folds, matches: Matches) -> int:
        """Put the pairs that only the audit found among the matches; for how many pairs of items they stand."""
        if audited is None or not missed.any():
            return 0
        ends = folds.leader[np.stack([audited.left[missed], audited.right[missed]])].astype(np.int64)
        (left, right), at = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
        matches.add(left, right, audited.similarities[missed][at])
        return folds.unfolded(left, right)

    def _literals(self, items: int) -> Literals | None:
        """What compares matches by what they are made of, where that is asked for and there are any."""
        if not self.config.verify_text or self.plan is None:
            return None
        return Literals(self.recipe, self.config.scale, items, self.work)

    def _for_matches(self) -> int:
        """Bytes of matches that may be held: they stand beside the rows, and are sorted there."""
        return self.config.memory // 16

    def _most(self, judge: Judge | None) -> int:
        """The largest bucket that is kept; what is not compared cannot be joined either, and only sets can."""
        return MOST if judge is not None and judge.has_elements else PROBE

    def _lap(self, name: str) -> None:
        give_back_memory(above=min(self.config.memory // 2, _SMALL))
        now = time.perf_counter()
        self.seconds[name] = now - self._begun
        self._begun = now


def _keep_rank(keep: KeepPolicy, collection: Collection, sketched: Sketched, *, directed: bool) -> I64Array | None:
    """The place of every item in keep order, those that are compared against first; None is their own order.

    Where the smaller of two items is inside the larger one, it can only go for that: the larger ones come first, and
    keep decides among those of one size.
    """
    if keep.kind == "first" and not directed:
        return None
    references = collection.references
    rank = np.arange(len(sketched.sketches))
    order = rank[: len(rank) - references]
    if keep.kind != "first":
        lengths = sketched.sketches.column("lengths")
        order = keep_order(keep, ties=sketched.item_rank(), lengths=lengths[references:], values=sketched.keep_values)
    if directed:
        sizes = sketched.sketches.column("sizes")[references:].astype(np.int64)
        order = order[np.argsort(-sizes[order], kind="stable")]
    rank[order + references] = np.arange(references, len(rank))
    return rank


def _announcement(plan: Plan, expected: Expected, form: str) -> str:
    """What is going to happen, before it does."""
    spill = f", {expected.disk / 1e9:.1f} GB of work files" if expected.disk else ""
    return (
        f"about {expected.items:,} items, {expected.text / 1e9:.1f} GB of {form}: "
        f"{plan.shape}; "
        f"expecting {expected.seconds:,.0f} s, {expected.memory / 1e9:.1f} GB of memory{spill}"
        + (f"; {more_memory(expected.over)}" if expected.over else "")
    )
