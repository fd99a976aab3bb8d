"""CSV and TSV: a header line, then rows with as many cells as the header.

All columns are text; an empty cell is the empty string. Cells may be quoted and may then hold delimiters,
line breaks and doubled quotes. Empty lines are no rows. A row with more or fewer cells is a bad row.

Written files quote only the cells that need it, and end lines with a newline.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from lookalike.errors import InputError
from lookalike.io.columns import bytes_of, honest, is_text
from lookalike.io.faults import Faults
from lookalike.io.formats import Piece, Reading
from lookalike.io.json_text import literals, scalars
from lookalike.io.messages import missing_column
from lookalike.io.places import Place

_BLOCK_BYTES = 8 << 20
_LARGEST_BLOCK = 2**31 - 1
_WRITE_ROWS = 16_384
_CELL = pa.large_binary()

__all__ = ["Sink", "count", "pieces", "schema"]


def _delimiter(format: str) -> str:
    return "\t" if format == "tsv" else ","


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The header's names; every column is text."""
    return pa.schema([(name, pa.string()) for name in _header(place)])


def count(place: Place) -> int | None:
    """Not known without reading."""
    return None


def pieces(place: Place, reading: Reading) -> Generator[Piece, None, None]:
    """All rows in order."""
    names = _header(place)
    for column in reading.columns or ():
        if column not in names:
            raise InputError(missing_column(place.name, column, names))
    columns = list(reading.columns) if reading.columns is not None else names
    invalid: dict[int, tuple[int, int]] = {}
    row = 0
    for rows in _stubborn(place, reading, names, columns, invalid):
        _report(place, reading.faults, invalid)
        wanted = None
        if reading.wanted(row, rows.num_rows):
            wanted = pa.RecordBatch.from_arrays([honest(column) for column in rows.columns], names=columns)
        yield Piece(row, rows.num_rows, wanted)
        row += rows.num_rows
    _report(place, reading.faults, invalid)


def _stubborn(
    place: Place, reading: Reading, names: list[str], columns: list[str], invalid: dict[int, tuple[int, int]]
) -> Iterator[pa.RecordBatch]:
    """Batches, from larger and larger blocks where a row does not fit into one."""
    done = 0
    size = _BLOCK_BYTES
    while True:
        behind = done
        try:
            for rows in _parsed(place, reading, names, columns, invalid, size):
                fresh = rows.slice(min(behind, rows.num_rows))
                behind -= rows.num_rows - fresh.num_rows
                if fresh.num_rows:
                    yield fresh
                    done += fresh.num_rows
            return
        except pa.ArrowException as error:
            if invalid and not reading.faults.log.skip:
                _report(place, reading.faults, invalid)
            if "Empty CSV file" in str(error):
                return
            if "straddl" not in str(error) or size == _LARGEST_BLOCK:
                raise InputError(f"{place.name}: not a table that can be read: {error}") from error
            size = min(size * 8, _LARGEST_BLOCK)


def _parsed(
    place: Place,
    reading: Reading,
    names: list[str],
    columns: list[str],
    invalid: dict[int, tuple[int, int]],
    size: int,
) -> Iterator[pa.RecordBatch]:
    def on_invalid(row: Any) -> str:
        invalid[row.number] = (row.expected_columns, row.actual_columns)
        return "skip" if reading.faults.log.skip else "error"

    with place.stream() as stream:
        batches = pcsv.open_csv(
            pa.PythonFile(stream, mode="r"),
            # One thread: row numbers of bad rows are known only then.
            read_options=pcsv.ReadOptions(block_size=size, use_threads=False),
            parse_options=pcsv.ParseOptions(
                delimiter=_delimiter(place.format), newlines_in_values=True, invalid_row_handler=on_invalid
            ),
            convert_options=pcsv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                include_columns=columns,
            ),
        )
        for rows in batches:
            reading.on_read(stream.taken())
            yield rows


