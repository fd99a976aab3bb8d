"""The matches of items whose buckets are too large to compare all their pairs.

    sets                joined by rare elements; if all pairs are wanted, each pair of a list is compared
    vectors, bits …     lists are their large buckets; where all pairs are to be compared there is one list, which is
                        scanned unless so many of its pairs match that others should see to it

Lists that are still large are left to leaders (`leading.py`) or, where components are wanted, connected with as few
comparisons as that takes (`connecting.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from lookalike.budget import Budget, Limits
from lookalike.collide.buckets import Buckets, Likeness, Pairs, Task
from lookalike.collide.group import Groups
from lookalike.engines.connecting import Connecting
from lookalike.engines.counts import Counts
from lookalike.engines.giants import BucketLists, Join, Lists
from lookalike.engines.leading import Leading
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.measures import Judge, compares_elements
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.verify.verifier import Verifier

__all__ = ["ComparedItems", "GiantMatches", "Led", "NotesMatches"]

# Pairs of a list that are compared to estimate how many match.
_DRAWN = 20_000


class ComparedItems(Protocol):
    """Items with the rows that they are compared by. Those before `references` are not compared with one another."""

    @property
    def items(self) -> I64Array:
        """The item of each row, ascending."""
        ...

    @property
    def giant(self) -> BoolArray:
        """Which of them are of giant buckets."""
        ...

    @property
    def store(self) -> StoredRows: ...

    @property
    def verifier(self) -> Verifier: ...

    @property
    def references(self) -> int: ...

    def matches(self, tasks: Iterator[Task], counts: Counts) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
        """Of the candidate pairs of rows that tasks give those that match, with their similarity."""
        ...


class EstimatesPairs(Protocol):
    """Refuses lists with too many pairs, before these are made."""

    def estimate(self, lists: Buckets, rows: I64Array, held: Any) -> None: ...


class NotesMatches(Protocol):
    """What becomes of a match, and where it is counted."""

    @property
    def counts(self) -> Counts: ...

    @property
    def items(self) -> int:
        """How many items the run has."""
        ...

    @property
    def limit(self) -> EstimatesPairs | None:
        """There where all pairs are asked for."""
        ...

    def note(
        self,
        left: I64Array,
        right: I64Array,
        similarity: F64Array,
        *,
        tallied: bool = True,
        of: BoolArray | None = None,
    ) -> int:
        """Note matches; how many there were of those that `of` marks."""
        ...

    def note_giants(self, joined: Any = None) -> None:
        """Learn that some matches met in no bucket that was looked at."""
        ...


@dataclass(frozen=True, slots=True)
class Led:
    """The giant lists of one part that were clustered by leaders."""

    held: ComparedItems
    leading: Leading


@dataclass(frozen=True, slots=True)
class GiantMatches:
    """Finds and notes matches of giant lists.

    All of them, if the noting has a limit of pairs; otherwise as many as leaders need or, with `connected`, as many as
    connect what is connected. `rank` is the place of each item in keep order; None is their own order.
    """

    judge: Judge
    noting: NotesMatches
    budget: Budget
    limits: Limits
    rank: I64Array | None
    connected: bool

    def find(
        self, held: ComparedItems, bands: Sequence[Groups], large: BoolArray, likeness: Likeness | None
    ) -> list[Led]:
        """The matches of one part among its giant items, and of those that stand in large buckets."""
        giant, judge = np.flatnonzero(held.giant), self.judge
        store, threads = held.store, self.budget.threads
        room = self.budget.join(self.noting.items, rows_in_file=not store.in_memory)
        if len(giant) and compares_elements(judge):
            join = Join.of(store, giant, judge, room, self.limits, threads)
            if self.noting.limit is None:
                return self._see_to(held, join)
            self.noting.limit.estimate(join.buckets, join.rows, held)
            self._compare(held, join.pairs())
            self.noting.note_giants(held)
        elif large.any():
            # What is left of these buckets is found as the bands find it, not surely, and so has no place in the tally.
            return self._see_to(held, BucketLists.of(store, bands, large, likeness, room, self.limits), sure=False)
        elif len(giant) and not self._scanned(held, giant):
            scan = partial(judge.scan, threads=threads)
            return self._see_to(held, BucketLists.whole(store, giant, scan, room, self.limits))
        return []

    def _see_to(self, held: ComparedItems, lists: Lists, *, sure: bool = True) -> list[Led]:
        """Lead or connect lists. If all their pairs were compared after all, what a join found tells of the others."""
        counts = self.noting.counts
        before = counts.led_items
        led = self._connect(held, lists, sure=sure) if self.connected else self._lead(held, lists, sure=sure)
        if sure:
            self.noting.note_giants(held if isinstance(lists, Join) and counts.led_items == before else None)
        return led

    def _compare(self, held: ComparedItems, tasks: Iterator[Task], *, tallied: bool = True) -> None:
        items = held.items
        for left, right, similarity in held.matches(tasks, self.noting.counts):
            self.noting.note(items[left], items[right], similarity, tallied=tallied)

    def _scanned(self, held: ComparedItems, giant: I64Array) -> bool:
        """Compare all pairs of these rows, unless a draw shows that so many match that leaders should see to them."""
        count, limit = len(giant), self.noting.limit
        if limit is not None:
            starts = np.array([0, count], np.int64)
            one = Groups(np.arange(count, dtype=np.uint32), starts, starts[1:], 0, count)
            limit.estimate(Buckets(count, [one]), giant, held)
        elif count > self.limits.row_bucket:
            rng = np.random.default_rng(0)
            left, right = giant[rng.integers(count, size=_DRAWN)], giant[rng.integers(count, size=_DRAWN)]
            hit = (held.verifier.scores(left, right) >= self.judge.threshold) & (left != right)
            if float(hit.mean()) * count > self.limits.matches:
                return False
        scanned = self.judge.scan(*held.store.gather(giant), self.budget.threads)
        self._compare(held, _tasks((giant[left], giant[right]) for left, right in scanned))
        return True

    def _connect(self, held: ComparedItems, lists: Lists, *, sure: bool) -> list[Led]:
        """Find as many matches of giant lists as connect what is connected."""
        items, counts = held.items, self.noting.counts

        def matching(left: I64Array, right: I64Array) -> tuple[I64Array, I64Array, F64Array]:
            counts.candidates += len(left)
            return held.verifier.matches(left, right).pairs

        own = items[lists.rows] >= held.references
        connecting = Connecting(lists, partial(_near, lists.likeness), matching, own)
        for left, right, similarity in connecting.large():
            self.noting.note(items[left], items[right], similarity, tallied=False)
        self._compare(held, connecting.candidates(), tallied=sure and not connecting.skipped.any())
        counts.led_items += int(connecting.skipped.sum())
        counts.unexamined_items += int(connecting.unexamined.sum())
        return []

    def _lead(self, held: ComparedItems, lists: Lists, *, sure: bool) -> list[Led]:
        """Lead the lists that are large, and compare the others."""
        mine = held.items[lists.rows]
        own = mine >= held.references
        leading = Leading(lists, held.verifier, mine if self.rank is None else self.rank[mine], own)
        led = Led(held, leading)
        self._attach(led, np.ones(len(mine), np.bool_), sure=sure)
        self.noting.counts.led_items += int(leading.led.sum())
        return [led] if leading.led.any() else []

    def lead_again(self, led: Sequence[Led], kept: BoolArray) -> int:
        """Lead the items that are kept once more: how many matches of two of them that gave."""
        return sum(self._attach(each, kept[each.held.items[each.leading.source.rows]], sure=False) for each in led)

    def _attach(self, led: Led, alive: BoolArray, *, sure: bool) -> int:
        """Attach living items of giant lists to leaders, and compare what is left.

        How many matches of two living items that gave: each of them removes an item. Signatures may suggest pairs of a
        living item and another, too; they change nothing, and were they counted, there would be no end. Only where
        nobody was led are all matches found, and tallied.
        """
        leading, held, noting = led.leading, led.held, self.noting
        items, living = held.items, np.zeros(len(held.store), np.bool_)
        living[leading.source.rows] = alive
        compared = leading.compared
        left, right, scores = leading.run(alive)
        noting.counts.candidates += leading.compared - compared
        new = noting.note(items[left], items[right], self.judge.similarity(scores), tallied=False)
        for left, right, similarity in held.matches(leading.candidates(), noting.counts):
            both, tallied = living[left] & living[right], sure and not leading.led.any()
            new += noting.note(items[left], items[right], similarity, tallied=tallied, of=both)
            leading.matched(left, right)
        for left, right, similarity in held.matches(_tasks(leading.followers()), noting.counts):
            both = living[left] & living[right]
            new += noting.note(items[left], items[right], similarity, tallied=False, of=both)
        return new


def _near(likeness: Likeness | None, left: I64Array, right: I64Array) -> BoolArray:
    """Which pairs of items, left < right, have to be compared, by their signatures if there are any."""
    return np.ones(len(left), np.bool_) if likeness is None else likeness.may_match(left, right)


def _tasks(pairs: Pairs) -> Iterator[Task]:
    """A task for each of some arrays of pairs."""
    for left, right in pairs:
        yield partial(iter, [(left, right)])
