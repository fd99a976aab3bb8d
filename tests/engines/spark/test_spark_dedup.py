"""What stays, what goes and for what on Spark is that of the local engine, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lookalike
import lookalike.spark
from lookalike import OptionError
from lookalike.engines.packed import packed_clusters
from tests.engines.spark.test_spark_pairs import rows, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def with_scores() -> pa.Table:
    table = rows()
    return table.append_column("score", pa.array([(7 * i) % 11 / 2 for i in range(len(table))]))


def plain(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def test_kept_removed_and_clusters_are_those_of_the_local_engine(spark: SparkSession) -> None:
    table = with_scores()
    options: dict[str, Any] = {
        "column": "text",
        "id": "id",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 5,
        "rows": 3,
    }
    options |= {"keep": "max:score"}
    local = lookalike.dedup(table, **options)
    found = lookalike.spark.dedup(spark.createDataFrame(table).repartition(3), **options)
    assert plain(found.removed) == rows_of(local.removed)
    assert plain(found.clusters) == rows_of(local.clusters)
    assert plain(found.table.select(*table.column_names)) == rows_of(local.table)
    assert len(found) == local.table.num_rows
    assert "kept" in repr(found)
    assert told(found.report) == told(local.report)


def test_components_of_many_tasks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_clusters, "_ONE_TASK", 0)
    table = rows()
    options: dict[str, Any] = {
        "column": "text",
        "id": "id",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 5,
        "rows": 3,
    }
    options |= {"cluster": "components"}
    found = lookalike.spark.clusters(spark.createDataFrame(table), **options)
    local = lookalike.clusters(table, **options)
    assert plain(found.table) == rows_of(local.table)
    assert len(found) == len(local)
    assert repr(found).startswith(f"{len(local)} clusters among ")


def test_without_ids_the_kept_rows_are_those_that_were_numbered(spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows()).repartition(4)
    options: dict[str, Any] = {
        "column": "text",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 5,
        "rows": 3,
        "keep": "last",
    }
    found = lookalike.spark.dedup(frame, **options)
    items = found.items.toArrow().sort_by("item")
    local = lookalike.dedup(items, **options)
    assert plain(found.removed) == rows_of(local.removed)
    assert plain(found.table) == rows_of(local.table.drop_columns(["item"]))


def test_what_is_not_supported_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a b",)], "text string")
    refused: dict[str, dict[str, Any]] = {
        "against is a str: on Spark it is a DataFrame": {"against": "seen.idx"},
        "add needs an index": {"add": True},
        "unit": {"unit": "line"},
        "report_by": {"report_by": "text"},
        "keep is a function": {"keep": len},
    }
    for name, options in refused.items():
        with pytest.raises(OptionError, match=name):
            lookalike.spark.dedup(frame, **options)
