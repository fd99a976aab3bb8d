"""Giant buckets, in time near linear in their items: joined by rare elements, and led where all are alike.

Items of giant buckets are joined exactly (`collide/prefix.py`): lists of items that share a rare element take the place
of the buckets. A list may be giant again only where its items are nearly the same; `pairs` must then compare them all,
for they are its answer, while clusters need no more than leaders (`verify/leaders.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lookalike.collide.buckets import Buckets
from lookalike.collide.group import PROBE, Groups, group
from lookalike.collide.prefix import count_elements, counters, entries, prefix_lengths
from lookalike.grouping import MOST, joined, spans
from lookalike.store.rows import Rows
from lookalike.types import BoolArray, F64Array, I64Array, U32Array, U64Array
from lookalike.verify.leaders import attach_rows, first_living

__all__ = ["Join", "Leading"]

_LEADERS = 4
# A round that attaches less than this share of a list has met items that are mostly not alike.
_PROGRESS = 0.05


@dataclass(frozen=True)
class Join:
    """The items of giant buckets, numbered by size, and the lists of those that share a rare element.

    `rows[g]` is the row of item g in the store. `small` holds the lists whose pairs are compared, `large` the others.
    """

    rows: I64Array
    small: Groups
    large: Groups

    @classmethod
    def of(cls, store: Rows, members: I64Array, threshold: float, memory: int, *, all_pairs: bool) -> Join:
        """Join the rows `members` of the store, which must ascend."""
        sizes = np.diff(store.offsets)[members]
        order = np.lexsort((members, sizes))
        number = np.empty(len(members), np.uint32)
        number[order] = np.arange(len(members), dtype=np.uint32)
        counts = counters(int(sizes.sum()))
        fits = 8 * int(sizes.sum()) <= memory // 2
        held = list(_blocks(store, members, memory // 2)) if fits else None
        for _, _, values in held or _blocks(store, members, memory // 8):
            count_elements(values, counts)
        _, long = prefix_lengths(sizes, threshold)
        found = []
        for span in spans(int(long.sum()), memory if held is None else memory // 4):
            parts = [
                entries(offsets, values, number[at], threshold, counts, span)
                for at, offsets, values in held or _blocks(store, members, memory // 8)
            ]
            keys = np.concatenate([part[0] for part in parts])
            items = np.concatenate([part[1] for part in parts])
            # Rows come in the order of the store; lists count on numbers that ascend.
            by_number = np.argsort(items & np.uint32(PROBE - 1), kind="stable")
            found.append(group(keys[by_number], items[by_number], np.zeros(0, np.bool_), most=len(keys)))
        lists = joined(found)
        indexed = lists.splits - lists.starts[:-1]
        large = np.zeros(len(lists), np.bool_) if all_pairs else indexed > MOST
        return cls(members[order], lists.chosen(~large), lists.chosen(large))

    @cached_property
    def buckets(self) -> Buckets:
        """The small lists."""
        return Buckets(len(self.rows), [self.small])

    def candidates(self) -> Iterator[tuple[I64Array, I64Array]]:
        """The pairs of rows that share a rare element in a small list, each once."""
        for left, right in self.buckets.candidates():
            yield self.rows[left], self.rows[right]


def _blocks(store: Rows, members: I64Array, most_bytes: int) -> Iterator[tuple[I64Array, I64Array, U64Array]]:
    """(places in members, offsets, values) of the rows `members`, a bounded part at a time."""
    ends = np.cumsum(np.diff(store.offsets)[members]) * 8
    first = 0
    while first < len(members):
        before = ends[first - 1] if first else 0
        end = max(first + 1, int(np.searchsorted(ends, before + most_bytes, side="right")))
        offsets, values = store.gather(members[first:end])
        yield np.arange(first, end), offsets, values
        first = end


@dataclass(slots=True)
class Leading:
    """Clusters the items of the large lists of a join by leaders.

    `rank` is the place of item g in keep order; items that are not `own` may lead, but are never attached. After `run`,
    `unexamined` marks the items of lists that were given up: they matched none of their leaders, and hardly any other
    did.
    """

    join: Join
    store: Rows
    rank: I64Array
    own: BoolArray
    threshold: float
    memory: int
    unexamined: BoolArray = field(init=False)
    _members: U32Array = field(init=False)
    _starts: I64Array = field(init=False)
    _list_offsets: I64Array = field(init=False)
    _lists: U32Array = field(init=False)

    def __post_init__(self) -> None:
        items, lists = len(self.join.rows), self.join.large
        self.unexamined = np.zeros(items, np.bool_)
        number = np.repeat(np.arange(len(lists), dtype=np.uint32), np.diff(lists.starts))
        order = np.lexsort((self.rank[lists.members], number))
        self._members, self._starts = lists.members[order], lists.starts
        by_item = np.argsort(self._members, kind="stable")
        self._lists = number[by_item]
        self._list_offsets = np.zeros(items + 1, np.int64)
        np.cumsum(np.bincount(self._members, minlength=items), out=self._list_offsets[1:])

    def everyone(self) -> BoolArray:
        """All items of the large lists."""
        flags = np.zeros(len(self.join.rows), np.bool_)
        flags[self._members] = True
        return flags

    def run(self, alive: BoolArray) -> tuple[I64Array, I64Array, F64Array, Groups]:
        """(item, leader, their similarity) of those attached, as rows; and short lists of what is left to compare.

        An item that is attached is done in all its lists; a leader in those that it led, for these have met it.
        """
        sizes, alive = np.diff(self._starts), alive.copy()
        led = np.zeros(len(self._members), np.bool_)
        stubborn = np.zeros(len(sizes), np.bool_)
        parts: list[tuple[I64Array, I64Array, F64Array]] = []
        while True:
            living = alive[self._members] & ~led
            open_ = self._count(living & self.own[self._members])
            busy = (self._count(living) > MOST) & (open_ > 0) & ~stubborn
            if not busy.any():
                break
            leads = first_living(living, self._starts, _LEADERS) & np.repeat(busy, sizes)
            item, leader, similarity, leads = self._round(alive, leads, busy)
            parts.append((self.join.rows[item], self.join.rows[leader], similarity))
            alive[item] = False
            led |= leads
            taken = open_ - self._count(alive[self._members] & living & self.own[self._members])
            stubborn |= busy & (taken < _PROGRESS * open_)
        self.unexamined[:] = False
        self.unexamined[self._members[living & np.repeat(stubborn, sizes)]] = True
        self.unexamined &= self.own
        return (*_stacked(parts), self._remainder(living & np.repeat(~stubborn, sizes)))

    def _count(self, places: BoolArray) -> I64Array:
        """How many places of each list are flagged."""
        counts: I64Array = np.add.reduceat(places, self._starts[:-1], dtype=np.int64)
        return counts

    def _round(
        self, alive: BoolArray, leads: BoolArray, busy: BoolArray
    ) -> tuple[I64Array, I64Array, F64Array, BoolArray]:
        """Compare the living items of busy lists with the leaders of those lists: (item, leader, similarity).

        A leader that matches an earlier one leads nobody: what it would attach might not match the one that is kept in
        its place. The last of the result flags the places of those that did lead.
        """
        chosen = np.unique(self._members[leads]).astype(np.int64)
        item, _, _ = self._attach(chosen[self.own[chosen]], leads)
        misled = np.zeros(len(alive), np.bool_)
        misled[item] = True
        leads = leads & ~misled[self._members]
        meeting = np.zeros(len(alive), np.bool_)
        meeting[self._members[np.repeat(busy, np.diff(self._starts))]] = True
        return (*self._attach(np.flatnonzero(meeting & alive & self.own), leads), leads)

    def _attach(self, items: I64Array, leads: BoolArray) -> tuple[I64Array, I64Array, F64Array]:
        """Compare items with the leaders of their lists: (item, best leader, similarity) of those that match one."""
        leaders = np.unique(self._members[leads])
        leaders = leaders[np.argsort(self.join.rows[leaders])]
        lead_offsets, lead_values = self.store.gather(self.join.rows[leaders])
        place = np.zeros(len(self.rank), np.uint32)
        place[leaders] = np.arange(len(leaders), dtype=np.uint32)
        team_offsets = np.zeros(len(self._starts), np.int64)
        np.cumsum(self._count(leads), out=team_offsets[1:])
        items = items[np.argsort(self.join.rows[items])]
        tested = np.zeros(len(leaders), np.uint32)
        found: list[tuple[I64Array, I64Array, F64Array]] = []
        for at, offsets, values in _blocks(self.store, self.join.rows[items], self.memory // 8):
            best, similarity = np.empty(len(at), np.int64), np.empty(len(at), np.float64)
            attach_rows(
                items[at].astype(np.uint32), offsets, values, lead_offsets, lead_values, self._list_offsets,
                self._lists, team_offsets, place[self._members[leads]], leaders, self.rank, self.threshold, tested,
                best, similarity,
            )  # fmt: skip
            hit = best >= 0
            found.append((items[at][hit], leaders[best[hit]].astype(np.int64), similarity[hit]))
        return _stacked(found)

    def _remainder(self, living: BoolArray) -> Groups:
        """The living members of each list that has more than one of them, and one of its own."""
        counts = self._count(living)
        own = self._count(living & self.own[self._members])
        members = self._members[living]
        # Buckets count on members that ascend.
        members = members[np.lexsort((members, np.repeat(np.arange(len(counts)), counts)))]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Groups(members, starts, starts[1:].copy(), 0, 0).chosen((counts > 1) & (own > 0))


def _stacked(parts: list[tuple[I64Array, I64Array, F64Array]]) -> tuple[I64Array, I64Array, F64Array]:
    return (
        np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64),
        np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64),
        np.concatenate([part[2] for part in parts]) if parts else np.empty(0, np.float64),
    )
