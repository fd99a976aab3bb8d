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
from lookalike.types import BoolArray, F64Array, I64Array, U64Array
from lookalike.verify.leaders import attach_rows

__all__ = ["Join", "Leading"]

_LEADERS = 4
_CHUNK = 1 << 15
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
        # Twice, because entries are also put into the order of their items.
        for span in spans(2 * int(long.sum()), memory if held is None else memory // 4):
            parts = [
                entries(offsets, values, number[at], threshold, counts, span)
                for at, offsets, values in held or _blocks(store, members, memory // 8)
            ]
            keys = np.concatenate([part[0] for part in parts])
            items = np.concatenate([part[1] for part in parts])
            del parts
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
        for left, right in self.buckets.candidates(chunk=_CHUNK):
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
    _alive: BoolArray = field(init=False)
    _left: list[I64Array] = field(init=False)

    def __post_init__(self) -> None:
        self.unexamined = np.zeros(len(self.rank), np.bool_)

    def everyone(self) -> BoolArray:
        """All items of the large lists."""
        flags = np.zeros(len(self.rank), np.bool_)
        flags[self.join.large.members] = True
        return flags

    def run(self, alive: BoolArray) -> tuple[I64Array, I64Array, F64Array]:
        """(item, leader, their similarity) of those attached, as rows; `candidates` are what is left to compare.

        One list after another, the largest first: an item that is attached is done in all its lists, so that of the
        many lists that pages of one template share the first does nearly all the work. A leader is done in the list
        it led.
        """
        lists, alive = self.join.large, alive.copy()
        self.unexamined[:] = False
        parts: list[tuple[I64Array, I64Array, F64Array]] = []
        left: list[I64Array] = []
        for each in np.argsort(-np.diff(lists.starts), kind="stable").tolist():
            members = lists.members[lists.starts[each] : lists.starts[each + 1]]
            living = members[alive[members]].astype(np.int64)
            living = living[np.argsort(self.rank[living])]
            while len(living) > MOST and (open_ := int(self.own[living].sum())):
                item, leader, similarity, leads = self._round(living)
                parts.append((self.join.rows[item], self.join.rows[leader], similarity))
                alive[item] = False
                living = living[alive[living] & ~np.isin(living, leads)]
                if len(item) < _PROGRESS * open_:
                    self.unexamined[living] = True
                    living = living[:0]
            left.append(living)
        self.unexamined &= self.own & alive
        self._alive, self._left = alive, left
        return _stacked(parts)

    def candidates(self) -> Iterator[tuple[I64Array, I64Array]]:
        """Pairs of rows that are not attached and share a list: what is left of a large one, or a small one."""
        for left, right in Buckets(len(self.rank), [self._remainder(self._left, self._alive)]).candidates():
            yield self.join.rows[left], self.join.rows[right]
        for left, right in self.join.buckets.candidates(chunk=_CHUNK):
            both = self._alive[left] & self._alive[right]
            yield self.join.rows[left[both]], self.join.rows[right[both]]

    def _round(self, living: I64Array) -> tuple[I64Array, I64Array, F64Array, I64Array]:
        """Compare the living items of a list with the first of them: (item, leader, similarity), and who led.

        A leader that matches an earlier one leads nobody: what it would attach might not match the one that is kept in
        its place.
        """
        leads = living[:_LEADERS]
        misled, _, _ = self._attach(leads[self.own[leads]], leads)
        leads = leads[~np.isin(leads, misled)]
        return (*self._attach(living[self.own[living]], leads), leads)

    def _attach(self, items: I64Array, leads: I64Array) -> tuple[I64Array, I64Array, F64Array]:
        """Compare items with leaders: (item, best leader, similarity) of those that match one."""
        leads = leads[np.argsort(self.join.rows[leads])]
        lead_rows = self.store.gather(self.join.rows[leads])
        items = items[np.argsort(self.join.rows[items])]
        found: list[tuple[I64Array, I64Array, F64Array]] = []
        for at, offsets, values in _blocks(self.store, self.join.rows[items], self.memory // 4):
            best, similarity = np.empty(len(at), np.int64), np.empty(len(at), np.float64)
            rank, lead_rank = self.rank[items[at]], self.rank[leads]
            attach_rows(offsets, values, rank, *lead_rows, lead_rank, self.threshold, best, similarity)
            hit = best >= 0
            found.append((items[at][hit], leads[best[hit]], similarity[hit]))
        return _stacked(found)

    def _remainder(self, left: list[I64Array], alive: BoolArray) -> Groups:
        """What is left of each list that has more than one living item, and one of its own."""
        short = [np.sort(living[alive[living]]) for living in left]
        short = [living for living in short if len(living) > 1 and self.own[living].any()]
        members = np.concatenate([np.empty(0, np.int64), *short]).astype(np.uint32)
        starts = np.cumsum([0, *map(len, short)]).astype(np.int64)
        return Groups(members, starts, starts[1:], 0, 0)


def _stacked(parts: list[tuple[I64Array, I64Array, F64Array]]) -> tuple[I64Array, I64Array, F64Array]:
    return (
        np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64),
        np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.int64),
        np.concatenate([part[2] for part in parts]) if parts else np.empty(0, np.float64),
    )
