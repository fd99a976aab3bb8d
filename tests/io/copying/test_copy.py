"""Kept rows to the output: nothing of a kept row is lost, nothing of a dropped row stays."""

from __future__ import annotations

import gzip
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError, OptionError, OutputError
from lookalike.io import Batch, Extra, copy_rows, open_files, open_source
from lookalike.io.copying.mirror import mirrored
from lookalike.io.reading import blocks as blocks_module
from lookalike.io.reading.places import Place
from lookalike.io.source import Flags
from lookalike.io.writing import parquet_sink


def flags(*kept: int, of: int) -> Flags:
    keep = np.zeros(of, np.bool_)
    keep[list(kept)] = True
    return keep


def read(path: Path | str) -> list[dict[str, Any]]:
    return [row for batch in open_files([str(path)]).batches() for row in batch.rows.to_pylist()]


LINES = [
    b'{"text":  "caf\xc3\xa9",   "n": 1.10}\n',
    b'{"text": "two", "extra": {"a": [1, 2]}}\r\n',
    b"\n",
    b'{"text": "bad utf-8 \xff"}\n',
    b'{"text": "\\u00e9 \\ud800"}',
]


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(LINES))
    return path


def test_jsonl_lines_are_kept_byte_for_byte(jsonl: Path, tmp_path: Path) -> None:
    source = open_files([str(jsonl)])
    copied = copy_rows(source, flags(0, 1, 2, 3, of=4), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(line for line in LINES if line != b"\n")
    assert (copied.rows, copied.files) == (4, [str(tmp_path / "out.jsonl")])
    copy_rows(source, flags(0, 2, of=4), tmp_path / "out.jsonl.gz")
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == LINES[0] + LINES[3]


def test_files_are_joined_with_a_newline_between_them(jsonl: Path, tmp_path: Path) -> None:
    other = tmp_path / "in" / "b.jsonl"
    other.write_bytes(b'{"text": "b"}\n')
    copy_rows(open_files([str(jsonl), str(other)]), flags(3, 4, of=5), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == LINES[4] + b'\n{"text": "b"}\n'


def test_a_folder_mirrors_the_input(tmp_path: Path) -> None:
    for name in ("x/part.jsonl", "y/part.jsonl.gz", "y/deep/part.csv"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"text\nc\nd\n" if name.endswith("csv") else b'{"text": "a"}\n{"text": "b"}\n'
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    source = open_files([str(tmp_path / "in")])
    copied = copy_rows(source, flags(0, 3, 5, of=6), tmp_path / "kept")
    assert copied.files == ["x/part.jsonl", "y/deep/part.csv", "y/part.jsonl.gz"]
    assert (tmp_path / "kept" / "x" / "part.jsonl").read_bytes() == b'{"text": "a"}\n'
    assert (tmp_path / "kept" / "y" / "deep" / "part.csv").read_bytes() == b"text\nd\n"
    assert gzip.decompress((tmp_path / "kept" / "y" / "part.jsonl.gz").read_bytes()) == b'{"text": "b"}\n'
    with pytest.raises(OutputError, match="is not empty; choose another folder"):
        copy_rows(source, None, tmp_path / "kept", overwrite=True)


def test_one_file_keeps_its_name(jsonl: Path, tmp_path: Path) -> None:
    assert copy_rows(open_files([str(jsonl)]), None, tmp_path / "kept").files == ["a.jsonl"]


def test_skipped_rows_are_not_copied_and_numbers_stay_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 48)
    lines = [json.dumps({"n": i}).encode() + b"\n" for i in range(30)]
    lines[4], lines[20] = b"{broken\n", b"\n"
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(lines))
    keep = np.arange(28) % 3 == 0
    source = open_files([str(path)], skip_bad=True)
    assert copy_rows(source, keep, tmp_path / "out.jsonl").rows == 10
    good = [i for i in range(30) if i not in (4, 20)]
    assert [row["n"] for row in read(tmp_path / "out.jsonl")] == [good[i] for i in range(0, 28, 3)]
    assert source.skipped == 1


def test_a_limit_holds_for_copies(jsonl: Path, tmp_path: Path) -> None:
    for index, destination in enumerate(("out.jsonl", "kept", "out.csv")):
        source = open_files([str(jsonl)], limit=2)
        assert copy_rows(source, flags(1, of=2), tmp_path / destination).rows == 1, index
    assert (tmp_path / "out.jsonl").read_bytes() == LINES[1]
    assert (tmp_path / "kept" / "a.jsonl").read_bytes() == LINES[1]


@pytest.fixture
def table_file(tmp_path: Path) -> Path:
    schema = pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False, metadata={"k": "v"}),
            ("text", pa.large_string()),
            ("when", pa.timestamp("ms", "UTC")),
            ("nested", pa.list_(pa.struct([("a", pa.int8()), ("b", pa.list_(pa.string()))]))),
            ("kind", pa.dictionary(pa.int8(), pa.string())),
        ],
        metadata={"owner": "someone", "pandas": "{}"},
    )
    rows = [
        {"id": i, "text": f"text {i}", "when": i, "nested": [{"a": i % 100, "b": ["x"]}], "kind": "ab"[i % 2]}
        for i in range(100)
    ]
    path = tmp_path / "in" / "t.parquet"
    path.parent.mkdir(exist_ok=True)
    with pq.ParquetWriter(
        path,
        schema,
        compression={"id": "gzip", "text": "zstd", "when": "none", "kind": "snappy"},
        use_dictionary=["kind"],
        sorting_columns=[pq.SortingColumn(0)],
        write_page_index=True,
    ) as writer:
        table = pa.Table.from_pylist(rows, schema=schema)
        for start, end in ((0, 10), (10, 60), (60, 100)):
            writer.write_table(table.slice(start, end - start))
    return path


