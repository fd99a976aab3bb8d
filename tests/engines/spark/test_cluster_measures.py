"""Every form of items on Spark: who stays, who goes for whom, pairs, clusters, certificate, as in the local engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lookalike
import lookalike.spark
from tests.engines.packed.test_other_measures import vectors
from tests.engines.packed.test_packed_containment import OPTIONS as CONTAINMENT
from tests.engines.packed.test_packed_containment import nested
from tests.engines.spark.same_cases import CASES, on_one_machine, on_spark
from tests.engines.spark.test_spark_dedup import plain, rows_of
from tests.engines.spark.test_spark_pairs import told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", CASES)
def test_what_is_found_is_what_the_local_engine_finds(cluster: SparkSession, case: str) -> None:
    found, local = on_spark(cluster, case), on_one_machine(case)
    for name, table in local.items():
        assert found[name] == table, name
    assert local["removed"]
    assert local["pairs"]


def test_containment_says_what_is_inside_what(cluster: SparkSession) -> None:
    table = nested(4).append_column("id", pa.array([f"id {(i * 37) % 101:03}" for i in range(len(nested(4)))]))
    table = table.sort_by("id")
    own, other = table.slice(0, len(table) // 2), table.slice(len(table) // 2)
    options: dict[str, Any] = CONTAINMENT | {"id": "id", "keep": "longest"}
    local = lookalike.dedup(own, against=other, **options)
    frames = (cluster.createDataFrame(each).repartition(2) for each in (own, other))
    found = lookalike.spark.dedup(next(frames), against=next(frames), **options)
    assert plain(found.removed) == rows_of(local.removed)
    assert {row["relation"] for row in local.removed.to_pylist()} == {"contains", "inside"}
    assert found.pairs.columns == local.pairs.column_names
    assert plain(found.pairs) == rows_of(local.pairs)
    assert plain(found.clusters) == rows_of(local.clusters)
    assert told(found.report)["certificate"] == told(local.report)["certificate"]


def test_distances_are_told_as_distances(cluster: SparkSession) -> None:
    table = pa.table({"item": vectors()})
    options: dict[str, Any] = {"measure": "euclidean", "max_distance": 1.0}
    found = lookalike.spark.pairs(cluster.createDataFrame(table).coalesce(1), **options)
    local = lookalike.pairs(table, **options)
    assert found.table.columns == ["a", "b", "distance"]
    assert plain(found.table) == sorted(local, key=repr)
