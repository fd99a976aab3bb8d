"""The sections say what the data say: who lost what, what the certificate found, where to look."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lookalike.report.page.certificate_section import certificate
from lookalike.report.page.examples_section import largest_clusters, sample_pairs
from lookalike.report.page.headline import headline, warnings
from lookalike.report.page.layout import Section
from lookalike.report.page.run import command, cost, method
from lookalike.report.page.sources import sources
from lookalike.report.page.spread import curve, spread
from tests.report.page.example import rich_report
from tests.report.page.outline import Outline


def shown(section: Section | None) -> Outline:
    assert section is not None
    return Outline(section.markup())


def certified(**changes: Any) -> dict[str, Any]:
    report = rich_report()
    report["certificate"] |= changes
    return report


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "each verified to match the one kept in its place, at Jaccard similarity ≥ 0.8."),
        ({"cluster": "components"}, "each in one cluster with one that was kept, linked by pairs at Jaccard"),
        ({"verify": "none"}, "without its exact similarity"),
        ({"measure": "identity"}, "each identical to one that was kept"),
        ({"kept": 5, "items": 5, "removed": 0}, "Nothing was removed: no two documents match at Jaccard"),
        ({"removed": 1}, "One document was removed, verified to match"),
    ],
)
def test_the_headline_says_what_a_removed_item_was(changes: dict[str, Any], said: str) -> None:
    assert said in Outline(headline(rich_report() | changes)).text


def test_the_bar_tells_identical_copies_from_near_duplicates() -> None:
    counts = {"items": 100, "kept": 70, "removed": 30, "identical": 10}
    text = Outline(headline(rich_report() | counts)).text
    assert "20 removed as near-duplicates20.0%" in text
    assert "10 removed as identical copies10.0%" in text
    # More copies than removed items: they were compared in groups, and the bar does not guess.
    assert "30 removed30.0%" in Outline(headline(rich_report() | counts | {"identical": 60})).text
    assert "near-duplicates" not in Outline(headline({"items": 4, "kept": 3, "removed": 1, "identical": 1})).text


def test_warnings_are_counted_and_endless_ones_are_cut() -> None:
    outline = shown(warnings({"warnings": ["x" * 5000, *(f"number {each}" for each in range(150))]}))
    assert outline.text.startswith("151 warnings" + "x" * 1000 + " …")
    assert outline.text.endswith("and 51 more in report.json")
    assert warnings({"warnings": []}) is None


def test_the_certificate_shows_its_statement_three_parts_and_both_intervals() -> None:
    outline = shown(certificate(rich_report()))
    for said in ("Found 229,406 pairs at ≥ 0.8; estimated recall 0.994", "The estimate", "The band test", "The audit"):
        assert said in outline.text
    labels = outline.values("aria-label")
    assert "0.9940, 95% interval 0.9910 to 0.9970" in labels
    assert "0.9952, 95% interval 0.9738 to 0.9999" in labels
    assert "about 1,200 (95% interval 300 to 2,600) still have a near-duplicate" in outline.text
    assert "3 sampled items had more matches than the audit checks" in outline.text
    assert "1 pair that only the audit found" in outline.text


def test_a_band_out_of_line_is_named_and_drawn_in_another_colour() -> None:
    bands = {"hits": [100, 0, 101], "expected": 100.0, "z": [0.0, -10.0, 0.1], "suspicious": [1]}
    report = certified(bands=bands)
    assert "1 of 3 suspicious" in shown(certificate(report)).text
    drawn = shown(curve(report))
    assert "band 2: 0 hits" in drawn.text
    assert drawn.values("class").count("column bad") == 2
    assert "column bad" not in shown(curve(rich_report())).values("class")


def test_an_audit_below_the_estimate_is_said() -> None:
    audit = {"sampled": 1000, "pairs": 200, "found": 150, "recall": 0.75, "low": 0.68, "high": 0.81}
    recall = {"recall": 0.75, "low": 0.68, "high": 1.0, "contradiction": True}
    assert "lost for another reason than the plan" in shown(certificate(certified(audit=audit, recall=recall))).text
    assert "something other" not in shown(certificate(rich_report())).text


def test_without_pair_recall_the_statement_is_about_items() -> None:
    outline = shown(certificate(rich_report() | {"certificate": {"left": {"items": 0, "low": 0, "high": 3}}}))
    assert "probably none (95% interval 0 to 3) still has a near-duplicate." in outline.text
    assert "The estimate" not in outline.text
    assert "svg" not in outline.elements


def test_where_every_pair_was_compared_nothing_is_left() -> None:
    outline = shown(certificate(rich_report() | {"certificate": {"left": {"items": 0, "low": 0, "high": 0}}}))
    assert "none has a near-duplicate left: every pair was compared." in outline.text


def test_an_audit_without_pairs_says_so() -> None:
    assert "no pairs" in shown(certificate({"certificate": {"audit": {"sampled": 12, "pairs": 0, "found": 0}}})).text


def test_sources_are_ordered_by_what_they_lost_folded_and_counted() -> None:
    rows = [{"name": f"s{number:03}", "items": 1000, "kept": 1000 - number % 500} for number in range(600)]
    outline = shown(sources({"sources": {"by": "site", "rows": rows, "left_out": 7}}))
    names = [data for element, data in outline.texts if element == "bdi"]
    assert names[:3] == ["s499", "s498", "s497"]
    assert len(names) == 300
    assert outline.elements.count("details") == 1
    assert "280 more" in outline.text
    assert "307 sources with fewer removed items not shown." in outline.text
    assert "value of “site”" in outline.text


def test_few_sources_are_not_folded() -> None:
    rows = [{"name": f"s{number}", "items": 10, "kept": 4, "removed": 6} for number in range(20)]
    assert "details" not in shown(sources({"sources": {"by": "file", "rows": rows}})).elements


def test_cluster_sizes_and_similarities_add_up() -> None:
    report = rich_report()
    text = shown(spread(report)).text
    clusters = sum(row["clusters"] for row in report["cluster_sizes"])
    items = sum(row["items"] for row in report["cluster_sizes"])
    assert f"{clusters:,} clusters of two or more hold {items:,} documents." in text
    assert f"{report['pairs']:,} pairs found, at or above the threshold 0.8." in text
    assert "logarithmic" not in text


def test_a_logarithmic_axis_is_said() -> None:
    report = rich_report()
    report["similarities"].append({"from": 1.0, "to": 1.0, "pairs": 50_000_000})
    assert "The vertical axis is logarithmic." in shown(spread(report)).text


def test_every_measured_point_is_on_both_curves_with_its_error_bar() -> None:
    report = rich_report()
    outline = shown(curve(report))
    assert outline.values("class").count("measured") == 2 * len(report["curve"])
    assert "threshold 0.8" in outline.text
    assert "a pair at the threshold becomes a candidate with probability 0.9923" in outline.text


@pytest.mark.parametrize(
    "changes", [{"measure": "identity"}, {"bands": None}, {"threshold": 7.0}, {"rows_per_band": 0}]
)
def test_without_a_plan_there_is_no_curve(changes: dict[str, Any]) -> None:
    report = rich_report() | changes
    del report["certificate"]
    assert curve(report) is None


def test_a_curve_without_points_is_drawn_once() -> None:
    report = rich_report() | {"curve": [], "certificate": {}}
    outline = shown(curve(report))
    assert outline.elements.count("figure") == 1
    assert "measured points lie off" not in outline.text


def test_clusters_show_the_kept_item_and_how_many_more_there_are() -> None:
    outline = shown(largest_clusters(rich_report()))
    assert outline.elements.count("details") == 10
    assert "crawl/part-0003.parquet row 17,204" in outline.text
    assert "and 508 more" in outline.text
    assert "of all" not in outline.text
    big = rich_report() | {"items": 5000}
    assert "documents, 10.2% of all" in shown(largest_clusters(big)).text


def test_pairs_stand_side_by_side_with_their_differences_marked() -> None:
    report = rich_report()
    outline = shown(sample_pairs(report))
    assert outline.elements.count("article") == 24
    pair = report["sample_pairs"][0]
    marked = [data for element, data in outline.texts if element == "mark"]
    text, shared = pair["a"]["text"], {place for low, high in pair["marks_a"] for place in range(low, high)}
    apart = [each for each in re.finditer(r"\w+", text) if not shared & set(range(*each.span()))]
    assert apart and all(any(each.group() in piece for piece in marked) for each in apart[:5])
    assert not any(text[low:high] in piece for piece in marked for low, high in pair["marks_a"])
    assert [value for element, name, value in outline.attributes if (element, name) == ("details", "open")] == [""] * 3


def test_pairs_that_missed_the_threshold_are_labelled_and_no_results() -> None:
    report = rich_report()
    near = report["sample_pairs"][0] | {"similarity": 0.7996}
    outline = shown(sample_pairs(report | {"near_misses": [near | {"similarity": 0.71}, near]}))
    assert "These were compared and are below the threshold of 0.8: they are no results." in outline.text
    assert "not matched0.71" in outline.text
    assert "not matchedjust below 0.80" in outline.text
    assert "missed" not in shown(sample_pairs(report)).text
    assert "not matched" not in shown(sample_pairs(report | {"near_misses": []})).text


def test_of_distances_they_are_beyond_the_largest() -> None:
    near = {"a": {"id": 1, "text": "1, 2"}, "b": {"id": 2, "text": "1, 3"}, "distance": 2.1}
    text = shown(sample_pairs({"told_as": "distance", "threshold": 2.0, "form": "vectors", "near_misses": [near]})).text
    assert "Pairs that just missed." in text
    assert "beyond the largest distance of 2" in text
    assert "similar" not in text


def test_pictures_are_shown_as_pictures_and_nothing_else_as_such() -> None:
    picture = "data:image/jpeg;base64,/9j/4AAQ=="
    pair: dict[str, Any] = {
        "a": {"id": "a.png", "picture": picture},
        "b": {"id": "b.png", "text": "b.png cannot be shown"},
        "similarity": 0.9,
    }
    outline = shown(sample_pairs({"sample_pairs": [pair], "form": "vectors"}))
    assert outline.values("src") == [picture]
    assert "b.png cannot be shown" in outline.text
    for wrong in ("https://evil.example/x.jpg", "data:image/svg+xml;base64,AA==", f"{picture}\n", "javascript:1"):
        pair["a"]["picture"] = wrong
        assert "img" not in shown(sample_pairs({"sample_pairs": [pair], "form": "vectors"})).elements


def test_a_text_of_which_only_the_beginning_is_known_says_so() -> None:
    pair = {"a": {"id": 1, "text": "one", "cut": True}, "b": {"id": 2, "text": "one"}, "similarity": 1.0}
    assert shown(sample_pairs({"sample_pairs": [pair]})).text.count("the rest is not shown") == 1


@pytest.mark.parametrize(
    ("similarity", "cut", "said"),
    [
        (0.9, False, "Both have the same words in the same order."),
        (0.9, True, "What is shown of both has the same words."),
        (1.0, False, ""),
    ],
)
def test_why_nothing_is_marked_is_said(similarity: float, cut: bool, said: str) -> None:
    a, b = {"id": 1, "text": "twenty-first"}, {"id": 2, "text": "twenty first", "cut": cut}
    pair = {"a": a, "b": b, "similarity": similarity, "marks_a": [[0, 12]], "marks_b": [[0, 12]]}
    text = shown(sample_pairs({"sample_pairs": [pair]})).text
    assert said in text
    assert text.count("words") == (1 if said else 0)


def test_members_of_a_cluster_show_what_the_kept_one_has_not() -> None:
    cluster = {
        "size": 2,
        "kept": {"id": 1, "text": "one two three"},
        "members": [{"id": 2, "text": "one two four", "similarity": 0.9, "marks": [[0, 7]]}],
    }
    outline = shown(largest_clusters({"largest_clusters": [cluster]}))
    assert [data for element, data in outline.texts if element == "mark"] == ["marked", "four"]


def test_files_that_are_one_item_each_are_no_sources() -> None:
    rows = [{"name": f"{number}.png", "items": 1, "kept": 1} for number in range(5)]
    assert sources({"sources": {"by": "file", "rows": rows}}) is None
    assert sources({"sources": {"by": "file", "rows": rows[:1]}}) is not None


def test_expected_and_actual_stand_beside_each_other() -> None:
    text = shown(cost(rich_report())).text
    for said in ("21.5 s24.0 s1.12 ×", "1.1 GB1.3 GB1.18 ×", "0 B0 B–", "reading and sketching8.2 s34.2%"):
        assert said in text


def test_the_method_lists_options_counts_and_inputs() -> None:
    text = shown(method(rich_report())).text
    for said in ("keepfirst", "normalizecase, unicode, whitespace", "spilledno", "24 input files", "rows read867,753"):
        assert said in text
    assert "idnone" in shown(method(rich_report() | {"id": None})).text


@pytest.mark.parametrize(("verify", "said"), [("sketch", "judged by their sketches"), ("none", "were not verified")])
def test_what_was_not_verified_is_said(verify: str, said: str) -> None:
    assert said in shown(method(rich_report() | {"verify": verify})).text


def test_a_command_can_be_copied_whole_or_not_at_all() -> None:
    assert shown(command(rich_report())).values("data-copy") == ["command-text"]
    long = shown(command({"command": "lookalike dedup " + "file.parquet " * 50_000}))
    assert "button" not in long.elements
    assert " …" in long.text


def test_stages_of_many_machines_show_their_tasks() -> None:
    report = rich_report()
    plain = shown(cost(report)).text
    assert "longest task" not in plain
    report["stages"][0] |= {"tasks": 17, "cpu_seconds": 61.0, "longest_task": 7.5, "bytes": 3_000_000, "most_bytes": 5}
    text = shown(cost(report)).text
    for each in ("longest task", "17", "61.0 s", "7.5 s", "3.0 MB"):
        assert each in text
