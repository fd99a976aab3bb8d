"""Where rows of CSV end, so that a file can be cut into blocks of whole rows that are parsed apart.

A newline ends a row unless it stands in a quoted cell, and a cell is quoted if its first character is a quote. So
whether a newline counts depends on all that stands before it: one thread walks over the bytes, which is ten times as
fast as parsing them, and others parse what it cuts off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.io.reading.blocks import BLOCK_BYTES, BOM
from lookalike.io.reading.places import Place, check_encoding
from lookalike.io.source import OnRead
from lookalike.kernels.jit import kernel, peek

__all__ = ["RowBlock", "UncutError", "cut_rows", "row_blocks"]

_QUOTE, _LINE_FEED, _RETURN = np.uint8(ord('"')), np.uint8(0x0A), np.uint8(0x0D)
# Where the walk is: at the beginning of a cell, in a plain one, in a quoted one, behind a quote in a quoted one.
_BEGINNING, _PLAIN, _QUOTED, _BEHIND = range(4)
# A row that is longer than so many blocks is left to a reader that knows how to refuse it.
_MOST_BLOCKS = 8


class UncutError(Exception):
    """The rest of a file cannot be cut: a row is very long, or has a quote that is never closed."""


class RowBlock(NamedTuple):
    """Whole rows, `rows` of which are not empty."""

    data: bytes
    rows: int


@kernel("void(Array(uint8,1,'C',readonly=True), int64, int64[::1])")
def cut_rows(data, delimiter, found):
    """found = (where the last whole row ends, whole rows that are not empty, 1 if a quote is open at the end)."""
    state, begin, rows = _BEGINNING, np.int64(0), np.int64(0)
    for at in range(len(data)):
        byte = peek(data, at)
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _BEHIND
        elif byte in (_LINE_FEED, _RETURN):
            rows += at > begin
            begin = at + 1
            state = _BEGINNING
        elif byte == delimiter:
            state = _BEGINNING
        elif byte == _QUOTE and state != _PLAIN:
            state = _QUOTED
        else:
            state = _PLAIN
    found[0], found[1], found[2] = begin, rows, state == _QUOTED


def row_blocks(place: Place, delimiter: str, on_read: OnRead) -> Iterator[RowBlock]:
    """A file of cells as blocks of whole rows, the header among them, without a byte order mark.

    Raises:
        UncutError: if the rest of the file cannot be cut.
    """
    found = np.zeros(3, np.int64)
    tail, start = b"", True
    with place.stream() as stream:
        while data := stream.read(BLOCK_BYTES):
            on_read(stream.taken())
            if start:
                check_encoding(place.name, data)
                data, start = data.removeprefix(BOM), False
            whole = tail + data if tail else data
            cut_rows(np.frombuffer(whole, np.uint8), ord(delimiter), found)
            end, rows = int(found[0]), int(found[1])
            if end:
                yield RowBlock(whole[:end], rows)
            tail = whole[end:]
            if len(tail) > _MOST_BLOCKS * BLOCK_BYTES:
                raise UncutError
    if tail:
        if found[2]:
            raise UncutError
        yield RowBlock(tail, 1)
