"""A DataFrame as the source of a run: numbered rows for the stages, the first rows for planning.

The order of items. With an id column, items are in the order of their ids: whoever has the same rows gets the same
result, however they are partitioned. Without one, the rows are written to the work folder first, with all their columns
and a number each, partition by partition, and that copy is what the run reads. Nothing less will do: a DataFrame is a
recipe, not rows, and to ask for fewer of its columns may bring its rows in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.numbering import NUMBER, POSITION_BITS, Numbering
from lookalike.engines.spark.spark_carrier import SparkCarrier, SparkTable, plain_errors, spark_functions
from lookalike.errors import InputError
from lookalike.io.source import Batch, Flags, OnRead, Piece, held

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FrameSource"]

# Rows that may be looked at before a run: planning looks at 4,000.
_FIRST = 4_096


class FrameSource:
    """A DataFrame as planning and the choice of columns see it; only its first rows can be read here."""

    natural_id: str | None = None
    files: tuple[str, ...] = ()
    skipped = 0

    def __init__(self, frame: DataFrame, id: str | None, carrier: SparkCarrier) -> None:
        self._frame, self._id, self._carrier = frame, id, carrier
        self.bad: list[str] = []
        self._first: dict[tuple[str, ...], pa.Table] = {}
        if id is not None and id in frame.columns and frame.schema[id].dataType.typeName() not in _ID_TYPES:
            kind = frame.schema[id].dataType.simpleString()
            raise InputError(f"the id column {id!r} holds {kind}: ids must be whole numbers or text")

    def numbered(self, columns: Sequence[str]) -> SparkTable:
        """These columns and a number of each row, for the first stage."""
        frame = (
            self._select(self.copy, [*columns, NUMBER]) if self._id is None else self._select(self._ordered, columns)
        )
        if self._id is not None:
            frame = frame.withColumn(NUMBER, spark_functions().monotonically_increasing_id())
        return SparkTable(frame, ())

    @cached_property
    def copy(self) -> DataFrame:
        """A copy of all rows, with a number each; only where there is no id."""
        number = spark_functions().monotonically_increasing_id()
        return self._carrier.save_frame("input", self._frame.withColumn(NUMBER, number))

    def with_places(self, numbering: Numbering, name: str) -> DataFrame:
        """All rows, with their place among them in a column before the others; only where there is no id."""
        functions = spark_functions()
        number = functions.col(NUMBER)
        place = functions.lit(None).cast("bigint")
        # As many cases as the input had partitions.
        for part, first in zip(numbering.parts.tolist(), numbering.firsts.tolist(), strict=True):
            within = functions.shiftright(number, POSITION_BITS) == part
            place = functions.when(within, number - (part << POSITION_BITS) + first).otherwise(place)
        return self.copy.select(place.alias(name), *(f"`{column}`" for column in self._frame.columns))

    @property
    def _ordered(self) -> DataFrame:
        return self._frame.orderBy(f"`{self._id}`")

    @staticmethod
    def _select(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
        return frame.select(*(f"`{name}`" for name in dict.fromkeys(columns)))

    @cached_property
    def _schema(self) -> pa.Schema:
        with plain_errors():
            return self._frame.limit(0).toArrow().schema

    @cached_property
    def _parts(self) -> dict[int, int]:
        """How many rows each partition of the copy has."""
        part = spark_functions().shiftright(NUMBER, POSITION_BITS).alias("part")
        return {int(row["part"]): int(row["count"]) for row in self.copy.groupBy(part).count().collect()}

    @cached_property
    def _count(self) -> int:
        with plain_errors():
            return int(self._frame.count()) if self._id is not None else sum(self._parts.values())

    def _beginning(self, columns: Sequence[str]) -> pa.Table:
        """The first rows."""
        if self._id is not None:
            # Ids first, and then the rows up to the last of them: to sort all texts for a few would take long.
            ids = self._select(self._ordered, [self._id]).limit(_FIRST).toArrow().column(0)
            if not len(ids):
                return self._select(self._frame, columns).limit(0).toArrow()
            upto = spark_functions().col(f"`{self._id}`") <= ids[-1].as_py()
            return self._select(self._ordered.where(upto), columns).limit(_FIRST).toArrow()
        numbering = Numbering.of(self._parts)
        end = numbering.numbers(np.array([min(_FIRST, numbering.total) - 1]))[0] if numbering.total else -1
        some = self._select(self.copy, [*columns, NUMBER]).where(spark_functions().col(NUMBER) <= int(end))
        return some.toArrow().sort_by(NUMBER).select(list(columns))

    def first_rows(self) -> Sequence[int]:
        """There are no files."""
        return [0]

    def schema(self) -> pa.Schema:
        """The columns of the DataFrame."""
        return self._schema

    def full_schema(self) -> pa.Schema:
        """The columns of the DataFrame."""
        return self._schema

    def count(self) -> int | None:
        """The number of rows."""
        return self._count

    def size(self) -> int | None:
        """Nobody knows."""
        return None

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """The first rows."""
        names = tuple(self._schema.names if columns is None else columns)
        if names not in self._first:
            with plain_errors():
                self._first[names] = self._beginning(names)
        first = 0
        for rows in self._first[names].to_batches():
            yield Batch(first, 0, first, rows)
            first += rows.num_rows

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Piece]:
        """The same in pieces."""
        return held(self.batches(columns, on_read))

    def locate(self, number: int) -> tuple[int, int]:
        """There are no files."""
        return 0, number


_ID_TYPES = ("byte", "short", "integer", "long", "string")
