"""Components of giant lists are those of all pairs that share a list and match, after few comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import lookalike
import lookalike.engines.connecting
import lookalike.engines.giants
import lookalike.engines.local.pipeline
from lookalike.cluster.components import components, roots, unite
from lookalike.collide.group import Groups
from lookalike.config import make_config
from lookalike.engines.connecting import Connecting
from lookalike.engines.giants import Lists
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.io import open_source
from lookalike.types import BoolArray, F64Array, I64Array
from tests.limited import limited
from tests.reference import sets as reference

Listed = tuple[list[int], list[int]]  # no probes, probes


@dataclasses.dataclass(frozen=True)
class Made(Lists):
    """Lists as a test wants them, some at a time."""

    listed: Sequence[Sequence[Listed]] = ()

    def lists(self, alive: BoolArray) -> Iterator[Groups]:
        for some in self.listed:
            members = [np.array([*plain, *probes], np.uint32) for plain, probes in some]
            starts = np.concatenate([[0], np.cumsum([len(each) for each in members])]).astype(np.int64)
            splits = starts[:-1] + np.array([len(plain) for plain, _ in some], np.int64)
            yield Groups(np.concatenate(members), starts, splits, 0, 0)


def made(items: int, listed: Sequence[Sequence[Listed]], most: int, full: float, shuffled: bool) -> Made:
    rows = np.random.default_rng(items).permutation(items) if shuffled else np.arange(items)
    return Made(StoredRows(np.ones(items, np.int64), None), rows, 1 << 30, most, full, False, listed)


def connected(source: Made, alike: BoolArray, own: BoolArray) -> tuple[list[int], Connecting, int]:
    """The components that come of it, by number; and how many pairs were compared."""
    number = np.argsort(source.rows)
    edges: list[tuple[int, int]] = []
    asked: list[tuple[int, int]] = []

    def compare(left: I64Array, right: I64Array) -> tuple[I64Array, I64Array, F64Array]:
        a, b = number[left], number[right]
        asked.extend(zip(a.tolist(), b.tolist(), strict=True))
        hit = alike[a, b]
        return left[hit], right[hit], np.ones(int(hit.sum()))

    connecting = Connecting(source, lambda left, right: np.ones(len(left), np.bool_), compare, own)
    for left, right, _ in connecting.large():
        edges += zip(number[left].tolist(), number[right].tolist(), strict=True)
    for left, right in (pairs for task in connecting.candidates() for pairs in task()):
        matches = compare(left, right)
        edges += zip(number[matches[0]].tolist(), number[matches[1]].tolist(), strict=True)
    assert all(own[a] or own[b] for a, b in asked)
    return reference.components(len(alike), edges), connecting, len(asked)


def allowed_pairs(listed: Sequence[Sequence[Listed]]) -> set[tuple[int, int]]:
    """The pairs of all lists: the smaller of two is no probe."""
    out = set()
    for plain, probes in (each for some in listed for each in some):
        for a, b in combinations(sorted({*plain, *probes}), 2):
            if a in plain:
                out.add((a, b))
    return out


@pytest.mark.parametrize("seed", range(150))
def test_components_are_those_of_all_pairs_of_the_lists(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(lookalike.engines.connecting, "_ROWS", int(rng.integers(1, 9)))
    monkeypatch.setattr(lookalike.engines.connecting, "_PAIRS", int(rng.integers(1, 60)))
    monkeypatch.setattr(lookalike.engines.connecting, "_FIRST", int(rng.integers(1, 5)))
    items = int(rng.integers(2, 40))
    # From a few edges to nearly all, and some of them in blocks.
    alike = rng.random((items, items)) < rng.choice([0.01, 0.05, 0.1, 0.3, 0.9])
    family = rng.integers(0, int(rng.integers(1, 6)), items)
    alike |= (family[:, None] == family[None, :]) & (rng.random((items, items)) < rng.choice([0.0, 0.2, 0.8]))
    alike |= alike.T
    listed: list[list[Listed]] = []
    for _ in range(int(rng.integers(1, 4))):
        some: list[Listed] = []
        for _ in range(int(rng.integers(1, 4))):
            order = rng.permutation(items)[: int(rng.integers(2, items + 1))].tolist()
            split = int(rng.integers(1, len(order) + 1)) if rng.random() < 0.3 else len(order)
            some.append((order[:split], order[split:]))
        listed.append(some)
    own = rng.random(items) < rng.choice([0.5, 1.0])
    source = made(items, listed, int(rng.integers(1, 12)), np.inf, bool(rng.integers(2)))
    found, connecting, _ = connected(source, alike, own)
    pairs = [(a, b) for a, b in allowed_pairs(listed) if alike[a, b] and (own[a] or own[b])]
    assert found == reference.components(items, pairs)
    assert not connecting.unexamined.any()


def test_what_is_all_alike_is_connected_by_its_first_comparisons() -> None:
    items = 3000
    source = made(items, [[(list(range(items)), [])]], 100, 4096, False)
    found, connecting, compared = connected(source, np.ones((items, items), bool), np.ones(items, bool))
    assert set(found) == {0}
    assert compared <= 4 * items
    assert connecting.skipped.all()


def test_what_lies_on_both_sides_of_the_threshold_takes_a_few_comparisons_an_item() -> None:
    items, rng = 2000, np.random.default_rng(0)
    alike = rng.random((items, items)) < 0.05
    alike |= alike.T
    source = made(items, [[(list(range(items)), [])]], 100, 4096, False)
    found, _, compared = connected(source, alike, np.ones(items, bool))
    assert set(found) == {0}
    # Twenty comparisons find a match, and those of a round of up to twice as many are made.
    assert compared < 150 * items


def test_lists_beyond_the_allowance_are_given_up_and_counted() -> None:
    items = 600
    alike = np.zeros((items, items), bool)
    alike[:200, :200] = True
    source = made(items, [[(list(range(items)), [])]], 100, 50.0, False)
    found, connecting, compared = connected(source, alike, np.ones(items, bool))
    assert found[:200] == [0] * 200
    # The pairs that were looked at when the allowance was used up are compared to their end.
    assert compared <= 50 * items + lookalike.engines.connecting._PAIRS
    assert not connecting.unexamined[:200].any()
    assert connecting.unexamined[200:].all()


def test_pairs_of_small_lists_are_left_out_where_large_ones_have_connected_them() -> None:
    items = 200
    small: list[Listed] = [([i, i + 1], []) for i in range(0, items, 2)]
    source = made(items, [small, [(list(range(items)), [])], small], 20, 4096, False)
    found, _, compared = connected(source, np.ones((items, items), bool), np.ones(items, bool))
    assert set(found) == {0}
    assert compared <= 4 * items


@pytest.mark.parametrize("seed", range(20))
def test_united_items_have_the_roots_that_the_twin_names(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items, edges = int(rng.integers(1, 50)), int(rng.integers(0, 60))
    left, right = rng.integers(0, items, (2, edges))
    parent, found = np.arange(items, dtype=np.uint32), np.empty(items, np.int64)
    for half in (slice(0, edges // 2), slice(edges // 2, edges)):
        unite(parent, np.ascontiguousarray(left[half]), np.ascontiguousarray(right[half]))
    roots(parent, np.arange(items), found)
    truth = reference.components(items, zip(left.tolist(), right.tolist(), strict=True))
    assert found.tolist() == truth == components(items, [(left, right)]).tolist()


# Through the whole pipeline.


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are large from 20 items on."""
    limited(monkeypatch, bucket=20, row_bucket=20, matches=20)


