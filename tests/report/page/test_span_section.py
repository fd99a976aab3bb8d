"""The page of a run that cut spans: its head, its longest spans, and what it does without some of the figures."""

from __future__ import annotations

import re
from typing import Any

from lookalike.report.page import page

REPORT: dict[str, Any] = {
    "inputs": ["a.jsonl"],
    "items": 10,
    "removed": 1,
    "span_words": 50,
    "words": 1000,
    "bytes": 6000,
    "spans": 3,
    "spanned_documents": 2,
    "words_removed": 250,
    "bytes_removed": 1500,
    "largest_spans": [
        {
            "words": 90,
            "cut": {"id": "<b>", "word": 4, "begin": 20},
            "kept": {"id": "d1", "word": 0, "begin": 0},
            "text": "<script>alert(1)</script> and more",
        }
    ],
}


def shown(report: dict[str, Any]) -> str:
    """The words of the page, without its tags."""
    body = page(report).partition("<main")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_the_head_tells_words_and_documents() -> None:
    text = shown(REPORT)
    assert "3 spans cut out of 2 of 10 documents" in text
    assert "Every run of at least 50 words that stands somewhere earlier, too, was cut" in text
    assert "750 words kept" in text
    assert "1.5 kB of 6.0 kB" in text


def test_the_longest_spans_are_shown_as_what_they_are() -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt; and more" in page(REPORT)
    assert "90 words of &lt;b&gt;" in shown(REPORT)
    assert "first in d1 0 0" in shown(REPORT)


def test_a_run_that_cut_nothing_says_so() -> None:
    text = shown({"spans": 0, "span_words": 50, "items": 3, "words": 0, "words_removed": 0})
    assert "0 spans cut out of" in text
    assert "Nothing was cut: no 50 words in a row stand somewhere earlier, too." in text


def test_what_is_not_there_is_left_out() -> None:
    assert "1 span cut out of" in shown({"spans": 1})


def test_spans_of_another_collection_are_told_as_such() -> None:
    assert "stands in the other collection, too, was cut" in shown(REPORT | {"only_against": True})
