"""Parquet: projection, bounded batches, numbering, and broken files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.source import Source


def rows_of(source: Source, columns: list[str] | None = None) -> list[dict[str, Any]]:
    return [row for batch in source.batches(columns) for row in batch.rows.to_pylist()]


@pytest.fixture
def file(tmp_path: Path) -> str:
    table = pa.table(
        {
            "id": range(100),
            "text": [f"text {i}" for i in range(100)],
            "meta": [{"a": [i], "b": {"c": str(i)}} for i in range(100)],
            "kind": pa.array([f"k{i % 3}" for i in range(100)]).dictionary_encode(),
        }
    )
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=30)
    return str(path)


def test_batches_are_numbered_and_bounded(file: str) -> None:
    source = open_files([file], batch_rows=8)
    batches = list(source.batches(["text"]))
    assert max(batch.rows.num_rows for batch in batches) == 8
    assert [batch.first for batch in batches] == [batch.row for batch in batches]
    texts = [text for batch in batches for text in batch.rows.column("text").to_pylist()]
    assert texts == [f"text {i}" for i in range(100)]
    assert source.count() == 100
    assert source.schema().names == ["id", "text", "meta", "kind"]


def test_batches_follow_the_byte_limit(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": [str(i) * 1000 for i in range(500)]}), path)
    sizes = [batch.rows.nbytes for batch in open_files([str(path)], batch_bytes=20_000).batches(["text"])]
    assert len(sizes) > 50
    assert max(sizes) <= 20_000


def test_nested_columns_and_dictionaries(file: str) -> None:
    source = open_files([file])
    assert rows_of(source, ["meta"])[7] == {"meta": {"a": [7], "b": {"c": "7"}}}
    (first, *_) = source.batches(["kind"])
    assert first.rows.schema.field("kind").type == pa.string()
    (first, *_) = source.batches()
    assert pa.types.is_dictionary(first.rows.schema.field("kind").type)


def test_row_groups_without_a_wanted_row_are_left_out(file: str) -> None:
    only = np.zeros(100, np.bool_)
    only[[35, 99]] = True
    source = open_files([file])
    assert [(batch.first, batch.rows.num_rows) for batch in source.batches(["id"], only=only)] == [(30, 30), (90, 10)]


def test_numbers_run_on_over_files_and_stop_at_the_limit(file: str, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": range(100, 150)}), other)
    source = open_files([file, str(other)], limit=120)
    assert [row["id"] for row in rows_of(source, ["id"])] == list(range(120))
    assert source.count() == 120
    assert source.locate(99) == (0, 99)
    assert source.locate(119) == (1, 19)
    with pytest.raises(IndexError):
        source.locate(120)


def test_progress_adds_up_to_the_size_of_the_files(file: str) -> None:
    source = open_files([file])
    told: list[int] = []
    for _ in source.batches(["text"], told.append):
        pass
    assert sum(told) == source.size() == Path(file).stat().st_size


def test_a_column_of_another_type_is_named(file: str) -> None:
    with pytest.raises(InputError) as caught:
        list(open_files([file]).batches(["id"], expect={"id": pa.string()}))
    assert str(caught.value) == f"{file}: column 'id' is int64, not text"
    list(open_files([file]).batches(["kind"], expect={"kind": pa.string()}))


def test_missing_and_repeated_columns(file: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no column 'texts'; its columns are: id, text, meta, kind \(did you mean 'text'"
    ):
        rows_of(open_files([file]), ["texts"])
    double = tmp_path / "double.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), double)
    with pytest.raises(InputError, match="column 'a' is there 2 times"):
        rows_of(open_files([str(double)]), ["a"])


@pytest.mark.parametrize("damage", ["empty", "short", "text", "cut", "page"])
def test_a_broken_file_is_one_line_that_names_it(file: str, tmp_path: Path, damage: str) -> None:
    good = Path(file).read_bytes()
    data = {
        "empty": b"",
        "short": b"PAR1",
        "text": b"hello " * 100,
        "cut": good[:-20],
        "page": good[:4] + b"\xff" * 400 + good[404:],
    }[damage]
    path = tmp_path / "bad.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        rows_of(open_files([str(path)]), ["id", "text"])
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_an_unreadable_file_is_skipped_as_a_whole(file: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 nonsense")
    source = open_files([str(bad), file], skip_bad=True)
    assert source.schema().names[0] == "id"
    assert source.count() is None
    for _ in range(2):
        assert [row["id"] for row in rows_of(source, ["id"])] == list(range(100))
    assert source.skipped == 1
    assert source.bad[0].startswith(f"{bad}: not a Parquet file that can be read")
    assert source.locate(5) == (1, 5)
    assert source.count() == 100
