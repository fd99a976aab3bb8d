"""From sketches to what must be compared: fold ─ group ─ part.

Identical items are folded together, the rest fall into buckets band by band. Items that share a bucket with another one
must be read again and compared. If their sets do not fit the memory, the items are parted so that no bucket lies in two
parts: connected buckets stay together, and each part is compared by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from lookalike.budget import Budget
from lookalike.certify.step_checks import BucketPairs
from lookalike.cluster.components import union_groups
from lookalike.collide.fold import Folds, Wanted, lead_buckets
from lookalike.collide.giant_bands import GiantBands
from lookalike.collide.group import PROBE, Groups, group
from lookalike.engines.counts import Counts
from lookalike.engines.local.literal_check import split_folds
from lookalike.engines.local.run_context import RunContext
from lookalike.engines.local.store.sketches import Sketches
from lookalike.measures import Judge
from lookalike.threads.ordered import ordered_map, run_all
from lookalike.types import BoolArray, F64Array, I64Array, U32Array
from lookalike.wording.progress import Progress

__all__ = ["Grouped", "Part", "fold", "fold_items", "group_bands", "group_items", "joined", "spans"]

# A key, an item number and room to sort them.
_ENTRY_BYTES = 36
# Items that one thread folds in a millisecond.
_FEW = 20_000


@dataclass(frozen=True, slots=True)
class Part:
    """Items that are compared with one another; `items` ascend, and no bucket has items of two parts."""

    items: I64Array
    giant: BoolArray
    _whole: Grouped

    def buckets(self, threads: int = 1) -> list[Groups]:
        """The buckets of each band, which name the items by their place in `items`; made anew for each call."""
        flags = np.zeros(len(self._whole.meets), np.bool_)
        flags[self.items] = True
        place = np.zeros(len(flags), np.uint32)
        place[self.items] = np.arange(len(self.items), dtype=np.uint32)
        return list(ordered_map(lambda each: _within(each, flags, place), self._whole.bands, threads))


@dataclass(slots=True)
class Grouped:
    """The buckets of all bands. `meets` marks the items in them, `giant` those in buckets too large to compare."""

    bands: list[Groups] = field(default_factory=list)
    meets: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    giant: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    giant_bands: GiantBands = field(default_factory=lambda: GiantBands(0, 0))
    # Pairs that share a bucket, to be compared again.
    drawn: BucketPairs = field(default_factory=lambda: BucketPairs(0, 0))

    def wanted(self) -> BoolArray:
        """The items that verification needs."""
        return self.meets | self.giant

    def parts(self, weights: I64Array, most: int) -> Iterator[Part]:
        """The items to compare, in parts of no more than `most` weight where their buckets allow it."""
        wanted = np.flatnonzero(self.wanted())
        if len(wanted) == 0:
            return
        number = self._part_numbers(wanted, weights, most)
        for part in range(int(number.max()) + 1):
            items = wanted[number == part] if number.any() else wanted
            yield Part(items, self.giant[items], self)

    def _part_numbers(self, wanted: I64Array, weights: I64Array, most: int) -> I64Array:
        """The part of each wanted item: connected items have the same, and parts fill up in the order of items."""
        if int(weights[wanted].sum()) <= most:
            return np.zeros(len(wanted), np.int64)
        parent = np.arange(len(self.meets), dtype=np.uint32)
        for each in self.bands:
            union_groups(parent, each.members, each.starts)
        giant = np.flatnonzero(self.giant).astype(np.uint32)
        union_groups(parent, giant, np.array([0, len(giant)], np.int64))
        root = parent[wanted].astype(np.int64)
        total: F64Array = np.bincount(root, weights=weights[wanted], minlength=len(self.meets)).astype(np.float64)
        roots = np.flatnonzero(np.bincount(root, minlength=len(self.meets)))
        numbers = _fill(total[roots], most)
        number = np.zeros(len(self.meets), np.int64)
        number[roots] = numbers
        out: I64Array = number[root]
        return out


def _fill(weights: F64Array, most: int) -> I64Array:
    """Numbers of parts for things of these weights, in order: a new part begins where the next would not fit."""
    numbers = np.zeros(len(weights), np.int64)
    part, filled = 0, 0.0
    for i, weight in enumerate(weights.tolist()):
        if filled and filled + weight > most:
            part, filled = part + 1, 0.0
        filled += weight
        numbers[i] = part
    return numbers


def _within(groups: Groups, flags: BoolArray, place: U32Array) -> Groups:
    """The buckets whose items are flagged, with the items named by their place. A bucket is flagged whole or not."""
    first = groups.members[groups.starts[:-1]]
    chosen = groups.chosen(flags[first])
    return replace(chosen, members=place[chosen.members])


def fold(
    sketches: Sketches, memory: int, references: int = 0, threads: int = 1, wanted: Wanted = Wanted.REMOVING
) -> Folds:
    """Identical items under their first; each thread sees to some of the fingerprints, in so much memory for all.

    What is in files is read by one: each would read all of it.
    """
    items = len(sketches)
    threads = 1 if sketches.spilled or items < _FEW else threads
    leader = np.arange(items, dtype=np.uint32)
    everything, nobody = np.ones(items, np.bool_), np.zeros(items, np.bool_)

    def fold_some(span: tuple[int, int]) -> None:
        keys, numbers = sketches.select("fingerprints", 0, everything, *span)
        buckets = group(keys, numbers, nobody, most=items)
        order = np.argsort(buckets.members, kind="stable")
        seconds = np.empty(len(order), np.uint64)
        seconds[order] = sketches.look_up("fingerprints", 1, buckets.members[order].astype(np.int64))
        lead_buckets(buckets.members, buckets.starts, seconds, leader)

    run_all(fold_some, spans(items, memory // threads, at_least=threads), threads)
    return Folds(leader, references, wanted)


def fold_items(run: RunContext, sketches: Sketches) -> Folds:
    """Identical items under their first, as the options say what is identical; refused if they are too many pairs."""
    config, counts = run.config, run.counts
    folds = fold(sketches, config.budget.grouping, run.collection.references, config.budget.threads, run.wanted)
    if config.verify_text:
        folds, counts.refused_identical = split_folds(run.collection, folds, run.progress)
    counts.identical = folds.identical
    if run.all_pairs:
        config.limits.check_pairs(folds.within)
    return folds


def group_items(run: RunContext, sketches: Sketches, active: BoolArray, judge: Judge | None, folds: Folds) -> Grouped:
    """Items that share a bucket; all of them, where all pairs are compared."""
    if run.plan is not None and run.plan.exhaustive:
        return Grouped([], np.zeros(len(active), np.bool_), active)
    # Buckets are giant from a size on where they can be joined instead; what is not compared cannot be.
    most = run.config.limits.bucket if judge is not None and judge.has_elements else PROBE
    return group_bands(
        sketches, run.bands, active, run.counts, most=most, budget=run.config.budget, progress=run.progress,
        probes=_probes(folds) if run.wanted is Wanted.ACROSS else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probes:
    """Leaders whose pairs with one another are not wanted: those that stand for none of the smaller collection.

    `last` tells that they come after all others. A pair is looked for from its earlier item on, and not from a probe.
    """

    items: BoolArray
    last: bool


def _probes(folds: Folds) -> Probes:
    own, references = folds.own_sizes, folds.sizes - folds.own_sizes
    own_are_few = int(own.sum()) < int(references.sum())
    return Probes((own if own_are_few else references) == 0, last=not own_are_few)


def group_bands(
    sketches: Sketches,
    bands: int,
    active: BoolArray,
    counts: Counts,
    *,
    most: int,
    budget: Budget,
    progress: Progress,
    probes: Probes | None = None,
) -> Grouped:
    """The buckets of every band, over the active items; larger ones than `most` are giant.

    Items that are `probes` are in buckets with others, whose number makes a bucket giant, and make no buckets alone.
    """
    meets, giant_items = np.zeros((2, len(active)), np.bool_)
    drawn = BucketPairs(int(active.sum()) * bands, 0)
    grouped = Grouped([], meets, giant_items, GiantBands(len(active), bands), drawn)
    tasks = [(band, span) for band in range(bands) for span in spans(int(active.sum()), budget.grouping_each)]

    def work(task: tuple[int, tuple[int, int]]) -> tuple[int, Groups, I64Array, I64Array]:
        band, (low, high) = task
        keys, items = sketches.select("keys", band, active, low, high)
        pairs = drawn.pairs_of(keys, items)
        if probes is not None:
            items[probes.items[items]] |= np.uint32(PROBE)
        giant = np.zeros(len(active), np.bool_)
        buckets = group(keys, items, giant, most=most)
        if probes is not None and not probes.last:
            # Those of probes alone are gone; in the others every item is looked for from.
            buckets = replace(buckets, splits=buckets.starts[1:]).ascending()
        return band, buckets, np.flatnonzero(giant) if buckets.giants else np.empty(0, np.int64), pairs

    found: list[list[Groups]] = [[] for _ in range(bands)]
    with progress.stage("grouping", len(tasks), "steps") as stage:
        for band, buckets, giant, pairs in ordered_map(work, tasks, budget.threads):
            found[band].append(buckets)
            drawn.add(pairs)
            grouped.meets[buckets.members] = True
            if len(giant):
                grouped.giant[giant] = True
                grouped.giant_bands.mark(band, giant)
            counts.giant_buckets += buckets.giants
            counts.largest_bucket = max(counts.largest_bucket, buckets.largest)
            stage.advance()
    grouped.bands = [joined(each) for each in found]
    counts.giant_items = int(grouped.giant.sum())
    return grouped


def spans(entries: int, memory: int, at_least: int = 1) -> list[tuple[int, int]]:
    """Cut all 64-bit keys into spans of which one at a time, of so many entries, fits the memory."""
    count = max(at_least, -(-entries * _ENTRY_BYTES // max(1, memory)))
    borders = [i * 2**64 // count for i in range(count + 1)]
    return [(low, high - 1) for low, high in pairwise(borders)]


def joined(parts: list[Groups]) -> Groups:
    """The buckets of several spans of keys, one after another."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([len(part.members) for part in parts])
    starts = [parts[0].starts[:1], *(part.starts[1:] + at for part, at in zip(parts, [0, *ends], strict=False))]
    splits = [part.splits + at for part, at in zip(parts, [0, *ends], strict=False)]
    return Groups(
        np.concatenate([part.members for part in parts]), np.concatenate(starts), np.concatenate(splits), 0, 0
    )
