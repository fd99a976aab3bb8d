"""Folding against dicts and nested loops."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.fold import Folds, lead_buckets
from tests.reference import buckets as twin

many = settings(max_examples=120, deadline=None, derandomize=True)

Print = tuple[int, int]

# Few values, so that halves agree where the other half does not.
fingerprints = st.lists(st.tuples(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1)), max_size=30)


def led(prints: list[Print]) -> tuple[Folds, int]:
    """Led by buckets of the first half, as grouping makes them."""
    by_first: dict[int, list[int]] = defaultdict(list)
    for item, (first, _) in enumerate(prints):
        by_first[first].append(item)
    many_of = [bucket for bucket in by_first.values() if len(bucket) > 1]
    members = np.array([item for bucket in many_of for item in bucket], np.uint32)
    starts = np.cumsum([0, *(len(bucket) for bucket in many_of)]).astype(np.int64)
    seconds = np.array([prints[item][1] for bucket in many_of for item in bucket], np.uint64)
    leader = np.arange(len(prints), dtype=np.uint32)
    count = lead_buckets(members, starts, seconds, leader)
    return Folds(leader), count


@many
@given(fingerprints)
def test_the_first_item_of_a_fingerprint_leads(prints: list[Print]) -> None:
    folds, count = led(prints)
    expected = twin.leaders(prints)
    assert folds.leader.tolist() == expected
    assert len(folds) == len(set(prints))
    assert count == len(prints) - len(set(prints))
    assert folds.sizes.tolist() == [expected.count(item) for item in range(len(prints))]


@many
@given(fingerprints)
def test_the_pairs_of_copies_are_counted(prints: list[Print]) -> None:
    folds = Folds(np.array(twin.leaders(prints), np.uint32))
    leaders = sorted(set(folds.leader.tolist()))
    edges = [edge for number, edge in enumerate(combinations(leaders, 2)) if number % 2]
    left = np.array([a for a, _ in edges], np.int64)
    right = np.array([b for _, b in edges], np.int64)
    copies = {each: int((folds.leader == each).sum()) for each in leaders}
    assert folds.unfolded(left, right) == sum(copies[g] * copies[h] for g, h in edges)
    assert folds.within == sum(prints[i] == prints[j] for i, j in combinations(range(len(prints)), 2))


def test_the_number_of_pairs_is_told_without_making_them() -> None:
    folds = Folds(np.repeat(np.array([0, 100_000], np.uint32), 100_000))
    assert folds.within == 2 * (100_000 * 99_999 // 2)
    assert folds.unfolded(np.array([0]), np.array([100_000])) == 10**10


def test_no_items_fold_to_none() -> None:
    folds = Folds(np.empty(0, np.uint32))
    assert (len(folds), folds.within, folds.sizes.tolist()) == (0, 0, [])
