"""The audit: a random sample of items is compared exactly with all that follow, in one pass and without sketches.

The idea. A pair belongs to its earlier item. If that one is in the sample, the pair is found when the later item passes
by, so every pair is found with the same probability, and no item is needed twice.

The sample. Item i is in it if a 64-bit hash of (seed, i) is small. At first every hash is small enough; when the sample
has more than 2·`sample` items, the limit is halved and what lies above is dropped with its pairs, as often as it takes.
So it depends on the items alone, and every item with elements is in it with the same probability, the `rate`. Of large
collections it holds `sample` to 2·`sample` items (a few sqrt(sample) less just after a halving), 1.44·`sample` on
average over their sizes.

The order. Those of some items that join the sample are entered into its index (`sample_index.py`) first; then the items
are compared with it, by any number of threads, and what was found is noted in the order of the items. The sample only
ever loses items: whatever is in it at the end was in it since it passed by. So what is found depends on neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.ranks import sampled_ranks
from lookalike.certify.sample_index import (
    BROKEN,
    EMPTY,
    ITEMS,
    KEYS,
    SEEN,
    Probe,
    empty_index,
    enter_rows,
    extent_of,
    index_items,
    indexed_elements,
    leave_items,
    probe_rows,
)  # fmt: skip
from lookalike.errors import OptionError
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U64Array

__all__ = ["LONGEST", "Audit", "Audited", "ProbeMatches", "auditable"]

# The most elements of a set that is looked at.
LONGEST = 1 << 20

# (place of the sampled item, item that matches it, similarity)
ProbeMatches = tuple[I64Array, I64Array, F64Array]


@dataclass(frozen=True, slots=True)
class Audited:
    """The sampled items, in order, and every pair whose earlier item is one of them, by left, then right.

    `rate` is the probability with which each item was sampled. `full` counts the sampled items with more than `most`
    matches, of which only the first are in here. `seen` items had elements, of which `compared` were compared with
    the sample before them; `empty` had none.
    """

    items: I64Array
    left: I64Array
    right: I64Array
    similarities: F64Array
    full: int
    rate: float
    seen: int
    compared: int
    empty: int

    def across(self, references: int, seen: int) -> Audited:
        """The same without pairs of two of the run's own items; of the references `seen` had elements.

        A pair belongs to its earlier item, so what is left is a sample of the references.
        """
        mine, items, full = self.left < references, self.items[self.items < references], self.full_items()
        return replace(
            self, items=items, left=self.left[mine], right=self.right[mine], similarities=self.similarities[mine],
            full=int((full < references).sum()), seen=seen,
        )  # fmt: skip

    def full_items(self) -> I64Array:
        """The sampled items with more matches than are in here."""
        items, pairs = np.unique(self.left, return_counts=True)
        return items[pairs == pairs.max()] if self.full else items[:0]


class Audit:
    """A random sample of items, compared exactly with all later ones while they pass by."""

    def __init__(
        self, threshold: float, sample: int = 1000, seed: int = 0, probe_from: int = 0, most: int = 250
    ) -> None:
        """Items before `probe_from` may be sampled, but are not compared with those before them."""
        if not 0.0 < threshold <= 1.0:
            raise OptionError(f"threshold is {threshold!r}: it must be above 0 and up to 1")
        for name, value in (("sample", sample), ("most", most)):
            if value < 1:
                raise OptionError(f"{name} is {value!r}: it must be a whole number, 1 or more")
        self.threshold, self.sample, self.seed, self.probe_from, self.most = threshold, sample, seed, probe_from, most
        self._next = self._compared = 0
        self._halvings = 0
        self._longest = 0
        self._index = empty_index(0, 0, 4, 2, 0)  # no room: the first items make some
        self._pairs: ProbeMatches = _no_pairs()

    def add(self, first: int, sets: Sets, groups: U64Array | None = None) -> None:
        """Let the items first, first + 1, … pass by; only items of the same group are compared."""
        self.enter(first, sets, groups)
        self.note([self._probed(first, sets, groups, Probe.of(self._index, self._longest))])

    def make_ready(self, coming: Sequence[tuple[int, Sets]]) -> None:
        """Halve the sample for items that are entered next: at once, and not again and again while they are."""
        items = int(self._index.counts[ITEMS])
        ranks = [self._index.ranks[:items]]
        for first, sets in coming:
            room = np.empty(len(sets), np.uint64)
            found = sampled_ranks(first, sets.offsets, np.uint64(self.seed), self._limit, room)
            ranks.append(room[:found])
        all_ranks, before = np.concatenate(ranks), self._halvings
        while (all_ranks <= self._limit).sum() > 2 * self.sample:
            self._halvings += 1
        if self._halvings > before:
            self._tidy(np.concatenate([sets.sizes for _, sets in coming]))

    def enter(self, first: int, sets: Sets, groups: U64Array | None = None) -> None:
        """Those of the items first, first + 1, … that belong to the sample join it; no thread may be probing."""
        if first < self._next:
            raise ValueError(f"item {first} comes after item {self._next - 1}: items must come in order")
        groups = np.zeros(len(sets), np.uint64) if groups is None else groups
        longest, compared = extent_of(sets.offsets, self.probe_from - first)
        self._longest = max(self._longest, longest)
        row = 0
        while row < len(sets):
            index = self._index
            if len(index.slots) < 3 * self._longest:
                index = self._index = index._replace(slots=empty_index(0, 0, 4, 2, self._longest).slots)
            row = enter_rows(
                *(first, row, sets.values, sets.offsets, groups, self.threshold, np.uint64(self.seed), self._limit),
                *(2 * self.sample, index),
            )
            if row < len(sets) or index.counts[BROKEN] or index.counts[ITEMS] > 2 * self.sample:
                self._tidy(sets.sizes)
        self._next = first + len(sets)
        self._compared += compared

    def probe(self, passing: Sequence[tuple[int, Sets]]) -> ProbeMatches:
        """The matches of some items with those of the sample before them, in their order; on several threads at once.

        Those of them that belong to the sample were entered.
        """
        probe = Probe.of(self._index, max((extent_of(sets.offsets)[0] for _, sets in passing), default=0))
        return _joined([_no_pairs(), *(self._probed(first, sets, None, probe) for first, sets in passing)])

    def _probed(self, first: int, sets: Sets, groups: U64Array | None, probe: Probe) -> ProbeMatches:
        groups = np.zeros(len(sets), np.uint64) if groups is None else groups
        parts = [_no_pairs()]
        row = 0
        while row < len(sets):
            row = probe_rows(
                *(first, row, sets.values, sets.offsets, groups, self.threshold, self.probe_from, self.most),
                *(self._index, probe),
            )
            pairs = int(probe.counts[0])
            found = probe.pair_places[:pairs], probe.pair_items[:pairs], probe.similarities[:pairs]
            parts.append((found[0].copy(), found[1].copy(), found[2].copy()))
            probe.counts[0] = 0
        return _joined(parts)

    def note(self, found: list[ProbeMatches]) -> None:
        """Take up what was found, in the order of the items; of each sampled item the first `most`."""
        places, items, similarities = _joined(found)
        if not len(places):
            return
        matches = self._index.matches
        order = np.argsort(places, kind="stable")
        nth = np.empty(len(places), np.int64)
        nth[order] = np.arange(len(places)) - np.searchsorted(places[order], places[order])
        noted = matches[places] + nth < self.most
        counts = np.bincount(places, minlength=len(matches))
        full = np.flatnonzero((matches <= self.most) & (counts > 0) & (matches + counts > self.most))
        matches += counts
        left = self._index.items[places[noted]]
        self._pairs = _joined([self._pairs, (left, items[noted], similarities[noted])])
        leave_items(full, self.threshold, self._index)

    def finish(self) -> Audited:
        """What was found so far."""
        index, (left, right, similarities) = self._index, self._pairs
        items = int(index.counts[ITEMS])
        order = np.lexsort((right, left))
        return Audited(
            items=index.items[:items].copy(),
            left=left[order],
            right=right[order],
            similarities=similarities[order],
            full=int((index.matches[:items] > self.most).sum()),
            rate=0.5**self._halvings,
            seen=int(index.counts[SEEN]),
            compared=self._compared,
            empty=int(index.counts[EMPTY]),
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that `from_state` needs to go on from here."""
        parts = self._parts(np.ones(self._index.counts[ITEMS], np.bool_))
        # The order of elements is the index's, which is built anew; what is written has its own.
        for start, end in pairwise(parts["offsets"].tolist()):
            parts["values"][start:end].sort()
        left, right, similarities = self._pairs
        order = np.lexsort((right, left))
        settings = [self.sample, self.probe_from, self.most, self._next, self._halvings, self._longest]
        return {
            "threshold": np.array([self.threshold]),
            "seed": np.array([self.seed], np.uint64),
            "settings": np.array(settings, np.int64),
            "seen": np.array([*self._index.counts[[SEEN, EMPTY]], self._compared], np.int64),
            **parts,
            "left": left[order],
            "right": right[order],
            "similarities": similarities[order],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Audit:
        """The audit that gave this state."""
        sample, probe_from, most, following, halvings, longest = state["settings"].tolist()
        audit = cls(float(state["threshold"][0]), sample, int(state["seed"][0]), probe_from, most)
        audit._next, audit._halvings, audit._longest = following, halvings, longest
        audit._index.counts[[SEEN, EMPTY]] = state["seen"][:2]
        audit._compared = int(state["seen"][2])
        audit._pairs = state["left"], state["right"], state["similarities"]
        audit._build(state, np.empty(0, np.int64))
        return audit

    @property
    def _limit(self) -> np.uint64:
        """The largest rank of an item in the sample."""
        return np.uint64((2**64 - 1) >> self._halvings)

    def _tidy(self, coming: I64Array) -> None:
        """Halve the sample if it is too large, and make room for items of the sizes that come."""
        index = self._index
        items = int(index.counts[ITEMS])
        kept = index.ranks[:items] <= self._limit
        while kept.sum() > 2 * self.sample:
            self._halvings += 1
            kept = index.ranks[:items] <= self._limit
        if not kept.all():
            left, right, similarities = self._pairs
            mine = np.isin(left, index.items[:items][kept])
            self._pairs = left[mine], right[mine], similarities[mine]
        self._build(self._parts(kept), coming)

    def _parts(self, kept: BoolArray) -> dict[str, NDArray[Any]]:
        """The sampled items that are kept, and their elements; a full item needs its elements no more."""
        index = self._index
        items = len(kept)
        sizes = np.diff(index.offsets[: items + 1])
        wanted = kept & (index.matches[:items] <= self.most)
        offsets = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(np.where(wanted, sizes, 0)[kept], out=offsets[1:])
        return {
            "items": index.items[:items][kept],
            "ranks": index.ranks[:items][kept],
            "groups": index.groups[:items][kept],
            "matches": index.matches[:items][kept],
            "offsets": offsets,
            "values": index.values[: index.offsets[items]][np.repeat(wanted, sizes)],
        }

    def _build(self, parts: Mapping[str, NDArray[Any]], coming: I64Array) -> None:
        """An index with the sample `parts` in it, and room for more items like these and of the sizes that come."""
        sizes = np.diff(parts["offsets"])
        # The sample has one item too many just before it is halved, and a place is asked for before it is needed.
        places = 2 * self.sample + 2
        values = _room(sizes, coming, places)
        indexed = _room(indexed_elements(self.threshold, sizes), indexed_elements(self.threshold, coming), places)
        entries = 6 * indexed + 16
        # Where items share their elements there are far fewer keys than elements, and a small table stays in the cache.
        before = int(self._index.counts[KEYS])
        keys = min(indexed, before + before // 2) if before else indexed
        built = False
        while not built:
            index = empty_index(places, values, max(keys, 1 << 10), entries, self._longest)
            index.counts[[SEEN, EMPTY]] = self._index.counts[[SEEN, EMPTY]]
            index.counts[ITEMS] = len(sizes)
            for name in ("items", "ranks", "groups", "matches"):
                getattr(index, name)[: len(sizes)] = parts[name]
            index.matches[len(sizes) :] = 0
            index_items(len(sizes), parts["values"], parts["offsets"], self.threshold, self.most, index)
            built = not index.counts[BROKEN]
            entries, keys = 2 * entries, 2 * keys
        self._index = index


def auditable(sets: Sets) -> tuple[Sets, int]:
    """The sets that an audit sees, and how many are left out, as if empty: one alone would fill the sample."""
    if extent_of(sets.offsets)[0] <= LONGEST:
        return sets, 0
    long = sets.sizes > LONGEST
    sizes = np.where(long, 0, sets.sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = sets.values[np.repeat(~long, sets.sizes)]
    return replace(sets, offsets=offsets, values=values), int(long.sum())


def _room(sizes: I64Array, coming: I64Array, places: int) -> int:
    """How many elements to have room for: those of a whole sample of such items, as far as that is not much more.

    At least a quarter more than there are and the largest that comes, so that room is not made again and again.
    """
    total = int(sizes.sum())
    mean = (total + int(coming.sum())) / max(1, len(sizes) + len(coming))
    least = total + total // 4 + int(coming.max(initial=0))
    return max(least, min(int(mean * places), 2 * total + (1 << 20)))


def _no_pairs() -> ProbeMatches:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)


def _joined(parts: list[ProbeMatches]) -> ProbeMatches:
    left, right, similarities = zip(*parts, strict=True)
    return np.concatenate(left), np.concatenate(right), np.concatenate(similarities)
