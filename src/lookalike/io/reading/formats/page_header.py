"""The header of a Parquet page, read by a kernel: a file has one for each megabyte or so, and each pass reads them all.

In plain Python (`thrift.py`) a header takes 40 µs with the interpreter lock held, which with many threads becomes what
all of them wait for.

Source: parquet.thrift of the Apache Parquet format; the numbers of fields below are from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.io.reading.formats.thrift_steps import INTEGERS, LISTS, STRUCT, end_of, field_head, integer, list_head
from lookalike.kernels.jit import kernel

__all__ = ["DATA", "DATA_2", "DICTIONARY", "PageHeader", "page_header", "read_header"]

DATA, DICTIONARY, DATA_2 = 0, 2, 3
# What is said about a page of each of these kinds
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 5, 7, 8
_DEEPEST = 8  # statistics in the header of a data page are at 2
_SHORT, _BROKEN = -1, -2  # as of the steps


class PageHeader(NamedTuple):
    """What a header says, of the values what it says for a page of its kind; -1 for what it does not say."""

    kind: int
    size: int
    stored: int
    values: int
    length: int


@kernel("int64(Array(uint8,1,'C',readonly=True), int64[::1])")
def page_header(data, found):
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
