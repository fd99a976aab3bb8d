"""The headers of Parquet pages, read by kernels: a file has one for each megabyte or so, and each pass reads them all.

In plain Python (`thrift.py`) a header takes 40 µs with the interpreter lock held, which with many threads becomes what
all of them wait for. And whoever reads one header after another gives the lock away for each, and has to wait for it
again: with 16 threads that took longer than what these did with the pages. So one kernel walks through all pages of a
column.

Source: parquet.thrift of the Apache Parquet format; the numbers of fields below are from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.io.reading.formats.thrift_steps import INTEGERS, LISTS, STRUCT, end_of, field_head, integer, list_head
from lookalike.kernels.jit import device, kernel, read_at
from lookalike.types import I64Array

__all__ = [
    "DATA",
    "DATA_2",
    "DICTIONARY",
    "MOST_BYTES",
    "USUAL_BYTES",
    "PageHeader",
    "page_header",
    "read_header",
    "walk_pages",
    "walked",
]

DATA, DICTIONARY, DATA_2 = 0, 2, 3
# What is said about a page of each of these kinds
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 5, 7, 8
_DEEPEST = 8  # statistics in the header of a data page are at 2
_SHORT, _BROKEN = -1, -2  # as of the steps
_MORE = -3
# Headers hold the least and the largest value of a page, which Arrow cuts off at 4 kB.
USUAL_BYTES, MOST_BYTES = 512, 16_384


class PageHeader(NamedTuple):
    """What a header says, of the values what it says for a page of its kind; -1 for what it does not say."""

    kind: int
    size: int
    stored: int
    values: int
    length: int


@device
def _header(data, found):
    """What the header at the beginning of some bytes says, -1 for what it does not; returns its length.

    found = (kind, size, stored size, values of a data page, of a dictionary, of a data page of the second version).
    -1 is returned if the bytes end before the header does, -2 if it is none.
    """
    found[:] = -1
    # For each struct or list that is being read: the type of its elements (0 for a struct), and the number of the last
    # field, or of the elements that are left.
    stack = np.zeros((_DEEPEST, 2), np.int64)
    depth, at, about = 1, np.int64(0), np.int64(0)
    while depth > 0:
        kind, number = stack[depth - 1, 0], np.int64(0)
        in_list = kind != 0
        if in_list:
            if stack[depth - 1, 1] == 0:
                depth -= 1
                continue
            stack[depth - 1, 1] -= 1
        else:
            kind, number, at = field_head(data, at, stack[depth - 1, 1])
            if at < 0:
                return _SHORT
            if kind == 0:
                depth -= 1
                continue
            stack[depth - 1, 1] = number
        if kind == STRUCT or kind in LISTS:
            if depth == _DEEPEST:
                return _BROKEN
            elements, left = np.int64(0), np.int64(0)
            if kind != STRUCT:
                elements, left, at = list_head(data, at)
                if at < 0:
                    return _SHORT
                if elements == 0:
                    return _BROKEN
            if depth == 1:
                about = number
            stack[depth, 0], stack[depth, 1] = elements, left
            depth += 1
            continue
        if kind in INTEGERS and not in_list:
            value, _ = integer(data, at)
            if depth == 1 and 1 <= number <= 3:
                found[number - 1] = value
            elif depth == 2 and number == 1:
                if about == _DATA_PAGE:
                    found[3] = value
                elif about == _DICTIONARY_PAGE:
                    found[4] = value
                elif about == _DATA_PAGE_2:
                    found[5] = value
        at = end_of(data, at, kind, in_list)
        if at < 0:
            return at
    return at


@kernel("int64(Array(uint8,1,'C',readonly=True), int64[::1])")
def page_header(data, found):
    """What the header at the beginning of some bytes says, and its length: see `_header`."""
    return _header(data, found)


@kernel("int64(int64, int64, int64, uint8[::1], int64[:,::1])")
def walk_pages(handle, at, rows, data, pages):
    """pages[i] = (kind, place, bytes with the header, size, values) of the pages of a column that begins at a place.

    `data` is room for a header. Returns how many pages there are up to the one that ends `rows` rows; -1 if the file
    ends or cannot be read, -2 if something is no page of a column, -3 if there are more pages than room for them.
    """
    found = np.empty(6, np.int64)
    row, number = np.int64(0), 0
    while row < rows:
        if number == len(pages):
            return _MORE
        length = np.int64(_SHORT)
        size = min(np.int64(USUAL_BYTES), len(data))
        while length == _SHORT:
            got = read_at(handle, data, size, at)
            if got <= 0:
                return _SHORT
            length = _header(data[:got], found)
            if length == _SHORT and (got < size or size == len(data)):
                return _SHORT
            size = np.int64(len(data))
        kind = found[0]
        if length < 0 or found[1] < 0 or found[2] < 0:
            return _BROKEN
        values = np.int64(-1)
        if kind == DATA:
            values = found[3]
        elif kind == DICTIONARY:
            values = found[4]
        elif kind == DATA_2:
            values = found[5]
        if kind in (DATA, DATA_2):
            if values < 1 or values > rows - row:
                return _BROKEN
            row += values
        elif kind != DICTIONARY or number > 0:
            return _BROKEN
        pages[number, 0], pages[number, 1], pages[number, 2] = kind, at, length + found[2]
        pages[number, 3], pages[number, 4] = found[1], values
        at += length + found[2]
        number += 1
    return number


def walked(handle: int, at: int, rows: int) -> I64Array:
    """(kind, place, bytes with the header, size, values) of each page of a column, whose first one is at a place.

    Raises:
        ValueError: if they are no pages of so many rows, or cannot be read.
    """
    room = 1 << 8
    while True:
        pages = np.empty((room, 5), np.int64)
        found = walk_pages(handle, at, rows, np.empty(MOST_BYTES, np.uint8), pages)
        if found >= 0:
            return pages[:found]
        if found != _MORE:
            raise ValueError("no pages of a column of so many rows")
        room *= 8


def read_header(data: bytes) -> PageHeader | None:
    """The header that these bytes begin with; None if they end before it does.

    Raises:
        ValueError: if it is none.
    """
    found = np.empty(6, np.int64)
    length = page_header(np.frombuffer(data, np.uint8), found)
    if length == _SHORT:
        return None
    if length == _BROKEN:
        raise ValueError("no header of a page")
    kind, size, stored, *each = found.tolist()
    values = dict(zip((DATA, DICTIONARY, DATA_2), each, strict=True)).get(kind, -1)
    return PageHeader(kind, size, stored, values, length)
