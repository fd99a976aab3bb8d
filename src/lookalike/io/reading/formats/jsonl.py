"""JSONL: one JSON object per line.

A block of whole lines goes through Arrow's parser, told the types of the wanted columns so that it can pass
over all others (500 MB/s a core; 270 with reading, cutting and checking UTF-8). Only a block that the parser
refuses is parsed again, line by line (`json_rows`, 140 MB/s), to name the bad line or to settle what Arrow
can not.

The types of columns:

- A column that the caller expects to be of a type has that type; a row with another is a bad row.
- Otherwise each block has the type of its values, and a block of mixed values is text (`columns.merge_json`).
- When all columns are read, the whole input is looked through first, so that all batches have one schema. Rows
  that share too few keys to make a table are refused then (`io/reading/cell_limits.py`).

Strings are never taken for dates, whatever they look like. Integers beyond 64 bits are text. Of a repeated
key the last value counts. A key that a row lacks is null; a column must be in the first block of its file.
Blank lines are no rows. A row that is nested too deep for parsers is a bad row (`io/reading/depth.py`). Arrow makes a
cell of every row and key of a block, so where rows share few keys it is not asked for all of them
(`io/reading/field_counts.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from lookalike.errors import InputError
from lookalike.io.column_types import bytes_of, honest, merge_json
from lookalike.io.json_text import record_lines
from lookalike.io.reading.blocks import Block, Lines, blocks, lines_of, pick
from lookalike.io.reading.cell_limits import Extent, check_columns, fields_in, rows_at_once
from lookalike.io.reading.depth import DEEPEST, too_deep
from lookalike.io.reading.faults import FaultLog, Faults
from lookalike.io.reading.field_counts import few_cells
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.formats.json_rows import array_of, objects, types_of, wrong_type
from lookalike.io.reading.line_ranges import LineRange, Span, spans
from lookalike.io.reading.places import Place
from lookalike.io.source import OnRead
from lookalike.threads.ordered import ordered_map
from lookalike.wording.messages import missing_column

_PARSE_BYTES = 1 << 20
_LARGEST_LINE = 2**31 - 2**24
_EXACT_FLOAT = 2.0**53
_WRITE_ROWS = 16_384

__all__ = ["JsonlSink", "Parser", "count", "pieces", "report_unfit", "scan", "schema", "tally"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The keys of the first block with the types of their values."""
    faults = Faults(FaultLog(skip_bad))
    for block in _blocks(place, faults):
        types = _block_types(place, block, faults)
        if types:
            return pa.schema(list(types.items()))
    return pa.schema([])


def count(place: Place) -> int | None:
    """Not known without reading."""
    return None


def tally(place: Place, on_read: OnRead | None = None, ranges: list[LineRange] | None = None) -> int:
    """The number of lines that are not blank, without parsing them."""
    return sum(span.rows for span in spans(place, None, on_read, ranges, blank=False))


def scan(place: Place, faults: Faults, limit: int | None = None) -> tuple[pa.Schema, Extent]:
    """The keys of the whole file, or of its first rows, with the types that hold all their values; and how much it is.

    Raises:
        InputError: if there are more keys than could be columns of any table.
    """
    types: dict[str, Any] = {}
    rows = size = 0
    for block in _blocks(place, faults):
        for name, kind in _block_types(place, block, faults).items():
            types[name] = merge_json(types.get(name, pa.null()), kind)
        faults.settle(block.end)
        rows += len(_rows_of(block, faults))
        size += len(block.data)
        check_columns(place.name, types.values(), Extent())
        if limit is not None and rows >= limit:
            rows = limit
            break
    return pa.schema(list(types.items())), Extent(rows, size)


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order; a piece per block.

    A line that is not blank is a row, or an error. Only where bad rows are left out does it take parsing to know which
    they are, once.
    """
    parser = Parser(place, reading)
    found = spans(place, reading.faults, reading.on_read, reading.ranges, blank=False)
    row = 0
    if reading.faults.log.skip:
        for span, judged in ordered_map(parser.judge, found, reading.threads):
            if judged is None:
                piece = _piece(parser, span, row)
            else:
                reading.faults.absorb(judged.faults)
                piece = FilePiece(row, judged.rows, partial(iter, judged.batches), span.size)
            reading.faults.settle(span.end)
            if piece.count:
                yield piece
            row += piece.count
        return
    for span in found:
        reading.faults.settle(span.end)
        if span.rows:
            yield _piece(parser, span, row)
        row += span.rows


def _piece(parser: Parser, span: Span, row: int) -> FilePiece:
    reading = parser.reading
    wanted = reading.columns != () and reading.wanted(row, span.rows)
    return FilePiece(row, span.rows, partial(parser.load, span) if wanted else None, span.size)


def _rows_of(block: Block, faults: Faults) -> Lines:
    """The lines that are rows, as far as is known."""
    return lines_of(block, blank=False, without=faults.places)


class JsonlSink:
    """Writes tables as JSONL."""

    def __init__(self, out: Any, schema: pa.Schema) -> None:
        self._out = out

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows, a line each."""
        for start in range(0, rows.num_rows, _WRITE_ROWS):
            self._out.write(bytes_of(record_lines(rows.slice(start, _WRITE_ROWS))))

    def close(self) -> None:
        """Nothing is held back."""


