"""Figures for people: nothing that is almost certain looks certain, and what is missing is a dash."""

from __future__ import annotations

import pytest

from lookalike.report.page.numbers import (
    bytes_text,
    distance,
    of_all,
    probability,
    ratio,
    seconds_text,
    short,
    when,
    whole,
)


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0, "0"), (999, "999"), (1_000_000, "1,000,000"), (12.6, "13")]
)
def test_counts_have_their_thousands_apart(value: float | None, text: str) -> None:
    assert whole(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.8, "0.80"), (0.803, "0.803"), (1.0, "1"), (0.99999, "0.999+"), (0.9995, "0.999+"), (0.0, "0")],
)
def test_a_similarity_below_one_stays_below_one(value: float | None, text: str) -> None:
    assert ratio(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.0, "0"), (2.5, "2.5"), (0.00031274, "0.0003127"), (12_480.4, "12,480")]
)
def test_a_distance_above_zero_stays_above_zero(value: float | None, text: str) -> None:
    assert distance(value) == text


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.99171, "0.9917"), (1.0, "1"), (0.99999, "above 0.9999")])
def test_a_recall_below_one_stays_below_one(value: float | None, text: str) -> None:
    assert probability(value) == text


@pytest.mark.parametrize(
    ("part", "total", "text"),
    [
        (298, 1000, "29.8%"),
        (1, 1_000_000, "below 0.1%"),
        (999_999, 1_000_000, "above 99.9%"),
        (0, 7, "0%"),
        (7, 7, "100%"),
        (1, 2, "50.0%"),
        (None, 7, "–"),
        (1, None, "–"),
        (0, 0, "–"),
    ],
)
def test_a_share_is_nothing_or_all_only_when_it_is(part: float | None, total: float | None, text: str) -> None:
    assert of_all(part, total) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (1.3e9, "1.3 GB"), (250e6, "250 MB"), (4e12, "4.0 TB"), (2048, "2.0 kB")],
)
def test_bytes_go_by_thousands(value: float | None, text: str) -> None:
    assert bytes_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.051, "0.05 s"),
        (24.04, "24.0 s"),
        (99.96, "1 min 40 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 0 min"),
        (7530, "2 h 5 min"),
    ],
)
def test_times_are_told_in_the_unit_that_fits(value: float | None, text: str) -> None:
    assert seconds_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (800, "800"), (12_000, "12k"), (1.5e6, "1.5M"), (2e9, "2G"), (-4, "−4")]
)
def test_axes_have_short_counts(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("2026-11-15T22:40:12+00:00", "15 November 2026, 22:40 UTC"),
        ("2026-01-02T03:04:05+02:00", "2 January 2026, 03:04 UTC+02:00"),
        ("2026-01-02T03:04:05", "2 January 2026, 03:04"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_time_that_is_none_stands_as_it_is(stamp: str, text: str) -> None:
    assert when(stamp) == text
