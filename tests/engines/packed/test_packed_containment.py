"""Containment by packed stages, in one process: what is inside what, who goes for whom, as in the local engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.engines.packed import block_stage, packed_clusters
from lookalike.engines.packed.numbering import FIRST_REFERENCE
from lookalike.engines.packed.packed_clusters import find_clusters
from lookalike.engines.packed.unfold_stage import WHOLE
from tests.limited import limited
from tests.packed_runs import clustered, hold_against, listed, numbered
from tests.packed_runs import packed_job as made_job

OPTIONS: dict[str, Any] = {"measure": "containment", "threshold": 0.7, "shingle": "word:1", "column": "text"}


def nested(seed: int, families: int = 25) -> pa.Table:
    """Texts, parts of them, of which some have a word more, and copies; some have no words."""
    rng = random.Random(seed)
    texts = ["", "...", ""]
    for family in range(families):
        words = [f"{family}w{rng.randrange(1000)}" for _ in range(rng.randrange(12, 60))]
        texts.append(" ".join(words))
        for _ in range(rng.randrange(4)):
            begin = rng.randrange(len(words) // 2)
            some = words[begin : begin + rng.randrange(5, 30)]
            texts += [" ".join([*some, *[f"x{rng.randrange(10**6)}"] * rng.randrange(3)])] * rng.choice([1, 1, 2])
    rng.shuffle(texts)
    return pa.table({"text": texts, "size": [rng.randrange(4) for _ in texts]})


def pairs_of(job: Any, found: Any) -> list[tuple[int, int, float, float]]:
    """(item, item that it is inside of, both shares) of all pairs."""
    made = job.carrier.collect(job.carrier.map(*job.unfold(found), WHOLE), "listed")[0]
    rows = []
    for blob in made:
        ends = (found.numbering.places(blob[name]).tolist() for name in ("left", "right"))
        rows += list(zip(*ends, blob["similarity"].tolist(), blob["reversed"].tolist(), strict=True))
    return sorted(rows)


@pytest.mark.parametrize("bucket", [5000, 3])
def test_pairs_say_what_is_inside_what(bucket: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, bucket=bucket)
    table = nested(1)
    local = lookalike.pairs(table, **OPTIONS)
    job = made_job(table, tmp_path, 3, **OPTIONS)
    found = job.match(numbered(table, [40, 41]))
    assert pairs_of(job, found) == sorted(tuple(row.values()) for row in local.table.to_pylist())
    assert len({row[:2] for row in pairs_of(job, found)}) == len(listed(job, found)) > 50
    assert any(a > b for a, b, *_ in pairs_of(job, found))
    hold_against(job, found, None, local.found)


@pytest.mark.parametrize("one_task", [0, 10**6])
@pytest.mark.parametrize("bucket", [5000, 3])
@pytest.mark.parametrize("keep", ["first", "last", "longest", "max:size"])
@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_the_larger_ones_stay(
    cluster: str, keep: str, bucket: int, one_task: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, bucket=bucket)
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", one_task)
    table = nested(2)
    options = OPTIONS | {"keep": keep, "cluster": cluster}
    local = lookalike.dedup(table, **options)
    job = made_job(table, tmp_path, 3, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(table, [40, 41])))
    removed, _ = clustered(job, found)
    assert removed == sorted(tuple(row.values())[:3] for row in local.removed.to_pylist())
    assert relations(job, found, 0) == {row["id"]: row["relation"] for row in local.removed.to_pylist()}
    hold_against(job, found.found, found, local.found)


def relations(job: Any, clusters: Any, references: int) -> dict[int, str]:
    """How each removed item stands to what it goes for."""
    told: dict[int, str] = {}
    for blob in job.carrier.collect(clusters.removed, "removed")[0]:
        own = blob["items"] >= 0
        items = clusters.found.numbering.places(blob["items"][own]) - references
        told |= dict(zip(items.tolist(), np.where(blob["contains"][own], "contains", "inside").tolist(), strict=True))
    return told


@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_what_contains_a_reference_goes_for_it(cluster: str, keep: str, tmp_path: Path) -> None:
    table = nested(3, families=40)
    own, other = table.slice(0, len(table) // 2), table.slice(len(table) // 2).select(["text"])
    options = OPTIONS | {"keep": keep, "cluster": cluster}
    local = lookalike.dedup(own, against=other, **options)
    job = made_job(own, tmp_path, 3, verb="dedup", against=other, **options)
    found = find_clusters(
        job, job.match(numbered(own, [20, 21]), numbered(other, [30], first=FIRST_REFERENCE)),
    )  # fmt: skip
    rows = local.removed.to_pylist()
    assert relations(job, found, len(other)) == {row["id"]: row["relation"] for row in rows}
    assert {row["relation"] for row in rows if row["against"]} == {"contains", "inside"}
    plain = []
    for row in local.pairs.to_pylist():
        a, b = (row[name] + (0 if row[f"{name}_against"] else len(other)) for name in ("a", "b"))
        plain.append((a, b, row["similarity"], row["b_in_a"]))
    assert pairs_of(job, found.found) == sorted(plain)
    hold_against(job, found.found, found, local.found)


@pytest.mark.parametrize("held", [1_500, 6_000])
def test_more_sets_than_one_task_holds_are_compared_in_blocks(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_stage, "_BLOCK_BYTES", held)
    table = nested(1)
    local = lookalike.pairs(table, **OPTIONS)
    job = made_job(table, tmp_path, 3, **OPTIONS)
    found = job.match(numbered(table, [40]))
    assert found.blocks > 1
    assert pairs_of(job, found) == sorted(tuple(row.values()) for row in local.table.to_pylist())
    hold_against(job, found, None, local.found, compared=False)


@pytest.mark.parametrize("held", [1_500, 6_000])
def test_the_larger_ones_of_several_blocks_stay(held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_stage, "_BLOCK_BYTES", held)
    table = nested(1)
    job = made_job(table, tmp_path, 3, verb="dedup", **OPTIONS)
    clusters = find_clusters(job, job.match(numbered(table, [40])))
    assert clusters.found.blocks > 1
    removed, _ = clustered(job, clusters)
    assert [item for item, *_ in removed] == sorted(lookalike.dedup(table, **OPTIONS).removed["id"].to_pylist())
