"""Items of every form with options, and all that a run told of them: the same on one machine and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import lookalike
import lookalike.spark
from tests.engines.packed.test_other_measures import bags, bits, vectors, with_groups
from tests.engines.spark.test_spark_pairs import rows
from tests.templates import templates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CASES", "ON_CONNECT", "on_one_machine", "on_spark"]


def _texts() -> pa.Array:
    return rows()["text"].combine_chunks()


def _sets() -> pa.Array:
    return pa.array([sorted(each) for each in templates("mixed", 1, items=100)], pa.list_(pa.int64()))


# With `max_share` tasks share document counts, which come to them in another way on a Connect session.
_TEXT = {"threshold": 0.5, "shingle": "word:2", "bands": 5, "rows": 3, "max_share": 0.1}
CASES: dict[str, tuple[Callable[[], pa.Array], dict[str, Any]]] = {
    "text": (_texts, _TEXT),
    "sets": (_sets, {"threshold": 0.6, "bands": 5, "rows": 3}),
    "vectors in groups": (vectors, {"measure": "cosine", "threshold": 0.9, "bands": 8, "rows": 8, "group_by": "group"}),
    "bits": (bits, {"measure": "hamming", "threshold": 0.9, "bands": 8, "rows": 12}),
    "weighed text": (_texts, {"measure": "cosine", "weights": "bm25", "threshold": 0.7, "bands": 8, "rows": 6}),
    "bags": (bags, {"measure": "weighted-jaccard", "threshold": 0.7, "bands": 8, "rows": 3}),
}
# Bags go the way of weighed text.
ON_CONNECT = [case for case in CASES if case != "bags"]


def _given(case: str) -> tuple[pa.Table, dict[str, Any]]:
    make, options = CASES[case]
    table = with_groups(make())
    table = table.append_column("id", pa.array(range(len(table))))
    return table, {"column": "item", "id": "id", "audit": 100, **options}


def _told(table: pa.Table) -> list[list[Any]]:
    return sorted(([*row.values()] for row in table.to_pylist()), key=repr)


def on_one_machine(case: str) -> dict[str, Any]:
    """Which rows stay, which go and for what, the clusters, the pairs and the certificate."""
    table, options = _given(case)
    found = lookalike.dedup(table, **options)
    return {
        "kept": sorted(found.table["id"].to_pylist()),
        "removed": _told(found.removed),
        "clusters": _told(found.clusters),
        "pairs": _told(found.pairs),
        "certificate": found.report["certificate"],
    }


def on_spark(session: SparkSession, case: str) -> dict[str, Any]:
    """The same of a run on Spark."""
    table, options = _given(case)
    found = lookalike.spark.dedup(session.createDataFrame(table), **options)
    return {
        "kept": sorted(found.table.select("id").toArrow()["id"].to_pylist()),
        "removed": _told(found.removed.toArrow()),
        "clusters": _told(found.clusters.toArrow()),
        "pairs": _told(found.pairs.toArrow()),
        "certificate": found.report["certificate"],
    }
