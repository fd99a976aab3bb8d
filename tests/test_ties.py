"""Pairs at exactly the limit, within the rounding of float32: every measure, every way to find them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import lookalike
from tests.reference.vectors import minkowski

pytestmark = pytest.mark.no_cover

ORDERS = {"euclidean": 2.0, "manhattan": 1.0, "lr:1.5": 1.5, "lr:3": 3.0, "lr:inf": math.inf}
# All pairs are compared, or buckets are: so wide that nothing near is missed.
WAYS: dict[str, dict[str, Any]] = {"all": {}, "bands": {"bands": 60, "rows": 1}}


def ways(measure: str) -> list[dict[str, Any]]:
    return [WAYS["all"]] if measure in ("lr:3", "lr:inf") else list(WAYS.values())


@pytest.mark.parametrize("measure", ORDERS)
@pytest.mark.parametrize("limit", [0.1, 0.3, 0.7, 1.1, 2.3])
def test_a_distance_that_only_float32_makes_larger_meets_the_limit(measure: str, limit: float) -> None:
    for way in ways(measure):
        assert len(lookalike.pairs([[0.0], [limit]], measure=measure, max_distance=limit, **way)) == 1
        assert len(lookalike.pairs([[limit], [2 * limit]], measure=measure, max_distance=limit, **way)) == 1
        assert len(lookalike.pairs([[0.0], [limit * 1.00001]], measure=measure, max_distance=limit)) == 0


@pytest.mark.parametrize("measure", ORDERS)
def test_points_of_a_grid_of_tenths_have_the_neighbours_that_whole_numbers_have(measure: str) -> None:
    """Tenths are no float32, whole numbers are: the same pairs must come out."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        whole = np.unique(rng.integers(-9, 10, (14, 3)), axis=0)
        limit = float(rng.integers(2, 8))
        truth = {
            (i, j)
            for i, j in combinations(range(len(whole)), 2)
            if minkowski(whole[i].tolist(), whole[j].tolist(), ORDERS[measure]) <= limit
        }
        for way in ways(measure):
            found = lookalike.pairs((whole / 10).tolist(), measure=measure, max_distance=limit / 10, **way)
            assert {(a, b) for a, b, _ in found} == truth


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dimensions", [1, 2, 8, 100])
def test_parallel_vectors_have_a_cosine_of_one(way: str, dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    multiples = (rng.normal(size=dimensions) * rng.uniform(0.1, 10, (50, 1))).astype(np.float32)
    # A band with one row misses parallel vectors with a chance of 10⁻⁷.
    found = lookalike.pairs(multiples, threshold=1.0, **WAYS[way])
    assert len(found.table) == 50 * 49 // 2
    assert set(found.table["similarity"].to_pylist()) == {1.0}
    assert found.report["certificate"]["audit"]["found"] == found.report["certificate"]["audit"]["pairs"]


def test_parallel_sparse_vectors_have_a_cosine_of_one() -> None:
    rng = np.random.default_rng(0)
    weights = rng.gamma(1.0, size=20)
    bags = [{f"e{i}": float(w) * factor for i, w in enumerate(weights)} for factor in rng.uniform(0.1, 10, 30)]
    found = lookalike.pairs(bags, measure="cosine", threshold=1.0, bands=20, rows=2)
    assert len(found.table) == 30 * 29 // 2
    assert set(found.table["similarity"].to_pylist()) == {1.0}


def test_vectors_that_are_not_parallel_have_no_cosine_of_one() -> None:
    # Ten times what rounding can do: an angle of 2⁻¹⁹.
    assert len(lookalike.pairs([[1.0, 0.0], [1.0, 2.0**-19]], threshold=1.0)) == 0


@pytest.mark.parametrize("way", [{}, {"bands": 60, "rows": 1}], ids=["all", "bands"])
def test_a_cosine_at_its_limit_counts(way: dict[str, Any]) -> None:
    """3-4-5: the cosine of (1, 0) and (0.8, 0.6), of which neither is a float32, is 0.8."""
    vectors = [[1.0, 0.0], [0.8, 0.6], [0.8, -0.6]]
    assert {(a, b) for a, b, _ in lookalike.pairs(vectors, threshold=0.8, **way)} == {(0, 1), (0, 2)}


@pytest.mark.parametrize("limit", [0.2, 0.01, 1e-4])
def test_a_cosine_at_a_low_limit_counts_whatever_rounding_makes_of_its_sum(limit: float) -> None:
    """Pairs at the limit, each in a plane of its own, turned by some angle: both products round, and nearly cancel."""
    turned = np.random.default_rng(0).uniform(0, 2 * math.pi, 40)
    vectors = np.zeros((80, 80))
    for k, angle in enumerate(turned):
        for i, at in enumerate((angle, angle + math.acos(limit))):
            vectors[2 * k + i, 2 * k : 2 * k + 2] = math.cos(at), math.sin(at)
    found = lookalike.pairs(vectors, threshold=limit)
    assert [(a, b) for a, b, _ in found] == [(k, k + 1) for k in range(0, 80, 2)]
    assert len(lookalike.pairs(np.eye(5), threshold=1e-9)) == 0


def test_weights_at_their_limit_count() -> None:
    """0.1 / 0.3 is a third, and float32 makes it 0.33333332."""
    bags = [{"a": 0.1}, {"a": 0.3}]
    assert len(lookalike.pairs(bags, threshold=1 / 3, bands=40, rows=1)) == 1


def test_bits_and_sets_at_their_limit_count() -> None:
    for size in range(2, 30):
        for less in range(1, size):
            bits = np.zeros((2, size), bool)
            bits[1, :less] = True
            agree = (size - less) / size
            assert len(lookalike.pairs(bits, threshold=agree)) == 1
            assert len(lookalike.pairs(bits, threshold=agree + 1e-9)) == 0


@pytest.mark.parametrize("seed", range(25))
def test_cosines_at_the_limit_are_those_of_whole_numbers(seed: int) -> None:
    """Tenths of whole numbers, and the limit is the cosine of two of them: exact quotients tell who counts."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(-4, 5, (14, int(rng.integers(1, 5))))
    whole = whole[whole.any(axis=1)]

    def square(a: int, b: int) -> Fraction:
        """The square of the cosine, with its sign."""
        product = int(whole[a] @ whole[b])
        return Fraction(product * abs(product), int(whole[a] @ whole[a]) * int(whole[b] @ whole[b]))

    pairs = list(combinations(range(len(whole)), 2))
    limits = sorted({square(a, b) for a, b in pairs if square(a, b) > 0})
    for limit in [limits[len(limits) // 2], limits[-1]] if limits else []:
        truth = {(a, b) for a, b in pairs if square(a, b) >= limit}
        ways: tuple[dict[str, Any], ...] = ({}, {"bands": 300, "rows": 1})
        for way in ways:
            found = lookalike.pairs(whole / 10, measure="cosine", threshold=math.sqrt(limit), audit=0, **way)
            assert {(a, b) for a, b, _ in found} == truth
