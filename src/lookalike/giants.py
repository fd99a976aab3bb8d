"""Giant buckets, in time near linear in their items: joined by rare elements, and led where all are alike.

Items of giant buckets are joined exactly (`collide/prefix.py`): lists of items that share a rare element take the place
of the buckets. A list may be giant again only where its items are nearly the same; `pairs` must then compare them all,
for they are its answer, while clusters need no more than leaders (`verify/leaders.py`).

Lists are made in the order of their elements, as many at a time as fit the memory, and led at once. An item that is
attached to a leader is done: it is in no list that comes later. So where millions of pages are all alike, the first of
their lists does nearly all the work, and the others are hardly made at all. A list is what it would be if each was made
alone, after all those before it, whatever number of them fits the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from lookalike.collide.buckets import Buckets
from lookalike.collide.group import Groups, group
from lookalike.collide.prefix import count_elements, counters, entries
from lookalike.grouping import MOST
from lookalike.store.rows import Rows
from lookalike.types import BoolArray, F64Array, I64Array, U8Array, U32Array, U64Array
from lookalike.verify.leaders import attach_rows

__all__ = ["Join", "Leading"]

# Items, their leaders, and how similar they are.
_Attached: TypeAlias = tuple[U32Array, U32Array, F64Array]

_LEADERS = 4
_CHUNK = 1 << 15
# A round that attaches less than this share of a list has met items that are mostly not alike.
_PROGRESS = 0.05
# A key and an item, room to sort them, and the lists they become.
_ENTRY_BYTES = 36
_LAST = 2**64 - 1


@dataclass(frozen=True)
class Join:
    """The items of giant buckets, numbered by size, and the lists of those that share a rare element.

    `rows[g]` is the row of item g in the store, `in_order` the items in the order of their rows.
    """

    store: Rows
    rows: I64Array
    in_order: U32Array
    threshold: float
    memory: int

    @classmethod
    def of(cls, store: Rows, members: I64Array, threshold: float, memory: int) -> Join:
        """Join the rows `members` of the store, which must ascend."""
        order = np.lexsort((members, np.diff(store.offsets)[members]))
        in_order = np.empty(len(members), np.uint32)
        in_order[order] = np.arange(len(members), dtype=np.uint32)
        return cls(store, members[order], in_order, threshold, memory)

    @cached_property
    def buckets(self) -> Buckets:
        """The lists of all items."""
        everyone = np.ones(len(self.rows), np.bool_)
        return Buckets(len(self.rows), [each.ascending() for each in self.lists(everyone)])

    def candidates(self) -> Iterator[tuple[I64Array, I64Array]]:
        """The pairs of rows that share a rare element, each once."""
        for left, right in self.buckets.candidates(chunk=_CHUNK):
            yield self.rows[left], self.rows[right]

    def lists(self, alive: BoolArray) -> Iterator[Groups]:
        """The lists of living items, by element, as many at a time as fit the memory.

        Items that die meanwhile are not in those that are still to come.
        """
        counts = counters(int(np.diff(self.store.offsets)[self.rows[alive]].sum()))
        for _, _, values in self.blocks(self._living(alive)):
            count_elements(values, counts)
        low = 0
        while low <= _LAST:
            keys, items, high = self._entries(self._living(alive), counts, low)
            yield group(keys, items, np.zeros(0, np.bool_), most=len(keys))
            low = high + 1

    def _living(self, alive: BoolArray) -> U32Array:
        return self.in_order[alive[self.in_order]]

    def _entries(self, living: U32Array, counts: U8Array, low: int) -> tuple[U64Array, U32Array, int]:
        """The entries of elements from `low` on, as many as fit the memory, and the last element of which they are.

        Whenever there are too many, the quarter with the largest elements goes. A list is never cut: where one alone is
        too large for the memory, it comes alone.
        """
        most, high = self.memory // _ENTRY_BYTES, _LAST
        parts: list[tuple[U64Array, U32Array]] = []
        held, least = 0, _LAST
        for numbers, offsets, values in self.blocks(living):
            keys, items = entries(offsets, values, numbers, self.threshold, counts, (low, high))
            parts.append((keys, items))
            held, least = held + len(keys), min(least, int(keys.min(initial=_LAST)))
            while held > most and high > least:
                keys, items = _concatenated(parts)
                parts.clear()
                border = int(np.partition(keys, 3 * held // 4)[3 * held // 4])
                high = max(least, border - 1)
                stay = keys <= np.uint64(high)
                parts.append((keys[stay], items[stay]))
                held = len(parts[0][0])
            del keys, items
        return *_concatenated(parts), high

    def blocks(self, items: U32Array) -> Iterator[tuple[U32Array, I64Array, U64Array]]:
        """(items, offsets, values) of the rows of these items, which must be in order, a bounded part at a time."""
        rows = self.rows[items]
        ends = np.cumsum(np.diff(self.store.offsets)[rows]) * 8
        first = 0
        while first < len(items):
            before = ends[first - 1] if first else 0
            end = max(first + 1, int(np.searchsorted(ends, before + self.memory // 16, side="right")))
            yield items[first:end], *self.store.gather(rows[first:end])
            first = end


def _concatenated(parts: list[tuple[U64Array, U32Array]]) -> tuple[U64Array, U32Array]:
    keys = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
    return keys, np.concatenate([np.empty(0, np.uint32), *(part[1] for part in parts)])


@dataclass(slots=True)
class Leading:
    """Clusters the items of a join by leaders where their lists are large.

    `rank` is the place of item g in keep order; items that are not `own` may lead, but are never attached. `led` marks
    the items of lists that had leaders. After `run`, `unexamined` marks the items of lists that were given up: they
    matched none of their leaders, and hardly any other did.
    """

    join: Join
    rank: I64Array
    own: BoolArray
    led: BoolArray = field(init=False)
    unexamined: BoolArray = field(init=False)
    # Two items of which none is open were compared, or given up together.
    _open: BoolArray = field(init=False)
    _given_up: BoolArray = field(init=False)
    _left: list[Groups] = field(init=False)
    _moved: tuple[U32Array, U32Array] = field(init=False)
    _apart: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.led, self.unexamined, self._given_up = np.zeros((3, len(self.rank)), np.bool_)
        self._open = np.ones(len(self.rank), np.bool_)

    def run(self, alive: BoolArray) -> tuple[I64Array, I64Array, F64Array]:
        """(item, leader, their similarity) of those attached, as rows; `candidates` are what is left to compare."""
        living = alive.copy()
        found: list[_Attached] = []
        self._left, self._apart = [], ~(self._open & self.own)
        if (alive & self._open).any():
            # A map lets go of the lists before it asks for the next.
            self._left = list(map(partial(self._lead, alive=living, found=found), self.join.lists(living)))
        self.unexamined = self._given_up & self.own & living
        self._left = [lists.only(living[lists.members]) for lists in self._left]
        attached = alive & ~living
        self._open = attached if alive.all() else self._open | attached
        item, leader, similarity = _stacked(found)
        last = self._last_leaders(item, leader)
        moved = last != leader
        self._moved = item[moved], last[moved]
        return self.join.rows[item], self.join.rows[leader], similarity

    def candidates(self) -> Iterator[tuple[I64Array, I64Array]]:
        """Pairs of rows that are not attached and share a list that was not given up, and those of who lost its leader.

        A leader may be attached itself, in a list that comes later. Those that it led would then be kept, so they are
        compared with its own leader.
        """
        rows = self.join.rows
        item, leader = self._moved
        by_row = np.argsort(rows[item])
        for at in range(0, len(by_row), _CHUNK):
            some = by_row[at : at + _CHUNK]
            yield rows[item[some]], rows[leader[some]]
        left, self._left = self._left, []
        buckets = Buckets(len(self.rank), [lists.ascending() for lists in left])
        del left
        for one, other in buckets.candidates(self._apart, chunk=_CHUNK):
            yield rows[one], rows[other]

    def _last_leaders(self, item: U32Array, leader: U32Array) -> U32Array:
        """For each item the first of its leader, the leader's leader and so on that is not attached."""
        leader_of = np.arange(len(self.rank), dtype=np.uint32)
        leader_of[item] = leader
        last = leader
        while not np.array_equal(last, leader_of[last]):
            last = leader_of[last]
        return last

    def _lead(self, lists: Groups, alive: BoolArray, found: list[_Attached]) -> Groups:
        """Lead the large lists, one after another: what is left of all of them. Those attached are no longer alive."""
        stay = np.ones(len(lists.members), np.bool_)
        for each in np.flatnonzero(lists.splits - lists.starts[:-1] > MOST).tolist():
            start, split, end = lists.starts[each], lists.splits[each], lists.starts[each + 1]
            if int(alive[lists.members[start:split]].sum()) > MOST:
                members = lists.members[start:end]
                living = self._lead_one(members[alive[members]], alive, found)
                stay[start:end] = np.isin(members, living)
        return lists.only(stay & alive[lists.members])

    def _lead_one(self, living: U32Array, alive: BoolArray, found: list[_Attached]) -> U32Array:
        """Lead a list until few are left, who are returned, or until it is given up. A leader is done in its list."""
        self.led[living] = True
        living = living[np.argsort(self.rank[living])]
        while len(living) > MOST and (open_ := int(self.own[living].sum())):
            item, leader, similarity, leads = self._round(living)
            found.append((item, leader, similarity))
            alive[item] = False
            living = living[alive[living] & ~np.isin(living, leads)]
            if len(item) < _PROGRESS * open_:
                self._given_up[living] = True
                return living[:0]
        return living if self.own[living].any() else living[:0]

    def _round(self, living: U32Array) -> tuple[U32Array, U32Array, F64Array, U32Array]:
        """Compare the living items of a list with the first of them: (item, leader, similarity), and who led.

        A leader that matches an earlier one leads nobody: what it would attach might not match the one that is kept in
        its place.
        """
        leads = living[:_LEADERS]
        misled, _, _ = self._attach(leads[self.own[leads]], leads)
        leads = leads[~np.isin(leads, misled)]
        return (*self._attach(living[self.own[living]], leads), leads)

    def _attach(self, items: U32Array, leads: U32Array) -> _Attached:
        """Compare items with leaders: (item, best leader, similarity) of those that match one."""
        join = self.join
        leads = leads[np.argsort(join.rows[leads])]
        lead_rows = join.store.gather(join.rows[leads])
        found: list[_Attached] = []
        for block, offsets, values in join.blocks(items[np.argsort(join.rows[items])]):
            best, similarity = np.empty(len(block), np.int64), np.empty(len(block), np.float64)
            rank, lead_rank = self.rank[block], self.rank[leads]
            attach_rows(offsets, values, rank, *lead_rows, lead_rank, join.threshold, best, similarity)
            hit = best >= 0
            found.append((block[hit], leads[best[hit]], similarity[hit]))
        return _stacked(found)


def _stacked(parts: list[_Attached]) -> _Attached:
    return (
        np.concatenate([np.empty(0, np.uint32), *(part[0] for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part[1] for part in parts)]),
        np.concatenate([np.empty(0, np.float64), *(part[2] for part in parts)]),
    )
