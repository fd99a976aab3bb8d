"""Connected components against a breadth-first search, and against networkx."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.cluster.components import components, union_groups
from tests.reference import sets as twin

many = settings(max_examples=300, deadline=None, derandomize=True)

Edge = tuple[int, int]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    n = draw(st.integers(1, 30))
    item = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(item, item), max_size=40))


def labels(n: int, edges: Sequence[Edge]) -> list[int]:
    """In two parts, which must make no difference."""
    ends = np.array(edges, np.int64).reshape(-1, 2)
    parts = [ends[: len(ends) // 3], ends[len(ends) // 3 :]]
    found: list[int] = components(n, [(part[:, 0], part[:, 1]) for part in parts]).tolist()
    return found


def by_networkx(n: int, edges: Sequence[Edge]) -> list[int]:
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(n))
    smallest = {item: min(group) for group in nx.connected_components(graph) for item in group}
    return [smallest[item] for item in range(n)]


@many
@given(graphs())
def test_components_are_those_of_the_twin(graph: tuple[int, list[Edge]]) -> None:
    """Edges in either direction, repeated ones, and from an item to itself."""
    n, edges = graph
    assert labels(n, edges) == twin.components(n, edges)


@pytest.mark.parametrize("seed", range(8))
def test_components_of_random_graphs_are_those_of_networkx(seed: int) -> None:
    """From below to above one edge for two items, where a giant component appears."""
    rng = np.random.default_rng(seed)
    n = 3000
    for share in (0.1, 0.4, 0.5, 0.6, 1.5):
        edges = [(int(i), int(j)) for i, j in rng.integers(0, n, (int(share * n), 2))]
        assert labels(n, edges) == by_networkx(n, edges)


@pytest.mark.parametrize("turn", ["forward", "backward", "shuffled"])
def test_a_long_chain_is_one_component_whatever_the_order_of_its_edges(turn: str) -> None:
    n = 20_000
    ends = np.arange(n - 1)
    ends = {"forward": ends, "backward": ends[::-1], "shuffled": np.random.default_rng(1).permutation(ends)}[turn]
    assert labels(n, [(int(i), int(i) + 1) for i in ends]) == [0] * n
    assert labels(n, [(int(i) + 1, int(i)) for i in ends]) == [0] * n


def test_items_without_edges_are_components_of_their_own() -> None:
    assert labels(4, []) == [0, 1, 2, 3]
    assert labels(0, []) == []
    assert labels(5, [(4, 2), (2, 2)]) == [0, 1, 2, 3, 2]


@many
@given(st.integers(1, 20), st.lists(st.lists(st.integers(0, 19), max_size=6), max_size=8))
def test_all_members_of_a_group_are_connected(n: int, groups: list[list[int]]) -> None:
    """Groups of none, one or many, with the same item more than once."""
    groups = [[item % n for item in each] for each in groups]
    parent = np.arange(n, dtype=np.uint32)
    starts = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    union_groups(parent, np.array([item for each in groups for item in each], np.uint32), starts)
    edges = [(each[0], item) for each in groups for item in each]
    assert parent.tolist() == twin.components(n, edges)


def test_what_is_united_goes_on_to_be_united() -> None:
    """Grouping calls it band after band on the same array."""
    parent = np.arange(5, dtype=np.uint32)
    for first, second in ((3, 4), (1, 3), (0, 4)):
        union_groups(parent, np.array([first, second], np.uint32), np.array([0, 2]))
    assert parent.tolist() == [0, 0, 2, 0, 0]
