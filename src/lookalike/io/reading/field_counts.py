"""How many different fields the rows of a block of JSON lines have, known before Arrow makes columns of them.

Arrow makes a cell of every row and field of what it parses, so it is asked for all fields of a block only where those
are no more than `cell_limits.py` allows. Fields are counted by a hash of the way to them, which is made with a key that
nobody knows: no rows can be made of which the fields look fewer than they are.
"""

from __future__ import annotations

import numpy as np

from lookalike.io.reading.blocks import Block
from lookalike.io.reading.cell_limits import rows_at_once
from lookalike.io.reading.depth import DEEPEST
from lookalike.kernels.jit import device, kernel, load_u64, peek
from lookalike.key import TABLE_KEY
from lookalike.spec import hash_bytes, mix, span_key

__all__ = ["count_fields", "few_cells"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_QUOTE = np.uint8(ord('"'))
_ESCAPE = np.uint8(ord("\\"))
_COLON = np.uint8(ord(":"))
_SPACE = np.uint8(ord(" "))
# "[" and "{" differ in one bit, and so do "]" and "}".
_BIT = np.uint8(0x20)
_OPENS = np.uint8(ord("{"))
_CLOSES = np.uint8(ord("}"))
_EACH = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2222222222222222)
_ESCAPES = np.uint64(0x5C5C5C5C5C5C5C5C)


@device
def _has_zero(word):
    """Not 0 if one of eight bytes is 0."""
    return (word - _EACH) & ~word & _TOPS


@device
def _string_end(data, at, end):
    """Where the quote stands that ends the string which begins at `at`; `end` if there is none."""
    while at < end:
        while at + 8 <= end:
            word = load_u64(data, at)
            if _has_zero(word ^ _QUOTES) | _has_zero(word ^ _ESCAPES):
                break
            at += 8
        if at >= end:
            break
        byte = peek(data, at)
        if byte == _QUOTE:
            return at
        at += 2 if byte == _ESCAPE else 1
    return end


@device
def _is_new(x, table):
    """Put x, which is not 0, into a hash table that always has an empty slot; whether it was not there."""
    mask = np.uint64(len(table) - 1)
    slot = x & mask
    while table[np.int64(slot)] != _ZERO:
        if table[np.int64(slot)] == x:
            return False
        slot = (slot + _ONE) & mask
    table[np.int64(slot)] = x
    return True


@kernel(
    "int64(Array(uint8,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, "
    "Array(uint64,1,'C',readonly=True), uint64[::1], uint64[::1])"
)
def count_fields(data, breaks, most, key, table, inside):
    """How many different fields the lines have; `most` + 1 if there are more. The newline of line i is at breaks[i].

    `table` is empty and has a power of two slots, more than `most` + 1; `inside` has one for each level. What stands
    behind the first error of a line does not matter, since no parser comes that far.
    """
    parts = span_key(key)
    fields = 0
    begin = 0
    for line in range(len(breaks)):
        end = breaks[line]
        depth = np.int64(0)
        way = _ZERO
        inside[0] = _ZERO
        at = begin
        while at < end:
            byte = peek(data, at)
            if byte == _QUOTE:
                first = at + 1
                last = _string_end(data, first, end)
                at = last + 1
                while at < end and peek(data, at) <= _SPACE:
                    at += 1
                if at < end and peek(data, at) == _COLON:
                    way = mix(inside[depth] + hash_bytes(data, first, last - first, _ZERO, parts))
                    way = max(way, _ONE)
                    fields += np.int64(_is_new(way, table))
                    if fields > most:
                        return fields
                continue
            if byte | _BIT == _OPENS:
                depth = min(depth + 1, len(inside) - 1)
                inside[depth] = way
            elif byte | _BIT == _CLOSES:
                # The next object of a list has the fields of the one before.
                way = inside[depth]
                depth = max(depth - 1, 0)
            at += 1
        begin = end + 1
    return fields


def few_cells(block: Block) -> bool:
    """Whether the rows of a block times their fields are no more cells than are made at once."""
    most = rows_at_once(block.count)
    data = np.frombuffer(block.data, np.uint8)
    # There are no more fields than colons.
    colons = int(np.count_nonzero(data == _COLON))
    if colons <= most:
        return True
    table = np.zeros(1 << (2 * most + 2).bit_length(), np.uint64)
    return bool(count_fields(data, block.breaks, most, TABLE_KEY, table, np.empty(DEEPEST + 2, np.uint64)) <= most)
