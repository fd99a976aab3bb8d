"""Whole runs by packed stages, in one process: the pairs, their similarities and the audit of the local engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike import InputError, OptionError
from lookalike.engines.packed import audit_sample, numbering, sketch_stage
from lookalike.engines.packed import packed_job as packed_job_module
from lookalike.engines.packed.numbering import Numbering
from lookalike.engines.packed.one_process import Parts
from lookalike.engines.packed.packed_job import PackedJob
from tests.limited import limited
from tests.near_copies import near_copies
from tests.packed_runs import hold_against, listed, numbered, packed_job
from tests.templates import templates


def texts(seed: int) -> pa.Table:
    rng = random.Random(seed)
    rows = [*near_copies(seed, families=40), "", "...", "", "one", "one", *near_copies(seed + 1, families=1, copies=60)]
    rng.shuffle(rows)
    return pa.table({"text": rows, "group": [str(i % 3) for i in range(len(rows))]})


CASES: dict[str, dict[str, Any]] = {
    "every pair compared": {"threshold": 0.5, "shingle": "word:2"},
    "bands that miss much, with an audit that finds it": {"threshold": 0.5, "shingle": "word:2", "bands": 4, "rows": 4},
    "without an audit": {"threshold": 0.5, "shingle": "word:2", "bands": 4, "rows": 4, "audit": 0},
    "an audit of few": {"threshold": 0.5, "shingle": "word:2", "bands": 3, "rows": 4, "audit": 20},
    "characters": {"threshold": 0.6, "shingle": "char:5", "bands": 6, "rows": 4},
    "groups": {"threshold": 0.5, "shingle": "word:2", "bands": 6, "rows": 3, "group_by": "group"},
    "identical items": {"exact": True},
    "another seed": {"threshold": 0.5, "shingle": "word:2", "bands": 4, "rows": 4, "seed": 7},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
@pytest.mark.parametrize("parts, cuts", [(1, []), (5, [0, 10, 11, 200])])
def test_pairs_are_those_of_the_local_engine(
    options: dict[str, Any], parts: int, cuts: list[int], tmp_path: Path
) -> None:
    table = texts(1)
    options = {"column": "text", **options}
    local = lookalike.pairs(table, **options)
    job = packed_job(table, tmp_path, parts, **options)
    found = job.match(numbered(table, cuts))
    assert listed(job, found) == sorted(local)
    assert len(local) > 50
    hold_against(job, found, None, local.found)


@pytest.mark.parametrize("kind", ["around", "families", "mixed"])
def test_giant_buckets_give_the_pairs_of_the_local_engine(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"items": [sorted(each) for each in templates(kind, 1, items=80)]})
    limited(monkeypatch, bucket=5)
    options: dict[str, Any] = {"threshold": 0.6, "bands": 5, "rows": 3, "audit": 0}
    local = lookalike.pairs(table, **options)
    assert local.found.counts.giant_items > 10
    job = packed_job(table, tmp_path, 4, **options)
    found = job.match(numbered(table, [30]))
    assert listed(job, found) == sorted(local)
    hold_against(job, found, None, local.found)


def test_the_audit_is_that_of_the_local_engine_whatever_order_chunks_come_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "_CHUNK_BITS", 4)
    monkeypatch.setattr(audit_sample, "_BLOCK", 50)
    table = texts(2)
    options: dict[str, Any] = {
        "column": "text",
        "threshold": 0.4,
        "shingle": "word:1",
        "bands": 3,
        "rows": 6,
        "audit": 30,
    }
    rows = numbered(table, [100, 150])
    # Parts are read in any order; a task may have what comes later before what comes earlier.
    shuffled = Parts([[*rows.parts[2], *rows.parts[0]], rows.parts[1]], ())
    found = packed_job(table, tmp_path, 3, **options).match(shuffled)
    local = lookalike.pairs(table, **options).found
    mine, theirs = found.audited, local.sketched.audit
    assert mine is not None and theirs is not None
    for name in ("items", "left", "right", "similarities"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name
    for name in ("full", "rate", "seen", "compared", "empty"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert np.array_equal(found.missed, local.matched.missed)
    assert found.missed.any()


def test_an_item_with_many_matches_has_the_first_of_them_in_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "_CHUNK_BITS", 5)
    table = pa.table({"items": [sorted(each) for each in templates("above", 3, items=400)]})
    options: dict[str, Any] = {"threshold": 0.5, "bands": 5, "rows": 2, "audit": 20}
    rows = numbered(table, [200, 300])
    found = packed_job(table, tmp_path, 2, **options).match(Parts(rows.parts[::-1], ()))
    local = lookalike.pairs(table, **options).found.sketched.audit
    assert found.audited is not None and local is not None and local.full
    assert found.audited.full == local.full
    assert np.array_equal(found.audited.left, local.left) and np.array_equal(found.audited.right, local.right)


def test_long_items_fill_blobs_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch_stage, "_ROW_WORDS", 100)
    table = texts(3)
    options: dict[str, Any] = {"column": "text", "threshold": 0.5, "shingle": "word:1", "bands": 6, "rows": 3}
    job = packed_job(table, tmp_path, 3, **options)
    assert listed(job, job.match(numbered(table, [50]))) == sorted(lookalike.pairs(table, **options))


def test_too_many_pairs_are_refused(tmp_path: Path) -> None:
    table = texts(1)
    job = packed_job(table, tmp_path, column="text", threshold=0.5, shingle="word:2", max_pairs=10)
    with pytest.raises(OptionError, match="more than max_pairs = 10"):
        listed(job, job.match(numbered(table, [])))


def test_no_rows_are_refused(tmp_path: Path) -> None:
    table = texts(1)
    job = packed_job(table, tmp_path, column="text", threshold=0.5)
    with pytest.raises(InputError, match="there are no items"):
        job.match(numbered(table.slice(0, 0), []))


@pytest.mark.parametrize(
    "ids, message", [([1, 1, 2], "id 1 in column 'id' is repeated"), ([1, None, 2], "'id' is null")]
)
def test_ids_must_be_there_and_different(ids: list[int | None], message: str, tmp_path: Path) -> None:
    table = pa.table({"text": ["a b", "c d", "e f"], "id": pa.array(ids, pa.int64())})
    with pytest.raises(InputError, match=message):
        packed_job(table, tmp_path, column="text", id="id").match(numbered(table, []))


@pytest.mark.parametrize(
    "bands, message",
    [({}, "all compared with one another"), ({"bands": 4, "rows": 2}, "in buckets too large to compare in parts")],
)
def test_more_vectors_than_a_task_holds_are_refused(
    bands: dict[str, int], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no rare elements by which some of them could be compared with some others."""
    monkeypatch.setattr(packed_job_module, "_GIANT_BYTES", 1000)
    limited(monkeypatch, row_bucket=4)
    rows = np.random.default_rng(1).normal(size=(300, 6)).astype(np.float32)
    table = pa.table({"items": pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 6)})
    job = packed_job(table, tmp_path, verb="dedup", measure="cosine", threshold=0.9, **bands)
    with pytest.raises(InputError, match=f"{message}, and on Spark one task does that, up to"):
        job.match(numbered(table, []))


