"""Stretches of a file of lines that can be read apart: where each begins, and how many lines and rows it has.

Which number a row has is known only to who has counted the rows before it. So a large file is looked through once, by
all threads, in ranges of some megabytes that end where a line does. Later passes read any of them by itself.

This goes for plain files on a local disk. What is compressed, or at an address, is read from its beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lookalike.errors import InputError
from lookalike.io.limits import check_whole
from lookalike.io.reading.blocks import BLOCK_BYTES, BOM, Block, blocks, lines_of
from lookalike.io.reading.faults import Faults
from lookalike.io.reading.places import Place, check_encoding
from lookalike.io.reading.places import reading as naming
from lookalike.io.source import OnRead
from lookalike.threads.ordered import ordered_map

__all__ = ["LineRange", "Span", "line_ranges", "spans"]


@dataclass(frozen=True, slots=True)
class LineRange:
    """The bytes begin … end of a file: `lines` whole lines, the first of which has the number `line`, from 1.

    `rows` of them are not blank.
    """

    begin: int
    end: int
    line: int
    lines: int
    rows: int


@dataclass(frozen=True, slots=True)
class Span:
    """Lines that are read, or can be: `rows` of them are rows, as far as is known."""

    line: int
    end: int
    rows: int
    size: int
    load: Callable[[], Block]
    loaded: bool


class _LineCount(NamedTuple):
    """What a stretch of bytes holds: its newlines, where the first and the last are, and blank lines between them."""

    newlines: int
    first: int
    last: int
    blank: int


def line_ranges(place: Place, threads: int, on_read: OnRead | None = None) -> list[LineRange] | None:
    """The ranges of a file; None if it is none that can be read so, or too small to be worth it."""
    size = None if place.remote or place.compression is not None else place.size()
    if threads == 1 or size is None or size < 2 * BLOCK_BYTES:
        return None
    with naming(place.name), open(place.path, "rb") as file:  # noqa: PTH123
        handle = file.fileno()
        head = os.pread(handle, len(BOM) + 1, 0)
        check_encoding(place.name, head)

        def count(at: int) -> _LineCount:
            data = os.pread(handle, min(BLOCK_BYTES, size - at), at)
            if on_read is not None:
                on_read(len(data))
            return _counted(data)

        starts = range(0, size, BLOCK_BYTES)
        counted = zip(starts, ordered_map(count, starts, threads), strict=True)
        return list(_ranges(handle, counted, size, len(BOM) if head.startswith(BOM) else 0))


def _counted(data: bytes) -> _LineCount:
    breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == 0x0A)
    if not len(breaks):
        return _LineCount(0, -1, -1, 0)
    begins = breaks[:-1] + 1
    odd = np.flatnonzero(np.frombuffer(data, np.uint8)[begins] <= 0x20)
    blank = sum(not data[begins[line] : breaks[line + 1]].strip() for line in odd.tolist())
    return _LineCount(len(breaks), int(breaks[0]), int(breaks[-1]), blank)


def _ranges(handle: int, counted: Iterator[tuple[int, _LineCount]], size: int, begin: int) -> Iterator[LineRange]:
    """Ranges that end with the last newline of a stretch, or with the file."""
    line, ended = 1, begin
    for at, found in counted:
        if not found.newlines:
            continue
        # The line that goes on from the stretches before ends at the first newline.
        blank = found.blank + _is_blank(handle, ended, at + found.first)
        end = at + found.last + 1
        yield LineRange(ended, end, line, found.newlines, found.newlines - blank)
        line, ended = line + found.newlines, end
    if ended < size:
        yield LineRange(ended, size, line, 1, 1 - _is_blank(handle, ended, size))


def _is_blank(handle: int, begin: int, end: int) -> bool:
    """Whether there is nothing but white space between two bytes of a file."""
    while begin < end:
        data = os.pread(handle, min(end - begin, 4096), begin)
        if not data or data.strip():
            return False
        begin += len(data)
    return True


def spans(
    place: Place, faults: Faults | None, on_read: OnRead | None, ranges: list[LineRange] | None, *, blank: bool
) -> Iterator[Span]:
    """The lines of a file in order, with or without blank ones among the rows; read only where they must be counted."""
    if ranges is None:
        without = set() if faults is None else faults.places
        for block in blocks(place, faults, on_read):
            rows = len(lines_of(block, blank=blank, without=without))
            yield Span(block.line, block.end, rows, len(block.data), partial(_held, block), loaded=True)
        return
    bad = np.sort(np.array(list(() if faults is None else faults.places), np.int64))
    for each in ranges:
        end = each.line + each.lines
        gone = int(np.diff(np.searchsorted(bad, [each.line, end]))[0])
        rows = (each.lines if blank else each.rows) - gone
        yield Span(each.line, end, rows, each.end - each.begin, partial(_read, place, each, on_read), loaded=False)


def _held(block: Block) -> Block:
    return block


def _read(place: Place, wanted: LineRange, on_read: OnRead | None) -> Block:
    size = wanted.end - wanted.begin
    check_whole(f"{place.name}:{wanted.line}: the line", size if wanted.lines == 1 else 0, place.memory)
    with naming(place.name), open(place.path, "rb") as file:  # noqa: PTH123
        data = os.pread(file.fileno(), size, wanted.begin)
        while len(data) < size and (more := os.pread(file.fileno(), size - len(data), wanted.begin + len(data))):
            data += more
    if on_read is not None:
        on_read(len(data))
    block = Block.of(wanted.line, data)
    if len(data) != size or block.count != wanted.lines:
        raise InputError(f"{place.name}: line {wanted.line} and those behind it are not what they were")
    return block
