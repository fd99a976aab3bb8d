"""Shingles that tasks count together: the numbers, weights, pairs and keepers of the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.config import make_config
from lookalike.engines.packed import frequency_stage
from lookalike.engines.packed.frequency_stage import count_documents, share_frequencies, shared_frequencies
from lookalike.engines.packed.one_process import OneProcess
from lookalike.engines.packed.packed_clusters import find_clusters
from lookalike.io import open_source
from lookalike.items.collection import open_collection
from lookalike.measures.shingled_texts import Texts
from lookalike.represent.document_counts import Frequencies
from tests.engines.packed.test_packed_job import texts
from tests.packed_runs import clustered, hold_against, listed, numbered, packed_job


@pytest.mark.parametrize("held", [1 << 22, 500])
@pytest.mark.parametrize("exact, width", [(1 << 24, 1 << 26), (100, 512)])
def test_counts_are_those_of_one_who_counts_all(
    exact: int, width: int, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly, and in a table of counters; whatever is held before it is sent on."""
    monkeypatch.setattr(frequency_stage, "_HELD", held)
    table = texts(1)
    config = make_config(column="text", measure="cosine", weights="bm25", shingle="word:2")
    items = open_collection(open_source(table), None, config).items
    carrier = OneProcess(tmp_path)
    found = count_documents(carrier, [(items, numbered(table, [0, 50, 51]))], 3, exact=exact, width=width)
    alone = Frequencies(exact=exact, width=width)
    for batch in items.batches():
        alone.add(Texts(items.recipe).counted(batch.values))
    assert found.mark == alone.mark
    assert (found.documents, found.mean_length) == (alone.documents, alone.mean_length)
    shared = shared_frequencies(share_frequencies(carrier, found))
    assert shared.mark == alone.mark


CASES: dict[str, dict[str, Any]] = {
    "tf-idf": {"measure": "weighted-jaccard", "threshold": 0.5, "bands": 8, "rows": 3},
    "tf-idf and every pair compared": {"measure": "weighted-jaccard", "threshold": 0.5},
    "bm25": {"measure": "cosine", "weights": "bm25", "threshold": 0.7, "bands": 8, "rows": 6},
    "shingles that stand everywhere left out": {"threshold": 0.5, "max_share": 0.1, "bands": 5, "rows": 3},
    "weights in groups": {"measure": "cosine", "threshold": 0.7, "bands": 8, "rows": 6, "group_by": "group"},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_pairs_are_those_of_the_local_engine(options: dict[str, Any], tmp_path: Path) -> None:
    table = texts(1)
    options = {"column": "text", "shingle": "word:2", "audit": 100, **options}
    local = lookalike.pairs(table, **options)
    job = packed_job(table, tmp_path, 3, **options)
    assert job.plan == local.plan
    found = job.match(numbered(table, [100, 101]))
    assert listed(job, found) == sorted(local)
    assert len(local) > 50
    hold_against(job, found, None, local.found)


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_keepers_are_those_of_the_local_engine(options: dict[str, Any], tmp_path: Path) -> None:
    table = texts(2)
    options = {"column": "text", "shingle": "word:2", "audit": 100, "keep": "longest", **options}
    local = lookalike.dedup(table, **options)
    job = packed_job(table, tmp_path, 3, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(table, [100, 101])))
    removed, _ = clustered(job, found)
    assert removed == sorted(tuple(row.values()) for row in local.removed.to_pylist())
    hold_against(job, found.found, found, local.found)


def test_a_table_without_shingles_has_no_counts(tmp_path: Path) -> None:
    table = pa.table({"text": ["", ""]})
    config = make_config(column="text", measure="cosine", weights="tf-idf")
    items = open_collection(open_source(table), None, config).items
    found = count_documents(OneProcess(tmp_path), [(items, numbered(table, []))], 2)
    assert (found.documents, len(found.listed()[0])) == (2, 0)
    assert found.of(np.array([1], np.uint64)).tolist() == [0]
