"""Where the arrays of an index lie: in memory, or in the files of a folder (`index_folder.py`).

The log, segments and the table of recent items are plain arrays of bytes to whoever works with them. A medium makes
them, finds them again, and keeps the manifest, which says what belongs together. What is made is named in the manifest
before it is there, and what the manifest does not name any more is dropped after.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lookalike.types import U8Array, U64Array

__all__ = ["Medium", "MemoryMedium"]


class Medium(Protocol):
    """What a store needs of the place where its arrays lie."""

    name: str
    writable: bool
    # Whether arrays may be other than they were, so that checksums are worth a look.
    checks: bool
    # Words that all who have the index open share: see `log_store.py`.
    state: U64Array

    def make(self, name: str, nbytes: int) -> U8Array:
        """A new array of zeros, which stays."""
        ...

    def get(self, name: str) -> U8Array:
        """An array that was made, to be read."""
        ...

    def grow(self, name: str, nbytes: int) -> U8Array:
        """An array that was made, to be written, with so many bytes at the least."""
        ...

    def settle(self, name: str) -> int:
        """Have all of an array on the disk, for it will not change; its checksum."""
        ...

    def size(self, name: str) -> int:
        """How many bytes an array has, 0 if there is none."""
        ...

    def sync(self, name: str) -> None:
        """Have on the disk what was written to an array so far."""
        ...

    def written(self, name: str, begin: int, end: int) -> list[tuple[int, int]]:
        """The parts of an array, from one byte to before another, that are not known to be zeros."""
        ...

    def trim(self, name: str, nbytes: int) -> None:
        """An array will not be used beyond so many bytes."""
        ...

    def drop(self, name: str) -> None:
        """An array is not needed any more; who still has it may go on reading it."""
        ...

    def sync_state(self) -> None:
        """Have the shared words on the disk."""
        ...

    def save(self, manifest: dict[str, Any]) -> None:
        """Keep the manifest, in the place of the one before, in one step."""
        ...

    def load(self) -> dict[str, Any]:
        """The manifest."""
        ...

    def has_writer(self) -> bool:
        """Whether somebody else may be writing."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class MemoryMedium:
    """Arrays in the memory of this process, which are gone with it."""

    name = "memory"
    writable = True
    checks = False

    def __init__(self, manifest: dict[str, Any]) -> None:
        self._arrays: dict[str, U8Array] = {}
        self._manifest = manifest
        self.state: U64Array = np.zeros(8, np.uint64)

    def make(self, name: str, nbytes: int) -> U8Array:
        self._arrays[name] = np.zeros(nbytes // 8 + 1, np.uint64).view(np.uint8)[:nbytes]
        return self._arrays[name]

    def get(self, name: str) -> U8Array:
        return self._arrays[name]

    def grow(self, name: str, nbytes: int) -> U8Array:
        return self._arrays[name]

    def settle(self, name: str) -> int:
        return 0

    def size(self, name: str) -> int:
        return len(self._arrays[name])

    def sync(self, name: str) -> None:
        """Memory is all there is."""

    def written(self, name: str, begin: int, end: int) -> list[tuple[int, int]]:
        return [(begin, end)]

    def trim(self, name: str, nbytes: int) -> None:
        """Pages that were never touched take no memory."""

    def drop(self, name: str) -> None:
        self._arrays.pop(name, None)

    def sync_state(self) -> None:
        """Memory is all there is."""

    def save(self, manifest: dict[str, Any]) -> None:
        self._manifest = manifest

    def load(self) -> dict[str, Any]:
        return self._manifest

    def has_writer(self) -> bool:
        return False

    def close(self) -> None:
        self._arrays.clear()
