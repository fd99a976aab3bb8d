"""What happens to rows on their way to the output: some are left out, some columns edited, some added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError, OptionError
from lookalike.io.column_types import without_views
from lookalike.io.source import Batch, Flags

Edit = Callable[[Batch], Batch]

__all__ = ["Changes", "Edit", "Extra"]


@dataclass(frozen=True, slots=True)
class Extra:
    """Columns that are added to rows.

    Attributes:
        schema: their names and types.
        rows: their values for `count` rows from running number `first` on.
    """

    schema: pa.Schema
    rows: Callable[[int, int], pa.RecordBatch]

    @classmethod
    def of(cls, table: pa.Table) -> Extra:
        """Columns from a table with one row per running number."""

        def rows(first: int, count: int) -> pa.RecordBatch:
            part = table.slice(first, count).combine_chunks()
            if part.num_rows != count:
                raise IndexError(f"{count} rows from {first} of a table with {table.num_rows}")
            arrays = [_whole(column) for column in part.columns]
            return pa.RecordBatch.from_arrays(arrays, schema=table.schema)

        return cls(table.schema, rows)


@dataclass(frozen=True, slots=True)
class Changes:
    """Which rows are kept and what becomes of them.

    Attributes:
        keep: flags over running numbers; None keeps all rows.
        edit: gets a batch of `edit_columns` and returns it with as many rows; sees all rows, kept or not.
        edit_columns: the columns that `edit` gets.
        add: columns to add at the end.
    """

    keep: Flags | None
    edit: Edit | None = None
    edit_columns: tuple[str, ...] = ()
    add: Extra | None = None

    @classmethod
    def checked(cls, keep: Flags | None, edit: Edit | None, edit_columns: Sequence[str], add: Extra | None) -> Changes:
        """Changes, with their parts checked against each other."""
        if keep is not None and (keep.dtype != np.bool_ or keep.ndim != 1):
            raise OptionError("keep: one flag (bool) per row is needed")
        if edit is not None and not edit_columns:
            raise OptionError("edit: the columns that it gets are needed")
        return cls(keep, edit, tuple(edit_columns), add)

    def mask(self, first: int, count: int) -> Flags:
        """Which of `count` rows from `first` on are kept."""
        if self.keep is None:
            return np.ones(count, np.bool_)
        flags = self.keep[first : first + count]
        if len(flags) != count:
            raise InputError(f"there are more rows than the {len(self.keep)} read before: the input changed")
        return flags

    def schema(self, schema: pa.Schema, where: str) -> pa.Schema:
        """The schema with the added columns."""
        for field in self.add.schema if self.add is not None else ():
            if field.name in schema.names:
                raise InputError(f"{where}: already has a column '{field.name}', which would be added")
            schema = schema.append(field)
        return schema

    def edited(self, batch: Batch) -> Batch:
        """What `edit` makes of its columns."""
        if self.edit is None:
            raise AssertionError("nothing to edit")
        chosen = replace(batch, rows=batch.rows.select(list(self.edit_columns)))
        result = self.edit(chosen)
        if result.rows.num_rows != batch.rows.num_rows:
            raise AssertionError("edit must keep the number of rows")
        return result

    def apply(self, batch: Batch) -> pa.RecordBatch:
        """The kept rows of a batch, edited, with the added columns."""
        rows = batch.rows
        mask = self.mask(batch.first, rows.num_rows)
        if not mask.any():
            return rows.slice(0, 0) if self.add is None else _with(rows, self.add).slice(0, 0)
        names, arrays = list(rows.schema.names), list(rows.columns)
        if self.edit is not None:
            edited = self.edited(batch).rows
            for name in self.edit_columns:
                arrays[names.index(name)] = edited.column(name)
        if self.add is not None:
            added = self.add.rows(batch.first, rows.num_rows)
            names += added.schema.names
            arrays += added.columns
        rows = pa.RecordBatch.from_arrays(arrays, names=names)
        return rows if mask.all() else without_views(rows).filter(pa.array(mask))


def _with(rows: pa.RecordBatch, add: Extra) -> pa.RecordBatch:
    nulls = [pa.nulls(rows.num_rows, field.type) for field in add.schema]
    return pa.RecordBatch.from_arrays([*rows.columns, *nulls], names=[*rows.schema.names, *add.schema.names])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
