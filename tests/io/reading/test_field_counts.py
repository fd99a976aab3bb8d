"""Rows of JSON that share few keys: never a cell for each row and key, and a refusal where columns would need one."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.column_types import merge_json
from lookalike.io.reading import cell_limits as fields
from lookalike.io.reading.blocks import Block
from lookalike.io.reading.field_counts import count_fields, few_cells
from lookalike.io.reading.formats import jsonl
from lookalike.io.reading.formats.json_rows import types_of
from lookalike.key import TABLE_KEY
from tests.reference.fields import fields_of

pytestmark = pytest.mark.no_cover

KEYS = st.sampled_from(["a", "b", "c", 'quote " and \\', "{[", ":", "a long key of many letters", "ü"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.just(2**70) | st.floats(0, 1) | st.text('"\\{:,a', max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
ROWS = st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=8)


def counted(block: Block, most: int) -> int:
    data = np.frombuffer(block.data, np.uint8)
    return int(count_fields(data, block.breaks, most, TABLE_KEY, np.zeros(4096, np.uint64), np.empty(102, np.uint64)))


@given(ROWS, st.sampled_from([(",", ":"), (", ", " : ")]), st.integers(0, 9))
def test_fields_are_counted_as_by_the_twin(rows: list[dict[str, Any]], marks: tuple[str, str], most: int) -> None:
    lines = [json.dumps(row, separators=marks, ensure_ascii=False).encode() for row in rows]
    block = Block.of(1, b"\n".join(lines) + b"\n")
    there = len(fields_of(lines))
    assert counted(block, 2000) == there
    assert counted(block, most) == min(there, most + 1)


@given(st.lists(st.text('{}[]":\\a \n', max_size=40).map(str.encode), max_size=9))
def test_lines_that_are_no_json_are_counted_somehow(parts: list[bytes]) -> None:
    block = Block.of(1, b"\n".join(parts))
    assert 0 <= counted(block, 2000) <= block.data.count(b":")


@given(ROWS)
def test_types_are_those_of_values_merged_one_by_one(rows: list[dict[str, Any]]) -> None:
    def type_of(value: Any) -> Any:
        if isinstance(value, list):
            return pa.list_(reduce(merge_json, map(type_of, value), pa.null()))
        if isinstance(value, dict):
            return pa.struct([(key, type_of(item)) for key, item in value.items()])
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
            return pa.string()
        return pa.scalar(value).type

    keys = dict.fromkeys(key for row in rows for key in row)
    merged = {
        key: reduce(merge_json, (type_of(row[key]) for row in rows if row.get(key) is not None), pa.null())
        for key in keys
    }
    assert types_of(rows) == merged
    assert types_of(rows, ["a", "zzz"]) == {"a": merged.get("a", pa.null()), "zzz": pa.null()}


@given(st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), max_size=9), st.integers(1, 4))
def test_a_block_is_cut_into_blocks_of_whole_lines(lines: list[bytes], most: int) -> None:
    block = Block.of(5, b"\n".join(lines))
    parts = list(block.cut(most))
    assert b"".join(part.data for part in parts) == block.data
    assert all(part.count <= most for part in parts)
    for part in parts:
        again = Block.of(part.line, part.data)
        assert part.breaks.tolist() == again.breaks.tolist()
    assert [part.line for part in parts] == [5 + most * i for i in range(len(parts))]


def new_keys(rows: int, keys: int, inside: str | None = None) -> bytes:
    """Rows with so many keys each that no other row has."""
    lines = []
    for row in range(rows):
        more: dict[str, Any] = {f"key {row} {i}": i for i in range(keys)}
        lines.append(json.dumps({"text": f"one two {row}"} | ({inside: more} if inside else more)))
    return "\n".join(lines).encode()


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many cells Arrow made of JSON, call by call."""
    made: list[int] = []
    read = jsonl._read

    def counting(*arguments: Any, **options: Any) -> pa.Table:
        table = read(*arguments, **options)
        made.append(table.num_rows * sum(map(fields.fields_in, table.schema.types)))
        return table

    monkeypatch.setattr(jsonl, "_read", counting)
    return made


@pytest.mark.parametrize("inside", [None, "meta"])
def test_reading_some_columns_makes_no_cells_of_the_others(
    cells: list[int], inside: str | None, tmp_path: Path
) -> None:
    """1,500 rows with 12 new keys each would be 27 million cells, and four times as many for twice the rows."""
    path = tmp_path / "in.jsonl"
    path.write_bytes(new_keys(1500, 12, inside))
    result = lookalike.dedup(str(path))
    assert result.report["items"] == 1500
    assert sum(cells) <= 10 * 1500
    result.save(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes().splitlines() == path.read_bytes().splitlines()


@pytest.mark.parametrize("inside", [None, "meta"])
def test_columns_for_every_new_key_are_refused(cells: list[int], inside: str | None, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(new_keys(1500, 12, inside))
    message = r"in.jsonl: the rows have 18,00\d different keys, too few of them in common .* write to .jsonl"
    with pytest.raises(InputError, match=message):
        lookalike.dedup(str(path)).save(tmp_path / "out.parquet")
    assert sum(cells) <= 10 * 1500
    assert not (tmp_path / "out.parquet").exists()


def test_rows_that_have_all_their_keys_may_have_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fields, "_ALWAYS_CELLS", 0)
    path = tmp_path / "in.jsonl"
    rows = [{"text": f"one two {i}"} | {f"k{j}": j for j in range(500)} for i in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)))
    lookalike.dedup(str(path)).save(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == rows
    path.write_bytes(new_keys(800, 5))
    with pytest.raises(InputError, match="4,001 different keys"):
        lookalike.dedup(str(path)).save(tmp_path / "other.parquet")


def test_more_cells_than_fit_are_made_in_parts(
    cells: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(new_keys(60, 2) + b"\n\n")
    whole = pa.Table.from_batches([batch.rows for batch in open_files([str(path)]).batches()])
    cells.clear()
    monkeypatch.setattr(fields, "_CELLS_AT_ONCE", 1000)
    source = open_files([str(path)])
    parts = pa.Table.from_batches([batch.rows for batch in source.batches()])
    assert parts.equals(whole)
    assert max(cells) <= 1000
    assert not few_cells(Block.of(1, path.read_bytes()))
