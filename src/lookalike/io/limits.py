"""How much may be held of what is read and copied, and how much rows hold.

The size of rows is counted by rules that do not depend on how they were cut into batches: fixed widths, the
bytes of texts, an offset for each text and list. So the size of two slices is the sum of theirs, and a row group
that is cut by size is cut at the same row whatever the batches were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.budget import Budget
from lookalike.errors import InputError, OptionError

# A text of 100 MB between short ones takes 0.45 GB to read and 0.55 GB to copy (Parquet, zstd; measured): its page
# compressed and not, the array that grows to hold it, the filtered array, and the page that is written.
_TIMES_HELD = 6
_LARGEST_GROUP = 1 << 30
_BATCH_BYTES = 4 << 20
_DECODED_BYTES = 6 << 20
_BATCH_ROWS = 16_384
_AHEAD_BYTES = 32 << 20
# A block of lines that is made, and one that waits to be written.
_AHEAD_OF_THREAD = 16 << 20
# Whatever the budget: a row of some megabytes is no reason to stop.
_ALWAYS = 64_000_000

__all__ = ["CopyRoom", "check_rows", "check_size", "check_whole", "most_at_once", "size_of"]


@dataclass(frozen=True, slots=True)
class CopyRoom:
    """What one copy may hold at once.

    Attributes:
        memory: bytes in all; None for the defaults, whatever that comes to.
        group: bytes of rows that are gathered for one row group of Parquet; None for the format's default.
        batch_rows, batch_bytes: how much is decoded at once; less than for kernels that are called once a batch.
        decoded_bytes: how much is decoded at once of a row group of Parquet.
        ahead: bytes that may wait to be written, where there are no row groups.
    """

    memory: int | None = None
    group: int | None = None
    batch_rows: int = _BATCH_ROWS
    batch_bytes: int = _BATCH_BYTES
    decoded_bytes: int = _DECODED_BYTES
    ahead: int = _AHEAD_BYTES

    @classmethod
    def of(cls, memory: int | None, threads: int = 1) -> CopyRoom:
        """The shares of a memory budget, for so many threads."""
        ahead = max(_AHEAD_BYTES, threads * _AHEAD_OF_THREAD)
        if memory is None:
            return cls(ahead=ahead)
        if memory < 1:
            raise OptionError(f"memory: {memory} is less than 1")
        budget = Budget(memory, 1)
        return cls(
            memory,
            max(1, min(_LARGEST_GROUP, budget.copied_group)),
            batch_bytes=max(1, min(_BATCH_BYTES, budget.copied_batch)),
            decoded_bytes=max(1, min(_DECODED_BYTES, budget.copied_decoded)),
            ahead=min(ahead, budget.copied_ahead),
        )

    def need(self, group: int) -> int:
        """Roughly the bytes that it takes to copy a file with row groups of this size."""
        return 3 * (group if self.group is None else min(group, self.group)) + 8 * self.batch_bytes


def size_of(rows: pa.RecordBatch) -> int:
    """The size of rows in bits; that of two slices is the sum of their sizes."""
    return sum(_bits(column) for column in rows.columns)


# Most columns of a table that has thousands are of these, and asking what a type is takes a microsecond a question.
_WIDTHS = {
    kind.id: kind.bit_width
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_())
}


def _bits(array: Any) -> int:
    kind, count = array.type, len(array)
    width = _WIDTHS.get(kind.id)
    if width is not None:
        return int(count * width)
    if not count or pa.types.is_null(kind):
        return 0
    if isinstance(array, pa.ExtensionArray):
        return _bits(array.storage)
    if pa.types.is_dictionary(kind):
        return count * int(kind.index_type.bit_width)
    if pa.types.is_struct(kind):
        return sum(_bits(array.field(index)) for index in range(kind.num_fields))
    if pa.types.is_fixed_size_list(kind):
        return _bits(array.values.slice(array.offset * kind.list_size, count * kind.list_size))
    wide = any(test(kind) for test in (pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_large_list))
    if any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_map)):
        first, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return count * (64 if wide else 32) + _bits(array.values.slice(first, end - first))
    if wide or pa.types.is_string(kind) or pa.types.is_binary(kind):
        width = np.dtype(np.int64 if wide else np.int32)
        ends = np.frombuffer(array.buffers()[1], width, count + 1, array.offset * width.itemsize)
        return 8 * (count * width.itemsize + int(ends[-1] - ends[0]))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return count * 128 + 8 * (pc.sum(pc.binary_length(array.cast(pa.large_binary()))).as_py() or 0)
    try:
        return count * int(kind.bit_width)
    except ValueError:
        return 8 * int(array.nbytes)


def check_rows(name: str, row: int, rows: pa.RecordBatch, memory: int | None) -> None:
    """Raise `InputError` if one of these rows, the first of which is `row` of a file, is too large alone."""
    if memory is None:
        return
    size = size_of(rows) // 8
    if size * _TIMES_HELD <= memory:
        return
    if rows.num_rows == 1:
        check_size(f"{name} row {row}: holds", size, memory)
    half = rows.num_rows // 2
    for start, count in ((0, half), (half, rows.num_rows - half)):
        if count:
            check_rows(name, row + start, rows.slice(start, count), memory)


def check_size(what: str, size: int, memory: int | None) -> None:
    """Raise `InputError` if something of so many bytes, which is held as a whole, is too large."""
    if memory is not None and size * _TIMES_HELD > memory:
        raise InputError(
            f"{what} {_amount(size)}, more than --memory allows; it needs about {_amount(size * _TIMES_HELD)}"
        )


def most_at_once(memory: int | None) -> int:
    """The bytes that one line, row or file may have, if it is held as a whole while it is read."""
    return 2**62 if memory is None else max(memory, _ALWAYS) // _TIMES_HELD


def check_whole(what: str, size: int, memory: int | None, *, hint: str = "") -> None:
    """Raise `InputError` if what is being read is larger than `most_at_once`; `size` is what was seen of it so far."""
    if size > most_at_once(memory):
        raise InputError(f"{what} holds more than {_amount(most_at_once(memory))}, the most that --memory allows{hint}")


def _amount(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
