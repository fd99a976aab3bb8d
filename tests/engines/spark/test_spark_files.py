"""Files that Spark reads: items have the numbers, names and places that the local engine gives them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
import lookalike.spark
from lookalike import InputError, OptionError
from lookalike.io.writing.table_files import save_table
from tests.engines.spark.test_spark_dedup import plain, rows_of
from tests.engines.spark.test_spark_pairs import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Identical items take few stages; what is alike is compared in the other tests.
OPTIONS: dict[str, Any] = {"column": "text", "exact": True}


def shuffled() -> pa.Table:
    """The rows, not in the order of their ids."""
    table = rows()
    return table.take([(i * 101) % len(table) for i in range(len(table))])


def test_rows_of_parquet_have_the_numbers_of_the_local_engine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several files in folders, some with several row groups, one of them empty, with names that addresses escape."""
    monkeypatch.chdir(tmp_path)
    table, folder = shuffled(), Path("in put")
    (folder / "ä%20").mkdir(parents=True)
    pq.write_table(table.slice(0, 150), folder / "b.parquet", row_group_size=40)
    pq.write_table(table.slice(150, 0), folder / "c.parquet")
    pq.write_table(table.slice(150), folder / "ä%20" / "d e.parquet", row_group_size=70)
    (folder / "note.txt").write_text("not a table")
    local = lookalike.dedup(str(folder), **OPTIONS)
    files = lookalike.spark.files(spark, str(folder))
    assert files.names == tuple(local.found.items.source.files)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "16000")
    try:
        found = lookalike.spark.dedup(files, **OPTIONS)
        assert found.removed.columns == local.removed.column_names
        assert plain(found.removed) == rows_of(local.removed)
        assert plain(found.table) == rows_of(local.table)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_rows_of_json_lines_are_counted_by_block(spark: SparkSession, tmp_path: Path) -> None:
    """With ids, which are names here and no order."""
    table = shuffled().select(["text", "id"])
    save_table(table.slice(0, 250), tmp_path / "part0.jsonl")
    save_table(table.slice(250), tmp_path / "part1.jsonl")
    local = lookalike.dedup(str(tmp_path), id="id", **OPTIONS)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "8000")
    try:
        found = lookalike.spark.dedup(lookalike.spark.files(spark, f"{tmp_path}/*.jsonl"), id="id", **OPTIONS)
        assert plain(found.removed) == rows_of(local.removed)
        assert plain(found.pairs) == rows_of(local.pairs)
        assert plain(found.annotated.select("id", "duplicate_of").where("duplicate_of is not null")) == (
            rows_of(local.removed.select(["id", "kept"]))
        )
        assert sorted(found.items.columns) == ["id", "item", "text"]
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_csv_is_read_as_the_local_engine_does(spark: SparkSession, tmp_path: Path) -> None:
    """Parted by semicolons, which the headers tell."""
    text = 'text;n\n"one ""two""\nthree; four, five";1\n\nfive six seven;2\n"one ""two""\nthree; four, five";3\n'
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text("text;n\nfive six seven;4\n")
    found = lookalike.spark.pairs(lookalike.spark.files(spark, str(tmp_path)), column="text", exact=True)
    assert plain(found.table) == rows_of(lookalike.pairs(str(tmp_path), column="text", exact=True).table)
    assert len(found) == 2


def test_what_cannot_be_read_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n')
    (tmp_path / "b.csv").write_text("text\na\n")
    for addresses, of, kind, message in (
        (["-"], None, OptionError, "standard input is on one machine"),
        ([str(tmp_path / "**")], None, OptionError, "Spark does not support"),
        ([str(tmp_path)], "npy", OptionError, "Spark reads parquet, jsonl"),
        ([str(tmp_path)], None, InputError, "there are csv and jsonl files"),
        ([str(tmp_path / "none")], None, lookalike.LookalikeError, "Path does not exist"),
    ):
        with pytest.raises(kind, match=message):
            lookalike.spark.files(spark, *addresses, format=of)
    with pytest.raises(OptionError, match="is for CSV files, and these are jsonl"):
        lookalike.spark.files(spark, str(tmp_path / "a.jsonl"), delimiter=";")
    with pytest.raises(InputError, match=r"^id 1 in column 'id' is repeated$"):
        lookalike.spark.pairs(lookalike.spark.files(spark, str(tmp_path / "a.jsonl")), id="id")
