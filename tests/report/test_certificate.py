"""The certificate of whole runs: what a healthy one says, and which part catches which fault."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lookalike
from lookalike.certify.intervals import clopper_pearson
from lookalike.collide.buckets import Walk
from lookalike.engines.local.parts import Part
from lookalike.errors import CertificateError
from lookalike.report.certificate import _levels
from lookalike.types import I64Array
from tests.planted import planted_pairs

pytestmark = pytest.mark.no_cover

PAIRS = 1500


def planted(similarity: Fraction = Fraction(17, 20)) -> list[set[int]]:
    return planted_pairs(similarity, PAIRS)


def certificate(result: Any) -> dict[str, Any]:
    data: dict[str, Any] = result.report["certificate"]
    return data


def test_a_healthy_run_finds_what_it_says_and_raises_no_alarm() -> None:
    result = lookalike.pairs(planted(), audit=PAIRS // 2)
    said = certificate(result)
    assert said["recall"]["low"] <= len(result) / PAIRS <= said["recall"]["high"]
    assert said["recall"]["basis"] == "estimate and audit"
    assert 0 < said["audit"]["pairs"] < PAIRS
    assert said["audit"]["found"] + result.report["audit_pairs"] == said["audit"]["pairs"]
    assert said["alarms"] == []
    assert said["bands"]["suspicious"] == []
    assert f"found {len(result):,} pairs with Jaccard >= 0.8 on sets; estimated recall" in said["statement"]
    assert said["statement"].endswith("; precision 1 (every match verified)")


def test_where_the_audit_saw_every_item_nothing_is_missing() -> None:
    """Two bands find 83% of the pairs; the audit compared all of them, and what it knows is among the results."""
    result = lookalike.pairs(planted(), audit=2 * PAIRS, bands=2, rows=4)
    said = certificate(result)
    assert len(result) == PAIRS
    assert result.report["audit_pairs"] == PAIRS - said["audit"]["found"] > 100
    assert (said["recall"]["low"], said["recall"]["recall"], said["recall"]["high"]) == (1.0, 1.0, 1.0)
    assert "recall 1 (the audit compared every pair)" in said["statement"]
    assert "hidden" not in said["audit"], "where every pair was compared, no fault escapes"
    assert any("that the bands missed" in note for note in said["notes"])


def test_a_silent_cap_is_caught_by_the_audit_and_by_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Walk.span

    def capped(self: Walk, *arguments: Any, **options: Any) -> Iterator[tuple[I64Array, I64Array]]:
        for left, right in whole(self, *arguments, **options):
            yield left[: len(left) // 2], right[: len(right) // 2]

    monkeypatch.setattr(Walk, "span", capped)
    result = lookalike.dedup(planted(), audit=PAIRS // 2)
    said = certificate(result)
    assert said["estimate"]["low"] > 0.98
    assert said["bands"]["suspicious"] == []
    assert said["audit"]["high"] < said["estimate"]["low"]
    assert said["recall"]["contradiction"]
    assert said["recall"]["low"] < 0.7
    assert "contradict each other" in said["statement"]
    assert any("please report this" in warning for warning in result.report["warnings"])
    for verb in (lookalike.pairs, lookalike.clusters):
        assert any("contradict" in warning for warning in verb(planted(), audit=PAIRS // 2).report["warnings"])
    with pytest.raises(CertificateError, match="contradict each other"):
        lookalike.pairs(planted(), audit=PAIRS // 2, strict=True)


def test_a_dead_band_is_caught_by_the_band_test(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Part.buckets

    def without_one(self: Any, threads: int = 1) -> Any:
        bands = whole(self)
        bands[3] = bands[3].chosen(np.zeros(len(bands[3]), np.bool_))
        return bands

    monkeypatch.setattr("lookalike.engines.local.parts.Part.buckets", without_one)
    result = lookalike.pairs(planted())
    assert certificate(result)["bands"]["suspicious"] == [3]
    assert certificate(result)["alarms"][0].startswith("band 4 was hit 0 times, expected ")


def test_what_is_left_among_the_kept_is_estimated_from_the_sample() -> None:
    """Over 40 samples of a third of the items the interval holds the true number 90% of the time or more.

    P(fewer than 33 of 40 | 95%) = 0.0003.
    """
    items = planted()
    # One band finds 0.85^6 = 38% of the pairs, and both items of the others stay, but for those that the audit found.
    held = 0
    for seed in range(40):
        result = lookalike.dedup(items, bands=1, rows=6, seed=seed, audit=700)
        truth = 2 * (PAIRS - result.report["removed"])
        assert result.report["audit_pairs"] > 100
        left = certificate(result)["left"]
        held += left["low"] <= truth <= left["high"]
    assert held >= 33


def test_the_audit_says_no_more_than_its_sample_can_show() -> None:
    """Each item has one pair, so the pairs are independent, and the interval is Clopper and Pearson's.

    A sample of half of the items, or a quarter, takes as much of the variance: as if there were more pairs.
    """
    said = certificate(lookalike.pairs(planted(), audit=PAIRS // 2, bands=2, rows=5))["audit"]
    rate = 2.0 ** round(math.log2(said["sampled"] / said["of"]))
    assert rate < 1.0
    pairs = said["pairs"] / (1.0 - rate)
    assert (said["low"], said["high"]) == pytest.approx(clopper_pearson(said["recall"] * pairs, pairs), rel=1e-9)
    nothing = certificate(lookalike.pairs([{1, 2, 3}, {7, 8}, {9}]))
    assert (nothing["audit"]["recall"], nothing["audit"]["low"], nothing["audit"]["high"]) == (None, 0.0, 1.0)


def test_giant_lists_and_unverified_runs_are_named() -> None:
    template = set(range(1000, 1060))
    alike = [template | {i} for i in range(250)]
    said = certificate(lookalike.dedup(alike))
    assert "their items were compared with a few leaders only" in said["statement"]
    assert any("compared with a few leaders only" in note for note in said["notes"])
    assert any("not compared" in note for note in certificate(lookalike.pairs(alike[:9], verify="none"))["notes"])
    assert any("estimates" in note for note in certificate(lookalike.pairs(alike[:9], verify="sketch"))["notes"])
    assert "audit" not in certificate(lookalike.pairs(alike[:9], audit=0))


def test_where_every_pair_was_compared_nothing_is_left_and_no_interval_is_told() -> None:
    vectors = np.random.default_rng(0).normal(size=(300, 8))
    said = certificate(lookalike.dedup(np.concatenate([vectors, vectors[:20] + 1e-4]), threshold=0.9, audit=50))
    assert said["left"] == {"items": 0.0, "low": 0.0, "high": 0.0}
    assert said["statement"].endswith("; no kept item has a near-duplicate left")


def test_two_intervals_that_hold_together_in_95_of_100_runs_have_levels_whose_product_is_that() -> None:
    for one, other in ((1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (1.0, 50.0), (50.0, 1.0)):
        levels = _levels(one, other)
        assert levels[0] * levels[1] == pytest.approx(0.95, abs=1e-12)
        assert max(levels) < 1.0
    # The wide one is hardly asked, and so takes hardly any of what may go wrong.
    assert _levels(1.0, 50.0)[1] == _levels(50.0, 1.0)[0] == 0.999
