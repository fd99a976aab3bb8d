"""Compressed files that are read ahead: rows, errors and order as one after another, and no thread is left."""

from __future__ import annotations

import bz2
import gzip
import json
import threading
from pathlib import Path

import pytest

from lookalike.errors import InputError
from lookalike.io.reading import read_ahead
from lookalike.io.reading.files import open_files
from lookalike.io.reading.places import Place
from lookalike.io.reading.read_ahead import ReadAhead


def threads_ahead() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lookalike-file-ahead"]


def written(folder: Path, files: int = 5, rows: int = 300) -> list[Path]:
    """JSONL files, each compressed or not."""
    paths = []
    for number in range(files):
        data = "".join(json.dumps({"text": f"{number} {row}"}) + "\n" for row in range(rows)).encode()
        if number % 3 == 2:
            paths.append(folder / f"{number}.jsonl")
            paths[-1].write_bytes(data)
        else:
            pack, ending = ((gzip.compress, "gz"), (bz2.compress, "bz2"))[number % 3]
            paths.append(folder / f"{number}.jsonl.{ending}")
            paths[-1].write_bytes(pack(data))
    return paths


def texts(paths: list[Path], threads: int, **options: object) -> list[str]:
    source = open_files([str(path) for path in paths], threads=threads, **options)  # type: ignore[arg-type]
    return [text for batch in source.batches(["text"]) for text in batch.rows["text"].to_pylist()]


@pytest.mark.parametrize("block", [7, 1000, 8 << 20])
@pytest.mark.parametrize("limit", [None, 450])
def test_rows_come_in_their_order(
    tmp_path: Path, block: int, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_ahead, "BLOCK_BYTES", block)
    paths = written(tmp_path)
    assert texts(paths, 4, limit=limit) == texts(paths, 1, limit=limit)
    assert threads_ahead() == []


def test_several_files_are_begun_at_once_and_left_when_the_pass_ends(tmp_path: Path) -> None:
    places = [Place(str(path), str(path), "jsonl", "gzip") for path in written(tmp_path, 9)[::3]]
    ahead = ReadAhead(places, 2)
    first = ahead.take(0)
    assert len(threads_ahead()) <= 2
    with first.stream() as stream:
        assert stream.read(12) == b'{"text": "0 '
        assert stream.read(1) == b"0"
    with first.stream() as again:
        assert again.read(3) == b'{"t'
    assert ahead.take(1).begun is not None
    ahead.close()
    assert threads_ahead() == []


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_wrong_is_told_when_its_turn_comes(tmp_path: Path, threads: int) -> None:
    paths = written(tmp_path)
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: len(whole) // 2])
    source = open_files([str(path) for path in paths], threads=threads)
    seen: list[int] = []
    with pytest.raises(InputError, match=r"1\.jsonl\.bz2"):
        seen.extend(batch.file for batch in source.batches(["text"]))
    assert set(seen) == {0}
    assert threads_ahead() == []
    skipping = open_files([str(path) for path in paths], threads=threads, skip_bad=True)
    assert sum(batch.rows.num_rows for batch in skipping.batches(["text"])) == 1200
    assert skipping.skipped == 1


def test_a_file_that_is_gone_is_told_even_where_bad_rows_are_skipped(tmp_path: Path) -> None:
    place = Place("gone.jsonl.gz", str(tmp_path / "gone.jsonl.gz"), "jsonl", "gzip")
    ahead = ReadAhead([place, place], 2)
    with pytest.raises(InputError, match=r"gone\.jsonl\.gz"):
        ahead.take(0).stream()
    ahead.close()
    assert threads_ahead() == []
