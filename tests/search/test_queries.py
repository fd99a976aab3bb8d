"""The nearest of each query, as people ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import InputError, OptionError

RNG = np.random.default_rng(0)
ITEMS = RNG.normal(size=(300, 20)).astype(np.float32)
QUERIES = RNG.normal(size=(25, 20)).astype(np.float32)


def truth(queries: Any, k: int, measure: str, *, others: bool = False) -> list[list[int]]:
    x, y = queries.astype(np.float64), ITEMS.astype(np.float64)
    if measure == "dot":
        scores = x @ y.T
    elif measure == "cosine":
        scores = (x @ y.T) / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(y, axis=1)
    else:
        order = {"euclidean": 2, "manhattan": 1}[measure]
        scores = -np.linalg.norm(x[:, None] - y, ord=order, axis=2)
    if others:
        np.fill_diagonal(scores, -np.inf)
    return [row.tolist() for row in np.argsort(-scores, axis=1)[:, :k]]


@pytest.mark.parametrize("measure", ["cosine", "dot", "euclidean", "manhattan"])
def test_the_nearest_are_those_of_brute_force(measure: str) -> None:
    result = lookalike.neighbors(ITEMS, QUERIES, k=7, recall=1.0, measure=measure)
    assert list(result) == truth(QUERIES, 7, measure)
    assert len(result) == 25
    column = "similarity" if measure in ("cosine", "dot") else "distance"
    assert result.table.column_names == ["query", "rank", "id", column]
    assert result.table.column("rank").to_pylist() == [*range(1, 8)] * 25


def test_without_queries_each_item_searches_the_others() -> None:
    assert list(lookalike.neighbors(ITEMS, k=3, recall=1.0)) == truth(ITEMS, 3, "cosine", others=True)


def test_the_scores_are_those_of_pairs() -> None:
    pairs = {(a, b): s for a, b, s in lookalike.pairs(ITEMS, threshold=0.3)}
    rows = lookalike.neighbors(ITEMS, k=20).table.to_pylist()
    both = [
        (row["similarity"], pairs[pair]) for row in rows if (pair := tuple(sorted((row["query"], row["id"])))) in pairs
    ]
    assert len(both) > 100 and all(one == other for one, other in both)


def test_ids_are_those_of_the_columns_and_there_may_be_fewer_than_k() -> None:
    items = {"x": np.array([1.0, 0.0]), "y": np.array([0.0, 1.0])}
    result = lookalike.neighbors(items, {"q": np.array([1.0, 0.1])}, k=5)
    assert [(row["query"], row["rank"], row["id"]) for row in result.table.to_pylist()] == [
        ("q", 1, "x"),
        ("q", 2, "y"),
    ]
    table = pa.table({"vector": [[1.0, 0.0], [0.0, 1.0]], "name": ["a", "b"]})
    assert list(lookalike.neighbors(table, id="name", k=1)) == [["b"], ["a"]]
    assert "query=0  rank=1  id='a'" in repr(lookalike.neighbors(table, np.array([[2.0, 0.1]]), id="name", k=1))


def test_a_result_is_saved(tmp_path: Path) -> None:
    result = lookalike.neighbors(ITEMS, QUERIES, k=2)
    result.save(tmp_path / "n.csv")
    assert (tmp_path / "n.csv").read_text().startswith("query,rank,id,similarity\n")
    assert result.report["method"] == "exact" and result.report["recall"]["expected"] == 1.0


def test_bad_vectors_are_left_out_and_the_others_keep_their_ids() -> None:
    items, queries = ITEMS.copy(), QUERIES.copy()
    items[[0, 17]], queries[3, 2] = np.nan, np.inf
    result = lookalike.neighbors(items, queries, k=4, recall=1.0, skip_bad=True)
    good = np.setdiff1d(np.arange(300), [0, 17])
    scores = QUERIES @ ITEMS[good].T / np.linalg.norm(ITEMS[good], axis=1)
    expected = [good[row].tolist() for row in np.argsort(-scores, axis=1)[:, :4]]
    assert list(result) == [row for query, row in enumerate(expected) if query != 3]
    assert 3 not in result.table.column("query").to_pylist()
    told = result.report
    assert (told["bad_items"], told["bad_queries"], told["items"], told["k"]) == (2, 1, 298, 4)
    assert told["skipped_examples"][0] == "item 0: the item holds NaN"
    with pytest.raises(InputError, match="there are no queries that can be compared: item 0: the item holds NaN"):
        lookalike.neighbors(ITEMS, np.full((2, 20), np.nan), skip_bad=True)


def test_a_result_introduces_itself_and_converts() -> None:
    table = pa.table({"embedding": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "name": ["a", "b", "c"]})
    result = lookalike.neighbors(table, table.slice(0, 1), vectors="embedding", id="name", k=5)
    assert repr(result).splitlines() == [
        "1 query among 3 vectors by cosine similarity: exact scan",
        "  query='a'  rank=1  id='a'  similarity=1.0000",
        "  query='a'  rank=2  id='c'  similarity=0.7071",
        "  query='a'  rank=3  id='b'  similarity=0.0000",
        "  (k is 5, and there are only 3 items to be found: all are listed)",
    ]
    assert result.to_polars()["id"].to_list() == result.to_pandas()["id"].tolist() == ["a", "c", "b"]
    assert lookalike.neighbors(table, column="embedding", k=3).notes == [
        "k is 3, and there are only 2 items to be found: all are listed"
    ]
    with pytest.raises(OptionError, match="give one of them"):
        lookalike.neighbors(table, column="embedding", vectors="embedding")


def test_planned_bits_reach_the_recall_on_data_that_is_large_enough() -> None:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(2000, 64))
    items = (centres[rng.integers(0, 2000, 20_000)] + 0.4 * rng.normal(size=(20_000, 64))).astype(np.float32)
    exact = lookalike.neighbors(items, k=10, recall=1.0)
    found = lookalike.neighbors(items, k=10, recall=0.9)
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)]
    assert np.mean(shares) >= 0.9
    assert found.plan.recall >= 0.9


@pytest.mark.parametrize(
    ("items", "queries", "options", "message"),
    [
        (ITEMS, QUERIES, {"k": 0}, "k is 0: it must be a whole number, 1 or more"),
        (ITEMS, QUERIES, {"measure": "jaccard"}, "an item must be text, a list of elements, a row of 0 and 1"),
        (ITEMS, QUERIES[:, :5], {}, "the queries have 5 components, and the items 20"),
        (ITEMS, QUERIES, {"recall": 0}, "recall is 0"),
        (ITEMS, QUERIES, {"depth": 3}, "neighbors has no option 'depth'"),
        (["a", "b"], None, {"measure": "euclidean"}, "an item must be a list of numbers for euclidean"),
        (np.array([[1.0, 2.0], [0.0, 0.0]]), None, {}, "item 1: the item is zero and has no direction"),
        (np.array([[1.0, 2.0], [np.nan, 0.0]]), None, {}, "item 1: the item holds NaN"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_line(items: Any, queries: Any, options: Any, message: str) -> None:
    with pytest.raises((InputError, OptionError)) as caught:
        lookalike.neighbors(items, queries, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)
