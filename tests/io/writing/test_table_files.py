"""Tables to files of every format and compression, and back."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import OptionError, OutputError
from lookalike.io import TableWriter, is_file, open_files, save_table

TABLE = pa.table(
    {
        "a": pa.array([1, 2, 3]),
        "text": ["plain", 'quote " comma , \n line', None],
        "similarity": [0.5, 1.0, None],
        "tags": [["x"], [], None],
    }
)


def read(path: Path) -> list[dict[str, Any]]:
    return [row for batch in open_files([str(path)]).batches() for row in batch.rows.to_pylist()]


@pytest.mark.parametrize(
    "ending", [".parquet", ".pq", ".arrow", ".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst", ".jsonl.bz2", ".jsonl.xz"]
)
def test_typed_formats_bring_back_what_was_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    save_table(TABLE, path)
    assert read(path) == TABLE.to_pylist()
    assert [name.name for name in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".tsv.zst"])
def test_text_formats_bring_back_text(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    save_table(TABLE, path)
    assert read(path) == [
        {"a": "1", "text": "plain", "similarity": "0.5", "tags": '["x"]'},
        {"a": "2", "text": 'quote " comma , \n line', "similarity": "1.0", "tags": "[]"},
        {"a": "3", "text": "", "similarity": "", "tags": ""},
    ]


def test_parquet_is_compressed_with_zstd_and_cut_into_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    with TableWriter(path, pa.schema([("x", pa.int64())])) as writer:
        for start in range(0, 300_000, 1000):
            writer.write(pa.record_batch({"x": range(start, start + 1000)}))
    assert writer.rows == 300_000
    metadata = pq.read_metadata(path)
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    assert metadata.num_row_groups == 3
    assert pq.read_table(path).column("x").to_pylist() == list(range(300_000))


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for ending in ("parquet", "jsonl.gz", "csv.zst", "arrow"):
        one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending}"
        save_table(TABLE, one)
        save_table(TABLE, two)
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv.gz", ".arrow", ".jsonl.xz"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_while_writing_leaves_nothing(tmp_path: Path, ending: str, error: type[BaseException]) -> None:
    with pytest.raises(error), TableWriter(tmp_path / f"out{ending}", TABLE.schema) as writer:
        writer.write(TABLE)
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_table_without_rows_is_a_file_without_rows(tmp_path: Path) -> None:
    for ending in (".parquet", ".jsonl", ".csv", ".arrow"):
        save_table(TABLE.slice(0, 0), tmp_path / f"out{ending}")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert (tmp_path / "out.csv").read_bytes() == b"a,text,similarity,tags\n"
    assert read(tmp_path / "out.arrow") == []


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.json", "out.gz"])
def test_an_unknown_ending_lists_what_is_allowed(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"use .parquet, .jsonl, .csv, .tsv or .arrow"):
        save_table(TABLE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_options_that_can_not_be(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="parquet is compressed already"):
        save_table(TABLE, tmp_path / "out.parquet.gz")
    with pytest.raises(OptionError, match="format: 'lines' is not one of parquet"):
        save_table(TABLE, tmp_path / "out.txt", format="lines")
    with pytest.raises(OptionError, match="the output must be a local path"):
        save_table(TABLE, "s3://bucket/out.parquet")
    save_table(TABLE, tmp_path / "out.dat", format="csv")
    assert (tmp_path / "out.dat").read_text().startswith("a,text")
    with pytest.raises(OutputError, match=r"out.dat exists; use --overwrite"):
        save_table(TABLE, tmp_path / "out.dat", format="csv")


def test_files_and_folders_are_told_apart_by_their_endings(tmp_path: Path) -> None:
    assert is_file("-")
    assert is_file("a/clean.jsonl.gz")
    assert not is_file("run")
    assert not is_file("run-0.8")
    with pytest.raises(OptionError, match=r"clean.json: the ending decides the format"):
        is_file("clean.json")


@pytest.mark.parametrize("format", [None, "jsonl", "csv", "parquet", "arrow"])
def test_standard_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, format: str | None) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    save_table(TABLE, "-", format=format)
    data = buffer.getvalue()
    monkeypatch.undo()
    if format in (None, "jsonl"):
        assert [json.loads(line) for line in data.splitlines()] == TABLE.to_pylist()
    elif format == "csv":
        assert data.startswith(b"a,text,similarity,tags\n1,plain,0.5,")
    elif format == "parquet":
        assert pq.read_table(io.BytesIO(data)).equals(TABLE)
    else:
        assert pa.ipc.open_file(data).read_all().equals(TABLE)


def test_nobody_reads_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.BytesIO):
        def write(self, data: Any) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    class Output:
        buffer = Closed()

    monkeypatch.setattr(sys, "stdout", Output())
    with pytest.raises(OutputError, match="the reader closed the pipe while writing standard output"):
        save_table(TABLE, "-")
