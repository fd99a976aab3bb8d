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
from lookalike.errors import InputError
from lookalike.scale import Scale
from lookalike.types import I64Array
from lookalike.wording.printable import spelled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "annotated_rows",
    "check_annotation",
    "ids_of_places",
    "kept_rows",
    "listed_pairs",
    "members_of_clusters",
    "removed_items",
]


def listed_pairs(run: SparkFound) -> DataFrame:
    """All pairs of items, as `lookalike.pairs` has them."""
    found, column = run.found, run.config.scale.column
    with settings(run.session), plain_errors():
        listed, work = run.job.unfold(found)
        columns = pa.schema([("a", pa.int64()), ("b", pa.int64()), (column, pa.float64())])
        pairs = run.carrier.mapped(listed, partial(_pairs, work, found.numbering, run.config.scale, columns), columns)
    named = _with_ids(run, pairs, ("a", "b")).select("a", "b", column)
    if run.config.id is not None and not run.source.by_id:
        # The smaller id is `a`, whichever item comes first.
        functions = spark_functions()
        named = named.select(functions.least("a", "b").alias("a"), functions.greatest("a", "b").alias("b"), column)
    return _with_files(run, named, {"a": "a_", "b": "b_"})


def removed_items(run: SparkFound) -> DataFrame:
    """Every removed item: its id, the id that is kept in its place, and how similar they are."""
    assert run.clusters is not None
    column = run.config.scale.column
    columns = pa.schema([("id", pa.int64()), ("kept", pa.int64()), (column, pa.float64())])
    rows = run.carrier.mapped(
        run.clusters.removed, partial(_removed, run.found.numbering, run.config.scale, columns), columns
    )
    named = _with_ids(run, rows, ("id", "kept")).select("id", "kept", column)
    return _with_files(run, named, {"id": "", "kept": "kept_"})


def members_of_clusters(run: SparkFound, listed: ListedClusters) -> DataFrame:
    """The items of every cluster of two or more: cluster number, its size, id, the kept id, similarity to it."""
    column = run.config.scale.column
    names = ("cluster", "size", "id", "kept")
    columns = pa.schema([*((name, pa.int64()) for name in names), (column, pa.float64())])
    work = partial(_members, run.found.numbering, run.config.scale, listed.firsts, columns)
    rows = run.carrier.mapped(listed.members, work, columns)
    return _with_files(run, _with_ids(run, rows, ("id", "kept")).select(*names, column), {"id": ""})


def kept_rows(run: SparkFound, removed: DataFrame) -> DataFrame:
    """The rows that stay, with all their columns."""
    if not run.source.by_id:
        assert run.clusters is not None
        numbers = pa.schema([(NUMBER, pa.int64())])
        gone = run.carrier.mapped(run.clusters.removed, partial(_numbers, numbers), numbers)
        return run.source.rows.join(gone, NUMBER, "left_anti").drop(NUMBER)
    gone = removed.select(spark_functions().col("id").alias(run.config.id))
    return run.frame.join(gone, run.config.id, "left_anti")


def annotated_rows(run: SparkFound, listed: ListedClusters) -> DataFrame:
    """All rows, with their cluster, how large it is, what they are a duplicate of, and how alike they are."""
    functions, column = spark_functions(), run.config.scale.column
    check_annotation(run.frame.columns, column)
    columns = pa.schema(
        [
            *((name, pa.int64()) for name in (NUMBER, "_item", "cluster", "cluster_size", "duplicate_of")),
            (column, pa.float64()),
        ]
    )
    work = partial(_annotations, run.found.numbering, run.config.scale, listed.firsts, columns)
    told = _with_ids(run, run.carrier.mapped(listed.members, work, columns), ("duplicate_of", "_item"))
    own = run.frame.columns
    if run.source.by_id:
        rows = run.frame.select(*(f"`{name}`" for name in own))
        joined = rows.join(told.drop(NUMBER), rows[f"`{run.config.id}`"] == told["_item"], "left")
    else:
        rows = run.source.rows.select(*(f"`{name}`" for name in [*own, NUMBER]))
        joined = rows.join(told.drop("_item"), NUMBER, "left")
    alone = functions.coalesce("cluster_size", functions.lit(1).cast("bigint")).alias("cluster_size")
    return joined.select(*(f"`{name}`" for name in own), "cluster", alone, "duplicate_of", column)


def check_annotation(columns: Sequence[str], similarity: str) -> None:
    """Refuse rows that have one of the columns that would be added."""
    for name in ("cluster", "cluster_size", "duplicate_of", similarity):
        if name in columns:
            raise InputError(f"the input has a column '{name}' already, which would be added")


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
        # What is a duplicate of nothing has no place.
        rows = rows.join(ids, rows[name] == ids["_place"], "left").drop("_place", name)
        rows = rows.withColumnRenamed(f"_{name}", name)
    return rows


def _with_files(run: SparkFound, rows: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """The rows with the file and the row in it of items in these columns, where there are several files and no ids."""
    files = run.source.files
    if run.config.id is not None or len(files) < 2:
        return rows
    added = [
        (f"{lead}{name}", kind) for lead in columns.values() for name, kind in (("file", "string"), ("row", "bigint"))
    ]
    schema = ", ".join(f"`{name}` {kind}" for name, kind in [*rows.dtypes, *added])
    work = partial(_add_files, [spelled(name) for name in files], np.array(run.source.first_rows()), dict(columns))
    return rows.mapInArrow(work, schema)


def _add_files(
    files: list[str], firsts: I64Array, columns: Mapping[str, str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The file of each item, and its row there."""
    names = pa.array(files)
    for batch in batches:
        made = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column, lead in columns.items():
            places = made[column].to_numpy()
            file = np.searchsorted(firsts, places, side="right") - 1
            made |= {f"{lead}file": names.take(pa.array(file)), f"{lead}row": pa.array(places - firsts[file])}
        yield pa.RecordBatch.from_pydict(made)


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


def _annotations(
    numbering: Numbering,
    scale: Scale,
    firsts: Mapping[int, int],
    columns: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Members of clusters as what is told beside their rows: those that stay are a duplicate of nothing."""
    for task, blob in blobs(batches, "members"):
        items, stays = blob["items"], blob["items"] == blob["kept"]
        found = (
            pa.array(items),
            pa.array(numbering.places(items)),
            pa.array(blob["cluster"] + firsts[task]),
            pa.array(blob["size"].astype(np.int64)),
            pa.array(numbering.places(blob["kept"]), mask=stays),
            pa.array(scale.told(blob["similarity"]), mask=stays | np.isnan(blob["similarity"])),
        )
        yield pa.RecordBatch.from_arrays(list(found), schema=columns)
