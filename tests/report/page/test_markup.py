"""Markup: whatever is not markup is escaped, and marks stand where they belong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.page.markup import Markup, cut, join, name, tag, visible
from tests.report.page.example import HOSTILE
from tests.report.page.outline import Outline

TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(HOSTILE)


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
    assert outline.raw == visible(text)
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


def test_a_name_may_be_broken_after_a_stop_or_a_slash() -> None:
    outline = Outline(name("data/part-0001.jsonl.gz"))
    assert [data for _, data in outline.texts] == ["data/", "part-", "0001.", "jsonl.", "gz"]
    assert outline.elements == ["bdi", *["wbr"] * 4]
