"""Parquet, read by row group with bounded buffers; `io/writing/parquet_sink.py` writes it.

A batch holds as many rows as `batch_bytes` allow by the sizes in the row group's metadata. Column chunks are
streamed through buffers of 1 MiB instead of being loaded whole ahead of time: a row group of 1 GB of text (zstd) is
read with 24 MB held, instead of 470 MB, and not slower. What has to be held whole is a page, and the dictionary of a
column; writers bound both, to 1 MB mostly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.column_types import is_text, stretches
from lookalike.io.limits import check_rows, check_size, check_whole, size_of
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.formats.footer import Footer, read_footer
from lookalike.io.reading.formats.pages import Pages, expanded, pages_of
from lookalike.io.reading.places import Place
from lookalike.io.reading.places import reading as naming
from lookalike.io.reading.sound import check_sound
from lookalike.wording.messages import missing_column, reason

_BUFFER_BYTES = 1 << 20
# What may be any number of bytes is taken for many.
_UNKNOWN = 1 << 30
# A row group up to this size is decoded whole, whatever is wanted of it; of others it is asked at so many places.
_SMALL_GROUP = 1 << 20
# A row group without pages is decoded by any thread, and then held, if it makes up no more batches than these.
_WHOLE_BATCHES = 4
_LOOKS = 16
# From this size on it matters that one thread decodes a row group: this much text takes it a tenth of a second.
_SLOW_GROUP = 64 << 20
# A number, or a short text in a list.
_VALUE_BYTES = 8

__all__ = ["count", "groups", "largest_group", "open_with_footer", "pieces", "schema"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The Arrow schema of the file, metadata included."""
    with _opened(place) as file:
        return file.schema_arrow


def count(place: Place) -> int | None:
    """The number of rows in the file's metadata."""
    with _opened(place) as file:
        return int(file.metadata.num_rows)


def largest_group(place: Place) -> int:
    """The bytes of the largest row group, decompressed."""
    with _opened(place) as file:
        sizes = [int(file.metadata.row_group(group).total_byte_size) for group in range(file.num_row_groups)]
    return max(sizes, default=0)


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order, a piece per row group; of which nothing is wanted is not decoded.

    A row group of several batches falls into as many pieces, and so does one of which only some rows are wanted, where
    pages can be told apart. Where they cannot, it is a piece if it is not too large and there are others, and otherwise
    decoded here, on one thread, while others work on what comes of it.
    """
    for groups, group, piece in _grouped(place, reading):
        if piece.load is None or piece.weight <= _SMALL_GROUP:
            yield piece
        elif not groups.is_wanted_whole(piece) or (reading.threads > 1 and piece.weight > 2 * reading.batch_bytes):
            yield from groups.parts(group, piece)
        else:
            yield piece


def groups(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order, a piece per row group; those of which nothing is wanted are not decoded."""
    for _, _, piece in _grouped(place, reading):
        yield piece


def _grouped(place: Place, reading: Reading) -> Generator[tuple[_RowGroups, int, FilePiece], None, None]:
    """Each row group as a piece, with its number."""
    if 0 in reading.faults.places:
        return
    try:
        file, footer = open_with_footer(place)
    except InputError as error:
        reading.faults.report(0, str(error))
        return
    with file:
        reading.faults.settle(1)
        schema = file.schema_arrow
        names = _checked(place, schema, reading)
        groups = _RowGroups(place, file, schema, footer, names, reading, place.size() or 0)
        row = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if reading.wanted(row, count):
                yield (
                    groups,
                    group,
                    FilePiece(row, count, partial(groups.load, group, row, count), groups.weight(group)),
                )
            else:
                reading.on_read(groups.stored(row, row + count))
                yield groups, group, FilePiece(row, count, None)
            row += count


