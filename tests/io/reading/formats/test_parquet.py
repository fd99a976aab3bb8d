"""Parquet: projection, bounded batches, numbering, and broken files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError
from lookalike.io import copy_rows, open_files
from lookalike.io.reading.formats import parquet
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
    with pytest.raises(InputError, match="column 'a' occurs 2 times"):
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
    assert source.bad[0].startswith(f"{bad}: not a readable Parquet file")
    assert source.locate(5) == (1, 5)
    assert source.count() == 100


@contextmanager
def counted() -> Iterator[Any]:
    """A memory pool that counts what Arrow holds at most."""
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(usual)


@pytest.fixture
def long_group(tmp_path: Path) -> Path:
    """One row group of 24 MB of text that hardly compresses."""
    random = np.random.default_rng(0)
    texts = [random.bytes(750).hex() for _ in range(16_000)]
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"id": range(16_000), "text": texts}), path, row_group_size=1 << 20)
    return path


def test_a_row_group_is_streamed_and_never_held(long_group: Path) -> None:
    source = open_files([str(long_group)], batch_bytes=1 << 20)
    with counted() as pool:
        rows = sum(batch.rows.num_rows for batch in source.batches(["text"]))
    assert rows == 16_000
    # A batch, a page, the buffer through which it is read, and arrays that double as they grow: 1 MiB each.
    assert 1 << 20 < pool.max_memory() < 8 << 20


@pytest.mark.parametrize("threads", [1, 2])
def test_a_copy_holds_no_more_than_its_memory(long_group: Path, tmp_path: Path, threads: int) -> None:
    memory = 12 << 20
    keep = np.random.default_rng(1).random(16_000) < 0.9
    with counted() as pool:
        copied = copy_rows(open_files([str(long_group)]), keep, tmp_path / "kept", threads=threads, memory=memory)
    assert copied.recut == 1
    assert memory // 4 < pool.max_memory() < memory


def test_batches_become_smaller_where_rows_become_longer(tmp_path: Path) -> None:
    path = tmp_path / "sorted.parquet"
    texts = ["x" * (length * length // 1000) for length in range(4000)]
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    source = open_files([str(path)], batch_bytes=1 << 20)
    reading = source.reading(0, ("text",))  # type: ignore[attr-defined]
    (piece,) = parquet.pieces(source.places[0], reading)  # type: ignore[attr-defined]
    assert piece.load is not None
    batches = list(piece.load())
    assert [text for rows in batches for text in rows.column("text").to_pylist()] == texts
    # By the mean size of a row, the last batch would hold three times as much.
    assert max(rows.nbytes for rows in batches) < 2.2 * (1 << 20)


def test_one_long_row_does_not_make_batches_smaller(tmp_path: Path) -> None:
    path = tmp_path / "spike.parquet"
    texts = ["x" * 100] * 4000
    texts[700] = "y" * 300_000
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    source = open_files([str(path)], batch_bytes=100_000)
    reading = source.reading(0, ("text",))  # type: ignore[attr-defined]
    (piece,) = parquet.pieces(source.places[0], reading)  # type: ignore[attr-defined]
    assert piece.load is not None
    assert len({rows.num_rows for rows in list(piece.load())[:-1]}) == 1


def test_a_dictionary_too_large_for_the_memory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    random = np.random.default_rng(0)
    table = pa.table({"text": [random.bytes(500).hex() for _ in range(2000)]})
    pq.write_table(table, path, dictionary_pagesize_limit=1 << 30)
    with pytest.raises(
        InputError, match=rf"^{path}: row group 0: the dictionary of 'text' holds .* more than --memory"
    ):
        copy_rows(open_files([str(path)]), None, tmp_path / "kept", memory=4_000_000)
    assert copy_rows(open_files([str(path)]), None, tmp_path / "kept", memory=40_000_000).rows == 2000


def test_a_copy_keeps_statistics_and_chosen_encodings(tmp_path: Path) -> None:
    table = pa.table(
        {"a": range(500), "b": [str(i) for i in range(500)], "c": [i / 7 for i in range(500)], "d": ["x"] * 500}
    )
    pq.write_table(
        table,
        tmp_path / "in.parquet",
        use_dictionary=["d"],
        column_encoding={"a": "DELTA_BINARY_PACKED", "b": "DELTA_BYTE_ARRAY", "c": "BYTE_STREAM_SPLIT"},
        write_statistics=["a", "d"],
    )
    copy_rows(open_files([str(tmp_path / "in.parquet")]), None, tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "in.parquet").read_bytes()
    pq.write_table(table, tmp_path / "plain.parquet", use_dictionary=False, write_statistics=False)
    copy_rows(open_files([str(tmp_path / "plain.parquet")]), None, tmp_path / "plain2.parquet")
    assert (tmp_path / "plain2.parquet").read_bytes() == (tmp_path / "plain.parquet").read_bytes()


def test_columns_of_one_name_are_copied_by_their_place(tmp_path: Path) -> None:
    table = pa.table([[1, 2], ["x", "y"], [3, 4]], names=["a", "b", "a"])
    pq.write_table(table, tmp_path / "in.parquet")
    copy_rows(open_files([str(tmp_path / "in.parquet")]), np.array([False, True]), tmp_path / "out")
    with pq.ParquetFile(tmp_path / "out" / "in.parquet") as file:
        assert file.read().equals(table.slice(1))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
def test_few_texts_repeated_often_come_in_bounded_batches_though_the_file_is_small(kind: Any, tmp_path: Path) -> None:
    texts = [f"{i % 3} " * 500 if i % 50 else None for i in range(20_000)]
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"n": range(20_000), "text": pa.array(texts).cast(kind)}), path)
    assert path.stat().st_size < 200_000
    source = open_files([str(path)], batch_bytes=1 << 20)
    batches = [batch.rows for batch in source.batches(["text", "n"])]
    assert max(rows.nbytes for rows in batches) < 3 << 20
    expected = [text.encode() if text is not None and pa.types.is_binary(kind) else text for text in texts]
    assert [text for rows in batches for text in rows.column(0).to_pylist()] == expected
    assert [n for rows in batches for n in rows.column(1).to_pylist()] == list(range(20_000))


@pytest.mark.parametrize("categories", [False, True], ids=["text", "categories"])
def test_numbers_that_point_outside_of_their_dictionary_are_an_error(categories: bool, tmp_path: Path) -> None:
    """30 texts have numbers of five bits, the last of which, 31, is none of them."""
    texts = pa.array([f"text {i * 7 % 30}" for i in range(4000)])
    table = pa.table({"text": texts.dictionary_encode() if categories else texts})
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, compression="none", write_statistics=False, use_dictionary=True)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    data = bytearray(path.read_bytes())
    end = chunk.dictionary_page_offset + chunk.total_compressed_size
    data[end - 50 : end - 20] = b"\xff" * 30
    path.write_bytes(data)
    for columns in (["text"], None):
        with pytest.raises(InputError, match="row group 0: column 'text' is broken: index 31 into a dictionary of"):
            list(open_files([str(path)]).batches(columns))


def test_a_copy_of_few_texts_repeated_often_has_the_same_rows_and_types(tmp_path: Path) -> None:
    table = pa.table(
        {"text": [f"{i % 3} " * 500 for i in range(5000)], "tags": [["a", "b"][: i % 3] for i in range(5000)]}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    keep = np.arange(5000) % 7 > 0
    copy_rows(open_files([str(tmp_path / "in.parquet")]), keep, str(tmp_path / "out.parquet"), memory=10_000_000)
    assert pq.read_table(tmp_path / "out.parquet").equals(table.filter(pa.array(keep)))
