"""XLSX: the first sheet of a workbook, whose first row that is not empty names the columns. Read by calamine.

A column has the type of its values: integers, decimal numbers, booleans, dates, times of a date, or text; a column of
several kinds is text (1999 is "1999" there, a date 1999-12-31). Spreadsheets know decimal numbers only, so a column of
whole numbers is one of integers. Cells that are empty, that hold an error or a formula that was never calculated, and
all but the first of merged cells are null; rows without any value are no rows. A column with values but no name has its
letter.

How large a workbook may become is checked before the library sees it (`workbook_bounds.py`).
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Generator, Sequence
from typing import Any

import pyarrow as pa

from lookalike.errors import ExtraError, InputError
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.formats.held_table import HeldTable, held, held_pieces, whole_bytes
from lookalike.io.reading.formats.workbook_bounds import check_workbook
from lookalike.io.reading.places import Place
from lookalike.wording.messages import reason

_EXACT_FLOAT = 2.0**53

__all__ = ["count", "pieces", "schema", "take_apart"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The columns of the sheet."""
    return held(place, take_apart).rows.schema


def count(place: Place) -> int | None:
    """The number of rows below the names."""
    return int(held(place, take_apart).rows.num_rows)


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order."""
    yield from held_pieces(place, reading, take_apart)


def take_apart(place: Place) -> HeldTable:
    """The rows of the first sheet."""
    _needs_calamine()
    data = whole_bytes(place)
    check_workbook(place, data)
    try:
        name, others, left, rows = _cells(data)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    # A workbook that is broken inside may end in a panic of the library, which is no Exception.
    except BaseException as error:
        raise InputError(f"{place.name}: not an XLSX workbook that can be read: {reason(error)}") from None
    remarks = []
    if others:
        shown = ", ".join(f"'{each}'" for each in others[:3]) + (" and more" if len(others) > 3 else "")
        remarks.append(f"{place.name} has more sheets: only '{name}' was read, not {shown}")
    return HeldTable(_table(rows, left), remarks=remarks)


def _needs_calamine() -> None:
    try:
        import python_calamine  # noqa: F401
    except ImportError:
        raise ExtraError("XLSX needs python-calamine: pip install 'lookalike[records]'") from None


def _cells(data: bytes) -> tuple[str, list[str], int, list[list[Any]]]:
    """The name of the first sheet, those of others, the number of its first column, and its rows."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum, load_workbook

    with load_workbook(io.BytesIO(data)) as book:
        sheets = [each for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
        if not sheets:
            raise InputError("it has no sheet with cells")
        chosen = next((each for each in sheets if each.visible == SheetVisibleEnum.Visible), sheets[0])
        sheet = book.get_sheet_by_name(chosen.name)
        left = 0 if sheet.start is None else sheet.start[1]
        return chosen.name, [each.name for each in sheets if each is not chosen], left, sheet.to_python()


def _table(rows: Sequence[Sequence[Any]], left: int) -> pa.RecordBatch:
    """Rows of cells, the first of which names the columns, as a table; their first column has the number `left`."""
    filled = [row for row in rows if any(value != "" for value in row)]
    names, arrays = [], []
    for column in range(len(filled[0]) if filled else 0):
        values = [None if row[column] == "" else row[column] for row in filled]
        if any(value is not None for value in values):
            names.append(_letter(left + column) if values[0] is None else _as_text(values[0]))
            arrays.append(_array(values[1:]))
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _array(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds and kinds <= {int, float}:
        whole = all(value is None or (value == value // 1 and abs(value) < _EXACT_FLOAT) for value in values)
        return pa.array([None if value is None else int(value) for value in values] if whole else values,
                        pa.int64() if whole else pa.float64())  # fmt: skip
    if kinds == {datetime.date}:
        return pa.array(values, pa.date32())
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        return pa.array([_time(value) for value in values], pa.timestamp("us"))
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _time(value: datetime.date | None) -> datetime.datetime | None:
    if value is None or isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.combine(value, datetime.time())


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value == value // 1 and abs(value) < _EXACT_FLOAT:
        return str(int(value))
    return str(value)


def _letter(column: int) -> str:
    """The name that spreadsheets give to a column: 0 is A, 26 is AA."""
    out = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        out = chr(ord("A") + digit) + out
    return out
