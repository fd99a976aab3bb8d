"""64-bit words at places of a file: one with a name, or one without, which leaves nothing behind.

A file without a name is gone when nobody holds it any more, whatever ends the program. So what spills to it may be read
after its folder was removed, and a killed run has nothing to clean up.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path

import numpy as np

from lookalike.types import U64Array

__all__ = ["Words", "read_words", "write_words"]

_WORD = 8


class Words:
    """A file of words, held as long as this object is; `file` is a handle of the system."""

    def __init__(self, file: int) -> None:
        self._file = file
        weakref.finalize(self, os.close, file)

    @classmethod
    def nameless(cls, folder: Path) -> Words:
        """An empty file somewhere in a folder."""
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            return cls(os.dup(file.fileno()))

    @classmethod
    def create(cls, path: Path) -> Words:
        """An empty file; one that is there is emptied."""
        return cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666))

    @classmethod
    def open(cls, path: Path) -> Words:
        """A file that is there."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def __len__(self) -> int:
        return os.fstat(self._file).st_size // _WORD

    def append(self, words: U64Array) -> None:
        """Add words at the end."""
        write_words(self._file, words, len(self))

    def read(self, begin: int, end: int) -> U64Array:
        """The words begin … end - 1."""
        return read_words(self._file, begin, end - begin)


def write_words(file: int, words: U64Array, at: int) -> None:
    """Write words from the place `at` on."""
    data = np.ascontiguousarray(words).reshape(-1).view(np.uint8).data
    at *= _WORD
    while data:
        done = os.pwrite(file, data, at)
        data, at = data[done:], at + done


def read_words(file: int, at: int, count: int) -> U64Array:
    """Read so many words from the place `at` on."""
    words = np.empty(count, np.uint64)
    data = words.view(np.uint8).data
    at *= _WORD
    while data:
        done = os.preadv(file, [data], at)
        assert done, "the file is shorter than what was written to it"
        data, at = data[done:], at + done
    return words
