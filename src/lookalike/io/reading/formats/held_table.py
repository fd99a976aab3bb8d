"""Tables that are made of a whole file at once, as RIS, BibTeX and XLSX need: the rows are held while the source is.

A run reads its input several times. What is made of such a file is kept at its place (`Place.kept`), so that the file
is taken apart once; it may be as large as anything that is held whole (`io/limits.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.limits import check_whole
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.places import Place
from lookalike.types import I64Array
from lookalike.wording.messages import missing_column

_PART_BYTES = 8 << 20

__all__ = ["BadPart", "HeldTable", "held", "held_pieces", "held_schema", "whole_bytes"]


class BadPart(NamedTuple):
    """What could not be read: the line that it begins in, why, and its bytes."""

    line: int
    message: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class HeldTable:
    """The rows of a file.

    Attributes:
        rows: all of them.
        bad: what is no row, although it should be one.
        remarks: what users should know of how the file was read.
        begins, ends: the bytes of each row, where rows have bytes of their own.
        encoding: what the bytes of its texts are.
    """

    rows: pa.RecordBatch
    bad: list[BadPart] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    begins: I64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    ends: I64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    encoding: str = "utf-8"


def held(place: Place, take_apart: Callable[[Place], HeldTable]) -> HeldTable:
    """What is made of a file, once."""
    if "table" not in place.kept:
        place.kept["table"] = take_apart(place)
    table: HeldTable = place.kept["table"]
    return table


def held_schema(table: HeldTable, skip_bad: bool) -> pa.Schema:
    """The columns, if nothing is bad or what is may be left out."""
    if table.bad and not skip_bad:
        raise InputError(table.bad[0].message)
    return table.rows.schema


def held_pieces(
    place: Place, reading: Reading, take_apart: Callable[[Place], HeldTable]
) -> Generator[FilePiece, None, None]:
    """All rows in order."""
    if 0 in reading.faults.places:
        return
    try:
        table = held(place, take_apart)
    except InputError as error:
        reading.faults.report(0, str(error))
        return
    for part in table.bad:
        reading.faults.report(part.line, part.message)
    reading.faults.settle(1 + max((part.line for part in table.bad), default=0))
    names = table.rows.schema.names
    for name in reading.columns or ():
        if name not in names:
            raise InputError(missing_column(place.name, name, names))
        if names.count(name) > 1:
            raise InputError(f"{place.name}: column '{name}' is there {names.count(name)} times")
    chosen = table.rows if reading.columns is None else table.rows.select(list(reading.columns))
    rows, size, told = chosen.num_rows, place.size() or 0, 0
    step = max(1, min(reading.batch_rows, rows * reading.batch_bytes // max(1, chosen.nbytes)))
    for row in range(0, rows, step):
        count = min(step, rows - row)
        part_rows = chosen.slice(row, count) if reading.wanted(row, count) else None
        fresh = size * (row + count) // rows - told
        told += fresh
        reading.on_read(fresh)
        yield FilePiece.held(row, count, part_rows)


def whole_bytes(place: Place) -> bytes:
    """All bytes of a file, decompressed, if they are not too many for the memory."""
    parts: list[bytes] = []
    size = 0
    with place.stream() as stream:
        while part := stream.read(_PART_BYTES):
            parts.append(part)
            size += len(part)
            check_whole(f"{place.name}: the file", size, place.memory)
    return b"".join(parts)
