"""The join by rare elements: its entries against sorting, and the theorem that no match escapes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.collide.buckets import Buckets
from lookalike.collide.group import PROBE, group
from lookalike.collide.prefix import (
    containment_lengths,
    containment_reach,
    count_elements,
    counters,
    entries,
    jaccard_reach,
    prefix_lengths,
)
from lookalike.types import BoolArray, I64Array, U8Array, U64Array
from tests.reference import buckets as twin
from tests.reference import sets as reference

many = settings(max_examples=100, deadline=None, derandomize=True)

THRESHOLDS = [0.3, 0.5, 0.8, 0.9, 1.0]
# One counter for all elements tells nothing about them, four little; with 64 hardly any is shared.
TABLES = [1, 4, 64]
WHOLE = (0, 2**64 - 1)
ALL = np.ones(1, np.bool_)
Lengths = Callable[[I64Array, float], tuple[I64Array, I64Array]]

Entry = tuple[int, int, bool]


def rows_of(sets: Sequence[Set[int]]) -> tuple[I64Array, U64Array]:
    offsets = np.cumsum([0, *(len(each) for each in sets)]).astype(np.int64)
    return offsets, np.array([x for each in sets for x in sorted(each)], np.uint64)


def counted(values: U64Array, size: int) -> U8Array:
    counts = np.zeros(size, np.uint8)
    count_elements(values, 0, 0, len(counts), counts)
    return counts


def made(
    sets: Sequence[Set[int]],
    threshold: float,
    size: int,
    span: tuple[int, int] = WHOLE,
    lengths: Lengths = prefix_lengths,
    marks: BoolArray = ALL,
) -> list[Entry]:
    offsets, values = rows_of(sets)
    numbers = np.arange(len(sets), dtype=np.uint32)
    both = lengths(np.diff(offsets), threshold)
    keys, items = entries(offsets, values, numbers, both, counted(values, size), marks, span)
    return [(key, item & (PROBE - 1), item >= PROBE) for key, item in zip(keys.tolist(), items.tolist(), strict=True)]


few = st.sets(st.integers(0, 14), min_size=1, max_size=14)
wide = st.sets(st.one_of(st.integers(0, 30), st.sampled_from([2**63, 2**64 - 2, 2**64 - 1])), min_size=1, max_size=25)
families = st.lists(st.one_of(few, wide), max_size=10)


@many
@given(families, st.sampled_from(THRESHOLDS), st.sampled_from(TABLES))
def test_entries_are_the_rarest_elements_of_each_item(sets: list[set[int]], threshold: float, size: int) -> None:
    counts = twin.count_elements(sets, size)
    assert counted(rows_of(sets)[1], size).tolist() == counts
    for kernel, slow in ((prefix_lengths, twin.jaccard_lengths), (containment_lengths, twin.containment_lengths)):
        lengths = [slow(len(each), threshold) for each in sets]
        expected = twin.prefix_entries(dict(enumerate(sets)), counts, lengths)
        assert sorted(made(sets, threshold, size, lengths=kernel)) == sorted(expected)


@many
@given(families, st.sampled_from(THRESHOLDS), st.sets(st.integers(0, 7)))
def test_probes_are_entries_where_their_elements_are_marked(
    sets: list[set[int]], threshold: float, wanted: set[int]
) -> None:
    marks = np.isin(np.arange(8), list(wanted))
    some, whole = (made(sets, threshold, 64, lengths=containment_lengths, marks=each) for each in (marks, ALL))
    assert some == [(x, item, probe) for x, item, probe in whole if not probe or x % 8 in wanted]


@many
@given(families, st.sampled_from(THRESHOLDS), st.integers(0, 31))
def test_the_entries_of_spans_are_together_those_of_all(sets: list[set[int]], threshold: float, at: int) -> None:
    spans = [(0, at), (at + 1, 2**63), (2**63 + 1, 2**64 - 1)]
    parts = [each for span in spans for each in made(sets, threshold, 64, span)]
    assert sorted(parts) == sorted(made(sets, threshold, 64))


def joined(
    sets: Sequence[Set[int]], threshold: float, size: int, lengths: Lengths = prefix_lengths
) -> set[tuple[int, int]]:
    """The candidates of the join; items must ascend by size."""
    offsets, values = rows_of(sets)
    numbers = np.arange(len(sets), dtype=np.uint32)
    both = lengths(np.diff(offsets), threshold)
    keys, items = entries(offsets, values, numbers, both, counted(values, size), ALL, WHOLE)
    lists = group(keys, items, np.zeros(0, np.bool_), most=len(keys))
    pairs: set[tuple[int, int]] = set()
    for left, right in Buckets(len(sets), [lists]).candidates():
        pairs |= set(zip(left.tolist(), right.tolist(), strict=True))
    return pairs


@settings(max_examples=250, deadline=None, derandomize=True)
@given(families, st.sampled_from(THRESHOLDS), st.sampled_from(TABLES))
@example([{1, 2}, {1, 2}, {1, 2, 3}], 1.0, 1)
@example([{1}, {1}, {2}], 0.9, 4)
@example([{1, 2, 3, 4}, {1, 2, 3, 4, 5}], 0.8, 4)
def test_every_pair_at_the_threshold_shares_an_entry_whose_smaller_item_is_no_probe(
    sets: list[set[int]], threshold: float, size: int
) -> None:
    sets = sorted(sets, key=len)
    assert set(reference.all_pairs(sets, threshold)) <= joined(sets, threshold, size)
    inside = {
        (i, j)
        for i, j in combinations(range(len(sets)), 2)
        if sets[i] & sets[j] and reference.containment(sets[i], sets[j]) >= reference.exact(threshold)
    }
    assert inside <= joined(sets, threshold, size, containment_lengths)


@pytest.mark.parametrize("size", [1, 4, 1 << 16])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_no_match_among_near_copies_of_a_template_escapes(threshold: float, size: int) -> None:
    """Sizes and overlaps where the bounds are tight: each item is the template with some elements gone and some new."""
    rng = np.random.default_rng(int(100 * threshold) + size)
    template = rng.integers(0, 2**63, 40)
    most = max(1, round(40 * (1 - threshold)))
    sets = []
    for _ in range(50):
        kept = set(rng.permutation(template)[rng.integers(0, most + 1) :].tolist())
        sets.append(kept | set(rng.integers(0, 2**63, rng.integers(0, most + 1)).tolist()))
    sets.sort(key=len)
    truth = set(reference.all_pairs(sets, threshold))
    assert 0 < len(truth) < 50 * 49 / 2
    assert truth <= joined(sets, threshold, size)


def test_rare_elements_part_what_a_template_would_put_together() -> None:
    """60 items share 20 elements and have 20 of their own in pairs: below the threshold, nothing but pairs meets."""
    template = set(range(1000, 1020))
    sets = [template | {5000 + 100 * (i // 2) + j for j in range(20)} for i in range(60)]
    assert joined(sets, 0.8, 1 << 16) == {(i, i + 1) for i in range(0, 60, 2)}


@many
@given(st.lists(st.integers(1, 5000), max_size=20), st.sampled_from([0.01, 0.1, 0.3, 0.5, 2 / 3, 0.7, 0.8, 0.9, 1.0]))
def test_prefixes_are_as_long_as_the_least_overlap_demands(sizes: list[int], threshold: float) -> None:
    short, long = prefix_lengths(np.array(sizes, np.int64), threshold)
    t = Fraction(threshold).limit_denominator(1000)
    for size, a, b in zip(sizes, short.tolist(), long.tolist(), strict=True):
        assert a == min(size, size - -(-2 * t * size // (1 + t)) + 1)
        assert b == min(size, size - -(-t * size // 1) + 1)
        assert 1 <= a <= b <= size


@pytest.mark.parametrize("threshold", [0.01, 0.3, 0.5, 2 / 3, 0.8, 0.9, 1.0])
def test_no_match_has_more_elements_apart_than_the_reach_of_both_sets(threshold: float) -> None:
    sizes = np.arange(1, 41)
    for kind, reach in (("jaccard", jaccard_reach), ("containment", containment_reach)):
        smaller, larger = reach(sizes, threshold)
        for m in range(1, 41):
            for n in range(m, 41):
                allowed = float(smaller[m - 1] + larger[n - 1])
                for both in range(m + 1):
                    apart = m + n - 2 * both
                    if (both / (m + n - both) if kind == "jaccard" else both / m) >= threshold:
                        assert apart <= allowed
                    else:
                        assert apart > allowed - 1e-6


def test_counters_count_one_by_one_to_128_and_then_by_chance() -> None:
    """Steps of 16, 32, … elements, eight each: 1,000 are 25 ± 2 steps above 128, a million 88 ± 3.

    The number of steps is within about sqrt(8·2/3)·... of its mean; four of those are allowed.
    """
    for number, expected in ((100, 100), (128, 128), (1000, 128 + 22), (10**6, 128 + 103)):
        counts = counted(np.full(number, 5, np.uint64), 4)
        assert counts[[0, 2, 3]].tolist() == [0, 0, 0]
        assert abs(int(counts[1]) - expected) <= (0 if number <= 128 else 8)


def test_counters_stop_at_their_largest_number_and_do_not_care_how_elements_are_cut() -> None:
    counts = np.full(4, 255, np.uint8)
    count_elements(np.full(10_000, 5, np.uint64), 0, 0, len(counts), counts)
    assert counts.tolist() == [255] * 4
    values = np.random.default_rng(1).integers(0, 4, 30_000).astype(np.uint64)
    parts = np.zeros(4, np.uint8)
    for at in range(0, len(values), 999):
        for low in range(4):  # as threads do, each its part of the table
            count_elements(values[at : at + 999], at, low, low + 1, parts)
    assert parts.tolist() == counted(values, 4).tolist() == twin.count_elements(({x} for x in values.tolist()), 4)


@pytest.mark.parametrize(("elements", "size"), [(0, 1 << 16), (65_537, 1 << 17), (10**6, 1 << 20), (10**12, 1 << 26)])
def test_a_table_of_counters_grows_with_the_elements_up_to_64_mb(elements: int, size: int) -> None:
    table = counters(elements)
    assert len(table) == size
    assert not table[:1000].any()


def test_no_items_have_no_entries() -> None:
    assert made([], 0.5, 4) == []
