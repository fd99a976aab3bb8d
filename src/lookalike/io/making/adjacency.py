"""Edges to rows: a counting sort of (item, element) pairs, in memory or through files.

Edges come in any order, as codes, and are kept as they come. When all are there, counting says where each item's row
begins, and a second walk puts every edge in its place: linear, and stable, so that a row lists its elements in the
order they came. A third walk leaves of each element the first in its row and adds up the weights.

Above the memory that is allowed the edges are in files without names (gone when nobody holds them, however a run ends),
and rows are made a part at a time: a part is consecutive items whose rows fit, and each part walks over all edges once.
A row that does not fit is a part of its own.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.io.writing.atomic import writing
from lookalike.kernels.jit import kernel
from lookalike.types import F64Array, I32Array, I64Array

__all__ = ["AdjacencyRows", "Edges", "Numbers", "count_items", "merge_rows", "place_edges"]

# Edges that a walk reads at once: 16 MB with weights.
_STEP = 1 << 20
# However little memory is left, a part is not smaller: each is a walk over all edges.
_LEAST_PART = 16 << 20


@kernel("void(Array(int32,1,'C',readonly=True), int64[::1])")
def count_items(items, counts):
    """counts[items[i]] += 1 for each i."""
    for i in range(len(items)):
        counts[items[i]] += 1


@kernel(
    "void(Array(int32,1,'C',readonly=True), Array(int32,1,'C',readonly=True), Array(float64,1,'C',readonly=True), "
    "int64, int64[::1], int32[::1], float64[::1])"
)
def place_edges(items, elements, weights, first, places, out, out_weights):
    """Put the edges of the items first, first + 1, … at places[item - first], which moves on by one.

    `weights` and `out_weights` are empty where there are none.
    """
    weighted = len(weights) > 0
    for i in range(len(items)):
        row = np.int64(items[i]) - first
        if row >= 0 and row < len(places):
            at = places[row]
            places[row] = at + 1
            out[at] = elements[i]
            if weighted:
                out_weights[at] = weights[i]


@kernel("int64(Array(int64,1,'C',readonly=True), int32[::1], float64[::1], int64[::1], int64[::1])")
def merge_rows(starts, elements, weights, last, sizes):
    """Leave each element of a row once, where it came first, with the sum of its weights; how many are left in all.

    Row r is elements[starts[r] : starts[r + 1]] before; afterwards the rows stand one after another from the beginning,
    row r with sizes[r] elements. last[e] must be -1 for every element, and is where it was put last.
    """
    weighted = len(weights) > 0
    count = 0
    for row in range(len(starts) - 1):
        begin = count
        for i in range(starts[row], starts[row + 1]):
            element = elements[i]
            at = last[element]
            if at < begin:
                last[element] = count
                elements[count] = element
                if weighted:
                    weights[count] = weights[i]
                count += 1
            elif weighted:
                weights[at] += weights[i]
        sizes[row] = count - begin
    return count


class Numbers:
    """Numbers of one type, appended and read again: in memory, until `spill` moves them to a file without a name."""

    def __init__(self, dtype: type[np.generic], folder: Path | None) -> None:
        self._dtype = np.dtype(dtype)
        self._folder = folder
        self._held: list[NDArray[Any]] = []
        self._starts = [0]
        self._file: Any = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._starts[-1]

    def append(self, numbers: NDArray[Any]) -> None:
        """Add numbers at the end."""
        if self._file is None:
            self._held.append(numbers)
            self._starts.append(len(self) + len(numbers))
        else:
            with self._writing():
                self._file.seek(0, 2)
                self._file.write(numbers.data)
                self._file.flush()
            self._starts = [len(self) + len(numbers)]

    def spill(self) -> None:
        """Move to a file."""
        if self._file is None:
            with self._writing():
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (held as long as this object is)
            weakref.finalize(self, self._file.close)
            held, self._held, self._starts = self._held, [], [0]
            for each in held:
                self.append(each)

    def read(self, begin: int, end: int) -> NDArray[Any]:
        """The numbers begin … end - 1."""
        if self._file is not None:
            with self._lock:
                self._file.seek(begin * self._dtype.itemsize)
                return np.fromfile(self._file, self._dtype, end - begin)
        if begin >= end:
            return np.empty(0, self._dtype)
        first = int(np.searchsorted(self._starts, begin, side="right")) - 1
        parts = []
        while begin < end:
            stop = min(end, self._starts[first + 1])
            parts.append(self._held[first][begin - self._starts[first] : stop - self._starts[first]])
            begin, first = stop, first + 1
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _writing(self) -> Any:
        return writing(f"temporary files to {self._folder or tempfile.gettempdir()}")


@dataclass(frozen=True, slots=True)
class AdjacencyRows:
    """Row i has the elements starts[i] … starts[i + 1] - 1, each once."""

    starts: I64Array
    elements: Numbers
    weights: Numbers | None


class Edges:
    """Edges as they come. `memory` is what they and their rows may take; above it they are in files in `folder`."""

    def __init__(self, weighted: bool, memory: int, folder: Path | None) -> None:
        self.spilled = False
        self._weighted = weighted
        self._memory = memory
        self._folder = folder
        self._columns = self._new()

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, items: I32Array, elements: I32Array, weights: F64Array | None, beside: int) -> None:
        """Append edges. `beside` are the bytes that something else takes of the memory."""
        given: list[NDArray[Any]] = [items, elements] if weights is None else [items, elements, weights]
        for column, numbers in zip(self._columns, given, strict=True):
            column.append(numbers)
        # An edge is held as it came and, while rows are made, once more without its item.
        each = 28 if self._weighted else 12
        if not self.spilled and len(self) * each + beside > self._memory:
            self.spilled = True
            for column in self._columns:
                column.spill()

    def rows(self, items: int, elements: int, beside: int) -> AdjacencyRows:
        """The rows of the items 0 … items - 1; the edges are used up."""
        counts = np.zeros(items, np.int64)
        for begin, end in self._steps():
            count_items(self._columns[0].read(begin, end), counts)
        sizes = np.zeros(items, np.int64)
        _, out, *out_weights = self._new()
        if self.spilled:
            for column in (out, *out_weights):
                column.spill()
        last = np.empty(elements, np.int64)
        for first, stop in self._parts(counts, beside + counts.nbytes + sizes.nbytes + last.nbytes):
            starts = np.zeros(stop - first + 1, np.int64)
            np.cumsum(counts[first:stop], out=starts[1:])
            row, weights = self._place(first, starts)
            last.fill(-1)
            count = merge_rows(starts, row, weights, last, sizes[first:stop])
            out.append(row[:count])
            for column in out_weights:
                column.append(weights[:count])
        self._columns = self._new()
        starts = np.zeros(items + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        return AdjacencyRows(starts, out, out_weights[0] if out_weights else None)

    def _place(self, first: int, starts: I64Array) -> tuple[I32Array, F64Array]:
        row = np.empty(int(starts[-1]), np.int32)
        weights = np.empty(len(row) if self._weighted else 0, np.float64)
        places = starts[:-1].copy()
        none = np.empty(0, np.float64)
        for begin, end in self._steps():
            items, elements, *rest = (column.read(begin, end) for column in self._columns)
            place_edges(items, elements, rest[0] if rest else none, first, places, row, weights)
        return row, weights

    def _parts(self, counts: I64Array, beside: int) -> Iterator[tuple[int, int]]:
        if not self.spilled:
            yield 0, len(counts)
            return
        ends = np.cumsum(counts)
        each = 12 if self._weighted else 4
        most = max(_LEAST_PART, self._memory - beside) // each
        first = 0
        while first < len(counts):
            before = int(ends[first - 1]) if first else 0
            stop = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
            yield first, stop
            first = stop

    def _steps(self) -> Iterator[tuple[int, int]]:
        for begin in range(0, len(self), _STEP):
            yield begin, min(begin + _STEP, len(self))

    def _new(self) -> list[Numbers]:
        dtypes: list[type[np.generic]] = [np.int32, np.int32, *([np.float64] if self._weighted else [])]
        return [Numbers(dtype, self._folder) for dtype in dtypes]
