"""Blocks of whole lines, cut from a stream, and the lines in them.

A block is some 8 MiB that end at a newline: large enough that a call per block costs nothing, small enough
that a few of them fit a tight memory budget. A line longer than that is a block of its own. One that is too long
for the memory is refused while it is read: three gigabytes of it may be three megabytes of gzip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.errors import InputError
from lookalike.io.limits import check_whole
from lookalike.io.reading.faults import Faults
from lookalike.io.reading.places import Place, check_encoding
from lookalike.io.source import OnRead

BLOCK_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"

__all__ = ["BLOCK_BYTES", "BOM", "Block", "Lines", "blocks", "lines_of", "pick"]


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines; only the last block of a file may lack its final newline.

    Attributes:
        line: the number of the first line in the file, from 1.
        data: the bytes.
        breaks: where the newlines are (int64); the end of the data stands for one that is missing.
    """

    line: int
    data: bytes
    breaks: npt.NDArray[np.int64]

    @classmethod
    def of(cls, line: int, data: bytes) -> Block:
        """A block, with its newlines looked up."""
        breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == 0x0A)
        if not data.endswith(b"\n"):
            breaks = np.append(breaks, len(data))
        return cls(line, data, breaks)

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.breaks)

    @property
    def end(self) -> int:
        """The number of the line after the last one."""
        return self.line + self.count

    def cut(self, lines: int) -> Iterator[Block]:
        """Blocks of at most so many lines."""
        if self.count <= lines:
            yield self
            return
        for first in range(0, self.count, lines):
            breaks = self.breaks[first : first + lines]
            begin = int(self.breaks[first - 1]) + 1 if first else 0
            yield Block(self.line + first, self.data[begin : int(breaks[-1]) + 1], breaks - begin)


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the lines of a block are: starts and ends (after the newline) in bytes, int64."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


def blocks(place: Place, faults: Faults | None = None, on_read: OnRead | None = None) -> Iterator[Block]:
    """Read a file as blocks of whole lines, without a byte order mark.

    A stream that breaks off (a truncated .gz) is an `InputError`; where bad rows are skipped it is one bad
    row at the line where it broke, and the end of the file.
    """
    line = 1
    tail: list[bytes] = []
    with place.stream() as stream:
        start = True
        while True:
            try:
                data = stream.read(BLOCK_BYTES)
            except InputError as error:
                if faults is None:
                    raise
                message = str(error).removeprefix(f"{place.name}: ")
                faults.report(line, f"{place.name}:{line}: {message}; the rest of the file cannot be read")
                return
            if on_read is not None:
                on_read(stream.taken())
            if start:
                start = False
                check_encoding(place.name, data)
                data = data.removeprefix(BOM)
            if not data:
                break
            cut = data.rfind(b"\n") + 1
            begun = sum(map(len, tail))
            if begun:
                check_whole(f"{place.name}:{line}: the line", begun + (data.find(b"\n") + 1 or len(data)), place.memory)
            if not cut:
                tail.append(data)
                continue
            whole = b"".join([*tail, data[:cut]]) if tail or cut < len(data) else data
            tail = [data[cut:]] if cut < len(data) else []
            block = Block.of(line, whole)
            yield block
            line = block.end
        if tail:
            yield Block.of(line, b"".join(tail))


def lines_of(block: Block, *, blank: bool, without: set[int]) -> Lines:
    """The lines of a block: with or without blank ones, and without those of these numbers."""
    data = np.frombuffer(block.data, np.uint8)
    ends = np.minimum(block.breaks + 1, len(data))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    good = np.ones(len(starts), np.bool_)
    if not blank:
        for index in np.flatnonzero(data[starts] <= 0x20):
            good[index] = bool(block.data[starts[index] : ends[index]].strip())
    if without and not without.isdisjoint(range(block.line, block.end)):
        good &= np.array([number not in without for number in range(block.line, block.end)])
    return Lines(starts[good], ends[good])


def pick(block: Block, lines: Lines, keep: npt.NDArray[np.bool_]) -> list[memoryview]:
    """The bytes of the lines to keep; neighbours come in one piece."""
    starts, ends = lines.starts[keep], lines.ends[keep]
    if not len(starts):
        return []
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    firsts = starts[np.concatenate([[0], breaks + 1])]
    lasts = ends[np.concatenate([breaks, [len(ends) - 1]])]
    view = memoryview(block.data)
    return [view[first:last] for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
