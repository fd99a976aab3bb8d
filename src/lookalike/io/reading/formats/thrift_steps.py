"""Steps over Thrift's compact protocol, for kernels: one value after another, without a copy of any.

A struct is fields, each a byte (type, and the step from the number of the field before; 0 for the number itself, which
follows then) and the value, up to a byte 0. A list is a byte (type, number of elements; 15 for more, which follows
then) and its elements. Integers are varints of 7 bits a byte, those with a sign in zigzag. `thrift.py` reads and writes
the same in plain Python.

Where the data ends before the value does, the place behind it is -1.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import device

__all__ = ["BINARY", "INTEGERS", "LISTS", "STRUCT", "end_of", "field_head", "integer", "list_head"]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, BINARY, _LIST, _SET, _MAP, STRUCT = range(1, 13)
_NO_TYPE = 15
INTEGERS, LISTS = (_I16, _I32, _I64), (_LIST, _SET)


@device
def _varint(data, at):
    """(value, the place behind it)."""
    value = np.int64(0)
    shift = 0
    while 0 <= at < len(data) and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, np.int64(-1)


@device
def integer(data, at):
    """(value of an integer with a sign, the place behind it)."""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


@device
def field_head(data, at, before):
    """(type, number, the place behind it) of a field, `before` being the number of the last one; type 0 for the end."""
    if at < 0 or at >= len(data):
        return np.int64(0), before, np.int64(-1)
    head = np.int64(data[at])
    number = before + (head >> 4)
    at += 1
    if head != 0 and head >> 4 == 0:
        number, at = integer(data, at)
    kind = head & 15
    return (kind if head == 0 or kind != 0 else np.int64(_NO_TYPE)), number, at


@device
def list_head(data, at):
    """(type of the elements, how many there are, the place behind it) of a list."""
    if at < 0 or at >= len(data):
        return np.int64(0), np.int64(0), np.int64(-1)
    elements, count = np.int64(data[at]) & 15, np.int64(data[at]) >> 4
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    return elements, count, at


@device
def end_of(data, at, kind, in_list):
    """The place behind a value that is no struct and no list; -2 if there is no such type.

    A truth value has a byte of its own only inside a list.
    """
    if kind in INTEGERS:
        return _varint(data, at)[1]
    if kind == BINARY:
        size, at = _varint(data, at)
        if at < 0 or size > len(data) - at:
            return np.int64(-1)
        return at + size
    if kind == _DOUBLE:
        at += 8
    elif kind == _BYTE or (in_list and kind in (_TRUE, _FALSE)):
        at += 1
    elif kind not in (_TRUE, _FALSE):
        return np.int64(-2)
    return at if at <= len(data) else np.int64(-1)
