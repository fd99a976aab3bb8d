"""Parquet, written in row groups that threads encode, with the layout of the file that is copied if it is a copy.

A row group is written as one array per column, and is cut by rows and sizes alone. So its bytes depend on its rows,
not on the batches in which they came.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.io.limits import size_of
from lookalike.io.reading.formats.footer import Footer
from lookalike.io.reading.formats.parquet import open_with_footer
from lookalike.io.reading.places import Place
from lookalike.io.writing.row_groups import Encoded, Stitched, encode
from lookalike.threads.behind import Behind
from lookalike.threads.crew import Crew

__all__ = ["Layout", "ParquetSink"]

# The row groups of tables we make: what DuckDB and Spark write, and what fits a small budget.
_GROUP_ROWS = 122_880
_GROUP_BYTES = 128 << 20
# Arrow writes no larger ones.
_MOST_GROUP_ROWS = 64 << 20
# Encodings that a writer uses only where it is told to.
_CHOSEN_ENCODINGS = ("BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a Parquet file is laid out, so that another can be written like it.

    Attributes:
        schema: the Arrow schema with its metadata.
        options: what `pyarrow.parquet.ParquetWriter` is told: codec and dictionary of each column, format
            version, 96-bit timestamps, page index, sort order, names of list items.
    """

    schema: pa.Schema
    options: dict[str, Any]

    @classmethod
    def of(cls, place: Place) -> Layout:
        """The layout of a file, read from its metadata."""
        file, footer = open_with_footer(place)
        with file:
            return cls(file.schema_arrow, _options(file.metadata, file.schema, footer))


def _options(metadata: Any, schema: Any, footer: Footer) -> dict[str, Any]:
    options: dict[str, Any] = {"compression": {}, "use_dictionary": [], "write_statistics": [], "column_encoding": {}}
    for index, path in enumerate(footer.paths):
        options["compression"][path] = "zstd"
        if not metadata.num_row_groups:
            options["use_dictionary"].append(path)
            options["write_statistics"].append(path)
            continue
        column = footer.chunk(0, index)
        options["compression"][path] = column.codec
        if any("DICTIONARY" in encoding for encoding in column.encodings):
            options["use_dictionary"].append(path)
        elif chosen := set(column.encodings) & set(_CHOSEN_ENCODINGS):
            options["column_encoding"][path] = min(chosen)
        if column.statistics:
            options["write_statistics"].append(path)
        options["write_page_index"] = column.page_index
    if not options["column_encoding"]:
        del options["column_encoding"]
    if metadata.format_version in ("1.0", "2.4", "2.6"):
        options["version"] = metadata.format_version
    options["use_deprecated_int96_timestamps"] = any(
        schema.column(index).physical_type == "INT96" for index in range(len(schema))
    )
    options["use_compliant_nested_type"] = not any(path.endswith(".list.item") for path in footer.paths)
    orders = {metadata.row_group(group).sorting_columns for group in range(metadata.num_row_groups)}
    if len(orders) == 1 and (order := orders.pop()):
        options["sorting_columns"] = order
    known = inspect.signature(pq.ParquetWriter.__init__).parameters
    return {name: value for name, value in options.items() if name in known}


