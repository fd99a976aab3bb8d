"""What a run on Spark found, as DataFrames with the columns of the local engine's tables, and rows in no order.

Stages tell items by their places among all, references first. People see the row of an item in its own collection, or
the id that it has there.
"""

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
    functions, told, directed = spark_functions(), ["a", "b", column], run.config.scale.is_directed
    columns = pa.schema([("a", pa.int64()), ("b", pa.int64()), (column, pa.float64())])
    if directed:
        # How much of the larger is in the smaller, as well.
        columns = columns.append(pa.field("b_in_a", pa.float64()))
        told.append("b_in_a")
    with settings(run.session), plain_errors():
        listed, work = run.job.unfold(found)
        pairs = run.carrier.mapped(listed, partial(_pairs, work, found.numbering, run.config.scale, columns), columns)
    for name in () if run.against is None else ("a", "b") if directed else ("a",):
        pairs = pairs.withColumn(f"{name}_against", functions.col(name) < found.numbering.references)
        told.append(f"{name}_against")
    named = _named(run, pairs, ("a", "b"), told, {"a": "a_", "b": "b_"})
    if run.config.id is None or run.source.by_id:
        return named
    # The smaller id is `a`, whichever item comes first; but a reference comes before the run's own items.
    turned = functions.col("a") > functions.col("b")
    if run.against is not None:
        turned = turned & ~functions.col("a_against")
    if directed:
        # Unless it is inside the other: then that is told by `a`.
        turned = turned & (functions.col(column) == functions.col("b_in_a"))
    one, other = functions.when(turned, named["b"]), functions.when(turned, named["a"])
    return named.select(one.otherwise(named["a"]).alias("a"), other.otherwise(named["b"]).alias("b"), *told[2:])


def removed_items(run: SparkFound) -> DataFrame:
    """Every removed item: its id, the id that is kept in its place, and how similar they are."""
    assert run.clusters is not None
    column = run.config.scale.column
    columns, told = (
        pa.schema([("id", pa.int64()), ("kept", pa.int64()), (column, pa.float64())]),
        ["id", "kept", column],
    )
    if run.config.scale.is_directed:
        columns = columns.append(pa.field("relation", pa.string()))
        told.append("relation")
    rows = run.carrier.mapped(
        run.clusters.removed, partial(_removed, run.found.numbering, run.config.scale, columns), columns
    )
    if run.against is not None:
        rows = rows.withColumn("against", spark_functions().col("kept") < run.found.numbering.references)
        told.append("against")
    return _named(run, rows, ("id", "kept"), told, {"id": "", "kept": "kept_"})


def members_of_clusters(run: SparkFound, listed: ListedClusters) -> DataFrame:
    """The items of every cluster of two or more: cluster number, its size, id, the kept id, similarity to it."""
    column = run.config.scale.column
    names = ("cluster", "size", "id", "kept")
    columns = pa.schema([*((name, pa.int64()) for name in names), (column, pa.float64())])
    work = partial(_members, run.found.numbering, run.config.scale, listed.firsts, columns)
    rows = run.carrier.mapped(listed.members, work, columns)
    return _named(run, rows, ("id", "kept"), [*names, column], {"id": ""})


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
    members = run.carrier.mapped(listed.members, work, columns)
    told = _named(run, members, ("duplicate_of", "_item"), members.columns, {})
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
            raise InputError(f"the input already has a column '{name}', which would be added")


def ids_of_places(run: SparkFound, places: I64Array) -> list[Any]:
    """The ids of items in a few places; their rows, where there are no ids."""
    references = run.found.numbering.references
    rows = np.where(places < references, places, places - references).tolist()
    known = {}
    if run.config.id is not None:
        wanted = _ids_by_place(run).where(spark_functions().col("_place").isin(places.tolist()))
        known = {row["_place"]: row["_id"] for row in wanted.collect()}
    return [known.get(place, row) for place, row in zip(places.tolist(), rows, strict=True)]


