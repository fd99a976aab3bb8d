"""Keys with values, held or in a file, that come back range by range of the keys.

What is added is held until that is too much. Then it is sorted by the first bits of the keys, 256 ranges, and appended
to a file without a name as one block, in which every range lies together. A range is read from all blocks, in the order
in which it was added; the last block need not be written. So any number of keys is looked at in parts that fit, and a
run that is killed leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from lookalike.engines.local.store.words import Words
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.types import I64Array, U64Array

__all__ = ["KeyRange", "KeyRanges"]

_BITS = 8
_RANGES = 1 << _BITS
# A key and a value.
_BYTES = 16

Read = Callable[[int, int], tuple[U64Array, U64Array]]


@dataclass(frozen=True, slots=True)
class _SortedBlock:
    """Entries sorted by range: range r is from bounds[r] to bounds[r + 1]."""

    bounds: I64Array
    read: Read


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The entries of one range; `chunks` gives them in the order in which they were added, about `most` at a time."""

    number: int
    blocks: tuple[_SortedBlock, ...]
    most: int

    def __len__(self) -> int:
        """How many entries it has."""
        return sum(int(block.bounds[self.number + 1] - block.bounds[self.number]) for block in self.blocks)

    def chunks(self) -> Iterator[tuple[U64Array, U64Array]]:
        """(keys, values), as often as they are asked for; nothing if there are none."""
        waiting: list[tuple[U64Array, U64Array]] = []
        held = 0
        for block in self.blocks:
            begin, end = map(int, block.bounds[self.number : self.number + 2])
            for at in range(begin, end, self.most):
                part = block.read(at, min(end, at + self.most))
                waiting.append(part)
                held += len(part[0])
                if held >= self.most:
                    yield _joined(waiting)
                    waiting, held = [], 0
        if waiting:
            yield _joined(waiting)


class KeyRanges:
    """Entries (key, value), of which at most so many bytes are held; keys are below `below`."""

    def __init__(self, work: Work, most: int, below: int = 2**64) -> None:
        self._work = work
        self._most = max(1, most // _BYTES)
        self._shift = np.uint64(max(0, (below - 1).bit_length() - _BITS))
        self._waiting: list[tuple[U64Array, U64Array]] = []
        self._held = 0
        self._blocks: list[_SortedBlock] = []
        self._file: Words | None = None

    @property
    def spilled(self) -> int:
        """Bytes that are in the file."""
        return 0 if self._file is None else 8 * len(self._file)

    def add(self, keys: U64Array, values: U64Array) -> None:
        """Take in entries."""
        if not len(keys):
            return
        self._waiting.append((keys, values))
        self._held += len(keys)
        if self._held >= self._most:
            block, keys, values = self._sorted()
            if self._file is None:
                with spilling(str(self._work.place)):
                    self._file = self._work.scratch()
            at = len(self._file)
            with spilling(str(self._work.place)):
                self._file.append(keys)
                self._file.append(values)
            self._blocks.append(_SortedBlock(block, partial(_from_file, self._file, at, len(keys))))

    def ranges(self) -> Iterator[KeyRange]:
        """Every range that has entries, the one of the smallest keys first; nothing is added after that."""
        if self._waiting:
            bounds, keys, values = self._sorted()
            self._blocks.append(_SortedBlock(bounds, partial(_from_arrays, keys, values)))
        blocks = tuple(self._blocks)
        for number in range(_RANGES):
            if any(block.bounds[number] < block.bounds[number + 1] for block in blocks):
                yield KeyRange(number, blocks, self._most)

    def _sorted(self) -> tuple[I64Array, U64Array, U64Array]:
        """What waits, sorted by range and otherwise in order, with the bounds of the ranges; nothing waits then."""
        keys, values = _joined(self._waiting)
        self._waiting, self._held = [], 0
        number = (keys >> self._shift).astype(np.uint8)
        order = np.argsort(number, kind="stable")
        bounds = np.zeros(_RANGES + 1, np.int64)
        np.cumsum(np.bincount(number, minlength=_RANGES), out=bounds[1:])
        return bounds, keys[order], values[order]


def _joined(parts: list[tuple[U64Array, U64Array]]) -> tuple[U64Array, U64Array]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([keys for keys, _ in parts]), np.concatenate([values for _, values in parts])


def _from_arrays(keys: U64Array, values: U64Array, begin: int, end: int) -> tuple[U64Array, U64Array]:
    return keys[begin:end], values[begin:end]


def _from_file(file: Words, at: int, count: int, begin: int, end: int) -> tuple[U64Array, U64Array]:
    """Entries of a block of `count` at a place of the file: its keys, and then its values."""
    return file.read(at + begin, at + end), file.read(at + count + begin, at + count + end)
