"""A DataFrame as the source of a run: numbered rows for the stages, the first rows for planning.

The order of items. With an id column, items are in the order of their ids: whoever has the same rows gets the same
result, however they are partitioned. Without one, the rows are written to the work folder first, with all their columns
and a number each, partition by partition, and that copy is what the run reads. Nothing less will do: a DataFrame is a
recipe, not rows, and to ask for fewer of its columns may bring its rows in another order. Rows of files are numbered by
where they stand in them (`spark_files.py`), with an id column and without one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.numbering import FIRST_REFERENCE, NUMBER, POSITION_BITS, Numbering
from lookalike.engines.spark.spark_carrier import SparkCarrier, SparkTable, plain_errors, spark_functions
from lookalike.engines.spark.spark_files import NumberedRows, SparkFiles
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
    skipped = 0

    def __init__(
        self, frame: DataFrame | SparkFiles, id: str | None, carrier: SparkCarrier, *, against: bool = False
    ) -> None:
        """`against` is said of a collection that is only compared with: its rows are references."""
        self._first_number, self._name = (FIRST_REFERENCE, "reference input") if against else (0, "input")
        self._files = frame if isinstance(frame, SparkFiles) else None
        frame = frame.frame if isinstance(frame, SparkFiles) else frame
        self._frame, self._id, self._carrier = frame, id, carrier
        self.files: tuple[str, ...] = () if self._files is None else self._files.names
        self.bad: list[str] = []
        self._first: dict[tuple[str, ...], pa.Table] = {}
        if id is not None and id in frame.columns and frame.schema[id].dataType.typeName() not in _ID_TYPES:
            kind = frame.schema[id].dataType.simpleString()
            raise InputError(f"the id column {id!r} holds {kind}: ids must be whole numbers or text")

    @property
    def by_id(self) -> bool:
        """Whether items are in the order of their ids; otherwise `rows` has them with their numbers."""
        return self._id is not None and self._files is None

    def numbered(self, columns: Sequence[str]) -> SparkTable:
        """These columns and a number of each row, for the first stage."""
        if not self.by_id:
            rows, number = self._select(self.rows, [*columns, NUMBER]), spark_functions().col(NUMBER)
        else:
            rows = self._select(self._ordered, columns)
            number = spark_functions().monotonically_increasing_id()
        return SparkTable(rows.withColumn(NUMBER, number + self._first_number), ())

    def known_numbering(self) -> dict[int, int] | None:
        """How many rows each part of the numbering has, where that is known before they are read."""
        if self.by_id:
            return None
        first = self._first_number >> POSITION_BITS
        return {first + part: rows for part, rows in self._parts.items()}

    def unordered(self, columns: Sequence[str]) -> SparkTable:
        """These columns for a stage that does not ask for the order of rows, which are not sorted for it."""
        return SparkTable(self._select(self._frame, columns), ()) if self.by_id else self.numbered(columns)

    def check_ids(self) -> None:
        """Refuse repeated ids of rows that are not in the order of their ids, where nobody meets both."""
        if self._id is None or self._files is None:
            return
        functions = spark_functions()
        one = functions.col(f"`{self._id}`").alias("id")
        twice = self._frame.groupBy(one).count().where("count > 1 and id is not null").limit(1).collect()
        if twice:
            raise InputError(f"id {twice[0]['id']!r} in column {self._id!r} is repeated")

    @cached_property
    def rows(self) -> DataFrame:
        """All rows, with a number each; of files, or a copy."""
        if self._files is not None:
            return self._of_files.frame
        number = spark_functions().monotonically_increasing_id()
        return self._carrier.save_frame(self._name, self._frame.withColumn(NUMBER, number))

    @cached_property
    def _of_files(self) -> NumberedRows:
        assert self._files is not None
        return self._files.numbered(self._carrier, self._name)

    def with_places(self, numbering: Numbering, name: str) -> DataFrame:
        """All rows, with their place among them in a column before the others; not where they are in order of ids."""
        functions = spark_functions()
        table = pa.table({"_part": numbering.parts, "_first": numbering.firsts})
        firsts = functions.broadcast(self._frame.sparkSession.createDataFrame(table))
        number = functions.col(NUMBER)
        part = functions.shiftright(number, POSITION_BITS)
        place = number - functions.shiftleft(part, POSITION_BITS) + functions.col("_first") - numbering.references
        rows = self.rows.join(firsts, part == functions.col("_part"), "left")
        return rows.select(place.alias(name), *(f"`{column}`" for column in self._frame.columns))

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
        """How many rows each part of the numbering has."""
        if self._files is not None:
            return self._of_files.parts
        part = spark_functions().shiftright(NUMBER, POSITION_BITS).alias("part")
        return {int(row["part"]): int(row["count"]) for row in self.rows.groupBy(part).count().collect()}

    @cached_property
    def _count(self) -> int:
        with plain_errors():
            return int(self._frame.count()) if self.by_id else sum(self._parts.values())

    def _beginning(self, columns: Sequence[str]) -> pa.Table:
        """The first rows."""
        if self._id is not None and self.by_id:
            # Ids first, and then the rows up to the last of them: to sort all texts for a few would take long.
            ids = self._select(self._ordered, [self._id]).limit(_FIRST).toArrow().column(0)
            if not len(ids):
                return self._select(self._frame, columns).limit(0).toArrow()
            upto = spark_functions().col(f"`{self._id}`") <= ids[-1].as_py()
            return self._select(self._ordered.where(upto), columns).limit(_FIRST).toArrow()
        numbering = Numbering.of(self._parts)
        end = numbering.numbers(np.array([min(_FIRST, numbering.total) - 1]))[0] if numbering.total else -1
        some = self._select(self.rows, [*columns, NUMBER]).where(spark_functions().col(NUMBER) <= int(end))
        # Whoever takes so many stops when they are there, and the first of them come first: no column is read whole.
        rows = some.take(min(_FIRST, numbering.total))
        found = self._frame.sparkSession.createDataFrame(rows, some.schema).toArrow()
        return found.sort_by(NUMBER).select(list(columns))

    def first_rows(self) -> Sequence[int]:
        """The place of the first row of each file."""
        return [0] if self._files is None else self._of_files.first_rows

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
        """The file of a row, and its place there."""
        file = bisect_right(self.first_rows(), number) - 1
        return file, number - self.first_rows()[file]


_ID_TYPES = ("byte", "short", "integer", "long", "string")
