"""The page: one file, complete, safe with any text, and there for any report."""

from __future__ import annotations

import base64
import copy
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from lookalike.report.page import page
from tests.report.page.example import HOSTILE, hostile_report, rich_report
from tests.report.page.outline import Outline

RICH, HOSTILE_PAGE = page(rich_report()), page(hostile_report())
SECTIONS = ["warnings", "certificate", "sources", "spread", "curve", "clusters", "pairs", "cost", "method", "command"]


def replaced(value: Any, old: dict[str, str]) -> Any:
    """The value with texts exchanged at every depth, in keys too."""
    if isinstance(value, str):
        for text, new in old.items():
            value = value.replace(text, new)
        return value
    if isinstance(value, list):
        return [replaced(each, old) for each in value]
    if isinstance(value, dict):
        return {replaced(key, old): replaced(each, old) for key, each in value.items()}
    return value


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every field stands; of a list the first item is enough."""
    if at:
        yield at
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths(each, (*at, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*at, 0))


def put(report: Any, at: tuple[Any, ...], value: object) -> None:
    """Set the field; nothing happens where what it stood in is no longer there."""
    with suppress(KeyError, IndexError, TypeError):
        for key in at[:-1]:
            report = report[key]
        report[at[-1]] = copy.deepcopy(value)


def test_a_rich_report_has_every_section_and_a_link_to_each() -> None:
    outline = Outline(RICH)
    sections = [value for element, name, value in outline.attributes if element == "section" and name == "id"]
    assert sections == SECTIONS
    assert [value for value in outline.values("href") if value.startswith("#")] == [f"#{each}" for each in SECTIONS]


def test_the_figures_of_the_report_are_on_the_page() -> None:
    report, text = rich_report(), Outline(RICH).text
    for key in ("items", "rows", "kept", "removed", "pairs", "clusters", "candidates", "identical", "largest_bucket"):
        assert f"{report[key]:,}" in text, key
    for said in ("16 bands of 6 rows", "15 November 2026", "Found 229,406 pairs at ≥ 0.8", "209 of 210", "1,200"):
        assert said in text, said
    for row in report["sources"]["rows"]:
        assert row["name"] in text
    assert report["command"] in text
    assert all(warning in text for warning in report["warnings"])


def test_a_page_is_smaller_than_a_megabyte() -> None:
    assert len(RICH.encode()) < 200_000
    report = rich_report(files=5000)
    for pair in report["sample_pairs"]:
        for side in "ab":
            pair[side]["text"] = "< & > " * 20_000
            pair[f"marks_{side}"] = [[at, at + 1] for at in range(0, 20_000, 2)]
    for cluster in report["largest_clusters"]:
        cluster["kept"]["text"] = "x" * 100_000
    assert len(page(report).encode()) < 1_000_000


def test_the_same_report_gives_the_same_page_and_stays_as_it_is() -> None:
    report = rich_report()
    before = copy.deepcopy(report)
    assert page(report) == RICH == page(json.loads(json.dumps(report)))
    assert report == before


def test_every_element_is_closed_and_every_id_is_used_once() -> None:
    for made in (RICH, HOSTILE_PAGE, page({})):
        outline = Outline(made)
        ids = outline.values("id")
        assert len(ids) == len(set(ids))
        assert set(outline.values("aria-labelledby")) <= set(ids)


def test_headings_go_down_one_level_at_a_time() -> None:
    levels = [int(each[1]) for each in Outline(RICH).elements if re.fullmatch("h[1-6]", each)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_tables_have_heads_and_charts_say_what_they_show() -> None:
    outline = Outline(RICH)
    assert outline.elements.count("caption") == outline.elements.count("table") > 4
    assert set(outline.values("scope")) == {"col", "row"}
    drawings = RICH.split("<svg")[1:]
    for drawing in drawings:
        head = drawing.split(">")[0]
        assert "aria-label=" in head or "aria-hidden=" in head or 'class="stretch"' in head


def test_the_policy_allows_what_stands_in_the_page_and_nothing_else() -> None:
    outline = Outline(HOSTILE_PAGE)
    policy = next(value for value in outline.values("content") if "default-src" in value)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for element, rule in (("style", "style-src"), ("script", "script-src")):
        inside = [data for where, data in outline.texts if where == element]
        assert len(inside) == 1
        digest = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
        assert rules.pop(rule) == f"'sha256-{digest}'"
    assert rules == {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}


@pytest.mark.parametrize("made", [RICH, HOSTILE_PAGE], ids=["rich", "hostile"])
def test_nothing_in_the_page_reaches_outside(made: str) -> None:
    outline = Outline(made)
    assert all(value.startswith("#") or value == "data:," for value in outline.reaches)
    assert not {"img", "iframe", "object", "embed", "form", "base", "use", "image", "a:href"} & set(outline.elements)
    assert not any(name.startswith("on") or name == "style" for _, name, _ in outline.attributes)
    own = "".join(data for element, data in outline.texts if element in ("style", "script"))
    assert not re.search(r"https?:|//\w|url\(|@import|fetch\(|XMLHttpRequest|import\(", own)


def test_the_elements_of_a_page_are_the_same_whatever_its_texts_say() -> None:
    harmless = {text: "x" * len(text) for text in HOSTILE}
    pages = page(replaced(hostile_report(), harmless)), HOSTILE_PAGE
    # Which words differ, and so are marked, and where a name may be broken goes by the texts.
    plain, hostile = ([each for each in Outline(one).elements if each not in ("mark", "wbr")] for one in pages)
    assert plain == hostile


def test_hostile_texts_are_there_to_be_read() -> None:
    text = Outline(HOSTILE_PAGE).text
    for each in (
        "<script>alert(document.domain)</script>",
        "&lt;b&gt; &amp;amp;",
        "␀␁␛[31m",
        "مرحبا بالعالم",
        "👩‍👩‍👧‍👦",
    ):
        assert each in text
    HOSTILE_PAGE.encode()


@pytest.mark.parametrize(
    ("report", "title"),
    [
        ({}, "A run without numbers"),
        ({"items": 5}, "5 items"),
        ({"items": 1, "unit": "document", "kept": 1}, "1 of 1 document kept"),
        ({"items": 5, "unit": "line", "kept": 3}, "3 of 5 lines kept"),
        ({"items": 5, "pairs": 1}, "1 pair among 5 items"),
        ({"items": 5, "pairs": 7, "clusters": 2}, "2 clusters among 5 items"),
        ({"pairs": 2000}, "2,000 pairs"),
        ({"kept": 4}, "4 items kept"),
    ],
)
def test_the_title_fits_the_kind_of_run(report: dict[str, Any], title: str) -> None:
    outline = Outline(page(report))
    assert [data for element, data in outline.texts if element == "h1"] == [title]
    assert [data for element, data in outline.texts if element == "title"] == [f"{title} · lookalike"]


@pytest.mark.parametrize("key", sorted(rich_report()))
def test_any_field_may_be_absent(key: str) -> None:
    report = rich_report()
    del report[key]
    Outline(page(report))


JUNK: tuple[object, ...] = (
    *(None, "", "text", [], {}, [None], [{}], [[]], {"a": {}}),
    *(0, -1, 2.5, True, float("nan"), float("inf"), 10**30),
)


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_field_can_break_the_page(junk: object) -> None:
    report = rich_report(files=3)
    report["largest_clusters"], report["sample_pairs"] = report["largest_clusters"][:1], report["sample_pairs"][:1]
    places = list(paths(report))
    # Every eighth field at once: a page for each field would take minutes.
    for start in range(8):
        changed = copy.deepcopy(report)
        for at in places[start::8]:
            put(changed, at, junk)
        Outline(page(changed))


def test_a_field_that_the_page_does_not_know_is_shown_all_the_same() -> None:
    text = Outline(page(rich_report() | {"shards_lost": 3471, "engine_of_the_run": "spark"})).text
    assert "shards lost3,471" in text
    assert "engine of the runspark" in text
