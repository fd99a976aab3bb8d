"""The verbs on Apache Spark: the same options as `lookalike.pairs`, on a DataFrame, with the same answer.

    import lookalike.spark
    found = lookalike.spark.dedup(spark.read.parquet("s3://…"), id="url", work="s3://…/work")
    found.table.write.parquet("s3://…/kept")

See docs/spark.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from lookalike.config import Config, make_config
from lookalike.errors import OptionError
from lookalike.options import ClustersOptions, ConfigOptions, DedupOptions, PairsOptions, allowed
from lookalike.options.option_table import check_names, checked, entries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lookalike.engines.spark.spark_files import SparkFiles
    from lookalike.runs.spark_results import SparkClusters, SparkDedup, SparkPairs

__all__ = ["clusters", "dedup", "files", "pairs"]


def files(
    session: SparkSession, *addresses: str, format: str | None = None, delimiter: str | None = None
) -> SparkFiles:
    """Files for a verb, in the place of a DataFrame: items have the numbers that the local engine gives them.

    Args:
        session: who reads them; classic or Connect.
        addresses: files, patterns, and folders with all that is below them, as Spark finds them (s3://…).
        format: parquet, jsonl, csv, tsv or lines; by their endings if None.
        delimiter: what parts the cells of CSV; what the header of the first file tells if None.
    """
    from lookalike.engines.spark.spark_files import SparkFiles

    delimiter = None if delimiter is None else allowed.delimiter("delimiter", delimiter)
    return SparkFiles(session, addresses, format, delimiter)


def pairs(
    frame: DataFrame | SparkFiles,
    *,
    work: str | None = None,
    parts: int | None = None,
    resume: bool = False,
    **options: Unpack[PairsOptions],
) -> SparkPairs:
    """Every pair of similar items, with its exact similarity; `table` of the result is a DataFrame.

    Args:
        frame: the rows; of a classic or a Connect session. Or `files`, whose rows are numbered by where they stand.
        work: a folder that all machines of the cluster reach, for what stages write; a temporary one on one machine.
        parts: how many tasks share each stage; by default as many as the number of rows suggests.
        resume: go on with a run that did not end: the same verb, options and rows, in the same work folder.
        options: those of `lookalike.pairs`. With `id`, rows of a DataFrame are in the order of their ids. Without it,
            a copy of all rows is written to the work folder and numbered; `items` of the result has the rows with
            their numbers.
    """
    from lookalike.engines.spark.spark_run import run_on_spark
    from lookalike.runs.spark_results import SparkPairs

    if options.pop("against", None) is not None:
        raise OptionError("pairs with against run on one machine only; on Spark use dedup")
    config = _config("pairs", PairsOptions, options)
    return SparkPairs(run_on_spark(frame, config, verb="pairs", work=work, parts=parts, resume=resume))


def clusters(
    frame: DataFrame | SparkFiles,
    *,
    work: str | None = None,
    parts: int | None = None,
    resume: bool = False,
    **options: Unpack[ClustersOptions],
) -> SparkClusters:
    """Groups of similar items, each with the item that stands for it; `table` of the result is a DataFrame.

    What it takes is that of `pairs`, with the options of `lookalike.clusters`.
    """
    from lookalike.engines.spark.spark_run import run_on_spark
    from lookalike.runs.spark_results import SparkClusters

    config = _config("clusters", ClustersOptions, options)
    return SparkClusters(run_on_spark(frame, config, verb="clusters", work=work, parts=parts, resume=resume))


def dedup(
    frame: DataFrame | SparkFiles,
    *,
    work: str | None = None,
    parts: int | None = None,
    resume: bool = False,
    **options: Unpack[DedupOptions],
) -> SparkDedup:
    """The rows without their near-duplicates (`table`), and what was removed for what (`removed`), as DataFrames.

    What it takes is that of `pairs`, with the options of `lookalike.dedup`. `against` is another DataFrame, or `files`,
    of the same session: what is like one of its rows goes, too.
    """
    from lookalike.engines.spark.spark_run import run_on_spark
    from lookalike.runs.spark_results import SparkDedup

    other = options.pop("against", None)
    config = _config("dedup", DedupOptions, options)
    if other is not None and not hasattr(other, "frame") and not hasattr(other, "sparkSession"):
        raise OptionError(
            f"against is a {type(other).__name__}: on Spark it is a DataFrame, or lookalike.spark.files(…); what is in "
            "an index is compared with on one machine"
        )
    return SparkDedup(run_on_spark(frame, config, verb="dedup", work=work, parts=parts, resume=resume, against=other))


def _config(verb: str, table: Any, options: Mapping[str, Any]) -> Config:
    """The configuration of options; those that only reading of files has are refused."""
    check_names(verb, table, options)
    checked(table, options)
    for name in ("format", "delimiter", "limit", "progress", "memory", "threads"):
        if options.get(name) is not None:
            raise OptionError(f"{name} is for one machine only: leave it out")
    for name in ("add", "replace", "payload"):
        if options.get(name):
            raise OptionError(f"{name} needs an index, which works on one machine only: leave it out, or run there")
    given = {name: value for name, value in options.items() if name in entries(ConfigOptions)}
    # A task has one core.
    return make_config(**given | {"threads": 1})
