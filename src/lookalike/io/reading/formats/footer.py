"""What a Parquet file's footer says about its columns, read without pyarrow.

pyarrow ends the process when it is asked about a column of which something is wrong: it is encrypted, a histogram in
its statistics has the wrong length, the schema has no such column. While it decodes, the same is an error. So what is
needed to choose batches, and to write a file alike, is read here, by a kernel that walks over the footer once.

Source: parquet.thrift of the Apache Parquet format; the numbers of fields below are from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.errors import InputError
from lookalike.io.reading.formats.thrift_steps import INTEGERS, LISTS, STRUCT, end_of, field_head, integer, list_head
from lookalike.kernels.jit import device, kernel
from lookalike.types import I64Array

__all__ = ["CODECS", "ENCODINGS", "ColumnChunk", "Footer", "read_chunks", "read_footer"]

CODECS = {0: "none", 1: "snappy", 2: "gzip", 3: "lzo", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4"}
ENCODINGS = {
    2: "PLAIN_DICTIONARY",
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    8: "RLE_DICTIONARY",
    9: "BYTE_STREAM_SPLIT",
}

_TAIL = 8  # the length of the footer, and the magic
_DEEPEST = 64
# The most that the number of a value in a dictionary takes, and how far a dictionary of text is compressed.
_CODE_BYTES, _TIMES_COMPRESSED = 4, 10
# What a struct is, or the elements of a list
_FILE, _GROUP, _CHUNK, _META_DATA, _ENCODINGS, _OTHER = range(6)
# A row of the table of chunks
_AT_CODEC, _AT_ENCODINGS, _AT_SIZE, _AT_DATA, _AT_DICTIONARY, _AT_STATISTICS, _AT_INDEX, _AT_CRYPTO = range(8)
_AT_VALUES, _WIDTH = 8, 9
_BROKEN, _ENCRYPTED = -1, -2


@device
def _role_inside(role, number):
    """What the struct, or the elements of the list, in a field of a struct are."""
    if role == _FILE and number == 4:
        return _GROUP
    if role == _GROUP and number == 1:
        return _CHUNK
    if role == _CHUNK and number == 3:
        return _META_DATA
    if role == _META_DATA and number == 2:
        return _ENCODINGS
    return _OTHER


@device
def _note(row, role, number, value):
    """Keep what matters of a field; `value` is that of an integer."""
    if role == _ENCODINGS:
        row[_AT_ENCODINGS] |= np.int64(1) << min(max(value, 0), 62)
    elif role == _META_DATA:
        if number == 4:
            row[_AT_CODEC] = value
        elif number == 5:
            row[_AT_VALUES] = value
        elif number == 6:
            row[_AT_SIZE] = value
        elif number == 9:
            row[_AT_DATA] = value
        elif number == 11:
            row[_AT_DICTIONARY] = value
        elif number == 12:
            row[_AT_STATISTICS] = 1
    elif role == _CHUNK:
        if number == 4:
            row[_AT_INDEX] = 1
        elif number == 8:
            row[_AT_CRYPTO] = 1


@kernel("int64(Array(uint8,1,'C',readonly=True), int64[:, ::1])")
def read_chunks(data, rows):
    """rows[i] = what the footer says about column chunk i; returns how many there are.

    -1 for a footer that is broken, or has more chunks than there are rows; -2 if it says that the file is encrypted.
    """
    # For each value that is being read: what it is, the type of its elements (0 for a struct), and the number of the
    # last field, or of the elements that are left.
    stack = np.zeros((_DEEPEST, 3), np.int64)
    depth, at, chunks = 1, np.int64(0), 0
    while depth > 0:
        role, kind, number = stack[depth - 1, 0], stack[depth - 1, 1], np.int64(0)
        in_list = kind != 0
        if in_list:
            if stack[depth - 1, 2] == 0:
                depth -= 1
                continue
            stack[depth - 1, 2] -= 1
        else:
            kind, number, at = field_head(data, at, stack[depth - 1, 2])
            if at < 0:
                return _BROKEN
            if kind == 0:
                depth -= 1
                chunks += role == _CHUNK
                continue
            stack[depth - 1, 2] = number
            if role == _FILE and number == 8:
                return _ENCRYPTED
        value = np.int64(0)
        if kind == STRUCT or kind in LISTS:
            if depth == _DEEPEST:
                return _BROKEN
            inside = role if in_list else _role_inside(role, number)
            elements, left = np.int64(0), np.int64(0)
            if kind == STRUCT and inside == _CHUNK:
                if chunks == len(rows):
                    return _BROKEN
                rows[chunks] = 0
                rows[chunks, _AT_DICTIONARY] = -1
            elif kind != STRUCT:
                elements, left, at = list_head(data, at)
                if at < 0 or elements == 0:
                    return _BROKEN
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = inside, elements, left
            depth += 1
        else:
            if kind in INTEGERS:
                value, _ = integer(data, at)
            at = end_of(data, at, kind, in_list)
            if at < 0:
                return _BROKEN
        if role >= _CHUNK and role != _OTHER and chunks < len(rows):
            _note(rows[chunks], role, number, value)
    return chunks


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """A column of a row group.

    Attributes:
        codec: its name in `CODECS`, or "unknown".
        encodings: their names in `ENCODINGS`; the others, which every writer uses, are left out.
        values: how many there are, nulls and empty lists included.
        size: bytes of its pages, decompressed.
        dictionary: bytes of its dictionary as it is stored, None if it has none.
        statistics, page_index: whether it has them.
    """

    codec: str
    encodings: tuple[str, ...]
    values: int
    size: int
    dictionary: int | None
    statistics: bool
    page_index: bool

    @property
    def is_coded(self) -> bool:
        """Whether its pages may hold little but numbers of values in the dictionary, so that `size` tells nothing."""
        if self.dictionary is None:
            return False
        return self.size < _CODE_BYTES * self.values + _TIMES_COMPRESSED * self.dictionary


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns of all row groups, in the order of the schema."""

    paths: list[str]
    rows: I64Array

    def chunk(self, group: int, column: int) -> ColumnChunk:
        """One column of a row group."""
        row = self.rows[group * len(self.paths) + column].tolist()
        known = tuple(name for number, name in ENCODINGS.items() if row[_AT_ENCODINGS] >> number & 1)
        at = row[_AT_DICTIONARY]
        return ColumnChunk(
            CODECS.get(row[_AT_CODEC], "unknown"), known, row[_AT_VALUES], row[_AT_SIZE],
            None if at < 0 else max(0, row[_AT_DATA] - at), bool(row[_AT_STATISTICS]), bool(row[_AT_INDEX]),
        )  # fmt: skip

    def start(self, group: int, column: int) -> int:
        """The byte at which the pages of a column begin, its dictionary first."""
        row = self.rows[group * len(self.paths) + column]
        data, dictionary = int(row[_AT_DATA]), int(row[_AT_DICTIONARY])
        return data if dictionary <= 0 else min(data, dictionary)

    def codec(self, group: int, column: int) -> int:
        """The number of the codec of a column."""
        return int(self.rows[group * len(self.paths) + column, _AT_CODEC])

    def sizes(self, group: int) -> list[int]:
        """The bytes of each column of a row group, decompressed."""
        first = group * len(self.paths)
        sizes: list[int] = self.rows[first : first + len(self.paths), _AT_SIZE].tolist()
        return sizes


