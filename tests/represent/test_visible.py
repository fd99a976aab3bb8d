"""What a browser would show of a page, in time that is linear in its length whatever it is like."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.represent import visible
from lookalike.represent.visible import visible_text
from tests.reference import visible as twin

WORDS = st.text("ab <>&\"'\n", max_size=12).map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;"))
ATTRIBUTES = st.sampled_from(["", ' href="a > b"', " title='it is \"so\"'", " hidden", ' a=1 b = "2"', "\n"])
TAGS = st.sampled_from(["p", "div", "b", "I", "em", "span", "li", "noscript", "template", "object", "H1"])
SINGLE = st.sampled_from(
    [
        "<br>",
        "<br/>",
        "<!-- no > -- <p> -->",
        "<!DOCTYPE html>",
        "<script>if (a < b) '<p>'</script>",
        "<style>p > a {}</STYLE >",
        "<?php x ?>",
        "<img alt='x > y'>",
        "<svg><path d='M'/><text>no</text></svg>",
    ]
)
PAGES = st.recursive(
    WORDS | SINGLE,
    lambda inner: st.builds(
        lambda tag, attributes, parts: f"<{tag}{attributes}>{''.join(parts)}</{tag.upper()} >",
        *(TAGS, ATTRIBUTES, st.lists(inner, max_size=4)),
    ),
    max_leaves=20,
)

# Each of them, many times over, is never closed, or closes what was never opened.
HOSTILE = [
    "<!--",
    "<!-->",
    "<!--->",
    "<!-- a -",
    "<!-- a --!",
    "<!",
    "<!a",
    "<![CDATA[",
    "<![if",
    "<!doctype ",
    "<?",
    "<?xml ",
    "<script>",
    "<script ",
    "<script></script",
    "<style>",
    "<style></styl",
    "<title>",
    "<title></titl",
    "<textarea>",
    "<xmp>",
    "<iframe>",
    "<noembed>",
    "<plaintext>",
    "<svg>",
    "<svg><script>",
    "<svg></noscript>",
    "<head>",
    "<noscript>",
    "<",
    "< ",
    "<a",
    "<a ",
    "<a b",
    "<a b=",
    '<a b="',
    "<a b='c\"",
    "<a b = ",
    "<a/",
    "<a=",
    "<a\n\n",
    "</",
    "</a",
    "</a ",
    "</a b='",
    "</>",
    "</a>",
    "</script>",
    "<div>",
    "<b><p>",
    "<a>",
    "&",
    "&#",
    "&#x",
    "&#9",
    "&a",
    "&amp",
    "&amp;",
    ">",
    "-->",
    "]]>",
    '"',
    "\0",
    " ",
    "\n",
    "<p ",
    "<body>",
    "<template></template>",
    "<svg/>",
    "<object></object><svg></svg>",
]


@given(st.lists(PAGES, max_size=5).map("".join))
def test_well_formed_pages_are_read_as_by_the_twin(page: str) -> None:
    assert visible_text(page) == twin.visible(page)


@given(st.lists(st.sampled_from(HOSTILE) | st.text("<>/!-&#;=\"' ab", max_size=9), max_size=12).map("".join))
def test_no_page_raises_and_what_stands_in_front_is_there(page: str) -> None:
    assert visible_text(f"<p>hello world</p>{page}").startswith("hello world")


class Counting(visible._PageReader):
    """A reader that counts the characters it looks at."""

    looked = 0

    def _find(self, what: str, at: int) -> int:
        found = super()._find(what, at)
        Counting.looked += 1 + found - at
        return found

    def _search(self, pattern: re.Pattern[str], at: int) -> tuple[int, int]:
        found = super()._search(pattern, at)
        Counting.looked += 1 + found[1] - at
        return found

    def _text(self, start: int, end: int, *, references: bool = True) -> None:
        super()._text(start, end, references=references)
        Counting.looked += 1 + end - start


@pytest.mark.parametrize("part", HOSTILE)
def test_every_character_is_looked_at_a_few_times(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found, and taken as text, as a tag or as white space between attributes; and a step for each call."""
    monkeypatch.setattr(visible, "_PageReader", Counting)
    page = "<p>hello" + 500 * part
    monkeypatch.setattr(Counting, "looked", 0)
    visible_text(page)
    assert Counting.looked <= 6 * len(page) + 20


def test_hidden_elements_are_closed_in_as_many_steps_as_they_were_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is taken off the pile once, whatever end tags come."""
    hidden = visible._Hidden()
    taken = 0

    class Pile(list[str]):
        def __getitem__(self, place: object) -> list[str]:  # type: ignore[override]
            nonlocal taken
            found = super().__getitem__(place)  # type: ignore[call-overload]
            taken += len(found)
            return list(found)

    monkeypatch.setattr(hidden, "_open", Pile())
    for _ in range(300):
        hidden.push("svg")
        hidden.pop("noscript")
    hidden.push("noscript")
    hidden.pop("noscript")
    assert "svg" in hidden
    hidden.pop("svg")
    assert not hidden
    assert "svg" not in hidden
    assert taken == 301


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("one<!-- two", "one"),
        ("one<!-->two<!--->three<!-- a --!>four", "onetwothreefour"),
        ("one<script>two", "one"),
        ("one<script>a</scriptx></SCRIPT >two", "one\ntwo"),
        ("one<a href='two>three", "one"),
        ("one<a href='>'>two</a>", "onetwo"),
        ("one < two & three <3 </3>four", "one < two & three <3 four"),
        ("one<![CDATA[two]]>three", "onethree"),
        ("<head>no<body>one", "one"),
        ("<textarea><b>&amp;</textarea>one", "<b>&\none"),
        ("one<svg><style><p>no</style></svg>two", "one\ntwo"),
        ("one<svg/>two", "one\ntwo"),
        ("one&#" + "9" * 5000 + ";two&#x" + "f" * 30 + "three", "one\ufffdtwo\ufffdthree"),
        ("one<p/>two<br/>three", "one\ntwo\nthree"),
        ("one<plaintext>two</plaintext>&amp;", "one\ntwo</plaintext>&amp;"),
    ],
)
def test_what_is_never_closed_or_odd_is_read_as_browsers_do(page: str, text: str) -> None:
    assert visible_text(page) == text
