"""Row groups of one Parquet file that are encoded apart, in any order, and stitched together.

Encoding is most of what it takes to write a file, and `pyarrow.parquet.ParquetWriter` does it on one thread. So each
row group is encoded as a file of its own, in memory, by whichever thread is free. The bytes of its pages are then
appended to the output as they are, and where the metadata says at what byte something stands, it is moved along. The
file is the one that a single writer would have written, byte for byte.

Source: parquet.thrift of the Apache Parquet format; the numbers of fields below are from there.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.io.reading.formats.thrift import I16, I32, I64, LIST, STRUCT, Struct, parse, serialize
from lookalike.io.writing.begin_sync import begin_sync

_MAGIC = b"PAR1"
_TAIL = 8  # the length of the metadata, and the magic

# FileMetaData
_NUM_ROWS, _ROW_GROUPS = 3, 4
# RowGroup
_COLUMNS, _GROUP_OFFSET, _ORDINAL = 1, 5, 7
# ColumnChunk
_CHUNK_OFFSET, _META_DATA = 2, 3
_OFFSET_INDEX, _COLUMN_INDEX = 4, 6  # each with its length in the field behind it
# ColumnMetaData: data page, index page, dictionary page, bloom filter
_PAGE_OFFSETS = (9, 10, 11, 14)
# OffsetIndex, and PageLocation in it
_LOCATIONS, _LOCATION_OFFSET = 1, 1

__all__ = ["Encoded", "Stitched", "encode"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A Parquet file of one row group, or of none.

    Attributes:
        pages: the bytes of its pages, in pieces.
        metadata: what stands at its end.
        group: the part of the metadata that describes the row group.
        column_indexes, offset_indexes: the page indexes of its columns; empty for a column that has none.
    """

    pages: list[bytes]
    metadata: Struct
    group: bytes
    column_indexes: list[bytes]
    offset_indexes: list[bytes]


def encode(schema: pa.Schema, options: dict[str, Any], table: pa.Table | None) -> Encoded:
    """Encode a table as one row group; without a table, as the file that has none."""
    out = _Pieces()
    with pq.ParquetWriter(out, schema, **options) as writer:
        out.pieces.clear()  # the magic
        if table is not None:
            writer.write_table(table, row_group_size=table.num_rows)
        pages, end = out.pieces, out.tell()
        out.pieces = []
    behind = b"".join(out.pieces)
    length = int.from_bytes(behind[-_TAIL:][:4], "little")
    metadata = parse(behind[-_TAIL - length :])
    groups: list[Struct] = _values(metadata, _ROW_GROUPS)
    assert len(groups) == (table is not None), "a table is one row group"
    columns = [column for group in groups for column in _values(group, _COLUMNS)]
    column_indexes = [_index(behind, end, column, _COLUMN_INDEX) for column in columns]
    offset_indexes = [_index(behind, end, column, _OFFSET_INDEX) for column in columns]
    found = sum(map(len, column_indexes)) + sum(map(len, offset_indexes)) + length + _TAIL
    assert found == len(behind), "something unknown stands behind the pages"
    return Encoded(pages, metadata, serialize(groups[0]) if groups else b"", column_indexes, offset_indexes)


class _Pieces(io.RawIOBase):
    """A file in memory, of the pieces that were written; a growing buffer would hold twice as much."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        self.pieces.append(bytes(data))
        self._position += len(data)
        return len(data)


class Stitched:
    """A Parquet file that row groups are appended to.

    Args:
        out: an open file, empty.
    """

    def __init__(self, out: Any) -> None:
        self._out = out
        self._position = 0
        self._rows = 0
        self._groups: list[tuple[int, bytes]] = []
        self._column_indexes: list[list[bytes]] = []
        self._offset_indexes: list[list[bytes]] = []
        self._metadata: Struct | None = None
        self._put(_MAGIC)

    def _put(self, data: bytes) -> int:
        """Write bytes, and tell where they begin."""
        begin = self._position
        self._out.write(data)
        self._position += len(data)
        return begin

    @property
    def groups(self) -> int:
        """How many row groups it has."""
        return len(self._groups)

    def append(self, encoded: Encoded) -> None:
        """Write the next row group."""
        if self._metadata is None:
            self._metadata = encoded.metadata
        if not encoded.group:
            return
        self._groups.append((self._position - len(_MAGIC), encoded.group))
        for piece in encoded.pages:
            self._put(piece)
        begin_sync(self._out)
        self._rows += encoded.metadata[_NUM_ROWS][1]
        self._column_indexes.append(encoded.column_indexes)
        self._offset_indexes.append(encoded.offset_indexes)

    def close(self) -> None:
        """Write the page indexes and the metadata."""
        assert self._metadata is not None, "a file without row groups is encoded, too"
        groups = [parse(group) for _, group in self._groups]
        for number, (group, (by, _)) in enumerate(zip(groups, self._groups, strict=True)):
            _move(group, _GROUP_OFFSET, by)
            if _ORDINAL in group:
                group[_ORDINAL] = I16, number
            for column in _values(group, _COLUMNS):
                _move(column, _CHUNK_OFFSET, by)
                for field in _PAGE_OFFSETS:
                    _move(column[_META_DATA][1], field, by)
        for group, indexes in zip(groups, self._column_indexes, strict=True):
            self._put_indexes(group, _COLUMN_INDEX, indexes)
        for group, (by, _), indexes in zip(groups, self._groups, self._offset_indexes, strict=True):
            self._put_indexes(group, _OFFSET_INDEX, [_moved_index(index, by) for index in indexes])
        self._metadata[_NUM_ROWS] = I64, self._rows
        self._metadata[_ROW_GROUPS] = LIST, (STRUCT, groups)
        metadata = serialize(self._metadata)
        self._put(metadata)
        self._put(len(metadata).to_bytes(4, "little") + _MAGIC)

    def _put_indexes(self, group: Struct, field: int, indexes: list[bytes]) -> None:
        for column, index in zip(_values(group, _COLUMNS), indexes, strict=True):
            if index:
                column[field] = I64, self._put(index)
                column[field + 1] = I32, len(index)


def _values(struct: Struct, field: int) -> list[Any]:
    """The values of a list in a struct."""
    values: list[Any] = struct[field][1][1]
    return values


def _index(behind: bytes, start: int, column: Struct, field: int) -> bytes:
    """A page index of a column, from the bytes behind its pages; its length is the field behind its place."""
    if field not in column:
        return b""
    begin = column[field][1] - start
    return behind[begin : begin + column[field + 1][1]]


def _moved_index(index: bytes, by: int) -> bytes:
    """An offset index of pages that were moved."""
    if not index:
        return index
    found = parse(index)
    for location in _values(found, _LOCATIONS):
        _move(location, _LOCATION_OFFSET, by)
    return serialize(found)


def _move(struct: Struct, field: int, by: int) -> None:
    """Move a place in the file; 0 stands for none."""
    kind, at = struct.get(field, (I64, 0))
    if at:
        struct[field] = kind, at + by
