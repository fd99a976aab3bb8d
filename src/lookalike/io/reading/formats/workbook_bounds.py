"""How large a workbook becomes, before anything makes it so.

An XLSX file is an archive of XML that says where each cell is, and texts stand once for all cells that have them. So a
few kilobytes can be gigabytes in three ways, and each is counted here:

- a member that is packed a thousand times over, whatever size the archive tells;
- a cell far away: libraries make a table of all cells between the first and the last one;
- a long text that a million cells refer to, each of which would get a copy.

Members are looked at as bytes, which is enough for upper bounds: what is written in an odd way counts as the worst.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from itertools import pairwise
from struct import Struct
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from lookalike.errors import InputError
from lookalike.io.limits import check_whole, most_at_once
from lookalike.io.reading.places import Place
from lookalike.types import I64Array
from lookalike.wording.messages import cut_short

_LOCAL_HEADER = Struct("<26xHH")
# What a cell of a table takes in memory, as a value of the library and as one of Python.
_CELL_BYTES = 64
# Where no limit is given; no workbook that an office program opens is as large.
_MOST = 4 << 30
# What a sheet has at the most, and office programs write.
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384

_SHEET, _WIDE_SHEET = b"sheetData", b"s\0h\0e\0e\0t\0D\0a\0t\0a"
_TEXTS = re.compile(rb"<(?:\w+:)?sst[\s>]")
_TEXT = re.compile(rb"<(?:\w+:)?si[\s>/]")
_ROW = re.compile(rb"<(?:\w+:)?row[\s>/]")
_CELL = re.compile(
    rb"<(?:\w+:)?c(?=[\s>])([^<>]*)(?<!/)>"
    rb"(?:<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>))?(?:<(?:\w+:)?v>([^<]*)<)?"
)
_ANY_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_PLACE = re.compile(rb"\sr\s*=\s*[\"']([^\"'<>]*)[\"']")
_NUMBERED = re.compile(rb"([A-Za-z]{0,3})(\d{1,7})")
_SHARED = re.compile(rb"\bt\s*=\s*[\"']s[\"']")

__all__ = ["check_workbook"]


def check_workbook(place: Place, data: bytes) -> None:
    """Raise `InputError` if this is no XLSX file, or one that would not fit the memory."""
    most = min(most_at_once(place.memory), _MOST)
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (BadZipFile, ValueError, OSError, NotImplementedError, UnicodeDecodeError):
        raise InputError(f"{place.name}: not an XLSX workbook; older ones (.xls) must be saved as .xlsx") from None
    names = {member.filename.lower().replace("\\", "/") for member in members}
    if "xl/workbook.xml" not in names or names & {"xl/workbook.bin", "content.xml"}:
        raise InputError(f"{place.name}: an archive, but no XLSX workbook")
    lengths: list[I64Array] = []
    for _, content in _contents(place, data, members, most):
        if _TEXTS.search(content):
            starts = [match.start() for match in _TEXT.finditer(content)]
            lengths.append(np.array([end - begin for begin, end in pairwise([*starts, len(content)])], np.int64))
    for name, content in _contents(place, data, members, most):
        if _WIDE_SHEET in content:
            raise InputError(f"{place.name}: {name} is UTF-16; save the workbook anew")
        if _SHEET in content:
            _check_sheet(place, name, content, lengths, most)


def _contents(place: Place, data: bytes, members: list[ZipInfo], most: int) -> Iterator[tuple[str, bytes]]:
    for member in members:
        yield member.filename, _unpacked(place, data, member, most)


def _unpacked(place: Place, data: bytes, member: ZipInfo, most: int) -> bytes:
    """A member, whatever size it is said to have."""
    what = f"{place.name}: {member.filename}"
    try:
        name, extra = _LOCAL_HEADER.unpack_from(data, member.header_offset)
        begin = member.header_offset + _LOCAL_HEADER.size + name + extra
        packed = data[begin : begin + member.compress_size]
        if member.compress_type == ZIP_STORED:
            return packed
        if member.compress_type != ZIP_DEFLATED or member.flag_bits & 1:
            raise InputError(f"{what} is packed or encrypted in a way that can not be read")
        content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most + 1)
    except (zlib.error, ValueError, ArithmeticError, LookupError) as error:
        raise InputError(f"{what} is broken: {error}") from None
    except Exception as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} is broken") from None
    _check(what, len(content), most, place)
    return content


def _check(what: str, size: int, most: int, place: Place) -> None:
    check_whole(what, size, place.memory)
    if size > most:
        raise InputError(f"{what} holds more than {most:,} bytes")


def _check_sheet(place: Place, name: str, content: bytes, lengths: list[I64Array], most: int) -> None:
    """What a sheet becomes: a table up to its last cell, and a copy of a text for each cell that refers to it."""
    longest = max((int(each.max()) for each in lengths if len(each)), default=0)
    row = column = copied = 0
    unplaced = False
    for cell in _CELL.finditer(content):
        places = _PLACE.findall(cell[1])
        unplaced = unplaced or not places
        row, column = _last(f"{place.name}: {name}", places, row, column)
        copied += _length(cell, lengths, longest)
    if unplaced:
        # They come behind the row or the cell before them, which may be empty.
        row, column = _last(f"{place.name}: {name}", _PLACE.findall(content), row, column)
        rows, columns = _in_order(content)
        row, column = row + rows, column + columns
    _check(f"{place.name}: {name}, which reaches to row {row:,} and column {column:,},", row * column * _CELL_BYTES,
           most, place)  # fmt: skip
    _check(f"{place.name}: the texts of {name}", copied, most, place)


def _last(where: str, places: list[bytes], row: int, column: int) -> tuple[int, int]:
    """The last row and column of some places of cells (B7) and of rows (7), if it is behind this one."""
    for at in places:
        found = _NUMBERED.fullmatch(at)
        if found is None or int(found[2]) > _LAST_ROW or _number(found[1]) > _LAST_COLUMN:
            raise InputError(f"{where} has a cell at {cut_short(at.decode('utf-8', 'replace'))!r}, where none can be")
        row, column = max(row, int(found[2])), max(column, _number(found[1]))
    return row, column


def _in_order(content: bytes) -> tuple[int, int]:
    """How many rows there are, and how many cells the longest has: those without a place come one after the other."""
    rows = np.array([match.start() for match in _ROW.finditer(content)], np.int64)
    cells = np.array([match.start() for match in _ANY_CELL.finditer(content)], np.int64)
    return len(rows), int(np.bincount(np.searchsorted(rows, cells)).max(initial=0))


def _length(cell: re.Match[bytes], lengths: list[I64Array], longest: int) -> int:
    """The bytes of the text that a cell refers to, at the most."""
    if _SHARED.search(cell[1]) is None:
        return 0 if cell[2] is not None else longest
    try:
        return int(lengths[0][int(cell[2])]) if len(lengths) == 1 else longest
    except (TypeError, ValueError, IndexError):
        return longest


def _number(letters: bytes) -> int:
    """The number of a column from 1: A is 1, AA is 27."""
    out = 0
    for letter in letters.upper():
        out = out * 26 + letter - ord("A") + 1
    return out
