"""Edges as items: rows (from, to) or (from, to, weight) of any source become one set or bag for each end.

    user  item              user  items
    ann   tea               ann   [tea, milk]
    bob   tea        →      bob   [tea]
    ann   milk
    ann   tea

`of` names the column whose distinct values are the items, in the order of their first appearance; `by` the column of
their elements. Users by items, or items by users with the two swapped; vertices by neighbours with `undirected`, where
an edge counts both ways; users by events of a log. With a weight column an element is {"element": …, "weight": …}, and
the weights of repeated rows add up, in the order of the rows and in double precision.

Elements come as the values that were read, integers or text, though comparing needs only hashes: whoever looks at a
result can read them. Each distinct value is held once; lists are made of them batch by batch.

The source is read once, at the first pass. Held afterwards: the distinct values, and 4 bytes for each distinct pair (12
with weights), in memory or in a file (`adjacency.py`).
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError, OptionError
from lookalike.io.column_types import check_types, is_text
from lookalike.io.json_text import python_values
from lookalike.io.making.adjacency import AdjacencyRows, Edges
from lookalike.io.making.coding import Coder
from lookalike.io.reading.faults import FaultLog
from lookalike.io.reading.places import Place
from lookalike.io.source import BATCH_BYTES, BATCH_ROWS, Batch, Flags, OnRead, Piece, Source, held
from lookalike.types import BoolArray, F64Array, I32Array
from lookalike.wording.messages import missing_column

__all__ = ["EdgeSource", "open_edges"]

_ITEMS = "items"


def open_edges(
    source: Source,
    of: str,
    by: str,
    weight: str | None = None,
    *,
    undirected: bool = False,
    negative: bool = False,
    memory: int,
    folder: Path | None,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
) -> EdgeSource:
    """The items that the edges of a source make.

    Args:
        source: rows with one edge each. Bad edges are left out and counted if it leaves out bad rows.
        of: the column whose distinct values are the items; the column of that name holds them, and names the items.
        by: the column of the elements. They stand in the column `items` (or, where `of` is called that, `by`).
        weight: the column of weights: numbers, or text that is a number.
        undirected: each edge counts both ways. Edges from a vertex to itself are left out, and counted in `self_loops`.
        negative: whether weights may be below zero.
        memory: bytes that the edges may take, with their distinct values; above, edges go to a temporary file.
        folder: where that file is; the system's folder for temporary files if None.
        batch_rows, batch_bytes: how much a batch may hold.
    """
    schema = source.schema()
    named = [name for name in (of, by, weight) if name is not None]
    if len(set(named)) < len(named):
        raise OptionError(f"the columns of an edge must differ, not {', '.join(named)}")
    for name in named:
        if schema.get_field_index(name) < 0:
            raise InputError(missing_column(_name(source), name, schema.names))
    kinds = [_kind(source, schema, name) for name in (of, by)]
    if undirected and kinds[0] != kinds[1]:
        raise InputError(
            f"{_name(source)}: column '{of}' is {schema.field(of).type} and '{by}' is {schema.field(by).type}: "
            "the ends of undirected edges must be of one type"
        )
    return EdgeSource(source, named, kinds, undirected, negative, memory, folder, batch_rows, batch_bytes)


class EdgeSource:
    """A source whose rows are the distinct ends of another source's edges."""

    def __init__(
        self,
        source: Source,
        named: list[str],
        kinds: list[pa.DataType],
        undirected: bool,
        negative: bool,
        memory: int,
        folder: Path | None,
        batch_rows: int,
        batch_bytes: int,
    ) -> None:
        self._source = source
        self._named = named
        self._kinds = kinds
        self._undirected = undirected
        self._negative = negative
        self._memory = memory
        self._folder = folder
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        self._lists = _ITEMS if named[0] != _ITEMS else named[1]
        self._lock = threading.Lock()
        self._log = FaultLog(self.skips_bad)
        self._made: _Made | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the edges."""
        return self._source.files

    @property
    def places(self) -> list[Place]:
        """Where the edges are read from."""
        return list(getattr(self._source, "places", ()))

    @property
    def recipe(self) -> str:
        """What the items are made of, in a word."""
        return ",".join(self._named) + (" undirected" if self._undirected else "")

    @property
    def skips_bad(self) -> bool:
        """Whether bad rows are left out instead of raised."""
        return bool(getattr(self._source, "skips_bad", False))

    @property
    def skipped(self) -> int:
        """How many rows could not be read, or had an end or a weight missing or wrong."""
        return self._source.skipped + self._log.skipped

    @property
    def bad(self) -> list[str]:
        """The first few messages about them."""
        return [*self._source.bad, *self._log.messages]

    @property
    def self_loops(self) -> int:
        """Edges from a vertex to itself that were left out; known after the first pass."""
        return self._made.loops if self._made else 0

    @property
    def edges(self) -> int | None:
        """How many edges there are, repeated ones counted; both ways where undirected. None before the first pass."""
        return self._made.edges if self._made else None

    @property
    def spilled(self) -> bool:
        """Whether the edges did not fit the memory and are in a file."""
        return self._made is not None and self._made.spilled

    @property
    def natural_id(self) -> str | None:
        """An item is named by its end of the edges."""
        return self._named[0]

    def schema(self) -> pa.Schema:
        """The end that is the item, and the list of its elements."""
        return self._schema(*self._kinds)

    def _schema(self, of: pa.DataType, by: pa.DataType) -> pa.Schema:
        element = by if len(self._named) == 2 else _weighted(by)
        return pa.schema([(self._named[0], of), (self._lists, pa.large_list(element))])

    def full_schema(self) -> pa.Schema:
        """The same, but bytes where text turned out not to be UTF-8."""
        made = self._make(None)
        return self._schema(made.ends.type, made.elements.type)

    def count(self) -> int | None:
        """The number of items, known after the first pass."""
        return len(self._made.ends) if self._made else None

    def size(self) -> int | None:
        """Bytes of the edges as they are stored."""
        return self._source.size()

    def first_rows(self) -> Sequence[int]:
        """An item is of the file in which it appears first."""
        return self._make(None).firsts

    def locate(self, number: int) -> tuple[int, int]:
        """The file in which an item appears first, and how many items did so before it."""
        made = self._make(None)
        if not 0 <= number < len(made.ends):
            raise IndexError(f"item {number} of {len(made.ends)}")
        return _locate(made.firsts, number)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """The items; see `Source.batches`. The first pass reads the edges, later ones what was made of them."""
        again = self._made is not None
        made = self._make(on_read)
        names = list(columns) if columns is not None else self.schema().names
        for name in names:
            if name not in self.schema().names:
                raise InputError(missing_column(_name(self), name, self.schema().names))
        check_types(_name(self), self.schema(), {name: kind for name, kind in (expect or {}).items() if name in names})
        told, size = 0, self.size() or 0
        for first, stop in made.stretches(self._batch_rows, self._batch_bytes):
            if only is None or only[first:stop].any():
                arrays = [made.column(name == self._lists, first, stop) for name in names]
                file, row = _locate(made.firsts, first)
                yield Batch(first, file, row, pa.RecordBatch.from_arrays(arrays, names=names))
            if again and on_read is not None:
                done = size * stop // len(made.ends)
                on_read(done - told)
                told = done

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Piece]:
        """The rows in pieces; see `Source.pieces`."""
        return held(self.batches(columns, on_read, expect=expect, only=only))

    def _make(self, on_read: OnRead | None) -> _Made:
        with self._lock:
            if self._made is None:
                self._log.skipped = 0
                self._log.messages.clear()
                self._made = self._read(on_read)
            return self._made

    def _read(self, on_read: OnRead | None) -> _Made:
        of = Coder(self._kinds[0])
        by = of if self._undirected else Coder(self._kinds[1])
        coders = [of] if self._undirected else [of, by]
        edges = Edges(len(self._named) == 3, self._memory, self._folder)
        loops, seen = 0, [0] * max(1, len(self.files))
        # A row of another type is a bad row of JSONL. Weights are taken as they come.
        expect = dict(zip(self._named, map(_expected, self._kinds), strict=False))
        for batch in self._source.batches(self._named, on_read, expect=expect):
            left, right, weights = self._good(batch)
            if self._undirected:
                apart = _differ(left, right)
                loops += int(len(apart) - apart.sum())
                items, elements, weights = _both_ways(of, left, right, weights, apart)
            else:
                items, elements = of.codes(left), by.codes(right)
            edges.add(items, elements, weights, sum(coder.nbytes for coder in coders))
            seen[batch.file] = len(of)
        total = len(edges)
        for coder in coders:
            coder.close()
        rows = edges.rows(len(of), len(by), sum(coder.nbytes for coder in coders))
        firsts = [0, *accumulate(seen[:-1], max)]
        return _Made(of.values(), by.values(), rows, firsts, total, loops, edges.spilled)

    def _good(self, batch: Batch) -> tuple[pa.Array, pa.Array, F64Array | None]:
        """The ends and weights of the edges that have both ends and a right weight."""
        ends = batch.rows.columns[:2]
        missing = [_missing(end) for end in ends]
        weights, wrong = None, np.zeros(batch.rows.num_rows, np.bool_)
        if len(self._named) == 3:
            where = _name(self._source, batch.file)
            weights = _numbers(batch.rows.column(2), f"{where}: column '{self._named[2]}'")
            wrong = ~np.isfinite(weights) if self._negative else ~(np.isfinite(weights) & (weights >= 0))
        bad = missing[0] | missing[1] | wrong
        if not bad.any():
            return *ends, weights
        for row in np.flatnonzero(bad).tolist():
            if not self._log.telling:
                break
            place = f"{self.files[batch.file]} row {batch.row + row}" if self.files else f"item {batch.first + row}"
            end = next((name for name, gone in zip(self._named, missing, strict=False) if gone[row]), None)
            weight = self._named[-1]
            what = (
                f"has no '{end}'"
                if end
                else f"has the {weight} {python_values(batch.rows.column(2).slice(row, 1))[0]!r}"
            )
            rule = "" if end else f"; a weight is a number{'' if self._negative else ' from 0 on'}"
            if not self._log.skip:
                raise InputError(f"{place} {what}{rule}")
            self._log.messages.append(f"{place} {what}{rule}")
        self._log.skipped += int(bad.sum())
        good = pa.array(~bad)
        return ends[0].filter(good), ends[1].filter(good), None if weights is None else weights[~bad]


@dataclass(frozen=True, slots=True)
class _Made:
    """What was made of the edges: the items, all elements, and the rows of codes of elements."""

    ends: pa.Array
    elements: pa.Array
    rows: AdjacencyRows
    firsts: list[int]
    edges: int
    loops: int
    spilled: bool

    def stretches(self, most_rows: int, most_bytes: int) -> Iterator[tuple[int, int]]:
        """(first, stop) of the items that make a batch: of one file, and not too many or too large."""
        each = self.elements.nbytes / max(1, len(self.elements)) + (8 if self.rows.weights is None else 16)
        starts, most = self.rows.starts, max(1, int(most_bytes / each))
        first = 0
        while first < len(self.ends):
            file = bisect_right(self.firsts, first)
            end = self.firsts[file] if file < len(self.firsts) else len(self.ends)
            fits = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
            stop = max(first + 1, min(end, first + most_rows, fits))
            yield first, stop
            first = stop

    def column(self, lists: bool, first: int, stop: int) -> pa.Array:
        """The items first … stop - 1, or the lists of their elements."""
        if not lists:
            return self.ends.slice(first, stop - first)
        starts = self.rows.starts[first : stop + 1]
        begin, end = int(starts[0]), int(starts[-1])
        elements = self.elements.take(pa.array(self.rows.elements.read(begin, end)))
        if self.rows.weights is not None:
            weights = pa.array(self.rows.weights.read(begin, end))
            elements = pa.StructArray.from_arrays([elements, weights], fields=list(_weighted(elements.type)))
        return pa.LargeListArray.from_arrays(pa.array(starts - begin), elements)


def _weighted(element: pa.DataType) -> pa.StructType:
    return pa.struct([("element", element), ("weight", pa.float64())])


def _name(source: Source, file: int = 0) -> str:
    return source.files[file] if source.files else "items"


def _kind(source: Source, schema: pa.Schema, name: str) -> pa.DataType:
    """How the values of a column are coded and given."""
    kind = schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if is_text(kind):
        return pa.large_string()
    if pa.types.is_integer(kind):
        return pa.uint64() if kind == pa.uint64() else pa.int64()
    raise InputError(f"{_name(source)}: column '{name}' is {kind}: the ends of edges must be integers or text")


def _expected(kind: pa.DataType) -> pa.DataType:
    return pa.string() if kind == pa.large_string() else kind


def _locate(firsts: list[int], number: int) -> tuple[int, int]:
    file = bisect_right(firsts, number) - 1
    return file, number - firsts[file]


def _missing(ends: pa.Array) -> BoolArray:
    """Null, or empty text, which is all that CSV has for it."""
    gone = ends.is_null()
    if is_text(ends.type) and not pa.types.is_null(ends.type):
        gone = pc.or_(gone, pc.equal(pc.binary_length(ends), 0).fill_null(True))
    missing: BoolArray = gone.to_numpy(zero_copy_only=False)
    return missing


def _numbers(column: pa.Array, where: str) -> F64Array:
    """Weights as numbers; NaN for what is none."""
    if not is_text(column.type):
        try:
            numbers: F64Array = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"{where} is {column.type}: weights must be numbers") from None
        return numbers
    try:
        return pc.fill_null(column.cast(pa.string()).cast(pa.float64()), np.nan).to_numpy()  # type: ignore[no-any-return]
    except pa.ArrowInvalid:
        return np.array([_number(text) for text in python_values(column)], np.float64)


def _number(text: str | bytes | None) -> float:
    try:
        return np.nan if text is None else float(text)
    except ValueError:
        return np.nan


def _differ(left: pa.Array, right: pa.Array) -> BoolArray:
    if is_text(left.type):
        left, right = left.cast(pa.large_binary()), right.cast(pa.large_binary())
    apart: BoolArray = pc.not_equal(left, right).to_numpy(zero_copy_only=False)
    return apart


def _both_ways(
    coder: Coder, left: pa.Array, right: pa.Array, weights: F64Array | None, apart: BoolArray
) -> tuple[I32Array, I32Array, F64Array | None]:
    """Each edge and its reverse, one after the other, so that vertices are coded in the order of the rows."""
    kind = pa.large_binary() if coder.kind == pa.large_string() else coder.kind
    chosen = np.flatnonzero(apart)
    order = np.column_stack([chosen, chosen + len(left)]).ravel()
    ends = pa.concat_arrays([left.cast(kind), right.cast(kind)]).take(pa.array(order))
    pairs = coder.codes(ends).reshape(-1, 2)
    twice = None if weights is None else np.repeat(weights[apart], 2)
    return pairs.ravel(), np.ascontiguousarray(pairs[:, ::-1]).ravel(), twice
