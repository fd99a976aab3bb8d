"""CSV and TSV: a header line, then rows with as many cells as the header. Cells of CSV are parted by commas; or, where
the header has none, by semicolons, tabs or bars; or by what `--delimiter` says.

All columns are text; an empty cell is the empty string. Cells may be quoted and may then hold delimiters,
line breaks and doubled quotes. Empty lines are no rows. A row with more or fewer cells is a bad row, and so is
one with a quote that is never closed, which takes the rest of the file with it.

Written files quote only the cells that need it, and end lines with a newline. A copy of a file keeps its byte
order mark, its header line and the line ending that this has.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from lookalike.errors import InputError
from lookalike.io.column_types import bytes_of, honest, is_text
from lookalike.io.json_text import literals, scalars
from lookalike.io.limits import most_at_once
from lookalike.io.reading.csv_rows import RowBlock, UncutError, row_blocks
from lookalike.io.reading.faults import FaultLog, Faults
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.places import Place, Stream, check_encoding
from lookalike.wording.messages import missing_column, reason

_BLOCK_BYTES = 8 << 20
_LARGEST_BLOCK = 2**31 - 1
_WRITE_ROWS = 16_384
_HEAD_BYTES = 1 << 20
_CELL = pa.large_binary()
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_BOM = b"\xef\xbb\xbf"
# Put behind the end of what is parsed: a line of its own, or part of a cell whose quote is still open.
_END = "\x00lookalike: end of file"

# The cells a row should have and the cells it has; None for a row with a quote that is never closed.
_Invalid = dict[int, tuple[int, int] | None]

__all__ = ["DelimitedSink", "Manner", "count", "manner", "pieces", "schema"]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a file is written.

    Attributes:
        mark: the byte order mark, or nothing.
        header: the header line without its ending, byte for byte.
        names: the columns in it; bytes that are not UTF-8 are U+FFFD here.
        ending: how the header line ends, or a newline if it does not.
        delimiter: what parts the cells.
    """

    mark: bytes
    header: bytes
    names: list[str]
    ending: bytes
    delimiter: str


# What may part the cells of a CSV file whose header has no comma.
_OTHERS = ";\t|"


def delimiter_of(lines: list[str]) -> str:
    """What parts the cells of CSV: a comma, or if the header has none, what parts it into most cells."""

    def cells(delimiter: str) -> int:
        return len(next(filter(None, csv.reader(lines, delimiter=delimiter)), []))

    return "," if cells(",") > 1 else max(f",{_OTHERS}", key=cells)


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The header's names; every column is text."""
    return pa.schema([(name, pa.string()) for name in manner(place).names])


def count(place: Place) -> int | None:
    """Not known without reading."""
    return None


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order."""
    found = manner(place)
    names = found.names
    known = set(names)
    for column in reading.columns or ():
        if column not in known:
            raise InputError(missing_column(place.name, column, names))
    columns = list(reading.columns) if reading.columns is not None else names
    done = 0
    if reading.threads > 1 and not reading.faults.log.skip:
        try:
            for piece in _apart(place, reading, found, columns):
                yield piece
                done += piece.count
            return
        except UncutError:
            pass
    yield from _in_order(place, reading, found, columns, done)


def _in_order(place: Place, reading: Reading, like: Manner, columns: list[str], done: int) -> Iterator[FilePiece]:
    """The rows from `done` on, parsed here, one after another: what is wrong with one is known by all before it."""
    invalid: _Invalid = {}
    row = 0
    for rows in _stubborn(place, reading, like, columns, invalid):
        _report(place, reading.faults, invalid)
        fresh = rows.slice(min(rows.num_rows, max(0, done - row)))
        row += rows.num_rows
        if fresh.num_rows:
            first = row - fresh.num_rows
            wanted = _named(fresh, columns) if reading.wanted(first, fresh.num_rows) else None
            yield FilePiece.held(first, fresh.num_rows, wanted)
    _report(place, reading.faults, invalid)


def _named(rows: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([honest(column) for column in rows.columns], names=columns)


def _apart(place: Place, reading: Reading, like: Manner, columns: list[str]) -> Iterator[FilePiece]:
    """The rows in blocks that are parsed by whoever takes them; a row that is bad is an error then."""
    row, before = 0, 0
    for block in row_blocks(place, like.delimiter, reading.on_read):
        # The header is the first row that is not empty.
        count = block.rows - (before == 0 and block.rows > 0)
        if count:
            wanted = reading.wanted(row, count)
            load = partial(_parse_block, place, like, columns, block, before) if wanted else None
            yield FilePiece(row, count, load, len(block.data))
        row, before = row + count, before + block.rows


def _parse_block(
    place: Place, like: Manner, columns: list[str], block: RowBlock, before: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a block, `before` which there are so many, the header among them."""
    invalid: _Invalid = {}

    def on_invalid(row: Any) -> str:
        invalid[before + row.number] = (row.expected_columns, row.actual_columns)
        return "error"

    none_skipped = Faults(FaultLog(False))
    try:
        with _unasked(on_invalid):
            table = pcsv.read_csv(
                pa.BufferReader(block.data),
                read_options=pcsv.ReadOptions(
                    block_size=len(block.data) + 1,
                    use_threads=False,
                    column_names=[str(number) for number in range(len(like.names))],
                ),
                parse_options=_parsing(like, on_invalid),
                convert_options=_converting(like.names, columns),
            )
    except pa.ArrowException as error:
        _report(place, none_skipped, invalid)
        if ragged := _RAGGED.search(str(error)):
            number, expected, found = map(int, ragged.groups())
            _report(place, none_skipped, {before + number: (expected, found)})
        raise InputError(f"{place.name}: not a readable table: {_worded(error)}") from error
    if table.num_rows != block.rows:
        raise InputError(f"{place.name}: {table.num_rows} rows behind row {before} instead of {block.rows}")
    for rows in table.slice(int(before == 0)).combine_chunks().to_batches():
        yield _named(rows, columns)


