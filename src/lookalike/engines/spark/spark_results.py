"""What runs on Spark give back: DataFrames with a short face."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lookalike.engines.spark.spark_carrier import spark_functions
from lookalike.engines.spark.spark_run import SparkFound
from lookalike.engines.spark.spark_tables import kept_rows, listed_pairs, members_of_clusters, removed_items
from lookalike.theory import Plan
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkClusters", "SparkDedup", "SparkPairs"]


class _SparkResult:
    """What a run on Spark found."""

    def __init__(self, run: SparkFound) -> None:
        self._run = run

    @property
    def plan(self) -> Plan | None:
        """The plan that ran; None for identical items, which need none."""
        return self._run.plan

    @property
    def counts(self) -> dict[str, int]:
        """What was seen on the way."""
        return dict(self._run.found.counts)

    @cached_property
    def items(self) -> DataFrame:
        """All rows of the input, with what the results call them in a column `item` before the others."""
        run = self._run
        if run.config.id is not None:
            return run.frame.select(spark_functions().col(f"`{run.config.id}`").alias("item"), "*")
        return run.source.with_places(run.found.numbering, "item")


class SparkPairs(_SparkResult):
    """Similar pairs: the columns `a`, `b` and `similarity`, each pair once, as a DataFrame in no order."""

    def __init__(self, run: SparkFound) -> None:
        super().__init__(run)
        # Made at once, so that too many pairs are refused before anybody asks for them.
        self.table: DataFrame = listed_pairs(run)

    def __len__(self) -> int:
        return self.counts["pairs"]

    def __repr__(self) -> str:
        return f"{counted(len(self), 'pair')} of {counted(self.counts['items'], 'item')}, on Spark"


class SparkClusters(_SparkResult):
    """Clusters of two or more items: `cluster`, `size`, `id`, `kept` (the id that stands for it), `similarity`."""

    @cached_property
    def table(self) -> DataFrame:
        return members_of_clusters(self._run)

    def __repr__(self) -> str:
        return (
            f"clusters of {counted(self.counts['items'], 'item')}, of which {self.counts['removed']:,} are like another"
        )


class SparkDedup(_SparkResult):
    """What stays and what goes, as DataFrames in no order.

    `table` has the kept rows with all their columns; `removed` the columns `id`, `kept`, `similarity`; `clusters` those
    of `SparkClusters.table`.
    """

    @cached_property
    def table(self) -> DataFrame:
        return kept_rows(self._run, self.removed)

    @cached_property
    def removed(self) -> DataFrame:
        return removed_items(self._run)

    @cached_property
    def clusters(self) -> DataFrame:
        return members_of_clusters(self._run)

    def __len__(self) -> int:
        """How many rows stay."""
        return self.counts["items"] - self.counts["removed"]

    def __repr__(self) -> str:
        return f"kept {len(self):,} of {counted(self.counts['items'], 'item')}, on Spark"
