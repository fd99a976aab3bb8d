"""Which item of a cluster stays: the keep order, best first.

`first`, `last`, `longest`, `shortest`, `max:COLUMN`, `min:COLUMN`, `prefer:COLUMN=a,b,c`, or a callable from a row (a
dict) to a sort key, smallest first. A row without a value comes last. Ties go to the smaller id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError, OptionError, failed
from lookalike.types import I64Array
from lookalike.wording.phrases import did_you_mean

__all__ = ["KeepPolicy", "KeepValues", "keep_order", "parse_keep"]

_PLAIN = ("first", "last", "longest", "shortest")
# What others call what is the most or the least of a column here.
_CALLED = dict.fromkeys(
    ("newest", "latest", "recent", "most_recent", "best", "highest", "largest", "max"), "max:COLUMN"
)
_CALLED |= dict.fromkeys(("oldest", "earliest", "lowest", "smallest", "min"), "min:COLUMN")


@dataclass(frozen=True, slots=True)
class KeepPolicy:
    """A parsed policy: what it looks at, and how."""

    kind: str
    column: str | None = None
    preferred: tuple[str, ...] = ()
    key: Callable[[dict[str, Any]], Any] | None = None


def parse_keep(keep: str | Callable[[dict[str, Any]], Any]) -> KeepPolicy:
    """A policy from its text or a callable."""
    if callable(keep):
        return KeepPolicy("callable", key=keep)
    kind, _, rest = str(keep).partition(":")
    if keep in _PLAIN:
        return KeepPolicy(keep)
    if kind in ("max", "min") and rest:
        return KeepPolicy(kind, rest)
    column, _, listed = rest.partition("=")
    if kind == "prefer" and column and listed:
        return KeepPolicy("prefer", column, tuple(value.strip() for value in listed.split(",")))
    raise OptionError(
        f"keep is {keep!r}: it must be first, last, longest, shortest, max:COLUMN, min:COLUMN or prefer:COLUMN=a,b,c"
        + did_you_mean(str(keep), (*_PLAIN, *_CALLED.values()), _CALLED)
    )


class KeepValues:
    """Collects what the policy looks at while the rows pass by: its column, or the callable's keys.

    `rows_of` makes the rows of a batch what the callable gets.
    """

    def __init__(
        self,
        policy: KeepPolicy,
        rows_of: Callable[[pa.RecordBatch], list[dict[str, Any]]] = lambda rows: list(rows.to_pylist()),
    ) -> None:
        self._policy = policy
        self._rows_of = rows_of
        self._chunks: list[pa.Array] = []
        self._told = 0
        self._keys: list[Any] = []

    def add(self, rows: pa.RecordBatch, row_of_item: I64Array) -> None:
        """Add a batch of rows; item i of it is from row row_of_item[i] of it."""
        if self._policy.column is not None:
            column = rows.column(rows.schema.get_field_index(self._policy.column))
            self._chunks.append(column.take(pa.array(row_of_item)))
        elif self._policy.key is not None:
            keys = [self._key(row, position) for position, row in enumerate(self._rows_of(rows))]
            self._keys.extend(keys[i] for i in row_of_item)

    def _key(self, row: dict[str, Any], position: int) -> Any:
        assert self._policy.key is not None
        try:
            return self._policy.key(row)
        except BaseException as error:
            raise failed(self._policy.key, error, position) from error

    def fresh(self) -> list[pa.Array]:
        """The column's values that came since this was last asked."""
        fresh, self._told = self._chunks[self._told :], len(self._chunks)
        return fresh

    def restore(self, columns: list[pa.Array]) -> None:
        """Take over the values of rows that an earlier process read."""
        self._chunks += columns
        self._told = len(self._chunks)

    def finish(self) -> pa.ChunkedArray | list[Any] | None:
        if self._policy.column is not None:
            # JSON may hold numbers in one block and text in the next, or nothing at all in one of them.
            kinds = {chunk.type for chunk in self._chunks} - {pa.null()}
            kind = kinds.pop() if len(kinds) == 1 else pa.string() if kinds else pa.null()
            return pa.chunked_array([_as_type(chunk, kind, self._policy) for chunk in self._chunks], kind)
        return self._keys if self._policy.key is not None else None


def keep_order(
    policy: KeepPolicy, *, ties: I64Array, lengths: I64Array, values: pa.ChunkedArray | Sequence[Any] | None
) -> I64Array:
    """All items, best to keep first.

    `ties[i]` is the rank of item i's id; `values` the policy's column, or a callable's keys, one an item.
    """
    items = len(ties)
    if policy.kind == "first":
        return np.arange(items, dtype=np.int64)
    if policy.kind == "last":
        return np.arange(items - 1, -1, -1, dtype=np.int64)
    if policy.kind in ("longest", "shortest"):
        rank = -lengths if policy.kind == "longest" else lengths
    elif policy.kind == "callable":
        rank = _rank_of_keys(values)
    else:
        assert policy.column is not None and isinstance(values, pa.ChunkedArray)
        rank = _rank_of_preferred(values, policy) if policy.kind == "prefer" else _rank_of_column(values, policy)
    return np.lexsort((ties, rank)).astype(np.int64, copy=False)


def _rank_of_keys(keys: Any) -> I64Array:
    try:
        ordered = sorted(range(len(keys)), key=lambda i: keys[i])
    except TypeError as error:
        raise OptionError(f"the keep callable gives keys that cannot be compared: {error}") from None
    rank = np.zeros(len(keys), np.int64)
    place = 0
    for before, i in zip([None, *ordered], ordered, strict=False):
        place += before is not None and keys[before] != keys[i]
        rank[i] = place
    return rank


def _rank_of_preferred(values: pa.ChunkedArray, policy: KeepPolicy) -> I64Array:
    texts = _as_type(values, pa.string(), policy)
    place = pc.index_in(texts, value_set=pa.array(policy.preferred, pa.string()))
    rank: I64Array = place.fill_null(len(policy.preferred)).to_numpy().astype(np.int64)
    return rank


def _rank_of_column(values: pa.ChunkedArray, policy: KeepPolicy) -> I64Array:
    """Ranks of a column's values; text that is all numbers (as in CSV) counts as numbers."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        filled = pc.if_else(pc.equal(pc.utf8_trim_whitespace(values), ""), None, values)
        try:
            values = filled.cast(pa.float64())
        except pa.ArrowInvalid:
            values = filled
    order = "descending" if policy.kind == "max" else "ascending"
    try:
        rank = pc.rank(values, sort_keys=order, tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError):
        raise InputError(
            f"keep is {policy.kind}:{policy.column}, but the column holds {values.type}, which has no order"
        ) from None
    out: I64Array = rank.to_numpy().astype(np.int64)
    return out


def _as_type(values: Any, kind: pa.DataType, policy: KeepPolicy) -> Any:
    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"keep is {policy.kind}:{policy.column}, but the column holds {values.type}, which is not text"
        ) from None
