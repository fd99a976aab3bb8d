"""Text files, one item per file; and plain lines, one item per line."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import open_files

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("b.txt", "bee"), ("a.md", "ay"), ("sub/c.py", "sea"), (".hidden/d.txt", "no"), (".e", "no")):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "docs" / "picture.bin").write_bytes(b"\x89PNG\0\0")
    return tmp_path / "docs"


def test_a_folder_of_texts_is_one_table_of_path_and_text(folder: Path) -> None:
    source = open_files([str(folder)])
    (batch,) = source.batches()
    assert batch.rows.to_pylist() == [
        {"path": f"{folder}/a.md", "text": "ay"},
        {"path": f"{folder}/b.txt", "text": "bee"},
        {"path": f"{folder}/sub/c.py", "text": "sea"},
    ]
    assert source.count() == 3
    assert source.size() == 8
    assert source.locate(2) == (2, 0)
    assert source.files[2] == f"{folder}/sub/c.py"


def test_batches_are_cut_by_bytes_and_rows(folder: Path) -> None:
    by_bytes = open_files([str(folder)], batch_bytes=5)
    assert [(b.first, b.file, b.row, b.rows.num_rows) for b in by_bytes.batches(["text"])] == [
        (0, 0, 0, 2),
        (2, 2, 0, 1),
    ]
    by_rows = open_files([str(folder)], batch_rows=1, limit=2)
    assert [(b.first, b.file, b.row, b.rows.num_rows) for b in by_rows.batches(["text"])] == [
        (0, 0, 0, 1),
        (1, 1, 0, 1),
    ]


def test_only_wanted_files_are_read(folder: Path) -> None:
    source = open_files([str(folder)])
    list(source.batches())
    (folder / "a.md").unlink()
    only = np.array([False, True, False])
    (batch,) = source.batches(["text"], only=only)
    assert (batch.first, batch.rows.column("text").to_pylist()) == (1, ["bee"])
    assert [b.rows.num_rows for b in source.batches(["path"])] == [3]


def test_a_file_that_can_not_be_read_is_a_bad_row(folder: Path) -> None:
    source = open_files([str(folder)])
    skipping = open_files([str(folder)], skip_bad=True)
    (folder / "b.txt").unlink()
    with pytest.raises(InputError, match=r"b.txt: no such file or directory"):
        list(source.batches(["text"]))
    for _ in range(2):
        batches = list(skipping.batches(["text"]))
        assert [(b.first, b.file, b.rows.column("text").to_pylist()) for b in batches] == [
            (0, 0, ["ay"]),
            (1, 2, ["sea"]),
        ]
    assert skipping.skipped == 1
    assert skipping.count() == 2
    assert skipping.locate(1) == (2, 0)


def test_bytes_that_are_not_utf8_stay_and_a_byte_order_mark_goes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfcaf\xe9")
    (batch,) = open_files([str(tmp_path / "a.txt")]).batches(["text"])
    assert batch.rows.column("text").to_pylist() == [b"caf\xe9"]


def test_a_missing_column_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match="no column 'id'; its columns are: path, text"):
        list(open_files([str(folder)]).batches(["id"]))


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_texts_and_lines(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(PACKERS[ending](b"one\ntwo\n" * 1000))
    (batch,) = open_files([str(path)]).batches(["text"])
    assert batch.rows.column("text").to_pylist() == ["one\ntwo\n" * 1000]
    source = open_files([str(path)], format="lines")
    told: list[int] = []
    (batch,) = source.batches(["text"], told.append)
    assert batch.rows.column("text").to_pylist() == ["one", "two"] * 1000
    assert sum(told) == source.size()


@pytest.mark.parametrize("ending", [ending for ending in PACKERS if ending])
def test_a_compressed_file_that_breaks_off(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(PACKERS[ending](b"".join(b'{"text": "%d"}\n' % i for i in range(9999)))[:-30])
    with pytest.raises(InputError, match=rf"a.jsonl{ending}:1: .*; the rest of the file cannot be read"):
        list(open_files([str(path)]).batches(["text"]))
    source = open_files([str(path)], skip_bad=True)
    list(source.batches(["text"]))
    assert source.skipped == 1


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=40) | st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"\r", b""])).map(b"".join))
def test_lines_are_what_splitting_at_newlines_gives(tmp_path: Path, data: bytes) -> None:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = b"x" + data
    path = tmp_path / "in.txt"
    path.write_bytes(data)
    expected = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    endless = len(expected) - (not data.endswith(b"\n"))
    expected = [line.removesuffix(b"\r") if i < endless else line for i, line in enumerate(expected)]
    batches = list(open_files([str(path)], format="lines").batches(["text"]))
    found: list[Any] = [text for b in batches for text in b.rows.column("text").cast(pa.binary()).to_pylist()]
    assert found == expected


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_utf16_is_said_and_not_read_as_letters_with_zeros(name: str, encoding: str, tmp_path: Path) -> None:
    text = '{"text": "ä"}\n' if name == "a.jsonl" else "text\nä\n"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    (tmp_path / name).write_bytes(mark + text.encode(encoding))
    with pytest.raises(InputError, match=f"{name}: is UTF-16; convert it to UTF-8 first"):
        list(open_files([str(tmp_path / name)]).batches(["text"]))
