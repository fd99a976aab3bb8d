"""Plain lines: each line of a file is an item, in the column `text`. An empty line is an empty item."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import InputError, OptionError
from lookalike.io.column_types import honest
from lookalike.io.reading.blocks import Block
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.line_ranges import LineRange, Span, spans
from lookalike.io.reading.places import Place
from lookalike.io.source import OnRead
from lookalike.wording.messages import missing_column

_COLUMNS = ("text",)

__all__ = ["LineSink", "count", "pieces", "schema", "tally"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """One column of text."""
    return pa.schema([("text", pa.string())])


def count(place: Place) -> int | None:
    """Not known without reading."""
    return None


def tally(place: Place, on_read: OnRead | None = None, ranges: list[LineRange] | None = None) -> int:
    """The number of lines."""
    return sum(span.rows for span in spans(place, None, on_read, ranges, blank=True))


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All lines in order; a piece per block."""
    for column in reading.columns or ():
        if column not in _COLUMNS:
            raise InputError(missing_column(place.name, column, _COLUMNS))
    row = 0
    for span in spans(place, reading.faults, reading.on_read, reading.ranges, blank=True):
        reading.faults.settle(span.end)
        wanted = reading.wanted(row, span.rows)
        yield FilePiece(row, span.rows, partial(_load, span, reading) if wanted else None, span.size)
        row += span.rows


def _load(span: Span, reading: Reading) -> Iterator[pa.RecordBatch]:
    names = list(reading.columns) if reading.columns is not None else list(_COLUMNS)
    yield pa.RecordBatch.from_arrays([_texts(span.load())] * len(names), names=names)


def _texts(block: Block) -> pa.Array:
    if b"\r\n" in block.data:
        block = Block.of(block.line, block.data.replace(b"\r\n", b"\n"))
    data, newlines = block.data, block.breaks
    offsets = np.concatenate([[0], newlines - np.arange(len(newlines))])
    wide = offsets[-1] >= 2**31
    buffers = [
        None,
        pa.py_buffer(offsets.astype(np.int64 if wide else np.int32)),
        pa.py_buffer(data.replace(b"\n", b"")),
    ]
    kind = pa.large_string() if wide else pa.string()
    return honest(pa.Array.from_buffers(kind, len(newlines), buffers))


class LineSink:
    """Writes the column `text`, a line each; a line break inside a text becomes a space."""

    def __init__(self, out: Any, schema: pa.Schema) -> None:
        if schema.names != ["text"]:
            raise OptionError(f"lines have one column, 'text', not {', '.join(schema.names)}")
        self._out = out

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows, a line each."""
        for text in rows.column(0).cast(pa.large_binary()).to_pylist():
            self._out.write((text or b"").replace(b"\n", b" ") + b"\n")

    def close(self) -> None:
        """Nothing is held back."""
