"""Kept records of RIS and BibTeX to the same format: every byte of them, and all that stands between records.

Records that go, and those that could not be read, are cut out, with the empty lines behind them. So comments, `@string`
and `@preamble` stay, and an entry means what it meant. An entry that another one refers to (`crossref`) may go.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from lookalike.errors import InputError, OptionError
from lookalike.io.copying.changes import Changes
from lookalike.io.limits import CopyRoom, check_size
from lookalike.io.reading.files import FileSource
from lookalike.io.reading.formats import bibtex, ris
from lookalike.io.reading.formats.bibliography import BOM
from lookalike.io.reading.formats.held_table import HeldTable, held, whole_bytes
from lookalike.io.reading.places import Place
from lookalike.io.source import Flags, OnRead, Source

_BLANK = re.compile(rb"\s*")

__all__ = ["copy_citations", "no_new_columns", "stay_whole"]


def copy_citations(
    source: FileSource, files: range, start: int, changes: Changes, out: Any, room: CopyRoom, on_read: OnRead
) -> tuple[int, int]:
    """The kept records of some files as one; how many were read and how many written."""
    if changes.add is not None:
        raise no_new_columns(source)
    if changes.edit is not None:
        raise stay_whole(source)
    tables = {index: _table(source.places[index]) for index in files if not source.left_out(index)}
    _check_encodings(source, tables)
    read = kept = 0
    ended = True
    for index, table in tables.items():
        place = source.places[index]
        rows = len(table.begins)
        left = rows if source.limit is None else max(0, min(rows, source.limit - start - read))
        flags = np.concatenate([changes.mask(start + read, left), np.zeros(rows - left, np.bool_)])
        data = without(_data(place, table, room), table, flags)
        if read or kept:
            data = data.removeprefix(BOM)
        out.write(data if ended or not data else b"\n" + data)
        ended = data.endswith((b"\n", b"\r")) if data else ended
        on_read(place.size() or 0)
        read, kept = read + left, kept + int(flags.sum())
    return read, kept


def without(data: bytes, table: HeldTable, flags: Flags) -> bytes:
    """The bytes of a file without those records that are not flagged, and without bad ones."""
    gone = [(int(table.begins[row]), int(table.ends[row])) for row in np.flatnonzero(~flags)]
    parts, at = [], 0
    for begin, end in sorted([*gone, *((part.begin, part.end) for part in table.bad)]):
        parts.append(data[at:begin])
        blank = _BLANK.match(data, end)
        at = end if blank is None else blank.end()
    return b"".join([*parts, data[at:]])


def no_new_columns(source: Source) -> OptionError:
    """What to say where columns are to be added to records."""
    return OptionError(f"{source.files[0]}: its records have no room for columns; write to .csv, .jsonl or .parquet")


def stay_whole(source: Source) -> OptionError:
    """What to say where texts inside of records are to be shortened."""
    return OptionError(f"{source.files[0]}: its records are copied whole; write what is left of texts to .jsonl")


def _table(place: Place) -> HeldTable:
    return held(place, (ris if place.format == "ris" else bibtex).take_apart)


def _data(place: Place, table: HeldTable, room: CopyRoom) -> bytes:
    data = whole_bytes(place)
    check_size(f"{place.name}: holds", len(data), room.memory)
    if len(table.ends) and len(data) < table.ends[-1]:
        raise InputError(f"{place.name}: is shorter than before: the input changed")
    return data


def _check_encodings(source: FileSource, tables: dict[int, HeldTable]) -> None:
    """What goes to one file must be of one encoding."""
    first = next(iter(tables), None)
    for index, table in tables.items():
        if first is not None and table.encoding != tables[first].encoding:
            raise OptionError(
                f"{source.files[first]} and {source.files[index]} have different encodings:"
                " write to a folder, which gets a file for each"
            )
