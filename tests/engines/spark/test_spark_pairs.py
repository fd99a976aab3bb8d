"""Pairs on Spark are those of the local engine, bit for bit, and what is not supported is refused before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lookalike
import lookalike.spark
from lookalike import InputError, OptionError
from lookalike.engines.packed.blobs import BatchWriter
from lookalike.engines.spark import spark_carrier
from lookalike.engines.spark.spark_carrier import SparkCarrier
from tests.near_copies import near_copies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def rows() -> pa.Table:
    texts = [*near_copies(1, families=40), "", "...", "", "one", "one", *near_copies(2, families=1, copies=60)]
    ids = [f"k{i:04}" for i in range(len(texts))]
    return pa.table({"id": ids, "text": texts, "group": [str(i % 3) for i in range(len(texts))]})


def listed(frame: DataFrame, column: str = "similarity") -> list[tuple[Any, Any, float]]:
    return sorted((row["a"], row["b"], row[column]) for row in frame.collect())


def told(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what two engines do differently: stages, and steps that are checked by making them again."""
    return {name: value for name, value in report.items() if name not in ("stages", "checked_items", "checked_pairs")}


def test_with_ids_the_order_of_rows_does_not_matter(spark: SparkSession) -> None:
    """With groups, bands that miss much, and an audit that finds it."""
    table = rows()
    options: dict[str, Any] = {"threshold": 0.5, "shingle": "word:2", "bands": 4, "rows": 4, "group_by": "group"}
    local = lookalike.pairs(table, column="text", id="id", **options)
    frame = spark.createDataFrame(table).repartition(5)
    found = lookalike.spark.pairs(frame, column="text", id="id", **options)
    assert listed(found.table) == sorted(local)
    assert len(found) == len(local) > 50
    assert found.plan == local.plan
    assert told(found.report) == told(local.report)


def test_without_ids_the_result_tells_the_number_of_each_row(spark: SparkSession, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "column": "text",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 4,
        "rows": 4,
        "audit": 50,
    }
    frame = spark.createDataFrame(rows()).repartition(4).sortWithinPartitions("id")
    found = lookalike.spark.pairs(frame, work=str(tmp_path), parts=2, **options)
    items = found.items.toArrow().sort_by("item")
    assert items["item"].to_pylist() == list(range(len(items)))
    assert sorted(items["id"].to_pylist()) == rows()["id"].to_pylist()
    assert listed(found.table) == sorted(lookalike.pairs(items, **options))
    assert len(list(tmp_path.glob("lookalike-*/matches"))) == 1
    assert repr(found).endswith("on Spark")


def test_identical_items_need_no_plan(spark: SparkSession) -> None:
    found = lookalike.spark.pairs(spark.createDataFrame(rows()), column="text", exact=True)
    assert listed(found.table) == sorted(lookalike.pairs(rows(), column="text", exact=True))
    assert found.plan is None


def test_errors_of_tasks_are_one_line(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "one two"), ("a", "three four")], "id string, text string")
    with pytest.raises(InputError, match=r"^id 'a' in column 'id' is repeated$"):
        lookalike.spark.pairs(frame, id="id")


UNSUPPORTED: dict[str, tuple[dict[str, Any], str]] = {
    "verify": ({"verify": "sketch"}, "verify is not supported on Spark"),
    "verify by text": ({"verify": "text"}, "verify is not supported on Spark"),
    "memory": ({"memory": "1GB"}, "memory is for one machine only"),
    "a name": ({"tresholt": 0.5}, "did you mean 'threshold'"),
}


@pytest.mark.parametrize("options, message", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_is_not_supported_is_refused(spark: SparkSession, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        lookalike.spark.pairs(spark.createDataFrame([("a b",)], "text string"), **options)


def test_ids_are_whole_numbers_or_text(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1.5, "a b")], "id double, text string")
    with pytest.raises(InputError, match="holds double"):
        lookalike.spark.pairs(frame, id="id")


def test_a_cluster_needs_a_folder_for_its_work(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.createDataFrame([("a b",)], "text string")
    monkeypatch.setattr("pyspark.sql.conf.RuntimeConfig.get", lambda *_: "spark://somewhere:7077")
    with pytest.raises(OptionError, match="give a folder that all machines can reach"):
        lookalike.spark.pairs(frame)


def test_where_rows_cannot_be_sent_by_number_they_are_grouped(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in 4.0."""
    monkeypatch.delattr("pyspark.sql.classic.dataframe.DataFrame.repartitionById")
    monkeypatch.delattr("pyspark.sql.DataFrame.repartitionById")
    test_identical_items_need_no_plan(spark)


def test_many_requests_are_not_sent_to_all(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(spark_carrier._SETTINGS, "spark.sql.autoBroadcastJoinThreshold", "-1")
    carrier = SparkCarrier(spark, str(tmp_path))
    many, few = BatchWriter(["rows"]), BatchWriter(["requests"])
    for place in range(4):
        many.add("rows", place, {})
        if place % 2:
            few.add("requests", place, {})
    made = carrier.made(list(many.rest()), ["rows"]), carrier.made(list(few.rest()), ["requests"])
    with spark_carrier.settings(spark):
        tables = carrier.save("rows", made[0]), carrier.save("requests", made[1])
        assert sorted(row["p"] for row in carrier.meet(*tables, every=False).frame.collect()) == [1, 3]
        assert len(carrier.meet(*tables, every=True).frame.collect()) == 4
