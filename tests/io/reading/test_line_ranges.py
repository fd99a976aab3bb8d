"""Ranges of lines: what is read by them, in any order, is what the file holds from its beginning to its end."""

from __future__ import annotations

import gzip
import json
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_source
from lookalike.io.copying.copy import copy_rows
from lookalike.io.reading import line_ranges as module
from lookalike.io.reading.files import FileSource, open_files
from lookalike.io.reading.line_ranges import line_ranges, spans
from lookalike.io.reading.places import Place
from lookalike.io.source import Batch

LINES = st.lists(st.sampled_from([b"", b" ", b"\t \r", b"{}", b'{"a": 1}', b"x" * 40, b" y", b"\xff\r"]), max_size=30)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 16)


def place_of(folder: Path, data: bytes) -> Place:
    path = folder / "in.jsonl"
    path.write_bytes(data)
    return Place(str(path), str(path), "jsonl")


@settings(max_examples=300)
@given(lines=LINES, end=st.sampled_from([b"", b"\n", b"\n \n"]), mark=st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_ranges_are_the_lines_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], end: bytes, mark: bytes
) -> None:
    body = b"\n".join(lines) + end
    place = place_of(tmp_path_factory.mktemp("lines"), mark + body)
    ranges = line_ranges(place, 2)
    if ranges is None:
        assert len(mark + body) < 32
        return
    expected = body.split(b"\n")
    expected = expected[:-1] if body.endswith(b"\n") or not body else expected
    assert sum(each.lines for each in ranges) == len(expected)
    assert sum(each.rows for each in ranges) == sum(bool(line.strip()) for line in expected)
    read = list(spans(place, None, None, ranges, blank=False))
    loaded = {span.line: span.load().data for span in reversed(read)}
    assert b"".join(loaded[line] for line in sorted(loaded)) == body
    assert [span.line for span in read] == [1, *(span.end for span in read)][:-1]


def rows(count: int) -> list[str]:
    return [json.dumps({"id": i, "text": f"a page of {i % 7} words and more of {i // 3}"}) for i in range(count)]


@pytest.mark.parametrize("skip_bad", [False, True])
def test_threads_see_the_same_rows_as_one_does(tmp_path: Path, skip_bad: bool) -> None:
    path = tmp_path / "in.jsonl"
    lines = rows(200)
    if skip_bad:
        lines[20:20] = ["{broken", '{"id": 5, "text": 7}']
        lines.append("[1]")
    lines[3:3] = ["", "  "]
    path.write_text("\n".join(lines), encoding="utf-8")
    told = []
    for threads in (1, 3):
        source = open_files([str(path)], skip_bad=skip_bad, threads=threads)
        for _ in range(2):
            batches = list(source.batches(["id", "text"], expect={"text": pa.string()}))
            told.append([row for batch in batches for row in batch.rows.to_pylist()])
            assert [batch.first for batch in batches] == firsts(batches)
        told.append([source.skipped, source.bad])
    assert told[:3] == told[3:]
    assert len(told[0]) == 200


def firsts(batches: list[Batch]) -> list[int]:
    return [0, *accumulate(batch.rows.num_rows for batch in batches)][:-1]


def test_a_copy_by_several_threads_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(rows(300)), encoding="utf-8")
    outputs = []
    for threads in (1, 4):
        source = open_source(str(path), threads=threads)
        copy_rows(source, np.arange(300) % 3 != 1, tmp_path / f"out-{threads}.jsonl", threads=threads)
        outputs.append((tmp_path / f"out-{threads}.jsonl").read_bytes())
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") == 199


def test_the_first_error_is_told_whatever_the_threads(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = rows(100)
    lines[30] = "{broken"
    lines[80] = "[]"
    path.write_text("\n".join(lines), encoding="utf-8")
    for threads in (1, 4):
        with pytest.raises(InputError, match=r"in\.jsonl:31: not JSON"):
            lookalike.pairs(str(path), threads=threads)


def test_a_file_that_changes_between_two_passes_is_said(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(rows(100)), encoding="utf-8")
    source = open_files([str(path)], threads=2)
    assert isinstance(source, FileSource)
    assert source.tally() == 100
    path.write_text("\n".join(rows(90)) + "\n{", encoding="utf-8")
    with pytest.raises(InputError, match="has changed during"):
        list(source.batches(["text"]))


def test_compressed_files_are_read_from_their_beginning(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(rows(100)).encode()))
    assert line_ranges(Place(str(path), str(path), "jsonl", "gzip"), 4) is None
    assert len(lookalike.dedup(str(path), threads=4, threshold=1).kept) == 100
