"""CSV and TSV: everything is text, rows are counted, ragged ones are named by their line."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_files, save_table
from lookalike.io.reading.formats import delimited
from lookalike.io.source import Source


def written(folder: Path, data: bytes, name: str = "in.csv") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def rows_of(source: Source, columns: list[str] | None = None) -> list[dict[str, Any]]:
    return [row for batch in source.batches(columns) for row in batch.rows.to_pylist()]


def test_all_columns_are_text_and_empty_cells_are_empty_strings(tmp_path: Path) -> None:
    path = written(tmp_path, b'id,text,score\n1,,1.5\n"",NA,null\n2020-01-01,true,\n')
    assert rows_of(open_files([path])) == [
        {"id": "1", "text": "", "score": "1.5"},
        {"id": "", "text": "NA", "score": "null"},
        {"id": "2020-01-01", "text": "true", "score": ""},
    ]
    assert rows_of(open_files([path]), ["score", "id"])[0] == {"score": "1.5", "id": "1"}


def test_quotes_hold_line_breaks_delimiters_and_quotes(tmp_path: Path) -> None:
    path = written(tmp_path, b'id,text\n1,"a\nb,""c"""\n2,5" disk\n')
    assert rows_of(open_files([path]), ["text"]) == [{"text": 'a\nb,"c"'}, {"text": '5" disk'}]


def test_tabs_crlf_blank_lines_and_byte_order_mark(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfid\ttext\r\n\r\n1\ta, b\r\n", "in.tsv")
    assert rows_of(open_files([path])) == [{"id": "1", "text": "a, b"}]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_header_without_commas_is_parted_by_something_else(tmp_path: Path, delimiter: str, threads: int) -> None:
    lines = [["id", "text", "n"], ["1", "a, b", f'"c{delimiter}d"'], ["2", '"e\nf"', ""]]
    data = "".join(delimiter.join(line) + "\n" for line in lines)
    source = open_files([written(tmp_path, data.encode())], threads=threads)
    assert rows_of(source) == [
        {"id": "1", "text": "a, b", "n": f"c{delimiter}d"},
        {"id": "2", "text": "e\nf", "n": ""},
    ]
    # What is kept is parted as it was.
    lookalike.dedup(tmp_path / "in.csv", column="text").save(tmp_path / "kept")
    assert (tmp_path / "kept" / "kept" / "in.csv").read_text() == data
    bad = written(tmp_path, f"id{delimiter}text\n1{delimiter}a\n2\n".encode(), "bad.csv")
    with pytest.raises(InputError, match=r"bad\.csv:3: 1 cells, but the header has 2"):
        rows_of(open_files([bad], threads=threads))


def test_a_comma_in_the_header_decides(tmp_path: Path) -> None:
    path = written(tmp_path, b"a;b,c\n1;2,3\n")
    assert rows_of(open_files([path])) == [{"a;b": "1;2", "c": "3"}]
    path = written(tmp_path, b'"a;b"\n1;2\n')
    assert rows_of(open_files([path])) == [{"a;b": "1;2"}]


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    for data in (b"id,text\n", b"id,text"):
        source = open_files([written(tmp_path, data)])
        assert source.schema().names == ["id", "text"]
        assert rows_of(source, ["text"]) == []


def test_invalid_utf8_comes_as_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, b"id,text\n1,caf\xe9\n")
    (batch,) = open_files([path]).batches(["id", "text"])
    assert batch.rows.schema.types == [pa.string(), pa.binary()]
    assert batch.rows.to_pylist() == [{"id": "1", "text": b"caf\xe9"}]


