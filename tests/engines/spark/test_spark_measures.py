"""Every form of items on Spark: what is removed for what, and the certificate, as in the local engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lookalike
import lookalike.spark
from tests.engines.packed.test_other_measures import bags, bits, vectors, with_groups
from tests.engines.packed.test_packed_containment import OPTIONS as CONTAINMENT
from tests.engines.packed.test_packed_containment import nested
from tests.engines.spark.test_spark_dedup import plain, rows_of
from tests.engines.spark.test_spark_pairs import rows, told
from tests.templates import templates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def texts() -> pa.Array:
    return rows()["text"].combine_chunks()


def sets() -> pa.Array:
    return pa.array([sorted(each) for each in templates("mixed", 1, items=100)], pa.list_(pa.int64()))


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sets": (sets, {"threshold": 0.6, "bands": 5, "rows": 3}),
    "vectors in groups": (vectors, {"measure": "cosine", "threshold": 0.9, "bands": 8, "rows": 8, "group_by": "group"}),
    "bits": (bits, {"measure": "hamming", "threshold": 0.9, "bands": 8, "rows": 12}),
    "weighed text": (texts, {"measure": "cosine", "weights": "bm25", "threshold": 0.7, "bands": 8, "rows": 6}),
    "bags": (bags, {"measure": "weighted-jaccard", "threshold": 0.7, "bands": 8, "rows": 3}),
}


@pytest.mark.parametrize("case", CASES)
def test_removed_items_are_those_of_the_local_engine(spark: SparkSession, case: str) -> None:
    made, options = CASES[case]
    items = made()
    table = with_groups(items).append_column("id", pa.array(range(len(items))))
    options = {"column": "item", "id": "id", "audit": 100, **options}
    local = lookalike.dedup(table, **options)
    found = lookalike.spark.dedup(spark.createDataFrame(table), **options)
    assert plain(found.removed) == rows_of(local.removed)
    assert len(found) < len(items)
    assert told(found.report)["certificate"] == told(local.report)["certificate"]


def test_containment_says_what_is_inside_what(spark: SparkSession) -> None:
    table = nested(4).append_column("id", pa.array([f"id {(i * 37) % 101:03}" for i in range(len(nested(4)))]))
    table = table.sort_by("id")
    own, other = table.slice(0, len(table) // 2), table.slice(len(table) // 2)
    options: dict[str, Any] = CONTAINMENT | {"id": "id", "keep": "longest"}
    local = lookalike.dedup(own, against=other, **options)
    frames = (spark.createDataFrame(each).repartition(2) for each in (own, other))
    found = lookalike.spark.dedup(next(frames), against=next(frames), **options)
    assert plain(found.removed) == rows_of(local.removed)
    assert {row["relation"] for row in local.removed.to_pylist()} == {"contains", "inside"}
    assert found.pairs.columns == local.pairs.column_names
    assert plain(found.pairs) == rows_of(local.pairs)
    assert plain(found.clusters) == rows_of(local.clusters)
    assert told(found.report)["certificate"] == told(local.report)["certificate"]


def test_distances_are_told_as_distances(spark: SparkSession) -> None:
    table = pa.table({"item": vectors()})
    options: dict[str, Any] = {"measure": "euclidean", "max_distance": 1.0}
    found = lookalike.spark.pairs(spark.createDataFrame(table).coalesce(1), **options)
    local = lookalike.pairs(table, **options)
    assert found.table.columns == ["a", "b", "distance"]
    assert plain(found.table) == sorted(local, key=repr)
