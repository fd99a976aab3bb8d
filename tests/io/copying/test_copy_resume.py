"""A copy into a folder can be gone on with: whole files stay, everything else is written anew."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError, OutputError
from lookalike.io import Batch, copy_rows, open_files, open_source
from lookalike.io.copying.copy import CopiedFile

KEEP = np.arange(80) % 3 != 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / "in"
    (out / "sub").mkdir(parents=True)
    for number, name in enumerate(("a.parquet", "b.jsonl", "sub/c.csv", "sub/d.parquet")):
        rows = pa.table({"id": [str(20 * number + row) for row in range(20)]})
        copy_rows(open_source(rows), None, out / name)
    return out


def written(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def times(path: Path) -> dict[str, int]:
    return {str(file.relative_to(path)): file.stat().st_mtime_ns for file in path.rglob("*") if file.is_file()}


class _Killed(BaseException):
    """The program ended here."""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_interrupted_copy_goes_on_and_ends_the_same(folder: Path, tmp_path: Path, after: int, threads: int) -> None:
    whole = copy_rows(open_files([str(folder)]), KEEP, tmp_path / "whole", threads=threads)
    told: list[CopiedFile] = []

    def stop(file: CopiedFile) -> None:
        told.append(file)
        if len(told) == after:
            raise _Killed

    target = tmp_path / "kept"
    with pytest.raises(_Killed):
        copy_rows(open_files([str(folder)]), KEEP, target, into=True, on_file=stop, threads=threads)
    assert told == whole.by_file[:after]
    before = times(target)
    left = target / "sub" / ".d.parquet.part"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half")
    # What was told goes through JSON and back.
    finished = {file.name: CopiedFile(**asdict(file)) for file in told}
    more: list[CopiedFile] = []
    copied = copy_rows(
        open_files([str(folder)]), KEEP, target, into=True, finished=finished, on_file=more.append, threads=threads
    )
    assert copied == whole
    assert more == whole.by_file[after:]
    assert written(target) == written(tmp_path / "whole")
    for name in finished:
        assert times(target)[name] == before[name], "not written again"


def test_each_file_appears_when_it_is_whole(folder: Path, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    target = tmp_path / "kept"
    copy_rows(
        open_files([str(folder)]), None, target, into=True, on_file=lambda _: seen.append(sorted(written(target)))
    )
    names = ["a.parquet", "b.jsonl", "sub/c.csv", "sub/d.parquet"]
    assert seen == [names[: number + 1] for number in range(4)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_is_not_as_it_was_left_is_written_anew(folder: Path, tmp_path: Path, threads: int) -> None:
    target = tmp_path / "kept"
    whole = copy_rows(open_files([str(folder)]), None, target, into=True)
    files = written(target)
    (target / "b.jsonl").write_bytes(b"short")
    (target / "a.parquet").unlink()
    (target / "unknown.txt").write_bytes(b"of somebody else")
    finished = {file.name: file for file in whole.by_file if file.name != "sub/d.parquet"}
    more: list[str] = []
    copied = copy_rows(
        open_files([str(folder)]),
        None,
        target,
        into=True,
        finished=finished,
        on_file=lambda file: more.append(file.name),
        threads=threads,
    )
    assert copied == whole
    assert more == ["a.parquet", "b.jsonl", "sub/d.parquet"]
    assert written(target) == files | {"unknown.txt": b"of somebody else"}


def test_progress_counts_files_that_are_left_as_they_are(folder: Path, tmp_path: Path) -> None:
    source = open_files([str(folder / "*.parquet")])
    whole = copy_rows(source, None, tmp_path / "kept", into=True)
    told: list[int] = []
    finished = {file.name: file for file in whole.by_file}
    copy_rows(source, None, tmp_path / "kept", into=True, finished=finished, on_read=told.append)
    assert sum(told) == source.size()


def test_a_changed_input_leaves_whole_files_and_no_others(folder: Path, tmp_path: Path) -> None:
    source = open_files([str(folder)])
    list(source.batches(["id"]))
    pq.write_table(pa.table({"id": ["1"]}), folder / "sub" / "d.parquet")
    with pytest.raises(InputError, match=r"d\.parquet has changed during the run"):
        copy_rows(source, KEEP, tmp_path / "kept", into=True, threads=2)
    assert not [name for name in written(tmp_path / "kept") if "d.parquet" in name]


def test_an_input_is_never_overwritten(folder: Path, tmp_path: Path) -> None:
    before = written(folder)
    with pytest.raises(OutputError, match=r"a\.parquet is an input; write to another folder"):
        copy_rows(open_files([str(folder)]), KEEP, folder, into=True)
    assert written(folder) == before


def test_a_folder_is_needed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(OutputError, match="kept is a file, not a folder"):
        copy_rows(open_files([str(folder)]), None, tmp_path / "kept", into=True)


def test_items_in_memory_are_one_file_that_may_be_there(tmp_path: Path) -> None:
    source = open_source(["a", "b", "c"])
    keep = np.array([True, False, True])
    whole = copy_rows(source, keep, tmp_path / "kept", into=True)
    (file,) = whole.by_file
    assert (file.name, file.source, file.read, file.rows) == ("items.parquet", "", 3, 2)
    before = times(tmp_path / "kept")
    assert copy_rows(source, keep, tmp_path / "kept", into=True, finished={file.name: file}) == whole
    assert times(tmp_path / "kept") == before


def upper(batch: Batch) -> Batch:
    rows: Any = pa.record_batch({"text": [text.upper() for text in batch.rows.column("text").to_pylist()]})
    return Batch(batch.first, batch.file, batch.row, rows)


def test_text_files_that_are_there_stay_and_others_are_written(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / f"{number}.txt").write_text(f"text {number}")
    source = open_files([str(tmp_path / "docs")])
    keep = np.arange(10) < 8
    told: list[CopiedFile] = []
    target = tmp_path / "kept"
    whole = copy_rows(source, keep, target, into=True, on_file=told.append)
    assert (whole.rows, whole.by_file, told) == (8, [], [])
    (target / "3.txt").write_text("te")
    (target / "4.txt").write_text("Text 4")
    (target / "5.txt").unlink()
    before = times(target)
    assert copy_rows(source, keep, target, into=True) == whole
    assert {name: data.decode() for name, data in written(target).items()} == {
        f"{number}.txt": f"text {number}" for number in range(8)
    }
    assert [name for name, time in times(target).items() if before.get(name) == time] != []
    assert times(target)["0.txt"] == before["0.txt"]
    copy_rows(source, keep, target, into=True, edit=upper, edit_columns=["text"])
    assert (target / "0.txt").read_text() == "TEXT 0", "as long as the original, but edited"