@dataclass(frozen=True, slots=True)
class _RowGroups:
    """The row groups of a file, each read by whoever asks for it, through a handle of its own."""

    place: Place
    # Open while pieces are made, and asked for no rows: those who load pieces have handles of their own.
    file: Any
    schema: pa.Schema
    footer: Footer
    names: list[str] | None
    reading: Reading
    size: int

    def load(self, group: int, row: int, count: int) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, the first of which is `row` of the file, in batches."""
        place, names, reading = self.place, self.names, self.reading
        at_once = _rows_at_once(place, self.footer, group, count, names, reading)
        coded = _coded_columns(self.schema, self.footer, group, names)
        done = 0
        with _opened(place, self.file.metadata, coded) as file:
            if coded:
                decoded = _from_dictionaries(place, file, self.schema, group, at_once, names, reading, coded)
            else:
                decoded = _decoded(place, file, group, at_once, names, reading)
            for rows in decoded:
                check_rows(place.name, row + done, rows, reading.memory)
                yield rows
                reading.on_read(self.stored(row + done, row + done + rows.num_rows))
                done += rows.num_rows
        if done != count:
            raise InputError(f"{place.name}: row group {group} has {done} rows instead of {count}")

    def is_wanted_whole(self, piece: FilePiece) -> bool:
        """Whether there are wanted rows all over a row group, as far as a few looks tell."""
        if piece.count < 1:
            return True  # whoever decodes it finds words for it
        looks = np.linspace(0, piece.count, min(piece.count, _LOOKS) + 1).astype(np.int64)
        return all(self.reading.wanted(piece.row + begin, end - begin) for begin, end in pairwise(looks.tolist()))

    def parts(self, group: int, whole: FilePiece) -> Iterator[FilePiece]:
        """The pieces of a row group."""
        pages = None
        if not self.place.remote:
            names = self.schema.names if self.names is None else self.names
            pages = pages_of(self.place.path, self.file, self.schema, self.footer, group, names)
        small = self.file.num_row_groups > 1 and whole.weight <= _WHOLE_BATCHES * self.reading.batch_bytes
        if pages is None and (small or self.reading.threads == 1):
            yield whole
            return
        if pages is None:
            if self._size(group) > _SLOW_GROUP or _SLOW_GROUP < whole.weight < _UNKNOWN:
                self.reading.on_undivided(whole.row)
            row = whole.row
            assert whole.load is not None, "it is wanted"
            for rows in whole.load():
                yield FilePiece.held(row, rows.num_rows, rows)
                row += rows.num_rows
            return
        first = whole.row

        def wanted(row: int, count: int) -> bool:
            return self.reading.wanted(first + row, count)

        for begin, end, weight in pages.stretches(self.reading.batch_bytes, wanted):
            load = None if weight is None else partial(self._load_pages, group, first, pages, begin, end)
            if load is None:
                self.reading.on_read(self.stored(first + begin, first + end))
            yield FilePiece(first + begin, end - begin, load, weight or 0)

    def _load_pages(self, group: int, first: int, pages: Pages, begin: int, end: int) -> Iterator[pa.RecordBatch]:
        """The rows begin … end of a row group, the first of which is row `first` of the file."""
        place, reading = self.place, self.reading
        _rows_at_once(place, self.footer, group, pages.rows, self.names, reading)  # refuses what is too large
        with naming(f"{place.name}: row group {group}"):
            rows = pages.decode(begin, end)
        check_rows(place.name, first + begin, rows, reading.memory)
        yield rows
        reading.on_read(self.stored(first + begin, first + end))

    def stored(self, row: int, end: int) -> int:
        """The share of the file's bytes that rows have, for progress."""
        size, total = self.size, max(1, int(self.file.metadata.num_rows))
        return size * end // total - size * row // total

    def weight(self, group: int) -> int:
        """The bytes of a row group, decompressed, with each text in its place where there are numbers for them."""
        coded = _coded_columns(self.schema, self.footer, group, self.names)
        return self._size(group) + sum(self._expanded(group, self.footer.paths.index(name)) for name in coded)

    def _size(self, group: int) -> int:
        """The bytes of a row group, decompressed."""
        return sum(
            max(0, self.footer.chunk(group, column).size)
            for column, path in enumerate(self.footer.paths)
            if self.names is None or path.split(".")[0] in self.names
        )

    def _expanded(self, group: int, column: int) -> int:
        if self.place.remote:
            return _UNKNOWN
        with naming(self.place.name), open(self.place.path, "rb") as file:  # noqa: PTH123
            try:
                return expanded(file.fileno(), self.footer, group, column)
            except (LookupError, TypeError, ValueError, OverflowError):
                return _UNKNOWN  # Arrow finds words for it


def _opened(place: Place, metadata: Any = None, coded: list[str] | None = None) -> Any:
    """The file, to be asked for its schema and its row groups; what it says of columns may end the process.

    `metadata` is what is known of it already; `coded` columns are read as numbers and dictionaries.
    """
    source = place.open()
    try:
        with _opening(place):
            return pq.ParquetFile(
                source, metadata=metadata, read_dictionary=coded or None, pre_buffer=False, buffer_size=_BUFFER_BYTES
            )
    except BaseException:
        source.close()
        raise


def open_with_footer(place: Place) -> tuple[Any, Footer]:
    """The file, and what its footer says about its columns."""
    source = place.open()
    try:
        with _opening(place):
            file = pq.ParquetFile(source, pre_buffer=False, buffer_size=_BUFFER_BYTES)
            return file, read_footer(file, source, place.name)
    except BaseException:
        source.close()
        raise


@contextlib.contextmanager
def _opening(place: Place) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{place.name}: not a readable Parquet file: names that are not UTF-8") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{place.name}: not a readable Parquet file: {reason(error)}") from error


