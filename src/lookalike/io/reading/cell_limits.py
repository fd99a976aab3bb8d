"""How many columns rows of JSON may become.

Columns are dense: each row takes room in all of them. So 2,000 rows with five new keys each are twenty million cells,
and a few megabytes of such rows would be gigabytes of nulls. Therefore

- a block of rows becomes columns only as far as its cells fit (`rows_at_once`; `field_counts.py`);
- a table has at most `_CELLS_A_BYTE` cells for each byte of JSON, so that the time to make it is linear in what is
  read (`check_columns`). Rows that have all their keys have a fifth of a cell a byte, however many keys that are.

A field is the way from a row to a value: {"a": {"b": 1}} has the fields a and a.b.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from lookalike.errors import InputError

__all__ = ["Extent", "check_columns", "fields_in", "rows_at_once"]

# Cells that are made at once, 128 MB of numbers: eight times as many as a block of 8 MiB has when no row lacks a field.
_CELLS_AT_ONCE = 1 << 24
# A table of so many cells takes some seconds, and is made of however few bytes.
_ALWAYS_CELLS = 1 << 24
_CELLS_A_BYTE = 16
# Whatever the rows are like: a table of a million columns is none.
_MOST_FIELDS = 1 << 20


def rows_at_once(fields: int) -> int:
    """How many rows of so many fields are made into columns at once; or how many fields of so many rows."""
    return max(1, _CELLS_AT_ONCE // max(1, fields))


class Extent(NamedTuple):
    """How many rows were looked through for their fields, and how many bytes of JSON they are."""

    rows: int = 0
    size: int = 0

    def and_also(self, other: Extent) -> Extent:
        """Both together."""
        return Extent(self.rows + other.rows, self.size + other.size)


def fields_in(type: Any) -> int:
    """One for a column of this type, and one for each field inside."""
    if pa.types.is_struct(type):
        return 1 + sum(fields_in(field.type) for field in type)
    return fields_in(type.value_type) if pa.types.is_list(type) else 1


def check_columns(
    name: str, types: Iterable[Any], extent: Extent, *, hint: str = "; write to .jsonl, where rows stay as they are"
) -> None:
    """Raise `InputError` if rows of JSON, or of records, have too little in common to become columns of these types."""
    fields = sum(map(fields_in, types))
    if extent.rows * fields > max(_ALWAYS_CELLS, _CELLS_A_BYTE * extent.size) or fields > _MOST_FIELDS:
        raise InputError(
            f"{name}: the rows have {fields:,} different keys, too few of them in common to become columns{hint}"
        )
