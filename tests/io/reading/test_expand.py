"""From what people type to the files that are read."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError, OptionError
from lookalike.io import open_files, open_source
from lookalike.io.reading.expand import expand


def names(paths: list[str], format: str | None = None) -> list[str]:
    return [f"{Path(place.name).name}:{place.format}" for place in expand(paths, format)]


def texts(source: Any, column: str = "text") -> list[Any]:
    return [text for batch in source.batches([column]) for text in batch.rows.column(column).to_pylist()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.jsonl", "a.jsonl.gz", "sub/c.ndjson", "README.md", ".secret.jsonl", ".cache/d.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        line = json.dumps({"text": name}).encode() + b"\n"
        path.write_bytes(gzip.compress(line) if name.endswith(".gz") else line)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_come_in_the_order_given(folder: Path) -> None:
    assert texts(open_files(["b.jsonl", "a.jsonl.gz"])) == ["b.jsonl", "a.jsonl.gz"]
    assert open_files(["b.jsonl"]).files == ("b.jsonl",)


def test_patterns_are_sorted_and_may_go_down(folder: Path) -> None:
    assert names(["*.jsonl*"]) == ["a.jsonl.gz:jsonl", "b.jsonl:jsonl"]
    assert names(["**/*.ndjson", "b*"]) == ["c.ndjson:jsonl", "b.jsonl:jsonl"]


def test_a_folder_stands_for_its_data_files(folder: Path) -> None:
    assert names(["."]) == ["a.jsonl.gz:jsonl", "b.jsonl:jsonl", "c.ndjson:jsonl"]
    assert list(open_files(["."]).files) == ["./a.jsonl.gz", "./b.jsonl", "./sub/c.ndjson"]


def test_a_format_chooses_among_the_files_of_a_folder(folder: Path) -> None:
    (folder / "d.csv").write_text("text\nx\n")
    assert names(["."], "csv") == ["d.csv:csv"]
    assert names(["."], "text") == ["README.md:text", "a.jsonl.gz:text", "b.jsonl:text", "d.csv:text", "c.ndjson:text"]
    assert names(["b.jsonl"], "lines") == ["b.jsonl:lines"]


def test_a_name_with_brackets_is_a_file_if_it_is_there(folder: Path) -> None:
    (folder / "x[1].jsonl").write_text('{"text": "brackets"}\n')
    assert texts(open_files(["x[1].jsonl"])) == ["brackets"]


def test_formats_with_the_same_columns_may_be_mixed(folder: Path) -> None:
    pq.write_table(pa.table({"text": ["from parquet"]}), "d.parquet")
    source = open_files(["b.jsonl", "d.parquet"])
    assert texts(source) == ["b.jsonl", "from parquet"]
    assert source.count() == 2


def test_endings_are_read_without_regard_to_case(folder: Path) -> None:
    (folder / "X.JSONL").write_text('{"text": "upper"}\n')
    assert texts(open_files(["X.JSONL"])) == ["upper"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "no input: give a file, a pattern, a folder or '-'"),
        (["nope.jsonl"], "nope.jsonl: no such file or folder"),
        (["*.parquet"], "*.parquet: no file matches this pattern"),
        (["empty"], "empty: no data or text files in this folder"),
        (["b.jsonl", "./b.jsonl"], "./b.jsonl: given twice"),
        (
            ["b.jsonl", "README.md"],
            "README.md is a text file and b.jsonl is jsonl: read them separately, or give --format",
        ),
        (["x.parquet.gz"], "x.parquet.gz: a parquet file inside gzip cannot be read: unpack it first"),
        (["memory://nope/x.jsonl"], "memory://nope/x.jsonl: no such file or folder"),
        (["memory://nope/*.jsonl"], "memory://nope/*.jsonl: no file matches this pattern"),
        (["nosuchthing://x"], "nosuchthing://x: protocol not known: nosuchthing"),
    ],
)
def test_what_is_not_there_is_said(folder: Path, paths: list[str], message: str) -> None:
    (folder / "empty").mkdir()
    (folder / "x.parquet.gz").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        open_files(paths)
    assert str(caught.value) == message


def test_links_to_listed_files_and_to_nothing_are_left_out(folder: Path) -> None:
    (folder / "sub" / "a-link.jsonl").symlink_to(folder / "b.jsonl")
    (folder / "a-link.jsonl").symlink_to("b.jsonl")
    (folder / "broken.jsonl").symlink_to("nothing.jsonl")
    (folder / "linked").symlink_to("sub")
    assert names(["."]) == ["a.jsonl.gz:jsonl", "b.jsonl:jsonl", "c.ndjson:jsonl"]
    assert names(["*.jsonl"]) == ["b.jsonl:jsonl"]
    assert [place.name for place in expand(["**/*.ndjson"], None)] == ["sub/c.ndjson"]
    assert names(["sub"]) == ["a-link.jsonl:jsonl", "c.ndjson:jsonl"]
    assert names(["sub", "b.jsonl"]) == ["c.ndjson:jsonl", "b.jsonl:jsonl"]
    for twice in (["b.jsonl", "a-link.jsonl"], ["*.jsonl", "b.jsonl"], ["a-link.jsonl", "a-link.jsonl"]):
        with pytest.raises(InputError, match="given twice"):
            expand(twice, None)
    with pytest.raises(InputError, match=r"^broken.jsonl: no such file or folder"):
        expand(["broken.jsonl"], None)


def test_a_binary_file_is_not_taken_for_text(folder: Path) -> None:
    (folder / "a.zip").write_bytes(b"PK\x03\x04\0\0")
    with pytest.raises(InputError, match=r"a.zip: neither a text file nor one of .parquet"):
        open_files(["a.zip"])
    assert texts(open_files(["a.zip"], format="text")) == ["PK\x03\x04\0\0"]


def test_options_are_checked(folder: Path) -> None:
    with pytest.raises(OptionError, match="format: 'xml' is not one of parquet, jsonl"):
        open_files(["b.jsonl"], format="xml")
    with pytest.raises(OptionError, match="limit: 0 is less than 1"):
        open_files(["b.jsonl"], limit=0)
    with pytest.raises(OptionError, match="format: 'xml'"):
        open_source(["a"], format="xml")


def test_what_the_system_refuses_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "b.jsonl")

    monkeypatch.setattr(pa, "OSFile", refuse)
    with pytest.raises(InputError) as caught:
        texts(open_files(["b.jsonl"]))
    assert str(caught.value) == "b.jsonl: permission denied"


def test_strings_and_paths_are_places_and_lists_of_strings_are_texts(folder: Path) -> None:
    assert texts(open_source("b.jsonl")) == ["b.jsonl"]
    assert texts(open_source(Path("b.jsonl"))) == ["b.jsonl"]
    assert texts(open_source([Path("b.jsonl"), Path("a.jsonl.gz")])) == ["b.jsonl", "a.jsonl.gz"]
    assert texts(open_source(["b.jsonl"])) == ["b.jsonl"]
    assert open_source(["b.jsonl"]).files == ()
    with pytest.raises(InputError, match="a list of paths must hold paths only, not 'x'"):
        open_source([Path("b.jsonl"), "x"])


def stdin(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": ["a", "b"]}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "format", "known"),
    [
        (b'{"text": "a"}\n{"text": "b"}\n', None, "jsonl"),
        (b'\n  {"text": "a"}\n{"text": "b"}\n', None, "jsonl"),
        (gzip.compress(b'{"text": "a"}\n{"text": "b"}\n', mtime=0), None, "jsonl"),
        (parquet_bytes(), None, "parquet"),
        (b"a\nb\n", None, "lines"),
        (b"text\na\nb\n", "csv", "csv"),
    ],
)
def test_standard_input_is_recognised_and_read_twice(
    data: bytes, format: str | None, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(data, monkeypatch)
    source: Any = open_files(["-"], format=format)
    assert source.places[0].format == known
    assert source.files == ("-",)
    assert texts(source) == ["a", "b"]
    assert texts(source) == ["a", "b"]


def test_errors_in_standard_input_have_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(b'{"text": "a"}\n{\n', monkeypatch)
    with pytest.raises(InputError, match=r"^-:2: not JSON"):
        texts(open_files(["-"]))


def test_the_copy_of_standard_input_is_gone_when_the_program_ends(tmp_path: Path) -> None:
    code = "from lookalike.io import open_files; print(sum(b.rows.num_rows for b in open_files(['-']).batches()))"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"a\nb\nc\n", capture_output=True, env=environment, check=True
    )
    assert done.stdout.strip() == b"3"
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_kept_so_that_it_can_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b'{"text": "a"}\n'))
    writer.start()
    source = open_files([str(pipe)])
    writer.join()
    assert texts(source) == ["a"]
    assert texts(source) == ["a"]


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def test_addresses_go_through_fsspec(memory: Any) -> None:
    memory.pipe("/data/b.jsonl", b'{"text": "b"}\n')
    memory.pipe("/data/a.jsonl.gz", gzip.compress(b'{"text": "a"}\n'))
    memory.pipe("/data/.hidden.jsonl", b"{")
    memory.pipe("/data/p/c.parquet", parquet_bytes())
    memory.pipe("/docs/x.txt", b"one")
    memory.pipe("/docs/y.bin", b"\0")
    assert texts(open_files(["memory://data/b.jsonl"])) == ["b"]
    source = open_files(["memory://data/*.jsonl*"])
    assert texts(source) == ["a", "b"]
    assert open_files(["memory://data/p/c.parquet"]).count() == 2
    assert texts(open_files(["memory://data"])) == ["a", "b", "a", "b"]
    assert texts(open_files(["memory://docs"])) == ["one"]
    assert open_files(["memory://docs"]).files == ("memory:///docs/x.txt",)
    assert open_files(["memory://docs"]).size() == 3


def test_errors_of_a_remote_system_are_one_line(memory: Any) -> None:
    memory.pipe("/data/a.jsonl", b'{"text": "a"}\n')
    source = open_files(["memory://data/a.jsonl"])
    memory.rm("/data/a.jsonl")
    with pytest.raises(InputError, match=r"memory://data/a\.jsonl: "):
        texts(source)
