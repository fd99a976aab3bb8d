"""From verified matches to what people asked for: pairs of items, clusters, and which item stays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.collide.fold import Wanted
from lookalike.engines.local.cluster_matches import Clustering
from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.unfolding import pairs_in_order
from lookalike.io.copying.changes import Extra
from lookalike.io.writing.table_files import save_batches
from lookalike.items.from_rows import Items
from lookalike.items.ids import ids_of_both
from lookalike.types import BoolArray, F64Array, I64Array, U32Array
from lookalike.verify.containment import reversed_share
from lookalike.wording.printable import spelled
from lookalike.wording.progress import SILENT, Progress

__all__ = [
    "annotation",
    "cluster_batches",
    "clustering_of",
    "clusters_table",
    "file_columns",
    "ids_of",
    "most_similar",
    "pair_batches",
    "pairs_table",
    "removed_batches",
    "removed_columns",
    "removed_table",
    "save_pairs",
]

# Rows of the tables of clusters and of removed items that are made at a time.
_TABLE_ROWS = 1 << 16


def pair_batches(found: Found) -> Iterator[pa.RecordBatch]:
    """Every pair of items once, the smaller id as `a`, sorted by a and b; without any there is one empty batch.

    Of containment `a` is the smaller item, the one that is inside; `b_in_a` tells how much of b is inside a. Of two
    items of one size it is the one with the smaller id.

    Items of another collection come before the run's own, and after them where it is pairs that are asked for.
    """
    found.config.limits.check_pairs(found.matched.pairs)
    references, wanted = found.collection.references, found.matched.folds.wanted
    rank, scale = found.sketched.item_rank(), found.config.scale
    if wanted is not Wanted.REMOVING:
        rank = np.concatenate([np.arange(references) + len(rank), rank])
    elif references:
        rank = np.concatenate([np.arange(references), rank + references])
    sizes = found.sketched.sizes() if scale.is_directed else None
    # Of pairs across the first is an own item, and the second is not, but where the smaller one comes first.
    apart = found.collection.against if wanted is Wanted.ACROSS and sizes is None else None
    stretches = pairs_in_order(found.matched.folds, found.matched.matches, rank, sizes, scale.identical)
    nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    for first, second, similarity in chain([next(stretches, nothing)], stretches):
        if apart is None:
            names = {"a": ids_of(found, first), "b": ids_of(found, second)}
            places = _places(found, "a", first) | _places(found, "b", second)
        else:
            rows = found.sketched.rows_of(first), found.sketched.rows_of(second)
            names = {"a": found.sketched.ids[-1].of(rows[0]), "b": found.sketched.ids[0].of(rows[1])}
            places = file_columns(found.items, "a", rows[0]) | file_columns(apart, "b", rows[1])
        columns = {**names, **_column(found, similarity)}
        if sizes is not None:
            columns["b_in_a"] = pa.array(_other_way(similarity, sizes[first], sizes[second]))
        if found.texts is not None:
            columns |= {"text_a": found.texts.of(first), "text_b": found.texts.of(second)}
        told = {Wanted.REMOVING: "a", Wanted.WITHIN: "b", Wanted.ACROSS: ""}[wanted]
        for end, items in (("a", first), ("b", second)) if references else ():
            if scale.is_directed or end == told:
                columns[f"{end}_against"] = pa.array(items < references)
        yield pa.record_batch(columns | places)


def _other_way(scores: F64Array, smaller: I64Array, larger: I64Array) -> F64Array:
    """How much of the larger set is inside the smaller one; items without elements are inside their copies alone."""
    known = np.maximum(smaller, 1), np.maximum(larger, 1)
    return np.where(larger > 0, reversed_share(scores, *known), scores)


def pairs_table(found: Found) -> pa.Table:
    """All of `pair_batches`."""
    return pa.Table.from_batches(pair_batches(found))


def most_similar(found: Found, rows: int) -> pa.Table:
    """So many rows of the table of pairs, the most similar first."""
    best = None
    for batch in pair_batches(found):
        table = pa.Table.from_batches([batch])
        table = table if best is None else pa.concat_tables([best, table])
        order = "ascending" if found.config.scale.is_distance else "descending"
        best = table.sort_by([(found.config.scale.column, order)]).slice(0, rows).combine_chunks()
    return best


def save_pairs(
    found: Found, path: str | Path, *, overwrite: bool = False, ours: bool = False, progress: Progress = SILENT
) -> None:
    """Write the pairs as they are made: they need not fit into memory."""
    with progress.stage("writing pairs", found.matched.pairs, "pairs") as stage:
        save_batches(pair_batches(found), path, overwrite=overwrite, ours=ours, on_rows=stage.advance)


def clusters_table(found: Found) -> pa.Table:
    """The items of every cluster of two or more: cluster number, its size, id, the kept id, similarity to it.

    Items of the collection that was compared against are there where an own item is like them.
    """
    return pa.Table.from_batches(cluster_batches(found))


def cluster_batches(found: Found) -> Iterator[pa.RecordBatch]:
    """The rows of `clusters_table`, some at a time; without any there is one empty batch."""
    clustering = clustering_of(found)
    sizes = clustering.sizes
    listed = (sizes > 1) & _with_own(clustering, found.collection.references)
    items = np.flatnonzero(listed[clustering.keeper])
    # Clusters are numbered by their first item, and their items follow in the order of the input.
    first = _first_of_cluster(clustering)[items]
    order = np.argsort(first, kind="stable")
    items, first = items[order], first[order]
    number = np.cumsum(np.diff(first, prepend=first[:1]) != 0)
    del listed, order, first
    for begin in range(0, max(1, len(items)), _TABLE_ROWS):
        some = items[begin : begin + _TABLE_ROWS]
        keepers = clustering.keeper[some].astype(np.int64)
        columns = {
            "cluster": pa.array(number[begin : begin + _TABLE_ROWS]),
            "size": pa.array(sizes[keepers].astype(np.int64)),
            "id": ids_of(found, some),
            "kept": ids_of(found, keepers),
            **_column(found, clustering.similarity[some]),
        }
        if found.texts is not None:
            columns["text"] = found.texts.of(some)
        yield pa.record_batch(columns | _places(found, "", some))


def _with_own(clustering: Clustering, references: int) -> BoolArray:
    """Which items stand for one of the run's own."""
    own = np.zeros(len(clustering.keeper), np.bool_)
    own[clustering.keeper[references:]] = True
    return own


