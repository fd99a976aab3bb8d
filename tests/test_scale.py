"""How measures tell how alike two items are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import OptionError
from lookalike.measure_table import MEASURES, check_measure, measure_named
from lookalike.scale import Scale


def test_names_are_forgiving_and_orders_of_known_distances_have_their_names() -> None:
    assert check_measure(" Weighted_Jaccard ") == "weighted-jaccard"
    assert check_measure("lr:2") == "euclidean"
    assert check_measure("lr:1.0") == "manhattan"
    assert check_measure("LR:2.50") == "lr:2.5"
    assert [measure_named(name).order for name in ("manhattan", "euclidean", "lr:3", "lr:inf", "cosine")] == [
        1,
        2,
        3,
        np.inf,
        None,
    ]


@pytest.mark.parametrize("name", ["l2", "lr:", "lr:nan", "lr:0.99", "dice", ""])
def test_an_unknown_measure_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"measure is '{name}'"):
        check_measure(name)


def test_every_listed_measure_is_known() -> None:
    assert [check_measure(name.replace("R", "3")) for name in MEASURES] == [*MEASURES[:-1], "lr:3"]


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_a_distance_goes_in_and_comes_out_unchanged(distance: float, limit: float) -> None:
    scale = Scale("euclidean", limit)
    score = np.array([-distance])
    assert scale.told(score)[0] == distance
    assert (score[0] >= scale.threshold) == (distance <= limit * (1 + 2**-20)) == scale.meets(scale.told(score))[0]
    assert 0.0 <= scale.share(score)[0] <= 1.0
    if distance <= limit:
        assert scale.from_share(scale.share(score))[0] == pytest.approx(distance, abs=1e-12 * limit)


def test_no_distance_is_told_as_minus_zero() -> None:
    assert str(Scale("manhattan", 2.0).told(np.array([0.0]))[0]) == "0.0"


def test_what_is_asked_is_said_in_the_direction_of_the_measure() -> None:
    assert str(Scale("jaccard", 0.8)) == "Jaccard >= 0.8"
    assert str(Scale("lr:3", 2.5)) == "L3 <= 2.5"
    assert str(Scale("weighted-jaccard", 0.8)) == "weighted Jaccard >= 0.8"
    assert str(Scale("cosine", 0.9)) == "cosine >= 0.9"
    assert Scale("cosine", 0.9).words == "cosine similarity >= 0.9"
    assert Scale("lr:3", 2.5).words == "L3 distance <= 2.5"
    assert Scale("euclidean", 3).column == "distance"
    assert Scale("hamming", 0.9).column == "similarity"


@pytest.mark.parametrize("limit", [1e-6, 0.1, 0.5, 0.8, 0.99, 0.999999, 1.0])
def test_a_cosine_meets_its_limit_within_the_rounding_of_an_angle(limit: float) -> None:
    scale = Scale("cosine", limit)
    # One vector is turned by 2⁻²⁴ of its length at most, two by 2⁻²³ together.
    turned = math.cos(math.acos(limit) + 2**-23)
    assert scale.meets(np.array([limit, max(turned, limit * (1 - 2**-24))])).all()
    beyond = math.cos(math.acos(limit) + 2**-20) - 2**-50
    assert not scale.meets(np.array([min(beyond, limit * (1 - 2**-19)) if limit < 0.5 else beyond])).any()
    assert scale.threshold > 0


def test_sets_and_bits_meet_their_limit_exactly() -> None:
    for measure in ("jaccard", "containment", "hamming"):
        assert Scale(measure, 0.8).threshold == 0.8
    assert Scale("weighted-jaccard", 0.8).threshold == pytest.approx(0.8, rel=2**-21)
