"""Rows by columns in packed stages, in one process: pairs, keepers and certificates of the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike
from lookalike.engines.packed.packed_clusters import find_clusters
from tests.packed_runs import clustered, hold_against, listed, numbered, packed_job
from tests.test_rows_by_columns import COMPARE, records

TABLE = pa.Table.from_pylist(records(500, seed=5)).drop_columns(["id"])
OPTIONS: dict[str, Any] = {"compare": COMPARE, "threshold": 0.7, "bands": 12, "rows": 4, "audit": 100}


def test_pairs_are_those_of_the_local_engine(tmp_path: Path) -> None:
    local = lookalike.pairs(TABLE, **OPTIONS)
    job = packed_job(TABLE, tmp_path, 3, **OPTIONS)
    found = job.match(numbered(TABLE, [100, 101]))
    assert listed(job, found) == sorted(local) and len(local) > 50
    hold_against(job, found, None, local.found)


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_keepers_are_those_of_the_local_engine(keep: str, tmp_path: Path) -> None:
    options = OPTIONS | {"keep": keep}
    local = lookalike.dedup(TABLE, **options)
    job = packed_job(TABLE, tmp_path, 3, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(TABLE, [100, 101])))
    removed, _ = clustered(job, found)
    assert removed == sorted(tuple(row.values()) for row in local.removed.to_pylist())
    hold_against(job, found.found, found, local.found)
