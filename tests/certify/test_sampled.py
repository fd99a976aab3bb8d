"""What a sample of items tells about pairs: clusters of them, of which some are missed."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.certify import intervals
from lookalike.certify.intervals import clopper_pearson
from lookalike.certify.sampled import SampledPairs

pytestmark = pytest.mark.no_cover


def pairs_of(totals: list[int], missed: list[int], rate: float = 0.0) -> SampledPairs:
    return SampledPairs(np.array(totals, float), np.array(missed, float), rate)


def test_pairs_belong_to_the_items_they_were_sampled_with() -> None:
    owners = np.array([7, 3, 7, 7, 9])
    sample = SampledPairs.of(owners, np.array([True, False, False, True, False]), 0.5)
    assert sample.totals.tolist() == [1, 3, 1]
    assert sample.missed.tolist() == [0, 2, 0]
    assert sample.share == 0.4


def test_an_item_that_is_full_stands_for_all_that_is_known_of_it() -> None:
    """4 pairs are here, 1 of them missed; 10 are known, so 6 more were found, and 2 missed beside them."""
    owners, missed = np.array([5, 5, 5, 5, 6]), np.array([True, False, False, False, False])
    sample = SampledPairs.of(owners, missed, 0.5, {5: 10.0})
    assert sample.totals == pytest.approx([12.0, 1.0])
    assert sample.missed == pytest.approx([3.0, 0.0])


def test_without_pairs_nothing_is_known() -> None:
    empty = pairs_of([], [])
    assert empty.share is None
    assert empty.limits(0.95) == (0.0, 1.0)
    assert empty.hidden(0.0, 0.95) == 1.0


def test_a_sample_of_everything_leaves_no_doubt() -> None:
    assert pairs_of([3, 2], [1, 0], rate=1.0).limits(0.95) == (0.2, 0.2)


def test_where_nothing_was_missed_the_upper_limit_is_that_of_as_many_independent_items() -> None:
    """300 items of two pairs each, all or none of which are missed: 300 trials, all of the tail on one side."""
    low, high = pairs_of([2] * 300, [0] * 300).limits(0.95)
    assert low == 0.0
    assert high == pytest.approx(clopper_pearson(0, 300, 0.9)[1], rel=1e-9)
    assert high == pytest.approx(1.0 - 0.05 ** (1 / 300), rel=1e-9)


@pytest.mark.parametrize("together", [1, 20])
def test_the_interval_holds_the_share_however_pairs_hang_together(together: int) -> None:
    """2,000 items of `together` pairs, each item missed altogether with a chance of 5%; 400 samples of a tenth.

    Held in 95% of them or more; 400 trials at 95% give 380 ± 4.4, so 360 is 4.6 standard deviations below.
    """
    rng = np.random.default_rng(together)
    held = 0
    for _ in range(400):
        missed = rng.random(2000) < 0.05
        chosen = rng.random(2000) < 0.1
        sample = pairs_of([together] * int(chosen.sum()), (together * missed[chosen]).tolist(), rate=0.1)
        low, high = sample.limits(0.95)
        held += low <= missed.mean() <= high
    assert held >= 360


def test_more_pairs_leave_less_hidden() -> None:
    hidden = [pairs_of([1] * n, [0] * n).hidden(0.001, 0.998) for n in (50, 500, 5000)]
    assert 0.1 > hidden[0] * 0.5 > hidden[1] > hidden[2] > 0.001


def test_what_is_said_to_show_does_show() -> None:
    """A loss of the share that `hidden` tells brings the lower limit above the usual one in 90 of 100 samples.

    1,000 trials at 90% give 900 ± 9.5; a count is a whole number, so a little more is usual.
    """
    n, usual = 500, 0.001
    hidden = pairs_of([1] * n, [0] * n).hidden(usual, 0.998)
    rng = np.random.default_rng(3)
    shown = sum(clopper_pearson(int(rng.binomial(n, hidden)), n, 0.998)[0] > usual for _ in range(1000))
    assert 850 <= shown <= 960


@pytest.mark.parametrize("usual", [0.0, 0.01])
def test_what_could_be_hidden_is_told_by_a_few_tails(usual: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two searches of 40 steps each, a tail a step from either side; limits of numbers near 0 took 70,000 of them."""
    made: list[float] = []
    shares = intervals._beta_shares

    def counted(*arguments: float) -> tuple[float, float]:
        made.append(arguments[0])
        return shares(*arguments)

    monkeypatch.setattr(intervals, "_beta_shares", counted)
    assert 0.0 < pairs_of([8] * 9, [0] * 9).hidden(usual, 0.998) < 1.0
    assert len(made) <= 4 * 80
