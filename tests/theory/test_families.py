"""The chance that one slot agrees: endpoints, known angles, and a simulation of random projections."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import OptionError
from lookalike.theory import FAMILIES, slot_probability

SHARES = st.floats(0.0, 1.0)


@pytest.mark.parametrize("degrees", [0, 30, 45, 60, 90, 120, 180])
def test_cosine_gives_the_share_of_planes_that_do_not_pass_between_the_vectors(degrees: int) -> None:
    s = math.cos(math.radians(degrees))
    assert slot_probability("cosine", s) == pytest.approx(1 - degrees / 180, abs=1e-12)


@pytest.mark.parametrize("measure", ["jaccard", "hamming"])
@given(s=SHARES)
def test_jaccard_and_hamming_agree_with_the_similarity_itself(measure: str, s: float) -> None:
    assert slot_probability(measure, s) == s


@pytest.mark.parametrize("measure", sorted(FAMILIES))
def test_identical_items_always_agree(measure: str) -> None:
    assert slot_probability(measure, 1.0) == 1.0


@pytest.mark.parametrize("measure", sorted(FAMILIES))
@given(pair=st.tuples(SHARES, SHARES))
def test_every_family_rises_with_the_similarity(measure: str, pair: tuple[float, float]) -> None:
    low, high = sorted(pair)
    assert slot_probability(measure, low) <= slot_probability(measure, high)


@pytest.mark.parametrize("measure", sorted(FAMILIES))
def test_an_array_gives_an_array_and_a_float_a_float_with_the_same_values(measure: str) -> None:
    s = np.linspace(0.0, 1.0, 101)
    values = slot_probability(measure, s)
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float64
    single = [slot_probability(measure, float(x)) for x in s]
    assert all(type(value) is float for value in single)
    assert values.tolist() == single


def test_a_cosine_that_rounding_pushed_past_one_still_agrees() -> None:
    assert slot_probability("cosine", 1.0 + 2.3e-16) == 1.0
    assert slot_probability("cosine", np.array([1.0000001, -1.0000001])).tolist() == [1.0, 0.0]


def test_random_projections_agree_at_the_stated_rate() -> None:
    # Two unit vectors at cosine 0.8, 200,000 Gaussian directions, seed 7. Each direction is a Bernoulli
    # trial, so the share deviates by at most five standard deviations but once in 1.7 million seeds.
    trials, s = 200_000, 0.8
    directions = np.random.default_rng(7).standard_normal((trials, 2))
    u, v = np.array([1.0, 0.0]), np.array([s, math.sqrt(1 - s * s)])
    share = float(np.mean((directions @ u >= 0) == (directions @ v >= 0)))
    p = slot_probability("cosine", s)
    assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / trials)


def test_an_unknown_measure_is_refused_with_the_names_that_are_allowed() -> None:
    with pytest.raises(OptionError, match=r"measure='dice': one of cosine, hamming, jaccard is needed"):
        slot_probability("dice", 0.5)
