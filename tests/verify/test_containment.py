"""Containment of sorted rows against plain sets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.types import I64Array, U64Array
from lookalike.verify.containment import containments, reversed_share
from tests.reference.sets import containment, exact

THRESHOLDS = [0.0, 0.25, 0.5, 0.8, 0.9, 1.0]


def rows_of(sets: list[set[int]]) -> tuple[I64Array, U64Array]:
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return offsets, np.array([x for each in sets for x in sorted(each)], np.uint64)


def expected(a: set[int], b: set[int], threshold: float) -> float:
    share = max(containment(a, b), containment(b, a))
    return float(share) if a and b and share >= exact(threshold) else -1.0


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(st.sets(st.integers(0, 12) | st.sampled_from([2**63, 2**64 - 1])), min_size=2, max_size=6),
    st.sampled_from(THRESHOLDS),
)
def test_it_is_how_much_of_the_smaller_is_inside_the_larger(sets: list[set[int]], threshold: float) -> None:
    left, right = np.triu_indices(len(sets), k=1)
    found = containments(*rows_of(sets), left, right, threshold)
    assert found.tolist() == [expected(sets[i], sets[j], threshold) for i, j in zip(left, right, strict=True)]
    assert containments(*rows_of(sets), right, left, threshold).tolist() == found.tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_elements_are_sought_where_the_sizes_differ_by_much(threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    large = {int(x) for x in rng.integers(0, 2**64, 5000, dtype=np.uint64)}
    sets = [large]
    for size in (1, 2, 10, 100, 300, 313, 2000):
        inside = rng.choice(sorted(large), rng.integers(0, size + 1), replace=False)
        sets.append({*map(int, inside), *map(int, rng.integers(0, 2**64, size, dtype=np.uint64))} | {0, 2**64 - 1})
    left, right = np.zeros(len(sets) - 1, np.int64), np.arange(1, len(sets))
    found = containments(*rows_of(sets), left, right, threshold)
    assert found.tolist() == [expected(large, each, threshold) for each in sets[1:]]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(1, 10**6), st.integers(1, 10**7), st.data())
def test_the_other_direction_is_found_from_the_sizes(smaller: int, larger: int, data: st.DataObject) -> None:
    both = data.draw(st.integers(0, smaller))
    found = reversed_share(np.array([both / smaller]), np.array([smaller]), np.array([larger]))
    assert found[0] == float(Fraction(both, larger))