class ParquetSink:
    """Writes tables as Parquet, zstd, in row groups that are cut by rows and bytes or where told.

    Args:
        out: an open file.
        schema: what all rows have.
        layout: of the file that is copied; the caller then ends row groups, and larger ones are cut.
        group_bytes: the most that a row group may hold in memory.
        crew: lends threads, if it has some, that encode row groups while the next ones are gathered.
    """

    def __init__(
        self,
        out: Any,
        schema: pa.Schema,
        layout: Layout | None = None,
        group_bytes: int | None = None,
        crew: Crew | None = None,
    ) -> None:
        options: dict[str, Any] = {"compression": "zstd"} if layout is None else layout.options
        if layout is not None:
            new = set(schema.names) - set(layout.schema.names)
            added = [name for name in schema.names if name in new and not pa.types.is_nested(schema.field(name).type)]
            options = options | {
                "compression": dict.fromkeys(added, "zstd") | options["compression"],
                "write_statistics": [*options["write_statistics"], *added],
            }
        self._schema = schema
        self._layout = layout
        self._options = options
        self._file = Stitched(out)
        most = _GROUP_BYTES if group_bytes is None else group_bytes
        if layout is None:
            most = min(most, _GROUP_BYTES)
        self._behind = Behind(crew or Crew(1), most)
        self._most = most
        self._gathered = self._gathering()
        self.recut = 0

    def _gathering(self) -> _Gathering:
        return _Gathering(self._schema, _GROUP_ROWS if self._layout is None else _MOST_GROUP_ROWS, 8 * self._most)

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows to the row group that is being filled."""
        for full in self._gathered.add(rows):
            self._encode(full)

    def group(self, weight: int, load: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        """Write the rows that `load` gives as a row group of their own, as the file that is copied has it.

        They are loaded and encoded by any thread. What is too large to be held is cut, and then loaded here.
        """
        self._end_group()
        if weight <= self._most:
            self._behind.make(max(1, weight), partial(self._encoded, load), self._append, loaded=False)
            return
        for rows in load():
            self.write(rows)
        self._end_group()

    def _encoded(self, load: Callable[[], Iterator[pa.RecordBatch]]) -> list[Encoded]:
        gathered, encoded = self._gathering(), []
        for rows in load():
            encoded += [encode(self._schema, self._options, full) for full in gathered.add(rows)]
        last = gathered.rest()
        return encoded if last is None else [*encoded, encode(self._schema, self._options, last)]

    def _append(self, encoded: list[Encoded]) -> None:
        self.recut += len(encoded) > 1
        for each in encoded:
            self._file.append(each)

    def _end_group(self) -> None:
        last = self._gathered.rest()
        if last is not None:
            self._encode(last)
        self.recut += self._gathered.cut
        self._gathered = self._gathering()

    def _encode(self, table: pa.Table) -> None:
        make = partial(encode, self._schema, self._options, table)
        self._behind.make(max(1, table.nbytes), make, self._file.append, loaded=True)

    def close(self) -> None:
        """Write what is waiting and the footer."""
        self._end_group()
        self._behind.finish()
        if not self._file.groups:
            self._file.append(encode(self._schema, self._options, None))
        self._file.close()

    def abort(self) -> None:
        """Forget what is waiting; the file is not whole."""
        self._behind.drop()


class _Gathering:
    """Rows on their way to row groups of at most so many rows and bits, cut alike however the rows came."""

    def __init__(self, schema: pa.Schema, most_rows: int, most_bits: int) -> None:
        self._schema, self._most_rows, self._most_bits = schema, most_rows, most_bits
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bits = 0
        self.cut = False

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows; the tables that are full."""
        while rows.num_rows:
            count = self._fitting(rows)
            if not count and self._rows:
                full = self.rest()
                assert full is not None
                yield full
                self.cut = True
                continue
            part = rows.slice(0, max(1, count))
            self._waiting.append(part)
            self._rows += part.num_rows
            self._bits += size_of(part)
            rows = rows.slice(part.num_rows)

    def rest(self) -> pa.Table | None:
        """What waits, as one array per column."""
        if not self._waiting:
            return None
        columns = [[rows.column(index) for rows in self._waiting] for index in range(len(self._schema))]
        self._waiting.clear()
        self._rows = self._bits = 0
        arrays = [_joined(columns.pop(0), field.type) for field in self._schema]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _fitting(self, rows: pa.RecordBatch) -> int:
        """How many of these rows there is room for."""
        most: int = min(rows.num_rows, self._most_rows - self._rows)
        left = self._most_bits - self._bits
        if size_of(rows.slice(0, most)) <= left:
            return most
        counts = range(1, most + 1)
        return bisect_right(counts, left, key=lambda count: size_of(rows.slice(0, count)))


def _joined(parts: list[Any], type: Any) -> Any:
    """The pieces of a column as one array."""
    try:
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    except pa.ArrowInvalid:  # dictionaries that together have more values than their indices can count
        return pa.chunked_array(parts, type)
