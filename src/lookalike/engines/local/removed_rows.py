"""Removed rows with all their columns, beside what the table of removed items says of each.

They are copied as kept rows are (`io/copying/`), so each input format keeps what Parquet can hold of it, in bounded
memory; the input is read once more for it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.engines.local.pipeline import Found
from lookalike.engines.local.result_tables import clustering_of, removed_columns
from lookalike.io.copying.changes import Changes, Extra
from lookalike.io.copying.copy import Copied, copy_rows
from lookalike.types import BoolArray, I64Array
from lookalike.wording.progress import SILENT, Progress

__all__ = ["removed_rows", "save_removed_rows"]


def removed_rows(found: Found) -> pa.Table:
    """The removed rows with all their columns, and those of the table of removed items."""
    source, changes = found.items.source, Changes.checked(_removed(found), None, (), _extra(found))
    derived = getattr(source, "derived", ())
    columns = [name for name in source.schema().names if name not in derived] if derived else None
    parts = [pa.Table.from_batches([changes.apply(batch)]) for batch in source.batches(columns)]
    return pa.concat_tables(parts, promote_options="permissive")


def save_removed_rows(found: Found, path: Path, progress: Progress = SILENT) -> Copied:
    """Write them to a file of Parquet, some at a time; one that is there is replaced."""
    source, config = found.items.source, found.config
    with progress.stage("writing removed rows", source.size(), "B") as stage:
        return copy_rows(
            source, _removed(found), path, overwrite=True, add=_extra(found), on_read=stage.advance,
            threads=config.threads, memory=config.memory,
        )  # fmt: skip


def _removed(found: Found) -> BoolArray:
    """For each row whether it is removed; each is one item."""
    return ~clustering_of(found).kept[found.collection.references :]


def _extra(found: Found) -> Extra:
    """What is added to the rows; the ids are there already, if they are in a column of that name."""
    there = {"id"} if found.items.id == "id" else set()

    def columns(items: I64Array) -> dict[str, pa.Array]:
        made = removed_columns(found, items)
        # The text of a removed row is in it.
        return {name: column for name, column in made.items() if name not in {*there, "text"}}

    def rows(first: int, count: int) -> pa.RecordBatch:
        return pa.record_batch(columns(np.arange(first, first + count) + found.collection.references))

    return Extra(pa.record_batch(columns(np.empty(0, np.int64))).schema, rows)
