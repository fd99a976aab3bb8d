"""A run that was killed goes on from the stages that it finished."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lookalike
import lookalike.spark
from lookalike import InputError, OptionError
from lookalike.engines.spark.spark_carrier import SparkCarrier
from tests.engines.spark.test_spark_dedup import plain, rows_of
from tests.engines.spark.test_spark_pairs import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


class Killed(BaseException):
    """Stands for the end of the driver."""


def test_a_killed_run_goes_on_from_its_last_stage(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = rows()
    options: dict[str, Any] = {
        "column": "text",
        "id": "id",
        "threshold": 0.5,
        "shingle": "word:2",
        "bands": 5,
        "rows": 3,
    }
    options |= {"work": str(tmp_path), "keep": "longest"}
    frame = spark.createDataFrame(table)
    save = SparkCarrier.save_frame

    def killed(carrier: SparkCarrier, name: str, saved: DataFrame, *more: Any) -> DataFrame:
        if name == "matches":
            # It had begun to write.
            saved.write.parquet(f"{carrier._folder}/{name}")
            raise Killed
        return save(carrier, name, saved, *more)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SparkCarrier, "save_frame", killed)
        lookalike.spark.dedup(frame, **options)
    with pytest.raises(OptionError, match="continue them with resume=True"):
        lookalike.spark.dedup(frame, **options)
    found = lookalike.spark.dedup(frame, resume=True, **options)
    assert found._run.carrier.taken_over == ["sketches", "buckets", "candidates", "requests", "shipped"]
    del options["work"]
    local = lookalike.dedup(table, **options)
    assert plain(found.removed) == rows_of(local.removed)
    with pytest.raises(InputError, match="was begun on 306 rows, and there are 305 now"):
        lookalike.spark.dedup(frame.where("id != 'k0000'"), resume=True, work=str(tmp_path), **options)


def test_resume_needs_a_folder(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match="give it with work"):
        lookalike.spark.pairs(spark.createDataFrame([("a b",)], "text string"), resume=True)
