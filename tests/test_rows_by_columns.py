"""Whole runs by columns (`compare`): equal to the definition, from every place, and told in plain words."""

from __future__ import annotations

import json
import re
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import lookalike
from lookalike.errors import InputError, OptionError
from tests.reference.columns import similarity

COMPARE = ["title:word:1:2", "authors:char:3", "year:equal"]
WEIGHTS = [2.0, 1.0, 1.0]
WORDS = ["of", "the", "similar", "items", "join", "search", "index", "query", "data", "graph", "stream", "tree", "hash"]
NAMES = ["Ann", "Lee", "Bob", "Ray", "Eve", "Kim", "Max", "Tan", "Zoe", "Fox", "Ida", "Orr"]


def records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Records of which a third are others with a word changed, or without a column."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        if number and rng.random() < 0.35:
            row = dict(rows[rng.integers(number)])
            title = str(row["title"]).split()
            title[rng.integers(len(title))] = str(rng.choice(WORDS))
            row["title"] = " ".join(title)
            if rng.random() < 0.2:
                row[str(rng.choice(["authors", "year"]))] = None
        else:
            row = {
                "title": " ".join(rng.choice(WORDS, rng.integers(3, 9))),
                "authors": " ".join(rng.choice(NAMES, rng.integers(1, 4))),
                "year": int(rng.integers(1990, 2000)),
            }
        rows.append(row | {"id": f"r{number}"})
    return rows


def columns_of(row: dict[str, Any]) -> dict[int, set[Any]]:
    """The sets of a record in plain Python: words, runs of three characters, the whole."""
    text = " ".join((row["authors"] or "").lower().split())
    shingles = {text[at : at + 3] for at in range(max(1, len(text) - 2))} if text else set()
    year = set() if row["year"] is None else {str(row["year"])}
    return {0: set(row["title"].lower().split()), 1: shingles, 2: year}


def truth(rows: list[dict[str, Any]], threshold: float) -> dict[tuple[str, ...], float]:
    sets = [columns_of(row) for row in rows]
    scored = {(i, j): float(similarity(sets[i], sets[j], WEIGHTS)) for i, j in combinations(range(len(rows)), 2)}
    return {tuple(sorted((rows[i]["id"], rows[j]["id"]))): s for (i, j), s in scored.items() if s >= threshold - 1e-12}


def found(table: pa.Table) -> dict[tuple[str, ...], float]:
    return {tuple(sorted((row["a"], row["b"]))): row["similarity"] for row in table.to_pylist()}


ROWS = records(250)


@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_pairs_are_those_of_the_definition(threshold: float) -> None:
    result = lookalike.pairs(ROWS, id="id", compare=COMPARE, threshold=threshold)
    assert found(result.table) == pytest.approx(truth(ROWS, threshold))
    assert result.report["certificate"]["recall"]["recall"] == 1.0 and not result.report["certificate"]["alarms"]


def test_bands_find_what_their_plan_says_and_the_certificate_knows() -> None:
    rows = records(3000, seed=1)
    exact = found(lookalike.pairs(rows, id="id", compare=COMPARE, threshold=0.7, recall=1).table)
    result = lookalike.pairs(rows, id="id", compare=COMPARE, threshold=0.7, bands=6, rows=5, audit=200)
    share = len(found(result.table)) / len(exact)
    recall = result.report["certificate"]["recall"]
    assert result.plan is not None and result.plan.bands == 6
    assert recall["low"] <= share <= recall["high"] and recall["low"] < 1.0
    assert not result.report["certificate"]["alarms"]


def test_pairs_across_are_those_of_the_definition() -> None:
    own, other = ROWS[:120], [{"name": row["title"], **row} for row in ROWS[120:]]
    for row in other:
        del row["title"]
    result = lookalike.pairs(
        own, against=other, id="id", compare=COMPARE, threshold=0.6, against_column=["name", "authors", "year"]
    )
    mine = {row["id"] for row in own}
    assert found(result.table) == pytest.approx(
        {pair: s for pair, s in truth(ROWS, 0.6).items() if (pair[0] in mine) != (pair[1] in mine)}
    )


