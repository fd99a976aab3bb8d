"""The way of the data: represent ─ sketch ─ band ─ fold ─ group ─ verify ─ cluster.

    sketch_pass.py      reads every item once and keeps a fingerprint, a size and b band keys of it
    parts.py            folds identical items, and finds those that share a bucket
    comparing.py        reads those again (`compare_pass.py`) and compares them; `noting.py` is what becomes of a match
    known_items.py      what new items are compared with that is known from before, such as an index
    cluster_matches.py  which item stands for which, and which one stays

The result depends on the items and options alone, not on batches, threads, memory or interruptions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lookalike.cluster.keep import parse_keep
from lookalike.collide.fold import Wanted
from lookalike.config import Config, check_options
from lookalike.engines.counts import Counts
from lookalike.engines.local.cluster_matches import best_copies, cluster, keep_rank, removed_across, without_seldom
from lookalike.engines.local.comparing import comparing_for
from lookalike.engines.local.frequency_pass import count_frequencies
from lookalike.engines.local.item_texts import ItemTexts, texts_of
from lookalike.engines.local.known_items import KnownItems, met_items, own_folds, with_references
from lookalike.engines.local.match_checks import check_matches
from lookalike.engines.local.matched import Matched, matches_file
from lookalike.engines.local.near_misses import near_misses
from lookalike.engines.local.noting import noting_for
from lookalike.engines.local.parts import fold_items, group_items
from lookalike.engines.local.removed_names import check_free_names
from lookalike.engines.local.room import give_back_memory
from lookalike.engines.local.run_audit import Auditing
from lookalike.engines.local.run_context import RunContext
from lookalike.engines.local.sketch_pass import Sketched, sketch
from lookalike.engines.local.specimens import choose
from lookalike.engines.local.store.work_folder import Work
from lookalike.engines.planning import Expected, announcement, count_rows, plan_again, plan_run
from lookalike.errors import OptionError
from lookalike.io.source import Source
from lookalike.items.collection import Collection, open_collection
from lookalike.items.from_rows import Items
from lookalike.measures import measure_of
from lookalike.theory import Plan
from lookalike.types import BoolArray
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
    known: KnownItems | None = None

    @property
    def items(self) -> Items:
        """The run's own items."""
        return self.collection.items

    @property
    def counts(self) -> Counts:
        return self.matched.counts

    @cached_property
    def texts(self) -> ItemTexts | None:
        """The texts of all that is like something else, where tables are to show them."""
        return texts_of(self.collection, self.matched, self.config) if self.config.with_text else None


def find(
    source: Source,
    config: Config,
    progress: Progress = SILENT,
    *,
    verb: str = "dedup",
    against: Source | None = None,
    known: KnownItems | None = None,
    work: Work | None = None,
) -> Found:
    """From a source to matches and, unless pairs are wanted, clusters.

    Items are also compared with those of a collection, `against`, or with `known` ones.
    """
    work = work or Work()
    try:
        return _LocalRun(source, against, config, verb, work, progress, known).find()
    finally:
        work.close()


