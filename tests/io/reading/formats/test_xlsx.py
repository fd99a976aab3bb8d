"""Workbooks: the first sheet as a table, with types as they look."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lookalike.errors import ExtraError, InputError
from lookalike.io import open_files
from tests.workbooks import sheet, workbook


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row for batch in open_files([str(path)]).batches() for row in batch.rows.to_pylist()]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "refs.xlsx"


def test_columns_have_the_type_of_their_values(book: Path) -> None:
    day, moment = datetime.date(1999, 5, 12), datetime.datetime(1999, 5, 12, 6, 30)
    book.write_bytes(
        workbook(
            [
                ["id", "year", "price", "open", "day", "moment", "mixed"],
                [1, 1999, 2.5, True, day, moment, 1999],
                [2, 2001, 3, False, day, day, "about 1999"],
                ["x", None, None, None, None, None, True],
                ["y", None, None, None, None, None, day],
            ]
        )
    )
    source = open_files([str(book)])
    assert source.schema() == pa.schema(
        {
            "id": pa.string(),
            "year": pa.int64(),
            "price": pa.float64(),
            "open": pa.bool_(),
            "day": pa.date32(),
            "moment": pa.timestamp("us"),
            "mixed": pa.string(),
        }
    )
    rows = rows_of(book)
    assert [row["id"] for row in rows] == ["1", "2", "x", "y"]
    assert [row["year"] for row in rows] == [1999, 2001, None, None]
    assert [row["mixed"] for row in rows] == ["1999", "about 1999", "true", "1999-05-12"]
    assert [row["moment"] for row in rows[:2]] == [moment, datetime.datetime(1999, 5, 12)]
    assert source.count() == 4


def test_the_table_begins_where_cells_do_and_blank_rows_are_none(book: Path) -> None:
    book.write_bytes(workbook([[], [None, "title", None, 1999], [], [None, "tea", "x", 7], [], [None, "milk"]]))
    assert rows_of(book) == [{"title": "tea", "C": "x", "1999": 7}, {"title": "milk", "C": None, "1999": None}]


def test_formulas_have_the_value_they_were_saved_with_and_errors_none(book: Path) -> None:
    formula, fresh = '<c r="{0}"><f>1+1</f><v>2</v></c>', '<c r="{0}"><f>1+1</f></c>'
    error = '<c r="{0}" t="e"><v>#N/A</v></c>'
    book.write_bytes(workbook([["id", "sum"], ["saved", formula], ["fresh", fresh], ["error", error]]))
    assert [row["sum"] for row in rows_of(book)] == [2, None, None]


def test_texts_that_cells_share_and_long_ones_are_whole(book: Path) -> None:
    shared = '<c r="{0}" t="s"><v>0</v></c>'
    book.write_bytes(workbook([["a", "b"], [shared, "y" * 32_767], [shared, "Ärger <&>"]], texts=["tea & milk"]))
    rows = rows_of(book)
    assert [row["a"] for row in rows] == ["tea & milk"] * 2
    assert [len(row["b"]) for row in rows] == [32_767, 9]


def test_the_first_sheet_that_is_shown_is_read_and_others_are_told(book: Path) -> None:
    named = {"old": sheet([["a"], ["0"]]), "refs": sheet([["a"], ["1"]]), "notes": sheet([["b"], ["2"]])}
    book.write_bytes(workbook(named, hidden=["old"]))
    source = open_files([str(book)])
    assert source.schema().names == ["a"]
    assert source.remarks == [f"{book} has more sheets: only 'refs' was read, not 'old', 'notes'"]  # type: ignore[attr-defined]
    assert rows_of(book) == [{"a": "1"}]


def test_an_empty_sheet_has_no_columns_and_one_with_names_no_rows(book: Path) -> None:
    book.write_bytes(workbook([]))
    assert (open_files([str(book)]).schema().names, rows_of(book)) == ([], [])
    book.write_bytes(workbook([["title", "year"]]))
    assert (open_files([str(book)]).schema().names, rows_of(book)) == (["title", "year"], [])


def test_a_column_that_is_there_twice_is_an_error_when_it_is_asked_for(book: Path) -> None:
    book.write_bytes(workbook([["a", "b", "a"], ["1", "2", "3"]]))
    source = open_files([str(book)])
    assert [batch.rows.to_pylist() for batch in source.batches(["b"])] == [[{"b": "2"}]]
    with pytest.raises(InputError, match="column 'a' is there 2 times"):
        list(source.batches(["a"]))


@pytest.mark.parametrize("data", [b"", b"id,title\n1,tea\n", b"\xd0\xcf\x11\xe0 an old one", b"PK\3\4 cut"])
def test_what_is_no_workbook_is_one_line(data: bytes, book: Path) -> None:
    book.write_bytes(data)
    with pytest.raises(InputError, match=r"^[^\n]*refs\.xlsx: not an XLSX workbook[^\n]*$"):
        open_files([str(book)]).schema()


def test_any_broken_byte_is_an_error_or_read(book: Path) -> None:
    whole = workbook([["id", "title"], [1, "tea"], [2, "milk"]])
    for at in range(0, len(whole), 23):
        book.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            rows_of(book)
        except InputError as error:
            assert "refs.xlsx" in str(error)
            assert "\n" not in str(error)


def test_without_the_library_the_extra_is_named(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book.write_bytes(workbook([["a"], ["1"]]))
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ExtraError, match=r"pip install 'lookalike\[records\]'"):
        open_files([str(book)]).schema()
