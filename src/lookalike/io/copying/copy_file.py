"""The rows of input files on their way to one open output, in the way that keeps most of what the format has."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from lookalike.errors import OptionError
from lookalike.io.column_types import conform, storable
from lookalike.io.copying.changes import Changes
from lookalike.io.copying.copy_arrays import copy_archive, copy_arrays
from lookalike.io.copying.copy_citations import copy_citations
from lookalike.io.copying.copy_lines import LineOutput, copy_lines
from lookalike.io.limits import CopyRoom, check_rows
from lookalike.io.reading import formats
from lookalike.io.reading.files import FileSource
from lookalike.io.reading.whole_files import WholeFiles
from lookalike.io.source import Batch, OnRead, Source
from lookalike.io.writing.table_files import Sink, open_sink, sinking
from lookalike.threads.behind import Behind
from lookalike.threads.crew import Crew

CELLS = frozenset({"csv", "tsv"})

__all__ = ["CELLS", "FileCopy", "formats_of"]


def formats_of(source: Source) -> set[str]:
    """The formats of the files of a source; none for memory and text files."""
    return {place.format for place in source.places} if isinstance(source, FileSource) else set()


class FileCopy:
    """What goes to one output, and the counts of it.

    Attributes:
        read: rows that were read.
        rows: rows that were written.
        recut: row groups that were too large to hold and were cut into smaller ones.
        replaced: texts in which invalid UTF-8 became U+FFFD, because the new format needs valid text.
    """

    def __init__(
        self, source: Source, changes: Changes, crew: Crew, room: CopyRoom, on_read: OnRead, start: int = 0
    ) -> None:
        self._source = source
        self._changes = changes
        self._room = room
        self._on_read = on_read
        self._start = start
        self._crew = crew
        self._counting = threading.Lock()
        self.read = self.rows = self.recut = self.replaced = 0

    @property
    def _number(self) -> int:
        """The running number of the next row."""
        return self._start + self.read

    def by_line(self, format: str) -> bool:
        """Whether lines can be copied as they are: JSONL always, plain lines only unchanged."""
        unchanged = self._changes.edit is None and self._changes.add is None
        return format == "jsonl" or (format == "lines" and unchanged)

    def lines(self, source: FileSource, files: range, out: Any) -> None:
        """Files of lines to the same format, byte for byte."""
        if self._changes.add is not None:
            self._changes.schema(source.schema(), source.files[0])
        with sinking(LineOutput(out, Behind(self._crew, self._room.ahead))) as lines:
            for index in files:
                read, kept = copy_lines(
                    source, index, self._number, self._changes, lines, self._on_read, self._room.memory
                )
                self.read += read
                self.rows += kept

    def parquet(self, source: FileSource, files: range, out: Any) -> None:
        """Parquet files of one schema to Parquet with the layout of the first."""
        from lookalike.io.reading.formats import parquet
        from lookalike.io.writing.parquet_sink import Layout, ParquetSink

        readable = [index for index in files if not source.left_out(index)]
        layout = Layout.of(source.places[readable[0]])
        schema = self._changes.schema(layout.schema, source.files[readable[0]])
        room = self._room
        with sinking(ParquetSink(out, schema, layout, room.group, self._crew)) as sink:
            for index in readable:
                reading = replace(
                    source.reading(index, None, self._on_read, only=self._changes.keep, start=self._number),
                    batch_rows=room.decoded_bytes,  # as many as there are bytes for
                    batch_bytes=room.decoded_bytes,
                    memory=room.memory,
                )
                with contextlib.closing(parquet.groups(source.places[index], reading)) as pieces:
                    for piece in pieces:
                        number, count = self._number, self._within(source, piece)
                        if piece.load is not None:
                            rows = partial(self._rows_of, piece, number, count, index, schema)
                            sink.group(piece.weight, rows)
                        self.read += count
                        if self._reached(source):
                            break
        self.recut += sink.recut

    def arrays(self, source: FileSource, files: range, out: Any) -> None:
        """NumPy files to one of the same format, with the same numbers; archives one by one."""
        if source.places[files[0]].format == "npz":
            if len(files) > 1:
                raise OptionError(
                    f"{source.files[0]} and others: archives cannot be combined into one file: write to a folder"
                )
            counts = copy_archive(source, files[0], self._number, self._changes, out, self._room, self._on_read)
        else:
            behind = Behind(self._crew, self._room.ahead)
            counts = copy_arrays(source, files, self._number, self._changes, out, behind, self._room, self._on_read)
        self.read += counts[0]
        self.rows += counts[1]

    def citations(self, source: FileSource, files: range, out: Any) -> None:
        """Files of records of literature to the same format, byte for byte."""
        read, kept = copy_citations(source, files, self._number, self._changes, out, self._room, self._on_read)
        self.read += read
        self.rows += kept

    def table(self, source: FileSource, index: int, out: Any) -> None:
        """One file of a format that has no shortcut, to the same format."""
        place = source.places[index]
        module = formats.reader(place.format)
        schema = self._changes.schema(module.schema(place), place.name)
        reading = source.reading(index, None, self._on_read)
        # Text formats hold any bytes; only typed ones need valid text.
        target = schema if place.format == "arrow" else None
        inner = open_sink(place.format, out, schema, place if place.format in CELLS else None)
        with (
            sinking(_Later(inner, Behind(self._crew, self._room.ahead))) as sink,
            contextlib.closing(module.pieces(place, reading)) as pieces,
        ):
            for piece in pieces:
                count = self._within(source, piece)
                if piece.load is not None:
                    for rows in self._rows_of(piece, self._number, count, index, target):
                        sink.write(rows)
                self.read += count
                if self._reached(source):
                    break

    def converted(self, format: str, out: Any) -> None:
        """All rows of a source, as rows of any format; what was made of pictures for the comparison is left out."""
        source = self._source
        schema = source.full_schema()
        wanted = None
        if isinstance(source, WholeFiles) and source.derived:
            wanted = [name for name in schema.names if name not in source.derived]
            schema = pa.schema([schema.field(name) for name in wanted])
        where = source.files[0] if source.files else "items"
        schema = self._changes.schema(storable(schema) if format == "parquet" else schema, where)
        own = formats_of(source)
        like = source.places[0] if isinstance(source, FileSource) and format in CELLS and own == {format} else None
        # From cells to cells no byte changes, valid text or not.
        as_is = format in CELLS and bool(own) and own <= CELLS
        with sinking(self._sink(format, out, schema, like)) as sink:
            for batch in source.batches(wanted, self._on_read, only=None):
                name = source.files[batch.file] if source.files else "items"
                check_rows(name, batch.row, batch.rows, self._room.memory)
                rows = self._changed(batch, _with_bytes(schema, batch.rows) if as_is else schema)
                if rows.num_rows:
                    sink.write(rows)
                self.read += batch.rows.num_rows

    def _sink(self, format: str, out: Any, schema: pa.Schema, like: Any) -> Sink:
        if format != "parquet":
            return _Later(open_sink(format, out, schema, like), Behind(self._crew, self._room.ahead))
        from lookalike.io.writing.parquet_sink import ParquetSink

        return ParquetSink(out, schema, None, self._room.group, self._crew)

    def _within(self, source: FileSource, piece: formats.FilePiece) -> int:
        """How many rows of the next piece the limit allows."""
        return piece.count if source.limit is None else min(piece.count, source.limit - self._number)

    def _reached(self, source: FileSource) -> bool:
        return source.limit is not None and self._number >= source.limit

    def _rows_of(
        self, piece: formats.FilePiece, number: int, count: int, index: int, schema: pa.Schema | None
    ) -> Iterator[pa.RecordBatch]:
        """What is to be written of the first `count` rows of a piece, the first of which has this running number."""
        assert piece.load is not None, "it is wanted"
        name, done = self._source.files[index], 0
        for rows in piece.load():
            check_rows(name, piece.row + done, rows, self._room.memory)
            changed = self._changed(
                Batch(number + done, index, piece.row + done, rows.slice(0, max(0, count - done))), schema
            )
            if changed.num_rows:
                yield changed
            done += rows.num_rows

    def _changed(self, batch: Batch, schema: pa.Schema | None) -> pa.RecordBatch:
        """The kept rows of a batch with what is changed of them, as the output has them; by several threads."""
        rows = self._changes.apply(batch)
        replaced = 0
        if schema is not None and rows.schema.names == schema.names and rows.schema.types == schema.types:
            rows = pa.RecordBatch.from_arrays(rows.columns, schema=schema)
        elif schema is not None:
            rows, replaced = conform(rows, schema)
        with self._counting:
            self.replaced += replaced
            self.rows += rows.num_rows
        return rows


class _Later:
    """A sink that is written to behind the caller."""

    def __init__(self, sink: Sink, behind: Behind) -> None:
        self._sink = sink
        self._behind = behind

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows, now or later."""
        self._behind.do(max(1, rows.nbytes), partial(self._sink.write, rows))

    def close(self) -> None:
        """Wait for what is being written."""
        self._behind.finish()
        self._sink.close()

    def abort(self) -> None:
        """Forget what is not written yet."""
        self._behind.drop()
        getattr(self._sink, "abort", self._sink.close)()


def _with_bytes(schema: pa.Schema, rows: pa.RecordBatch) -> pa.Schema:
    """A schema that leaves the columns of bytes of these rows as they are."""
    for index, field in enumerate(schema):
        column = rows.schema.get_field_index(field.name)
        if column >= 0 and pa.types.is_binary(rows.schema.field(column).type):
            schema = schema.set(index, field.with_type(pa.binary()))
    return schema
