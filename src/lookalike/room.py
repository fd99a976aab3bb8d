"""Room in memory: a long item is worked on alone, one that cannot fit is an error, and what is free is given back."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError
from lookalike.io.source import Source, describe
from lookalike.items import ItemBatch
from lookalike.measures import is_list

__all__ = ["Room", "give_back_memory", "weight"]

# Bytes that it takes to read and shingle a byte of text in one row: about 14, and 6 for the next row of that length.
# With two rows of 100 MB a process reached 2.3 GB, of which 0.3 GB are there without any.
_FOR_A_BYTE = 18
# An item of a few megabytes is no reason to stop.
_ALWAYS = 64_000_000


def weight(batch: ItemBatch) -> int:
    """What a batch takes while it is in flight: its text and, in about three times that, its shingles."""
    return 4 * int(batch.values.nbytes)


def give_back_memory() -> None:
    """Return what was freed to the system: the C library and Arrow otherwise keep it for a stage that needs none."""
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


class Room:
    """Lets batches with long items pass one at a time."""

    def __init__(self, memory: int, threads: int) -> None:
        self._memory = memory
        self._threads = threads
        self._alone = threading.Lock()

    @contextlib.contextmanager
    def enter(self, batch: ItemBatch, source: Source) -> Iterator[None]:
        """Wait until there is room for the batch."""
        longest, where = _longest(batch.values)
        need = _FOR_A_BYTE * longest
        if need > max(self._memory, _ALWAYS):
            place = describe(source, int(batch.rows[where]))
            raise InputError(
                f"{place}: the item holds {longest / 1e6:,.0f} MB, more than --memory allows; "
                f"it needs about {need / 1e9:,.1f} GB"
            )
        if need * self._threads <= self._memory // 2:
            yield
            return
        with self._alone:
            give_back_memory()
            yield


def _longest(values: pa.Array) -> tuple[int, int]:
    """The bytes of the longest item, and which it is."""
    if len(values) == 0 or is_list(values.type):
        return 0, 0
    lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    where = int(np.argmax(lengths))
    return int(lengths[where]), where
