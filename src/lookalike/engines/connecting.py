"""Connected components of giant lists, without comparing all their pairs.

The problem. Leaders (`leading.py`) tell which items may go, but not what is connected: two items with different leaders
may match, and so may one that was attached and one that was not. Components must be those of all pairs that `pairs`
would list.

The idea. A pair whose ends are connected already has nothing to tell. Where nearly all items of a list are alike, they
are connected after few comparisons, and hardly a pair is left. So in each list the items outside its largest component
are compared with all others, the members of that component first, a few at a time: 1, then 2, 4 and so on. What joins
the largest component is done, and is compared no further. An item that was compared with all that are still in the list
leaves it. That goes on until the list holds one component.

Nothing is lost. In the end all that are still in the list are connected. So of two items in different components one
left at least; let a be the one that left first. The other, b, was in the list at that time, so a and b were compared
(or connected, and still are). They did not match.

The price. With c items that match nothing in a list of m, c·m pairs are compared, and no way around it is known: each
of them must be told apart from every other. A list is given up beyond `full` comparisons an item, counted over all
lists an item is in, and what is then outside its largest component is `unexamined`.

    0–1, 0–2, 2–4, 4–3 in a list of five:  1 2 3 4 are compared with 0, and 1 and 2 join it; 3 and 4 are compared with
    1, then with 2, which 4 joins, and 3 with 4
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from lookalike.cluster.components import roots, unite
from lookalike.collide.buckets import Pairs, Task
from lookalike.collide.group import Groups
from lookalike.engines.giants import LOOK, Lists, in_rows
from lookalike.types import BoolArray, F64Array, I64Array, U32Array

__all__ = ["Connecting"]

# Rows on either side, and how similar they are.
_Matches: TypeAlias = tuple[I64Array, I64Array, F64Array]

# Members of the largest component that the others are first compared with.
_FIRST = 1
# Items that are compared with a list at a time, and pairs that are looked at together.
_ROWS, _PAIRS = 1 << 12, 1 << 17
# Of a list that can be scanned, so many items at a time ask all others first. As with leaders, a time that connects
# less than this share of those alone is a poor one; there may be one for so many members, but no more than a number.
_FEW = 4
_PROGRESS = 0.05
_PATIENCE, _MOST_POOR = 512, 64


@dataclass(slots=True)
class Connecting:
    """Finds enough matches among the items of lists to connect what is connected.

    `near` tells which pairs of items, the smaller one first, have to be compared at all; `compare` takes pairs of rows
    and gives those that match. Pairs of which none is `own` are not asked for. Afterwards `skipped` marks the items of
    lists of which not all pairs were compared, and `unexamined` those of lists that were given up.
    """

    source: Lists
    near: Callable[[I64Array, I64Array], BoolArray]
    compare: Callable[[I64Array, I64Array], _Matches]
    own: BoolArray
    skipped: BoolArray = field(init=False)
    unexamined: BoolArray = field(init=False)
    _parent: U32Array = field(init=False)
    # Comparisons of each item so far, as its share of those of its lists.
    _spent: F64Array = field(init=False)
    _left: list[Groups] = field(init=False, default_factory=list)
    _number: I64Array = field(init=False)

    def __post_init__(self) -> None:
        items = len(self.source.rows)
        self.skipped, self.unexamined = np.zeros((2, items), np.bool_)
        self._parent = np.arange(items, dtype=np.uint32)
        self._spent = np.zeros(items, np.float64)
        self._number = np.empty(len(self.source.store), np.int64)
        self._number[self.source.rows] = np.arange(items)

    def large(self) -> Iterator[_Matches]:
        """Connect the lists that are too large to compare all their pairs: the matches that did it."""
        for lists in self.source.lists(np.ones(len(self._parent), np.bool_)):
            large = lists.splits - lists.starts[:-1] > self.source.most
            for each in np.flatnonzero(large).tolist():
                members = lists.members[lists.starts[each] : lists.starts[each + 1]].astype(np.int64)
                probes = np.arange(len(members)) >= lists.splits[each] - lists.starts[each]
                order = np.argsort(members)
                yield from self._connect(members[order], probes[order])
            if self.source.scan is not None:
                large[:] = False
            self._left.append(self._divided(lists.chosen(~large)))

    def candidates(self) -> Iterator[Task]:
        """What gives pairs of rows of the other lists, but for those that large lists have connected."""
        left, self._left = [self._divided(lists) for lists in self._left], []
        label = self._roots(np.arange(len(self._parent)))
        for task in self.source.candidates(left, ~self.own, label):
            yield partial(in_rows, self.source.rows, partial(_not_connected, label, task))

    def _roots(self, items: I64Array) -> I64Array:
        found = np.empty(len(items), np.int64)
        roots(self._parent, items, found)
        return found

    def _divided(self, lists: Groups) -> Groups:
        """The lists that hold more than one component."""
        if not len(lists):
            return lists
        label = self._roots(lists.members.astype(np.int64))
        first = lists.starts[:-1]
        return lists.chosen(np.minimum.reduceat(label, first) != np.maximum.reduceat(label, first))

    def _connect(self, members: I64Array, probes: BoolArray) -> Iterator[_Matches]:
        """Connect one list: members ascend; a pair needs its smaller one to be no probe."""
        label = self._roots(members)
        if (label == label[0]).all():
            return
        self.skipped[members] = True
        at_hand = _List(
            members, probes, self.own[members], self.source.full * len(members) - self._spent[members].sum()
        )
        if self.source.scan is not None:
            yield from self._before_scan(at_hand)
            return
        while True:
            label = self._roots(members)
            largest = _most_frequent(label[at_hand.inside])
            outside = np.flatnonzero((label != largest) & at_hand.inside)
            if not len(outside):
                break
            yield from self._compare_with_list(at_hand, outside[:_ROWS], label, largest)
            if at_hand.allowed < 0:
                label = self._roots(members)
                self.unexamined[members[(label != _most_frequent(label)) & at_hand.own]] = True
                break
        self._spent[members] += at_hand.used / len(members)

    def _before_scan(self, at_hand: _List) -> Iterator[_Matches]:
        """Connect what is all alike, so that a scan, which is faster otherwise, need not list all its pairs.

        Items that are still alone are compared with all others, a few at a time, as long as that connects many.
        """
        everyone, tried, poor = np.arange(len(at_hand.members)), np.zeros(len(at_hand.members), np.bool_), 0
        while poor < min(_MOST_POOR, max(1, len(everyone) // _PATIENCE)):
            label = self._roots(at_hand.members)
            alone = np.flatnonzero(_is_alone(label))
            some = alone[~tried[alone]][:_FEW]
            if not len(some):
                break
            tried[some] = True
            # Of two that ask, the first does.
            turn = np.full(len(everyone), len(some), np.int64)
            turn[some] = np.arange(len(some))
            for begin in range(0, len(everyone), _PAIRS):
                yield from self._ask(at_hand, some, everyone[begin : begin + _PAIRS], label, turn)
            connected = len(alone) - int(_is_alone(self._roots(at_hand.members)).sum())
            poor += connected < _PROGRESS * len(alone)

    def _compare_with_list(self, at_hand: _List, rows: I64Array, label: I64Array, largest: int) -> Iterator[_Matches]:
        """Compare some places of a list with all places inside it, until they join the largest component.

        Of two rows the earlier asks the later. Those that ask to the end leave the list.
        """
        columns = np.flatnonzero(at_hand.inside)
        belongs = label[columns] == largest
        anchor = columns[belongs][0]
        columns = np.concatenate([columns[belongs], columns[~belongs]])
        turn = np.full(len(label), len(rows), np.int64)
        turn[rows] = np.arange(len(rows))
        asking, at, step = rows, 0, _FIRST
        while at < len(columns) and len(asking) and at_hand.allowed >= 0:
            yield from self._ask(at_hand, asking, columns[at : at + step], label, turn)
            label = self._roots(at_hand.members)
            asking = asking[label[asking] != label[anchor]]
            at, step = at + step, min(2 * step, max(1, _PAIRS // max(1, len(asking))))
        # Who joined is no longer asking, and may have left a later row unasked.
        joined = rows[~np.isin(rows, asking)]
        for begin in range(0, len(joined), max(1, _PAIRS // max(1, len(asking)))):
            some = joined[begin : begin + max(1, _PAIRS // max(1, len(asking)))]
            yield from self._ask(at_hand, some, asking, self._roots(at_hand.members), turn)
        if at_hand.allowed >= 0:
            at_hand.inside[asking] = False

    def _ask(
        self, at_hand: _List, asking: I64Array, asked: I64Array, label: I64Array, turn: I64Array
    ) -> Iterator[_Matches]:
        """Compare places with places, as far as they are not connected, and connect those that match."""
        one, other = np.nonzero(
            (label[asking][:, None] != label[asked][None, :]) & (turn[asking][:, None] < turn[asked][None, :])
        )
        one, other = asking[one], asked[other]
        fits = ~at_hand.probes[np.minimum(one, other)] & (at_hand.own[one] | at_hand.own[other])
        left, right = at_hand.members[one[fits]], at_hand.members[other[fits]]
        near = self.near(np.minimum(left, right), np.maximum(left, right))
        cost = float(near.sum()) + (LOOK * len(left) if self.source.likeness is not None else 0)
        at_hand.used += cost
        at_hand.allowed -= cost
        rows = self.source.rows
        found = self.compare(rows[left[near]], rows[right[near]])
        if len(found[0]):
            unite(self._parent, self._number[found[0]], self._number[found[1]])
            yield found


@dataclass(slots=True)
class _List:
    """One list while it is connected: its items, which of them are still in it, and comparisons made and allowed."""

    members: I64Array
    probes: BoolArray
    own: BoolArray
    allowed: float
    used: float = 0.0
    inside: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.inside = np.ones(len(self.members), np.bool_)


def _not_connected(label: I64Array, task: Task) -> Pairs:
    for one, other in task():
        asked = label[one] != label[other]
        yield one[asked], other[asked]


def _is_alone(labels: I64Array) -> BoolArray:
    """Which labels nobody else has."""
    found, counts = np.unique(labels, return_counts=True)
    alone: BoolArray = (counts == 1)[np.searchsorted(found, labels)]
    return alone


def _most_frequent(labels: I64Array) -> int:
    """The label that most have; of several the smallest."""
    found, counts = np.unique(labels, return_counts=True)
    return int(found[np.argmax(counts)])
