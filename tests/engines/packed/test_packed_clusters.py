"""Clusters by packed stages, in one process: the keepers, similarities and clusters of the local engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike
from lookalike.engines.packed import packed_clusters
from lookalike.engines.packed.packed_clusters import find_clusters
from lookalike.errors import InputError, OptionError
from tests.limited import limited
from tests.near_copies import near_copies
from tests.packed_runs import clustered, hold_against, numbered, packed_job
from tests.templates import KINDS, templates


def texts(seed: int) -> pa.Table:
    rng = random.Random(seed)
    rows = [*near_copies(seed, families=40), "", "...", "", "one", "one", *near_copies(seed + 1, families=2, copies=40)]
    rng.shuffle(rows)
    scores = [
        None if rng.random() < 0.1 else rng.choice([-1.5, 0.0, -0.0, 2.0, float("inf"), float("nan")]) for _ in rows
    ]
    return pa.table(
        {
            "text": rows,
            "score": pa.array(scores, pa.float64(), from_pandas=False),
            "number": pa.array([None if s is None else rng.randrange(-5, 5) for s in scores], pa.int32()),
            "date": pa.array([rng.randrange(3) for _ in rows], pa.date32()),
            "stamp": pa.array([rng.randrange(3) for _ in rows], pa.timestamp("us")),
            "flag": [rng.random() < 0.5 for _ in rows],
            "host": [rng.choice(["a", "b", "c"]) for _ in rows],
        }
    )


KEEP = [
    "first",
    "last",
    "longest",
    "shortest",
    "max:score",
    "min:score",
    "max:number",
    "min:date",
    "max:stamp",
    "max:flag",
    "prefer:host=b,a",
]
PLANS: dict[str, dict[str, Any]] = {
    "bands": {"threshold": 0.5, "shingle": "word:2", "bands": 6, "rows": 3},
    "bands that miss, and an audit": {"threshold": 0.6, "shingle": "word:1", "bands": 3, "rows": 6, "audit": 40},
    "every pair compared": {"threshold": 0.5, "shingle": "word:2"},
    "identical items": {"exact": True},
}


def same(
    table: pa.Table, folder: Path, options: dict[str, Any], parts: int = 4, cuts: tuple[int, ...] = (40, 41)
) -> Any:
    """Hold a run against the local engine: what the local one found."""
    local = lookalike.dedup(table, **options)
    job = packed_job(table, folder, parts, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(table, cuts)))
    removed, clusters = clustered(job, found)
    assert removed == sorted(tuple(row.values()) for row in local.removed.to_pylist())
    assert clusters == sorted(tuple(row.values()) for row in local.clusters.to_pylist())
    assert found.found.counts["removed"] == len(removed)
    hold_against(job, found.found, found, local.found)
    return local.found


@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("keep", KEEP)
def test_keepers_are_those_of_the_local_engine(keep: str, plan: str, cluster: str, tmp_path: Path) -> None:
    found = same(texts(1), tmp_path, {"column": "text", "keep": keep, "cluster": cluster, **PLANS[plan]})
    assert found.matched.clustering.sizes.max() > 2


@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_matches_of_many_tasks_give_the_same_clusters(
    keep: str, cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", 0)
    options = {"column": "text", "keep": keep, "cluster": cluster, **PLANS["bands"]}
    same(texts(2), tmp_path, options, parts=5)


@pytest.mark.parametrize("one_task", [0, 10**6])
@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", ["first", "longest"])
def test_giant_lists_give_the_keepers_of_the_local_engine(
    keep: str, kind: str, cluster: str, one_task: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With leaders: whoever is kept in the place of a removed item, too, since they are asked in the same order."""
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", one_task)
    limited(monkeypatch, bucket=4, comparisons=0)
    table = pa.table({"items": [sorted(each) for each in templates(kind, 1, items=60)]})
    found = same(
        table, tmp_path, {"threshold": 0.6, "bands": 5, "rows": 2, "audit": 30, "keep": keep, "cluster": cluster}
    )
    assert found.counts.giant_items > 10
    assert found.counts.led_items > 0 or kind in ("below", "chain")


def test_chains_are_connected_however_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", 0)
    rows = [sorted(range(i, i + 20)) for i in range(150)]
    random.Random(0).shuffle(rows)
    table = pa.table({"items": rows})
    for number, cluster in enumerate(("components", "representative")):
        folder = tmp_path / str(number)
        folder.mkdir()
        same(table, folder, {"threshold": 0.8, "bands": 40, "rows": 2, "cluster": cluster}, parts=6, cuts=(20, 90))


@pytest.mark.parametrize(
    "keep, message",
    [
        (len, "keep is a function: that is not supported on Spark"),
        ("max:host", "column holds string: on Spark it must hold numbers"),
    ],
)
def test_policies_without_numbers_are_refused(keep: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        packed_job(texts(1), tmp_path, verb="dedup", column="text", keep=keep)


def test_the_column_of_a_policy_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'dat' for keep"):
        packed_job(texts(1), tmp_path, verb="dedup", column="text", keep="max:dat")