def _first_of_cluster(clustering: Clustering) -> U32Array:
    first = np.full(len(clustering.keeper), len(clustering.keeper), np.uint32)
    np.minimum.at(first, clustering.keeper, np.arange(len(clustering.keeper), dtype=np.uint32))
    return first[clustering.keeper]


def removed_table(found: Found) -> pa.Table:
    """Every removed item: its id, the id kept in its place, and how similar they are.

    Of containment `relation` tells whether the removed item is "inside" the kept one, or "contains" one of the
    collection that was compared against; the similarity is how much of the smaller is inside the larger.
    """
    return pa.Table.from_batches(removed_batches(found))


def removed_batches(found: Found) -> Iterator[pa.RecordBatch]:
    """The rows of `removed_table`, some at a time; without any there is one empty batch."""
    removed = np.flatnonzero(~clustering_of(found).kept)
    removed = removed[removed >= found.collection.references]
    for begin in range(0, max(1, len(removed)), _TABLE_ROWS):
        yield pa.record_batch(removed_columns(found, removed[begin : begin + _TABLE_ROWS]))


def removed_columns(found: Found, items: I64Array) -> dict[str, pa.Array]:
    """What is told of removed items."""
    clustering, references = clustering_of(found), found.collection.references
    keepers = clustering.keeper[items].astype(np.int64)
    columns = {
        "id": ids_of(found, items),
        "kept": ids_of(found, keepers),
        **_column(found, clustering.similarity[items]),
    }
    if found.config.scale.is_directed:
        sizes = found.sketched.sizes()
        columns["relation"] = pc.if_else(pa.array(sizes[items] > sizes[keepers]), "contains", "inside")
    if references:
        columns["against"] = pa.array(keepers < references)
    if found.texts is not None:
        columns |= {"text": found.texts.of(items), "kept_text": found.texts.of(keepers)}
    return columns | _places(found, "", items) | _places(found, "kept", keepers)


