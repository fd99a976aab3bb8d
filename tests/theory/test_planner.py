"""The planner: it reaches the recall with the fewest bands, at the least cost, the same every time."""

import dataclasses
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import OptionError
from lookalike.theory import FAMILIES, Alternative, Plan, candidate_probability, plan, prior

THRESHOLDS = st.floats(0.3, 1.0)
RECALLS = st.floats(0.5, 0.9999)
ITEMS = st.sampled_from([1, 100, 10_000, 1_000_000, 1_000_000_000])
MEASURES = st.sampled_from(sorted(FAMILIES))


def test_the_default_plan_is_sixteen_bands_of_six() -> None:
    chosen = plan(0.8, 0.99)
    assert (chosen.bands, chosen.rows, chosen.slots) == (16, 6, 96)
    assert chosen.expected_recall == pytest.approx(0.9923, abs=5e-5)
    assert chosen.memory_per_item == 8 * 16 + 24
    assert plan() == chosen


@pytest.mark.parametrize(
    ("rows", "bands", "sketch", "band", "verify", "reread", "total"),
    [
        (4, 9, 432, 360, 4_148, 7_498, 12_438),
        (5, 12, 720, 480, 387, 4_043, 5_630),
        (6, 16, 1_152, 640, 43, 623, 2_458),
        (7, 20, 1_680, 800, 5, 79, 2_565),
    ],
)
def test_the_costs_of_the_worked_example(
    rows: int, bands: int, sketch: int, band: int, verify: int, reread: int, total: int
) -> None:
    cost = plan(0.8, bands=bands, rows=rows).cost
    found = [round(part) for part in (cost.sketch, cost.band, cost.verify, cost.reread, cost.total)]
    assert found == [sketch, band, verify, reread, total]


@settings(deadline=None)
@given(threshold=THRESHOLDS, recall=RECALLS, items=ITEMS, measure=MEASURES)
def test_one_band_less_misses_the_recall(threshold: float, recall: float, items: int, measure: str) -> None:
    chosen = plan(threshold, recall, items=items, measure=measure, max_slots=100_000)
    choices = [(chosen.bands, chosen.rows, chosen.expected_recall)]
    choices += [(other.bands, other.rows, other.expected_recall) for other in chosen.alternatives]
    for bands, rows, expected in choices:
        assert expected >= recall
        assert candidate_probability(threshold, bands, rows, measure) == expected
        if bands > 1:
            assert candidate_probability(threshold, bands - 1, rows, measure) < recall


@settings(deadline=None)
@given(threshold=THRESHOLDS, recall=RECALLS, items=ITEMS)
def test_no_alternative_is_cheaper_and_they_come_cheapest_first(threshold: float, recall: float, items: int) -> None:
    chosen = plan(threshold, recall, items=items)
    costs = [chosen.cost.total, *(other.cost.total for other in chosen.alternatives)]
    assert costs == sorted(costs)
    assert (chosen.bands, chosen.rows) not in [(other.bands, other.rows) for other in chosen.alternatives]


