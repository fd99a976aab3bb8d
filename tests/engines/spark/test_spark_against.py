"""Runs on Spark against another collection: what goes for what, in tables, report and run folder, is as locally."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
import lookalike.spark
from tests.engines.spark.test_spark_command import OPTIONS as COMMAND
from tests.engines.spark.test_spark_command import command
from tests.engines.spark.test_spark_dedup import plain, rows_of
from tests.engines.spark.test_spark_pairs import rows, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OPTIONS: dict[str, Any] = {"column": "text", "threshold": 0.5, "shingle": "word:2", "bands": 5, "rows": 3}


def two_collections() -> tuple[pa.Table, pa.Table]:
    """The rows of the run, and those that they are compared against, by id; some ids are in both."""
    table = rows().sort_by("id")
    even = pa.array([row % 2 == 0 for row in range(len(table))])
    other = pa.concat_tables([table.filter(even), table.filter(pa.compute.invert(even)).slice(0, 6)])
    return table.filter(pa.compute.invert(even)), other.sort_by("id")


def test_by_ids_of_both_collections(spark: SparkSession) -> None:
    own, other = two_collections()
    options = OPTIONS | {"id": "id", "keep": "longest"}
    local = lookalike.dedup(own, against=other, **options)
    found = lookalike.spark.dedup(
        spark.createDataFrame(own).repartition(3), against=spark.createDataFrame(other).repartition(2), **options
    )
    assert local.report["removed_against"] > 5
    assert plain(found.removed) == rows_of(local.removed)
    assert plain(found.clusters) == rows_of(local.clusters)
    assert plain(found.table.select(*own.column_names)) == rows_of(local.table)
    assert plain(found.pairs) == rows_of(local.pairs)
    assert told(found.report) == told(local.report)


def test_references_without_ids_are_told_by_their_rows(spark: SparkSession) -> None:
    own, other = two_collections()
    other = other.drop_columns(["id"])
    options = OPTIONS | {"id": "id"}
    local = lookalike.dedup(own, against=other, **options)
    frame = spark.createDataFrame(other).coalesce(1)
    found = lookalike.spark.dedup(spark.createDataFrame(own), against=frame, **options)
    assert plain(found.removed) == rows_of(local.removed)
    annotated = local.removed.select(["id", "kept"]).to_pylist()
    duplicates = found.annotated.where("duplicate_of is not null").select("id", "duplicate_of").collect()
    assert {row["id"]: row["duplicate_of"] for row in duplicates} == {row["id"]: row["kept"] for row in annotated}


def test_files_against_files_on_the_command_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own, other = two_collections()
    pq.write_table(own.slice(0, 20), "own-1.parquet")
    pq.write_table(own.slice(20), "own-2.parquet")
    pq.write_table(other.slice(0, 15), "known-1.parquet")
    pq.write_table(other.slice(15), "known-2.parquet")
    given = ("dedup", "own-*.parquet", "--against", "known-*.parquet", *COMMAND)
    assert command(monkeypatch, *given, "-o", "near") == 0
    said = capfd.readouterr().err
    assert command(monkeypatch, *given, "--engine", "spark", "-o", "far") == 0
    err = capfd.readouterr().err
    # The headline tells the engine and the time; all other lines are the same.
    assert said.splitlines()[1:] == err.splitlines()[1:]
    assert "removed because of a match in the other collection" in said
    far, near = lookalike.Run.open("far"), lookalike.Run.open("near")
    for name in ("against", "removed_against", "hits", "sources", "warnings"):
        assert far.report[name] == near.report[name], name
    for name in ("removed", "clusters", "pairs"):
        # Tables are sorted by id here, and there references come first.
        assert rows_of(getattr(far, name)) == rows_of(getattr(near, name)), name
