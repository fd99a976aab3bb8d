"""Packed rows: many entries as one binary value, and one row for each place that they go to.

The idea. A row costs a cluster engine microseconds, whatever is in it; bytes cost hardly anything. So what belongs to a
thousand items and goes to the same task travels as one value, a blob of arrays, and a kernel sorts and groups it there.

A table between two stages has a column `p`, the number of where the row goes to, and a binary column for each kind of
blob; a row has a blob in one of these, and the other columns are null. So a stage that needs one kind reads one column.

The layout of a blob: four bytes with the length of the header, the header (JSON: name, type and length of each array),
then the arrays, each from a multiple of 8 bytes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.types import I64Array

__all__ = [
    "PLACE",
    "Arrays1D",
    "BatchWriter",
    "blobs",
    "by_number",
    "of_one_task",
    "pack",
    "read_kinds",
    "table_schema",
    "unpack",
    "widened",
]

PLACE = "p"
Arrays1D = dict[str, NDArray[Any]]
# Bytes of a record batch from which on it is handed over: the batches of 1 to 2 MB that Spark is quickest with.
_BATCH_BYTES = 1 << 21
_ALIGN = 8


def pack(arrays: Arrays1D) -> bytes:
    """Arrays as one value."""
    header = json.dumps([[name, array.dtype.str, len(array)] for name, array in arrays.items()]).encode()
    parts: list[bytes | memoryview] = [len(header).to_bytes(4, "little"), header, bytes(-(4 + len(header)) % _ALIGN)]
    for array in arrays.values():
        parts += [np.ascontiguousarray(array).data, bytes(-array.nbytes % _ALIGN)]
    return b"".join(parts)


def unpack(blob: bytes | memoryview) -> Arrays1D:
    """The arrays of a value, as copies: inside of a column they need not lie where a kernel may read them."""
    length = int.from_bytes(blob[:4], "little")
    at = 4 + length + (-(4 + length) % _ALIGN)
    arrays: Arrays1D = {}
    for name, kind, count in json.loads(bytes(blob[4 : 4 + length])):
        array = np.frombuffer(blob, np.dtype(kind), count, at).copy()
        arrays[name] = array
        at += array.nbytes + (-array.nbytes % _ALIGN)
    return arrays


def table_schema(kinds: Sequence[str]) -> pa.Schema:
    """The columns of a table with blobs of these kinds."""
    return pa.schema([pa.field(PLACE, pa.int64()), *(pa.field(kind, pa.binary()) for kind in kinds)])


def widened(batch: pa.RecordBatch, kinds: Sequence[str]) -> pa.RecordBatch:
    """The batch with columns for all of these kinds; those that it does not have are null."""
    columns = [batch.column(0)]
    for kind in kinds:
        at = batch.schema.get_field_index(kind)
        columns.append(batch.column(at) if at >= 0 else pa.nulls(batch.num_rows, pa.binary()))
    return pa.RecordBatch.from_arrays(columns, schema=table_schema(kinds))


def blobs(batches: Iterator[pa.RecordBatch], kind: str) -> Iterator[tuple[int, Arrays1D]]:
    """(p, arrays) of each blob of one kind."""
    for place, found in read_kinds(batches, [kind]):
        if kind in found:
            yield place, found[kind]


def read_kinds(batches: Iterator[pa.RecordBatch], kinds: Sequence[str]) -> Iterator[tuple[int, dict[str, Arrays1D]]]:
    """(p, the blobs that stand there by their kinds) of each row."""
    for batch in batches:
        places = batch.column(batch.schema.get_field_index(PLACE)).to_pylist()
        there = (kind for kind in kinds if kind in batch.schema.names)
        columns = {kind: batch.column(batch.schema.get_field_index(kind)) for kind in there}
        for row, place in enumerate(places):
            found = {}
            for kind, column in columns.items():
                buffer = column[row].as_buffer()
                if buffer is not None:
                    found[kind] = unpack(memoryview(buffer))
            yield place, found


def of_one_task(
    batches: Iterator[pa.RecordBatch], kinds: Sequence[str]
) -> tuple[int | None, dict[str, list[Arrays1D]]]:
    """(the p of all rows, the blobs of each kind) of what one task was brought; None where there is nothing."""
    task: int | None = None
    found: dict[str, list[Arrays1D]] = {kind: [] for kind in kinds}
    for place, row in read_kinds(batches, kinds):
        if task is not None and place != task:
            raise RuntimeError(f"rows of the tasks {task} and {place} were brought to one of them")
        task = place
        for kind, arrays in row.items():
            found[kind].append(arrays)
    return task, found


def by_number(numbers: NDArray[Any]) -> Iterator[tuple[int, I64Array]]:
    """(number, the places in which it stands, ascending) of each different number, ascending."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    borders = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(ordered)]
    for begin, end in pairwise(borders):
        if begin < end:
            yield int(ordered[begin]), order[begin:end]


class BatchWriter:
    """Collects blobs into record batches of a bounded size."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = list(kinds)
        self._rows: list[tuple[int, str, bytes]] = []
        self._bytes = 0

    def add(self, kind: str, place: int, arrays: Arrays1D) -> None:
        """One more blob, which goes to a place."""
        blob = pack(arrays)
        self._rows.append((place, kind, blob))
        self._bytes += len(blob)

    def full(self) -> Iterator[pa.RecordBatch]:
        """What was collected, if that is enough for a batch."""
        if self._bytes >= _BATCH_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What was collected."""
        if not self._rows:
            return
        rows, self._rows, self._bytes = self._rows, [], 0
        columns = [pa.array([place for place, _, _ in rows], pa.int64())]
        columns += [
            pa.array([blob if its == kind else None for _, its, blob in rows], pa.binary()) for kind in self._kinds
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=table_schema(self._kinds))
