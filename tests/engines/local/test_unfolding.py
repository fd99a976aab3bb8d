"""Pairs in order against nested loops, wherever they are cut and whether they are spilled."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.fold import Folds, Wanted
from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.work_folder import Work
from lookalike.engines.local.unfolding import pairs_in_order

Pair = tuple[int, int]


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[int], dict[Pair, float], list[int], int, list[int]]:
    """Leaders of items, similarities of leaders that match, ranks, how many items are references, and levels."""
    prints = draw(st.lists(st.integers(0, 6), max_size=14))
    leader = [prints.index(each) for each in prints]
    between = list(combinations(sorted(set(leader)), 2))
    chosen = draw(st.sets(st.sampled_from(between))) if between else set()
    references = draw(st.sampled_from([0, 0, len(prints) // 2]))
    own = draw(st.permutations(range(references, len(prints))))
    of_print = draw(st.sampled_from([[0] * 7, [0, 1, 0, 2, 1, 0, 3]]))
    level = [of_print[each] for each in prints]
    return leader, {pair: 0.5 + 0.01 * sum(pair) for pair in chosen}, [*range(references), *own], references, level


def expected(
    leader: list[int], edges: dict[Pair, float], rank: list[int], references: int, level: list[int], wanted: Wanted
) -> list[tuple[int, int, float]]:
    similarity = edges | {(each, each): 1.0 for each in leader}
    found = []
    for i, j in combinations(range(len(leader)), 2):
        first, second = sorted((i, j), key=lambda item: (level[item], rank[item]))
        led = min(leader[i], leader[j]), max(leader[i], leader[j])
        across = i < references <= j
        if led in similarity and (across if wanted is Wanted.ACROSS else j >= references):
            found.append((first, second, similarity[led]))
    return sorted(found, key=lambda pair: (rank[pair[0]], rank[pair[1]]))


def matches_of(edges: dict[Pair, float], memory: int) -> Matches:
    matches = Matches(Work(), memory)
    for (left, right), similarity in edges.items():
        matches.add(np.array([left]), np.array([right]), np.array([similarity]))
    return matches


@settings(max_examples=200, deadline=None, derandomize=True)
@given(runs(), st.sampled_from(Wanted), st.sampled_from([16, 48, 1 << 20]), st.integers(1, 9), st.integers(1, 9))
def test_every_pair_of_items_comes_once_in_order_in_batches_of_one_size(
    monkeypatch: pytest.MonkeyPatch,
    run: tuple[list[int], dict[Pair, float], list[int], int, list[int]],
    wanted: Wanted,
    memory: int,
    batch: int,
    stretch: int,
) -> None:
    leader, edges, rank, references, level = run
    monkeypatch.setattr("lookalike.engines.local.unfolding.BATCH", batch)
    monkeypatch.setattr("lookalike.engines.local.unfolding.STRETCH", stretch)
    monkeypatch.setattr("lookalike.engines.local.store.matches.STRETCH", stretch)
    monkeypatch.setattr("lookalike.engines.local.store.matches._LEAST", 2)
    if wanted is not Wanted.REMOVING:
        # References come last.
        rank = [
            place + len(rank) - references if i < references else place - references for i, place in enumerate(rank)
        ]
    folds = Folds(np.array(leader, np.uint32), references, wanted)
    matches = matches_of(edges, memory)
    levels = np.array(level, np.int64) if any(level) else None
    batches = list(pairs_in_order(folds, matches, np.array(rank, np.int64), level=levels))
    found = [pair for each in batches for pair in zip(*(column.tolist() for column in each), strict=True)]
    assert found == expected(leader, edges, rank, references, level, wanted)
    assert [len(each[0]) for each in batches[:-1]] == [batch] * (len(batches) - 1)
    assert len(found) == folds.within + sum(folds.unfolded(left, right) for left, right, _ in matches.stretches())


def test_many_copies_are_sorted_by_item_and_not_by_pair() -> None:
    """A thousand copies beside another thousand: two million pairs, of which 3,000 entries at most are sorted."""
    rng = np.random.default_rng(1)
    leader = np.repeat(np.array([0, 1000], np.uint32), 1000)
    matches = matches_of({(0, 1000): 0.75}, 16)
    added: list[int] = []
    whole = Matches.add

    def counting(self: Matches, *arguments: np.ndarray) -> None:
        added.append(len(arguments[0]))
        whole(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Matches, "add", counting)
        rank = rng.permutation(2000)
        place, count, within = -1, 0, 0
        for first, second, similarity in pairs_in_order(Folds(leader), matches, rank):
            keys = rank[first] * 2000 + rank[second]
            assert (np.diff(np.append(place, keys)) > 0).all()
            assert (rank[first] < rank[second]).all()
            assert ((similarity == 1.0) == (leader[first] == leader[second])).all()
            place, count, within = int(keys[-1]), count + len(keys), within + int((similarity == 1.0).sum())
    assert (count, within) == (2000 * 1999 // 2, 1000 * 999)
    assert sum(added) < 2 * 2000
