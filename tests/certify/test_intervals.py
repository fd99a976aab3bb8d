"""Tails against exact sums and closed forms, intervals against their definition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lookalike.certify.intervals import (
    binomial_tails,
    clopper_pearson,
    normal_quantile,
    poisson_at_least,
    poisson_at_most,
    poisson_tails,
    t_quantile,
    t_tail,
)
from tests.reference import certify

some = settings(max_examples=100, deadline=None, derandomize=True)

# Tails are compared by their ratio, so that small ones count as much as large ones.
CLOSE = 1e-10

shares = st.floats(1e-6, 1.0 - 1e-6)


@some
@given(trials=st.integers(1, 300), count=st.integers(0, 300), p=shares)
def test_binomial_tails_are_the_exact_sums(trials: int, count: int, p: float) -> None:
    assume(count <= trials)
    for tail, exact in zip(
        binomial_tails(count, trials, p), certify.binomial_tails(count, trials, Fraction(p)), strict=True
    ):
        assert tail == pytest.approx(float(exact), rel=CLOSE, abs=1e-280)


@some
@given(count=st.integers(0, 300), mean=st.floats(1e-6, 300.0))
def test_poisson_tails_are_the_exact_sums(count: int, mean: float) -> None:
    for tail, exact in zip(poisson_tails(count, mean), certify.poisson_tails(count, mean), strict=True):
        # Sixty digits are what the exact sum of the tail above has left of its difference from 1.
        assert tail == pytest.approx(float(exact), rel=CLOSE, abs=1e-45)


@pytest.mark.parametrize("count", [1400, 1500, 1600])
def test_large_counts_are_as_exact_as_small_ones(count: int) -> None:
    """Here the quadrature takes over from the continued fractions."""
    exact = certify.poisson_tails(count, 1500.0)
    assert poisson_tails(count, 1500.0) == pytest.approx([float(tail) for tail in exact], rel=CLOSE)
    shares = certify.binomial_tails(count, 3000, Fraction(1, 2))
    assert binomial_tails(count, 3000, 0.5) == pytest.approx([float(tail) for tail in shares], rel=CLOSE)


def test_a_billion_trials_are_near_the_normal_law() -> None:
    """At 1e9 trials the skewness of an even coin is 0, and the half step that a tail holds more is 1.3e-5 of it."""
    deviation = math.sqrt(1e9) / 2.0
    for z in (-5.0, -1.0, 0.0, 2.0, 5.0):
        below, above = binomial_tails(5e8 + z * deviation, 1e9, 0.5)
        half = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) * 0.5 / deviation
        assert below - half == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2.0)), rel=1e-6)
        assert above - half == pytest.approx(0.5 * math.erfc(z / math.sqrt(2.0)), rel=1e-6)


def test_tails_of_few_among_very_many_are_those_of_a_poisson_count() -> None:
    """Le Cam: they differ by at most n·p² = 2.5e-8."""
    assert binomial_tails(7, 1e9, 5e-9) == pytest.approx(poisson_tails(7, 5.0), abs=2.5e-8)
    assert binomial_tails(1e9 - 7, 1e9, 1 - 5e-9) == pytest.approx(poisson_tails(7, 5.0)[::-1], abs=1e-6)


def test_the_normal_quantile_is_known_to_sixteen_digits() -> None:
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, abs=1e-14)
    assert normal_quantile(0.5) == 0.0


@pytest.mark.parametrize("p", [0.5, 0.6, 0.9, 0.975, 0.9995, 1 - 1e-9])
def test_student_s_quantiles_have_closed_forms_for_one_two_and_four_degrees(p: float) -> None:
    one = 1.0 / math.tan(math.pi * (1.0 - p))
    assert t_quantile(p, 1) == pytest.approx(one, rel=1e-9, abs=1e-12)
    a = 4.0 * p * (1.0 - p)
    assert t_quantile(p, 2) == pytest.approx(2.0 * (p - 0.5) * math.sqrt(2.0 / a), rel=1e-9, abs=1e-12)
    four = 2.0 * math.sqrt(max(0.0, math.cos(math.acos(math.sqrt(a)) / 3.0) / math.sqrt(a) - 1.0))
    assert t_quantile(p, 4) == pytest.approx(four, rel=1e-9, abs=1e-7)


def test_student_s_tails_have_a_closed_form_for_even_degrees() -> None:
    """Pr[T <= t] = 1/2 + x/2 · Σ C(2i, i)/4^i · (1 - x²)^i for i < n/2, x = t / sqrt(n + t²)."""
    for freedom in (2, 4, 10, 14, 30, 100):
        for t in (0.1, 1.0, 2.5, 5.0):
            x = t / math.sqrt(freedom + t * t)
            inner = sum(math.comb(2 * i, i) / 4.0**i * (1.0 - x * x) ** i for i in range(freedom // 2))
            # The closed form is a difference from 1: 1e-15 is what it leaves.
            assert t_tail(t, freedom) == pytest.approx(1.0 - x * inner, rel=1e-9, abs=1e-14)
            assert t_tail(-t, freedom) == t_tail(t, freedom)


def test_student_s_law_becomes_the_normal_one() -> None:
    """The quantile exceeds the normal one by (z³ + z) / (4n) and terms of 1/n²."""
    z = normal_quantile(0.975)
    for freedom in (1e4, 1e6, 1e8, 1e10):
        more = (z**3 + z) / (4.0 * freedom)
        assert t_quantile(0.975, freedom) - z == pytest.approx(more, rel=3.0 / freedom + 1e-5 * freedom / 1e10)
    assert t_quantile(0.975, math.inf) == z
    assert t_quantile(0.025, 7.5) == -t_quantile(0.975, 7.5)
    assert t_tail(math.inf, 3) == 0.0


@some
@given(p=st.floats(0.51, 1 - 1e-7), freedom=st.floats(0.5, 1e6))
def test_quantile_and_tail_undo_each_other(p: float, freedom: float) -> None:
    assert t_tail(t_quantile(p, freedom), freedom) == pytest.approx(2.0 * (1.0 - p), rel=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # With no success (1 - p)^n = 2.5%; with one of two the limits solve p² and its mirror image.
        (0, 10, 0.0, 1.0 - 0.025 ** (1 / 10)),
        (10, 10, 0.025 ** (1 / 10), 1.0),
        (1, 2, 1.0 - math.sqrt(0.975), math.sqrt(0.975)),
        (0, 1000, 0.0, -math.expm1(math.log(0.025) / 1000)),
        (0, 0, 0.0, 1.0),
    ],
)
def test_clopper_pearson_where_it_can_be_written_down(successes: int, trials: int, low: float, high: float) -> None:
    assert clopper_pearson(successes, trials) == pytest.approx((low, high), abs=1e-12)


@some
@given(trials=st.integers(1, 200), count=st.integers(0, 200), level=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_at_the_limits_of_clopper_pearson_the_tails_are_as_said(trials: int, count: int, level: float) -> None:
    assume(count <= trials)
    low, high = clopper_pearson(count, trials, level)
    tail = (1.0 - level) / 2.0
    if count > 0:
        assert float(certify.binomial_tails(count, trials, Fraction(low))[1]) == pytest.approx(tail, rel=1e-9)
    if count < trials:
        assert float(certify.binomial_tails(count, trials, Fraction(high))[0]) == pytest.approx(tail, rel=1e-9)


@some
@given(count=st.just(0.0) | st.floats(1e-3, 50.0), more=st.floats(0.01, 5.0), trials=st.floats(56.0, 1e6))
def test_limits_rise_with_counts_that_are_no_whole_numbers(count: float, more: float, trials: float) -> None:
    less, greater = clopper_pearson(count, trials), clopper_pearson(count + more, trials)
    assert less[0] <= greater[0] <= (count + more) / trials <= greater[1]
    assert less[1] < greater[1]
    assert less[0] <= count / trials <= less[1]


@some
@given(mean=st.floats(1e-9, 1e4), tail=st.sampled_from([0.005, 0.025, 0.05]))
def test_counts_stay_between_the_limits_as_often_as_said(mean: float, tail: float) -> None:
    most, least = poisson_at_most(mean, tail), poisson_at_least(mean, tail)
    assert 0.0 <= least < most
    assert poisson_tails(math.floor(most) + 1, mean)[1] <= tail * (1 + 1e-9)
    assert least == 0.0 or poisson_tails(math.ceil(least) - 1, mean)[0] <= tail * (1 + 1e-9)
    if least > 0.0:
        assert poisson_tails(least, mean)[0] == pytest.approx(tail, rel=1e-8)
    assert poisson_tails(most, mean)[1] == pytest.approx(tail, rel=1e-8)


def test_no_mean_has_no_counts() -> None:
    assert poisson_at_most(0.0, 0.025) == poisson_at_least(0.0, 0.025) == 0.0
