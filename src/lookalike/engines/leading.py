"""Leaders: how the items of giant lists are clustered without comparing every pair.

The problem. Where a million pages differ in a word or two, every pair is a match, and to list them all is quadratic
however they are found. To choose which pages stay it is enough that each meets the one it is removed for.

The idea. The first few items of a list in keep order lead; every other item is compared with the leaders before it. One
that matches is attached to its best leader and done; leaders are done too, for the whole list has met them. The rest
goes into the next round. Where nearly all are alike, one round attaches nearly all of them. Where rounds attach hardly
any, the list is compared in full as long as that is not too many comparisons an item, and given up otherwise. So is,
without any round, a list of which hardly a pair matches among some that are drawn: pages of one template that lie below
the threshold, which signatures tell apart.

Lists come some at a time, and are led at once. An item that is attached to a leader is in no list that comes later. So
where millions of pages are all alike, the first of their lists does nearly all the work, and the others are hardly made
at all. A list is what it would be if each was made alone, after all those before it, whatever number of them fits the
memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from lookalike.collide.buckets import Pairs, Task
from lookalike.collide.group import Groups
from lookalike.engines.giants import LOOK, Lists, in_rows
from lookalike.types import BoolArray, F64Array, I64Array, U32Array
from lookalike.verify.verifier import Verifier

__all__ = ["Leading"]

# Items, their leaders, and how similar they are.
_Attached: TypeAlias = tuple[U32Array, U32Array, F64Array]

_LEADERS = 4
_CHUNK = 1 << 15
# A round that attaches less than this share of a list is a poor one.
_PROGRESS = 0.05
# A list may have a poor round for so many members, but no more than a number of them: 256 leaders miss those who are
# alike, if they are a hundredth of the list, 8 times in 100; and they are far fewer than all of the list.
_PATIENCE, _MOST_POOR = 512, 64
# Pairs of a list that tell whether it is worth leading.
_DRAWN = 1000


@dataclass(slots=True)
class Leading:
    """Clusters items by leaders where their lists are large.

    `rank` is the place of item g in keep order; items that are not `own` may lead, but are never attached. `led` marks
    the items of lists in which any was attached, or which were given up: not all their pairs are compared. After `run`,
    `unexamined` marks the items of lists that were given up: they matched none of their leaders, and hardly any other
    did. `compared` counts the comparisons with leaders.
    """

    source: Lists
    verifier: Verifier
    rank: I64Array
    own: BoolArray
    compared: int = 0
    led: BoolArray = field(init=False)
    unexamined: BoolArray = field(init=False)
    # Two items of which none is open were compared, or given up together.
    _open: BoolArray = field(init=False)
    _given_up: BoolArray = field(init=False)
    # Comparisons of each item in lists that are compared in full.
    _spent: F64Array = field(init=False)
    _left: list[Groups] = field(init=False)
    # Those attached and the last of their leaders; which of them are moved to it; and who of the living matches one
    # that comes before: the place in keep order of the first of those.
    _attached: tuple[U32Array, U32Array] = field(init=False)
    _moved: tuple[U32Array, U32Array] = field(init=False)
    _before: I64Array = field(init=False)
    _apart: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.led, self.unexamined, self._given_up = np.zeros((3, len(self.rank)), np.bool_)
        self._open = np.ones(len(self.rank), np.bool_)

    def run(self, alive: BoolArray) -> tuple[I64Array, I64Array, F64Array]:
        """(item, leader, their similarity) of those attached, as rows; `candidates` are what is left to compare."""
        living = alive.copy()
        found: list[_Attached] = []
        self._left, self._apart = [], ~(self._open & self.own)
        self._spent = np.zeros(len(self.rank), np.float64)
        if (alive & self._open).any():
            # A map lets go of the lists before it asks for the next.
            self._left = list(map(partial(self._lead, alive=living, found=found), self.source.lists(living)))
        self.unexamined = self._given_up & self.own & living
        self._left = [lists.only(living[lists.members]) for lists in self._left]
        attached = alive & ~living
        self._open = attached if alive.all() else self._open | attached
        item, leader, similarity = _stacked(found)
        last = self._last_leaders(item, leader)
        moved = last != leader
        self._attached, self._moved = (item, last), (item[moved], last[moved])
        self._before = self.rank.copy()
        return self.source.rows[item], self.source.rows[leader], similarity

    def candidates(self) -> Iterator[Task]:
        """What gives pairs of rows that are not attached and share a list that was not given up, and some others.

        A leader may be attached itself, in a list that comes later. Those that it led would then be kept, so they are
        compared with its own leader.
        """
        rows = self.source.rows
        item, leader = self._moved
        by_row = np.argsort(rows[item])
        for at in range(0, len(by_row), _CHUNK):
            some = by_row[at : at + _CHUNK]
            yield partial(iter, [(rows[item[some]], rows[leader[some]])])
        left, self._left = self._left, []
        for task in self.source.candidates(left, self._apart):
            yield partial(in_rows, rows, task)

    def matched(self, left: I64Array, right: I64Array) -> None:
        """Learn which of the candidates match, as rows."""
        number = np.empty(len(self.source.store), np.int64)
        number[self.source.rows] = np.arange(len(self.rank))
        one, other = number[left], number[right]
        for later, earlier in ((one, other), (other, one)):
            np.minimum.at(self._before, later, self.rank[earlier])

    def followers(self) -> Pairs:
        """Pairs of rows: those whose leader matches an item that comes before it, with that item.

        The leader will go for it, and those that it led would stay, to be led by the next of them, which goes in turn.
        """
        order = np.argsort(self.rank)
        up = order[np.searchsorted(self.rank[order], self._before)]
        item, last = self._attached
        top = last.astype(np.int64)
        while not np.array_equal(top, up[top]):
            top = up[top]
        item, top = item[top != last], top[top != last]
        rows = self.source.rows
        by_row = np.argsort(rows[item])
        for at in range(0, len(by_row), _CHUNK):
            some = by_row[at : at + _CHUNK]
            yield rows[item[some]], rows[top[some]]

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
        for each in np.flatnonzero(lists.splits - lists.starts[:-1] > self.source.most).tolist():
            start, split, end = lists.starts[each], lists.splits[each], lists.starts[each + 1]
            if int(alive[lists.members[start:split]].sum()) > self.source.most:
                members = lists.members[start:end]
                probes = np.arange(start, end) >= split
                living = self._lead_one(members[alive[members]], probes[alive[members]], alive, found)
                stay[start:end] = np.isin(members, living)
        return lists.only(stay & alive[lists.members])

    def _lead_one(self, living: U32Array, probes: BoolArray, alive: BoolArray, found: list[_Attached]) -> U32Array:
        """Lead a list until few are left, who are returned, or until it is given up. A leader is done in its list."""
        listed, poor = living, 0
        order = np.argsort(self.rank[living])
        living, probes = living[order], probes[order]
        asks = self.own[living] & ~probes if self.source.open_probes and self.own.all() else self.own[living]
        if len(listed) > 2 * _PATIENCE and self._are_few(living) and self._affordable(living, probes):
            return living
        while int((~probes).sum()) > self.source.most and asks.any():
            item, leader, similarity, leads = self._round(living, living[asks])
            found.append((item, leader, similarity))
            alive[item] = False
            self.led[listed] |= len(item) > 0
            poor += len(item) < _PROGRESS * int(asks.sum())
            stay = alive[living] & ~np.isin(living, leads)
            living, probes, asks = living[stay], probes[stay], asks[stay]
            if poor >= min(_MOST_POOR, max(1, len(listed) // _PATIENCE)):
                if self._affordable(living, probes):
                    break
                self._given_up[living[asks]] = True
                self.led[listed] = True
                return living[:0]
        return living if asks.any() else living[:0]

    def _are_few(self, living: U32Array) -> bool:
        """Whether so few pairs of a list match that to look at all takes less than to find leaders for most.

        If a share s of its pairs match, an item meets its leader after 1/s comparisons. Some pairs are drawn to tell.
        """
        share = (1 + self._drawn_matches(living)) / _DRAWN
        # Signatures take a walk over all rows, so they are not asked where they cannot help.
        looks = share * len(living) / 2
        return looks * LOOK < 1 and looks * self.source.price(living) < 1

    def _drawn_matches(self, living: U32Array) -> int:
        """How many of some pairs that are drawn match."""
        left, right = self.source.rows[living[np.random.default_rng(0).integers(len(living), size=(2, _DRAWN))]]
        hit = self.verifier.scores(left, right) >= self.verifier.judge.threshold
        return int((hit & (left != right)).sum())

    def _affordable(self, living: U32Array, probes: BoolArray) -> bool:
        """Whether a list may be compared in full; if so, it is counted."""
        others = int(probes.sum())
        indexed = len(living) - others
        each = (indexed * (indexed - 1) / 2 + indexed * others) / max(1, len(living)) * self.source.price(living)
        if len(living) and float(self._spent[living].mean()) + each > self.source.full:
            return False
        self._spent[living] += each
        return True

    def _round(self, living: U32Array, asking: U32Array) -> tuple[U32Array, U32Array, F64Array, U32Array]:
        """Compare the asking items of a list with the first that live: (item, leader, similarity), and who led.

        A leader that matches an earlier one leads nobody: what it would attach might not match the one that is kept in
        its place.
        """
        leads = living[:_LEADERS]
        misled, _, _ = self._attach(leads[self.own[leads]], leads)
        leads = leads[~np.isin(leads, misled)]
        return (*self._attach(asking, leads), leads)

    def _attach(self, items: U32Array, leads: U32Array) -> _Attached:
        """Compare items with the leaders before them: (item, best leader, similarity) of those that match one.

        Of equally similar leaders the first in keep order is the best.
        """
        rows = self.source.rows
        items, leads = items[np.argsort(rows[items])], leads[np.argsort(self.rank[leads])]

        def before(some: slice) -> BoolArray:
            earlier: BoolArray = self.rank[leads][None, :] < self.rank[items[some]][:, None]
            return earlier

        compared, best, scores = self.verifier.best_of(rows[items], rows[leads], before)
        self.compared += compared
        hit = scores >= self.verifier.judge.threshold
        return items[hit], leads[best[hit]], scores[hit]


def _stacked(parts: list[_Attached]) -> _Attached:
    return (
        np.concatenate([np.empty(0, np.uint32), *(part[0] for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part[1] for part in parts)]),
        np.concatenate([np.empty(0, np.float64), *(part[2] for part in parts)]),
    )