def annotation(found: Found) -> Extra:
    """What `--annotate` adds to each row: its cluster, how large that is, and what it is a duplicate of."""
    clustering, references = clustering_of(found), found.collection.references
    sizes = clustering.sizes
    first = _first_of_cluster(clustering)
    listed = (sizes > 1) & _with_own(clustering, references)
    number = np.cumsum((first == np.arange(len(first))) & listed[clustering.keeper]) - 1
    kind, scale = ids_of(found, np.empty(0, np.int64)).type, found.config.scale

    def rows(begin: int, count: int) -> pa.RecordBatch:
        items = np.arange(begin, begin + count) + references
        keepers = clustering.keeper[items].astype(np.int64)
        removed, alone = keepers != items, sizes[keepers] == 1
        return pa.RecordBatch.from_arrays(
            [
                pa.array(number[first[items]], mask=alone),
                pa.array(sizes[keepers].astype(np.int64)),
                pc.if_else(pa.array(removed), ids_of(found, keepers), pa.scalar(None, kind)),
                pa.array(
                    scale.told(clustering.similarity[items]), mask=~removed | np.isnan(clustering.similarity[items])
                ),
            ],
            schema=schema,
        )

    schema = pa.schema(
        [("cluster", pa.int64()), ("cluster_size", pa.int64()), ("duplicate_of", kind), (scale.column, pa.float64())]
    )
    return Extra(schema, rows)


def clustering_of(found: Found) -> Clustering:
    """The clusters of a run that was asked for them."""
    assert found.matched.clustering is not None, "pairs were asked for"
    return found.matched.clustering


def _column(found: Found, scores: F64Array) -> dict[str, pa.Array]:
    """How alike pairs are, under the name that the measure has for it; a pair that was not verified has none."""
    scale = found.config.scale
    return {scale.column: pa.array(scale.told(scores), mask=np.isnan(scores))}


def _unit_numbers(found: Found, items: I64Array) -> I64Array:
    """The number of each of some units inside its document, from 0."""
    return items - found.sketched.first_in_row[items]


def ids_of(found: Found, items: I64Array) -> pa.Array:
    """The ids of items; those of the collection that was compared against are from there."""
    rows, ids, references = found.sketched.rows_of(items), found.sketched.ids, found.collection.references
    if not references:
        return ids[-1].of(rows)
    return ids_of_both(items < references, ids[0], ids[-1], rows)


def _places(found: Found, prefix: str, items: I64Array) -> dict[str, pa.Array]:
    """What stands beside an id: the number of a paragraph or line; the file and row where there is no id column."""
    lead = f"{prefix}_" if prefix else ""
    columns = {}
    if found.config.unit != "document":
        columns[f"{lead}unit"] = pa.array(_unit_numbers(found, items))
    references = found.collection.references
    files = file_columns(found.items, prefix, found.sketched.rows_of(items))
    if references:
        # An item of the other collection has its place there.
        files = {name: pc.if_else(items >= references, column, None) for name, column in files.items()}
    return columns | files


def file_columns(items: Items, prefix: str, rows: I64Array) -> dict[str, pa.Array]:
    """The file of some rows, and their rows there, where there is no id column and several files."""
    lead, source = f"{prefix}_" if prefix else "", items.source
    if items.id is not None or len(source.files) < 2:
        return {}
    starts = np.array(source.first_rows(), np.int64)
    file = np.searchsorted(starts, rows, side="right") - 1
    names = pa.array([spelled(name) for name in source.files])
    return {f"{lead}file": names.take(pa.array(file)), f"{lead}row": pa.array(rows - starts[file])}
