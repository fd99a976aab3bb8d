"""The nearest among items of every form, by every measure: those of all pairs, with their scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import InputError, OptionError
from tests.engines.local.test_across import CASES, halves
from tests.engines.packed.test_other_measures import bags, bits, vectors

# What all pairs that share anything are found by, and what the search takes of it.
WHOLE: dict[str, dict[str, Any]] = {
    "text": {"threshold": 1e-9, "shingle": "word:2"},
    "weighed text": {"measure": "cosine", "weights": "tf-idf", "shingle": "word:1", "threshold": 1e-9},
    "counted text": {"measure": "weighted-jaccard", "weights": "count", "shingle": "word:1", "threshold": 1e-9},
    "sets": {"threshold": 1e-9},
    "containment": {"measure": "containment", "threshold": 1e-9, "shingle": "word:1"},
    "cosine of bags": {"measure": "cosine", "threshold": 1e-9},
    "bags": {"measure": "weighted-jaccard", "threshold": 1e-9},
    "hamming": {"measure": "hamming", "threshold": 1e-9},
    "euclidean": {"measure": "euclidean", "max_distance": 1e6},
    "lr": {"measure": "lr:3", "max_distance": 1e6},
}
MADE = {
    "weighed text": CASES["text"][0], "counted text": CASES["text"][0], "cosine of bags": bags, "bags": bags,
    "hamming": bits, "euclidean": vectors, "lr": vectors,
}  # fmt: skip


def ranked(table: pa.Table, column: str, names: list[str], others: list[str], k: int) -> dict[str, list[float]]:
    """The best k scores of each item, by all pairs."""
    sign = 1 if column == "distance" else -1
    scores: dict[str, list[float]] = {name: [] for name in names}
    for a, b, score in zip(table["a"].to_pylist(), table["b"].to_pylist(), table[column].to_pylist(), strict=True):
        for one, other in ((a, b), (b, a)):
            if one in scores and other in others:
                scores[one].append(score)
    return {name: sorted(each, key=lambda score: sign * score)[:k] for name, each in scores.items()}


# Weights of searched documents go by these alone, and those of all pairs by both collections.
ASKED = [(case, among) for case in WHOLE for among in (True, False) if among or case != "weighed text"]


@pytest.mark.parametrize(("case", "among"), ASKED)
def test_the_scores_are_those_of_the_best_of_all_pairs(case: str, among: bool) -> None:
    """Which of two items with one score comes first is another matter: the one with the smaller number."""
    own, other = halves((MADE[case] if case in MADE else CASES[case][0])())
    options = WHOLE[case] | {"column": "item", "id": "id"}
    pairs = lookalike.pairs(own, **options) if among else lookalike.pairs(own, against=other, **options)
    assert pairs.plan is None or pairs.plan.exhaustive
    column = pairs.found.config.scale.column
    names = own["id"].to_pylist()
    expected = ranked(pairs.table, column, names if among else other["id"].to_pylist(), names, 6)
    searching = {name: value for name, value in options.items() if name not in ("threshold", "max_distance")}
    result = lookalike.neighbors(own, None if among else other, k=6, recall=1.0, **searching)
    found: dict[str, list[float]] = {}
    for row in result.table.to_pylist():
        found.setdefault(row["query"], []).append(row[column])
    assert {name: scores for name, scores in expected.items() if name in found} == found
    # Empty items are alike as pairs, and nobody's neighbours.
    assert sum(name not in found for name, scores in expected.items() if scores) <= 6
    assert len(found) > 20


def test_weights_go_by_the_documents_that_are_searched() -> None:
    texts = ["the cat sat", "the dog sat", "the cat ran", "the bird flew"]
    options: dict[str, Any] = {"measure": "cosine", "shingle": "word:1", "k": 3}
    among = lookalike.neighbors(texts, **options)
    asked = lookalike.neighbors(texts, texts[:1], **options)
    row, *rest = asked.table.to_pylist()
    assert row["id"] == 0 and row["similarity"] == pytest.approx(1.0)
    mine = [each for each in among.table.to_pylist() if each["query"] == 0][: len(rest)]
    assert [each["similarity"] for each in rest] == [each["similarity"] for each in mine]


def test_what_shares_nothing_is_no_neighbour_and_empty_items_are_left_out() -> None:
    result = lookalike.neighbors(["a b", "b c", "d", "", None, "!"], shingle="word:1", k=2)
    assert [tuple(row.values()) for row in result.table.to_pylist()] == [(0, 1, 1, 1 / 3), (1, 1, 0, 1 / 3)]
    assert result.headline == "3 queries among 3 items by Jaccard similarity: exact, by the elements that are shared"
    assert result.notes == [
        "3 items skipped: empty or without a shingle",
        "3 queries with fewer than 2 neighbours: no other item shares anything",
    ]
    assert result.report["empty_items"] == 3 and result.report["method"] == "elements"


def test_queries_may_come_in_another_column_where_there_is_one() -> None:
    items = pa.table({"name": ["x", "y"], "tags": [["a", "b"], ["c"]]})
    queries = pa.table({"other": [["c", "d"]]})
    result = lookalike.neighbors(items, queries, sets="tags", id="name", k=1)
    assert [tuple(row.values()) for row in result.table.to_pylist()] == [(0, 1, "y", 0.5)]


def test_pictures_are_found_by_their_bits(tmp_path: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in "abcd":
        pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((96, 96)).save(tmp_path / f"{name}.png")
    Image.open(tmp_path / "a.png").resize((64, 64)).save(tmp_path / "again.png")
    for features in ("phash", "dhash", "pixels"):
        pictures = lookalike.images(tmp_path, features=features)
        rows = lookalike.neighbors(pictures, k=1).table.to_pylist()
        nearest = {Path(row["query"]).stem: Path(row["id"]).stem for row in rows}
        assert nearest["a"] == "again" and nearest["again"] == "a"


@pytest.mark.parametrize(
    ("items", "queries", "options", "message"),
    [
        (["a b"], [[1.0, 2.0]], {}, "the queries are vectors, and the items text"),
        ([[1.0, 2.0]], None, {"shingle": "char:3"}, "shingle"),
        (["a b"], None, {"measure": "hamming"}, "hamming"),
        (["a b"], None, {"recall": 2.0}, "recall is 2.0: it must be above 0 and at most 1"),
        (["", "!"], None, {}, "there are no items"),
        ([[True, False]], [[True, False, True]], {"measure": "hamming"}, "the queries have 3 bits, and the items 2"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(items: Any, queries: Any, options: Any, message: str) -> None:
    with pytest.raises((InputError, OptionError)) as caught:
        lookalike.neighbors(items, queries, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)
