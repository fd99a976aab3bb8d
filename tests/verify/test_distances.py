"""Exact distances against sums rounded once: what stands at the threshold is in, and leaving early changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.types import I64Array, U64Array
from lookalike.verify.distances import minkowski
from tests.reference import vectors as twin

F32 = NDArray[np.float32]
ORDERS = [1.0, 1.25, 1.5, 2.0, 3.0, 7.5, 100.0, math.inf]


def stored(vectors: F32) -> tuple[I64Array, U64Array]:
    """(offsets, words), two components a word."""
    n, d = vectors.shape
    rows = np.zeros((n, (d + 1) // 2), np.uint64)
    rows.view(np.float32)[:, :d] = vectors
    return np.arange(n + 1) * rows.shape[1], rows.reshape(-1)


def every_pair(n: int) -> tuple[I64Array, I64Array]:
    left, right = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return left.reshape(-1), right.reshape(-1)


def allowed(dimensions: int, order: float) -> float:
    """The relative error.

    Every addition is off by no more than one unit of 2⁻⁵³: there are ⌈d/16⌉ + 4 in a row, or ⌈d/8⌉ + 3. A difference
    and its square are off by three units, the root makes that no larger and adds one, and the twin has as many.

    A power x^y is off by 4·(1 + |y·ln x|) units. The largest is 1, so powers below 1/d have no weight, and in the mean
    this is less than 4·(2 + ln d), once for the powers and once for the root. What a rounded difference and quotient
    are off grows by the order and shrinks again by the root.
    """
    if order in (1.0, 2.0, math.inf):
        return (-(-dimensions // 16) + 4 + 2 * 4) * 2.0**-53
    return (-(-dimensions // 8) + 3 + 2 * 4 * (2 + math.log(dimensions)) + 2 * 4) * 2.0**-53


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 300), st.sampled_from(ORDERS), st.integers(0, 10**6))
def test_scores_are_minus_the_distances_of_the_twin(dimensions: int, order: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(4, dimensions)) * 10.0 ** rng.integers(-3, 3, (4, 1))).astype(np.float32)
    left, right = every_pair(4)
    found = minkowski(*stored(vectors), left, right, -math.inf, order)
    expected = [
        twin.minkowski(vectors[i].tolist(), vectors[j].tolist(), order) for i, j in zip(left, right, strict=True)
    ]
    assert (-found) == pytest.approx(expected, rel=allowed(dimensions, order))
    assert np.array_equal(found.reshape(4, 4), found.reshape(4, 4).T)
    assert not np.signbit(found[left == right]).any(), "a distance of zero has the score 0, not -0"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dimensions", [1, 16, 100, 128, 200, 400])
def test_a_pair_at_exactly_the_largest_distance_is_in_and_a_trifle_less_is_out(order: float, dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    vectors = rng.normal(size=(8, dimensions)).astype(np.float32)
    vectors[4:, 10:] = vectors[:4, 10:]
    left, right = every_pair(8)
    rows = stored(vectors)
    for i, j, score in zip(left, right, minkowski(*rows, left, right, -math.inf, order), strict=True):
        one, other = np.array([i]), np.array([j])
        assert minkowski(*rows, one, other, score, order).tolist() == [score]
        assert minkowski(*rows, one, other, np.nextafter(score, 1.0), order).tolist() == [-math.inf]


@pytest.mark.parametrize("order", ORDERS)
def test_leaving_early_never_changes_an_answer(order: float) -> None:
    rng = np.random.default_rng(8)
    vectors = (rng.normal(size=(12, 300)) * np.linspace(0, 2, 12)[:, None]).astype(np.float32)
    rows, pairs = stored(vectors), every_pair(12)
    whole = minkowski(*rows, *pairs, -math.inf, order)
    for threshold in (*np.quantile(whole, [0.05, 0.3, 0.6, 0.9]), 0.0, *whole[::17]):
        found = minkowski(*rows, *pairs, threshold, order)
        assert found.tolist() == np.where(whole >= threshold, whole, -math.inf).tolist()


@pytest.mark.parametrize(("order", "distance"), [(1.0, 7.0), (2.0, 5.0), (math.inf, 4.0)])
@pytest.mark.parametrize("times", [1, 1000, 0.25])
def test_distances_that_are_whole_numbers_are_exact(order: float, distance: float, times: float) -> None:
    vectors = np.zeros((2, 150), np.float32)
    vectors[1, 3], vectors[1, 140] = 3 * times, -4 * times
    rows, pair = stored(vectors), (np.array([0]), np.array([1]))
    assert minkowski(*rows, *pair, -distance * times, order).tolist() == [-distance * times]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [1e-44, 1e-20, 0.1, 3e38])
def test_vectors_that_differ_in_one_component_have_that_distance(order: float, size: float) -> None:
    vectors = np.zeros((2, 40), np.float32)
    vectors[1, 17] = size
    distance = float(vectors[1, 17])
    assert minkowski(*stored(vectors), np.array([0]), np.array([1]), -distance, order).tolist() == [-distance]


@pytest.mark.parametrize("order", ORDERS)
def test_a_pair_has_the_same_score_in_any_batch_and_any_place(order: float) -> None:
    vectors = np.random.default_rng(3).normal(size=(20, 77)).astype(np.float32)
    left, right = every_pair(20)
    together = minkowski(*stored(vectors), left, right, -math.inf, order)
    for p in range(0, 400, 7):
        pair = vectors[[0, left[p], right[p]]]
        assert minkowski(*stored(pair), np.array([1]), np.array([2]), -math.inf, order)[0] == together[p]


def test_a_threshold_above_zero_lets_nothing_in() -> None:
    vectors = np.zeros((2, 3), np.float32)
    for order in ORDERS:
        assert minkowski(*stored(vectors), np.array([0]), np.array([1]), 0.5, order).tolist() == [-math.inf]
