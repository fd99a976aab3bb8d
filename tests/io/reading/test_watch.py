"""Input that changes while it is read is an error that names it, in every format and every pass."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError
from lookalike.io import copy_rows, open_files, save_table
from lookalike.io.making.edges import open_edges
from lookalike.io.reading.places import Place
from lookalike.io.reading.watch import Watch, fingerprints
from lookalike.io.source import Source

CHANGED = r"has changed during the run: start again, and do not change it meanwhile"
CHANGED_OR_GONE = f"({CHANGED}|: it was removed during the run)"
FORMATS = ["a.parquet", "a.jsonl", "a.csv", "a.arrow", "a.npy", "a.txt"]


def write(path: Path, seed: int) -> None:
    """The same rows in an order of their own."""
    order = np.random.default_rng(seed).permutation(100)
    if path.suffix == ".npy":
        np.save(path, np.eye(100, dtype=np.float32)[order])
    elif path.suffix == ".txt":
        path.write_text(" ".join(f"w{i:02}" for i in order))
    else:
        save_table(pa.table({"text": [f"text {i:02}" for i in order]}), path, overwrite=True)


def shuffled(path: Path) -> None:
    """As an editor does it: another file takes the place, as old as the first."""
    before = path.stat()
    other = path.with_name(f"new{path.suffix}")
    write(other, 2)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def in_place(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


@pytest.mark.parametrize("change", [shuffled, in_place, Path.unlink])
@pytest.mark.parametrize("name", FORMATS)
def test_an_input_that_changes_between_two_passes_is_named(
    tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir()
    write(path, 1)
    source = open_files([str(path)])
    rows = sum(batch.rows.num_rows for batch in source.batches())
    change(path)
    with pytest.raises(InputError, match=f"{name} ?{CHANGED_OR_GONE}"):
        list(source.batches())
    for output in (tmp_path / "kept", *([] if path.suffix == ".txt" else [tmp_path / f"one{path.suffix}"])):
        with pytest.raises(InputError, match=f"{name} ?{CHANGED_OR_GONE}"):
            copy_rows(source, np.ones(rows, np.bool_), output)
        assert not output.exists()


@pytest.mark.parametrize("name", FORMATS)
def test_an_input_that_changes_in_the_middle_of_a_pass_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, 1)
    source = open_files([str(path)], batch_rows=10)
    batches = source.batches()
    next(iter(batches))
    shuffled(path)
    # A text is one row: it was read before the change.
    if path.suffix != ".txt":
        with pytest.raises(InputError, match=CHANGED):
            list(batches)


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_an_input_that_changes_while_it_is_copied_leaves_no_copy(tmp_path: Path, name: str, into: bool) -> None:
    path = tmp_path / name
    write(path, 1)
    source = open_files([str(path)])
    list(source.batches(["text"]))

    def on_read(_: int) -> None:
        if path.stat().st_ino == before:
            shuffled(path)

    before = path.stat().st_ino
    with pytest.raises(InputError, match=CHANGED):
        copy_rows(source, np.ones(100, np.bool_), tmp_path / "kept", on_read=on_read, into=into)
    assert not (tmp_path / "kept" / name).exists()


def test_edges_that_change_while_they_are_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("user,item\n" + "".join(f"u{i},i{i}\n" for i in range(100)))
    source = open_files([str(path)], batch_rows=10)
    edges = open_edges(source, "user", "item", memory=1 << 20, folder=None)
    path.write_text(path.read_text() + "x,y\n")
    with pytest.raises(InputError, match=CHANGED):
        list(edges.batches())
    assert [each["name"] for each in fingerprints(edges)] == [str(path)]


def test_rows_that_come_or_go_are_noticed_even_where_the_file_looks_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "check", lambda *_: None)
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"text": "x"}\n' * 5)
    for name, rows in (("a.jsonl", 4), ("a.jsonl", 6), ("b.jsonl", 4), ("b.jsonl", 6)):
        source = open_files([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")])
        list(source.batches(["text"]))
        (tmp_path / name).write_text('{"text": "x"}\n' * rows)
        with pytest.raises(InputError, match=f"{name} {CHANGED}"):
            list(source.batches(["text"]))
        (tmp_path / name).write_text('{"text": "x"}\n' * 5)


def told(source: Source) -> Any:
    return fingerprints(source)[0]


def test_what_tells_files_apart_is_name_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n')
    first = told(open_files([str(path)]))
    assert first == {"name": str(path), "format": "jsonl", "size": 14, "time": path.stat().st_mtime_ns}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_that_was_replaced_is_another_input(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"

    def packed(text: str) -> Any:
        inner = tmp_path / "a.jsonl"
        inner.write_text(text)
        os.utime(inner, ns=(10**18, 10**18))
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.write(inner, "a.jsonl")
        else:
            with tarfile.open(path, "w") as tar:
                tar.add(inner, "a.jsonl")
        fsspec.get_filesystem_class(kind).clear_instance_cache()
        return told(open_files([f"{kind}://*.jsonl::{path}"]))

    one = packed('{"text": "one"}\n')
    assert one["told"]["size"] == "16"
    assert packed('{"text": "two"}\n') != one


def test_an_object_that_was_replaced_is_another_input() -> None:
    system = fsspec.filesystem("memory")
    found = []
    for text in (b"one", b"two"):
        system.pipe("/watched/a.txt", text)
        found.append(told(open_files(["memory://watched/a.txt"])))
    assert found[0] != found[1]


def test_standard_input_is_known_by_what_it_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    for text in ("one\ntwo\n", "two\none\n", "one\ntwo\n"):
        spooled = tmp_path / f"spooled-{len(found)}"
        spooled.write_text(text)
        monkeypatch.setattr("lookalike.io.reading.expand.spool_stdin", lambda spooled=spooled: str(spooled))
        found.append(told(open_files(["-"])))
    assert found[0] == found[2] != found[1]


def test_a_file_that_was_never_there_is_no_change(tmp_path: Path) -> None:
    watch = Watch([Place(str(tmp_path / "x"), str(tmp_path / "x"), "jsonl")])
    watch.check(0)
    watch.check_all()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x")
    with pytest.raises(InputError, match=CHANGED):
        watch.check_all()