class _LocalRun:
    """One run: its stages, and what they leave for the next."""

    def __init__(
        self, source: Source, against: Source | None, config: Config, verb: str, work: Work, progress: Progress,
        known: KnownItems | None = None,
    ) -> None:  # fmt: skip
        self.known = known
        collection = open_collection(source, against, config)
        items = collection.items
        check_options(config, items.form)
        config = config.for_items(items.form, items.dimensions)
        if config.with_rows:
            check_free_names(collection, config, against=against is not None or known is not None)
        self.keep = parse_keep(config.keep)
        self.seconds: dict[str, float] = {}
        self._begun = time.perf_counter()
        self._kept_when_free = min(config.budget.kept_when_free, _SMALL)
        self.frequencies = None
        if items.recipe.needs_frequencies:
            self.frequencies = count_frequencies(collection, config, work, progress)
            self._lap("counting shingles")
        plan, self.expected = self._plan(collection, config, verb, progress)
        recipe = items.recipe.planned(plan)
        if known is not None and recipe != known.recipe:
            raise OptionError(f"{known.name} has other settings than this run: {known.recipe} and {recipe}")
        measure = measure_of(recipe, self.frequencies)
        self.context = RunContext(collection, config, verb, plan, recipe, measure, Counts(), work, progress)
        if self.expected is not None and plan is not None:
            progress.note(announcement(plan, self.expected, items.form))

    def _plan(
        self, collection: Collection, config: Config, verb: str, progress: Progress
    ) -> tuple[Plan | None, Expected | None]:
        """The plan of the run; the one of the known items, where there are such."""
        if self.known is None:
            return plan_run(collection, config, self.frequencies, progress, verb)
        rows = count_rows(collection, progress)
        self.known.prepare(config, rows)
        if self.known.recipe.bands:
            return plan_again(self.known.recipe, config, rows), None
        return plan_run(collection, config, self.frequencies, progress, verb)

    def find(self) -> Found:
        """All stages; those that an earlier process finished are taken over."""
        run = self.context
        sketched = sketch(
            run.collection, run.recipe, self.frequencies, self._audit(), run.config, self.keep, run.counts, run.work,
            run.progress, self.known, across=run.wanted is Wanted.ACROSS,
        )  # fmt: skip
        self._lap("reading and sketching")
        result = Matched.load(run.work, run.plan, run.config.scale, run.config.budget.matches)
        if result is None:
            result = self._match(sketched)
            if run.work.resumable:
                result.save(run.work)
        if self.known is not None:
            met = met_items(
                own_folds(result.folds), sketched.sketches.column("places"), sketched.sketches.column("scores")
            )
            sketched = sketched.with_known(self.known, met.places)
            run.collection.references = len(met)
        return Found(run.collection, run.config, run.plan, sketched, result, self.expected, self.known)

    def _audit(self) -> Auditing | None:
        """The audit, where one is asked for and there is more to look for than identical items."""
        run = self.context
        if not run.config.audit or run.plan is None:
            return None
        # Items of the other collection are not compared with one another: from which item on is known when they end.
        return Auditing(run.config, run.measure, 0 if run.collection.against is None else 2**62)

    def _match(self, sketched: Sketched) -> Matched:
        run, config, counts, sketches = self.context, self.context.config, self.context.counts, sketched.sketches
        folds = fold_items(run, sketches)
        if config.verify_text:
            self._lap("reading identical items again")
        # Items without elements have no keys: they are like nothing but their own copies.
        sizes = sketches.column("sizes")
        active: BoolArray = (folds.leader == np.arange(len(sizes), dtype=np.uint32)) & (sizes > 0)
        judge = run.measure.judge(config)
        grouped = group_items(run, sketches, active, judge, folds)
        fingerprints = sketches.look_up("fingerprints", 0, np.flatnonzero(grouped.wanted()))
        sketches.forget()
        specimens = choose(grouped, folds, active, run.collection.items.form)
        self._lap("grouping")

        noting = noting_for(run, folds, grouped)
        matches, rank = noting.matches, keep_rank(self.keep, run.collection, sketched, config.scale)
        comparing = comparing_for(run, judge, noting, specimens, fingerprints)
        del fingerprints
        try:
            comparing.read(grouped, sizes)
            self._lap("reading again")
            comparing.compare(None if rank is None else rank[best_copies(folds, rank)])
            missed = check_matches(run, sketched.audit, grouped.drawn, comparing.match_again, folds, matches)
            near = near_misses(run, grouped, specimens, folds, comparing.similarity)
            self._lap("comparing")
            clustering, met = None, None
            if self.known is not None:
                met = met_items(folds, sketches.column("places"), sketches.column("scores"))
                counts.references = len(self.known)
            if run.verb != "pairs" and run.wanted is Wanted.ACROSS:
                clustering = removed_across(config, folds, matches)
            elif run.verb != "pairs":
                clustering = cluster(config, folds, rank, matches, comparing.lead_again, comparing.similarity, met)
                clustering, counts.seldom = without_seldom(clustering, config)
                self._lap("clustering")
            counts.unexamined_items += comparing.unexamined
        finally:
            comparing.close()
        texts, known_pairs, spilled = specimens.texts, 0, sketches.spilled + comparing.spilled + matches.spilled
        if met is not None and clustering is not None:
            numbered = with_references(met, folds, matches, clustering, config.scale.identical)
            folds, matches, clustering, known_pairs = numbered
            texts = {item + len(met): text for item, text in texts.items()}
            near = [(left + len(met), right + len(met), score) for left, right, score in near]
            spilled += matches.spilled
        matches.settle(matches_file(run.work))
        counts.matches = len(matches) - (0 if met is None else len(met.leaders))
        pairs = sum(folds.unfolded(left, right) for left, right, _ in matches.stretches()) + folds.within
        return Matched(
            folds, matches, pairs, clustering, noting.tally, counts, self.seconds, spilled, texts, missed, known_pairs,
            near,
        )  # fmt: skip

    def _lap(self, name: str) -> None:
        give_back_memory(above=self._kept_when_free)
        now = time.perf_counter()
        self.seconds[name] = now - self._begun
        self._begun = now