def _blocks(place: Place, faults: Faults) -> Iterator[Block]:
    for block in blocks(place, faults):
        report_unfit(place, block, faults)
        yield block


def report_unfit(place: Place, block: Block, faults: Faults) -> None:
    """Tell of what no parser may see."""
    if block.line == 1 and place.name.lower().endswith(".json") and block.data.lstrip()[:1] == b"[":
        raise InputError(
            f"{place.name}: holds one JSON array, but one object per line is needed (jq -c '.[]' converts it)"
        )
    for number in too_deep(block).tolist():
        faults.report(number, f"{place.name}:{number}: nested more than {DEEPEST} levels deep")


def _block_types(place: Place, block: Block, faults: Faults) -> dict[str, Any]:
    rows = _rows_in(block)
    if not faults.places and rows is not None and few_cells(block):
        try:
            # One thread: with more, the order of keys that only some rows have is not the same every time.
            table = _read(block.data, None, "infer", threads=False)
            if table.num_rows == rows and not _lossy(table):
                return {field.name: _undated(field.type) for field in table.schema}
        except (pa.ArrowInvalid, UnicodeDecodeError):
            pass
    return types_of(row for _, row in objects(block, place.name, faults))


@dataclass(frozen=True, slots=True)
class _Judged:
    """What was found in lines that no pass had looked at: rows, and bad ones."""

    faults: Faults
    rows: int
    batches: list[pa.RecordBatch]


class Parser:
    """Parses the blocks of one file, in any order and on any thread: each is parsed as if there was no other."""

    def __init__(self, place: Place, reading: Reading) -> None:
        self.place = place
        self.reading = reading
        self._columns = reading.columns if reading.columns is not None else tuple(reading.fixed)

    def load(self, span: Span) -> Iterator[pa.RecordBatch]:
        """The rows of lines of which the number is known."""
        found = 0
        for block in self._narrow(span.load()):
            rows = self.parse(block, self.reading.faults)
            found += rows.num_rows
            yield rows
        if found != span.rows:
            raise InputError(f"{self.place.name}:{span.line}: {found} rows instead of {span.rows}")

    def judge(self, span: Span) -> tuple[Span, _Judged | None]:
        """Lines with what is found in them, unless an earlier pass looked at them: bad rows are left out."""
        if span.end <= self.reading.faults.judged:
            return span, None
        faults, batches, rows = self.reading.faults.apart(), [], 0
        for block in self._narrow(span.load()):
            if self.reading.columns == ():
                report_unfit(self.place, block, faults)
                _block_types(self.place, block, faults)
                rows += len(_rows_of(block, faults))
            else:
                batches.append(self.parse(block, faults))
                rows += batches[-1].num_rows
        return span, _Judged(faults, rows, batches)

    def _narrow(self, block: Block) -> Iterator[Block]:
        """The block; when all columns are read, cut so that their cells fit."""
        if self.reading.columns is not None:
            return iter((block,))
        return block.cut(rows_at_once(sum(map(fields_in, self.reading.fixed.values()))))

    def parse(self, block: Block, faults: Faults) -> pa.RecordBatch:
        """The rows of a block, without bad ones."""
        report_unfit(self.place, block, faults)
        checked = self.reading.checked or self.reading.columns is None or block.line > 1
        if len(block.data) >= _LARGEST_LINE:
            raise InputError(f"{self.place.name}:{block.line}: a line of more than 2 GB cannot be read")
        data, expected = self._good(block, faults)
        if expected is None:
            return self._slow(block, checked, faults)
        if data.isspace() or not data:
            return _batch(pa.table({name: pa.nulls(0, self._type(name)) for name in self._columns}))
        for attempt in (self._told, self._inferred):
            if attempt == self._inferred and not few_cells(block):
                break
            try:
                table = attempt(data, checked)
                if table is not None and table.num_rows == expected and not _lossy(table, self.reading.fixed):
                    return _batch(table)
            except (pa.ArrowException, UnicodeDecodeError):  # also for a key that is not UTF-8
                continue
        return self._slow(block, checked, faults)

    def _good(self, block: Block, faults: Faults) -> tuple[bytes, int | None]:
        """The block without lines that are known to be bad, and how many rows are left, None if not all are objects."""
        known = faults.places
        if not known or known.isdisjoint(range(block.line, block.end)):
            return block.data, _rows_in(block)
        lines = lines_of(block, blank=False, without=known)
        return b"".join(pick(block, lines, np.ones(len(lines), np.bool_))), _rows_in(block, lines)

    def _type(self, name: str) -> Any:
        return self.reading.fixed.get(name, self.reading.guess.get(name, pa.null()))

    def _told(self, data: bytes, checked: bool) -> pa.Table | None:
        """Parse with all types given: by the caller, or as in the first block of the input.

        A guessed type with fields is no use: fields that only this block has would be passed over.
        """
        for name in self._columns:
            if name not in self.reading.fixed and "struct" in str(self.reading.guess.get(name, "struct")):
                return None
        if not checked:
            return None
        return self._read(data, pa.schema([(name, self._type(name)) for name in self._columns]), "ignore")

    def _inferred(self, data: bytes, checked: bool) -> pa.Table:
        """Parse with the types that Arrow finds, except for dates."""
        told = {name: self.reading.fixed[name] for name in self._columns if name in self.reading.fixed}
        table = self._read(data, pa.schema(list(told.items())) if told and checked else None, "infer")
        if not checked:
            self._check(table.schema.names)
        found = {field.name: field.type for field in table.schema}
        types = {name: told.get(name, _undated(found.get(name, pa.null()))) for name in self._columns}
        if any(found.get(name) != kind for name, kind in types.items()):
            return self._read(data, pa.schema(list(types.items())), "ignore")
        return table.select(list(self._columns))

    def _read(self, data: bytes, schema: pa.Schema | None, others: str) -> pa.Table:
        """Arrow's parser, on threads of its own only where ours have nothing to parse, and are more than one."""
        return _read(data, schema, others, threads=self.reading.alone and self.reading.threads > 1)

    def _check(self, names: list[str]) -> None:
        for column in self._columns:
            if column not in names:
                raise InputError(missing_column(self.place.name, column, names))

    def _slow(self, block: Block, checked: bool, faults: Faults) -> pa.RecordBatch:
        reading, name = self.reading, self.place.name
        rows = []
        for number, row in objects(block, name, faults):
            problem = wrong_type(row, reading.fixed, reading.strict)
            if problem:
                faults.report(number, f"{name}:{number}: {problem}")
            else:
                rows.append(row)
        if rows and not checked:
            self._check(list(dict.fromkeys(key for row in rows for key in row)))
        types = types_of(rows, [column for column in self._columns if column not in reading.fixed])
        arrays = [
            array_of([row.get(column) for row in rows], reading.fixed.get(column, types.get(column)))
            for column in self._columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(self._columns))