def _parsing(like: Manner, on_invalid: Any) -> Any:
    return pcsv.ParseOptions(delimiter=like.delimiter, newlines_in_values=True, invalid_row_handler=on_invalid)


def _converting(names: list[str], columns: list[str]) -> Any:
    # Columns go by number, since a name may hold bytes that are not UTF-8; the header is then the first row.
    numbers = {name: str(number) for number, name in enumerate(names)}
    return pcsv.ConvertOptions(
        check_utf8=False,
        column_types=dict.fromkeys(numbers.values(), pa.string()),
        strings_can_be_null=False,
        include_columns=[numbers[column] for column in columns],
    )


def _stubborn(
    place: Place, reading: Reading, like: Manner, columns: list[str], invalid: _Invalid
) -> Iterator[pa.RecordBatch]:
    """Batches, from larger and larger blocks where a row does not fit into one."""
    done = 0
    size = _BLOCK_BYTES
    while True:
        behind = done
        try:
            for rows in _parsed(place, reading, like, columns, invalid, size):
                fresh = rows.slice(min(behind, rows.num_rows))
                behind -= rows.num_rows - fresh.num_rows
                if fresh.num_rows:
                    yield fresh
                    done += fresh.num_rows
            return
        except pa.ArrowException as error:
            if invalid and not reading.faults.log.skip:
                _report(place, reading.faults, invalid)
            if "straddl" not in str(error):
                # Arrow does not ask about a row with the wrong number of cells that is not UTF-8.
                if ragged := _RAGGED.search(str(error)):
                    number, expected, found = map(int, ragged.groups())
                    _report(place, Faults(FaultLog(False)), {number: (expected, found)})
                raise InputError(f"{place.name}: not a readable table: {_worded(error)}") from error
            if size == _LARGEST_BLOCK:
                raise InputError(f"{place.name}: a row is larger than 2 GB; is a quote never closed?") from error
            # Arrow holds a block and what it makes of it twice as often as others do.
            most = max(_BLOCK_BYTES, most_at_once(place.memory) // 2)
            if size >= most:
                raise InputError(
                    f"{place.name}:{_line_longer_than(place, most)}: a row of more than {most / 1e6:,.0f} MB, "
                    "the most that --memory allows; is a quote never closed?"
                ) from error
            size = min(size * 8, _LARGEST_BLOCK, most)


def _parsed(
    place: Place,
    reading: Reading,
    like: Manner,
    columns: list[str],
    invalid: _Invalid,
    size: int,
) -> Iterator[pa.RecordBatch]:
    names = like.names
    end = _END + like.delimiter * len(names)
    ended = False

    def on_invalid(row: Any) -> str:
        nonlocal ended
        if row.text.endswith(end):
            ended = True
            if row.text == end:
                return "skip"
            invalid[row.number] = None
        else:
            invalid[row.number] = (row.expected_columns, row.actual_columns)
        return "skip" if reading.faults.log.skip else "error"

    with place.stream() as stream:
        batches = _opened(
            on_invalid,
            pa.PythonFile(_Ended(stream, b"\n" + end.encode()), mode="r"),
            # One thread: row numbers of bad rows are known only then.
            read_options=pcsv.ReadOptions(
                block_size=size, use_threads=False, column_names=[str(number) for number in range(len(names))]
            ),
            parse_options=_parsing(like, on_invalid),
            convert_options=_converting(names, columns),
        )
        seen = 0
        held: pa.RecordBatch | None = None
        for rows in _quietly(batches, on_invalid):
            reading.on_read(stream.taken())
            if not rows.num_rows:
                continue
            if held is not None:
                yield held
            held = rows.slice(1) if not seen else rows
            seen += rows.num_rows
        if held is not None and not ended:
            invalid[seen + len(invalid)] = None
            held = held.slice(0, max(0, held.num_rows - 1))
        if held is not None:
            yield held


def _opened(on_invalid: Any, *arguments: Any, **options: Any) -> Any:
    with _unasked(on_invalid):
        return pcsv.open_csv(*arguments, **options)


def _quietly(batches: Any, on_invalid: Any) -> Iterator[pa.RecordBatch]:
    while True:
        with _unasked(on_invalid):
            rows = next(batches, None)
        if rows is None:
            return
        yield rows


@contextlib.contextmanager
def _unasked(on_invalid: Any) -> Iterator[None]:
    """While Arrow reads: do not print that it could not ask about a row that is not UTF-8; it raises an error then."""
    with _asking_lock:
        if not _asking:
            _before.append(sys.unraisablehook)
            sys.unraisablehook = _quiet_hook
        _asking.append(on_invalid)
    try:
        yield
    finally:
        with _asking_lock:
            _asking.remove(on_invalid)
            if not _asking:
                sys.unraisablehook = _before.pop()


# Those that Arrow may ask at this time, on any thread, and the hook that was there before the first of them.
_asking: list[Any] = []
_before: list[Any] = []
_asking_lock = threading.Lock()


def _quiet_hook(unraisable: Any) -> None:
    asked = any(unraisable.object is each for each in _asking)
    if not (asked and isinstance(unraisable.exc_value, UnicodeDecodeError)):
        _before[-1](unraisable)


class _Ended(io.RawIOBase):
    """A stream with something behind its end."""

    def __init__(self, stream: Stream, end: bytes) -> None:
        super().__init__()
        self._stream = stream
        self._end = end

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        data = self._stream.read(size)
        if not data:
            data, self._end = self._end[:size], self._end[size:]
        return data


def _worded(error: pa.ArrowException) -> str:
    return reason(error).removeprefix("CSV parse error: ").removeprefix("CSV conversion error: ")


def manner(place: Place) -> Manner:
    """How a file begins: its byte order mark and its header line."""
    head = place.head(_HEAD_BYTES)
    check_encoding(place.name, head)
    mark = _BOM if head.startswith(_BOM) else b""
    if head.startswith(b"\x00"):
        raise InputError(f"{place.name}: not a text file")
    # As Latin-1 each byte is a character, and those that matter here are the same in UTF-8.
    text = head.removeprefix(mark).decode("latin-1")
    lines = io.StringIO(f"{text}\n{_END}", newline="").readlines()
    try:
        delimiter = place.delimiter or ("\t" if place.format == "tsv" else delimiter_of(lines))
        rows = csv.reader(lines, delimiter=delimiter)
        start, cells = 0, next(rows)
        while not cells:
            start, cells = rows.line_num, next(rows)
    except csv.Error as error:
        raise InputError(f"{place.name}:1: not a header line; is a quote never closed?") from error
    if cells == [_END]:
        raise InputError(f"{place.name}: the file is empty; a header line is needed")
    if cells[-1].endswith(_END):
        line = rows.line_num - len(_lines(cells[-1])) + 1
        raise InputError(_unclosed(place, line))
    names = [cell.encode("latin-1").decode("utf-8", "replace") for cell in cells]
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise InputError(f"{place.name}:1: the header has column '{twice}' twice")
    whole = "".join(lines[start : rows.line_num])
    header = whole.rstrip("\r\n")
    return Manner(mark, header.encode("latin-1"), names, whole[len(header) :].encode() or b"\n", delimiter)


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


def _unclosed(place: Place, line: int) -> str:
    return f"{place.name}:{line}: a quote is opened here and never closed"


def _report(place: Place, faults: Faults, invalid: _Invalid) -> None:
    """Tell of rows with too many or too few cells, by the line on which they start."""
    fresh = [number for number in invalid if number not in faults.places]
    if not fresh:
        return
    lines = _lines_of_rows(place, set(fresh[:20])) if faults.log.telling else {}
    for number in sorted(fresh):
        cells = invalid[number]
        if cells is None:
            faults.report(number, _unclosed(place, _open_line(place)))
            continue
        expected, found = cells
        where = lines.get(number, f"row {number}")
        faults.report(number, f"{place.name}:{where}: {found} cells, but the header has {expected}")


def _lines_of_rows(place: Place, numbers: set[int]) -> dict[int, int]:
    """The line on which each of these rows starts (rows from 1, the header included, blank lines not)."""
    lines: dict[int, int] = {}
    before = number = 0
    for row, line in _by_line(place):
        number += bool(row)
        if row and number in numbers:
            lines[number] = before + 1
            if len(lines) == len(numbers):
                break
        before = line
    return lines


def _line_longer_than(place: Place, most: int) -> int:
    """The line on which the first row begins that has more than `most` bytes; nothing of it is held."""
    line, row_line = 1, 1
    at, row_at = 0, 0
    open_quote = False
    with place.stream() as stream:
        while part := stream.read(_BLOCK_BYTES):
            data = np.frombuffer(part, np.uint8)
            quoted = (np.cumsum(data == ord('"'), dtype=np.int64) % 2 == 1) != open_quote
            breaks = np.flatnonzero(data == ord("\n"))
            begins = np.concatenate([[row_at], at + breaks[~quoted[breaks]] + 1])
            lines = np.concatenate([[row_line], line + np.searchsorted(breaks, begins[1:] - at)])
            over = np.flatnonzero(np.diff(begins, append=at + len(data)) > most)
            if len(over):
                return int(lines[over[0]])
            row_at, row_line = int(begins[-1]), int(lines[-1])
            at, line, open_quote = at + len(data), line + len(breaks), bool(quoted[-1])
    return row_line


def _open_line(place: Place) -> int:
    """The line of the quote that is open at the end of a file: where its last cell starts."""
    cell, last = "", 1
    for row, line in _by_line(place):
        cell, last = row[-1] if row else "", line
    return last - max(1, len(_lines(cell))) + 1


def _by_line(place: Place) -> Iterator[tuple[list[str], int]]:
    """The rows as the csv module reads them, slowly, and the line on which each ends."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with place.stream() as stream:
            text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", "replace", newline="")
            rows = csv.reader(text, delimiter=manner(place).delimiter)
            for row in rows:
                yield row, rows.line_num
    except csv.Error:
        pass
    finally:
        csv.field_size_limit(limit)


class DelimitedSink:
    """Writes tables as CSV or TSV, in the manner of another file if there is one."""

    def __init__(self, out: Any, schema: pa.Schema, delimiter: str = ",", like: Manner | None = None) -> None:
        self._out = out
        delimiter = like.delimiter if like else delimiter
        self._delimiter = delimiter
        self._ending = like.ending if like else b"\n"
        names = schema.names
        if like is not None:
            self._out.write(like.mark)
            if names[: len(like.names)] == like.names:
                names = names[len(like.names) :]
                self._out.write(like.header + (delimiter.encode() if names else self._ending))
        if names:
            self._write([pa.array([name], pa.large_string()) for name in names])

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows, a line each (a quoted cell may hold more lines)."""
        for start in range(0, rows.num_rows, _WRITE_ROWS):
            self._write(rows.slice(start, _WRITE_ROWS).columns)

    def close(self) -> None:
        """Nothing is held back."""

    def _write(self, columns: list[Any]) -> None:
        alone = len(columns) == 1
        cells = [self._quoted(_cells(column), alone) for column in columns]
        cells[-1] = pc.binary_join_element_wise(cells[-1], pa.scalar(self._ending, _CELL), pa.scalar(b"", _CELL))
        lines = pc.binary_join_element_wise(*cells, pa.scalar(self._delimiter.encode(), _CELL))
        self._out.write(bytes_of(lines))

    def _quoted(self, cells: Any, alone: bool) -> Any:
        """Cells in quotes where they hold a delimiter, a quote or a line break.

        An empty cell of a table with one column is quoted too: an empty line would be no row.
        """
        special = pc.match_substring_regex(cells, f'[{re.escape(self._delimiter)}"\\r\\n]')
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
