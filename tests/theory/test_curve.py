"""The S-curve: its shape, its exactness in the tails, its areas, and the variant whose draws overlap."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import OptionError
from lookalike.theory import (
    FAMILIES,
    band_probability,
    candidate_probability,
    drawn_probability,
    expected_recall,
    false_negatives,
    false_positives,
    missed_probability,
    slot_probability,
    steepest,
)

SHARES = st.floats(0.0, 1.0)
COUNTS = st.integers(1, 200)
MEASURES = st.sampled_from(sorted(FAMILIES))

# Powers, log1p and expm1 are each good to a few units in the last place, and b <= 200 multiplies that.
ROUNDING = 1e-12


@given(pair=st.tuples(SHARES, SHARES), bands=COUNTS, rows=COUNTS, measure=MEASURES)
def test_the_curve_rises_with_the_similarity(pair: tuple[float, float], bands: int, rows: int, measure: str) -> None:
    low, high = sorted(pair)
    risen = candidate_probability(high, bands, rows, measure)
    assert candidate_probability(low, bands, rows, measure) <= risen + ROUNDING


@given(s=SHARES, bands=COUNTS, rows=COUNTS, measure=MEASURES)
def test_one_more_band_never_finds_less(s: float, bands: int, rows: int, measure: str) -> None:
    more = candidate_probability(s, bands + 1, rows, measure)
    assert more >= candidate_probability(s, bands, rows, measure) - ROUNDING


@given(s=SHARES, bands=COUNTS, rows=COUNTS, measure=MEASURES)
def test_one_more_row_never_finds_more(s: float, bands: int, rows: int, measure: str) -> None:
    longer = candidate_probability(s, bands, rows + 1, measure)
    assert longer <= candidate_probability(s, bands, rows, measure) + ROUNDING


@given(s=SHARES, bands=COUNTS, rows=COUNTS, measure=MEASURES)
def test_found_and_missed_make_one_and_stay_within_zero_and_one(s: float, bands: int, rows: int, measure: str) -> None:
    found = candidate_probability(s, bands, rows, measure)
    missed = missed_probability(s, bands, rows, measure)
    assert 0.0 <= found <= 1.0
    assert 0.0 <= missed <= 1.0
    assert found + missed == pytest.approx(1.0, abs=ROUNDING)


@given(s=st.fractions(0, 1, max_denominator=50), bands=st.integers(1, 12), rows=st.integers(1, 12))
def test_the_curve_equals_exact_rational_arithmetic(s: Fraction, bands: int, rows: int) -> None:
    exact = 1 - (1 - s**rows) ** bands
    assert candidate_probability(float(s), bands, rows) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_the_smallest_probabilities_are_not_rounded_away() -> None:
    # 1 - (1 - 1e-20)^10 is 1e-19, where 1 - 1e-20 alone is 1.0 in a double.
    assert candidate_probability(0.01, 10, 10) == pytest.approx(1e-19, rel=1e-12)
    # And (1 - 0.99^2)^50, where 1 - P is 0.
    assert missed_probability(0.99, 50, 2) == pytest.approx(0.0199**50, rel=1e-10)


@pytest.mark.parametrize("measure", sorted(FAMILIES))
def test_an_array_gives_what_its_elements_give(measure: str) -> None:
    s = np.linspace(0.0, 1.0, 41).reshape(1, 41)
    for function in (candidate_probability, missed_probability):
        values = function(s, 20, 5, measure)
        assert values.shape == (1, 41)
        assert values[0].tolist() == pytest.approx([function(float(x), 20, 5, measure) for x in s[0]], rel=1e-13)
    single = candidate_probability(0.5, 20, 5, measure)
    assert type(single) is float


def test_an_identical_pair_is_never_missed_and_a_disjoint_one_never_found() -> None:
    assert candidate_probability(1.0, 1, 4096) == 1.0
    assert missed_probability(1.0, 1, 4096) == 0.0
    assert candidate_probability(0.0, 4096, 1) == 0.0


@given(s=SHARES, rows=COUNTS, measure=MEASURES)
def test_a_band_agrees_when_all_its_slots_do(s: float, rows: int, measure: str) -> None:
    expected = math.prod([slot_probability(measure, s)] * rows)
    assert band_probability(s, rows, measure) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(bands=COUNTS, rows=COUNTS)
def test_at_the_steepest_point_one_band_in_b_is_expected_to_agree(bands: int, rows: int) -> None:
    s = steepest(bands, rows)
    assert bands * band_probability(s, rows) == pytest.approx(1.0, rel=1e-9)
    assert candidate_probability(s, bands, rows) >= 1 - 1 / math.e - 1e-9


def test_the_steepest_point_lies_where_the_slope_is_greatest() -> None:
    # The maximum of P' for b = 20, r = 5 is at ((r-1)/(rb-1))^(1/r) = 0.527; (1/b)^(1/r) = 0.549 stands near.
    s = np.linspace(0.0, 1.0, 100_001)
    slope = np.gradient(candidate_probability(s, 20, 5), s)
    assert s[np.argmax(slope)] == pytest.approx((4 / 99) ** (1 / 5), abs=1e-4)
    assert steepest(20, 5) == pytest.approx(s[np.argmax(slope)], abs=0.03)


# The areas


def exact_area_above(threshold: Fraction, bands: int, rows: int) -> Fraction:
    """Integral of (1 - s^r)^b over [t, 1], term by term of the binomial expansion."""
    return sum(
        (
            Fraction((-1) ** j * math.comb(bands, j), rows * j + 1) * (1 - threshold ** (rows * j + 1))
            for j in range(bands + 1)
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (20, 5), (10, 6), (16, 6), (50, 2), (3, 40)])
@pytest.mark.parametrize("threshold", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_both_areas_equal_the_exact_integrals(bands: int, rows: int, threshold: Fraction) -> None:
    negative = exact_area_above(threshold, bands, rows)
    positive = threshold - (exact_area_above(Fraction(0), bands, rows) - negative)
    t = float(threshold)
    assert false_negatives(t, bands, rows) == pytest.approx(float(negative), abs=1e-9)
    assert false_positives(t, bands, rows) == pytest.approx(float(positive), abs=1e-9)
    assert false_positives(t, bands, rows, "hamming") == false_positives(t, bands, rows)


@pytest.mark.parametrize(("bands", "rows"), [(1, 4096), (4096, 1), (64, 64), (1024, 4), (4, 1024)])
def test_the_whole_area_equals_the_beta_function_also_for_long_sketches(bands: int, rows: int) -> None:
    # Integral of (1 - s^r)^b over [0, 1] = B(1/r, b + 1)/r.
    log_beta = math.lgamma(1 / rows) + math.lgamma(bands + 1) - math.lgamma(1 / rows + bands + 1)
    assert false_positives(1.0, bands, rows) == pytest.approx(1 - math.exp(log_beta) / rows, abs=1e-9)


@pytest.mark.parametrize("threshold", [0.2, 0.9, 1.0])
def test_the_area_under_one_projection_equals_its_integral_by_hand(threshold: float) -> None:
    # The antiderivative of arccos(s) is s·arccos(s) - sqrt(1 - s²).
    t = threshold
    by_hand = t - (t * math.acos(t) - math.sqrt(1 - t * t) + 1) / math.pi
    assert false_positives(t, 1, 1, "cosine") == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize(("bands", "rows"), [(20, 64), (137, 22), (1, 4096)])
@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.999])
def test_the_areas_for_cosine_equal_a_plain_sum_over_the_angle(bands: int, rows: int, threshold: float) -> None:
    # s = cos(a), ds = sin(a) da; the midpoint rule on 400,000 angles errs by about (pi/2/400,000)² times
    # the second derivative, which for 4,096 rows is at most about 1e6: 1e-5 of an area of 1e-6.
    def area(low: float, high: float, missed: bool) -> float:
        edges = np.linspace(math.acos(high), math.acos(low), 400_001)
        angle = (edges[1:] + edges[:-1]) / 2
        f = missed_probability if missed else candidate_probability
        values = f(np.cos(angle), bands, rows, "cosine") * np.sin(angle)
        return float(np.sum(values) * (edges[1] - edges[0]))

    negative, positive = area(threshold, 1.0, True), area(0.0, threshold, False)
    assert false_negatives(threshold, bands, rows, "cosine") == pytest.approx(negative, abs=1e-8)
    assert false_positives(threshold, bands, rows, "cosine") == pytest.approx(positive, abs=1e-8)


# Draws that overlap


@pytest.mark.parametrize(("slots", "rows", "draws"), [(4, 2, 3), (6, 3, 2), (5, 5, 4), (6, 1, 4)])
@pytest.mark.parametrize("s", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_drawn_slots_agree_as_counted_over_all_outcomes(slots: int, rows: int, draws: int, s: float) -> None:
    subsets = list(itertools.combinations(range(slots), rows))
    found = 0.0
    for outcome in itertools.product((0, 1), repeat=slots):
        chance = s ** sum(outcome) * (1 - s) ** (slots - sum(outcome))
        agreeing = sum(all(outcome[i] for i in subset) for subset in subsets)
        found += chance * (1 - (1 - agreeing / len(subsets)) ** draws)
    assert drawn_probability(s, slots, rows, draws) == pytest.approx(found, abs=1e-12)


def test_drawn_slots_agree_as_often_as_in_a_simulation() -> None:
    # Seed 11, 40,000 independent pairs; each is a Bernoulli trial, so five standard deviations are passed by
    # chance once in 1.7 million seeds.
    slots, rows, draws, s, trials = 12, 3, 5, 0.6, 40_000
    rng = np.random.default_rng(11)
    agree = rng.random((trials, slots)) < s
    found = np.zeros(trials, dtype=bool)
    for _ in range(draws):
        drawn = np.argsort(rng.random((trials, slots)), axis=1)[:, :rows]
        found |= np.take_along_axis(agree, drawn, axis=1).all(axis=1)
    p = drawn_probability(s, slots, rows, draws)
    assert abs(float(np.mean(found)) - p) <= 5 * math.sqrt(p * (1 - p) / trials)
    # The overlap is seen: the independent formula lies outside the same tolerance.
    assert abs(float(np.mean(found)) - candidate_probability(s, draws, rows)) > 5 * math.sqrt(p * (1 - p) / trials)


@pytest.mark.parametrize("s", [0.3, 0.6, 0.8])
def test_drawn_slots_approach_independent_bands_as_the_sketch_grows(s: float) -> None:
    independent = candidate_probability(s, 10, 6)
    gaps = [independent - drawn_probability(s, slots, 6, 10) for slots in (20, 60, 200, 2000, 20_000)]
    assert all(near < far for far, near in itertools.pairwise(gaps))
    # The gap is a variance term, so it falls as 1/M: from 2,000 to 20,000 slots by about ten.
    assert gaps[-1] == pytest.approx(gaps[-2] / 10, rel=0.05)
    assert 0 < gaps[-1] < 1e-3


@given(s=SHARES, slots=st.integers(5, 60), rows=st.integers(1, 5), draws=st.integers(1, 30))
def test_overlap_never_helps(s: float, slots: int, rows: int, draws: int) -> None:
    # By Jensen's inequality: the mean of (1 - q)^n is at least (1 - mean q)^n.
    overlapping = drawn_probability(s, slots, rows, draws)
    assert 0.0 <= overlapping <= candidate_probability(s, draws, rows) + 1e-9


def test_a_single_draw_is_a_single_band() -> None:
    s = np.linspace(0.0, 1.0, 21)
    drawn = drawn_probability(s, 40, 6, 1)
    assert drawn.tolist() == pytest.approx(band_probability(s, 6).tolist(), abs=1e-12)
    cosine = drawn_probability(s, 40, 6, 1, "cosine")
    assert cosine.tolist() == pytest.approx(band_probability(s, 6, "cosine").tolist(), abs=1e-12)


def test_more_rows_than_slots_can_not_be_drawn() -> None:
    with pytest.raises(OptionError, match="rows=7: at most slots=6"):
        drawn_probability(0.5, 6, 7, 1)


# Expected recall


def test_expected_recall_is_the_mean_of_the_curve_with_its_binomial_error() -> None:
    mean, error = expected_recall([0.5, 0.8], 20, 5)
    low, high = candidate_probability(0.5, 20, 5), candidate_probability(0.8, 20, 5)
    assert mean == pytest.approx((low + high) / 2)
    assert error == pytest.approx(math.sqrt(low * (1 - low) + high * (1 - high)) / 2)


def test_expected_recall_falls_within_its_own_error_in_a_simulation() -> None:
    # Seed 3, 50,000 independent pairs of similarities between 0.5 and 1.
    rng = np.random.default_rng(3)
    similarities = rng.uniform(0.5, 1.0, 50_000)
    mean, error = expected_recall(similarities, 10, 6)
    found = rng.random(50_000) < candidate_probability(similarities, 10, 6)
    assert abs(float(np.mean(found)) - mean) <= 5 * error


def test_expected_recall_of_no_pairs_is_refused() -> None:
    with pytest.raises(OptionError, match="similarities is empty"):
        expected_recall([], 20, 5)


@pytest.mark.parametrize(
    ("bands", "rows", "message"),
    [
        (0, 5, "bands=0: a whole number of at least 1"),
        (20, -1, "rows=-1: a whole number of at least 1"),
        (2.5, 5, "bands=2.5: a whole number of at least 1"),
        (True, 5, "bands=True: a whole number of at least 1"),
    ],
)
def test_bands_and_rows_that_are_no_counts_are_refused(bands: int, rows: int, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        candidate_probability(0.5, bands, rows)


def test_numpy_integers_are_counts() -> None:
    assert candidate_probability(0.8, int(np.int64(20)), 5) == candidate_probability(0.8, np.int64(20), 5)  # type: ignore[arg-type]
