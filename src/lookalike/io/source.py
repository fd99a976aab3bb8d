"""What the program sees of its input: batches of rows with running numbers, read again at will."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.budget import Budget
from lookalike.errors import InputError, ItemError

BATCH_ROWS = 65_536
# 16 MiB of text is 0.05 s of tokenising on one core: little to hold, long enough that calls cost nothing.
BATCH_BYTES = 16 << 20
# Text that all threads hold at once, one batch each: many threads are no reason for a program to take gigabytes.
_IN_FLIGHT = 128 << 20

OnRead = Callable[[int], None]
Flags = npt.NDArray[np.bool_]

__all__ = [
    "BATCH_BYTES",
    "BATCH_ROWS",
    "Batch",
    "Flags",
    "OnRead",
    "Piece",
    "Source",
    "batch_bytes_for",
    "cut",
    "describe",
    "held",
    "locate",
    "locating",
    "one_at_a_time",
    "remarks_on",
]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of one input file (or, for text files, consecutive files: each is one row).

    Attributes:
        first: the running number of the first row, over all inputs.
        file: index of the file in `Source.files`; 0 for memory.
        row: number of the first row inside that file, from 0.
        rows: the columns asked for, in the order asked for.
    """

    first: int
    file: int
    row: int
    rows: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive rows of one input, the unit of work: whoever takes it reads it, on any thread, once.

    Attributes:
        first: the running number of its first row.
        count: how many rows it has.
        weight: roughly the bytes that its rows take when they are read.
        load: reads its rows, some at a time.
    """

    first: int
    count: int
    weight: int
    load: Callable[[], Iterator[Batch]]


class Source(Protocol):
    """An input that can be read any number of times and always gives the same rows in the same order."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files as they were given; empty for memory."""

    @property
    def skipped(self) -> int:
        """How many bad rows were left out; final after the first full pass."""

    @property
    def bad(self) -> list[str]:
        """The first few messages of rows left out, "file:line: why"."""

    @property
    def natural_id(self) -> str | None:
        """The column that names the rows by the nature of the input: a dict's keys, paths of texts."""

    def first_rows(self) -> Sequence[int]:
        """The running number of the first row of each file."""

    def schema(self) -> pa.Schema:
        """Names and types of the columns of the first input."""

    def full_schema(self) -> pa.Schema:
        """Names and types of the columns over all inputs; may read everything."""

    def count(self) -> int | None:
        """The number of rows, where it is known without reading them."""

    def size(self) -> int | None:
        """The number of bytes that a pass reads, as told to `on_read`."""

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """Read the rows.

        Args:
            columns: names of the columns to read; all of them when None. Columns asked for by name come
                without dictionary encoding or string views. Text is `string` or `large_string` where it is
                valid UTF-8 and `binary` or `large_binary` where it is not, batch by batch.
            on_read: called with the number of bytes read since the last call.
            expect: types that columns must have. `pa.string()` stands for text of any width. A JSONL row
                of another type is a bad row; a file with another type is an `InputError`.
            only: flags over running numbers. Batches without a flagged row may be left out, so that
                their part of the file is not decoded; the numbers of the others stay as they are.
        """

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Piece]:
        """The same rows in pieces that several threads can read at once; `on_read` is called by one at a time."""

    def locate(self, number: int) -> tuple[int, int]:
        """The file (index) and the row in it of a running number."""


def held(batches: Iterable[Batch]) -> Iterator[Piece]:
    """Batches that are read already, as pieces."""
    for batch in batches:
        yield Piece(batch.first, batch.rows.num_rows, int(batch.rows.nbytes), partial(iter, (batch,)))


def one_at_a_time(on_read: OnRead | None) -> OnRead:
    """What is told how much was read, by several threads."""
    if on_read is None:
        return lambda _: None
    lock = threading.Lock()

    def told(amount: int) -> None:
        with lock:
            on_read(amount)

    return told


def locate(source: Source, number: int) -> tuple[int, int]:
    """The file (index into `source.files`) and the row in that file of a running row number."""
    return source.locate(number)


def describe(source: Source, number: int) -> str:
    """Where a running row number is, for a message: "crawl.jsonl row 17", or "item 17" for memory."""
    if not source.files:
        return f"item {number}"
    file, row = source.locate(number)
    return f"{source.files[file]} row {row}"


@contextlib.contextmanager
def locating(batch: Batch, source: Source, rows: npt.NDArray[np.int64] | None = None) -> Iterator[None]:
    """Say of an error about an item of a batch which row it is; item i is in row rows[i], or in row i of the batch."""
    try:
        yield
    except ItemError as error:
        row = batch.first + error.position if rows is None else int(rows[error.position])
        raise InputError(f"{describe(source, row)}: {error}") from error


def remarks_on(*sources: Source | None) -> tuple[str, ...]:
    """What users should know of how the files of some sources were read: an encoding, sheets that were not."""
    return tuple(remark for source in sources for remark in getattr(source, "remarks", ()))


def batch_bytes_for(memory: int, threads: int) -> int:
    """How large a batch may be: several are in flight for each thread, and each needs a few times its text."""
    return max(1 << 20, min(BATCH_BYTES, _IN_FLIGHT // threads, Budget(memory, threads).text_batch))


def cut(rows: pa.RecordBatch, most_rows: int, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slices of a batch (no copies) that hold at most so many rows and, above one row, so many bytes."""
    for start in range(0, rows.num_rows, most_rows):
        waiting = [rows.slice(start, most_rows)]
        while waiting:
            part = waiting.pop()
            if part.num_rows > 1 and part.nbytes > most_bytes:
                half = part.num_rows // 2
                waiting += [part.slice(half), part.slice(0, half)]
            else:
                yield part
