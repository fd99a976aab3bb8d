"""The ids of items: the id column's values, or running row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError
from lookalike.io.column_types import concat, honest
from lookalike.io.source import Source, describe
from lookalike.items.from_rows import ItemBatch, Items
from lookalike.types import BoolArray, I64Array

__all__ = ["IdCollector", "Ids", "ids_of_both"]


@dataclass(frozen=True)
class Ids:
    """`values` has one id a row; None means that a row's number is its id."""

    rows: int
    values: pa.ChunkedArray | None

    @cached_property
    def rank(self) -> I64Array:
        """The place of each row's id in the order of all ids."""
        if self.values is None:
            return np.arange(self.rows, dtype=np.int64)
        rank: I64Array = pc.rank(self.values, tiebreaker="first").to_numpy().astype(np.int64)
        return rank

    def of(self, rows: I64Array) -> pa.Array:
        """The ids of rows."""
        if self.values is None:
            return pa.array(rows, pa.int64())
        # Taken from all chunks at once, they would be joined first, each time.
        order = np.argsort(rows)
        ordered = rows[order]
        chunk = np.searchsorted(self._starts, ordered, side="right") - 1
        begins = np.flatnonzero(np.diff(chunk, prepend=-1))
        parts = [pa.array([], self.values.type)]
        for begin, end in pairwise([*begins.tolist(), len(rows)]):
            which = int(chunk[begin])
            parts.append(self.values.chunk(which).take(pa.array(ordered[begin:end] - self._starts[which])))
        place = np.empty(len(rows), np.int64)
        place[order] = np.arange(len(rows))
        return pa.concat_arrays(parts).take(pa.array(place))

    @cached_property
    def _starts(self) -> I64Array:
        """The first row of each chunk."""
        assert self.values is not None
        return np.cumsum([0, *(len(chunk) for chunk in self.values.chunks)])[:-1]


def ids_of_both(there: BoolArray, other: Ids, own: Ids, rows: I64Array) -> pa.Array:
    """The ids of rows, of which some are `there`, in the other collection; as text where the two are not alike."""
    parts = [other.of(rows[there]), own.of(rows[~there])]
    if parts[0].type != parts[1].type:
        parts = [part.cast(pa.string()) for part in parts]
    place = np.empty(len(rows), np.int64)
    place[np.concatenate([np.flatnonzero(there), np.flatnonzero(~there)])] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(place))


class IdCollector:
    """Collects the ids while the rows pass by, and refuses null and repeated ones."""

    def __init__(self, items: Items) -> None:
        self._source = items.source
        self._name = items.id
        self._rows = 0
        self._chunks: list[pa.Array] = []
        self._told = 0

    def add(self, batch: ItemBatch) -> None:
        rows = batch.batch.rows
        if self._name is not None:
            column = rows.column(rows.schema.get_field_index(self._name))
            if column.null_count:
                at = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                place = describe(self._source, batch.batch.first + at)
                raise InputError(f"the id column {self._name!r} is null at {place}")
            self._chunks.append(honest(column))
        self._rows += rows.num_rows

    def fresh(self) -> list[pa.Array]:
        """The ids that came since this was last asked."""
        fresh, self._told = self._chunks[self._told :], len(self._chunks)
        return fresh

    def restore(self, rows: int, columns: list[pa.Array]) -> None:
        """Take over the ids of rows that an earlier process read."""
        self._rows = rows
        self._chunks += columns
        self._told = len(self._chunks)

    def finish(self) -> Ids:
        if self._name is None:
            return Ids(self._rows, None)
        values = concat(self._chunks)
        if not (pa.types.is_integer(values.type) or _is_string(values.type)):
            raise InputError(f"the id column {self._name!r} holds {values.type}: ids must be whole numbers or text")
        _refuse_repeated(values, self._name, self._source)
        return Ids(self._rows, values)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _refuse_repeated(values: pa.ChunkedArray, name: str, source: Source) -> None:
    if pc.count_distinct(values).as_py() == len(values):
        return
    counts = values.value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0]
    first, second = np.flatnonzero(pc.equal(values, repeated).to_numpy())[:2]
    # Versions of a page have its address in common, and are told apart all the same.
    hint = (
        ""
        if name == source.natural_id
        else ("; without id (--id) rows are told apart by their numbers, and keep (--keep) chooses among them")
    )
    raise InputError(
        f"id {repeated.as_py()!r} in column {name!r} is repeated: "
        f"{describe(source, int(first))} and {describe(source, int(second))}{hint}"
    )
