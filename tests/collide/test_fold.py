"""Folding against dicts and nested loops."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.collide.fold import Folds, fold

fingerprints = st.lists(st.tuples(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1)), max_size=30)


def folded(prints: list[tuple[int, int]]) -> Folds:
    return fold(np.array(prints, np.uint64).reshape(-1, 2))


@given(fingerprints)
def test_groups_are_the_items_of_one_fingerprint_numbered_by_their_first(prints: list[tuple[int, int]]) -> None:
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for item, fingerprint in enumerate(prints):
        groups[fingerprint].append(item)
    expected = list(groups.values())
    folds = folded(prints)
    assert len(folds) == len(expected)
    assert [folds.members[a:b].tolist() for a, b in zip(folds.offsets, folds.offsets[1:], strict=False)] == expected
    assert folds.sizes.tolist() == [len(group) for group in expected]
    assert folds.first.tolist() == [group[0] for group in expected]
    assert all(folds.group[item] == number for number, group in enumerate(expected) for item in group)


@given(fingerprints)
def test_unfolding_gives_every_pair_of_members_once(prints: list[tuple[int, int]]) -> None:
    folds = folded(prints)
    edges = [edge for number, edge in enumerate(combinations(range(len(folds)), 2)) if number % 2]
    left = np.array([a for a, _ in edges], np.int64)
    right = np.array([b for _, b in edges], np.int64)
    members = [np.flatnonzero(folds.group == group).tolist() for group in range(len(folds))]
    expected = {(a, b): number for number, (g, h) in enumerate(edges) for a in members[g] for b in members[h]}
    expected |= {pair: -1 for group in members for pair in combinations(group, 2)}
    first, second, which = folds.unfold(left, right)
    unfolded = list(zip(first.tolist(), second.tolist(), strict=True))
    assert dict(zip(unfolded, which.tolist(), strict=True)) == expected
    assert len(unfolded) == len(expected) == folds.unfolded(left, right)


def test_the_number_of_pairs_is_told_without_making_them() -> None:
    folds = folded([(1, 1)] * 100_000)
    none = np.empty(0, np.int64)
    assert folds.unfolded(none, none) == 100_000 * 99_999 // 2