def _named(
    run: SparkFound, rows: DataFrame, items: Sequence[str], told: Sequence[str], files: Mapping[str, str]
) -> DataFrame:
    """These columns, of which some have items by their places, and now by what people call them.

    Where they have no ids and are of several files, these columns are told beside, with what leads their names.
    """
    if run.config.id is not None:
        return _with_ids(run, rows, items).select(*told)
    rows, functions, references = _with_files(run, rows.select(*told), files), spark_functions(), 0
    if run.against is not None:
        references = run.found.numbering.references
    for name in items if references else ():
        place = functions.col(name)
        rows = rows.withColumn(name, functions.when(place < references, place).otherwise(place - references))
    return rows


def _with_ids(run: SparkFound, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows with ids in these columns instead of places."""
    functions = spark_functions()
    for name in columns:
        ids = _ids_by_place(run)
        # What is a duplicate of nothing has no place.
        rows = rows.join(ids, rows[name] == ids["_place"], "left").drop("_place")
        kind = ids.schema["_id"].dataType
        # A reference without an id is told by its row.
        rows = rows.withColumn(name, functions.coalesce("_id", functions.col(name).cast(kind))).drop("_id")
    return rows


def _ids_by_place(run: SparkFound) -> DataFrame:
    """The ids that there are, by the places of their items; as text, where two collections have others."""
    assert run.config.id is not None
    tables = [(run.source, run.found.ids)]
    if run.against is not None and run.found.reference_ids is not None and run.config.id in run.against.schema().names:
        tables.append((run.against, run.found.reference_ids))
    kinds = [source.schema().field(run.config.id).type for source, _ in tables]
    if run.against is not None and len(tables) == 1:
        kinds.append(pa.int64())
    found = []
    for (_, table), kind in zip(tables, kinds, strict=False):
        columns = pa.schema([("_place", pa.int64()), ("_id", kind)])
        ids = run.carrier.mapped(table, partial(_ids, run.found.numbering, columns), columns)
        found.append(ids if len(set(kinds)) == 1 else ids.withColumn("_id", ids["_id"].cast("string")))
    return found[0] if len(found) == 1 else found[0].unionAll(found[1])


def _with_files(run: SparkFound, rows: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """The rows with the file and the row in it of own items in these columns, where there are several files."""
    files = run.source.files
    if len(files) < 2 or not columns:
        return rows
    added = [
        (f"{lead}{name}", kind) for lead in columns.values() for name, kind in (("file", "string"), ("row", "bigint"))
    ]
    schema = ", ".join(f"`{name}` {kind}" for name, kind in [*rows.dtypes, *added])
    firsts = np.array(run.source.first_rows()) + run.found.numbering.references
    work = partial(_add_files, [spelled(name) for name in files], firsts, dict(columns))
    return rows.mapInArrow(work, schema)


def _add_files(
    files: list[str], firsts: I64Array, columns: Mapping[str, str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The file of each item, and its row there; of references none."""
    names = pa.array(files)
    for batch in batches:
        made = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column, lead in columns.items():
            places = made[column].to_numpy()
            file = np.searchsorted(firsts, places, side="right") - 1
            other = file < 0
            made |= {
                f"{lead}file": names.take(pa.array(file, mask=other)),
                f"{lead}row": pa.array(places - firsts[file], mask=other),
            }
        yield pa.RecordBatch.from_pydict(made)


def _pairs(
    work: StageWork, numbering: Numbering, scale: Scale, columns: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Pairs of items as rows of a table of results."""
    for _, blob in blobs(work(batches), "listed"):
        told = [*(numbering.places(blob[name]) for name in ("left", "right")), scale.told(blob["similarity"])]
        if "reversed" in blob:
            told.append(blob["reversed"])
        yield pa.RecordBatch.from_arrays([pa.array(each) for each in told], schema=columns)


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
    """Removed items as rows of a table of results; of references that are copies nothing is removed."""
    for _, blob in blobs(batches, "removed"):
        own = blob["items"] >= 0
        told = [pa.array(numbering.places(blob[name][own])) for name in ("items", "kept")]
        told.append(pa.array(scale.told(blob["similarity"][own])))
        if "contains" in blob:
            told.append(pa.array(np.where(blob["contains"][own], "contains", "inside")))
        yield pa.RecordBatch.from_arrays(told, schema=columns)


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
    """Own members of clusters as what is told beside their rows: those that stay are a duplicate of nothing."""
    for task, whole in blobs(batches, "members"):
        own = whole["items"] >= 0
        blob = {name: array[own] for name, array in whole.items()}
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
