"""Thrift's compact protocol, as far as Parquet's metadata needs it: bytes to plain values and back, unchanged.

A struct is a dict from field number to (type, value), in the order of the bytes; a list is (type of its values, the
values). Nothing is known of what the fields mean, so what a later version of the format adds survives.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
_LONG_LIST = 15

Struct = dict[int, tuple[int, Any]]

__all__ = ["BINARY", "I16", "I32", "I64", "LIST", "STRUCT", "Struct", "parse", "parse_at", "serialize"]


def parse(data: bytes) -> Struct:
    """The struct that the bytes begin with."""
    return parse_at(data)[0]


def parse_at(data: bytes) -> tuple[Struct, int]:
    """The struct that the bytes begin with, and its length; `IndexError` if they end before it does."""
    reader = _ThriftReader(data)
    struct = reader.struct()
    if reader.at > len(data):
        raise IndexError("the bytes end before the struct")
    return struct, reader.at


def serialize(struct: Struct) -> bytes:
    """The bytes of a struct."""
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


class _ThriftReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self) -> Struct:
        found: Struct = {}
        field = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            field = field + step if step else self._integer()
            found[field] = kind, self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (I16, I32, I64):
            return self._integer()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            head = self._byte()
            inner, count = head & 15, head >> 4
            if count == _LONG_LIST:
                count = self._varint()
            # A truth value has a byte of its own only inside a list; alone it is its type.
            return inner, [self._byte() if inner in (TRUE, FALSE) else self._value(inner) for _ in range(count)]
        if kind in (TRUE, FALSE):
            return None
        if kind in (BYTE, DOUBLE):
            return self._take(1 if kind == BYTE else 8)
        raise ValueError(f"a value of Thrift type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _take(self, count: int) -> bytes:
        self.at += count
        return self._data[self.at - count : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _put_struct(out: bytearray, struct: Struct) -> None:
    before = 0
    for field, (kind, value) in struct.items():
        if 0 < field - before <= 15:
            out.append((field - before) << 4 | kind)
        else:
            out.append(kind)
            _put_integer(out, field)
        _put_value(out, kind, value)
        before = field
    out.append(0)


def _put_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in (I16, I32, I64):
        _put_integer(out, value)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind in (LIST, SET):
        inner, values = value
        out.append(min(len(values), _LONG_LIST) << 4 | inner)
        if len(values) >= _LONG_LIST:
            _put_varint(out, len(values))
        for each in values:
            if inner in (TRUE, FALSE):
                out.append(each)
            else:
                _put_value(out, inner, each)
    elif kind in (BYTE, DOUBLE):
        out += value


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _put_integer(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