@pytest.mark.parametrize(
    ("threshold", "items", "measure"),
    [(0.8, 10**6, "jaccard"), (0.5, 10**4, "jaccard"), (0.97, 10**9, "jaccard"), (0.9, 10**5, "hamming")],
)
def test_the_search_ends_early_without_passing_over_anything_cheaper(
    threshold: float, items: int, measure: str
) -> None:
    chosen = plan(threshold, 0.95, items=items, measure=measure)
    cheapest = math.inf
    for rows in range(1, 65):
        for bands in range(1, 4096 // rows + 1):
            if candidate_probability(threshold, bands, rows, measure) >= 0.95:
                other = plan(threshold, bands=bands, rows=rows, items=items, measure=measure)
                cheapest = min(cheapest, other.cost.total)
                break
    assert chosen.cost.total == cheapest


def test_the_same_options_give_the_same_plan() -> None:
    assert plan(0.7, 0.95, items=12_345) == plan(0.7, 0.95, items=12_345)
    assert hash(plan()) == hash(plan())


def test_a_small_collection_gets_fewer_rows_and_a_large_one_more() -> None:
    rows = [plan(0.8, 0.99, items=items).rows for items in (100, 10_000, 1_000_000, 1_000_000_000)]
    assert rows == sorted(rows)
    assert rows[0] < rows[-1]


def test_equal_costs_go_to_fewer_slots() -> None:
    # A single item has no pairs, so nothing is verified and the shortest sketch is the cheapest.
    chosen = plan(1.0, items=1)
    assert (chosen.bands, chosen.rows) == (1, 1)
    assert chosen.candidates_per_item == 0.0


def test_identical_items_need_one_band() -> None:
    chosen = plan(1.0, 0.999)
    assert chosen.bands == 1
    assert chosen.expected_recall == 1.0
    assert chosen.rows > 1
    assert chosen.candidates_per_item < 0.01


def test_a_sample_of_the_data_replaces_the_prior() -> None:
    alike = plan(0.8, 0.99, background=([0.5], [0.01]))
    unlike = plan(0.8, 0.99, background=([0.5], [0.0]))
    assert alike.rows > plan(0.8, 0.99).rows > unlike.rows
    assert unlike.candidates_per_item == 0.0


def test_candidates_are_the_pairs_that_the_curve_lets_through_each_once() -> None:
    chosen = plan(bands=20, rows=5, items=1001, background=(np.array([0.3, 0.9]), np.array([0.25, 0.001])))
    through = 0.25 * candidate_probability(0.3, 20, 5) + 0.001 * candidate_probability(0.9, 20, 5)
    assert chosen.candidates_per_item == pytest.approx(1000 / 2 * through)
    assert chosen.cost.verify == pytest.approx(1000.0 * chosen.candidates_per_item)


def test_what_a_sample_leaves_out_lies_at_similarity_zero() -> None:
    # For cosine a pair at 0 is no stranger: half its bits agree.
    chosen = plan(bands=4, rows=8, items=3, measure="cosine", background=([], []))
    assert chosen.candidates_per_item == pytest.approx(1 - (1 - 0.5**8) ** 4)


def test_the_prior_has_the_moments_of_an_exponential() -> None:
    similarities, shares = prior()
    assert float(np.sum(shares)) == pytest.approx(1.0, abs=1e-12)
    # E[s^r] = r!·mean^r; cutting off at 1 takes e^-71 of the mass.
    for rows in range(1, 9):
        moment = float(np.sum(shares * similarities**rows))
        assert moment == pytest.approx(math.factorial(rows) * 0.014**rows, rel=1e-9)
    assert float(np.min(prior("hamming")[0])) >= 0.5


def test_given_bands_and_rows_are_kept_and_compared_with_what_finds_as_much() -> None:
    chosen = plan(0.8, bands=20, rows=5)
    assert (chosen.bands, chosen.rows, chosen.recall) == (20, 5, None)
    assert chosen.expected_recall == pytest.approx(0.99965, abs=1e-5)
    assert chosen.alternatives
    assert all(other.expected_recall >= chosen.expected_recall for other in chosen.alternatives)
    assert "were given" in chosen.why
    assert plan(0.8, bands=16, rows=6).why == "bands and rows were given; nothing cheaper finds as much"
    # A recall that rounds to 1, and one that rounds to 0.
    assert plan(0.8, bands=2000, rows=1).expected_recall == 1.0
    assert plan(0.1, bands=1, rows=400).alternatives == ()


def test_a_reader_sees_what_was_chosen_why_and_what_it_costs() -> None:
    chosen = plan(0.8, 0.99)
    assert repr(chosen) == "Plan(jaccard >= 0.8: 16 bands of 6 rows, expected recall 0.9923)"
    text = str(chosen)
    for part in ("16 bands of 6 rows (96 slots)", "asked: 0.99", "2,458 ns an item", "152 MB", chosen.why):
        assert part in text
    assert chosen.why == (
        "6 rows a band: 2,458 ns an item against 5,630 with 5 rows (more candidates) "
        "and 2,565 with 7 rows (a longer sketch)"
    )
    assert str(plan(1.0, items=1)).startswith("1 band of 1 row (1 slot)")
    assert "108 min of one core" in str(plan(items=10**9))
    assert "257 an item, if there are 1,000,000 items" in str(plan(0.3))
    assert "4.5 an item, if there are 10 items" in str(plan(items=10, exhaustive=True))
    for joined in (plan(recall=1.0), plan(measure="containment")):
        assert "all that shares one of the rarest elements, if there are" in str(joined)
    assert "5 min" in str(plan(0.3))


def test_a_plan_that_the_cap_on_slots_decided_says_so() -> None:
    assert plan(0.3).why.endswith("; 5 rows would need more than max_slots=4096")
    assert "max_slots" not in plan(0.3, max_slots=1_000_000).why


def test_a_plan_is_frozen_and_its_alternatives_count_their_slots() -> None:
    chosen = plan()
    with pytest.raises(dataclasses.FrozenInstanceError):
        chosen.bands = 3  # type: ignore[misc]
    assert isinstance(chosen, Plan)
    assert all(isinstance(other, Alternative) for other in chosen.alternatives)
    assert [other.slots for other in chosen.alternatives] == [140, 208, 288]


def test_the_table_goes_from_zero_to_one() -> None:
    chosen = plan(0.8, bands=20, rows=5)
    table = chosen.table(steps=10)
    assert [s for s, _ in table] == [i / 10 for i in range(11)]
    assert table[3][1] == pytest.approx(0.0475, abs=1e-4)
    assert (table[0][1], table[10][1]) == (0.0, 1.0)
    assert len(chosen.table()) == 21


def test_a_plot_is_an_svg_file_and_nothing_else(tmp_path: Path) -> None:
    plan().plot(tmp_path / "curve.svg")
    assert ElementTree.parse(tmp_path / "curve.svg").getroot().tag.endswith("svg")
    with pytest.raises(OptionError, match=r"curve\.png'.*ends in \.svg"):
        plan().plot(str(tmp_path / "curve.png"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.0}, r"threshold=0: a number above 0 and at most 1 is needed"),
        ({"threshold": 1.2}, r"threshold=1.2: a number above 0 and at most 1"),
        ({"threshold": math.nan}, r"threshold=nan: a number above 0 and at most 1"),
        ({"threshold": "0.8"}, r"threshold='0.8': a number above 0"),
        ({"recall": 1.5}, r"recall=1.5: a number above 0 and at most 1 is needed"),
        ({"recall": 0}, r"recall=0: a number above 0 and at most 1"),
        ({"bands": 0, "rows": 5}, r"bands=0: a whole number of at least 1"),
        ({"bands": 20, "rows": 2.5}, r"rows=2.5: a whole number of at least 1"),
        ({"bands": 20}, r"bands needs rows: give both, or neither and a recall"),
        ({"rows": 5}, r"rows needs bands"),
        ({"bands": 1000, "rows": 5}, r"5,000 slots are more than max_slots=4096"),
        ({"items": 0}, r"items=0: a whole number of at least 1"),
        ({"items": 1e6}, r"items=1000000.0: a whole number"),
        ({"set_size": 0}, r"set_size=0: a number above 0"),
        ({"max_slots": 0}, r"max_slots=0: a whole number of at least 1"),
        ({"measure": "dice"}, r"measure is 'dice': it must be one of jaccard"),
        ({"background": ([0.1], [0.5, 0.5])}, r"two arrays of one length"),
        ({"background": ([0.1, 1.5], [0.5, 0.5])}, r"similarities of jaccard from 0 to 1"),
        ({"background": ([math.nan], [0.5])}, r"similarities of jaccard from 0 to 1"),
        ({"background": ([0.1, 0.2], [0.9, 0.5])}, r"shares sum to 1.4"),
        ({"background": ([0.1, 0.2], [-0.1, 0.5])}, r"each >= 0"),
        ({"background": ([0.1],)}, r"two arrays of numbers"),
        ({"background": (["a"], ["b"])}, r"two arrays of numbers"),
    ],
)
def test_an_option_that_is_not_allowed_is_named_with_what_is(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        plan(**options)


def test_a_recall_out_of_reach_is_refused_with_the_nearest_that_can_be_reached() -> None:
    with pytest.raises(OptionError, match=r"needs 4,603 slots or more, and max_slots=4096 reach 0.9834"):
        plan(0.001)
    assert plan(0.001, 0.98).rows == 1


def test_sets_are_compared_in_full_only_where_that_takes_a_moment() -> None:
    few = plan(0.8, 0.99, items=500, exhaustive=True)
    assert few.exhaustive
    assert few.expected_recall == 1.0
    assert "so few items that all pairs are compared" in few.why
    assert not plan(0.8, 0.99, items=500).exhaustive
    assert not plan(0.8, 0.99, items=5000, exhaustive=True).exhaustive
    assert not plan(0.8, 0.99, items=500, set_size=5000, exhaustive=True).exhaustive
    with pytest.raises(OptionError, match="it needs"):
        plan(0.001, 0.999999, items=5000, exhaustive=True)


@pytest.mark.parametrize("measure", ["jaccard", "weighted-jaccard", "cosine", "hamming", "euclidean"])
def test_at_a_recall_of_one_all_pairs_are_compared(measure: str) -> None:
    chosen = plan(0.8, 1.0, measure=measure, items=10**6)
    assert (chosen.exhaustive, chosen.bands, chosen.recall, chosen.expected_recall) == (True, 0, 1.0, 1.0)
    assert chosen.why.startswith("no bands find all")
    # Bands that are given are taken, whatever they find.
    assert plan(0.8, 1.0, bands=20, rows=5, measure=measure).bands == 20