def _checked(place: Place, schema: pa.Schema, reading: Reading) -> list[str] | None:
    for column in reading.columns or ():
        found = schema.names.count(column)
        if not found:
            raise InputError(missing_column(place.name, column, schema.names))
        if found > 1:
            raise InputError(f"{place.name}: column '{column}' occurs {found} times")
    return None if reading.columns is None else list(reading.columns)


def _decoded(
    place: Place, file: Any, group: int, at_once: int, names: list[str] | None, reading: Reading
) -> Iterator[pa.RecordBatch]:
    """The rows of a row group, in batches of `at_once` rows.

    Where rows grow (files sorted by length), the rest of the row group is decoded again in smaller batches.
    """
    done, again = 0, True
    while again:
        again = False
        known = done
        for rows in _batches(place, file, group, at_once, names):
            fresh = rows.slice(min(known, rows.num_rows))
            known -= rows.num_rows - fresh.num_rows
            if not fresh.num_rows:
                continue
            done += fresh.num_rows
            yield fresh if names is None else fresh.select(names)
            size = _usual_size(rows) if rows.nbytes > 2 * reading.batch_bytes else 0
            if size > 2 * reading.batch_bytes:
                at_once = max(1, at_once * reading.batch_bytes // size)
                again = True
                break


def _coded_columns(schema: pa.Schema, footer: Footer, group: int, names: list[str] | None) -> list[str]:
    """Text columns of which the pages tell nothing about how much they hold: 45 kB may be 200,000 pages of 2 kB."""
    if len(set(schema.names)) < len(schema) or len(set(footer.paths)) < len(footer.paths):
        return []
    place = {path: column for column, path in enumerate(footer.paths)}
    return [
        field.name
        for field in schema
        if (names is None or field.name in names)
        and is_text(field.type)
        and "_view" not in str(field.type)
        and field.name in place
        and footer.chunk(group, place[field.name]).is_coded
    ]


def _batches(place: Place, file: Any, group: int, at_once: int, names: list[str] | None) -> Iterator[pa.RecordBatch]:
    """The rows of a row group as Arrow decodes them; what it finds wrong names the row group."""
    where = f"{place.name}: row group {group}"
    with naming(where, remote=place.remote):
        batches = file.iter_batches(at_once, row_groups=[group], columns=names, use_threads=False)
    while True:
        with naming(where, remote=place.remote):
            rows = next(batches, None)
        if rows is None:
            return
        _check_numbers(rows, where)
        yield rows


def _from_dictionaries(
    place: Place, file: Any, schema: pa.Schema, group: int, at_once: int, names: list[str] | None, reading: Reading,
    coded: list[str],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """The rows of a row group, of which some columns come as numbers and dictionaries, and are decoded bit by bit."""
    kinds = {name: schema.field(name).type for name in coded}
    for rows in _batches(place, file, group, at_once, names):
        rows = rows if names is None else rows.select(names)
        for part in stretches(rows, reading.batch_bytes):
            columns = [
                column.cast(kinds[name]) if name in kinds else column
                for name, column in zip(part.schema.names, part.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=_typed(part.schema, schema))


def _check_numbers(rows: pa.RecordBatch, where: str) -> None:
    """Numbers of dictionaries come from the file as they are, and may point anywhere."""
    coded = [column for column, kind in enumerate(rows.schema.types) if "dictionary<" in str(kind)]
    if coded:
        check_sound(rows.select(coded), where)


def _typed(schema: pa.Schema, whole: pa.Schema) -> pa.Schema:
    """The fields of a schema as the file has them."""
    return pa.schema([whole.field(name) for name in schema.names], schema.metadata)


def _usual_size(rows: pa.RecordBatch) -> int:
    """The bytes of rows without one that is very large: a batch of fewer rows would not do without it."""
    largest = rows
    while largest.num_rows > 1:
        half = largest.num_rows // 2
        largest = max(largest.slice(0, half), largest.slice(half), key=size_of)
    return (size_of(rows) - size_of(largest)) // 8


def _rows_at_once(
    place: Place, footer: Footer, group: int, rows: int, names: list[str] | None, reading: Reading
) -> int:
    where = f"{place.name}: row group {group}"
    size = coded = 0
    for column, path in enumerate(footer.paths):
        if names is None or path.split(".")[0] in names:
            chunk = footer.chunk(group, column)
            size += max(0, chunk.size)
            # Numbers of a dictionary take less than what they stand for; of text, see `_from_dictionaries`.
            coded += _VALUE_BYTES * max(0, chunk.values) if chunk.is_coded else 0
            if chunk.dictionary is not None:
                check_size(f"{where}: the dictionary of '{path}' holds", chunk.dictionary, reading.memory)
    each = max(1, size // max(1, rows))
    check_whole(f"{where}: a row, on average,", each, place.memory)
    held = max(each, coded // max(1, rows))
    return max(1, min(reading.batch_rows, reading.batch_bytes // held))