@pytest.mark.parametrize("audit", [10, 40, 400])
@pytest.mark.parametrize("form", ["texts", "vectors"])
def test_a_sample_that_is_drawn_while_items_are_sketched_is_the_same(
    form: str, audit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is known how many items there are, their rows need not be looked up again."""
    monkeypatch.setattr(numbering, "_CHUNK_BITS", 4)
    table = texts(4)
    options: dict[str, Any] = {"column": "text", "threshold": 0.5, "shingle": "word:2", "bands": 4, "rows": 4}
    if form == "vectors":
        rows = np.random.default_rng(1).normal(size=(300, 6)).astype(np.float32)
        table = pa.table({"items": pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 6)})
        options = {"measure": "cosine", "threshold": 0.9}
    options["audit"] = audit
    local = lookalike.pairs(table, **options)
    job = packed_job(table, tmp_path, 3, **options)

    def look_up(*given: object) -> None:
        raise AssertionError("rows are looked up")

    monkeypatch.setattr(PackedJob, "_look_up", look_up)
    known = Numbering.of({0: 20, 1: 1, 2: 129, 3: len(table) - 150})
    found = job.match(numbered(table, [20, 21, 150]), known=known)
    hold_against(job, found, None, local.found)


def test_a_sample_of_many_empty_items_is_looked_up(tmp_path: Path) -> None:
    table = pa.table({"text": [text for each in near_copies(3, families=60) for text in (each, "", "", "")]})
    options: dict[str, Any] = {"threshold": 0.5, "shingle": "word:2", "bands": 4, "rows": 4, "audit": 5}
    local = lookalike.pairs(table, **options)
    job = packed_job(table, tmp_path, 3, **options)
    found = job.match(numbered(table, [50]), known=Numbering.of({0: 50, 1: len(table) - 50}))
    hold_against(job, found, None, local.found)
