"""Tables in files as one source of numbered rows."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError, OptionError
from lookalike.io.column_types import check_types, json_type, merge, merge_json, plain, stretches
from lookalike.io.reading import formats
from lookalike.io.reading.blocks import BLOCK_BYTES
from lookalike.io.reading.cell_limits import Extent, check_columns
from lookalike.io.reading.expand import expand
from lookalike.io.reading.faults import FaultLog, Faults
from lookalike.io.reading.formats import Reading
from lookalike.io.reading.line_ranges import LineRange, line_ranges
from lookalike.io.reading.places import Place
from lookalike.io.reading.read_ahead import ReadAhead
from lookalike.io.reading.text_files import TextSource
from lookalike.io.reading.watch import Watch, changed
from lookalike.io.source import BATCH_BYTES, BATCH_ROWS, Batch, Flags, OnRead, Piece, Source, cut, one_at_a_time

__all__ = ["FileSource", "check_limits", "open_files"]


def open_files(
    paths: Sequence[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    skip_bad: bool = False,
    limit: int | None = None,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    memory: int | None = None,
    threads: int = 1,
) -> Source:
    """Open files, patterns, folders, fsspec addresses or "-" (standard input) as one source.

    Args:
        paths: in the order in which their rows are numbered.
        format: one of `formats.FORMATS` for all files; by their endings if None.
        delimiter: what parts the cells of those that are CSV; what the header tells if None.
        skip_bad: count broken rows and go on, instead of an error.
        limit: read only the first so many rows.
        batch_rows, batch_bytes: how much a batch may hold.
        memory: what a run may hold; a row that is too large for it is refused before it is all in memory.
        threads: how many will read pieces at once.
    """
    formats.check_format(format)
    check_limits(limit, batch_rows, batch_bytes)
    places = [
        replace(place, memory=memory, delimiter=delimiter if place.format in formats.DELIMITED else None)
        for place in expand(paths, format)
    ]
    kind = TextSource if places[0].format == "text" else FileSource
    return kind(places, FaultLog(skip_bad), limit, batch_rows, batch_bytes, threads)


def check_limits(limit: int | None, batch_rows: int, batch_bytes: int) -> None:
    """Raise `OptionError` for a number that cannot be."""
    for name, value in (("limit", limit), ("batch_rows", batch_rows), ("batch_bytes", batch_bytes)):
        if value is not None and value < 1:
            raise OptionError(f"{name}: {value} is less than 1")


class FileSource:
    """The rows of one or more table files, numbered through."""

    def __init__(
        self, places: list[Place], log: FaultLog, limit: int | None, batch_rows: int, batch_bytes: int, threads: int = 1
    ) -> None:
        self._threads = threads
        self.places = places
        self.limit = limit
        self.watch = Watch(places)
        for index in range(len(places)):
            self.watch.check(index)
        self._log = log
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        self._faults = [Faults(log) for _ in places]
        self._starts: list[int] = []
        self._end = 0
        self._whole = False
        self._checked: set[tuple[int, tuple[str, ...]]] = set()
        self._first: pa.Schema | None = None
        self._full: pa.Schema | None = None
        self._ranges: dict[int, list[LineRange] | None] = {}
        self._undivided: set[tuple[int, int]] = set()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files as they were given."""
        return tuple(place.name for place in self.places)

    @property
    def skipped(self) -> int:
        """How many bad rows (and unreadable Parquet or Arrow files) were left out."""
        return self._log.skipped

    @property
    def skips_bad(self) -> bool:
        """Whether bad rows are left out instead of raised."""
        return self._log.skip

    @property
    def bad(self) -> list[str]:
        """The first few messages about them."""
        return self._log.messages

    @property
    def remarks(self) -> list[str]:
        """What users should know of how files were read, as far as they were."""
        tables = [place.kept["table"] for place in self.places if "table" in place.kept]
        return [remark for table in tables for remark in table.remarks]

    @property
    def undivided(self) -> int:
        """How many large row groups were read by one thread alone, whatever the number of threads."""
        return len(self._undivided)

    @property
    def natural_id(self) -> str | None:
        """Rows of tables have no name of their own."""
        return None

    def schema(self) -> pa.Schema:
        """The columns of the first file that can be read and has any."""
        if self._first is not None:
            return self._first
        found: pa.Schema | None = None
        for index, place in enumerate(self.places):
            try:
                found = formats.reader(place.format).schema(place, self._log.skip)
            except InputError:
                if not self._log.skip or index == len(self.places) - 1:
                    raise
                continue
            if found.names:
                break
        self._first = found
        return found

    def full_schema(self) -> pa.Schema:
        """The columns of all files, of a type that holds their values; JSONL is read through for it."""
        if self._full is None:
            fields: dict[str, Any] = {}
            metadata = None
            only_json = all(place.format == "jsonl" for place in self.places)
            extent = Extent()
            for index, place in enumerate(self.places):
                schema, more = self._schema_of(index)
                metadata = metadata or schema.metadata
                for field in schema:
                    fields[field.name] = _merged(place.name, fields.get(field.name), field, only_json)
                extent = extent.and_also(more)
            if extent.rows:
                where = self.places[0].name + (" and others" if len(self.places) > 1 else "")
                check_columns(where, (field.type for field in fields.values()), extent)
            self._full = pa.schema(list(fields.values()), metadata=metadata)
        return self._full

    def _schema_of(self, index: int) -> tuple[pa.Schema, Extent]:
        """The columns of a file, and how much of it had to be looked through for them."""
        place = self.places[index]
        if place.format == "jsonl":
            from lookalike.io.reading.formats import jsonl

            return jsonl.scan(place, self._faults[index], self.limit)
        try:
            return formats.reader(place.format).schema(place), Extent()
        except InputError:
            if self._log.skip:
                return pa.schema([]), Extent()
            raise

    def count(self) -> int | None:
        """The number of rows, if all files tell it."""
        if self._whole:
            return self._end
        total = 0
        for place in self.places:
            try:
                rows = formats.reader(place.format).count(place)
            except InputError:
                if self._log.skip:
                    return None
                raise
            if rows is None:
                return None
            total += rows
        return total if self.limit is None else min(total, self.limit)

    def tally(self, on_read: OnRead | None = None) -> int | None:
        """The number of rows, if all files tell it or are made of lines; None where bad rows may be left out."""
        known = self.count()
        if known is not None or self._log.skip:
            return known
        total = 0
        on_read = one_at_a_time(on_read)
        for index, place in enumerate(self.places):
            reader = formats.reader(place.format)
            rows = reader.count(place)
            if rows is None and hasattr(reader, "tally"):
                ranges = self._line_ranges(index, on_read)
                rows = reader.tally(place, on_read if ranges is None else None, ranges)
            if rows is None:
                return None
            total += rows
        return total if self.limit is None else min(total, self.limit)

    def _line_ranges(self, index: int, on_read: OnRead | None = None) -> list[LineRange] | None:
        """Where the lines of a file are, if it is one that is worth looking through for that."""
        if self.places[index].format not in ("jsonl", "lines") or self.limit is not None:
            return None
        if index not in self._ranges:
            self._ranges[index] = line_ranges(self.places[index], self._threads, on_read)
        return self._ranges[index]

    def size(self) -> int | None:
        """Bytes of all files as they are stored."""
        sizes = [place.size() for place in self.places]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def settle(self) -> None:
        """Make sure that every row has been looked at once, so that bad ones are known."""
        if not self._whole:
            for _ in self.batches((), only=np.zeros(0, np.bool_)):
                pass

    def left_out(self, index: int) -> bool:
        """Whether a file as a whole could not be read and was skipped."""
        return 0 in self._faults[index].places

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """Read the rows; see `Source.batches`."""
        with contextlib.closing(self._read_ahead()) as ahead:
            for piece in self._pieces(ahead, columns, one_at_a_time(on_read), expect, only, alone=True):
                yield from piece.load()

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Piece]:
        """The rows in pieces; see `Source.pieces`."""
        with contextlib.closing(self._read_ahead()) as ahead:
            yield from self._pieces(ahead, columns, one_at_a_time(on_read), expect, only)

    def _read_ahead(self) -> ReadAhead:
        # A file that is read ahead holds three blocks, all of them together what batches may.
        files = min(self._threads, 4 * self._threads * self._batch_bytes // (3 * BLOCK_BYTES))
        return ReadAhead(self.places, files)

    def _pieces(
        self,
        ahead: ReadAhead,
        columns: Sequence[str] | None,
        on_read: OnRead | None,
        expect: Mapping[str, Any] | None,
        only: Flags | None,
        *,
        alone: bool = False,
    ) -> Iterator[Piece]:
        number = 0
        last = self._end if self._whole else None
        for index in range(len(self.places)):
            if self.limit is not None and number >= self.limit:
                break
            start = self._mark(index, number)
            self.watch.check(index)
            reading = replace(self.reading(index, columns, on_read, expect, only, start), alone=alone)
            place = ahead.take(index)
            with contextlib.closing(formats.reader(place.format).pieces(place, reading)) as pieces:
                for piece in pieces:
                    number = start + piece.row + piece.count
                    self._end = max(self._end, min(number, self.limit or number))
                    if piece.load is not None:
                        load = partial(self._load, piece, index, start, place, columns, expect)
                        count = min(number, self.limit or number) - start - piece.row
                        yield Piece(start + piece.row, count, piece.weight, load)
                    if self.limit is not None and number >= self.limit:
                        break
            self._check_read(index, number, last)
            if columns is not None:
                self._checked.add((index, tuple(columns)))
        self._whole = True

    def _check_read(self, index: int, end: int, last: int | None) -> None:
        """A file was read to its end, or to the limit: it must be as earlier passes found it, `last` the end of all."""
        self.watch.check(index)
        if self.limit is not None and end >= self.limit:
            return
        known = self._starts[index + 1] if index + 1 < len(self._starts) else last
        if known is not None and end != known:
            raise changed(self.places[index].name)

    def reading(
        self,
        index: int,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
        start: int = 0,
    ) -> Reading:
        """How a pass reads one file."""
        names = None if columns is None else tuple(columns)
        fixed = {name: json_type(kind) for name, kind in (expect or {}).items()}
        guess: dict[str, Any] = {}
        if self.places[index].format == "jsonl":
            if names is None:
                fixed = {field.name: field.type for field in self.full_schema()} | fixed
            else:
                guess = {field.name: field.type for field in self.schema()}

        def wanted(row: int, count: int) -> bool:
            return only is None or bool(only[start + row : start + row + count].any())

        return Reading(
            columns=names,
            fixed=fixed,
            strict=frozenset(expect or ()),
            batch_rows=self._batch_rows,
            batch_bytes=self._batch_bytes,
            wanted=wanted,
            on_read=on_read or (lambda _: None),
            faults=self._faults[index],
            checked=names is not None and (index, names) in self._checked,
            guess=guess,
            threads=self._threads,
            ranges=self._line_ranges(index),
            on_undivided=lambda row: self._undivided.add((index, row)),
        )

    def _load(
        self,
        piece: formats.FilePiece,
        index: int,
        start: int,
        place: Place,
        columns: Sequence[str] | None,
        expect: Mapping[str, Any] | None,
    ) -> Iterator[Batch]:
        """The rows of a piece of a file, which must be the same file before and after."""
        assert piece.load is not None, "it is wanted"
        row = piece.row
        for rows in self._unchanged(piece.load(), index):
            if self.limit is not None:
                rows = rows.slice(0, max(0, self.limit - start - row))
            if expect and place.format != "jsonl":
                check_types(place.name, rows.schema, expect)
            stretch = [rows] if columns is None else map(plain, stretches(rows, self._batch_bytes))
            for part in (part for some in stretch for part in cut(some, self._batch_rows, self._batch_bytes)):
                yield Batch(start + row, index, row, part)
                row += part.num_rows

    def _unchanged(self, batches: Iterator[pa.RecordBatch], index: int) -> Iterator[pa.RecordBatch]:
        """What is read of a file; that it has changed meanwhile is told before anything else that is wrong."""
        try:
            yield from batches
        except InputError:
            self.watch.check(index)
            raise
        self.watch.check(index)

    def _mark(self, index: int, number: int) -> int:
        if index == len(self._starts):
            self._starts.append(number)
        return self._starts[index]

    def first_rows(self) -> Sequence[int]:
        """The running number of the first row of each file; past the end for files that `limit` cut off."""
        self.settle()
        return [*self._starts, *([self._end] * (len(self.places) - len(self._starts)))]

    def locate(self, number: int) -> tuple[int, int]:
        """The file (index) and the row in it of a running number."""
        if number >= self._end:
            self.settle()
        if not 0 <= number < self._end:
            raise IndexError(f"row {number} of {self._end}")
        file = bisect_right(self._starts, number) - 1
        return file, number - self._starts[file]


def _merged(name: str, known: Any, field: Any, only_json: bool) -> Any:
    """A field that holds the values of a column in the files before, if it was in any, and in this one."""
    if known is None or known.equals(field):
        return field
    if only_json:
        return pa.field(field.name, merge_json(known.type, field.type))
    both = merge(known.type, field.type)
    if both is None:
        raise InputError(f"{name}: column '{field.name}' is {field.type}, but {known.type} in the files before")
    return pa.field(field.name, both, known.nullable or field.nullable, known.metadata)
