"""Recall and precision of the comparison with the peers, against counting by hand."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.collection import Recipe, families, write, write_truth
from benchmarks.peers_judge import judge

DOCS = 600


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    write(Recipe(DOCS, bytes=300, seed=1), [tmp_path / "collection.parquet"], row_group=200)
    write_truth(tmp_path / "collection.parquet", tmp_path / "truth.parquet")
    (tmp_path / "run").mkdir()
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "run" / "kept.parquet")
    return tmp_path


def near(folder: Path) -> list[tuple[int, int]]:
    table = pq.read_table(folder / "truth.parquet").to_pylist()
    return [(row["a"], row["b"]) for row in table if row["similarity"] >= 0.8]


def test_pairs_are_judged_once_in_either_order_and_without_those_of_a_template(collection: Path) -> None:
    family = families(Recipe(DOCS, seed=1))
    true = near(collection)
    template = np.flatnonzero(family == -2).tolist()
    foreign = [(a, b) for a, b in combinations(range(30), 2) if family[a] != family[b]][:10]
    written = [*true[5:], *((b, a) for a, b in true[5:9]), *combinations(template, 2), *foreign]
    pq.write_table(pa.table(dict(zip("ab", zip(*written, strict=True), strict=True))), collection / "run/pairs.parquet")
    (collection / "run" / "facts.json").write_text(json.dumps({"left_out": 7}))
    verdict = judge(collection / "collection.parquet", collection / "truth.parquet", collection / "run")
    assert len(true) > 50
    assert verdict.recall == (len(true) - 5) / len(true)
    assert verdict.precision == (len(true) - 5) / (len(true) + 5)
    assert (verdict.pairs, verdict.judged) == (len(true) + 5, "pairs")
    assert (verdict.kept, verdict.left_out) == (3, 7)


def test_pairs_inside_clusters_are_counted_as_if_they_were_made(collection: Path) -> None:
    family = families(Recipe(DOCS, seed=1))
    rng = np.random.default_rng(4)
    # Families as clusters, with a third of the documents moved to another cluster, and some in none.
    cluster = np.where(rng.random(DOCS) < 0.3, rng.integers(-2, 40, DOCS), family)
    within = np.flatnonzero(rng.random(DOCS) < 0.9)
    pq.write_table(pa.table({"id": within, "cluster": cluster[within]}), collection / "run" / "clusters.parquet")
    made = {
        (a, b)
        for a, b in combinations(within.tolist(), 2)
        if cluster[a] == cluster[b] and not (family[a] == family[b] < 0)
    }
    true = near(collection)
    hits = len(made & set(true))
    verdict = judge(collection / "collection.parquet", collection / "truth.parquet", collection / "run")
    assert 0 < hits < len(true)
    assert (verdict.pairs, verdict.judged, verdict.left_out) == (len(made), "clusters", 0)
    assert verdict.recall == hits / len(true)
    assert verdict.precision == hits / len(made)
