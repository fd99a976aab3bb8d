"""The S-curve, shown by the system itself: planted pairs go through the real pipeline and collide at the stated rate.

The tolerance is the exact binomial tail. Elements of different pairs are different, so given the hash functions the
pairs are independent trials; a rate is refused when its tail, on either side, is below 1e-6. With about 60 such checks
in this file a right implementation fails with probability below 1e-4 over all seeds (and the seeds are fixed), while a
rate that is off by five standard errors is caught: with 4,000 trials that is 0.04 at a rate of 0.5. Both sides count:
a plan that finds more than it should is wrong too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import lookalike
from lookalike.theory import candidate_probability
from tests.planted import binomial_tails, planted_pairs

pytestmark = pytest.mark.no_cover

TAIL = 1e-6
TRIALS = 4000


def found_among_planted(similarity: Fraction, trials: int = TRIALS, **options: Any) -> int:
    """How many planted pairs of this similarity become candidates; anything else that does is an error."""
    sets = planted_pairs(similarity, trials)
    result = lookalike.pairs(sets, verify="none", **options)
    a = result.table.column("a").to_numpy()
    b = result.table.column("b").to_numpy()
    assert (a // 2 == b // 2).all(), "unrelated sets became candidates"
    return len(result)


def check_rate(hits: int, trials: int, expected: float) -> None:
    below, above = binomial_tails(hits, trials, expected)
    assert below > TAIL, f"{hits} of {trials} found, too few for a rate of {expected:.5f}"
    assert above > TAIL, f"{hits} of {trials} found, too many for a rate of {expected:.5f}"


@pytest.mark.parametrize("tenth", range(2, 9))
def test_twenty_bands_of_five_collide_as_the_course_says(tenth: int) -> None:
    printed = {2: 0.006, 3: 0.047, 4: 0.186, 5: 0.470, 6: 0.802, 7: 0.975, 8: 0.9996}[tenth]
    expected = candidate_probability(tenth / 10, 20, 5)
    assert abs(expected - printed) < 0.001
    check_rate(found_among_planted(Fraction(tenth, 10), bands=20, rows=5), TRIALS, expected)


@pytest.mark.parametrize("tenth", range(2, 10))
def test_ten_sets_of_six_collide_as_the_course_says(tenth: int) -> None:
    printed = {2: 0.0006, 3: 0.0073, 4: 0.040, 5: 0.146, 6: 0.380, 7: 0.714, 8: 0.952, 9: 0.999}[tenth]
    expected = candidate_probability(tenth / 10, 10, 6)
    assert abs(expected - printed) < 0.001
    check_rate(found_among_planted(Fraction(tenth, 10), bands=10, rows=6, seed=1), TRIALS, expected)


def test_one_band_of_five_collides_at_a_third_at_eight_tenths() -> None:
    check_rate(found_among_planted(Fraction(8, 10), bands=1, rows=5), TRIALS, 0.8**5)
    check_rate(found_among_planted(Fraction(3, 10), bands=1, rows=5, trials=20_000), 20_000, 0.3**5)


def test_fifteen_bands_or_rows_of_ten_trade_false_positives_for_false_negatives() -> None:
    low, high = Fraction(4, 10), Fraction(7, 10)
    base = {s: found_among_planted(s, bands=20, rows=5) for s in (low, high)}
    for bands, rows in ((15, 5), (10, 10)):
        other = {s: found_among_planted(s, bands=bands, rows=rows) for s in (low, high)}
        assert other[low] < base[low]
        assert other[high] < base[high]


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
def test_the_planned_curve_is_met_from_both_sides(
    threshold: float, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bins of similarity from 0.3 to 1 against the plan that the threshold asks for."""
    plan = lookalike.plan(threshold, 0.99)
    rejected, candidates = 0, 0
    for tenth in range(3, 11):
        s = Fraction(tenth, 10)
        hits = found_among_planted(s, trials=1500, threshold=threshold, seed=seed)
        check_rate(hits, 1500, plan.probability(float(s)) if tenth < 10 else 1.0)
        candidates += hits
        rejected += hits if s < Fraction(str(threshold)) else 0
    with capsys.disabled():
        print(  # noqa: T201
            f"\nthreshold {threshold}, seed {seed}: b = {plan.bands}, r = {plan.rows}, "
            f"{rejected:,} of {candidates:,} candidates ({rejected / candidates:.1%}) were not pairs"
        )


@pytest.mark.parametrize(("threshold", "recall"), [(0.5, 0.9), (0.8, 0.99), (0.9, 0.999), (0.7, 0.95)])
def test_the_recall_that_was_asked_for_is_measured_at_the_threshold(threshold: float, recall: float) -> None:
    plan = lookalike.plan(threshold, recall)
    sets = planted_pairs(Fraction(str(threshold)), 6000)
    result = lookalike.pairs(sets, threshold=threshold, recall=recall, seed=3)
    assert all(similarity >= threshold for _, _, similarity in result)
    assert plan.expected_recall >= recall
    check_rate(len(result), 6000, plan.expected_recall)