def run(items: Any, verb: str, **options: Any) -> Found:
    given: dict[str, Any] = {"threads": 1, "audit": 0, "cluster": "components"} | options
    return find(open_source(items), make_config(**given), verb=verb)


def clusters_of(found: Found) -> list[int]:
    """The first item of each item's cluster."""
    assert found.matched.clustering is not None
    keeper = found.matched.clustering.keeper
    first: dict[int, int] = {}
    return [first.setdefault(int(each), item) for item, each in enumerate(keeper)]


def components_of_pairs(items: int, found: Found) -> list[int]:
    assert found.matched.clustering is None
    leader = found.matched.folds.leader.tolist()
    edges = [(item, first) for item, first in enumerate(leader) if item != first]
    for left, right, _ in found.matched.matches.stretches():
        edges += zip(left.tolist(), right.tolist(), strict=True)
    return reference.components(items, edges)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("threshold", [0.6, 0.7, 0.74, 0.8, 0.9])
@pytest.mark.usefixtures("few")
def test_sets_of_one_template_have_the_components_of_their_pairs(threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    template = int(rng.integers(20, 90))
    sets = [set(range(template)) | {100 + int(x) for x in rng.choice(60, 12, replace=False)} for _ in range(150)]
    pairs = run(sets, "pairs", threshold=threshold, bands=20, rows=4)
    found = run(sets, "clusters", threshold=threshold, bands=20, rows=4)
    assert clusters_of(found) == components_of_pairs(len(sets), pairs)
    assert found.counts.unexamined_items == 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("few")
def test_contained_sets_have_the_components_of_their_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = [{int(x) for x in rng.choice(40, int(rng.integers(3, 25)), replace=False)} for _ in range(150)]
    options: dict[str, Any] = {"measure": "containment", "threshold": 0.9}
    found = run(sets, "clusters", **options)
    assert clusters_of(found) == components_of_pairs(len(sets), run(sets, "pairs", **options))


LIMITS: dict[str, dict[str, Any]] = {
    "cosine": {"threshold": 0.97},
    "euclidean": {"max_distance": 0.9},
    "manhattan": {"max_distance": 1.6},
    "lr:3": {"max_distance": 0.8},
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bands", [None, (6, 2), (60, 10)])
@pytest.mark.parametrize("measure", LIMITS)
@pytest.mark.usefixtures("few")
def test_vectors_have_the_components_of_their_pairs(measure: str, bands: tuple[int, int] | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Points along three lines, so that their ends are connected through many others.
    line = np.arange(160) % 3
    points = (4 * rng.normal(size=(3, 4)))[line] + rng.uniform(-3, 3, (160, 1)) * rng.normal(size=(3, 4))[line]
    vectors = (points + 0.05 * rng.normal(size=(160, 4))).astype(np.float32)
    options: dict[str, Any] = {"measure": measure} | LIMITS[measure]
    if bands is not None and measure != "lr:3":
        options |= {"bands": bands[0], "rows": bands[1]}
    pairs, found = run(vectors, "pairs", **options), run(vectors, "clusters", **options)
    assert clusters_of(found) == components_of_pairs(len(vectors), pairs)
    assert found.counts.unexamined_items == 0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("memory", ["64MB", "1GB"])
@pytest.mark.usefixtures("few")
def test_neither_threads_nor_memory_show(threads: int, memory: str) -> None:
    rng = np.random.default_rng(3)
    vectors = (rng.normal(size=(3, 6))[np.arange(300) % 3] + 0.1 * rng.normal(size=(300, 6))).astype(np.float32)
    options: dict[str, Any] = {"measure": "cosine", "threshold": 0.99, "bands": 20, "rows": 4}
    one, other = (
        run(vectors, "clusters", **options),
        run(vectors, "clusters", threads=threads, memory=memory, **options),
    )
    assert clusters_of(one) == clusters_of(other)
    assert one.counts == other.counts


def test_pages_of_a_template_on_both_sides_of_the_threshold_are_one_component() -> None:
    rng = np.random.default_rng(0)
    sets = [set(range(80)) | {80 + int(x) for x in rng.choice(200, 20, replace=False)} for _ in range(1500)]
    found = lookalike.clusters(sets, threshold=0.74, cluster="components")
    assert found.table["size"].to_pylist() == [1500] * 1500
    assert found.report["unexamined_items"] == 0
