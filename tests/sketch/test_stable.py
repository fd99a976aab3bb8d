"""Stable slots: as the slow twin has them, the same in any batch, and agreeing as often as the distance says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.collide.band import band_keys
from lookalike.sketch.stable import StableMatrix, stable_matrix, stable_slots_of
from lookalike.theory import Stable
from tests.reference.vectors import stable_draw, stable_slot, stable_start

F32 = NDArray[np.float32]
ORDERS = [1.0, 1.0001, 1.25, 1.5, 1.9, 2.0]


def directions(matrix: StableMatrix) -> F32:
    """directions[j, i]: component i of slot j."""
    return matrix.panels.transpose(0, 2, 1).reshape(-1, matrix.panels.shape[1])[: matrix.slots]


def stable_slots(vectors: F32, slots: int, width: float, order: float, seed: int) -> NDArray[np.uint32]:
    """The slots of each vector, with directions that are made for them."""
    return stable_slots_of(vectors, stable_matrix(vectors.shape[1], slots, order, seed), width)


@pytest.mark.parametrize("order", ORDERS)
def test_directions_are_draws_of_the_specification_rounded_once(order: float) -> None:
    """The float32 nearest to the draw, or one as near to it but for the 1e-13 that either side may be off."""
    matrix = stable_matrix(40, 30, order, seed=7)
    expected = np.array([[stable_draw(i, j, order, 7) for i in range(40)] for j in range(30)])
    found = directions(matrix)
    half = np.spacing(np.abs(found)).astype(np.float64) / 2
    assert (np.abs(found - expected) <= half + 1e-13 * np.abs(expected)).all()
    assert matrix.starts[:30].tolist() == [stable_start(j, 7) for j in range(30)]


@pytest.mark.parametrize("order", ORDERS)
def test_draws_have_the_characteristic_function_of_their_order(order: float) -> None:
    """E cos(t·Z) = exp(-|t|^α/α); the mean of n cosines has a standard error below √(1/(2n)), of which 4.5 may be."""
    draws = stable_matrix(400, 400, order, seed=3).panels.reshape(-1).astype(np.float64)
    for t in (0.1, 0.5, 1.0, 2.0):
        expected = math.exp(-(t**order) / order)
        spread = math.sqrt((1 + math.exp(-((2 * t) ** order) / order)) / 2 - expected**2)
        assert np.cos(t * draws).mean() == pytest.approx(expected, abs=4.5 * spread / math.sqrt(len(draws)))
    assert abs((draws > 0).mean() - 0.5) < 4.5 * 0.5 / math.sqrt(len(draws))


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0])
def test_a_direction_is_the_same_however_many_there_are(order: float) -> None:
    large = directions(stable_matrix(30, 20, order, seed=5))
    for dimensions, slots in ((30, 1), (7, 9), (1, 20)):
        assert np.array_equal(directions(stable_matrix(dimensions, slots, order, 5)), large[:slots, :dimensions])
    assert not np.array_equal(directions(stable_matrix(30, 20, order, seed=6)), large)


@given(
    st.integers(1, 40), st.integers(1, 30), st.integers(1, 14), st.sampled_from(ORDERS), st.floats(0.01, 100.0),
    st.integers(0, 2**64 - 1),
)  # fmt: skip
@settings(max_examples=40, deadline=None, derandomize=True)
def test_slots_are_those_of_the_twin(
    dimensions: int, slots: int, items: int, order: float, width: float, seed: int
) -> None:
    vectors = np.random.default_rng(items).normal(size=(items, dimensions)).astype(np.float32) * np.float32(10)
    matrix = stable_matrix(dimensions, slots, order, seed)
    starts = matrix.starts.tolist()
    expected = [
        [stable_slot(x, a, u, width) for a, u in zip(directions(matrix).tolist(), starts[:slots], strict=True)]
        for x in vectors.tolist()
    ]
    assert stable_slots_of(vectors, matrix, width).tolist() == expected


@pytest.mark.parametrize("items", [1, 5, 6, 7, 96, 97, 200])
@pytest.mark.parametrize("dimensions", [3, 400])
def test_a_vector_has_the_same_slots_alone_and_in_any_batch(items: int, dimensions: int) -> None:
    vectors = np.random.default_rng(1).normal(size=(items, dimensions)).astype(np.float32)
    matrix = stable_matrix(dimensions, 20, 1.5, 9)
    together = stable_slots_of(vectors, matrix, 0.5)
    for i in range(items):
        assert np.array_equal(stable_slots_of(vectors[i : i + 1], matrix, 0.5)[0], together[i])
    backwards = stable_slots_of(np.ascontiguousarray(vectors[::-1]), matrix, 0.5)
    assert np.array_equal(backwards, together[::-1])


def test_a_vector_longer_than_a_group_has_the_slots_of_the_twin() -> None:
    vectors = np.random.default_rng(2).normal(size=(8, 40_000)).astype(np.float32)
    matrix = stable_matrix(40_000, 2, 2.0, 1)
    direction, start = directions(matrix)[1].tolist(), float(matrix.starts[1])
    found = stable_slots_of(vectors, matrix, 10.0)[:, 1]
    assert found.tolist() == [stable_slot(x, direction, start, 10.0) for x in vectors.tolist()]


def test_unequal_intervals_have_unequal_slots() -> None:
    """Of m intervals m²/2³³ pairs agree by accident: of 10⁵ of them 1.2, and more than 8 with a chance of 1e-5."""
    positions = np.arange(-50_000, 50_000, dtype=np.float32)[:, None]
    # One component and a direction of exactly one: interval number and component are the same.
    matrix = StableMatrix(1, np.ones((1, 1, 8), np.float32), np.full(8, 0.5))
    found = stable_slots_of(positions, matrix, 1.0)[:, 0]
    assert len(np.unique(found)) >= len(positions) - 8


def test_numbers_beyond_all_intervals_have_slots_too() -> None:
    vectors = np.array([[3e38], [-3e38], [1e-45], [0.0], [-0.0]], np.float32)
    found = stable_slots(vectors, 50, 1e-300, 1.0, 4)
    assert (found[0] != found[1]).all()
    assert np.array_equal(found[3], found[4])


def test_no_vectors_have_no_slots() -> None:
    assert stable_slots(np.empty((0, 5), np.float32), 3, 1.0, 2.0, 0).shape == (0, 3)


def spread(rng: np.random.Generator, dimensions: int) -> F32:
    """A difference in every component."""
    return rng.normal(size=dimensions).astype(np.float32)


def spike(rng: np.random.Generator, dimensions: int) -> F32:
    """A difference in one component only."""
    out = np.zeros(dimensions, np.float32)
    out[rng.integers(dimensions)] = 1
    return out


def planted(
    rng: np.random.Generator, difference: F32, order: float, distance: float, origin: float
) -> tuple[F32, float]:
    """Two vectors about so far apart, near a point so far from the origin, and how far apart they are as float32."""
    scale = distance / float((np.abs(difference.astype(np.float64)) ** order).sum() ** (1 / order))
    x = (rng.normal(size=len(difference)) + origin / math.sqrt(len(difference))).astype(np.float32)
    pair = np.stack([x, x + np.float32(scale) * difference])
    apart = np.abs(pair[0].astype(np.float64) - pair[1])
    return pair, float((apart**order).sum() ** (1 / order))


def assert_binomial(agreed: int, trials: int, p: float) -> None:
    """Within 4.5 standard deviations, which chance leaves once in 150,000 tests."""
    assert abs(agreed - trials * p) <= 4.5 * math.sqrt(trials * p * (1 - p))


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0])
@pytest.mark.parametrize(("kind", "dimensions"), [(spread, 2), (spread, 20), (spike, 1), (spike, 20)])
@pytest.mark.parametrize("distance", [0.5, 2.0, 6.0])
def test_slots_and_bands_agree_as_often_as_the_distance_says(
    order: float, kind: object, dimensions: int, distance: float
) -> None:
    """A slot is a direction of its own, so the slots of a pair are independent, and their agreements binomial."""
    width, slots, rows, seeds = 3.0, 4000, 4, 10
    agreed = met = 0
    expected, bands = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        pair, apart = planted(rng, kind(rng, dimensions), order, distance, 0.0)  # type: ignore[operator]
        found = stable_slots(pair, slots, width, order, seed)
        keys = band_keys(found, slots // rows, rows)
        agreed += int((found[0] == found[1]).sum())
        met += int((keys[0] == keys[1]).sum())
        expected.append(Stable(order, width)(apart))
        bands.append(expected[-1] ** rows)
    assert_binomial(agreed, seeds * slots, float(np.mean(expected)))
    assert_binomial(met, seeds * slots // rows, float(np.mean(bands)))


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("origin", [1e3, 1e6])
def test_vectors_far_from_the_origin_agree_as_often_as_those_near_it(order: float, origin: float) -> None:
    """At 10⁶ widths a float32 is known to a sixteenth: the distance is that of the float32 numbers."""
    agreed, expected, slots = 0, [], 4000
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pair, apart = planted(rng, spread(rng, 16), order, 0.5, origin)
        found = stable_slots(pair, slots, 1.0, order, seed)
        agreed += int((found[0] == found[1]).sum())
        expected.append(Stable(order, 1.0)(apart))
    assert 0.1 < np.mean(expected) < 0.9
    assert_binomial(agreed, 5 * slots, float(np.mean(expected)))