def _header(place: Place) -> list[str]:
    with place.stream() as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", "replace", newline="")
        head = text.read(1 << 20)
    if head.startswith("\x00"):
        raise InputError(f"{place.name}: not a text file")
    try:
        rows = csv.reader(io.StringIO(head, newline=""), delimiter=_delimiter(place.format))
        names = next((row for row in rows if row), [])
    except csv.Error as error:
        raise InputError(f"{place.name}:1: not a header line: {error}") from error
    if not names:
        raise InputError(f"{place.name}: the file is empty; a header line is needed")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{place.name}:1: the header has column '{name}' twice")
    return names


def _report(place: Place, faults: Faults, invalid: dict[int, tuple[int, int]]) -> None:
    """Tell of rows with too many or too few cells, by the line on which they start."""
    fresh = [number for number in invalid if number not in faults.places]
    if not fresh:
        return
    lines = _lines_of_rows(place, set(fresh[:20])) if faults.log.telling else {}
    for number in sorted(fresh):
        expected, found = invalid[number]
        where = lines.get(number, f"row {number}")
        faults.report(number, f"{place.name}:{where}: {found} cells, but the header has {expected}")


def _lines_of_rows(place: Place, numbers: set[int]) -> dict[int, int]:
    """The line on which each of these rows starts (rows from 1, the header included, blank lines not)."""
    lines: dict[int, int] = {}
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with place.stream() as stream:
            text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", "replace", newline="")
            rows = csv.reader(text, delimiter=_delimiter(place.format))
            before = number = 0
            for row in rows:
                number += bool(row)
                if row and number in numbers:
                    lines[number] = before + 1
                    if len(lines) == len(numbers):
                        break
                before = rows.line_num
    except csv.Error:
        pass
    finally:
        csv.field_size_limit(limit)
    return lines


class Sink:
    """Writes tables as CSV or TSV."""

    def __init__(self, out: Any, schema: pa.Schema, delimiter: str = ",") -> None:
        self._out = out
        self._delimiter = delimiter
        names = [pa.array([name], pa.large_string()) for name in schema.names]
        self._write(names)

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows, a line each (a quoted cell may hold more lines)."""
        for start in range(0, rows.num_rows, _WRITE_ROWS):
            self._write(rows.slice(start, _WRITE_ROWS).columns)

    def close(self) -> None:
        """Nothing is held back."""

    def _write(self, columns: list[Any]) -> None:
        alone = len(columns) == 1
        cells = [self._quoted(_cells(column), alone) for column in columns]
        cells[-1] = pc.binary_join_element_wise(cells[-1], pa.scalar(b"\n", _CELL), pa.scalar(b"", _CELL))
        lines = pc.binary_join_element_wise(*cells, pa.scalar(self._delimiter.encode(), _CELL))
        self._out.write(bytes_of(lines))

    def _quoted(self, cells: Any, alone: bool) -> Any:
        """Cells in quotes where they hold a delimiter, a quote or a line break.

        An empty cell of a table with one column is quoted too: an empty line would be no row.
        """
        special = pc.match_substring_regex(cells, f'[{self._delimiter}"\\r\\n]')
        if alone:
            special = pc.or_(special, pc.equal(pc.binary_length(cells), 0))
        if not pc.any(special).as_py():
            return cells
        quote = pa.scalar(b'"', _CELL)
        doubled = pc.replace_substring(cells, b'"', b'""')
        inside = pc.binary_join_element_wise(quote, doubled, quote, pa.scalar(b"", _CELL))
        return pc.if_else(special, inside, cells)


def _cells(column: Any) -> Any:
    """A column as cells of bytes: text as it is, null as nothing, nested values as JSON."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.cast(kind.value_type))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        column = column.cast(pa.large_string() if pa.types.is_string_view(kind) else _CELL)
    if is_text(kind):
        cells = column.cast(_CELL)
    elif pa.types.is_temporal(kind):
        cells = scalars(column).cast(_CELL)
    else:
        text = pc.if_else(column.is_valid(), literals(column), pa.scalar(None, pa.large_string()))
        cells = text.cast(_CELL)
    return cells.fill_null(b"")
