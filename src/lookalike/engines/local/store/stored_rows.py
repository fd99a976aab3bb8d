"""Rows of 64-bit words, each as long as was said beforehand: the sets that verification compares.

All lengths are known before the first row comes (sketching counted them), so every row has its place from the start: in
one array, or, when that would not fit, in one file. Nothing is copied together afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lookalike.engines.local.store.words import read_words, write_words
from lookalike.kernels.jit import kernel
from lookalike.types import I64Array, U64Array

__all__ = ["StoredRows", "copy_stretch"]

_WORD = 8
# Rows of a file that lie closer together than this are read in one go: a seek costs more than 64 kB in sequence.
_GAP_WORDS = (64 << 10) // _WORD


@kernel(
    "void(Array(uint64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "uint64[::1])"
)
def copy_stretch(words, begins, offsets, out):
    """out[offsets[i] : offsets[i + 1]] = words[begins[i] : …] for each i."""
    for i in range(len(begins)):
        shift = begins[i] - offsets[i]
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = words[j + shift]


class StoredRows:
    """Row i has lengths[i] words. `file` makes it a file; otherwise it is held in memory."""

    def __init__(self, lengths: I64Array, file: Path | None = None) -> None:
        self.offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=self.offsets[1:])
        self.file = file
        self._words = np.empty(int(self.offsets[-1]) if file is None else 0, np.uint64)
        self._handle: BinaryIO | None = None
        if file is not None:
            self._handle = file.open("w+b", buffering=0)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def in_memory(self) -> bool:
        return self.file is None

    @property
    def nbytes(self) -> int:
        return int(self.offsets[-1]) * _WORD

    def bytes_of(self, rows: I64Array) -> int:
        """What some rows take."""
        return _WORD * int((self.offsets[rows + 1] - self.offsets[rows]).sum())

    def put(self, first: int, end: int, words: U64Array) -> None:
        """Rows first … end - 1, one after another. Different rows may be put at the same time."""
        begin = self.offsets[first]
        assert self.offsets[end] - begin == len(words), "the rows are not as long as was said"
        if self._handle is None:
            self._words[begin : self.offsets[end]] = words
        else:
            write_words(self._handle.fileno(), words, int(begin))

    def take(self, first: int, end: int) -> tuple[I64Array, U64Array]:
        """(offsets, words) of the rows first … end - 1, offsets from 0."""
        begin, stop = int(self.offsets[first]), int(self.offsets[end])
        return self.offsets[first : end + 1] - begin, self._read(begin, stop)

    def whole(self) -> tuple[I64Array, U64Array]:
        """(offsets, words) of all rows; no copy of what is in memory."""
        return self.offsets, self._read(0, int(self.offsets[-1]))

    def gather(self, rows: I64Array) -> tuple[I64Array, U64Array]:
        """(offsets, words) of some rows, which must ascend."""
        begins, ends = self.offsets[rows], self.offsets[rows + 1]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(ends - begins, out=offsets[1:])
        words = np.empty(int(offsets[-1]), np.uint64)
        if self._handle is None:
            copy_stretch(self._words, begins, offsets, words)
            return offsets, words
        breaks = np.flatnonzero(begins[1:] - ends[:-1] > _GAP_WORDS) + 1
        for start, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), len(rows)], strict=True):
            if start < stop:
                low = int(begins[start])
                stretch = self._read(low, int(ends[stop - 1]))
                into = offsets[start : stop + 1]
                copy_stretch(stretch, begins[start:stop] - low, into - into[0], words[into[0] : into[-1]])
        return offsets, words

    def blocks(self, most_bytes: int) -> Iterator[tuple[int, int]]:
        """(first, end) of consecutive rows that hold no more than so many bytes, or one row that is larger."""
        first = 0
        while first < len(self):
            room = self.offsets[first] + max(1, most_bytes // _WORD)
            end = max(first + 1, int(np.searchsorted(self.offsets, room, side="right")) - 1)
            yield first, min(end, len(self))
            first = end

    def close(self) -> None:
        """Forget the rows, and remove the file."""
        self._words = np.empty(0, np.uint64)
        if self._handle is not None:
            self._handle.close()
            self._handle = None
        if self.file is not None:
            self.file.unlink(missing_ok=True)

    def _read(self, begin: int, stop: int) -> U64Array:
        if self._handle is None:
            return self._words[begin:stop]
        return read_words(self._handle.fileno(), begin, stop - begin)
