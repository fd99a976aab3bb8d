"""What a run on Spark found, as DataFrames with the columns of the local engine's tables, and rows in no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import blobs
from lookalike.engines.packed.carrier import StageWork
from lookalike.engines.packed.numbering import NUMBER, Numbering
from lookalike.engines.packed.packed_clusters import ListedClusters
from lookalike.engines.spark.spark_carrier import plain_errors, settings, spark_functions
from lookalike.engines.spark.spark_run import SparkFound
from lookalike.scale import Scale
from lookalike.types import I64Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ids_of_places", "kept_rows", "listed_pairs", "members_of_clusters", "removed_items"]


def listed_pairs(run: SparkFound) -> DataFrame:
    """All pairs of items, as `lookalike.pairs` has them."""
    found, column = run.found, run.config.scale.column
    with settings(run.session), plain_errors():
        listed, work = run.job.unfold(found)
        columns = pa.schema([("a", pa.int64()), ("b", pa.int64()), (column, pa.float64())])
        pairs = run.carrier.mapped(listed, partial(_pairs, work, found.numbering, run.config.scale, columns), columns)
    return _with_ids(run, pairs, ("a", "b")).select("a", "b", column)


def removed_items(run: SparkFound) -> DataFrame:
    """Every removed item: its id, the id that is kept in its place, and how similar they are."""
    assert run.clusters is not None
    column = run.config.scale.column
    columns = pa.schema([("id", pa.int64()), ("kept", pa.int64()), (column, pa.float64())])
    rows = run.carrier.mapped(
        run.clusters.removed, partial(_removed, run.found.numbering, run.config.scale, columns), columns
    )
    return _with_ids(run, rows, ("id", "kept")).select("id", "kept", column)


def members_of_clusters(run: SparkFound, listed: ListedClusters) -> DataFrame:
    """The items of every cluster of two or more: cluster number, its size, id, the kept id, similarity to it."""
    column = run.config.scale.column
    names = ("cluster", "size", "id", "kept")
    columns = pa.schema([*((name, pa.int64()) for name in names), (column, pa.float64())])
    work = partial(_members, run.found.numbering, run.config.scale, listed.firsts, columns)
    rows = run.carrier.mapped(listed.members, work, columns)
    return _with_ids(run, rows, ("id", "kept")).select(*names, column)


def kept_rows(run: SparkFound, removed: DataFrame) -> DataFrame:
    """The rows that stay, with all their columns."""
    if run.config.id is None:
        assert run.clusters is not None
        numbers = pa.schema([(NUMBER, pa.int64())])
        gone = run.carrier.mapped(run.clusters.removed, partial(_numbers, numbers), numbers)
        return run.source.copy.join(gone, NUMBER, "left_anti").drop(NUMBER)
    gone = removed.select(spark_functions().col("id").alias(run.config.id))
    return run.frame.join(gone, run.config.id, "left_anti")


def ids_of_places(run: SparkFound, places: I64Array) -> list[Any]:
    """The ids of items in a few places; their places, where there are no ids."""
    if run.config.id is None:
        return list(places.tolist())
    kind = run.source.schema().field(run.config.id).type
    columns = pa.schema([("_place", pa.int64()), ("_id", kind)])
    ids = run.carrier.mapped(run.found.ids, partial(_ids, run.found.numbering, columns), columns)
    wanted = ids.where(spark_functions().col("_place").isin(places.tolist()))
    known = {row["_place"]: row["_id"] for row in wanted.collect()}
    return [known[place] for place in places.tolist()]


def _with_ids(run: SparkFound, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows with ids in these columns instead of places, where there are such."""
    if run.config.id is None:
        return rows
    kind = run.source.schema().field(run.config.id).type
    for name in columns:
        mine = pa.schema([("_place", pa.int64()), (f"_{name}", kind)])
        ids = run.carrier.mapped(run.found.ids, partial(_ids, run.found.numbering, mine), mine)
        rows = rows.join(ids, rows[name] == ids["_place"]).drop("_place", name).withColumnRenamed(f"_{name}", name)
    return rows


def _pairs(
    work: StageWork, numbering: Numbering, scale: Scale, columns: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pairs of items as rows of a table of results."""
    for _, blob in blobs(work(batches), "listed"):
        left, right = (pa.array(numbering.places(blob[name])) for name in ("left", "right"))
        yield pa.RecordBatch.from_arrays([left, right, pa.array(scale.told(blob["similarity"]))], schema=columns)


def _ids(numbering: Numbering, columns: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The place of each item, and its id."""
    for _, blob in blobs(batches, "ids"):
        with pa.ipc.open_stream(pa.py_buffer(blob["table"])) as reader:
            ids = reader.read_all().column(0).combine_chunks()
        first = int(numbering.places(blob["base"])[0])
        places = pa.array(np.arange(first, first + len(ids)))
        yield pa.RecordBatch.from_arrays([places, ids], schema=columns)


def _removed(
    numbering: Numbering, scale: Scale, columns: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Removed items as rows of a table of results."""
    for _, blob in blobs(batches, "removed"):
        items, kept = (pa.array(numbering.places(blob[name])) for name in ("items", "kept"))
        yield pa.RecordBatch.from_arrays([items, kept, pa.array(scale.told(blob["similarity"]))], schema=columns)


def _numbers(columns: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The numbers of removed items."""
    for _, blob in blobs(batches, "removed"):
        yield pa.RecordBatch.from_arrays([pa.array(blob["items"])], schema=columns)


def _members(
    numbering: Numbering,
    scale: Scale,
    firsts: Mapping[int, int],
    columns: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Members of clusters as rows of a table of results."""
    for task, blob in blobs(batches, "members"):
        items, kept = (numbering.places(blob[name]) for name in ("items", "kept"))
        found = (
            blob["cluster"] + firsts[task],
            blob["size"].astype(np.int64),
            items,
            kept,
            scale.told(blob["similarity"]),
        )
        yield pa.RecordBatch.from_arrays([pa.array(each) for each in found], schema=columns)
