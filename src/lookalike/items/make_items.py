"""From one batch of rows to items: their values joined or cut, and the hashes of their groups."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.json_text import python_values
from lookalike.items.units import cut_texts
from lookalike.key import key_of
from lookalike.measures import is_binary_like, is_list
from lookalike.recipe import Recipe
from lookalike.represent.elements import hash_cells
from lookalike.types import BoolArray, I64Array, U64Array

__all__ = ["MadeItems", "item_lengths", "make_items"]


@dataclass(frozen=True, slots=True)
class MadeItems:
    """The items of a batch of rows.

    Attributes:
        values: the items, as they are represented.
        rows: the row of the batch that each is from, ascending.
        null: how many rows have no value in any of the columns.
        groups: what tells items of different groups apart, where there are groups.
        few_words: how many units have too few words to be items.
    """

    values: pa.Array
    rows: I64Array
    null: int
    groups: U64Array | None = None
    few_words: int = 0


def make_items(
    rows: pa.RecordBatch,
    recipe: Recipe,
    columns: Sequence[str] | None = None,
    group_by: str | None = None,
    units: tuple[I64Array, BoolArray] | None = None,
    min_words: int = 0,
) -> MadeItems:
    """The items that these columns hold; those of all columns but that of the groups, where none are named.

    `units` are known where rows were cut before: how many there are of each row, and which rows must be cut again; the
    items of others are empty. Units of fewer than `min_words` words are none.
    """
    few_words = 0
    names = [name for name in rows.schema.names if name != group_by] if columns is None else columns
    arrays = [_column(rows, name) for name in names]
    if recipe.compared:
        values = _side_by_side(arrays, names, recipe)
    else:
        values = arrays[0] if len(arrays) == 1 else _join(arrays)
    if recipe.unit == "document":
        row_of = np.arange(len(values), dtype=np.int64)
    else:
        values, row_of, few_words = cut_texts(python_values(values), recipe.unit, units, min_words)
    null = arrays[0].null_count
    if len(arrays) > 1:
        null = functools.reduce(pc.and_, [array.is_null() for array in arrays]).true_count
    groups = None
    if group_by is not None:
        groups = hash_cells(_column(rows, group_by), key_of(recipe.seed))[row_of]
    return MadeItems(values, row_of, null, groups, few_words)


def _column(rows: pa.RecordBatch, name: str) -> pa.Array:
    """A column of the batch; one that holds only nulls is text."""
    column = rows.column(rows.schema.get_field_index(name))
    return column.cast(pa.large_string()) if pa.types.is_null(column.type) else column


def _side_by_side(arrays: Sequence[pa.Array], names: Sequence[str], recipe: Recipe) -> pa.StructArray:
    """The columns that rows are compared by; what is compared as text is text, also a number or a date."""
    values = [
        array if compared.shingle is None or is_binary_like(array.type) else array.cast(pa.large_string())
        for array, compared in zip(arrays, recipe.compared, strict=True)
    ]
    return pa.StructArray.from_arrays(values, names=list(names))


def _join(arrays: Sequence[pa.Array]) -> pa.Array:
    """Several text columns as one text, a line each; null is empty."""
    # Bytes, because a batch with invalid UTF-8 comes as bytes; the shingler reads both alike.
    texts = [array.cast(pa.large_binary()) for array in arrays]
    return pc.binary_join_element_wise(*texts, pa.scalar(b"\n", pa.large_binary()), null_handling="replace")


def item_lengths(values: pa.Array) -> I64Array:
    """How long each item is: bytes of text, or elements of a set."""
    if is_list(values.type):
        lengths = values.value_lengths()
    elif is_binary_like(values.type):
        lengths = pc.binary_length(values)
    elif pa.types.is_struct(values.type):
        together: I64Array = np.sum([item_lengths(part) for part in values.flatten()], axis=0, dtype=np.int64)
        return together
    else:
        return np.zeros(len(values), np.int64)
    out: I64Array = lengths.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return out
