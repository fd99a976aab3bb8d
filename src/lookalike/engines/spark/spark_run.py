"""A run on Spark: from a DataFrame and options to matches, and from these to DataFrames."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.config import Config, check_options
from lookalike.engines.packed.blobs import blobs
from lookalike.engines.packed.carrier import StageWork
from lookalike.engines.packed.numbering import Numbering
from lookalike.engines.packed.packed_job import PackedJob, PackedMatches
from lookalike.engines.planning import plan_run
from lookalike.engines.spark.frame_source import FrameSource
from lookalike.engines.spark.spark_carrier import SparkCarrier, plain_errors, settings
from lookalike.errors import OptionError
from lookalike.items.collection import open_collection
from lookalike.measure_table import form_named
from lookalike.theory import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkFound", "listed_pairs", "run_on_spark"]

# Keys of all bands that a task sorts: 20 bytes each, and as much again to sort them.
_ENTRIES = 2_000_000
_MOST_PARTS = 65_000


@dataclass(frozen=True)
class SparkFound:
    """A finished run: how it was planned, and what it found."""

    session: SparkSession
    frame: DataFrame
    source: FrameSource
    carrier: SparkCarrier
    job: PackedJob
    found: PackedMatches
    config: Config
    plan: Plan | None


def run_on_spark(frame: DataFrame, config: Config, *, verb: str, work: str | None, parts: int | None) -> SparkFound:
    """All stages up to the matches."""
    _check_supported(config)
    session = frame.sparkSession
    carrier = SparkCarrier(session, _folder(session, work))
    with settings(session), plain_errors():
        source = FrameSource(frame, config.id, carrier)
        collection = open_collection(source, None, config)
        items = collection.items
        check_options(config, items.form)
        config = replace(config, measure=config.measure or form_named(items.form).measure)
        _check_measure(config)
        plan, _ = plan_run(collection, config, None, verb=verb)
        recipe = items.recipe.planned(plan)
        total = (source.count() or 0) * max(1, recipe.bands)
        tasks = parts or min(_MOST_PARTS, max(_cores(session), -(-total // _ENTRIES)))
        job = PackedJob(carrier, items, config, plan, recipe, tasks)
        columns = [*items.columns, *(name for name in (config.id, config.group_by) if name)]
        found = job.match(source.numbered(columns))
    return SparkFound(session, frame, source, carrier, job, found, config, plan)


def listed_pairs(run: SparkFound) -> DataFrame:
    """All pairs of items, as `lookalike.pairs` has them."""
    found, column = run.found, run.config.scale.column
    with settings(run.session), plain_errors():
        listed, work = run.job.unfold(found)
        columns = pa.schema([("a", pa.int64()), ("b", pa.int64()), (column, pa.float64())])
        pairs = run.carrier.mapped(listed, partial(_pairs, work, found.numbering, columns), columns)
    return pairs if run.config.id is None else _with_ids(run, pairs, ("a", "b")).select("a", "b", column)


def _with_ids(run: SparkFound, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows with ids in these columns instead of places."""
    kind = run.source.schema().field(run.config.id).type
    for name in columns:
        mine = pa.schema([("_place", pa.int64()), (f"_{name}", kind)])
        ids = run.carrier.mapped(run.found.ids, partial(_ids, run.found.numbering, mine), mine)
        rows = rows.join(ids, rows[name] == ids["_place"]).drop("_place", name).withColumnRenamed(f"_{name}", name)
    return rows


def _pairs(
    work: StageWork, numbering: Numbering, columns: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pairs of items as rows of a table of results."""
    for _, blob in blobs(work(batches), "listed"):
        left, right = (pa.array(numbering.places(blob[name])) for name in ("left", "right"))
        yield pa.RecordBatch.from_arrays([left, right, pa.array(blob["similarity"])], schema=columns)


def _ids(numbering: Numbering, columns: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The place of each item, and its id."""
    for _, blob in blobs(batches, "ids"):
        with pa.ipc.open_stream(pa.py_buffer(blob["table"])) as reader:
            ids = reader.read_all().column(0).combine_chunks()
        first = int(numbering.places(blob["base"])[0])
        places = pa.array(np.arange(first, first + len(ids)))
        yield pa.RecordBatch.from_arrays([places, ids], schema=columns)


def _check_supported(config: Config) -> None:
    """Refuse what this engine does not do yet, before anything runs."""
    unsupported = {
        "verify": config.verify != "exact" or config.verify_text,
        "max_share": config.max_share is not None,
        "weights": config.weights is not None,
        "unit": config.unit != "document",
        "report_by": config.report_by is not None,
    }
    for name, given in unsupported.items():
        if given:
            raise OptionError(f"{name} is not supported on Spark yet: leave it out, or run it on one machine")


def _check_measure(config: Config) -> None:
    if not config.exact and config.measure != "jaccard":
        raise OptionError(f"{config.measure} is not supported on Spark yet, only jaccard: run it on one machine")


def _cores(session: SparkSession) -> int:
    """How many tasks the user has exchanges make, at most as many as cores are likely."""
    return max(1, min(64, int(session.conf.get("spark.sql.shuffle.partitions", "8") or 8)))


def _folder(session: SparkSession, work: str | None) -> str:
    """Where stages are kept: below a folder that the user names, or, on one machine, in a temporary one."""
    if work is not None:
        return f"{work.rstrip('/')}/lookalike-{uuid.uuid4().hex[:12]}"
    master = session.conf.get("spark.master", "") or ""
    if not master.startswith("local"):
        raise OptionError(f"work is needed on {master or 'a cluster'}: name a folder that all machines reach (s3://…)")
    folder = tempfile.mkdtemp(prefix="lookalike-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