@pytest.mark.parametrize("destination", ["out.parquet", "kept"])
def test_parquet_keeps_schema_codecs_and_row_groups(table_file: Path, tmp_path: Path, destination: str) -> None:
    keep = np.arange(100) % 2 == 0
    keep[10:20] = False
    copied = copy_rows(open_files([str(table_file)], batch_rows=7), keep, tmp_path / destination)
    out = tmp_path / destination
    out = out / "t.parquet" if destination == "kept" else out
    old, new = pq.read_metadata(table_file), pq.read_metadata(out)
    assert pq.read_schema(out).equals(pq.read_schema(table_file), check_metadata=True)
    assert new.schema.equals(old.schema)
    assert [new.row_group(i).num_rows for i in range(3)] == [5, 20, 20]
    for index in range(old.num_columns):
        before, after = old.row_group(1).column(index), new.row_group(1).column(index)
        assert after.compression == before.compression
        assert after.encodings == before.encodings
        assert after.has_offset_index == before.has_offset_index
    assert new.row_group(0).sorting_columns == old.row_group(0).sorting_columns
    assert new.format_version == old.format_version
    assert pq.read_table(out).equals(pq.read_table(table_file).filter(pa.array(keep)))
    assert (copied.rows, copied.recut, copied.replaced) == (45, 0, 0)


def test_row_groups_that_do_not_fit_are_cut_and_counted(
    table_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_sink, "_GROUP_BYTES", 1000)
    copied = copy_rows(open_files([str(table_file)], batch_rows=10), None, tmp_path / "out.parquet")
    assert copied.recut > 0
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(table_file))


def test_a_parquet_file_without_kept_rows_keeps_its_schema(table_file: Path, tmp_path: Path) -> None:
    copy_rows(open_files([str(table_file)]), np.zeros(100, np.bool_), tmp_path / "kept")
    empty = pq.read_table(tmp_path / "kept" / "t.parquet")
    assert empty.num_rows == 0
    assert empty.schema.equals(pq.read_schema(table_file), check_metadata=True)


def test_old_parquet_habits_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    table = pa.table({"when": pa.array([1], pa.timestamp("ns")), "l": [[1]]})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, use_compliant_nested_type=False, version="1.0")
    copy_rows(open_files([str(path)]), None, tmp_path / "out.parquet")
    assert pq.read_metadata(tmp_path / "out.parquet").schema.equals(pq.read_metadata(path).schema)