def test_dedup_keeps_what_the_definition_keeps(tmp_path: Path) -> None:
    close = truth(ROWS, 0.7)
    kept: list[str] = []
    for row in ROWS:
        if not any(tuple(sorted((each, row["id"]))) in close for each in kept):
            kept.append(row["id"])
    result = lookalike.dedup(ROWS, id="id", compare=COMPARE, threshold=0.7)
    assert result.table["id"].to_pylist() == kept
    result.save(tmp_path / "run")
    run = lookalike.Run.open(tmp_path / "run")
    assert run.options["compare"] == COMPARE and run.options["column"] is None
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "title:word:1:2" in page and re.search(r"authors: \w", page)


def test_neighbors_are_those_of_the_definition() -> None:
    rows = ROWS[:80]
    result = lookalike.neighbors(rows, id="id", compare=COMPARE, k=3)
    sets = {row["id"]: columns_of(row) for row in rows}
    for query, group in zip(sets, result, strict=True):
        scores = sorted((similarity(sets[query], sets[each], WEIGHTS) for each in sets if each != query), reverse=True)
        assert [similarity(sets[query], sets[each], WEIGHTS) for each in group] == scores[:3]


def test_groups_are_never_mixed() -> None:
    rows = [row | {"crawl": number % 2} for number, row in enumerate(ROWS)]
    place = {row["id"]: row["crawl"] for row in rows}
    result = lookalike.pairs(rows, id="id", compare=COMPARE, threshold=0.6, group_by="crawl")
    inside = {pair: s for pair, s in truth(ROWS, 0.6).items() if place[pair[0]] == place[pair[1]]}
    assert found(result.table) == pytest.approx(inside)


def test_results_are_the_same_from_every_place_and_with_every_memory(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(records(600, seed=2))
    rows = [json.dumps(row) for row in table.to_pylist()]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")

    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    csv.write_csv(table, tmp_path / "rows.csv")
    how: dict[str, Any] = {"id": "id", "compare": COMPARE, "threshold": 0.7, "bands": 10, "rows": 4}
    first = lookalike.pairs(table, **how).table
    assert len(first)
    for place, (memory, threads) in product(("rows.jsonl", "rows.parquet", "rows.csv"), ((None, 2), ("64MB", 1))):
        again = lookalike.pairs(str(tmp_path / place), memory=memory, threads=threads, **how).table
        assert again.equals(first), (place, memory, threads)


def test_a_column_of_lists_is_compared_by_what_it_holds() -> None:
    rows = [{"tags": ["a", "b"], "n": 1}, {"tags": ["b", "a"], "n": 2}, {"tags": ["c"], "n": 1}]
    result = lookalike.pairs(rows, compare=["tags:set", "n:equal"], threshold=0.5)
    assert result.table.to_pylist() == [
        {"a": 0, "b": 1, "similarity": 0.5}, {"a": 0, "b": 2, "similarity": 0.5},
    ]  # fmt: skip


def test_tables_may_have_the_columns_that_were_compared() -> None:
    row = lookalike.pairs(ROWS[:60], id="id", compare=COMPARE, threshold=0.5, with_text=True).table.to_pylist()[0]
    own = next(each for each in ROWS if each["id"] == row["a"])
    there = [f"{name}: {own[name]}" for name in ("title", "authors", "year") if own[name] is not None]
    assert row["text_a"] == "\n".join(there)


def test_tune_proposes_a_threshold_for_the_columns() -> None:
    rows = records(300, seed=3)
    result = lookalike.tune(rows, id="id", compare=COMPARE)
    assert result.options == {"compare": COMPARE, "threshold": result.threshold}
    assert result.headline.startswith(
        "proposal: --compare title:word:1:2 --compare authors:char:3 --compare year:equal"
    )
    assert lookalike.pairs(rows, id="id", **result.options).table.num_rows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compare": ["titel:word:1"]}, "there is no column 'titel'"),
        ({"compare": ["year:set"]}, "only lists are compared as sets"),
        ({"compare": COMPARE, "measure": "cosine"}, "does not go with measure"),
        ({"compare": COMPARE, "column": "title"}, "give one of them"),
        ({"compare": COMPARE, "verify": "sketch"}, "does not go with verify"),
        ({"compare": COMPARE, "exact": True}, "does not go with exact"),
        ({"compare": COMPARE, "shingle": "word:2"}, "shingle"),
    ],
)
def test_what_does_not_go_together_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, OptionError), match=message) as error:
        lookalike.pairs(ROWS, id="id", **options)
    assert "\n" not in str(error.value)


def test_dedup_takes_no_paragraphs_of_columns() -> None:
    with pytest.raises(OptionError, match="does not go with unit"):
        lookalike.dedup(ROWS, id="id", compare=COMPARE, unit="line")
