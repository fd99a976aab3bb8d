"""The pages of a Parquet row group, so that a part of it can be decoded without what stands before.

Arrow decodes a row group from its beginning, on one thread. But a column of plain values (no lists) is a row of pages
that stand for themselves, each a megabyte or so: its header tells how many rows it has, and at most a dictionary at the
beginning of the column is needed besides. So the pages of some rows, with the dictionary, are put into a small file of
one column in memory, with a footer of its own, which Arrow decodes like any other.

What is not as simple as that has no pages here (`None`): lists, types whose annotation is more than "text", text of
which the pages hold little but numbers of a dictionary, files at an address. Nothing is lost then, the row group is
decoded as a whole.

Source: parquet.thrift of the Apache Parquet format; the numbers of fields below are from there.
"""

from __future__ import annotations

import base64
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.io.column_types import is_text
from lookalike.io.reading.formats.footer import Footer
from lookalike.io.reading.formats.page_header import (
    DICTIONARY,
    MOST_BYTES,
    USUAL_BYTES,
    PageHeader,
    read_header,
    walked,
)
from lookalike.io.reading.formats.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, serialize

__all__ = ["Pages", "expanded", "pages_of"]

_MAGIC = b"PAR1"
_PHYSICAL = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6}
_UTF8 = 0
# Text that is decoded whole for each stretch of a row group, if its pages hold but numbers.
_LARGE = 4 << 20
# A page holds but numbers if it has no more bytes for a value: a number has four, and its run and its level some more.
_NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True)
class _Page:
    """Where a page stands with its header, what it takes, and its first row."""

    at: int
    stored: int
    size: int
    row: int


# Type, whether there may be nulls, whether it is annotated as text, and the number of its codec.
_Kind = tuple[int, bool, bool, int]