def _rows_in(block: Block, lines: Lines | None = None) -> int | None:
    """How many rows Arrow should find in a block, or in these lines of it; None if Arrow must not see it.

    A null where a row should be is a row for Arrow, and where it is the first of what a thread parses, the end of the
    process. So it gets nothing but lines that begin as objects do.
    """
    data = np.frombuffer(block.data, np.uint8)
    if lines is None:
        firsts = data[np.concatenate([np.zeros(1, np.int64), block.breaks[:-1] + 1])] if len(data) else data
        if (firsts == ord("{")).all():
            return block.count
        lines = lines_of(block, blank=False, without=set())
    for start, end in zip(lines.starts.tolist(), lines.ends.tolist(), strict=True):
        if data[start] != ord("{") and not block.data[start:end].lstrip().startswith(b"{"):
            return None
    return len(lines)


def _read(data: bytes, schema: pa.Schema | None, others: str, *, threads: bool) -> pa.Table:
    """Arrow's parser. A line longer than its blocks is met by one block for everything."""
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)
    try:
        return pj.read_json(
            pa.BufferReader(data), pj.ReadOptions(block_size=_PARSE_BYTES, use_threads=threads), options
        )
    except pa.ArrowInvalid as error:
        if "straddl" not in str(error):
            raise
    size = min(len(data) + 1, 2**31 - 1)
    return pj.read_json(pa.BufferReader(data), pj.ReadOptions(block_size=size, use_threads=threads), options)


def _batch(table: pa.Table) -> pa.RecordBatch:
    table.validate()  # lists of nothing but nulls come out of Arrow's parser too short
    columns = []
    for column in table.columns:
        whole = column.combine_chunks()
        columns.append(honest(whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole))
    return pa.RecordBatch.from_arrays(columns, names=table.schema.names)


def _undated(type: Any) -> Any:
    """The type without the timestamps that Arrow sees in strings."""
    if pa.types.is_timestamp(type):
        return pa.string()
    if pa.types.is_list(type):
        return pa.list_(_undated(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, _undated(field.type)) for field in type])
    return type


def _lossy(table: pa.Table, fixed: Any = ()) -> bool:
    """Whether a column of floats may be one of integers too large for 64 bits, whose digits are gone."""
    for field in table.schema:
        if field.name in fixed:
            continue
        column = table.column(field.name)
        if pa.types.is_list(field.type):
            column = pc.list_flatten(column)
        if pa.types.is_float64(column.type):
            largest = pc.max(pc.abs(column)).as_py()
            if largest is not None and largest >= _EXACT_FLOAT:
                return True
    return False
