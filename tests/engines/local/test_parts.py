"""From sketches to what must be compared: folds and buckets for any memory, and parts that split no bucket."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.budget import Budget
from lookalike.collide.group import Groups
from lookalike.engines.counts import Counts
from lookalike.engines.local.parts import Grouped, Part, fold, group_bands, joined, spans
from lookalike.engines.local.store.sketches import SketchBatch, Sketches
from lookalike.engines.local.store.work_folder import Work
from lookalike.wording.progress import SILENT
from tests.reference import buckets as twin
from tests.reference.sets import components as twin_components

many = settings(max_examples=150, deadline=None, derandomize=True)

ITEMS = 16
TOP = 2**64 - 1


def groups_of(buckets: list[list[int]]) -> Groups:
    starts = np.cumsum([0, *map(len, buckets)]).astype(np.int64)
    members = np.array([item for each in buckets for item in each], np.uint32)
    return Groups(members, starts, starts[1:].copy(), 0, 0)


def lists(groups: Groups) -> list[list[int]]:
    return [groups.members[start:end].tolist() for start, end in pairwise(groups.starts.tolist())]


@st.composite
def bands(draw: st.DrawFn) -> list[list[list[int]]]:
    """In each band an item is in one bucket at most."""
    out = []
    for _ in range(draw(st.integers(0, 3))):
        keys = draw(st.lists(st.integers(0, 9), min_size=ITEMS, max_size=ITEMS))
        buckets = [[item for item in range(ITEMS) if keys[item] == key] for key in range(10)]
        out.append([each for each in buckets if len(each) > 1])
    return out


def grouped_of(buckets: list[list[list[int]]], giant: set[int]) -> Grouped:
    meets = np.zeros(ITEMS, np.bool_)
    for band in buckets:
        for each in band:
            meets[each] = True
    return Grouped([groups_of(band) for band in buckets], meets, np.isin(np.arange(ITEMS), list(giant)))


@many
@given(
    bands(),
    st.sets(st.integers(0, ITEMS - 1)),
    st.lists(st.integers(1, 5), min_size=ITEMS, max_size=ITEMS),
    st.integers(1, 80),
)
def test_parts_hold_everything_once_split_no_bucket_and_are_as_heavy_as_they_may_be(
    buckets: list[list[list[int]]], giant: set[int], weights: list[int], most: int
) -> None:
    groups = grouped_of(buckets, giant)
    parts: list[Part] = list(groups.parts(np.array(weights, np.int64), most))
    wanted = sorted({item for band in buckets for each in band for item in each} | giant)
    assert np.flatnonzero(groups.wanted()).tolist() == wanted
    assert sorted(item for part in parts for item in part.items.tolist()) == wanted
    assert all(np.all(np.diff(part.items) > 0) for part in parts)
    for number, band in enumerate(buckets):
        inside = [part.items[each].tolist() for part in parts for each in lists(part.buckets()[number])]
        assert sorted(inside) == sorted(band)
    assert [part for part in parts if set(part.items.tolist()) & giant and not giant <= set(part.items.tolist())] == []
    for part in parts:
        assert part.items[part.giant].tolist() == sorted(set(part.items.tolist()) & giant)
        # What is connected cannot be parted; anything else would have fitted elsewhere.
        heavy = sum(weights[item] for item in part.items)
        assert heavy <= most or connected(part.items.tolist(), buckets, giant)
    for one, other in pairwise(parts):
        begun = next(each for each in components(buckets, giant) if each[0] == other.items[0])
        assert sum(weights[item] for item in [*one.items, *begun]) > most


def components(buckets: list[list[list[int]]], giant: set[int]) -> list[list[int]]:
    """What holds together, by its smallest item."""
    together = [*(each for band in buckets for each in band), sorted(giant)]
    labels = twin_components(ITEMS, [(each[0], item) for each in together for item in each])
    return [[item for item in range(ITEMS) if labels[item] == label] for label in sorted(set(labels))]


def connected(items: list[int], buckets: list[list[list[int]]], giant: set[int]) -> bool:
    return sum(bool(set(items) & set(each)) for each in components(buckets, giant)) == 1


def test_nothing_shared_is_no_part() -> None:
    assert list(grouped_of([], set()).parts(np.ones(ITEMS, np.int64), 5)) == []
    assert list(grouped_of([[]], set()).parts(np.ones(ITEMS, np.int64), 5)) == []


def test_what_fits_is_one_part_with_all_buckets() -> None:
    parts = list(grouped_of([[[1, 2], [8, 9]], [[2, 3]]], {15}).parts(np.ones(ITEMS, np.int64), 6))
    assert [part.items.tolist() for part in parts] == [[1, 2, 3, 8, 9, 15]]
    assert [lists(each) for each in parts[0].buckets()] == [[[0, 1], [3, 4]], [[1, 2]]]
    assert parts[0].giant.tolist() == [False] * 5 + [True]


def sketched(prints: list[tuple[int, int]], keys: list[list[int]], memory: int, folder: Path | None = None) -> Sketches:
    sketches = Sketches(Work(spill_to=folder), memory, lambda: (None, {}))
    for part in np.array_split(np.arange(len(prints)), 3):
        if len(part):
            sketches.add(
                SketchBatch(
                    np.ascontiguousarray(np.array([prints[i] for i in part], np.uint64).T),
                    np.ascontiguousarray(np.array([keys[i] for i in part], np.uint64).reshape(len(part), -1).T),
                    np.ones(len(part), np.uint32),
                )
            )
    sketches.finish()
    return sketches


half = st.sampled_from([0, 1, 2**63, TOP])


@many
@given(st.lists(st.tuples(half, half), max_size=20), st.sampled_from([1, 200, 1 << 20]))
def test_identical_items_are_led_by_their_first_for_any_memory(prints: list[tuple[int, int]], memory: int) -> None:
    folds = fold(sketched(prints, [[] for _ in prints], 1 << 20), memory)
    assert folds.leader.tolist() == twin.leaders(prints)
    assert folds.identical == len(prints) - len(set(prints))


@many
@given(
    st.lists(st.lists(half, min_size=3, max_size=3), max_size=20),
    st.lists(st.booleans(), min_size=20, max_size=20),
    st.integers(1, 6),
    st.sampled_from([(1, 1), (200, 2), (1 << 20, 1)]),
)
def test_the_buckets_of_all_bands_are_those_of_a_dict_for_any_memory(
    keys: list[list[int]], flags: list[bool], most: int, resources: tuple[int, int]
) -> None:
    memory, threads = resources
    active = np.array(flags[: len(keys)], np.bool_)
    counts = Counts()
    sketches = sketched([(i, i) for i in range(len(keys))], keys, 1 << 20)
    found = group_bands(sketches, 3, active, counts, most=most, budget=Budget(4 * memory, threads), progress=SILENT)
    expected = [
        twin.group(((each[band], item, False) for item, each in enumerate(keys) if active[item]), most)
        for band in range(3)
    ]
    assert [lists(each) for each in found.bands] == [[bucket.indexed for bucket in each.buckets] for each in expected]
    assert set(np.flatnonzero(found.giant).tolist()) == set().union(*(each.giant for each in expected))
    assert set(np.flatnonzero(found.meets).tolist()) == {
        item for each in expected for bucket in each.buckets for item in bucket.indexed
    }
    assert counts.giant_buckets == sum(each.giants for each in expected)
    assert counts.giant_items == int(found.giant.sum())
    assert counts.largest_bucket == max(each.largest for each in expected)


def test_no_bands_are_no_buckets() -> None:
    sketches, everyone = sketched([(1, 1)], [[]], 1), np.ones(1, np.bool_)
    found = group_bands(sketches, 0, everyone, Counts(), most=5, budget=Budget(4, 1), progress=SILENT)
    assert found.bands == []
    assert not found.wanted().any()


@many
@given(st.integers(0, 10_000), st.integers(0, 100_000))
def test_spans_cover_all_keys_without_a_gap(entries: int, memory: int) -> None:
    found = spans(entries, memory)
    assert found[0][0] == 0
    assert found[-1][1] == TOP
    assert all(high + 1 == low for (_, high), (low, _) in pairwise(found))
    assert len(found) == 1 or memory < 36 * entries


@pytest.mark.parametrize("parts", [[[[1, 2]]], [[], [[3, 4]]], [[[1, 2], [5, 6, 7]], [], [[0, 9]]], [[], []]], ids=str)
def test_the_buckets_of_spans_are_put_one_after_another(parts: list[list[list[int]]]) -> None:
    whole = joined([groups_of(part) for part in parts])
    assert lists(whole) == [bucket for part in parts for bucket in part]
    assert whole.splits.tolist() == whole.starts[1:].tolist()
