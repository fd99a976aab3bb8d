"""The verbs on Apache Spark: the same options as `lookalike.pairs`, on a DataFrame, with the same answer.

    import lookalike.spark
    found = lookalike.spark.pairs(spark.read.parquet("s3://…"), id="url", work="s3://…/work")
    found.table.write.parquet("s3://…/pairs")

See docs/spark.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from lookalike.config import Config, make_config
from lookalike.errors import OptionError
from lookalike.options import ConfigOptions, PairsOptions
from lookalike.options.option_table import check_names, checked, entries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lookalike.engines.spark.spark_results import SparkPairs

__all__ = ["pairs"]


def pairs(
    frame: DataFrame, *, work: str | None = None, parts: int | None = None, **options: Unpack[PairsOptions]
) -> SparkPairs:
    """Every pair of similar items, with its exact similarity; `table` of the result is a DataFrame.

    Args:
        frame: the rows; of a classic or a Connect session.
        work: a folder that all machines of the cluster reach, for what stages write; a temporary one on one machine.
        parts: how many tasks share each stage; by default as many as the number of rows suggests.
        options: those of `lookalike.pairs`. With `id`, items are in the order of their ids. Without it, a copy of all
            rows is written to the work folder and numbered; `items` of the result has the rows with their numbers.
    """
    from lookalike.engines.spark.spark_results import SparkPairs
    from lookalike.engines.spark.spark_run import run_on_spark

    config = _config("pairs", PairsOptions, options)
    return SparkPairs(run_on_spark(frame, config, verb="pairs", work=work, parts=parts))


def _config(verb: str, table: Any, options: Mapping[str, Any]) -> Config:
    """The configuration of options; those that only reading of files has are refused."""
    check_names(verb, table, options)
    checked(table, options)
    for name in ("format", "limit", "progress", "memory", "threads"):
        if options.get(name) is not None:
            raise OptionError(f"{name} is for runs on one machine: Spark sees to that, leave it out")
    return make_config(**{name: value for name, value in options.items() if name in entries(ConfigOptions)})
