"""Keep policies where nobody sees all items: a number for each of them, the smallest to be kept first.

Of two items with the same number the one that comes first is kept. So the order of all items need not be made: whoever
has two of them can tell. What has no such number, text above all, is not supported yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.cluster.keep import KeepPolicy
from lookalike.errors import InputError, OptionError
from lookalike.items.make_items import item_lengths
from lookalike.types import I64Array

__all__ = ["BEFORE_ALL", "KeepKeys"]

# The number of references, which are kept in any case; of two of them the first comes first.
BEFORE_ALL = np.iinfo(np.int64).min
_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class KeepKeys:
    """The numbers of a policy."""

    policy: KeepPolicy

    @classmethod
    def of(cls, policy: KeepPolicy, schema: pa.Schema) -> KeepKeys | None:
        """Those of a policy for rows with these columns; None where items are kept in their own order."""
        if policy.kind == "first":
            return None
        if policy.kind == "callable":
            raise OptionError("keep is a function: that is not supported on Spark yet; add its result as a column")
        if policy.column is not None and policy.column not in schema.names:
            raise InputError(
                f"there is no column {policy.column!r} for keep; the columns are {', '.join(schema.names)}"
            )
        if policy.kind in ("max", "min"):
            kind = schema.field(policy.column).type
            if not _has_number(kind):
                raise OptionError(
                    f"keep is {policy.kind}:{policy.column}, and the column holds {kind}: on Spark it must hold "
                    "numbers, dates, times or booleans so far"
                )
        return cls(policy)

    def keys(self, rows: pa.RecordBatch, values: pa.Array, numbers: I64Array) -> I64Array:
        """The number of each item, from the rows and the items in them, all of which are references or none."""
        if numbers[0] < 0:
            return np.full(len(numbers), BEFORE_ALL)
        kind = self.policy.kind
        if kind == "last":
            return -numbers
        if kind in ("longest", "shortest"):
            lengths = item_lengths(values)
            return -lengths if kind == "longest" else lengths
        column = rows.column(rows.schema.get_field_index(self.policy.column))
        if kind == "prefer":
            place = pc.index_in(column.cast(pa.string()), value_set=pa.array(self.policy.preferred, pa.string()))
            found: I64Array = place.fill_null(len(self.policy.preferred)).to_numpy().astype(np.int64)
            return found
        return _ranked(column, descending=kind == "max")


def _has_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal)
    return any(test(kind) for test in tests)


def _ranked(column: pa.Array, *, descending: bool) -> I64Array:
    """Numbers in the order of a column's values; those that are no number come after them, and null after these."""
    null = column.is_null().to_numpy(zero_copy_only=False)
    odd = np.zeros(len(column), np.bool_)
    if pa.types.is_floating(column.type):
        floats = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        odd = np.isnan(floats)
        # As whole numbers the bits of floats are in order, but for the negative ones, which are the other way round.
        bits = (np.where(odd, 0.0, floats) + 0.0).view(np.int64)
        keys = np.where(bits < 0, bits ^ np.int64(_LAST), bits)
    else:
        keys = _as_numbers(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    keys = ~keys if descending else keys
    keys = np.where(odd, _LAST - 1, keys)
    found: I64Array = np.where(null, _LAST, keys)
    return found


def _as_numbers(column: pa.Array) -> Any:
    """Whole numbers, dates, times and booleans as whole numbers."""
    if pa.types.is_temporal(column.type) and column.type.bit_width == 32:
        column = column.cast(pa.int32())
    return column.cast(pa.int64())
