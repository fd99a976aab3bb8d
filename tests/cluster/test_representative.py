"""Representative clusters against their twin, and the two promises: no two kept match, each removed its keeper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.cluster.representative import choose_keepers, representatives
from lookalike.engines.local.cluster_matches import in_keep_order
from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.work_folder import Work
from lookalike.types import F64Array, I64Array
from tests.reference import sets as twin

pytestmark = pytest.mark.no_cover

many = settings(max_examples=400, deadline=None, derandomize=True)

Edges = dict[tuple[int, int], float]
Walked = tuple[I64Array, I64Array, F64Array]


@st.composite
def matches(draw: st.DrawFn) -> tuple[list[int], Edges]:
    """An order to keep in, and the similarities of the pairs that match; few values, so that many are equal."""
    n = draw(st.integers(1, 14))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=40)) if pairs else []
    similarity = st.sampled_from([0.8, 0.85, 0.9, 1.0])
    return draw(st.permutations(range(n))), {pair: draw(similarity) for pair in chosen}


def chosen(
    order: Sequence[int], edges: Mapping[tuple[int, int], float], cuts: int = 1
) -> tuple[list[int], list[float]]:
    """As clustering does it: matches in any order, walked in keep order, here in so many parts."""
    ends: I64Array = np.array(list(edges), np.int64).reshape(-1, 2)
    added = Matches(Work(), 1 << 20)
    added.add(ends[:, 0], ends[:, 1], np.array(list(edges.values()), np.float64))
    n = len(order)
    place, item_at = None, None
    # None stands for the order of the items themselves.
    if list(order) != list(range(n)):
        place, item_at = np.empty(n, np.int64), np.array(order, np.uint32)
        place[list(order)] = np.arange(n)
    walked = [part for each in in_keep_order(added, place, item_at) for part in cut(each, cuts)]
    keeper, similarity = representatives(n, walked)
    return keeper.tolist(), similarity.tolist()


def cut(walked: Walked, cuts: int) -> Iterator[Walked]:
    """In so many parts, of which some are empty where there are few matches."""
    earlier, later, similarity = walked
    for begin, end in pairwise(np.linspace(0, len(later), cuts + 1).astype(int).tolist()):
        yield earlier[begin:end], later[begin:end], similarity[begin:end]


def check_promises(edges: Edges, keeper: Sequence[int], similarity: Sequence[float]) -> None:
    kept = {i for i, k in enumerate(keeper) if i == k}
    assert not any(i in kept and j in kept for i, j in edges)
    for i, k in enumerate(keeper):
        if i in kept:
            assert similarity[i] == 1.0
        else:
            assert k in kept
            assert edges[min(i, k), max(i, k)] == similarity[i]


@many
@given(matches())
def test_keepers_are_those_of_the_twin(graph: tuple[list[int], Edges]) -> None:
    order, edges = graph
    removed = twin.representative(len(order), edges, order)
    keeper, similarity = chosen(order, edges)
    assert {i: (k, similarity[i]) for i, k in enumerate(keeper) if k != i} == removed
    check_promises(edges, keeper, similarity)


@many
@given(matches(), st.randoms(use_true_random=False))
def test_neither_the_order_of_the_edges_nor_their_direction_matters(
    graph: tuple[list[int], Edges], random: Random
) -> None:
    order, edges = graph
    turned = [(pair if random.random() < 0.5 else pair[::-1], weight) for pair, weight in edges.items()]
    random.shuffle(turned)
    assert chosen(order, dict(turned)) == chosen(order, edges)


@pytest.mark.parametrize("seed", range(6))
def test_large_random_graphs_keep_the_promises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 1000
    ends = np.sort(rng.integers(0, n, (2500, 2)), axis=1)
    pairs = [(i, j) for i, j in ends.tolist() if i != j]
    edges = {pair: float(rng.integers(80, 101)) / 100 for pair in pairs}
    order = rng.permutation(n).tolist()
    keeper, similarity = chosen(order, edges)
    check_promises(edges, keeper, similarity)
    assert {i: (k, similarity[i]) for i, k in enumerate(keeper) if k != i} == twin.representative(n, edges, order)


def test_a_chain_keeps_its_ends() -> None:
    assert chosen([0, 1, 2], {(0, 1): 0.9, (1, 2): 0.9}) == ([0, 0, 2], [1.0, 0.9, 1.0])
    assert chosen([1, 0, 2], {(0, 1): 0.9, (1, 2): 0.9}) == ([1, 1, 1], [0.9, 1.0, 0.9])


def test_the_best_match_wins_and_among_equals_the_first_to_keep() -> None:
    assert chosen([0, 1, 2], {(0, 2): 0.8, (1, 2): 0.9})[0] == [0, 1, 1]
    assert chosen([1, 0, 2], {(0, 2): 0.8, (1, 2): 0.8})[0] == [0, 1, 1]
    assert chosen([0, 1, 2], {(0, 2): 0.8, (1, 2): 0.8})[0] == [0, 1, 0]


def test_a_removed_item_takes_nobody_with_it() -> None:
    """2 matches only 1, which is removed for 0: 2 stays."""
    assert chosen([0, 1, 2, 3], {(0, 1): 0.8, (1, 2): 1.0, (2, 3): 0.9})[0] == [0, 0, 2, 2]


def test_items_without_matches_are_kept() -> None:
    assert chosen([2, 0, 1], {}) == ([0, 1, 2], [1.0, 1.0, 1.0])
    assert chosen([], {}) == ([], [])


@many
@given(matches())
def test_the_kernel_walks_matches_in_the_order_of_their_later_items(graph: tuple[list[int], Edges]) -> None:
    order, edges = graph
    place = {item: number for number, item in enumerate(order)}
    walked = sorted(
        (sorted(pair, key=lambda item: place[item]) for pair in edges), key=lambda e: (place[e[1]], place[e[0]])
    )
    keeper, similarity = np.arange(len(order), dtype=np.uint32), np.ones(len(order))
    choose_keepers(
        np.array([earlier for earlier, _ in walked], np.int64),
        np.array([later for _, later in walked], np.int64),
        np.array([edges[min(pair), max(pair)] for pair in walked], np.float64),
        keeper,
        similarity,
    )
    removed = twin.representative(len(order), edges, order)
    assert {i: (k, similarity[i]) for i, k in enumerate(keeper.tolist()) if k != i} == removed


@many
@given(matches(), st.integers(2, 40))
def test_keepers_are_the_same_wherever_the_matches_are_cut(graph: tuple[list[int], Edges], cuts: int) -> None:
    order, edges = graph
    assert chosen(order, edges, cuts) == chosen(order, edges)


def test_a_match_that_is_told_twice_changes_nothing() -> None:
    earlier, later, weights = np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([0.8, 0.8, 0.9])
    keeper, similarity = representatives(3, [(earlier, later, weights)])
    assert (keeper.tolist(), similarity.tolist()) == ([0, 0, 2], [1.0, 0.8, 1.0])


@many
@given(matches(), st.integers(0, 6), st.integers(1, 5))
def test_what_is_kept_outside_comes_before_all_others(graph: tuple[list[int], Edges], outside: int, cuts: int) -> None:
    """The items before `outside` are those that are kept in any case: as the twin has it, which walks them first."""
    order, edges = graph
    n = len(order)
    outside = min(outside, n - 1)
    edges = {(i, j): weight for (i, j), weight in edges.items() if j >= outside}
    truth = twin.representative(n, edges, range(n))
    best: dict[int, tuple[int, float]] = {}
    for (i, j), weight in sorted(edges.items()):
        if i < outside and (j not in best or weight > best[j][1]):
            best[j] = i, weight
    own = n - outside
    found = (
        np.array([j - outside for j in best], np.int64),
        np.array([own + i for i, _ in best.values()], np.uint32),
        np.array([weight for _, weight in best.values()], np.float64),
    )
    inside = sorted((j - outside, i - outside, weight) for (i, j), weight in edges.items() if i >= outside)
    walked = (
        np.array([i for _, i, _ in inside], np.int64),
        np.array([j for j, _, _ in inside], np.int64),
        np.array([weight for _, _, weight in inside], np.float64),
    )
    keeper, similarity = representatives(own, cut(walked, cuts), found)
    told = {
        i + outside: (k - own if k >= own else k + outside, similarity[i])
        for i, k in enumerate(keeper.tolist())
        if k != i
    }
    assert told == truth
