"""Room in memory: a long item is worked on alone, one that cannot fit is an error, and what is free is given back."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.budget import Budget
from lookalike.errors import InputError
from lookalike.io.source import Source, describe, locating
from lookalike.items.from_rows import ItemBatch, ItemPiece
from lookalike.measures import is_binary_like
from lookalike.types import I64Array

__all__ = ["Ceiling", "Room", "give_back_memory", "items_at_once", "peak_memory", "weight"]

# Bytes that it takes to read and shingle a byte of text in one row: about 14, and 6 for the next row of that length.
# With two rows of 100 MB a process reached 2.3 GB, of which 0.3 GB are there without any.
_FOR_A_BYTE = 18
# What the program itself holds, without any item: 0.2 to 0.3 GB.
_PROGRAM_BYTES = 200_000_000
_BETWEEN_CHECKS = 0.1  # seconds
# An item of a few megabytes is no reason to stop.
_ALWAYS = 64_000_000
_MOST_AT_ONCE = 32 << 20


def weight(piece: ItemPiece, each: int = 0) -> int:
    """What a piece takes in flight: its text, about three times that for its shingles, and `each` for every row."""
    return 4 * piece.weight + each * piece.rows


def items_at_once(memory: int, threads: int, each: int) -> int:
    """How many items a batch may have if `each` of them takes so many bytes, whatever its length.

    Several batches are in flight for each thread, in a quarter of the memory. More than a few megabytes of them make
    nothing faster.
    """
    return max(1, min(_MOST_AT_ONCE, Budget(memory, threads).batch) // max(1, each))


def give_back_memory(*, above: int = 0) -> None:
    """Return what was freed to the system, if the process holds more than `above` bytes.

    The C library and Arrow otherwise keep it for a stage that needs none.
    """
    if above and _resident() <= above:
        return
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _resident() -> int:
    """The bytes of memory that the process holds; 0 where the system does not tell."""
    try:
        # Asked for ten times a second, while other threads want the interpreter: so no more Python than it takes.
        handle = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(handle, 100).split()[1]) * mmap.PAGESIZE
    finally:
        os.close(handle)


def peak_memory() -> int:
    """The most bytes of memory that the process has held.

    What Linux tells about the use of resources begins with the process that this one was forked from.
    """
    with contextlib.suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in status if line.startswith("VmHWM:")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Ceiling:
    """Gives memory back when the process holds more than it should: allocators keep what was freed for a while."""

    def __init__(self, memory: int) -> None:
        self._most = memory + _PROGRAM_BYTES
        self._again = 0.0

    def check(self) -> None:
        """Look now and then whether too much is held."""
        now = time.monotonic()
        if now >= self._again:
            self._again = now + _BETWEEN_CHECKS
            give_back_memory(above=self._most)


class Room:
    """Lets batches with long items pass one at a time."""

    def __init__(self, memory: int, threads: int) -> None:
        self._memory = memory
        self._threads = threads
        self._side_by_side = Budget(memory, threads).side_by_side
        self._alone = threading.Lock()

    @contextlib.contextmanager
    def enter(self, batch: ItemBatch, source: Source, chosen: I64Array | None = None) -> Iterator[None]:
        """Wait until there is room for the batch, and say where an item is that the work on it fails for.

        `chosen` are the items of the batch that are worked on, if it is not all of them.
        """
        rows = batch.rows if chosen is None else batch.rows[chosen]
        with locating(batch.batch, source, rows), self._room_for(batch, source):
            yield

    @contextlib.contextmanager
    def _room_for(self, batch: ItemBatch, source: Source) -> Iterator[None]:
        # All together are soon told, and hardly ever too long.
        if _FOR_A_BYTE * batch.values.nbytes * self._threads <= self._side_by_side:
            yield
            return
        longest = _longest(batch.values)
        need = _FOR_A_BYTE * longest
        if need > max(self._memory, _ALWAYS):
            where = pc.index(pc.binary_length(batch.values), longest).as_py()
            place = describe(source, int(batch.rows[where]))
            raise InputError(
                f"{place}: the item holds {longest / 1e6:,.0f} MB, more than --memory allows; "
                f"it needs about {need / 1e9:,.1f} GB"
            )
        if need * self._threads <= self._side_by_side:
            yield
            return
        with self._alone:
            give_back_memory()
            yield


def _longest(values: pa.Array) -> int:
    """The bytes of the longest item."""
    return pc.max(pc.binary_length(values)).as_py() or 0 if is_binary_like(values.type) else 0