def test_parquet_files_of_different_schemas_go_to_one_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([2], pa.int64()), "c": [0.5]}), tmp_path / "2.parquet")
    source = open_files([str(tmp_path / "1.parquet"), str(tmp_path / "2.parquet")])
    copy_rows(source, None, tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet") == [{"a": 1, "b": "x", "c": None}, {"a": 2, "b": None, "c": 0.5}]
    pq.write_table(pa.table({"a": ["text"]}), tmp_path / "3.parquet")
    clash = open_files([str(tmp_path / "1.parquet"), str(tmp_path / "3.parquet")])
    with pytest.raises(InputError, match=r"3.parquet: column 'a' is string, but int32 in the files before"):
        copy_rows(clash, None, tmp_path / "clash.parquet")
    assert not (tmp_path / "clash.parquet").exists()


def test_jsonl_becomes_parquet_with_all_its_columns(jsonl: Path, tmp_path: Path) -> None:
    copied = copy_rows(open_files([str(jsonl)]), None, tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet") == [
        {"text": "café", "n": 1.1, "extra": None},
        {"text": "two", "n": None, "extra": {"a": [1, 2]}},
        {"text": "bad utf-8 \ufffd", "n": None, "extra": None},
        {"text": "é \ufffd\ufffd\ufffd", "n": None, "extra": None},
    ]
    assert copied.replaced == 2


def test_mixed_and_empty_objects_become_text_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"a": {}, "b": 1}\n{"a": {}, "b": "x"}\n{"b": {"c": [1]}}\n')
    copy_rows(open_files([str(path)]), None, tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet") == [
        {"a": "{}", "b": "1"},
        {"a": "{}", "b": "x"},
        {"a": None, "b": '{"c": [1]}'},
    ]


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv", ".tsv.zst", ".arrow"])
@pytest.mark.parametrize("start", [".parquet", ".jsonl.gz", ".csv", ".arrow"])
def test_every_format_becomes_every_other(tmp_path: Path, start: str, ending: str) -> None:
    table = pa.table({"id": ["1", "2", "3"], "text": ["a", 'b\n"', "ü"]})
    copy_rows(open_source(table), None, tmp_path / f"in{start}")
    copy_rows(open_files([str(tmp_path / f"in{start}")]), flags(1, 2, of=3), tmp_path / f"out{ending}")
    assert read(tmp_path / f"out{ending}") == table.to_pylist()[1:]


def test_arrow_keeps_its_schema(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.dictionary(pa.int8(), pa.string())), ("b", pa.string_view())], metadata={"k": "v"})
    table = pa.table({"a": ["x", "y", "x"], "b": ["1", "2", "3"]}, schema=schema)
    with pa.ipc.new_file(str(tmp_path / "in.arrow"), schema) as writer:
        writer.write_table(table)
    copy_rows(open_files([str(tmp_path / "in.arrow")]), flags(0, 2, of=3), tmp_path / "kept")
    with pa.ipc.open_file(str(tmp_path / "kept" / "in.arrow")) as reader:
        found = reader.read_all()
    assert found.schema.equals(schema, check_metadata=True)
    assert found.to_pylist() == [{"a": "x", "b": "1"}, {"a": "x", "b": "3"}]


def test_csv_keeps_its_columns_and_odd_bytes(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b'id;x,"a,b"\n1,caf\xe9\n2,"q""q\nr"\n3,\n')
    copy_rows(open_files([str(tmp_path / "in.csv")]), flags(0, 1, of=3), tmp_path / "kept")
    assert (tmp_path / "kept" / "in.csv").read_bytes() == b'id;x,"a,b"\n1,caf\xe9\n2,"q""q\nr"\n'


@pytest.mark.parametrize("destination", ["out.csv", "kept"])
def test_csv_keeps_its_bytes_line_ends_and_byte_order_mark(tmp_path: Path, destination: str) -> None:
    head = b'\xef\xbb\xbfid,"t\xe9xt"\r\n'
    (tmp_path / "in.csv").write_bytes(head + b'1,caf\xe9\r\n2,no\r\n3,"a\nb"\r\n')
    copied = copy_rows(open_files([str(tmp_path / "in.csv")]), flags(0, 2, of=3), tmp_path / destination)
    out = tmp_path / destination
    found = (out if out.is_file() else out / "in.csv").read_bytes()
    assert found == head + b'1,caf\xe9\r\n3,"a\nb"\r\n'
    assert copied.replaced == 0


