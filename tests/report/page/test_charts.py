"""Charts: bars are as long as their shares, ticks are round and few, small things are still seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.page.charts import Axis, bar, columns, counts_axis, frame, path_line, percent
from tests.report.page.outline import Outline


def widths(markup: str) -> list[float]:
    return [float(value[:-1]) for value in Outline(markup).values("width")]


def test_a_bar_is_as_long_as_its_share() -> None:
    assert widths(bar([(0.702, "kept"), (0.267, "removed"), (0.031, "identical")])) == [70.2, 26.7, 3.1]


def test_a_share_of_almost_nothing_is_seen_and_nothing_is_not_drawn() -> None:
    drawn = widths(bar([(1e-7, "kept"), (1 - 1e-7, "removed"), (0.0, "identical")]))
    assert drawn == [0.4, 99.6]


@given(st.lists(st.floats(0, 1), max_size=6))
def test_the_parts_of_a_bar_never_leave_it(shares: list[float]) -> None:
    total = sum(shares) or 1.0
    # Each width is rounded to a hundredth of a percent.
    assert sum(widths(bar([(share / total, "x") for share in shares]))) <= 100.0 + 0.005 * len(shares)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 10))
def test_ticks_are_few_and_lie_on_the_axis(low: float, width: float, about: int) -> None:
    axis = Axis(low, low + width)
    ticks = axis.ticks(about)
    assert len(ticks) <= about + 1
    assert all(axis.low - 1e-6 * width - 1e-9 <= tick <= axis.high + 1e-6 * width + 1e-9 for tick in ticks)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis(0.0, 1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (Axis(0.8, 1.0), [0.8, 0.85, 0.9, 0.95, 1.0]),
        (Axis(0.95, 1.0), [0.95, 0.96, 0.97, 0.98, 0.99, 1.0]),
        (Axis(0.5, 1e6, log=True), [1.0, 100.0, 10_000.0, 1_000_000.0]),
        (Axis(1.0, 1.0), [1.0]),
    ],
)
def test_ticks_are_round(axis: Axis, ticks: list[float]) -> None:
    assert axis.ticks(5) == ticks


def test_places_on_an_axis_are_shares_of_it_and_stay_on_it() -> None:
    assert [Axis(0.8, 1.0).at(value) for value in (0.5, 0.8, 1.0, 1.2)] == [0.0, 0.0, 1.0, 1.0]
    assert Axis(0.8, 1.0).at(0.9) == pytest.approx(0.5)
    assert Axis(1.0, 100.0, log=True).at(10.0) == pytest.approx(0.5)
    assert Axis(1.0, 1.0).at(1.0) == 0.0


def test_counts_that_would_be_dwarfed_get_a_logarithmic_axis() -> None:
    assert not counts_axis([10, 20, 300]).log
    assert counts_axis([10, 20, 30, 1_000_000]).log
    assert counts_axis([]) == counts_axis([0, 0]) == Axis(0.0, 1.0)


def test_columns_stand_on_zero_and_go_both_ways() -> None:
    boxes = [(0.0, 1.0, 2.0, "up"), (1.0, 2.0, -1.0, "down"), (2.0, 3.0, 0.0, "nothing")]
    drawn = Outline("".join(columns(Axis(0.0, 3.0), Axis(-2.0, 2.0), 100, boxes, ["a", "b", "c"])))
    assert drawn.values("y") == ["0", "50", "50"]
    assert drawn.values("height") == ["50", "25", "0"]
    assert drawn.text == "updownnothing"


def test_a_class_without_width_has_a_column_inside_the_chart() -> None:
    drawn = Outline("".join(columns(Axis(0.8, 1.0), Axis(0.0, 10.0), 100, [(1.0, 1.0, 5.0, "")], ["a"])))
    assert drawn.values("x") == ["99.6%"]
    assert drawn.values("width") == ["0.4%"]


def test_a_line_keeps_its_stroke_when_it_is_stretched() -> None:
    drawn = Outline(path_line([(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)], "curve"))
    assert drawn.values("points") == ["0,1000.0 500,750.0 1000,0.0"]
    assert drawn.values("vector-effect") == ["non-scaling-stroke"]


def test_a_frame_says_what_it_shows_and_labels_both_axes() -> None:
    drawn = Outline(frame("what <it> shows", 100, [], Axis(0.0, 1.0), Axis(0.0, 4000.0), across=[0.0, 0.5, 1.0]))
    assert drawn.values("aria-label") == ["what <it> shows"]
    assert [data for _, data in drawn.texts] == ["0", "1k", "2k", "3k", "4k", "0", "0.5", "1"]


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (1.0, "100%"), (1 / 3, "33.33%"), (0.125, "12.5%")])
def test_percentages_are_short(share: float, text: str) -> None:
    assert percent(share) == text
