"""Matches: two items (or their places in some order) and a similarity, added in any order, read in order, each once.

They are held while they fit. More are sorted and appended to a file as runs, and reading merges the runs: of each run a
block is held; what is not above the last of any block can be sorted and given out, for no run has anything smaller
left. What comes in order, as candidates do, makes the last run longer instead of a new one, and is read as it stands.

    runs    1 4 | 6 9      held: 1 4 and 2 3        given out: 1 2 3
            2 3 | 4 8      held: 4   and 4 8        given out: 4 (once)

A match is 16 bytes: the two numbers, 32 bits each, as one key, and the similarity.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lookalike.engines.local.store.array_file import DamagedError
from lookalike.engines.local.store.words import Words
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.io.checksums import checksum
from lookalike.io.writing.atomic import replacing
from lookalike.types import BoolArray, F64Array, I64Array, U64Array

__all__ = ["STRETCH", "Matches"]

# Matches that are given out at a time; what is made of them takes some 100 bytes each for a moment.
STRETCH = 1 << 17

_BYTES = 16
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
# A block of a run that is read in one go: less costs more in calls than in memory.
_LEAST = 256

Keyed = tuple[U64Array, F64Array]


class Matches:
    """Holds up to `memory` bytes; sorting takes another two to three times that for a moment."""

    def __init__(self, work: Work, memory: int) -> None:
        self._work = work
        self._memory = memory
        self._most = max(1, memory // _BYTES)
        self._parts: list[Keyed] = []
        self._held = 0
        self._file: Words | None = None
        # Where runs begin and end in the file.
        self._runs: list[tuple[int, int]] = []
        self._last = np.uint64(0)
        self._count = 0
        self.spilled = 0
        # Of the file that `settle` wrote.
        self.checksum = 0

    def __len__(self) -> int:
        """How many were added; after `settle` each counts once."""
        return self._count

    def another(self) -> Matches:
        """An empty one that spills to the same place, and as early."""
        return Matches(self._work, self._memory)

    def add(self, left: I64Array, right: I64Array, similarity: F64Array) -> None:
        """Some more, each number below 2³²."""
        if len(left):
            self._parts.append((_keys(left, right), similarity))
            self._count += len(left)
            self._held += len(left)
            if self._held > self._most:
                self._spill()

    def stretches(self) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
        """(left, right, similarity) of all, by left and right, some at a time.

        A pair may have been added twice: it was in a list that all compare, and in one that has leaders.
        """
        for keys, similarities in self._merged():
            for begin in range(0, len(keys), STRETCH):
                part = keys[begin : begin + STRETCH]
                left, right = (part >> _HALF).astype(np.int64), (part & _LOW).astype(np.int64)
                yield left, right, similarities[begin : begin + STRETCH]

    def contains(self, left: I64Array, right: I64Array) -> BoolArray:
        """Whether pairs are among them."""
        wanted, found = _keys(left, right), np.zeros(len(left), np.bool_)
        for keys, _ in self._merged():
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found |= keys[place] == wanted
        return found

    def settle(self, path: Path | None = None) -> None:
        """Bring them in order once, to be counted and read many times; a run that is resumed finds them at `path`."""
        if self._runs and self._parts:
            self._spill()
        self._compact()
        if path is not None:
            with spilling(str(path.parent)), replacing(path) as part:
                self._rewrite(Words.create(part))
        elif len(self._runs) > 1:
            with spilling(str(self._work.place)):
                self._rewrite(self._work.scratch())
        self._count = sum(end - begin for begin, end in self._runs) + self._held

    @classmethod
    def load(cls, work: Work, memory: int, path: Path, count: int, found: int) -> Matches:
        """Those that `settle` left at `path`: so many, with that checksum.

        Raises:
            DamagedError: if they are not there any more.
        """
        if not path.is_file():
            raise DamagedError(f"{path} is missing")
        if path.stat().st_size != _BYTES * count:
            raise DamagedError(f"{path} is not as long as it was")
        if checksum(path) != found:
            raise DamagedError(f"{path} is damaged")
        matches, file = cls(work, memory), Words.open(path)
        matches._count, matches.checksum = count, found
        if count > matches._most:
            matches._file, matches._runs = file, [(0, count)]
        elif count:
            matches._parts, matches._held = [_unpacked(file.read(0, 2 * count))], count
        return matches

    def _rewrite(self, file: Words) -> None:
        """Write all to a new file, in order, which takes the place of the old one if there is one."""
        self.checksum = 0
        for keys, similarities in self._merged():
            words = _packed(keys, similarities)
            file.append(words)
            self.checksum = zlib.crc32(words.reshape(-1).view(np.uint8).data, self.checksum)
            self._last = keys[-1]
        if self._runs:
            self._file, self._runs = file, [(0, len(file) // 2)]

    def _compact(self) -> None:
        """Sort what is held."""
        if self._parts:
            self._parts = [_in_order(*_joined(self._parts))]
            self._held = len(self._parts[0][0])

    def _spill(self) -> None:
        """Append what is held to the file, as a run."""
        self._compact()
        keys, similarities = self._parts.pop()
        self._held = 0
        with spilling(str(self._work.place)):
            if self._file is None:
                self._file = self._work.scratch()
            begin = len(self._file) // 2
            self._file.append(_packed(keys, similarities))
        if self._runs and keys[0] > self._last:
            begin, _ = self._runs.pop()
        self._runs.append((begin, len(self._file) // 2))
        self._last = keys[-1]
        self.spilled += _BYTES * len(keys)

    def _merged(self) -> Iterator[Keyed]:
        """All in order, each once."""
        if not self._runs:
            self._compact()
            yield from self._parts
            return
        if self._parts:
            self._spill()
        assert self._file is not None
        size = max(_LEAST, min(STRETCH, self._most // (2 * len(self._runs))))
        runs = [_SortedRun(self._file, begin, end, size) for begin, end in self._runs]
        while runs := [run for run in runs if run.more()]:
            first, last = (np.array([run.keys[end] for run in runs]) for end in (0, -1))
            limit = last.min()
            reached = [runs[place] for place in np.flatnonzero(first <= limit)]
            yield _in_order(*_joined([run.take_to(limit) for run in reached]))


class _SortedRun:
    """A sorted run that is read block by block: `keys` and `similarities` are what is held of it."""

    def __init__(self, file: Words, begin: int, end: int, size: int) -> None:
        self._file, self._next, self._end, self._size = file, begin, end, size
        self.keys: U64Array = np.empty(0, np.uint64)
        self.similarities: F64Array = np.empty(0, np.float64)

    def more(self) -> bool:
        """Whether anything is left; the next block is read when the last one was taken."""
        if not len(self.keys) and self._next < self._end:
            stop = min(self._end, self._next + self._size)
            self.keys, self.similarities = _unpacked(self._file.read(2 * self._next, 2 * stop))
            self._next = stop
        return len(self.keys) > 0

    def take_to(self, limit: np.uint64) -> Keyed:
        """Give out what is held up to a key."""
        count = int(np.searchsorted(self.keys, limit, side="right"))
        taken = self.keys[:count], self.similarities[:count]
        self.keys, self.similarities = self.keys[count:], self.similarities[count:]
        return taken


def _keys(left: I64Array, right: I64Array) -> U64Array:
    return (left.astype(np.uint64) << _HALF) | right.astype(np.uint64)


def _joined(parts: list[Keyed]) -> Keyed:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([keys for keys, _ in parts]), np.concatenate([similarities for _, similarities in parts])


def _in_order(keys: U64Array, similarities: F64Array) -> Keyed:
    """Sorted, each key once: equal keys have equal similarities."""
    if (keys[1:] > keys[:-1]).all():
        return keys, similarities
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    fresh = np.ones(len(keys), np.bool_)
    fresh[1:] = keys[1:] != keys[:-1]
    if fresh.all():
        return keys, similarities[order]
    return keys[fresh], similarities[order[fresh]]


def _packed(keys: U64Array, similarities: F64Array) -> U64Array:
    """Keys and similarities in turn."""
    words = np.empty((len(keys), 2), np.uint64)
    words[:, 0], words[:, 1] = keys, similarities.view(np.uint64)
    return words


def _unpacked(words: U64Array) -> Keyed:
    keys, similarities = np.ascontiguousarray(words.reshape(-1, 2).T)
    return keys, similarities.view(np.float64)
