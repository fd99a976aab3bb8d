"""What runs on Spark give back: DataFrames with a short face."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lookalike.engines.spark.spark_carrier import spark_functions
from lookalike.engines.spark.spark_run import SparkFound, listed_pairs
from lookalike.theory import Plan
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkPairs"]


class SparkPairs:
    """Similar pairs: the columns `a`, `b` and `similarity`, each pair once, as a DataFrame in no order."""

    def __init__(self, run: SparkFound) -> None:
        self._run = run
        # Made at once, so that too many pairs are refused before anybody asks for them.
        self.table: DataFrame = listed_pairs(run)

    @property
    def plan(self) -> Plan | None:
        """The plan that ran; None for identical items, which need none."""
        return self._run.plan

    @cached_property
    def counts(self) -> dict[str, int]:
        """What was seen on the way."""
        return dict(self._run.found.counts)

    @cached_property
    def items(self) -> DataFrame:
        """All rows of the input, with what `a` and `b` call them in a column `item` before the others."""
        run = self._run
        if run.config.id is not None:
            return run.frame.select(spark_functions().col(f"`{run.config.id}`").alias("item"), "*")
        return run.source.with_places(run.found.numbering, "item")

    def __len__(self) -> int:
        return self.counts["pairs"]

    def __repr__(self) -> str:
        return f"{counted(len(self), 'pair')} of {counted(self.counts['items'], 'item')}, on Spark"
