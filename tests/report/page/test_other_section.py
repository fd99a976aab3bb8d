"""Where items are removed only for those of another collection, the page speaks of these alone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import lookalike
from lookalike.report.page.document import page

QUESTION = "which planet of the solar system has the most moons of all of them"


def shown(**more: Any) -> str:
    """The words of the page of a run with two identical documents, of which one other contains a question."""
    own = {"a": "one two three four five six", "b": "one two three four five six", "c": f"Quiz! {QUESTION} Answers"}
    own |= more
    result = lookalike.dedup(
        own, against={"q1": QUESTION, "q2": "who wrote the odyssey and why"}, only_against=True, measure="containment"
    )
    text = page(json.loads(json.dumps(result.full_report())))
    return re.sub(r"\s+", " ", re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL))


def test_copies_that_are_kept_are_not_told_as_removed() -> None:
    text = shown().replace("\N{NO-BREAK SPACE}", " ")
    assert "One document was removed, matching an item of the other collection at containment ≥ 0.8." in text
    assert "identical copies 3" not in text and "removed as identical" not in text
    assert "Of the 2 documents kept, none matches the other collection" in text
    assert "1 item of the other collection found in the input." in text and "q1 1" in text


@pytest.mark.parametrize("found", [True, False])
def test_nothing_that_was_removed_is_told_as_that(found: bool) -> None:
    text = shown() if found else shown(c="nothing of the kind in this one at all")
    assert ("no document matches an item of the other collection" in text) == (not found)
    assert "no two documents" not in text
