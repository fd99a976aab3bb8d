"""Giant buckets on small data: every match among their items is found, and no item goes without its match.

A bucket is giant here from four items on, so that the join by rare elements and the leaders see to nearly everything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike.collide.group
import lookalike.engines.giants
import lookalike.engines.local.pipeline
from lookalike.budget import Limits
from lookalike.collide.group import Groups
from lookalike.config import Config, make_config
from lookalike.engines.giant_matches import GiantMatches
from lookalike.engines.giants import Join
from lookalike.engines.leading import Leading
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.result_tables import clusters_table, pairs_table, removed_table
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.io import open_source
from lookalike.measures.set_measures import SetJudge
from lookalike.twin import hashing
from lookalike.verify.verifier import Verifier
from tests.limited import limited
from tests.reference import collection
from tests.reference import sets as reference
from tests.templates import KINDS, templates

MOST = 3
LIMITS = Limits(10**9, bucket=MOST, comparisons=0)
THRESHOLD = 0.6
# A pair at the threshold shares none of 80 one-row bands with probability 0.4^80 = 1e-32.
SURE: dict[str, Any] = {"bands": 80, "rows": 1}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    # Lists that leaders do not bring far are given up at once, but where a test says otherwise.
    limited(monkeypatch, bucket=MOST, comparisons=0)


def configured(*, memory: int = 1 << 30, **options: Any) -> Config:
    options = {"threads": 1, "threshold": THRESHOLD} | SURE | options
    return dataclasses.replace(make_config(**options), memory=memory, audit=0)


def found(items: Sequence[Set[int]], verb: str, *, batch_rows: int = 1000, **options: Any) -> Found:
    return find(open_source([sorted(item) for item in items], batch_rows=batch_rows), configured(**options), verb=verb)


def pairs_of(run: Found) -> dict[tuple[int, int], float]:
    rows = pairs_table(run).to_pylist()
    pairs = {(row["a"], row["b"]): row["similarity"] for row in rows}
    assert len(pairs) == len(rows), "a pair was listed twice"
    return pairs


def removed_of(run: Found) -> dict[int, tuple[int, float]]:
    return {row["id"]: (row["kept"], row["similarity"]) for row in removed_table(run).to_pylist()}


def hashed(items: Sequence[Set[int]], seed: int) -> list[set[int]]:
    return [{hashing.hash_element(x, hashing.key_of(seed)) for x in item} for item in items]


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_every_match_among_the_items_of_giant_buckets_is_a_pair(kind: str, threshold: float, seed: int) -> None:
    """However little the bands find: two of three rows make a giant bucket of what shares the template, no more."""
    items = templates(kind, seed, threshold=threshold)
    options: dict[str, Any] = {"bands": 2, "rows": 3, "seed": seed}
    run = found(items, "pairs", threshold=threshold, **options)
    pairs = pairs_of(run)
    truth = {pair: float(s) for pair, s in collection.all_matches(items, threshold).items()}
    assert pairs.items() <= truth.items()
    giant, first = collection.giants(hashed(items, seed), most=MOST, **options), collection.identities(items)
    assert run.counts.giant_items == len(giant)
    assert {pair for pair in truth if {first[pair[0]], first[pair[1]]} <= giant} <= pairs.keys()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_in_and_out_of_giant_buckets_are_those_of_brute_force(kind: str, seed: int) -> None:
    items = [*templates(kind, seed), *({seed + 7 * i, 8 + 7 * i, 9 + 7 * i} for i in range(100, 110)), set(), set()]
    run = found(items, "pairs", seed=seed)
    assert run.counts.giant_buckets > 0
    assert pairs_of(run) == {pair: float(s) for pair, s in collection.all_matches(items, THRESHOLD).items()}


def keep_order(keep: str, items: Sequence[Set[int]]) -> list[int]:
    order = sorted(range(len(items)), key=lambda i: -len(items[i])) if keep == "longest" else list(range(len(items)))
    return order[::-1] if keep == "last" else order


def check(items: Sequence[Set[int]], run: Found, keep: str, threshold: float) -> None:
    """Each removed item matches its keeper, which comes before it; and, by whatever way, the right items stay.

    Where no two kept items match, those that stay are determined: an item stays if no earlier kept one matches it.
    """
    removed, order = removed_of(run), keep_order(keep, items)
    place = {item: number for number, item in enumerate(order)}
    for item, (keeper, similarity) in removed.items():
        assert keeper not in removed
        assert place[keeper] < place[item]
        assert similarity == float(reference.jaccard(items[item], items[keeper])) >= threshold
    truth = collection.all_matches(items, threshold)
    left = {item for pair in truth if not (pair[0] in removed or pair[1] in removed) for item in pair}
    assert len(left) <= run.counts.unexamined_items
    if not left:
        expected = collection.keepers(collection.identities(items), truth, order)
        assert removed.keys() == expected.keys()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("keep", ["first", "last", "longest"])
@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("kind", KINDS)
def test_what_leaders_remove_matches_its_keeper_and_what_stays_matches_nothing_that_stays(
    kind: str, threshold: float, keep: str, seed: int
) -> None:
    items = templates(kind, seed, threshold=threshold)
    run = found(items, "dedup", threshold=threshold, keep=keep, seed=seed)
    assert run.counts.giant_items > 0
    check(items, run, keep, threshold)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_components_are_connected_and_whole_where_nobody_was_led(kind: str, seed: int) -> None:
    """Leaders do not tell of every pair: what two items that were both attached have in common is not seen."""
    items = templates(kind, seed)
    run = found(items, "clusters", cluster="components", seed=seed)
    assert run.counts.giant_items > 0
    labels = reference.components(len(items), collection.all_matches(items, THRESHOLD))
    clusters: dict[int, set[int]] = {}
    for row in clusters_table(run).to_pylist():
        clusters.setdefault(row["cluster"], set()).add(row["id"])
        assert row["similarity"] == float(reference.jaccard(items[row["id"]], items[row["kept"]]))
    assert all(len({labels[item] for item in each}) == 1 for each in clusters.values())
    if run.counts.led_items == 0:
        whole = {label: {i for i in range(len(items)) if labels[i] == label} for label in labels}
        assert sorted(map(sorted, clusters.values())) == sorted(
            sorted(each) for each in whole.values() if len(each) > 1
        )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=5, max_size=16),
    st.sampled_from([0.3, 0.5, 0.75]),
    st.sampled_from(["first", "last", "longest"]),
)
def test_few_elements_make_lists_that_overlap_and_the_right_items_stay(
    items: list[set[int]], threshold: float, keep: str
) -> None:
    run = found(items, "dedup", threshold=threshold, keep=keep, bands=40)
    check(items, run, keep, threshold)


def test_a_list_of_alike_items_is_led_and_a_template_below_the_threshold_is_not() -> None:
    alike, apart = found(templates("above", 1), "dedup"), found(templates("below", 1), "dedup")
    assert alike.counts.led_items > 10
    assert apart.counts.led_items == 0
    assert apart.counts.giant_items > 10
    # The join leaves of nearly 600 pairs those that may match.
    assert apart.counts.candidates < 100


def test_items_of_a_list_in_which_nobody_is_alike_are_counted() -> None:
    """Four of eight common elements and two of its own each: a match needs all four, and no two have the same."""
    items = [{*four, 100 + 2 * i, 101 + 2 * i} for i, four in enumerate(combinations(range(8), 4))]
    run = found(items, "dedup", threshold=0.5)
    assert removed_of(run) == {}
    assert 50 < run.counts.unexamined_items < run.counts.led_items <= len(items)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("kind", ["around", "chain", "mixed"])
def test_lists_that_leaders_do_not_bring_far_are_compared_in_full_as_far_as_that_is_affordable(
    monkeypatch: pytest.MonkeyPatch, kind: str, threshold: float, seed: int
) -> None:
    items = templates(kind, seed, threshold=threshold)
    limited(monkeypatch, bucket=MOST, comparisons=1000)
    run = found(items, "dedup", threshold=threshold, seed=seed)
    assert run.counts.unexamined_items == 0
    check(items, run, "first", threshold)


@pytest.mark.parametrize("kind", ["around", "chain", "families", "mixed"])
@pytest.mark.parametrize("full", [0, 5])
@pytest.mark.parametrize("verb", ["pairs", "dedup"])
def test_memory_threads_and_batches_change_nothing(
    monkeypatch: pytest.MonkeyPatch, verb: str, full: int, kind: str
) -> None:
    """A kilobyte of memory: everything is spilled, and the giant part is many times larger."""
    limited(monkeypatch, bucket=MOST, comparisons=full)
    items = templates(kind, 5, items=30)

    def told(**options: Any) -> tuple[Any, ...]:
        run = found(items, verb, bands=12, **options)
        table = pairs_table(run) if verb == "pairs" else removed_table(run)
        counts = dataclasses.asdict(run.counts)
        assert run.matched.spilled > 0 or options.get("memory", 1 << 30) > 1000
        return table.to_pylist(), counts

    whole = told()
    assert whole[0]
    assert told(threads=2, batch_rows=1) == whole
    assert told(threads=8, memory=1000, batch_rows=7) == whole
    assert told(threads=1, memory=1000, batch_rows=7) == whole
    assert told(threads=2, memory=100_000) == whole


@pytest.mark.parametrize("memory", [1 << 20, 1 << 30])
def test_the_join_is_the_same_for_any_memory_where_counters_are_many(memory: int) -> None:
    """More elements than the smallest table has counters."""
    rng = np.random.default_rng(1)
    template = rng.integers(0, 2**62, 50)
    lengths = rng.integers(30, 60, 1800)
    rows = [np.unique(np.concatenate([rng.permutation(template)[:30], rng.integers(0, 2**62, n)])) for n in lengths]
    assert sum(map(len, rows)) > 1 << 16
    assert lists_of(joined(rows, 0.5, memory)) == lists_of(joined(rows, 0.5, 1 << 24))


def stored(rows: Sequence[Any]) -> StoredRows:
    store = StoredRows(np.array([len(row) for row in rows], np.int64))
    store.put(0, len(rows), np.array([x for row in rows for x in sorted(row)], np.uint64))
    return store


def joined(rows: Sequence[Any], threshold: float, memory: int = 1 << 20) -> Join:
    return Join.of(stored(rows), np.arange(len(rows)), SetJudge(threshold), memory, LIMITS)


def lists_of(join: Join) -> list[list[int]]:
    """The lists of all items, which are named by their rows."""
    everyone = np.ones(len(join.rows), np.bool_)
    return [
        join.rows[lists.members[start:end]].tolist()
        for lists in join.lists(everyone)
        for start, end in pairwise(lists.starts.tolist())
    ]


few_sets = st.lists(st.sets(st.integers(0, 12), min_size=1), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(few_sets, st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.sampled_from([1000, 1 << 20]))
def test_the_candidates_of_the_join_hold_every_match_once(items: list[set[int]], threshold: float, memory: int) -> None:
    pairs = [
        (min(pair), max(pair))
        for task in joined(items, threshold, memory).pairs()
        for left, right in task()
        for pair in zip(left.tolist(), right.tolist(), strict=True)
    ]
    assert len(set(pairs)) == len(pairs)
    assert set(reference.all_pairs(items, threshold)) <= set(pairs)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(few_sets, st.data())
def test_some_rows_of_a_store_are_joined_as_if_they_were_alone(items: list[set[int]], data: st.DataObject) -> None:
    members = sorted(data.draw(st.sets(st.integers(0, len(items) - 1), min_size=1)))
    join = Join.of(stored(items), np.array(members), SetJudge(0.5), 1 << 20, LIMITS)
    alone = joined([items[member] for member in members], 0.5)
    assert join.rows.tolist() == [members[row] for row in alone.rows]
    assert lists_of(join) == [[members[row] for row in each] for each in lists_of(alone)]


@pytest.mark.parametrize("memory", [500, 1 << 20])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("kind", ["around", "above", "chain", "families", "mixed"])
def test_leaders_and_what_they_leave_cover_all_matches(kind: str, threshold: float, seed: int, memory: int) -> None:
    """Of each matching pair both are compared, or one is attached to a leader, or both are told.

    It is run again and again on a part of the items, as if that was kept, and asks only for pairs that are not known.
    """
    items = [set(item) for item in dict.fromkeys(map(frozenset, templates(kind, seed, threshold=threshold)))]
    join = joined(items, threshold, memory)
    rng = np.random.default_rng(seed)
    rank = rng.permutation(len(items))
    leading = Leading(join, Verifier(SetJudge(threshold), join.store), rank[join.rows], np.ones(len(items), np.bool_))
    truth = set(reference.all_pairs(items, threshold))
    alive, met = np.ones(len(items), np.bool_), set()
    for _ in range(4):
        left, right, similarity = leading.run(alive)
        for item, leader, jaccard in zip(left.tolist(), right.tolist(), similarity.tolist(), strict=True):
            assert rank[leader] < rank[item]
            assert jaccard == float(reference.jaccard(items[item], items[leader])) >= threshold
        attached, living = set(left.tolist()), set(join.rows[alive].tolist())
        assert len(attached) == len(left), "an item is attached once"
        assert {*attached, *right.tolist()} <= living
        for pair in candidates_of(leading):
            assert set(pair) <= living
            met.add(pair)
        unexamined = set(join.rows[leading.unexamined].tolist())
        for pair in truth - met:
            assert not set(pair) <= living - attached or set(pair) <= unexamined
        alive = rng.random(len(items)) < 0.7


def test_kept_items_are_examined_again_until_none_of_them_match_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures of whole lists suggest pairs with items that were removed, which match as often as one looks.

    Each time but the last removes an item at least, so there are no more of them than items.
    """
    limited(monkeypatch)
    items = templates("around", 0, items=1500)
    times = 0
    lead = GiantMatches.lead_again

    def counted(self: GiantMatches, *arguments: Any) -> int:
        nonlocal times
        times += 1
        assert times <= len(items)
        return lead(self, *arguments)

    monkeypatch.setattr(GiantMatches, "lead_again", counted)
    removed = removed_of(found(items, "dedup", bands=None, rows=None))
    assert times >= 2
    pairs = pairs_of(found(items, "pairs", bands=None, rows=None))
    assert not [pair for pair in pairs if removed.keys().isdisjoint(pair)]


