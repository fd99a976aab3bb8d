"""The page of a tuning: the proposal, the curves, and the pairs, by the parts of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lookalike.report.page.tuning_page import tuning_page
from tests.report.page.browser import chromium, open_browser
from tests.report.page.example import HOSTILE
from tests.report.page.outline import Outline


def agreement(threshold: float) -> dict[str, Any]:
    precision, recall = threshold, 1.0 - threshold
    f1 = 2 * precision * recall / (precision + recall)
    ends = {f"{name}_interval": (value - 0.01, value + 0.01) for name, value in (("precision", precision), ("f1", f1))}
    return {"threshold": threshold, "pairs": 1000, "precision": precision, "recall": recall, "f1": f1} | ends


def trial(shingle: str | None, *, truth: bool = True) -> dict[str, Any]:
    thresholds = [round(0.05 * step, 2) for step in range(1, 20)]
    return {
        "shingle": shingle,
        "threshold": 0.55,
        "why": "gap",
        "reason": "there is a clear gap at 0.55",
        "matched": 0.6,
        "alike_at_random": 0.08,
        "nearest": [5, *[0] * 10, 40, *[0] * 7, 55],
        "agreements": [agreement(each) for each in thresholds] if truth else [],
    }


def pair(similarity: float, a: str = "one two three", b: str = "one two four") -> dict[str, Any]:
    marks = {"marks_a": [[0, 7]], "marks_b": [[0, 7]]}
    return {"a": {"id": "x", "text": a}, "b": {"id": "y", "text": b}, "similarity": similarity} | marks


def tuned(*, truth: bool = True) -> dict[str, Any]:
    return {
        "lookalike": "0.1.0",
        "items": 100,
        "sampled": 100,
        "words": 12.0,
        "noun": "item",
        "form": "text",
        "measure": "jaccard",
        "options": {"measure": "jaccard", "shingle": "char:4", "threshold": 0.5},
        "reason": "best agreement with the known matches: F1 0.500" if truth else "there is a clear gap at 0.50",
        "matched": 0.7,
        "truth": 321 if truth else None,
        "notes": ["only the first 100 rows were read"],
        "chosen": 1,
        "trials": [trial("word:2", truth=truth), trial("char:4", truth=truth)],
        "pairs": [pair(each) for each in (1.0, 0.9, 0.62, 0.5, 0.4996, 0.41)],
    }


def shown(data: dict[str, Any]) -> Outline:
    return Outline(tuning_page(data))


def test_the_proposal_its_reason_and_its_agreement_come_first() -> None:
    text = shown(tuned()).text
    for said in (
        "Threshold 0.50 with char:4",
        "Best agreement with the known matches: F1 0.500.",
        "with a match70.0%at 0.50",
        "F10.50095% interval 0.490 to 0.510",
        "recall0.50095% interval 0.500 to 0.500",
        "only the first 100 rows were read",
        "--shingle char:4 -t 0.50",
        "Held against 321 true pairs.",
    ):
        assert said in text


def test_curves_have_their_intervals_and_their_figures() -> None:
    outline = shown(tuned())
    drawn = outline.values("class")
    for name in ("f1", "precision", "recall"):
        assert drawn.count(f"agreement {name}") == drawn.count(f"interval-of {name}") == 1
    assert "0.2500.240 to 0.260" in outline.text


def test_without_a_truth_there_are_no_curves() -> None:
    outline = shown(tuned(truth=False))
    assert "There is a clear gap at 0.50." in outline.text
    assert not {"By the truth", "best F1"} & {data for _, data in outline.texts}
    assert "agreement f1" not in outline.values("class")


def test_items_without_a_shingle_have_none_in_the_table_of_what_was_tried() -> None:
    data = tuned(truth=False) | {"chosen": 0, "trials": [trial(None, truth=False)]}
    outline = shown(data)
    assert "–0.5560.0%0.08" in outline.text
    assert "as they are" not in outline.text


def test_bars_from_the_threshold_on_are_apart_from_those_below() -> None:
    drawn = shown(tuned()).values("class")
    assert (drawn.count("column curve"), drawn.count("column quiet")) == (10, 10)
    assert "0.55 to 0.60: 40 items" in shown(tuned()).text


def test_pairs_are_parted_by_the_threshold_and_those_next_to_it_are_open() -> None:
    outline = shown(tuned())
    text = outline.text[outline.text.index("Those next to the threshold") :]
    assert text.index("From 0.50 up") < text.index("0.62") < text.index("Below 0.50") < text.index("below0.41")
    # Rounded it would be on the other side.
    assert "belowjust below 0.50" in text
    assert outline.values("open") == [""] * 4
    assert {data for element, data in outline.texts if element == "mark"} == {"marked", "three", "four"}


def test_pictures_are_shown() -> None:
    picture = "data:image/jpeg;base64,/9j/"
    data = tuned(truth=False) | {"form": "vectors", "noun": "picture"}
    data["pairs"] = [{"a": {"id": 1, "picture": picture}, "b": {"id": 2, "picture": picture}, "similarity": 0.7}]
    outline = shown(data)
    assert outline.values("src") == [picture] * 2
    assert "marked" not in outline.text


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_become_elements(text: str) -> None:
    data = tuned() | {"reason": text, "notes": [text], "noun": text, "measure": text}
    data["options"] |= {"shingle": text}
    data["pairs"] = [pair(0.9, text, text)]
    data["pairs"][0]["a"]["id"] = text
    for each in data["trials"]:
        each |= {"shingle": text, "reason": text}
    outline = shown(data)
    assert outline.elements.count("script") == 1
    assert [address for address in outline.reaches if not address.startswith(("data:,", "#"))] == []


def test_a_page_of_nothing_is_a_page() -> None:
    assert "Threshold 0.00" in shown({}).text


@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")
def test_the_page_is_silent_and_never_wider_than_its_window(tmp_path: Path) -> None:
    file = tmp_path / "tune.html"
    file.write_text(tuning_page(tuned()), encoding="utf-8")
    program = chromium()
    assert program is not None
    with open_browser(program, tmp_path / "profile") as browser:
        for width in (320, 400, 1280):
            browser.visit(file, width=width)
            browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            assert browser.complaints() == []
        browser.visit(file, width=400)
        table = "document.querySelector('.scroll:has(.tried)')"
        assert browser.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")
