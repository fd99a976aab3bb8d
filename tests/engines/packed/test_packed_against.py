"""Packed stages against another collection, in one process: who goes for whom, and the certificate, as locally."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.engines.local.result_tables import cluster_batches
from lookalike.engines.packed import packed_clusters
from lookalike.engines.packed.numbering import FIRST_REFERENCE, POSITION_BITS, Numbering
from lookalike.engines.packed.packed_clusters import find_clusters
from tests.limited import limited
from tests.near_copies import near_copies
from tests.packed_runs import clustered, hold_against, numbered, packed_job
from tests.templates import KINDS, templates

PLANS: dict[str, dict[str, Any]] = {
    "bands": {"threshold": 0.5, "shingle": "word:2", "bands": 6, "rows": 3},
    "bands that miss, and an audit": {"threshold": 0.6, "shingle": "word:1", "bands": 3, "rows": 6, "audit": 40},
    "every pair compared": {"threshold": 0.5, "shingle": "word:2"},
    "identical items": {"exact": True},
    "weights by document counts": {
        "threshold": 0.5,
        "shingle": "word:1",
        "weights": "tf-idf",
        "measure": "weighted-jaccard",
    },
}


def two_collections(seed: int) -> tuple[pa.Table, pa.Table]:
    """Rows of the run and of what it is compared against, which have copies and near copies of one another."""
    rng = random.Random(seed)
    rows = [*near_copies(seed, families=40), "", "...", "", "one", "one", *near_copies(seed + 1, families=2, copies=40)]
    rng.shuffle(rows)
    own, other = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    other += [*rng.choices(own, k=20), *other[:5], "one"]
    size = pa.array([rng.randrange(5) for _ in own], pa.int32())
    return pa.table({"text": own, "size": size}), pa.table({"text": other})


def same(
    own: pa.Table, other: pa.Table, folder: Path, options: dict[str, Any], parts: int = 4, *, known: bool = False
) -> Any:
    """Hold a run against the local engine: what that found."""
    local = lookalike.dedup(own, against=other, **options).found
    job = packed_job(own, folder, parts, verb="dedup", against=other, **options)
    references = numbered(other, [30], first=FIRST_REFERENCE)
    first = FIRST_REFERENCE >> POSITION_BITS
    parts_of = {first: 30, first + 1: len(other) - 30, 0: 40, 1: 1, 2: len(own) - 41}
    numbering = Numbering.of(parts_of) if known else None
    found = find_clusters(job, job.match(numbered(own, [40, 41]), references, numbering))
    removed, clusters = clustered(job, found)
    clustering = local.matched.clustering
    assert clustering is not None
    gone = np.flatnonzero(~clustering.kept)
    gone = gone[gone >= len(other)]
    keepers = clustering.keeper[gone].tolist()
    assert removed == list(zip(gone.tolist(), keepers, clustering.similarity[gone].tolist(), strict=True))
    members = cluster_batches(local)
    listed = [tuple(row.values())[:2] for batch in members for row in batch.to_pylist()]
    assert [row[:2] for row in clusters] == listed
    assert found.found.counts["removed"] == len(removed)
    assert found.found.counts["removed_against"] == int((clustering.keeper[gone] < len(other)).sum())
    hold_against(job, found.found, found, local)
    return local


@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("keep", ["first", "last", "longest", "max:size"])
def test_what_is_like_an_item_of_the_other_collection_goes_as_locally(
    keep: str, plan: str, cluster: str, tmp_path: Path
) -> None:
    own, other = two_collections(7)
    local = same(own, other, tmp_path, PLANS[plan] | {"keep": keep, "cluster": cluster})
    assert (local.matched.clustering.keeper[len(other) :] < len(other)).sum() > 10


@pytest.mark.parametrize("one_task", [0, 10**6])
@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_giant_lists_with_items_of_both_collections(
    keep: str, kind: str, cluster: str, one_task: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", one_task)
    limited(monkeypatch, bucket=4, comparisons=0)
    table = pa.table({"items": [sorted(each) for each in templates(kind, 1, items=90)]})
    options = {"threshold": 0.6, "bands": 5, "rows": 2, "audit": 30, "keep": keep, "cluster": cluster}
    local = same(table.slice(40), table.slice(0, 40), tmp_path, options)
    assert local.counts.giant_items > 10


@pytest.mark.parametrize("measure", ["cosine", "euclidean", "hamming", "weighted-jaccard"])
def test_vectors_bits_and_bags(measure: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(120, 8)).astype(np.float32)
    rows[60:] = rows[:60] + rng.normal(size=(60, 8)).astype(np.float32) * 0.05
    limit = {"max_distance": 0.5} if measure == "euclidean" else {"threshold": 0.9}
    if measure == "hamming":
        items = pa.array((rows > 0).tolist(), pa.list_(pa.bool_(), 8))
    elif measure == "weighted-jaccard":
        bags = [[(f"e{place}", float(value)) for place, value in enumerate(row)] for row in np.abs(rows)]
        items = pa.array(bags, pa.map_(pa.string(), pa.float64()))
    else:
        items = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 8)
    table = pa.table({"items": items.take(pa.array(rng.permutation(120)))})
    local = same(table.slice(50), table.slice(0, 50), tmp_path, {"measure": measure, "audit": 30, **limit})
    assert (local.matched.clustering.keeper[50:] < 50).sum() > 10


def test_the_sample_is_drawn_from_both_collections_while_they_are_sketched(tmp_path: Path) -> None:
    own, other = two_collections(9)
    local = same(own, other, tmp_path, PLANS["bands that miss, and an audit"], known=True)
    assert (local.sketched.audit.items < len(other)).any()