def read_footer(file: Any, source: Any, name: str) -> Footer:
    """The footer of an open Parquet file.

    Args:
        file: the `pyarrow.parquet.ParquetFile`.
        source: the bytes it reads, a `pyarrow.NativeFile`.
        name: for the message.

    Raises:
        InputError: if columns are encrypted, or the row groups do not have the columns of the schema.
    """
    metadata, schema = file.metadata, file.schema
    columns, groups = metadata.num_columns, metadata.num_row_groups
    for group in range(groups):
        found = metadata.row_group(group).num_columns
        if found != columns:
            raise InputError(f"{name}: row group {group} has {found} columns instead of {columns}")
    rows = np.zeros((groups * columns, _WIDTH), np.int64)
    count = read_chunks(_footer_bytes(source), rows)
    if count == _ENCRYPTED or rows[:, _AT_CRYPTO].any():
        raise InputError(f"{name}: has encrypted columns, which cannot be read; decrypt it first")
    if count != len(rows):
        raise InputError(f"{name}: not a readable Parquet file: its footer is broken")
    return Footer([schema.column(index).path for index in range(columns)], rows)


def _footer_bytes(source: Any) -> Any:
    size = source.size()
    source.seek(size - _TAIL)
    length = int.from_bytes(source.read(_TAIL)[:4], "little")
    source.seek(size - _TAIL - length)
    return np.frombuffer(source.read(length), np.uint8)
