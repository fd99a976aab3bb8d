"""JSON that is nested too deep for parsers is refused, or left out, before they see it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading.blocks import Block
from lookalike.io.reading.depth import DEEPEST, mark_deep, too_deep
from tests.reference.nesting import levels

SOUP = st.text(alphabet='[]{}"\\a,:\n', max_size=60).map(str.encode)


@settings(deadline=None)
@given(st.lists(SOUP, max_size=20), st.integers(0, 6))
def test_lines_are_marked_as_by_the_twin(parts: list[bytes], deepest: int) -> None:
    block = Block.of(1, b"\n".join(parts) + b"\n")
    deep = np.empty(block.count, np.bool_)
    mark_deep(np.frombuffer(block.data, np.uint8), block.breaks, deepest, deep)
    assert deep.tolist() == [levels(line) > deepest for line in block.data[:-1].split(b"\n")]


def test_brackets_in_strings_are_no_levels() -> None:
    lines = [
        json.dumps({"text": "[" * 500 + '"\\' + "{" * 500}).encode(),
        b'{"x":' + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1) + b"}",
        b'{"x":' + b"[" * DEEPEST + b"]" * DEEPEST + b"}",
        b'{"x":[' + b"[]," * 500 + b"[]]}",
    ]
    assert too_deep(Block.of(7, b"\n".join(lines))).tolist() == [9]


def nested(kind: str, depth: int) -> str:
    """A row with a value of so many levels in it."""
    begin, end = {"lists": ("[", "]"), "objects": ('{"a":', "}")}[kind]
    return '{"text": "one two three", "x": ' + begin * depth + "1" + end * depth + "}\n"


@pytest.mark.parametrize("kind", ["lists", "objects"])
@pytest.mark.parametrize("depth", [DEEPEST, 1000, 20_000, 200_000])
def test_a_row_too_deep_is_an_error_with_its_line_or_is_skipped(kind: str, depth: int, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "one two three"}\n' + nested(kind, depth) + '{"text": "four"}\n')
    message = rf"in.jsonl:2: nested more than {DEEPEST} levels deep"
    for columns in (["text"], ["text", "x"], None):
        with pytest.raises(InputError, match=message):
            list(open_files([str(path)]).batches(columns))
    source = open_files([str(path)], skip_bad=True)
    assert [row for batch in source.batches(["text"]) for row in batch.rows["text"].to_pylist()] == [
        "one two three",
        "four",
    ]
    assert source.skipped == 1
    result = lookalike.dedup(str(path), skip_bad=True)
    result.save(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "one two three"}\n{"text": "four"}\n'
    assert result.report["skipped_rows"] == 1


@pytest.mark.parametrize("kind", ["lists", "objects"])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_the_deepest_row_that_is_allowed_is_read_and_written(kind: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    # A broken line besides sends the block through Python's parser, too.
    for more in ("", "nonsense\n"):
        path.write_text('{"text": "one two three"}\n' + nested(kind, DEEPEST - 1) + more)
        lookalike.dedup(str(path), skip_bad=True).save(tmp_path / f"out.{ending}", overwrite=True)
