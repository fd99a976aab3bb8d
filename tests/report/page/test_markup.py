"""Markup: whatever is not markup is escaped, and marks stand where they belong."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.page.markup import Markup, cut, differing, first_difference, join, name, tag, visible
from tests.report.page.example import HOSTILE
from tests.report.page.outline import Outline

TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(HOSTILE)
RANGES = st.lists(st.tuples(st.integers(-5, 80), st.integers(-5, 80)), max_size=6)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "a < b & c", tag("b", '"d"')) == "<p>a &lt; b &amp; c<b>&quot;d&quot;</b></p>"


def test_an_f_string_of_markup_is_text_again() -> None:
    inside = tag("b", "x")
    assert tag("p", f"{inside}") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"


def test_attributes_are_escaped_named_and_left_out() -> None:
    made = tag("a", "x", class_='"><script>', aria_label="l", hidden=True, open=False, title=None)
    assert made == '<a class="&quot;&gt;&lt;script&gt;" aria-label="l" hidden>x</a>'


def test_empty_elements_end_as_html_and_svg_want_it() -> None:
    assert tag("br") + tag("rect", x=1) + tag("span") == '<br><rect x="1"/><span></span>'


@given(TEXTS)
def test_any_text_comes_back_from_a_parser(text: str) -> None:
    outline = Outline(tag("p", text, title=text))
    assert outline.elements == ["p"]
    assert outline.text == visible(text)
    assert outline.values("title") == [visible(text)]
    visible(text).encode()


@given(TEXTS)
def test_what_is_replaced_is_replaced_one_for_one(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert visible(shown) == shown
    assert not any(ord(each) < 32 and each not in "\t\n" for each in shown)


def test_control_characters_are_seen() -> None:
    assert visible("a\x00b\x1bc\x7f\x85\ud800\ufffe") == "a␀b␛c␡���"
    assert visible("a\r\nb\rc\td") == "a \nb\nc\td"


@given(TEXTS, RANGES)
def test_exactly_the_words_outside_of_all_ranges_are_marked(text: str, ranges: list[tuple[int, int]]) -> None:
    """From the first letter or digit between two ranges to the last one."""
    outline = Outline(tag("div", differing(text, ranges, 0, 10_000)))
    inside = {place for low, high in ranges for place in range(max(0, low), min(len(text), high))}
    expected = ["d"] * len(text)
    for apart, places in groupby(range(len(text)), key=lambda place: place not in inside):
        letters = [place for place in places if apart and visible(text)[place].isalnum()]
        if letters:
            expected[letters[0] : letters[-1] + 1] = "m" * (letters[-1] + 1 - letters[0])
    by_element = "".join(element[0] * len(data) for element, data in outline.texts)
    assert by_element == "".join(expected)
    assert outline.text == visible(text)


@pytest.mark.parametrize("marks", [[None], ["ab"], [[1]], [["a", "b"]], [[0.5, 2.5]], [[None, 3]], [[1, 2, 3]]])
def test_ranges_that_are_none_share_nothing(marks: list[object]) -> None:
    assert differing("some text.", marks, 0, 100) == tag("mark", "some text") + "."


def test_a_window_says_what_it_leaves_out_on_both_sides() -> None:
    shown = Outline(tag("div", differing("a" * 10 + "b" * 10 + "c" * 30, [[5, 15]], 10, 10))).text
    assert shown == " … 10 more characters … " + "b" * 10 + " … 30 more characters … "


def test_a_window_beyond_the_text_leaves_all_of_it_out() -> None:
    assert Outline(tag("div", differing("abc", [[0, 3]], 10, 10))).text == " … 3 more characters … "


def test_the_first_difference_is_a_letter_or_digit_outside_all_ranges() -> None:
    assert first_difference("one two. three", [[0, 7], [9, 14]]) is None
    assert first_difference("one two, three", [[9, 14], [0, 3]]) == 4
    assert first_difference("one", []) == 0
    assert first_difference("", []) is None


def test_a_long_name_is_cut_and_told_in_full_on_request() -> None:
    outline = Outline(name("n" * 300, limit=20))
    assert outline.text == "n" * 20 + "…"
    assert outline.values("title") == ["n" * 300]
    assert Outline(name("short")).values("title") == []


def test_cutting_counts_what_is_left_out() -> None:
    assert cut("abcdef", 4) == ("abcd", 2)
    assert cut("abc", 4) == ("abc", 0)


def test_joining_leaves_out_what_is_not_there() -> None:
    assert join([None, "", "a&b", Markup("<i>")]) == "a&amp;b<i>"