def test_a_row_larger_than_a_block_is_read_and_nothing_comes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", 256)
    cells = [f"cell {i}" if i != 70 else "x" * 5000 for i in range(100)]
    data = "id,text\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)) + "ragged\n"
    source = open_files([written(tmp_path, data.encode())], skip_bad=True)
    assert [row["text"] for row in rows_of(source, ["text"])] == cells
    assert source.skipped == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "{path}: the file is empty; a header line is needed"),
        (b"\n\n", "{path}: the file is empty; a header line is needed"),
        (b"id,text,id\n1,a,2\n", "{path}:1: the header has column 'id' twice"),
        (b"\x00\x01\x02", "{path}: not a text file"),
        (b"id,text\n1,a\n2\n3,c\n", "{path}:3: 1 cells, but the header has 2"),
        (b'id,text\n1,"a\n\nb"\n\n2,c,d\n3,c\n', "{path}:6: 3 cells, but the header has 2"),
        (b'id,text\n1,"open\n2,foo\n3,bar', "{path}:2: a quote is opened here and never closed"),
        (b'id,text\n1,5" disk\n"2\n3","open\n4,b\n', "{path}:4: a quote is opened here and never closed"),
        (b'id,text,more\n1,"open\n2,b\n', "{path}:2: a quote is opened here and never closed"),
        (b'id,"text\n1,a\n', "{path}:1: a quote is opened here and never closed"),
        (b"id,text\n1,a\n", "{path}: no column 'body'; its columns are: id, text"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        rows_of(open_files([path]), ["body" if "body" in message else "id"])
    assert str(caught.value) == message.format(path=path)


def test_ragged_rows_are_skipped_and_counted_once(tmp_path: Path) -> None:
    data = b'id,text\n1,"a\nb"\n2\n3,c\n4,d,e\n'
    source = open_files([written(tmp_path, data)], skip_bad=True)
    for _ in range(2):
        assert rows_of(source, ["id"]) == [{"id": "1"}, {"id": "3"}]
        assert rows_of(source, ["id", "text"])[1] == {"id": "3", "text": "c"}
    assert source.skipped == 2
    assert [message.rpartition("in.csv")[2] for message in source.bad] == [
        ":4: 1 cells, but the header has 2",
        ":6: 3 cells, but the header has 2",
    ]


@pytest.mark.parametrize("size", [64, 1 << 20])
def test_an_open_quote_is_one_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(delimited, "_BLOCK_BYTES", size)
    data = b'id,text\n0\n1,"a""\nb"\n2,5" disk\n3,"open\n' + b"4,row\n" * 30
    source = open_files([written(tmp_path, data)], skip_bad=True)
    for columns in (["id"], ["text", "id"]):
        assert [row["id"] for row in rows_of(source, columns)] == ["1", "2"]
    assert source.skipped == 2
    assert source.bad[1].endswith("in.csv:6: a quote is opened here and never closed")


def test_a_name_that_is_not_utf8_can_be_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"id,t\xe9xt\n1,a\n")
    assert rows_of(open_files([path]), ["t\ufffdxt"]) == [{"t\ufffdxt": "a"}]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_ragged_row_that_is_not_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, b"id,text\n\n1,a\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"in\.csv:4: 1 cells, but the header has 2$"):
        rows_of(open_files([path]))


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6), tabs=st.booleans())
def test_what_is_written_reads_back_and_the_csv_module_agrees(
    tmp_path: Path, rows: list[tuple[str, str]], tabs: bool
) -> None:
    path = tmp_path / ("out.tsv" if tabs else "out.csv")
    table = pa.table({"a": [a for a, _ in rows], "b,": [b for _, b in rows]})
    save_table(table, path, overwrite=True)
    assert [tuple(row.values()) for row in rows_of(open_files([str(path)]))] == rows
    text = path.read_bytes().decode()
    found = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if tabs else ","))
    assert [tuple(row) for row in found] == [("a", "b,"), *rows]


def test_a_table_of_one_column_keeps_its_empty_rows(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    save_table(pa.table({"text": ["", "a", None]}), path)
    assert path.read_bytes() == b'text\n""\na\n""\n'
    assert rows_of(open_files([str(path)])) == [{"text": ""}, {"text": "a"}, {"text": ""}]


def test_columns_of_every_kind_become_cells(tmp_path: Path) -> None:
    table = pa.table(
        {
            "view": pa.array(["a", None], pa.string_view()),
            "bytes": pa.array([b"x,", b""], pa.binary_view()),
            "kind": pa.array(["k", "k"]).dictionary_encode(),
            "flag": [True, None],
            "float": [1.0, 0.25],
            "when": pa.array([0, None], pa.timestamp("s")),
            "day": pa.array([0, 1], pa.date32()),
            "list": [["a"], None],
            "nothing": pa.nulls(2),
        }
    )
    path = tmp_path / "out.csv"
    save_table(table, path)
    assert path.read_text().splitlines() == [
        "view,bytes,kind,flag,float,when,day,list,nothing",
        'a,"x,",k,true,1.0,1970-01-01T00:00:00,1970-01-01,"[""a""]",',
        ",,k,,0.25,,1970-01-02,,",
    ]


def test_a_ragged_row_that_is_not_utf8_is_one_error_and_nothing_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"id,text\n1,a\n2,b\xff,c\n3,d\n")
    printed: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, printed.append
    try:
        for skip_bad in (False, True):
            with pytest.raises(InputError, match=r"in.csv:3: 3 cells, but the header has 2"):
                list(open_files([str(path)], skip_bad=skip_bad).batches(["text"]))
    finally:
        sys.unraisablehook = before
    assert printed == []


def test_a_header_may_have_a_hundred_thousand_columns(tmp_path: Path) -> None:
    """Looking for each name among all others would be ten billion comparisons."""
    path = tmp_path / "in.csv"
    names = [f"c{number}" for number in range(100_000)]
    path.write_text(",".join(names) + "\n" + "1," * 99_999 + "last\n")
    source = open_files([str(path)])
    assert source.schema().names == names
    rows = pa.Table.from_batches([batch.rows for batch in source.batches(["c99999", "c0"])])
    assert rows.to_pylist() == [{"c99999": "last", "c0": "1"}]
    path.write_text("a,b,c,c,b\n1,2,3,4,5\n")
    with pytest.raises(InputError, match="the header has column 'b' twice"):
        open_files([str(path)]).schema()
