"""How deep JSON is nested, known before any parser sees it.

Parsers call themselves for each level: 20,000 brackets, 40 kB, end the process, and 1,000 are more than Python takes.
Nobody writes such rows by hand or by accident, so a line that goes deeper than `DEEPEST` is a bad row.

Brackets in strings are no levels, but most lines have so few brackets in all that it does not matter where they stand.
They are counted at 11 GB/s, and only a line with more than `DEEPEST` is walked through, byte by byte.
"""

from __future__ import annotations

import numpy as np

from lookalike.io.reading.blocks import Block
from lookalike.kernels.jit import kernel, peek
from lookalike.types import BoolArray, I64Array

__all__ = ["DEEPEST", "mark_deep", "too_deep"]

# PHP stops at 512 levels, .NET at 64; data made by people has fewer than 20.
DEEPEST = 100

_QUOTE = np.uint8(ord('"'))
_ESCAPE = np.uint8(ord("\\"))
# "[" and "{" differ in one bit, and so do "]" and "}".
_BIT = np.uint8(0x20)
_OPENS = np.uint8(ord("{"))
_CLOSES = np.uint8(ord("}"))


@kernel("void(Array(uint8,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, boolean[::1])")
def mark_deep(data, breaks, deepest, deep):
    """deep[i] = whether line i is nested deeper than `deepest`; its newline, or the end, is at breaks[i].

    What stands behind the first error of a line does not matter: parsers do not come that far.
    """
    begin = 0
    for line in range(len(breaks)):
        end = breaks[line]
        brackets = 0
        for at in range(begin, end):
            brackets += (peek(data, at) | _BIT) == _OPENS
        deep[line] = False
        if brackets > deepest:
            depth = 0
            in_string = False
            at = begin
            while at < end:
                byte = peek(data, at)
                if in_string:
                    if byte == _ESCAPE:
                        at += 1
                    elif byte == _QUOTE:
                        in_string = False
                elif byte == _QUOTE:
                    in_string = True
                elif byte | _BIT == _OPENS:
                    depth += 1
                    if depth > deepest:
                        deep[line] = True
                        break
                elif byte | _BIT == _CLOSES:
                    depth -= 1
                at += 1
        begin = end + 1


def too_deep(block: Block) -> I64Array:
    """The numbers, in the file, of the lines of a block that are nested too deep."""
    deep: BoolArray = np.empty(block.count, np.bool_)
    mark_deep(np.frombuffer(block.data, np.uint8), block.breaks, DEEPEST, deep)
    return np.flatnonzero(deep) + block.line