def candidates_of(leading: Leading) -> list[tuple[int, int]]:
    pairs = [
        pair for task in leading.candidates() for a, b in task() for pair in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return [(min(pair), max(pair)) for pair in pairs]


def test_who_was_led_by_an_item_that_is_led_itself_is_compared_with_the_last_leader() -> None:
    """The list of 1 comes first, and row 1 leads it; row 0 leads the list of 2, and row 1 in it."""
    template = range(10, 20)
    rows = [{2, *template}, {1, 2, *template}, *({1, 100 + i, *template} for i in range(4))]
    rows += [{2, 200 + i, *template} for i in range(3)]
    join = joined(rows, 0.5)
    leading = Leading(join, Verifier(SetJudge(0.5), join.store), join.rows, np.ones(len(rows), np.bool_))
    left, right, _ = leading.run(np.ones(len(rows), np.bool_))
    assert dict(zip(left.tolist(), right.tolist(), strict=True)) == {2: 1, 3: 1, 4: 1, 5: 1, 1: 0, 6: 0, 7: 0, 8: 0}
    assert sorted(candidates_of(leading)) == [(0, 2), (0, 3), (0, 4), (0, 5)]


def test_what_is_known_is_not_asked_for_again() -> None:
    """Four sure pairs below the template's threshold are compared once; nobody was led, so the next run has nothing."""
    rows = [{*range(10), *range(100 * (i // 2), 100 * (i // 2) + 30)} for i in range(2, 10)]
    rows = [row | {10_000 + i} for i, row in enumerate(rows)]
    join = joined(rows, 0.8)
    leading = Leading(join, Verifier(SetJudge(0.8), join.store), join.rows, np.ones(len(rows), np.bool_))
    everyone = np.ones(len(rows), np.bool_)
    assert len(leading.run(everyone)[0]) == 0
    assert not leading.led.any()
    assert sorted(candidates_of(leading)) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert len(leading.run(everyone)[0]) == 0
    assert candidates_of(leading) == []


def test_entries_are_made_as_many_as_fit_and_hardly_any_of_those_attached(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 items that are all alike: of 21 elements the 5 rarest are entries, 4 of them shared, 2 of these as probes."""
    rows = [{*range(1, 21), 1000 + i} for i in range(400)]
    held: list[int] = []

    def group(keys: Any, *arguments: Any, **options: Any) -> Groups:
        held.append(len(keys))
        return lookalike.collide.group.group(keys, *arguments, **options)

    monkeypatch.setattr(lookalike.engines.giants, "group", group)
    most = 1000
    join = joined(rows, 0.8, 36 * most)
    assert len(lists_of(join)) == 2
    entries = sum(held)
    assert entries == 4 * len(rows)
    assert max(held) <= most < entries

    held.clear()
    leading = Leading(join, Verifier(SetJudge(0.8), join.store), join.rows, np.ones(len(rows), np.bool_))
    assert len(leading.run(np.ones(len(rows), np.bool_))[0]) == len(rows) - 1
    assert sum(held[1:]) <= 5
    assert max(held) <= most


@pytest.mark.parametrize("memory", [1 << 30, 40_000])
def test_lists_are_the_same_whatever_the_threads(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookalike.engines.giants, "_LEAST_BLOCK", 256)
    rng = np.random.default_rng(4)
    rows = [set(rng.integers(0, 400, int(rng.integers(3, 30))).tolist()) for _ in range(300)]
    told = []
    for threads in (1, 5):
        join = Join.of(stored(rows), np.arange(len(rows)), SetJudge(0.5), memory, LIMITS, threads)
        lists = list(join.lists(np.ones(len(rows), np.bool_)))
        found = [
            tuple(each.members[begin:end].tolist())
            for each in lists
            for begin, end in zip(each.starts[:-1], each.starts[1:], strict=True)
        ]
        told.append(sorted(found))
    assert told[0] == told[1]
    assert len(told[0]) > 20
