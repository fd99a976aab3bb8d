"""Vectors, bits and bags by packed stages, in one process: pairs, keepers and certificates of the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.engines.packed import packed_clusters
from lookalike.engines.packed.packed_clusters import find_clusters
from tests.limited import limited
from tests.packed_runs import clustered, hold_against, listed, numbered, packed_job

ROWS = 300


def vectors() -> pa.Array:
    rng = np.random.default_rng(0)
    near = rng.normal(size=(ROWS // 5, 16)).repeat(5, axis=0) + rng.normal(size=(ROWS, 16)) * 0.15
    near[7] = near[3]
    return pa.array(list(near.astype(np.float32)), pa.list_(pa.float32()))


def bits() -> pa.Array:
    rng = np.random.default_rng(1)
    near = rng.integers(2, size=(ROWS // 5, 64)).repeat(5, axis=0) ^ (rng.random((ROWS, 64)) < 0.05)
    return pa.array([list(map(bool, row)) for row in near], pa.list_(pa.bool_()))


def bags() -> pa.Array:
    rng = np.random.default_rng(2)
    rows = []
    for _ in range(ROWS // 5):
        first = {f"w{each}": float(rng.integers(1, 6)) for each in rng.integers(400, size=20)}
        for _ in range(5):
            row = first | {f"w{rng.integers(400)}": 1.0 for _ in range(rng.integers(3))}
            rows.append([{"element": name, "weight": weight} for name, weight in row.items()])
    kind = pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float64())]))
    return pa.array(rows, kind)


def with_groups(items: pa.Array) -> pa.Table:
    """The last of each family of five is of another group."""
    return pa.table({"item": items, "group": ["b" if i % 5 == 4 else "a" for i in range(len(items))]})


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "cosine": (vectors, {"measure": "cosine", "threshold": 0.9}),
    "cosine by bands": (vectors, {"measure": "cosine", "threshold": 0.9, "bands": 8, "rows": 8}),
    "euclidean": (vectors, {"measure": "euclidean", "max_distance": 1.0}),
    "euclidean by bands": (vectors, {"measure": "euclidean", "max_distance": 1.0, "bands": 8, "rows": 3}),
    "dot": (vectors, {"measure": "dot", "threshold": 14.0}),
    "manhattan": (vectors, {"measure": "manhattan", "max_distance": 3.0, "bands": 8, "rows": 3}),
    "hamming": (bits, {"measure": "hamming", "threshold": 0.9, "bands": 8, "rows": 12}),
    "vectors in groups": (vectors, {"measure": "cosine", "threshold": 0.9, "bands": 8, "rows": 8, "group_by": "group"}),
    "bits in groups": (bits, {"measure": "hamming", "threshold": 0.9, "bands": 4, "rows": 20, "group_by": "group"}),
    "weighted": (bags, {"measure": "weighted-jaccard", "threshold": 0.7, "bands": 8, "rows": 3}),
    "cosine of bags": (bags, {"measure": "cosine", "threshold": 0.8, "bands": 8, "rows": 6}),
}


@pytest.mark.parametrize("audit", [1000, 100, 0])
@pytest.mark.parametrize("case", CASES)
def test_pairs_are_those_of_the_local_engine(case: str, audit: int, tmp_path: Path) -> None:
    made, options = CASES[case]
    table = with_groups(made())
    options = {"column": "item", "audit": audit, **options}
    local = lookalike.pairs(table, **options)
    job = packed_job(table, tmp_path, 3, **options)
    found = job.match(numbered(table, [100, 101]))
    told = job.config.scale.told
    assert [(a, b, float(told(np.array([s]))[0])) for a, b, s in listed(job, found)] == sorted(local)
    assert len(local) > 50
    hold_against(job, found, None, local.found)


@pytest.mark.parametrize("row_bucket", [2000, 3])
@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("case", CASES)
def test_keepers_are_those_of_the_local_engine(
    case: str, cluster: str, row_bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where buckets are too large to compare pair by pair."""
    limited(monkeypatch, row_bucket=row_bucket)
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", 0 if cluster == "components" else 10**6)
    made, options = CASES[case]
    table = with_groups(made())
    options = {"column": "item", "audit": 100, "cluster": cluster, **options}
    local = lookalike.dedup(table, **options)
    job = packed_job(table, tmp_path, 3, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(table, [100, 101])))
    removed, _ = clustered(job, found)
    told = job.config.scale.told
    assert [(a, b, float(told(np.array([s]))[0])) for a, b, s in removed] == sorted(
        tuple(row.values()) for row in local.removed.to_pylist()
    )
    hold_against(job, found.found, found, local.found)
    assert local.found.counts.led_items > 0 or row_bucket == 2000 or "bands" not in options