@dataclass(frozen=True, slots=True)
class _Column:
    """The pages of one column of a row group."""

    field: pa.Field
    kind: _Kind
    dictionary: _Page | None
    pages: list[_Page]

    def covering(self, begin: int, end: int) -> list[_Page]:
        """The pages that hold these rows."""
        first = bisect_right(self.pages, begin, key=lambda page: page.row) - 1
        last = bisect_right(self.pages, end - 1, key=lambda page: page.row)
        return self.pages[first:last]


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of some columns of a row group of a local file."""

    path: str
    rows: int
    columns: list[_Column]
    created_by: str

    def stretches(self, most: float, wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, int, int | None]]:
        """(first row, end, bytes) of stretches that begin with a page and hold about so many bytes at most.

        The bytes are None where none of its rows is wanted.
        """
        pages = max(self.columns, key=lambda column: sum(page.size for page in column.pages)).pages
        total = sum(page.size for column in self.columns for page in column.pages)
        scale = total / max(1, sum(page.size for page in pages))
        ends = [page.row for page in pages[1:]] + [self.rows]
        begin, size, taken = 0, 0, False
        for page, end in zip(pages, ends, strict=True):
            here, more = wanted(page.row, end - page.row), int(page.size * scale)
            if page.row > begin and (here != taken or (taken and size + more > most)):
                yield begin, page.row, size if taken else None
                begin, size = page.row, 0
            taken, size = here, size + more
        yield begin, self.rows, size if taken else None

    def decode(self, begin: int, end: int) -> pa.RecordBatch:
        """These rows; whatever is wrong with the file is an error of Arrow or of the operating system."""
        arrays = []
        with open(self.path, "rb") as file:  # noqa: PTH123
            for column in self.columns:
                pages = column.covering(begin, end)
                until = (
                    column.pages[column.pages.index(pages[-1]) + 1].row if pages[-1] != column.pages[-1] else self.rows
                )
                small = _small_file(file.fileno(), column, pages, until - pages[0].row, self.created_by)
                table = pq.ParquetFile(small, pre_buffer=False).read(use_threads=False)
                if table.num_rows != until - pages[0].row or table.schema.field(0).type != column.field.type:
                    raise pa.ArrowInvalid(f"pages of column '{column.field.name}' do not hold what they say")
                rows = table.column(0).slice(begin - pages[0].row, end - begin)
                arrays.append(rows.chunk(0) if rows.num_chunks == 1 else pa.concat_arrays(rows.chunks))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([column.field for column in self.columns]))


def pages_of(path: str, file: Any, schema: pa.Schema, footer: Footer, group: int, names: Sequence[str]) -> Pages | None:
    """The pages of these columns in a row group; None where they cannot be told apart."""
    rows = int(file.metadata.row_group(group).num_rows)
    columns = []
    try:
        with open(path, "rb") as opened:  # noqa: PTH123
            for name in names:
                column = _column(opened.fileno(), file.schema, schema, footer, group, name, rows)
                if column is None:
                    return None
                columns.append(column)
        created_by = str(file.metadata.created_by or "")
    except (OSError, LookupError, TypeError, ValueError, OverflowError):
        return None  # Arrow finds words for it
    return Pages(path, rows, columns, created_by) if columns and rows else None


def _column(
    handle: int, physical: Any, schema: pa.Schema, footer: Footer, group: int, name: str, rows: int
) -> _Column | None:
    if footer.paths.count(name) != 1 or schema.names.count(name) != 1:
        return None
    number = footer.paths.index(name)
    leaf, field = physical.column(number), schema.field(name)
    chunk = footer.chunk(group, number)
    plain = is_text(field.type) or pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    if leaf.max_repetition_level or leaf.max_definition_level > 1 or leaf.physical_type not in _PHYSICAL or not plain:
        return None
    if "_view" in str(field.type) or chunk.values != rows:
        return None
    dictionary, pages = _walked(handle, footer.start(group, number), rows)
    if chunk.is_coded and is_text(field.type):
        # Writers begin with a dictionary and go over to plain text where it becomes too large: numbers of texts that
        # all differ stand for no more than the dictionary, which is held for each stretch anyhow.
        stand_for = expanded(handle, footer, group, number) * _of_numbers(pages, rows) // rows
        if stand_for > max(_LARGE, 2 * dictionary.size if dictionary else 0):
            return None
    text = str(leaf.converted_type) == "UTF8"
    kind = _PHYSICAL[leaf.physical_type], leaf.max_definition_level == 1, text, footer.codec(group, number)
    column = _Column(field, kind, dictionary, pages)
    return column if _type_of(field, kind) == field.type else None


@lru_cache(maxsize=1 << 10)
def _type_of(field: pa.Field, kind: _Kind) -> pa.DataType:
    """What Arrow makes of a small file with such a column, which must be what it makes of the whole one."""
    return pq.ParquetFile(_small_file(-1, _Column(field, kind, None, []), [], 0, "")).schema_arrow.field(0).type


def expanded(handle: int, footer: Footer, group: int, column: int) -> int:
    """The bytes of a column of text of which the pages hold numbers of values in a dictionary, roughly."""
    header = _header(handle, footer.start(group, column))
    if header.kind != DICTIONARY or header.size < 0 or header.values < 0:
        raise ValueError("a column without a dictionary")
    return footer.chunk(group, column).values * header.size // max(1, header.values)


def _walked(handle: int, at: int, rows: int) -> tuple[_Page | None, list[_Page]]:
    """The dictionary and the data pages of a column that begins at this byte."""
    dictionary, pages, row = None, list[_Page](), 0
    for kind, place, stored, size, values in walked(handle, at, rows).tolist():
        page = _Page(place, stored, size, row)
        if kind == DICTIONARY:
            dictionary = page
        else:
            pages.append(page)
            row += values
    return dictionary, pages


def _of_numbers(pages: list[_Page], rows: int) -> int:
    """How many values stand in pages that hold but numbers of a dictionary."""
    ends = [page.row for page in pages[1:]] + [rows]
    counts = [(page.size, end - page.row) for page, end in zip(pages, ends, strict=True)]
    return sum(count for size, count in counts if size <= _NUMBER_BYTES * count)


def _header(handle: int, at: int) -> PageHeader:
    """The header of a page."""
    for size in (USUAL_BYTES, MOST_BYTES):
        header = read_header(os.pread(handle, size, at))
        if header is not None:
            return header
    raise ValueError("a page header that is longer than any")


def _small_file(handle: int, column: _Column, pages: list[_Page], rows: int, created_by: str) -> pa.BufferReader:
    """A Parquet file of one column, with these pages of it, which stand one behind the other."""
    kind, nullable, text, codec = column.kind
    chosen = pages if column.dictionary is None or not pages else [column.dictionary, *pages]
    begins = len(_MAGIC)
    stored = sum(page.stored for page in chosen)
    name = column.field.name.encode()
    leaf: Struct = {1: (I32, kind), 3: (I32, int(nullable)), 4: (BINARY, name)}
    if text:
        leaf[6] = I32, _UTF8
    chunk: Struct = {
        1: (I32, kind),
        2: (LIST, (I32, [0, 3, 8])),
        3: (LIST, (BINARY, [name])),
        4: (I32, codec),
        5: (I64, rows),
        6: (I64, sum(page.size for page in chosen)),
        7: (I64, stored),
        9: (I64, begins + (chosen[0].stored if len(chosen) > len(pages) else 0)),
    }
    if len(chosen) > len(pages):
        chunk[11] = I64, begins
    arrow = base64.b64encode(pa.schema([column.field]).serialize().to_pybytes())
    groups = [{1: (LIST, (STRUCT, [{2: (I64, begins), 3: (STRUCT, chunk)}])), 2: (I64, stored), 3: (I64, rows)}]
    footer: Struct = {
        1: (I32, 2),
        2: (LIST, (STRUCT, [{4: (BINARY, b"schema"), 5: (I32, 1)}, leaf])),
        3: (I64, rows),
        4: (LIST, (STRUCT, groups if pages else [])),
        5: (LIST, (STRUCT, [{1: (BINARY, b"ARROW:schema"), 2: (BINARY, arrow)}])),
    }
    if created_by:
        footer[6] = BINARY, created_by.encode()
    packed = serialize(footer)
    end = packed + len(packed).to_bytes(4, "little") + _MAGIC
    whole = np.empty(begins + stored + len(end), np.uint8)
    room = whole.data
    room[:begins], room[begins + stored :] = _MAGIC, end
    if len(chosen) > len(pages):
        _fill(handle, chosen[0].at, room[begins : begins + chosen[0].stored])
        begins += chosen[0].stored
    if pages:
        _fill(handle, pages[0].at, room[begins : begins + sum(page.stored for page in pages)])
    return pa.BufferReader(pa.py_buffer(whole))


def _fill(handle: int, at: int, room: memoryview) -> None:
    """Read bytes of a file, from `at` on, as many as there is room for."""
    while len(room):
        read = os.preadv(handle, [room], at)
        if not read:
            raise OSError("the file ends inside of a page")
        room, at = room[read:], at + read
