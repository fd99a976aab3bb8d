"""Attaching items to leaders, against comparing each with all of them by plain sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.types import I64Array, U64Array
from lookalike.verify.leaders import attach_rows, first_living
from tests.reference import buckets as twin

many = settings(max_examples=150, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Case:
    """Sets, lists of some of them, who leads, and the place of each in keep order."""

    sets: list[set[int]]
    lists: list[list[int]]
    leaders: set[int]
    rank: list[int]
    threshold: float


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n = draw(st.integers(1, 10))
    sets = draw(st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=n, max_size=n))
    item = st.integers(0, n - 1)
    lists = draw(st.lists(st.lists(item, unique=True, min_size=1), min_size=1, max_size=4))
    leaders = draw(st.sets(item))
    threshold = draw(st.sampled_from([0.25, 0.5, 0.75, 0.8, 1.0]))
    return Case(sets, lists, leaders, draw(st.permutations(range(n))), threshold)


def rows_of(sets: Sequence[set[int]]) -> tuple[I64Array, U64Array]:
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return offsets, np.array([x for each in sets for x in sorted(each)], np.uint64)


def cut(lists: Sequence[Sequence[int]]) -> tuple[I64Array, np.ndarray[tuple[int], np.dtype[np.uint32]]]:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return offsets, np.array([item for each in lists for item in each], np.uint32)


def attached(case: Case, blocks: int = 1) -> list[tuple[int, float] | None]:
    """For each item its leader and their similarity, comparing so many blocks of items one after another."""
    n, leaders = len(case.sets), sorted(case.leaders)
    place = {leader: t for t, leader in enumerate(leaders)}
    lists_of = [[number for number, each in enumerate(case.lists) if item in each] for item in range(n)]
    teams = [[place[item] for item in each if item in place] for each in case.lists]
    tested = np.zeros(len(leaders), np.uint32)
    out: list[tuple[int, float] | None] = []
    for items in np.array_split(np.arange(n), blocks):
        best, similarity = np.empty(len(items), np.int64), np.empty(len(items), np.float64)
        attach_rows(
            items.astype(np.uint32), *rows_of([case.sets[i] for i in items]),
            *rows_of([case.sets[leader] for leader in leaders]), *cut(lists_of), *cut(teams),
            np.array(leaders, np.uint32), np.array(case.rank, np.int64), case.threshold, tested, best, similarity,
        )  # fmt: skip
        out += [None if t < 0 else (leaders[t], s) for t, s in zip(best.tolist(), similarity.tolist(), strict=True)]
    return out


def expected(case: Case) -> list[tuple[int, float] | None]:
    found = [
        twin.attach(item, case.sets, case.lists, case.leaders.__contains__, case.rank, case.threshold)
        for item in range(len(case.sets))
    ]
    return [None if each is None else (each[0], float(each[1])) for each in found]


@many
@given(cases(), st.integers(1, 3))
def test_an_item_is_attached_to_its_best_leader_of_those_before_it(case: Case, blocks: int) -> None:
    assert attached(case, blocks) == expected(case)


def test_among_equals_the_first_in_keep_order_wins_whatever_list_it_is_in() -> None:
    sets = [{1, 2, 3}, {1, 2, 4}, {1, 2}]
    for rank, leader in (([0, 1, 2], 0), ([1, 0, 2], 1)):
        for lists in ([[0, 2], [1, 2]], [[1, 2], [0, 2]], [[0, 1, 2]]):
            assert attached(Case(sets, lists, {0, 1}, rank, 0.5))[2] == (leader, 2 / 3)


def test_a_leader_of_another_list_and_one_that_comes_later_are_not_met() -> None:
    sets = [{1, 2}, {1, 2}, {1, 2}]
    assert attached(Case(sets, [[0, 1], [2]], {0}, [0, 1, 2], 0.5)) == [None, (0, 1.0), None]
    assert attached(Case(sets, [[0, 1, 2]], {2}, [0, 1, 2], 0.5)) == [None, None, None]


@many
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=8), min_size=1, max_size=5), st.integers(0, 5))
def test_the_first_that_are_alive_lead_each_list(lists: list[list[bool]], most: int) -> None:
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    first = first_living(np.array([flag for each in lists for flag in each]), starts, most)
    assert [first[a:b].tolist() for a, b in pairwise(starts.tolist())] == [
        twin.first_living(each, most) for each in lists
    ]
