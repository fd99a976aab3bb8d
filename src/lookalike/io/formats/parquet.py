"""Parquet: read by row group with bounded buffers, written with the layout of the file it came from.

A batch holds as many rows as `batch_bytes` allow by the sizes in the row group's metadata. Column chunks are
streamed through buffers of 1 MiB instead of being loaded whole ahead of time.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.formats import Piece, Reading
from lookalike.io.messages import missing_column, reason
from lookalike.io.places import Place
from lookalike.io.places import reading as naming

_BUFFER_BYTES = 1 << 20
# The row groups of tables we make: what DuckDB and Spark write, and what fits a small budget.
_GROUP_ROWS = 122_880
_GROUP_BYTES = 128 << 20

__all__ = ["Layout", "Sink", "count", "groups", "pieces", "schema"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The Arrow schema of the file, metadata included."""
    with _opened(place) as file:
        return file.schema_arrow


def count(place: Place) -> int | None:
    """The number of rows in the file's metadata."""
    with _opened(place) as file:
        return int(file.metadata.num_rows)


def pieces(place: Place, reading: Reading) -> Generator[Piece, None, None]:
    """All rows in order; row groups of which nothing is wanted are not decoded."""
    for _, piece in groups(place, reading):
        yield piece


def groups(place: Place, reading: Reading) -> Iterator[tuple[int, Piece]]:
    """All rows in order, each piece with the number of its row group."""
    if 0 in reading.faults.places:
        return
    try:
        file = _opened(place)
    except InputError as error:
        reading.faults.report(0, str(error))
        return
    with file:
        reading.faults.settle(1)
        names = _checked(place, file.schema_arrow, reading)
        total = max(1, file.metadata.num_rows)
        size = place.size() or 0
        row = told = 0
        for group in range(file.num_row_groups):
            metadata = file.metadata.row_group(group)
            start = row
            if not reading.wanted(row, metadata.num_rows):
                yield group, Piece(row, metadata.num_rows, None)
                row += metadata.num_rows
            else:
                for rows in _decoded(place, file, group, names, reading):
                    yield group, Piece(row, rows.num_rows, rows)
                    row += rows.num_rows
                    fresh = size * row // total - told
                    told += fresh
                    reading.on_read(fresh)
            if row - start != metadata.num_rows:
                raise InputError(
                    f"{place.name}: row group {group} has {row - start} rows instead of {metadata.num_rows}"
                )
        reading.on_read(size - told)


def _opened(place: Place) -> Any:
    source = place.open()
    try:
        return pq.ParquetFile(source, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    except (OSError, pa.ArrowException) as error:
        source.close()
        raise InputError(f"{place.name}: not a Parquet file that can be read: {reason(error)}") from error


def _checked(place: Place, schema: pa.Schema, reading: Reading) -> list[str] | None:
    for column in reading.columns or ():
        found = schema.names.count(column)
        if not found:
            raise InputError(missing_column(place.name, column, schema.names))
        if found > 1:
            raise InputError(f"{place.name}: column '{column}' is there {found} times")
    return None if reading.columns is None else list(reading.columns)


def _decoded(
    place: Place, file: Any, group: int, names: list[str] | None, reading: Reading
) -> Iterator[pa.RecordBatch]:
    rows_at_once = _rows_at_once(file.metadata.row_group(group), names, reading)
    with naming(f"{place.name}: row group {group}", remote=place.remote):
        batches = file.iter_batches(rows_at_once, row_groups=[group], columns=names)
    while True:
        with naming(f"{place.name}: row group {group}", remote=place.remote):
            rows = next(batches, None)
        if rows is None:
            return
        yield rows if names is None else rows.select(names)


def _rows_at_once(group: Any, names: list[str] | None, reading: Reading) -> int:
    size = sum(
        column.total_uncompressed_size
        for column in map(group.column, range(group.num_columns))
        if names is None or column.path_in_schema.split(".")[0] in names
    )
    each = max(1, int(size) // max(1, int(group.num_rows)))
    return max(1, min(reading.batch_rows, reading.batch_bytes // each))


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
        with _opened(place) as file:
            return cls(file.schema_arrow, _options(file.metadata, file.schema))


def _options(metadata: Any, schema: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"compression": {}, "use_dictionary": []}
    paths = [schema.column(index).path for index in range(len(schema))]
    for index, path in enumerate(paths):
        codec, dictionary = "zstd", True
        if metadata.num_row_groups:
            column = metadata.row_group(0).column(index)
            codec = "none" if column.compression == "UNCOMPRESSED" else column.compression.lower()
            dictionary = any("DICTIONARY" in encoding for encoding in column.encodings)
            options["write_page_index"] = bool(getattr(column, "has_offset_index", False))
        options["compression"][path] = codec
        if dictionary:
            options["use_dictionary"].append(path)
    if metadata.format_version in ("1.0", "2.4", "2.6"):
        options["version"] = metadata.format_version
    options["use_deprecated_int96_timestamps"] = any(
        schema.column(index).physical_type == "INT96" for index in range(len(schema))
    )
    options["use_compliant_nested_type"] = not any(path.endswith(".list.item") for path in paths)
    orders = {metadata.row_group(group).sorting_columns for group in range(metadata.num_row_groups)}
    if len(orders) == 1 and (order := orders.pop()):
        options["sorting_columns"] = order
    known = inspect.signature(pq.ParquetWriter.__init__).parameters
    return {name: value for name, value in options.items() if name in known}


class Sink:
    """Writes tables as Parquet, zstd, in row groups that are cut by rows and bytes or where told."""

    def __init__(self, out: Any, schema: pa.Schema, layout: Layout | None = None) -> None:
        options: dict[str, Any] = {"compression": "zstd"} if layout is None else layout.options
        if isinstance(options.get("compression"), dict):
            codecs = {name: "zstd" for name in schema.names if _is_flat(schema.field(name).type)}
            options = options | {"compression": codecs | options["compression"]}
        self._schema = schema
        self._writer = pq.ParquetWriter(out, schema, **options)
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0
        self._by_caller = layout is not None
        self._recut = False
        self.recut = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows to the row group that is being filled."""
        if not rows.num_rows:
            return
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        if self._bytes >= _GROUP_BYTES or (self._rows >= _GROUP_ROWS and not self._by_caller):
            self._recut = self._by_caller
            self._flush()

    def end_group(self) -> None:
        """Close the row group, as the file that is copied does here."""
        self._flush()
        self.recut += self._recut
        self._recut = False

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting, self._rows, self._bytes = [], 0, 0

    def close(self) -> None:
        """Write what is waiting and the footer."""
        self._flush()
        self._writer.close()

    def abort(self) -> None:
        """Close without writing what is waiting."""
        self._waiting = []
        self._writer.close()


def _is_flat(type: Any) -> bool:
    return not pa.types.is_nested(type)
