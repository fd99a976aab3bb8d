"""The header of a Parquet page, read by a kernel: a file has one for each megabyte or so, and each pass reads them all.

In plain Python (`thrift.py`) a header takes 40 µs with the interpreter lock held, which with many threads becomes what
all of them wait for. How Thrift writes a struct is told in `footer.py`.

Source: parquet.thrift of the Apache Parquet format; the numbers of fields below are from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.io.reading.formats.footer import read_varint
from lookalike.kernels.jit import device, kernel

__all__ = ["DATA", "DATA_2", "DICTIONARY", "PageHeader", "page_header", "read_header"]

DATA, DICTIONARY, DATA_2 = 0, 2, 3
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 8  # statistics in the header of a data page are at 2
_SHORT, _BROKEN = -1, -2


class PageHeader(NamedTuple):
    """What a header says; -1 for what it does not say."""

    kind: int
    size: int
    stored: int
    values: int
    length: int


@device
def _end_of(data, at, kind, alone):
    """Where a value ends that is no struct and no list, a truth value `alone` in its field or one of a list."""
    if kind in (_I16, _I32, _I64):
        return read_varint(data, at)[1]
    if kind == _BINARY:
        size, at = read_varint(data, at)
        return at if at < 0 else at + size
    if kind == _DOUBLE:
        return at + 8
    return at if alone and kind != _BYTE else at + 1


@kernel("int64(Array(uint8,1,'C',readonly=True), int64[::1])")
def page_header(data, found):
    """found = (kind, size, stored size, values) of the header at the beginning of some bytes; returns its length.

    -1 if the bytes end before it does, -2 if it is none.
    """
    found[:] = -1
    # For each struct or list that is being read: the type of its elements (0 for a struct), and the number of the last
    # field, or of the elements that are left.
    stack = np.zeros((_DEEPEST, 2), np.int64)
    depth, at, about = 1, np.int64(0), np.int64(0)
    while depth > 0:
        kind = stack[depth - 1, 0]
        in_list = kind != 0
        if in_list:
            if stack[depth - 1, 1] == 0:
                depth -= 1
                continue
            stack[depth - 1, 1] -= 1
            number = np.int64(-1)
        else:
            if at >= len(data):
                return _SHORT
            head = np.int64(data[at])
            at += 1
            if head == 0:
                depth -= 1
                continue
            kind = head & 15
            number = stack[depth - 1, 1] + (head >> 4)
            if head >> 4 == 0:
                value, at = read_varint(data, at)
                if at < 0:
                    return _SHORT
                number = (value >> 1) ^ -(value & 1)
            stack[depth - 1, 1] = number
        if kind in (_LIST, _SET, _STRUCT):
            if depth == _DEEPEST:
                return _BROKEN
            if depth == 1:
                about = number
            elements, left = np.int64(0), np.int64(0)
            if kind != _STRUCT:
                if at >= len(data):
                    return _SHORT
                elements, left = np.int64(data[at]) & 15, np.int64(data[at]) >> 4
                at += 1
                if left == 15:
                    left, at = read_varint(data, at)
                if at < 0:
                    return _SHORT
                if elements == 0 or left < 0:
                    return _BROKEN
            stack[depth, 0], stack[depth, 1] = elements, left
            depth += 1
            continue
        if kind < _TRUE or kind > _BINARY:
            return _BROKEN
        begin = at
        at = _end_of(data, at, kind, not in_list)
        if at < 0 or at > len(data):
            return _SHORT
        if kind in (_I16, _I32, _I64) and not in_list:
            value, _ = read_varint(data, begin)
            value = (value >> 1) ^ -(value & 1)
            if depth == 1 and 1 <= number <= 3:
                found[number - 1] = value
            elif depth == 2 and number == 1 and about in (5, 7, 8):
                found[3] = value
    return at


def read_header(data: bytes) -> PageHeader | None:
    """The header that these bytes begin with; None if they end before it does.

    Raises:
        ValueError: if it is none.
    """
    found = np.empty(4, np.int64)
    length = page_header(np.frombuffer(data, np.uint8), found)
    if length == _SHORT:
        return None
    if length == _BROKEN:
        raise ValueError("no header of a page")
    kind, size, stored, values = found.tolist()
    return PageHeader(kind, size, stored, values, length)