def test_csv_files_in_one_file_and_added_columns_follow_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,text\r\n1,a\r\n")
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfid,text\n2,\xe9\n")
    source = open_files([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    schema = pa.schema([("group", pa.int64())])
    add = Extra(schema, lambda first, count: pa.record_batch([range(first, first + count)], schema=schema))
    copy_rows(source, None, tmp_path / "out.csv", add=add)
    assert (tmp_path / "out.csv").read_bytes() == b"id,text,group\r\n1,a,0\r\n2,\xe9,1\r\n"
    copy_rows(source, None, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == b"id\ttext\n1\ta\n2\t\xe9\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    for name, data in (("a.txt", b"\xef\xbb\xbfone\r\n"), ("sub/b.txt.gz", gzip.compress(b"two")), ("c.md", b"\xff")):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "docs"


def test_text_files_are_copied_as_they_are(docs: Path, tmp_path: Path) -> None:
    source = open_files([str(docs)])
    copied = copy_rows(source, flags(0, 2, of=3), tmp_path / "kept")
    assert copied.files == ["a.txt", "sub/b.txt.gz"]
    assert (tmp_path / "kept" / "a.txt").read_bytes() == b"\xef\xbb\xbfone\r\n"
    assert (tmp_path / "kept" / "sub" / "b.txt.gz").read_bytes() == (docs / "sub" / "b.txt.gz").read_bytes()
    copy_rows(source, flags(0, 2, of=3), tmp_path / "out.jsonl")
    assert read(tmp_path / "out.jsonl") == [
        {"path": f"{docs}/a.txt", "text": "one\r\n"},
        {"path": f"{docs}/sub/b.txt.gz", "text": "two"},
    ]
    with pytest.raises(OptionError, match="the ending decides the format"):
        copy_rows(source, None, tmp_path / "out.txt")


def test_text_files_are_edited(docs: Path, tmp_path: Path) -> None:
    copy_rows(open_files([str(docs)]), flags(0, 2, of=3), tmp_path / "kept", edit=upper, edit_columns=["text"])
    assert (tmp_path / "kept" / "a.txt").read_bytes() == b"ONE\r\n"
    assert gzip.decompress((tmp_path / "kept" / "sub" / "b.txt.gz").read_bytes()) == b"TWO"
    extra = Extra.of(pa.table({"x": [1, 2, 3]}))
    with pytest.raises(OptionError, match="text files have no columns to add to"):
        copy_rows(open_files([str(docs)]), None, tmp_path / "more", add=extra)


def test_plain_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"one\r\n\ntwo\nlast")
    source = open_files([str(path)], format="lines")
    copy_rows(source, flags(0, 1, 3, of=4), tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == b"one\r\n\nlast"
    copy_rows(source, flags(0, 3, of=4), tmp_path / "kept")
    assert (tmp_path / "kept" / "in.txt").read_bytes() == b"one\r\nlast"
    copy_rows(source, flags(2, of=4), tmp_path / "out.jsonl")
    assert read(tmp_path / "out.jsonl") == [{"text": "two"}]
    copy_rows(source, flags(2, 3, of=4), tmp_path / "edited.txt", edit=upper, edit_columns=["text"])
    assert (tmp_path / "edited.txt").read_bytes() == b"TWO\nLAST\n"
    with pytest.raises(OptionError, match="lines have one column"):
        copy_rows(source, None, tmp_path / "no.txt", add=Extra.of(pa.table({"x": range(4)})))


def upper(batch: Batch) -> Batch:
    """Upper-case the text, for edits that are easy to see."""
    texts = [None if text is None else text.upper() for text in batch.rows.column("text").to_pylist()]
    kind = batch.rows.schema.field("text").type
    return replace(batch, rows=pa.record_batch({"text": pa.array(texts, kind)}))


def test_edits_change_values_and_nothing_else(jsonl: Path, tmp_path: Path) -> None:
    def edit(batch: Batch) -> Batch:
        texts = batch.rows.column("text").to_pylist()
        changed = [b"2" if text == b"two" else text for text in texts]
        return replace(batch, rows=pa.record_batch({"text": pa.array(changed, pa.binary())}))

    copy_rows(open_files([str(jsonl)]), None, tmp_path / "out.jsonl", edit=edit, edit_columns=["text"])
    expected = [LINES[0], b'{"text": "2", "extra": {"a": [1, 2]}}\r\n', *LINES[3:]]
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(expected)


def test_edits_of_tables(table_file: Path, tmp_path: Path) -> None:
    copy_rows(open_files([str(table_file)]), flags(3, of=100), tmp_path / "kept", edit=upper, edit_columns=["text"])
    out = pq.read_table(tmp_path / "kept" / "t.parquet")
    assert out.column("text").to_pylist() == ["TEXT 3"]
    assert out.schema.equals(pq.read_schema(table_file), check_metadata=True)


def test_added_columns(jsonl: Path, table_file: Path, tmp_path: Path) -> None:
    numbers = pa.table({"cluster": range(100), "similarity": pa.array([None] + [0.5] * 99)})
    add = Extra.of(numbers)
    copy_rows(open_files([str(jsonl)]), flags(0, 1, 3, of=4), tmp_path / "out.jsonl", add=add)
    assert (tmp_path / "out.jsonl").read_bytes() == (
        b'{"text":  "caf\xc3\xa9",   "n": 1.10,"cluster":0,"similarity":null}\n'
        b'{"text": "two", "extra": {"a": [1, 2]},"cluster":1,"similarity":0.5}\r\n'
        b'{"text": "\\u00e9 \\ud800","cluster":3,"similarity":0.5}\n'
    )
    copy_rows(open_files([str(table_file)]), None, tmp_path / "kept", add=add)
    out = pq.read_table(tmp_path / "kept" / "t.parquet")
    assert out.schema.names[-2:] == ["cluster", "similarity"]
    assert out.column("cluster").to_pylist() == list(range(100))
    copy_rows(open_files([str(table_file)]), flags(7, of=100), tmp_path / "out.csv", add=add)
    assert read(tmp_path / "out.csv")[0]["cluster"] == "7"
    empty = tmp_path / "empty.jsonl"
    empty.write_text("{}\n")
    copy_rows(open_files([str(empty)]), None, tmp_path / "braces.jsonl", add=add)
    assert (tmp_path / "braces.jsonl").read_text() == '{"cluster":0,"similarity":null}\n'


def test_a_column_that_is_there_is_not_added(jsonl: Path, table_file: Path, tmp_path: Path) -> None:
    add = Extra.of(pa.table({"text": range(100)}))
    for path in (jsonl, table_file):
        for destination in ("out.jsonl", "out.parquet", "kept"):
            with pytest.raises(InputError, match=f"{path.name}: already has a column 'text'"):
                copy_rows(open_files([str(path)]), None, tmp_path / destination, add=add)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_an_edit_and_added_columns_together(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    add = Extra.of(pa.table({"x": [1, 2]}))
    source = open_files([str(tmp_path / "in.jsonl")])
    copy_rows(source, flags(1, of=2), tmp_path / "out.jsonl", edit=upper, edit_columns=["text"], add=add)
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "B","x":2}\n'


def test_items_in_memory(tmp_path: Path) -> None:
    source = open_source({"x": "a", "y": "b", "z": "c"})
    copy_rows(source, flags(0, 2, of=3), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "id,text\nx,a\nz,c\n"
    assert copy_rows(source, flags(1, of=3), tmp_path / "kept").files == ["items.parquet"]
    assert read(tmp_path / "kept" / "items.parquet") == [{"id": "y", "text": "b"}]


def test_standard_input_to_standard_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(data: bytes, keep: Flags, **options: Any) -> bytes:
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
        source = open_files(["-"], format=options.pop("input", None))
        copy_rows(source, keep, "-", **options)
        copy_rows(source, keep, tmp_path / f"kept{len(list(tmp_path.iterdir()))}")
        return out.getvalue()

    assert run(b"b\na\n", flags(1, of=2)) == b"a\n"
    assert run(b'{"a":  1}\n{"a": 2}\n', flags(0, of=2)) == b'{"a":  1}\n'
    assert run(b"text\nx\ny\n", flags(1, of=2), input="csv") == b"text\ny\n"
    assert run(b'{"a": 1}\n', flags(0, of=1), format="csv") == b"a\n1\n"
    assert [path.name for path in sorted(tmp_path.glob("*/*"))] == [
        "stdin.txt",
        "stdin.jsonl",
        "stdin.csv",
        "stdin.jsonl",
    ]


def test_names_of_copies(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "0123").write_text('{"text": "a"}\n')
    (tmp_path / "train.jsonl").symlink_to(tmp_path / "blobs" / "0123")
    assert copy_rows(open_files([str(tmp_path / "train.jsonl")]), None, tmp_path / "kept").files == ["train.jsonl"]
    streams = [Place(f"/dev/fd/{number}", "/tmp/spooled", "jsonl") for number in (3, 4)]
    remote = [Place(f"memory://a/{name}/x.csv", f"/a/{name}/x.csv", "csv", None, object()) for name in "bc"]
    local = [Place("in/x.csv", "in/x.csv", "csv")]
    assert mirrored([*local, *streams]) == ["x.csv", "stdin.jsonl", "stdin-2.jsonl"]
    assert mirrored(remote) == ["b/x.csv", "c/x.csv"]


def test_a_changed_input_is_noticed(jsonl: Path, table_file: Path, tmp_path: Path) -> None:
    for path, rows in ((jsonl, 4), (table_file, 100)):
        for more in (rows + 1, rows - 1):
            with pytest.raises(InputError, match="the input changed"):
                copy_rows(open_files([str(path)]), np.ones(more, np.bool_), tmp_path / f"out{path.suffix}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_changes_are_checked(jsonl: Path, tmp_path: Path) -> None:
    source = open_files([str(jsonl)])
    with pytest.raises(OptionError, match="keep: one flag"):
        copy_rows(source, np.ones(4), tmp_path / "out.jsonl")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="edit: the columns"):
        copy_rows(source, None, tmp_path / "out.jsonl", edit=upper)


def test_an_unreadable_file_that_was_skipped_is_not_mirrored(table_file: Path, tmp_path: Path) -> None:
    bad = table_file.parent / "bad.parquet"
    bad.write_bytes(b"nonsense")
    for destination in ("kept", "out.parquet"):
        source = open_files([str(table_file.parent)], skip_bad=True)
        copied = copy_rows(source, np.ones(100, np.bool_), tmp_path / destination)
        assert copied.rows == 100
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["t.parquet"]


def test_an_error_in_the_middle_leaves_nothing(jsonl: Path, table_file: Path, tmp_path: Path) -> None:
    def interrupted(batch: Batch) -> Batch:
        raise KeyboardInterrupt

    for path in (jsonl, table_file):
        for destination in ("out.jsonl", "out.parquet", "out.csv.gz", "kept"):
            with pytest.raises(KeyboardInterrupt):
                copy_rows(
                    open_files([str(path)]), None, tmp_path / destination, edit=interrupted, edit_columns=["text"]
                )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_progress_is_told(jsonl: Path, table_file: Path, docs: Path, tmp_path: Path) -> None:
    for index, path in enumerate((jsonl, table_file, docs)):
        told: list[int] = []
        source = open_files([str(path)])
        copy_rows(source, None, tmp_path / f"kept{index}", on_read=told.append)
        assert sum(told) == source.size()


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(st.sampled_from(["{}", '{"a": 1}', '{"a": "x", "b": [1]}', "", "  ", '{"a":null}\r']), max_size=12),
    end=st.booleans(),
    data=st.data(),
    block=st.integers(1, 40),
)
def test_kept_lines_are_the_lines_of_the_input_in_order(
    tmp_path: Path, lines: list[str], end: bool, data: Any, block: int
) -> None:
    text = "\n".join(lines) + ("\n" if end and lines else "")
    path = tmp_path / "in.jsonl"
    path.write_bytes(text.encode())
    rows = [line for line in io.BytesIO(text.encode()) if line.strip()]
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    original = blocks_module.BLOCK_BYTES
    blocks_module.BLOCK_BYTES = block
    try:
        copy_rows(open_files([str(path)]), keep, tmp_path / "out.jsonl", overwrite=True)
    finally:
        blocks_module.BLOCK_BYTES = original
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(row for row, kept in zip(rows, keep, strict=True) if kept)


def test_filters_agree_with_arrow(table_file: Path, tmp_path: Path) -> None:
    table = pq.read_table(table_file)
    keep = pc.equal(table.column("kind").cast(pa.string()), "a").to_numpy()
    copy_rows(open_files([str(table_file)], batch_rows=9), keep, tmp_path / "out.jsonl")
    found = read(tmp_path / "out.jsonl")
    assert [row["id"] for row in found] == list(range(0, 100, 2))
    assert found[1]["when"] == "1970-01-01T00:00:00.002Z"
    assert found[1]["nested"] == [{"a": 2, "b": ["x"]}]
