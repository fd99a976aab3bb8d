"""Giants in blocks: what one machine finds, however few of them a task holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.engines.packed import block_stage
from lookalike.engines.packed.blobs import BatchWriter, blobs
from lookalike.engines.packed.block_stage import BlockPairs, both_blocks, pair_count
from lookalike.engines.packed.numbering import FIRST_REFERENCE
from lookalike.engines.packed.packed_clusters import find_clusters
from tests.limited import limited
from tests.packed_runs import clustered, hold_against, listed, numbered, packed_job
from tests.templates import KINDS, templates

OPTIONS: dict[str, Any] = {"threshold": 0.6, "bands": 5, "rows": 2, "audit": 30}


def sets_of(kind: str, seed: int = 1, items: int = 60) -> tuple[list[set[int]], pa.Table]:
    sets = templates(kind, seed, items=items)
    return sets, pa.table({"items": [sorted(each) for each in sets]})


def test_each_two_blocks_are_a_pair_and_a_block_is_one_with_itself() -> None:
    pairs = [both_blocks(pair) for pair in range(pair_count(40))]
    assert sorted(pairs) == [(one, other) for one in range(40) for other in range(one, 40)]


@pytest.mark.parametrize("merged", [1, 2, 3, 7])
@pytest.mark.parametrize("within", [True, False])
def test_what_is_told_of_a_block_goes_to_all_its_pairs(within: bool, merged: int) -> None:
    out = BatchWriter(["giant_rows"])
    for block in range(7):
        out.add("giant_rows", block, {"items": np.array([block])})
    sent = list(blobs(BlockPairs(7, merged, within)(out.rest()), "giant_rows"))
    found = sorted((pair, int(blob["items"][0])) for pair, blob in sent)
    wanted = [
        (pair, block)
        for pair in range(pair_count(merged))
        for block in range(7)
        if block * merged // 7 in both_blocks(pair) and (within or len(set(both_blocks(pair))) == 2)
    ]
    assert found == sorted(wanted)


@pytest.mark.parametrize("held", [1_000, 4_000])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_and_their_certificate_are_those_of_the_local_engine(
    kind: str, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_stage, "_BLOCK_BYTES", held)
    limited(monkeypatch, bucket=4)
    _, table = sets_of(kind)
    job = packed_job(table, tmp_path, 4, **OPTIONS)
    found = job.match(numbered(table, [20, 21]))
    assert found.blocks > (1 if held > 1_000 else 3)
    local = lookalike.pairs(table, **OPTIONS)
    assert listed(job, found) == sorted(local)
    hold_against(job, found, None, local.found, compared=False)


@pytest.mark.parametrize("held", [1_000, 4_000])
@pytest.mark.parametrize("kind", KINDS)
def test_components_are_those_of_the_local_engine(
    kind: str, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_stage, "_BLOCK_BYTES", held)
    limited(monkeypatch, bucket=4)
    _, table = sets_of(kind)
    options = OPTIONS | {"cluster": "components"}
    job = packed_job(table, tmp_path, 4, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(table, [20, 21])))
    assert found.found.blocks > 1
    local = lookalike.dedup(table, **options)
    removed, clusters = clustered(job, found)
    assert removed == sorted(tuple(row.values()) for row in local.removed.to_pylist())
    assert clusters == sorted(tuple(row.values()) for row in local.clusters.to_pylist())


@pytest.mark.parametrize("held", [1_000, 4_000])
@pytest.mark.parametrize("keep", ["first", "longest"])
@pytest.mark.parametrize("kind", KINDS)
def test_who_is_kept_is_who_the_local_engine_keeps(
    kind: str, keep: str, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom an item goes for may be another one, which it matches as well, and which comes first."""
    monkeypatch.setattr(block_stage, "_BLOCK_BYTES", held)
    limited(monkeypatch, bucket=4)
    sets, table = sets_of(kind)
    options = OPTIONS | {"keep": keep}
    job = packed_job(table, tmp_path, 4, verb="dedup", **options)
    found = find_clusters(job, job.match(numbered(table, [20, 21])))
    assert found.found.blocks > 1
    local = lookalike.dedup(table, **options)
    removed, _ = clustered(job, found)
    assert [item for item, _, _ in removed] == sorted(local.removed["id"].to_pylist())
    assert found.found.counts["removed"] == len(removed)
    for item, kept, similarity in removed:
        assert similarity == len(sets[item] & sets[kept]) / len(sets[item] | sets[kept]) >= 0.6
        longest = keep == "longest"
        assert (-len(sets[kept]) * longest, kept) < (-len(sets[item]) * longest, item)


def test_giants_against_a_collection_are_compared_in_blocks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_stage, "_BLOCK_BYTES", 2_000)
    limited(monkeypatch, bucket=4)
    _, table = sets_of("mixed")
    known = pa.table({"items": table["items"].to_pylist()[::5] + [sorted(each) for each in templates("mixed", 2)]})
    job = packed_job(table, tmp_path, 4, verb="dedup", against=known, **OPTIONS)
    matched = job.match(numbered(table, [20, 21]), numbered(known, [9], first=FIRST_REFERENCE))
    found = find_clusters(job, matched)
    assert found.found.blocks > 1
    local = lookalike.dedup(table, against=known, **OPTIONS)
    removed, _ = clustered(job, found)
    references = found.found.numbering.references
    assert [item - references for item, _, _ in removed] == sorted(local.removed["id"].to_pylist())
