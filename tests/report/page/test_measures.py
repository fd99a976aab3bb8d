"""Pages of runs with every measure and form of items: what is nearer, what it is called, what there is to see."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.report.page import page
from tests.report.page.browser import chromium, open_browser
from tests.report.page.outline import Outline

ITEMS, COPIES = 300, 80


def _vectors() -> pa.Table:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(ITEMS, 24)).astype(np.float32)
    noise = rng.normal(size=(COPIES, 24)) * np.linspace(0.0, 0.5, COPIES)[:, None]
    vectors[-COPIES:] = vectors[:COPIES] + noise
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 24)
    return pa.table({"id": [f"v{number}" for number in range(ITEMS)], "vector": column})


def _broken() -> pa.Table:
    rows: list[Any] = _vectors()["vector"].to_pylist()
    rows[3], rows[5], rows[8] = None, rows[5][:7], [0.0] * 24
    return pa.table({"vector": pa.array(rows, pa.list_(pa.float32()))})


def _bits() -> pa.Table:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 256, (ITEMS, 32), dtype=np.uint8)
    bits[-COPIES:] = bits[:COPIES]
    bits[-COPIES:, 0] ^= np.arange(COPIES, dtype=np.uint8)
    return pa.table({"bits": pa.array([bytes(row) for row in bits], pa.binary(32))})


def _bags() -> pa.Table:
    rng = np.random.default_rng(3)
    bags = [{f"word{each}": 0.5 + rng.random() for each in rng.choice(2000, 20)} for _ in range(ITEMS - COPIES)]
    bags += [{word: weight * (0.95 + 0.1 * rng.random()) for word, weight in bag.items()} for bag in bags[:COPIES]]
    kind = pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float64())]))
    rows = [[{"element": word, "weight": weight} for word, weight in bag.items()] for bag in bags]
    return pa.table({"items": pa.array(rows, kind)})


def _sets() -> list[set[int]]:
    rng = np.random.default_rng(3)
    sets = [{int(each) for each in rng.choice(5000, 20, replace=False)} for _ in range(ITEMS - COPIES)]
    return [*sets, *(each - {min(each)} for each in sets[:COPIES])]


BANDS = {"bands": 20, "rows": 4}
RUNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "cosine": (_vectors, {"id": "id", "threshold": 0.9, "bands": 30, "rows": 10}),
    "cosine, all pairs": (_vectors, {"id": "id", "threshold": 0.9}),
    "euclidean": (_vectors, {"id": "id", "measure": "euclidean", "max_distance": 2} | BANDS),
    "euclidean, all pairs": (_vectors, {"id": "id", "measure": "euclidean", "max_distance": 2}),
    "manhattan": (_vectors, {"id": "id", "measure": "manhattan", "max_distance": 8} | BANDS),
    "lr:3": (_vectors, {"id": "id", "measure": "lr:3", "max_distance": 1.5}),
    "not compared": (_vectors, {"measure": "euclidean", "max_distance": 2, "verify": "none"} | BANDS),
    "hamming": (_bits, {"threshold": 0.9, "bands": 20, "rows": 10}),
    "weighted-jaccard": (_bags, {"measure": "weighted-jaccard"}),
    "sets": (_sets, {}),
    "broken": (_broken, {"threshold": 0.9, "skip_bad": True}),
}
DISTANCES = ["euclidean", "euclidean, all pairs", "manhattan", "lr:3"]
ALL_PAIRS = ["cosine, all pairs", "euclidean, all pairs", "lr:3"]


@cache
def report(name: str) -> dict[str, Any]:
    make, options = RUNS[name]
    found: dict[str, Any] = lookalike.dedup(make(), **options).full_report()
    return found


def shown(name: str) -> Outline:
    # As the page's data come from a file: no NaN, no numbers of NumPy.
    return Outline(page(json.loads(json.dumps(report(name), allow_nan=False))))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cosine", "to match the one kept in its place, at cosine similarity ≥ 0.9."),
        ("euclidean", "to match the one kept in its place, at Euclidean distance ≤ 2."),
        ("manhattan", "at Manhattan distance ≤ 8."),
        ("lr:3", "at L3 distance ≤ 1.5."),
        ("hamming", "at Hamming similarity ≥ 0.9."),
        ("weighted-jaccard", "at weighted Jaccard similarity ≥ 0.8."),
        ("sets", "at Jaccard similarity ≥ 0.8."),
        ("not compared", "without its exact distance."),
    ],
)
def test_the_headline_names_the_measure_and_its_direction(name: str, said: str) -> None:
    assert said in shown(name).text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cosine", "The items were compared as vectors of 24 components."),
        ("hamming", "The items were compared as strings of 256 bits."),
        ("weighted-jaccard", "The items were compared as sets with weights."),
        ("sets", "The items were compared as sets."),
    ],
)
def test_what_is_compared_is_said_in_words(name: str, said: str) -> None:
    outline = shown(name)
    assert said in outline.text
    for of_text in ("shingle", "normalize", "UTF-8", "document"):
        assert of_text not in outline.text


@pytest.mark.parametrize("name", DISTANCES)
def test_a_distance_is_nowhere_called_a_similarity(name: str) -> None:
    outline = shown(name)
    assert "imilarit" not in outline.text
    assert "≥" not in outline.text
    assert "<=" not in outline.text
    assert "max distance" in outline.text


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_are_counted_from_0_to_the_largest(name: str) -> None:
    data = report(name)
    bins, most = data["distances"], data["threshold"]
    assert (bins[0]["from"], bins[0]["to"]) == (0.0, 0.0)
    assert all(0.0 <= each["from"] <= each["to"] <= most for each in bins)
    assert [each["from"] for each in bins] == sorted(each["from"] for each in bins)
    assert sum(each["pairs"] for each in bins) == data["pairs"]
    assert (
        f"pairs found, up to the maximum distance {most:g}. The narrow column shows the 1 pair at 0."
        in shown(name).text
    )


@pytest.mark.parametrize("name", ["euclidean", "manhattan"])
def test_the_curve_of_a_distance_falls_and_has_its_measured_points(name: str) -> None:
    data, outline = report(name), shown(name)
    assert data["curve"]
    assert all(0.0 <= point["distance"] <= data["threshold"] for point in data["curve"])
    assert outline.values("class").count("measured") == 2 * len(data["curve"])
    assert (
        f"{data['bands']} bands of {data['rows_per_band']} rows, intervals of {data['width']:g}: a pair" in outline.text
    )
    assert "Up to the maximum distance, enlarged" in outline.text
    curves = [
        value
        for (element, key, value), (_, _, class_) in zip(outline.attributes, outline.attributes[1:], strict=False)
        if (element, key, class_) == ("polyline", "points", "curve")
    ]
    assert len(curves) == 2
    for points in curves:
        heights = [float(point.split(",")[1]) for point in points.split()]
        assert heights == sorted(heights)


@pytest.mark.parametrize("name", ALL_PAIRS)
def test_a_run_that_compares_all_pairs_has_no_curve_and_says_so(name: str) -> None:
    outline = shown(name)
    assert "curve" not in outline.values("id")
    assert "recall 1 (every pair was compared)" in outline.text
    assert "The plan: every pair compared" in outline.text
    assert "Every pair of vectors was compared, without sketches" in outline.text
    for absent in ("The estimate", "The band test", "bucket"):
        assert absent not in outline.text


@pytest.mark.parametrize("name", [name for name in RUNS if name != "not compared"])
def test_clusters_and_pairs_show_their_items_in_short(name: str) -> None:
    data, outline = report(name), shown(name)
    kind = data["told_as"]
    assert len(data["sample_pairs"]) == 12
    near = [pair[kind] for pair in data["sample_pairs"]]
    assert near == sorted(near, reverse=kind == "distance")
    held = [item["text"] for pair in data["sample_pairs"] for item in (pair["a"], pair["b"])]
    held += [item["text"] for each in data["largest_clusters"] for item in (each["kept"], *each["members"])]
    assert all(0 < len(text) < 500 for text in held)
    assert all(member[kind] >= 0.0 for each in data["largest_clusters"] for member in each["members"])
    assert {text for text in held if text in outline.text} == set(held)


def test_what_was_not_compared_has_no_distance() -> None:
    data, outline = report("not compared"), shown("not compared")
    assert {pair["distance"] for pair in data["sample_pairs"]} == {None}
    assert "not compared" in outline.text
    assert "Distances" not in outline.text


def test_sets_and_bits_mark_what_they_share() -> None:
    first = report("sets")["sample_pairs"][0]
    marked = {first["a"]["text"][begin:end] for begin, end in first["marks_a"]}
    assert marked == set(first["a"]["text"].split(", ")) & set(first["b"]["text"].split(", "))
    pair = report("hamming")["sample_pairs"][0]
    for begin, end in pair["marks_a"]:
        assert pair["a"]["text"][begin:end] == pair["b"]["text"][begin:end]
    assert "What only one of the two has is " in shown("hamming").text
    assert "is marked" not in shown("cosine").text


def test_items_that_cannot_be_compared_are_counted_and_named() -> None:
    data, text = report("broken"), shown("broken").text
    assert data["bad_items"] == 2
    assert "bad itemscannot be compared: kept, without a match2" in text
    assert "2 items cannot be compared: kept, without a match" in text
    assert "Items that cannot be compared: examples" in text
    assert all(example in text for example in data["skipped_examples"])


@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")
def test_pages_of_all_measures_fit_a_phone_and_complain_about_nothing(tmp_path: Path) -> None:
    program = chromium()
    assert program is not None
    with open_browser(program, tmp_path / "profile") as browser:
        for number, name in enumerate(RUNS):
            file = tmp_path / f"{number}.html"
            file.write_text(page(report(name)), encoding="utf-8")
            browser.visit(file, width=360)
            browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert browser.evaluate("document.documentElement.scrollWidth") <= 360, name
            assert browser.complaints() == [], name
