"""Plans of long runs are made on a sample of their data; those of short ones on their options alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.config import make_config
from lookalike.engines import planning
from lookalike.engines.planning import Expected, plan_run
from lookalike.io import open_source
from lookalike.items.collection import open_collection
from lookalike.theory import Plan
from tests.near_copies import near_copies

TEXTS = near_copies(2, families=60)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The same rows as Parquet, which tells their number, and as JSONL, which does not."""
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return {"parquet": tmp_path / "x.parquet", "jsonl": tmp_path / "x.jsonl"}


def planned(source: Any, **options: Any) -> tuple[Plan | None, Expected | None]:
    config = make_config(threads=2, shingle="word:2", **options)
    return plan_run(open_collection(open_source(source), None, config), config)


def long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "LONG_RUN", 100)
    monkeypatch.setattr(planning, "_FEW_ROWS", 10)


def test_a_short_run_has_the_plan_of_its_options_and_expects_nothing(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_FEW_ROWS", 10)
    for path in files.values():
        found, expected = planned(path, threshold=0.7)
        assert found is not None
        assert (found.bands, found.rows) == (lookalike.plan(0.7).bands, lookalike.plan(0.7).rows)
        assert expected is None


def test_few_items_with_much_text_are_a_long_run_too(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_LARGE", 1000), ("_LONG_TEXT", 1000), ("_FEW_ROWS", 10)):
        monkeypatch.setattr(planning, name, value)
    plans = [planned(path, threshold=0.7) for path in files.values()]
    assert all(expected is not None for _, expected in plans)
    # How much text there is does not change the plan: it would have to be guessed.
    assert {(found.bands, found.rows) for found, _ in plans if found is not None} == {
        (lookalike.plan(0.7).bands, lookalike.plan(0.7).rows)
    }
    monkeypatch.setattr(planning, "_LONG_TEXT", 10**9)
    assert all(planned(path, threshold=0.7)[1] is None for path in files.values())


def test_identical_items_need_no_plan(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    long_runs(monkeypatch)
    assert planned(files["parquet"], exact=True) == (None, None)


def test_a_long_run_has_the_same_plan_from_every_format_and_it_reaches_the_recall(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    long_runs(monkeypatch)
    plans = {}
    for name, path in files.items():
        found, expected = planned(path, threshold=0.7, recall=0.95)
        assert found is not None
        assert expected is not None
        assert found.expected_recall >= 0.95
        assert expected.items == len(TEXTS)
        assert expected.text == pytest.approx(sum(map(len, TEXTS)), rel=0.1)
        assert min(expected.seconds, expected.memory) >= 0
        assert dataclasses.asdict(expected) == expected.as_dict()
        plans[name] = (found.bands, found.rows)
    assert plans["parquet"] == plans["jsonl"]


def test_bands_and_rows_that_were_given_stay(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    long_runs(monkeypatch)
    found, expected = planned(files["parquet"], bands=7, rows=3)
    assert found is not None
    assert (found.bands, found.rows) == (7, 3)
    assert expected is not None


def test_more_memory_means_less_on_the_disk(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    long_runs(monkeypatch)
    config = make_config(threads=2, shingle="word:2")
    collection = open_collection(open_source(files["parquet"]), None, config)
    disk = []
    for memory in (1000, 100_000_000):
        _, expected = plan_run(collection, dataclasses.replace(config, memory=memory))
        assert expected is not None
        disk.append(expected.disk)
    assert disk[0] > disk[1] == 0


def test_so_few_that_all_can_be_compared_are_compared(files: dict[str, Path]) -> None:
    for source in (*files.values(), TEXTS):
        found, expected = planned(source, threshold=0.7)
        assert found is not None
        assert found.exhaustive
        assert found.expected_recall == 1.0
        assert found.items == len(TEXTS)
        assert expected is None


def test_what_would_take_longer_than_a_moment_is_hashed() -> None:
    """Many items, or long ones, or both; and whatever was asked for by bands and rows, or is not to be compared."""
    few, many = planned([{i} for i in range(1500)])[0], planned([{i} for i in range(2000)])[0]
    assert few is not None
    assert many is not None
    assert few.exhaustive
    assert not many.exhaustive
    long = planned([set(range(i, i + 4000)) for i in range(300)])[0]
    assert long is not None
    assert not long.exhaustive
    for options in ({"bands": 2, "rows": 3}, {"verify": "sketch"}, {"verify": "none"}):
        found = planned([{1}, {2}], **options)[0]
        assert found is not None
        assert not found.exhaustive


def test_items_that_need_much_memory_are_not_looked_at_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "_FEW_BYTES", 1000)
    found = planned(["a b c", "word " * 300])[0]
    assert found is not None
    assert not found.exhaustive


def test_two_sets_at_exactly_the_threshold_are_found_under_every_seed() -> None:
    """By bands they were missed once in a hundred, beside an audit that had compared them."""
    for seed in range(300):
        assert len(lookalike.pairs([{1, 2, 3, 4}, {1, 2, 3, 4, 5}], threshold=0.8, seed=seed, audit=0)) == 1


@pytest.mark.parametrize("kinds", [1, 3])
def test_a_sample_of_few_different_items_tells_nothing(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    long_runs(monkeypatch)
    found, expected = planned([f"this is the {i}. of a few kinds of lines" for i in range(kinds)] * 100, threshold=0.7)
    assert found is not None
    assert (found.bands, found.rows) == (lookalike.plan(0.7).bands, lookalike.plan(0.7).rows)
    if kinds > 1:
        assert expected is not None


def test_paragraphs_take_more_time_than_documents_and_writing_more_than_listing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long_runs(monkeypatch)
    documents = ["\n".join(TEXTS[i : i + 20]) for i in range(150)]

    def seconds(verb: str, unit: Any) -> float:
        config = make_config(threads=2, shingle="word:2", unit=unit)
        collection = open_collection(open_source(documents), None, config)
        _, expected = plan_run(collection, config, verb=verb)
        assert expected is not None
        assert expected.items == 150 * (20 if unit == "line" else 1)
        return expected.seconds

    # To the exact amount: rounded to tenths, so few items take no time at all.
    monkeypatch.setattr(planning, "_UNIT_NS", 1e6)
    monkeypatch.setattr(planning, "_WRITE_NS", 1e4)
    assert seconds("dedup", "line") > seconds("dedup", "document") + 5.9
    assert seconds("dedup", "document") > seconds("pairs", "document")


def test_vectors_that_take_long_are_announced_too(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(3).normal(size=(300, 8)).astype(np.float32)
    config = make_config(threads=2, measure="cosine")
    collection = open_collection(open_source(vectors), None, config)
    assert plan_run(collection, config)[1] is None
    monkeypatch.setattr(planning, "_WORTH_SAYING", 0.1)
    _, expected = plan_run(collection, config)
    assert expected is not None
    assert expected.items == 300


def test_memory_that_buckets_of_vectors_take_beyond_the_budget_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "_WORTH_SAYING", 0.0)
    monkeypatch.setattr(planning, "_BUCKET_BYTES", 1 << 18)
    vectors = np.random.default_rng(3).normal(size=(300, 8)).astype(np.float32)
    for bands, over in ((4, True), (None, False)):
        rows = None if bands is None else 8
        result = lookalike.pairs(vectors, measure="cosine", threshold=0.9, bands=bands, rows=rows, memory="100MB")
        assert (result.report["expected"]["over"] > 0) == over
        assert any("more than was allowed" in each for each in result.report["warnings"]) == over


def test_bands_that_are_given_are_told_with_the_items_that_there_are() -> None:
    texts = [f"text number {number} of a few" for number in range(30)]
    result = lookalike.pairs(texts, bands=20, rows=5)
    assert result.plan is not None
    assert (result.plan.bands, result.plan.rows, result.plan.items) == (20, 5, 30)
    assert "if there are 30 items" in str(result.plan)
