"""Texts with their differences marked, and folded around them."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.page.differences import beginning, differing
from lookalike.report.page.markup import tag, visible
from lookalike.wording.alignment import aligned_words
from tests.report.page.example import HOSTILE
from tests.report.page.outline import Outline

TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(HOSTILE)
RANGES = st.lists(st.tuples(st.integers(-5, 80), st.integers(-5, 80)), max_size=6)
WORDS = " ".join(f"word{number}" for number in range(400))


def open_text(outline: Outline) -> str:
    """What is seen before anybody clicks: all but what stands in folds, which are no deeper than one."""
    return "".join(data for element, data in outline.texts if element not in ("details", "summary"))


def folds(outline: Outline) -> list[str]:
    return [data for element, data in outline.texts if element == "summary"]


@given(TEXTS, RANGES)
def test_exactly_the_words_outside_of_all_ranges_are_marked(text: str, ranges: list[tuple[int, int]]) -> None:
    """From the first letter or digit between two ranges to the last one."""
    outline = Outline(tag("div", differing(text, ranges)))
    inside = {place for low, high in ranges for place in range(max(0, low), min(len(text), high))}
    expected = ["d"] * len(text)
    for apart, places in groupby(range(len(text)), key=lambda place: place not in inside):
        letters = [place for place in places if apart and visible(text)[place].isalnum()]
        if letters:
            expected[letters[0] : letters[-1] + 1] = "m" * (letters[-1] + 1 - letters[0])
    by_element = "".join(element[0] * len(data) for element, data in outline.texts)
    assert by_element == "".join(expected)
    assert outline.raw == visible(text)


@pytest.mark.parametrize("marks", [[None], ["ab"], [[1]], [["a", "b"]], [[0.5, 2.5]], [[None, 3]], [[1, 2, 3]]])
def test_ranges_that_are_none_share_nothing(marks: list[object]) -> None:
    assert differing("some text.", marks) == tag("mark", "some text") + "."


def test_long_stretches_that_both_have_are_folded_in_both_alike() -> None:
    a, b = f"{WORDS} FIRST {WORDS} {WORDS}", f"{WORDS} {WORDS} SECOND {WORDS}"
    marks_a, marks_b = aligned_words(a, b)
    one, other = (Outline(tag("div", differing(*each))) for each in ((a, marks_a), (b, marks_b)))
    assert [data for element, data in one.texts if element == "mark"] == ["FIRST"]
    assert [data for element, data in other.texts if element == "mark"] == ["SECOND"]
    # Where only the other text has a word, this one is open, too, and what is folded is the same in both.
    assert folds(one) == folds(other)
    assert len(folds(one)) == 3
    assert all(each.endswith("words alike …") for each in folds(one))
    for outline, around in ((one, "word399 FIRST word0"), (one, "word399 word0"), (other, "word399 SECOND word0")):
        assert around in open_text(outline)
    assert len(open_text(one)) < len(a) / 4


def test_nothing_is_lost_in_folds_and_none_begins_inside_a_word() -> None:
    a, b = f"{WORDS} one {WORDS}", f"{WORDS} other {WORDS}"
    outline = Outline(tag("div", differing(a, aligned_words(a, b)[0])))
    assert "".join(data for element, data in outline.texts if element != "summary") == a
    for element, data in outline.texts:
        assert element == "summary" or set(data.split()) <= set(a.split())


def test_what_is_alike_for_a_few_words_is_not_folded() -> None:
    a = "one " + "alike " * 20 + "two"
    outline = Outline(tag("div", differing(a, [[4, len(a) - 3]])))
    assert "details" not in outline.elements


def test_what_differs_for_long_is_open_up_to_a_limit() -> None:
    outline = Outline(tag("div", differing(WORDS * 3, [[0, 0]])))
    assert outline.elements.count("details") == 1
    assert "more" in folds(outline)[0]
    assert len(outline.texts[0][1]) in range(2_400, 2_600)
    assert "".join(data for element, data in outline.texts if element != "summary") == WORDS * 3


def test_a_script_without_spaces_is_counted_in_characters() -> None:
    same = "\u4e2d\u6587" * 400
    outline = Outline(tag("div", differing(f"{same}X{same}", [[0, 800], [801, 1601]])))
    assert folds(outline) == ["… 400 characters alike …"] * 2


def test_a_text_held_against_none_shows_its_beginning() -> None:
    outline = Outline(tag("div", beginning(WORDS)))
    assert open_text(outline).startswith("word0 word1 ")
    assert len(folds(outline)) == 1
    assert "details" not in Outline(tag("div", beginning("short"))).elements
