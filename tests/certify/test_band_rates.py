"""The band test and the measured curve on planted pairs: silent on healthy bands, and loud on broken ones."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from lookalike.certify.band_rates import ALARM
from tests.certify.certificates import MADE, SEEDS, Planted, certificate, independent, made, runs, tallied

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("name", MADE)
def test_healthy_bands_raise_no_alarm(name: str) -> None:
    """Two tests at ALARM give 200·2·10⁻⁴ = 0.04 false alarms; correlated pairs were seen to give up to ten times as
    many. Where 0.4 are expected two or more come with probability 0.06, so one is allowed.
    """
    alarms = [sentence for _, result in runs(name) for sentence in result.suspicious]
    assert len(alarms) <= 1, alarms


def test_clusters_vary_far_more_between_bands_than_independent_pairs() -> None:
    """Else the test above shows nothing. The relative variance of 16 numbers, on average over 200 seeds, has the
    standard deviation sqrt(2/15/200).
    """
    plain = np.mean([result.bands.spread for _, result in runs("independent at 0.8")])
    assert plain == pytest.approx(1.0, abs=5.0 * math.sqrt(2 / 15 / SEEDS))
    assert np.mean([result.bands.spread for _, result in runs("clusters at 0.8")]) > 10.0


@pytest.mark.parametrize("name", MADE)
def test_a_dead_band_is_caught(name: str) -> None:
    data = made(name)
    for seed in range(50):
        hits = data.collisions(data.signatures(seed))
        dead = seed % data.bands
        hits[:, dead] = False
        result = certificate(data, hits)
        assert result.bands.odd == [dead], f"seed {seed}"
        assert result.suspicious[0].startswith(f"band {dead + 1} was hit 0 times, expected ")
        assert result.bands.p < ALARM


def test_half_of_the_bands_dead_do_not_hide_each_other() -> None:
    data = made("independent at 0.8")
    for seed in range(10):
        hits = data.collisions(data.signatures(seed))
        hits[:, ::2] = False
        assert certificate(data, hits).bands.odd == list(range(0, 16, 2))


@cache
def many() -> Planted:
    return independent(12_000, 0.8, 16, 6)


def test_a_slot_that_is_constant_is_caught() -> None:
    """Its band collides with s⁵ instead of s⁶: 9% more often. 12,000 pairs hit a band 6,555 ± 50 times, so that is 12
    standard deviations, of which the spread of 15 bands (t of 14 degrees at 10⁻⁴/16) asks for 7.
    """
    data = many()
    for seed in range(50):
        signatures = data.signatures(seed)
        band = seed % data.bands
        signatures[:, band * data.rows + seed % data.rows] = 7
        result = certificate(data, data.collisions(signatures))
        assert result.bands.odd == [band], f"seed {seed}"
        assert result.bands.z[band] > 0.0


def test_a_slot_that_agrees_too_rarely_is_caught() -> None:
    """A bad hash: the slot is one more where the size of the set is a multiple of eight. One pair in eight has one such
    size, and cannot agree: 12% fewer, 14 standard deviations.
    """
    data = many()
    for seed in range(50):
        signatures = data.signatures(seed)
        band = seed % data.bands
        slot = signatures[:, band * data.rows + seed % data.rows]
        slot += (data.sets.sizes % 8 == 0).astype(np.uint32)
        result = certificate(data, data.collisions(signatures))
        assert result.bands.odd == [band], f"seed {seed}"
        assert result.bands.z[band] < 0.0


def test_a_fault_of_all_bands_is_caught_by_their_sum() -> None:
    """One collision in twenty is lost, in every band alike."""
    data = made("independent at 0.8")
    for seed in range(20):
        hits = data.collisions(data.signatures(seed))
        hits &= np.random.default_rng(seed).random(hits.shape) > 0.05
        result = certificate(data, hits)
        assert result.bands.all_p < ALARM
        assert result.bands.odd == []
        assert [sentence.split(" were hit ")[0] for sentence in result.suspicious] == ["all bands together"]


@pytest.mark.parametrize("name", MADE)
def test_measured_points_lie_on_the_curve(name: str) -> None:
    """95% intervals hold the curve in 95 of 100 cases. Bins of one seed are not independent where clusters are, and few
    pairs make them wider than said; of 200 seeds and ten or more bins 92 to 99 of 100 hold it.
    """
    points = [point for _, result in runs(name) for point in result.curve]
    assert 0.92 <= np.mean([point.low <= point.curve <= point.high for point in points]) <= 0.99
    data = made(name)
    for point in points:
        assert point.chance is not None
        assert point.found is not None
        assert point.low <= point.found <= point.high
        assert point.rate <= 1.0
    # A bin mixes similarities 0.02 apart, in which the curve bends little: the mixture lies within 0.01 of it.
    curve = np.array([point.curve for point in points])
    exact = 1.0 - (1.0 - np.array([point.similarity for point in points]) ** data.rows) ** data.bands
    assert np.abs(curve - exact).max() < 0.01


def test_lost_collisions_show_in_the_measured_curve() -> None:
    """Where 5% of the collisions are lost, the curve lies outside most intervals."""
    data = many()
    hits = data.collisions(data.signatures(0))
    hits &= np.random.default_rng(0).random(hits.shape) > 0.05
    points = certificate(data, hits).curve
    assert sum(point.curve > point.high for point in points) >= len(points) / 2


def test_with_one_band_there_is_no_measured_point() -> None:
    result = tallied(np.full(50, 0.85), np.ones((50, 1), np.bool_), np.square).finish()
    (point,) = result.curve
    assert (point.chance, point.found, point.low, point.high) == (None, None, 0.0, 1.0)
    assert point.curve == pytest.approx(0.85**2)
    assert result.bands.p == result.bands.all_p == 1.0
