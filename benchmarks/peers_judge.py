"""Recall and precision of what a contender wrote: python -m benchmarks.peers_judge COLLECTION TRUTH FOLDER, as JSON.

Judged are the pairs at 0.8 or above. Where there is no `pairs.parquet`, it is the pairs inside the clusters of
`clusters.parquet`. Pairs of two documents of one template are left out on both sides: the truth does not hold them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.collection import families, recipe_of

THRESHOLD = 0.8

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Verdict:
    recall: float
    precision: float
    pairs: int  # that were judged
    judged: str  # "pairs" or "clusters"
    kept: int  # documents
    left_out: int  # pairs that were found and not written, all of them of documents with very many


def keys(a: Numbers, b: Numbers, family: NDArray[np.int32]) -> Numbers:
    """A number for each pair of documents, each pair once, less those of one template."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    judged = (family[low] != family[high]) | (family[low] >= 0)
    return np.unique(low[judged] * len(family) + high[judged])


def of_pairs(path: Path, true: Numbers, family: NDArray[np.int32]) -> tuple[int, int]:
    """How many pairs there are, and how many are true."""
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(1_000_000, columns=["a", "b"])
        parts = [keys(batch["a"].to_numpy(), batch["b"].to_numpy(), family) for batch in batches]
    found = np.unique(np.concatenate([true[:0], *parts]))
    return len(found), int(np.isin(found, true, assume_unique=True).sum())


def pairs_within(*labels: NDArray[np.signedinteger]) -> int:
    """Pairs of places at which every label is the same."""
    size = np.unique(np.stack(labels), axis=1, return_counts=True)[1]
    return int((size * (size - 1) // 2).sum())


def of_clusters(path: Path, true: Numbers, family: NDArray[np.int32]) -> tuple[int, int]:
    """How many pairs lie inside clusters, and how many of these are true; counted without making them."""
    table = pq.read_table(path, columns=["id", "cluster"])
    names, number = np.unique(table["cluster"].to_numpy(), return_inverse=True)
    cluster = len(names) + np.arange(len(family))  # alone, where nothing else is said
    cluster[table["id"].to_numpy()] = number
    templated = family < 0
    inside = pairs_within(cluster) - pairs_within(cluster[templated], family[templated])
    return inside, int((cluster[true // len(family)] == cluster[true % len(family)]).sum())


def judge(collection: Path, truth: Path, folder: Path) -> Verdict:
    family = families(recipe_of(collection))
    table = pq.read_table(truth)
    table = table.filter(pc.greater_equal(table["similarity"], THRESHOLD))
    true = keys(table["a"].to_numpy(), table["b"].to_numpy(), family)
    judged = "pairs" if (folder / "pairs.parquet").exists() else "clusters"
    count = of_pairs if judged == "pairs" else of_clusters
    pairs, hits = count(folder / f"{judged}.parquet", true, family)
    kept = sum(pq.read_metadata(file).num_rows for file in folder.glob("kept*/**/*.parquet"))
    kept += sum(pq.read_metadata(file).num_rows for file in folder.glob("kept.parquet"))
    facts = folder / "facts.json"
    left_out = json.loads(facts.read_text())["left_out"] if facts.exists() else 0
    return Verdict(hits / max(1, len(true)), hits / max(1, pairs), pairs, judged, kept, left_out)


if __name__ == "__main__":
    print(json.dumps(asdict(judge(*map(Path, sys.argv[1:])))))
