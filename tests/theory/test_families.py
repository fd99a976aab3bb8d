"""The chance that one slot agrees: endpoints, known angles, and a simulation of random projections."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import OptionError
from lookalike.theory import FAMILIES, Stable, candidate_probability, slot_probability
from lookalike.theory.families import _missed

pytestmark = pytest.mark.no_cover

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
    with pytest.raises(
        OptionError, match="measure is 'dice': it must be one of jaccard, weighted-jaccard, containment"
    ):
        slot_probability("dice", 0.5)
    with pytest.raises(OptionError, match="one of cosine, hamming, jaccard, weighted-jaccard is needed"):
        slot_probability("containment", 0.5)


DENSITIES: dict[str, Callable[[float], float]] = {
    "euclidean": lambda t: math.sqrt(2 / math.pi) * math.exp(-t * t / 2),
    "manhattan": lambda t: 2 / math.pi / (1 + t * t),
}


@pytest.mark.parametrize("measure", sorted(DENSITIES))
@pytest.mark.parametrize("u", [0.01, 0.3, 1.0, 4.0, 20.0, 300.0])
def test_the_closed_form_of_a_stable_projection_is_its_integral(measure: str, u: float) -> None:
    density = DENSITIES[measure]
    # Simpson's rule in x, t = e^x - 1, where the density of both is smooth; 20,000 steps leave no error above 1e-9.
    steps, top = 20_000, math.log1p(u)
    total = 0.0
    for i in range(steps + 1):
        t = math.expm1(top * i / steps)
        total += (1 if i in (0, steps) else 4 if i % 2 else 2) * density(t) * (1 - t / u) * (t + 1)
    assert Stable.named(measure, u)(1.0) == pytest.approx(total * top / steps / 3, abs=1e-9)


@pytest.mark.parametrize("measure", sorted(DENSITIES))
@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0, 6.0])
def test_real_projections_agree_as_often_as_the_integral_says(measure: str, distance: float) -> None:
    rng, draws, width, dimensions = np.random.default_rng(7), 200_000, 3.0, 5
    order = 2 if measure == "euclidean" else 1
    step = rng.normal(size=dimensions)
    step *= distance / np.linalg.norm(step, order)
    x = rng.normal(size=dimensions)
    a = rng.normal(size=(draws, dimensions)) if order == 2 else rng.standard_cauchy((draws, dimensions))
    b = rng.uniform(0, width, draws)
    agree = np.floor((a @ x + b) / width) == np.floor((a @ (x + step) + b) / width)
    p = Stable.named(measure, width)(distance)
    # 4.5 standard deviations of a binomial share: one wrong alarm in 150,000 tests.
    assert agree.mean() == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / draws))


@pytest.mark.parametrize("measure", sorted(DENSITIES))
def test_a_stable_projection_falls_with_the_distance_and_depends_on_its_ratio_to_the_width(measure: str) -> None:
    distances = np.concatenate([[0.0], np.logspace(-9, 9, 200)])
    p = Stable.named(measure, 2.0)(distances)
    assert p[0] == 1.0
    assert (np.diff(p) <= 1e-15).all()
    assert p[-1] < 1e-8
    assert Stable.named(measure, 2.0)(3.0) == pytest.approx(Stable.named(measure, 20.0)(30.0), rel=1e-14)
    assert isinstance(Stable.named(measure, 2.0)(3.0), float)
    assert candidate_probability(3.0, 8, 4, Stable.named(measure, 6.0)) == pytest.approx(
        1 - (1 - slot_probability(Stable.named(measure, 6.0), 3.0) ** 4) ** 8, rel=1e-12
    )


def test_the_worked_example_of_stable_projections() -> None:
    assert Stable.named("euclidean", 4.0)(1.0) == pytest.approx(0.80, abs=0.005)
    assert Stable.named("manhattan", 4.0)(1.0) == pytest.approx(0.62, abs=0.005)


def test_a_stable_projection_needs_a_width_and_a_known_measure() -> None:
    with pytest.raises(OptionError, match="width=0"):
        Stable.named("euclidean", 0)
    with pytest.raises(OptionError, match="euclidean, manhattan"):
        Stable.named("cosine", 1.0)
    with pytest.raises(OptionError, match="it has a width"):
        slot_probability("euclidean", 1.0)
    for order in (0.5, 2.1, math.nan):
        with pytest.raises(OptionError, match=r"order=.*: a number from 1 to 2 is needed"):
            Stable(order, 1.0)


BETWEEN = [1.0001, 1.1, 1.5, 1.8, 1.999]


@pytest.mark.parametrize("order", BETWEEN)
@pytest.mark.parametrize("u", [1e-4, 0.01, 0.3, 1.0, 4.0, 20.0])
def test_between_the_ends_a_stable_projection_is_its_fourier_integral(order: float, u: float) -> None:
    """(1/π)·∫ exp(-t^order/order)·u·(sin(ut/2)/(ut/2))² dt over t > 0, by the substitution t = z⁴.

    The integrand then has six derivatives at 0, and is below 1e-17 from t = (40·order)^(1/order) on. Simpson's rule
    with 50,000 steps: its error falls with the fourth power of the step, and 400,000 give the same to 1e-15.
    """
    z = np.linspace(0.0, (40.0 * order) ** (0.25 / order), 50_001)
    t = z**4
    values = np.exp(-(t**order) / order) * u * np.sinc(u * t / (2 * math.pi)) ** 2 * 4 * z**3
    total = values[0] + values[-1] + 4 * values[1::2].sum() + 2 * values[2:-1:2].sum()
    assert Stable(order, u)(1.0) == pytest.approx(total * z[1] / 3 / math.pi, abs=1e-10)


@pytest.mark.parametrize(("order", "measure"), [(1.0, "manhattan"), (2.0, "euclidean")])
def test_the_quadrature_has_both_closed_forms_at_its_ends(order: float, measure: str) -> None:
    u = np.logspace(-3, 11, 300)
    assert 1.0 - _missed(order, u) == pytest.approx(Stable.named(measure, 1.0)(1.0 / u), abs=1e-12)
    # Orders a trifle inside differ from the end by no more than the trifle times the logarithms that it meets.
    inside = order + (1e-9 if order == 1.0 else -1e-9)
    assert Stable(inside, 1.0)(1.0 / u) == pytest.approx(Stable.named(measure, 1.0)(1.0 / u), abs=1e-8)


@pytest.mark.parametrize("order", BETWEEN)
def test_the_table_is_the_quadrature_everywhere(order: float) -> None:
    u = np.exp(np.random.default_rng(1).uniform(math.log(1e-3), math.log(1e12), 2000))
    assert Stable(order, 1.0)(1.0 / u) == pytest.approx(1.0 - _missed(order, u), abs=1e-12)


@pytest.mark.parametrize("order", BETWEEN)
@pytest.mark.parametrize("distance", [0.5, 2.0, 6.0])
def test_real_projections_between_the_ends_agree_as_often_as_the_integral_says(order: float, distance: float) -> None:
    rng, draws, width, dimensions = np.random.default_rng(7), 100_000, 3.0, 5
    step = rng.normal(size=dimensions)
    step *= distance / (abs(step) ** order).sum() ** (1 / order)
    # Chambers, Mallows and Stuck, with the scale at which exp(-|t|^order/order) is the characteristic function.
    angle, wait = rng.uniform(-math.pi / 2, math.pi / 2, (draws, dimensions)), rng.exponential(size=(draws, dimensions))
    a = np.sin(order * angle) / (order * np.cos(angle)) ** (1 / order)
    a *= (np.cos((order - 1) * angle) / wait) ** ((1 - order) / order)
    x, b = rng.normal(size=dimensions), rng.uniform(0, width, draws)
    agree = np.floor((a @ x + b) / width) == np.floor((a @ (x + step) + b) / width)
    p = Stable(order, width)(distance)
    assert agree.mean() == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / draws))


@pytest.mark.parametrize("order", BETWEEN)
def test_between_the_ends_p_falls_with_the_distance_from_one_to_nothing(order: float) -> None:
    p = Stable(order, 2.0)(np.concatenate([[0.0], np.logspace(-12, 12, 2000)]))
    assert p[0] == 1.0
    assert (np.diff(p) <= 0.0).all()
    assert 0.0 < p[-1] < 1e-11
    single = Stable(order, 2.0)(3.0)
    assert isinstance(single, float) and single == Stable(order, 2.0)(np.array([3.0, 4.0]))[0]
