"""From verified matches to what people asked for: pairs of items, clusters, and which item stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.clustering import Clustering
from lookalike.comparing import too_many
from lookalike.errors import OptionError
from lookalike.io.changes import Extra
from lookalike.pipeline import Found
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["annotation", "clustering_of", "clusters_table", "ids_of", "pairs_table", "removed_table"]


def pairs_table(found: Found) -> pa.Table:
    """Every pair of items once, the smaller id as `a`, sorted by a and b."""
    total = found.matched.folds.unfolded(found.matched.left, found.matched.right) + found.matched.folds.within
    if total > found.config.max_pairs:
        raise OptionError(too_many(total, found.config.max_pairs))
    first, second, which = found.matched.folds.unfold(found.matched.left, found.matched.right)
    same, other = found.matched.folds.unfold_within()
    first, second = np.concatenate([first, same]), np.concatenate([second, other])
    similarity = np.concatenate([found.matched.similarities[which], np.ones(len(same))])
    references = found.collection.references
    if references:
        own = np.maximum(first, second) >= references
        first, second, similarity = first[own], second[own], similarity[own]
    rank = np.concatenate([np.arange(references), found.sketched.item_rank() + references])
    swapped = rank[first] > rank[second]
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    order = np.lexsort((rank[second], rank[first]))
    columns = {
        "a": ids_of(found, first[order]),
        "b": ids_of(found, second[order]),
        "similarity": _column(similarity[order]),
    }
    if references:
        columns["a_against"] = pa.array(first[order] < references)
    columns |= _places(found, "a", first[order]) | _places(found, "b", second[order])
    return pa.table(columns)


def clusters_table(found: Found) -> pa.Table:
    """The items of every cluster of two or more: cluster number, its size, id, the kept id, similarity to it.

    Items of the collection that was compared against are there where an own item is like them.
    """
    clustering = clustering_of(found)
    sizes = clustering.sizes[clustering.keeper]
    own = _with_own(clustering, found.collection.references)
    rows = np.flatnonzero((sizes > 1) & own[clustering.keeper])
    # Clusters are numbered by their first item, and their items follow in the order of the input.
    _, number = np.unique(_first_of_cluster(clustering)[rows], return_inverse=True)
    order = np.argsort(number, kind="stable")
    rows = rows[order]
    columns = {
        "cluster": pa.array(number[order].astype(np.int64)),
        "size": pa.array(sizes[rows].astype(np.int64)),
        "id": ids_of(found, rows),
        "kept": ids_of(found, clustering.keeper[rows].astype(np.int64)),
        "similarity": _column(clustering.similarity[rows]),
    }
    return pa.table(columns | _places(found, "", rows))


def _with_own(clustering: Clustering, references: int) -> BoolArray:
    """Which items stand for one of the run's own."""
    own = np.zeros(len(clustering.keeper), np.bool_)
    own[clustering.keeper[references:]] = True
    return own


def _first_of_cluster(clustering: Clustering) -> I64Array:
    first = np.full(len(clustering.keeper), len(clustering.keeper), np.int64)
    np.minimum.at(first, clustering.keeper, np.arange(len(clustering.keeper)))
    return first[clustering.keeper]


def removed_table(found: Found) -> pa.Table:
    """Every removed item: its id, the id kept in its place, and how similar they are."""
    clustering, references = clustering_of(found), found.collection.references
    rows = np.flatnonzero(~clustering.kept)
    rows = rows[rows >= references]
    keepers = clustering.keeper[rows].astype(np.int64)
    columns = {
        "id": ids_of(found, rows),
        "kept": ids_of(found, keepers),
        "similarity": _column(clustering.similarity[rows]),
    }
    if references:
        columns["against"] = pa.array(keepers < references)
    return pa.table(columns | _places(found, "", rows) | _places(found, "kept", keepers))


def annotation(found: Found) -> Extra:
    """What `--annotate` adds to each row: its cluster, how large that is, and what it is a duplicate of."""
    clustering, references = clustering_of(found), found.collection.references
    sizes = clustering.sizes
    first = _first_of_cluster(clustering)
    listed = (sizes > 1) & _with_own(clustering, references)
    number = np.cumsum((first == np.arange(len(first))) & listed[clustering.keeper]) - 1
    kind = ids_of(found, np.empty(0, np.int64)).type

    def rows(begin: int, count: int) -> pa.RecordBatch:
        items = np.arange(begin, begin + count) + references
        keepers = clustering.keeper[items].astype(np.int64)
        removed, alone = keepers != items, sizes[keepers] == 1
        return pa.RecordBatch.from_arrays(
            [
                pa.array(number[first[items]], mask=alone),
                pa.array(sizes[keepers].astype(np.int64)),
                pc.if_else(pa.array(removed), ids_of(found, keepers), pa.scalar(None, kind)),
                pa.array(clustering.similarity[items], mask=~removed | np.isnan(clustering.similarity[items])),
            ],
            schema=schema,
        )

    schema = pa.schema(
        [("cluster", pa.int64()), ("cluster_size", pa.int64()), ("duplicate_of", kind), ("similarity", pa.float64())]
    )
    return Extra(schema, rows)


def clustering_of(found: Found) -> Clustering:
    """The clusters of a run that was asked for them."""
    assert found.matched.clustering is not None, "pairs were asked for"
    return found.matched.clustering


def _column(similarities: F64Array) -> pa.Array:
    """Similarities as a column; a pair that was not verified has none."""
    return pa.array(similarities, mask=np.isnan(similarities))


def _unit_numbers(found: Found) -> I64Array:
    """The number of each unit inside its document, from 0."""
    rows = found.sketched.rows()
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = rows[1:] != rows[:-1]
    begins[found.collection.references : found.collection.references + 1] = True
    first = np.flatnonzero(begins)
    return np.arange(len(rows)) - np.repeat(first, np.diff(np.append(first, len(rows))))


def ids_of(found: Found, items: I64Array) -> pa.Array:
    """The ids of items; those of the collection that was compared against are from there."""
    rows, ids, references = found.sketched.rows()[items], found.sketched.ids, found.collection.references
    if not references:
        return ids[-1].of(rows)
    there = items < references
    parts = [ids[0].of(rows[there]), ids[-1].of(rows[~there])]
    if parts[0].type != parts[1].type:
        parts = [part.cast(pa.string()) for part in parts]
    place = np.empty(len(items), np.int64)
    place[np.concatenate([np.flatnonzero(there), np.flatnonzero(~there)])] = np.arange(len(items))
    return pa.concat_arrays(parts).take(pa.array(place))


def _places(found: Found, prefix: str, items: I64Array) -> dict[str, pa.Array]:
    """What stands beside an id: the number of a paragraph or line; the file and row where there is no id column."""
    lead = f"{prefix}_" if prefix else ""
    columns = {}
    if found.config.unit != "document":
        columns[f"{lead}unit"] = pa.array(_unit_numbers(found)[items])
    source = found.items.source
    if found.items.id is None and len(source.files) > 1:
        references = found.collection.references
        own = items >= references
        rows = found.sketched.rows()[items]
        starts = np.array(source.first_rows(), np.int64)
        file = np.searchsorted(starts, rows, side="right") - 1
        names, numbers = pa.array(source.files).take(pa.array(file)), pa.array(rows - starts[file])
        if references:
            # An item of the other collection has its place there.
            names, numbers = pc.if_else(own, names, None), pc.if_else(own, numbers, None)
        columns[f"{lead}file"] = names
        columns[f"{lead}row"] = numbers
    return columns
