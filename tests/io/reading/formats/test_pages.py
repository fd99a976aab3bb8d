"""Pages of Parquet: what is decoded of some of them is what Arrow decodes of the whole row group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io.reading.files import open_files
from lookalike.io.reading.formats import parquet
from lookalike.io.reading.formats.pages import Pages, pages_of
from lookalike.io.reading.places import Place

ROWS = 3000
RNG = np.random.default_rng(3)
COLUMNS: dict[str, Any] = {
    "text": pa.array([None if i % 11 == 0 else f"page {i} " + "word " * (i % 90) for i in range(ROWS)]),
    "large": pa.array([f"{i * 7919}" * 9 for i in range(ROWS)], pa.large_string()),
    "bytes": pa.array([b"\xff\x00" * (i % 40) for i in range(ROWS)], pa.binary()),
    "few": pa.array([f"kind {i % 3}" for i in range(ROWS)]),
    "small": pa.array(RNG.integers(-9, 9, ROWS), pa.int32()),
    "number": pa.array(RNG.integers(-(2**60), 2**60, ROWS)),
    "real": pa.array(RNG.normal(size=ROWS)),
}
WAYS: dict[str, dict[str, Any]] = {
    "as usual": {},
    "plain": {"use_dictionary": False},
    "second version of pages": {"data_page_version": "2.0", "use_dictionary": False},
    "second version with dictionaries": {"data_page_version": "2.0"},
    "page index": {"write_page_index": True},
    **{codec: {"compression": codec, "use_dictionary": False} for codec in ("none", "gzip", "zstd", "lz4", "brotli")},
    "checksums": {"write_page_checksum": True},
    "delta": {
        "use_dictionary": False,
        "column_encoding": {"text": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED"},
    },
}
SMALL: dict[str, Any] = {"use_dictionary": False, "data_page_size": 1 << 16, "write_batch_size": 8}


def written(path: Path, names: list[str] | None = None, **options: Any) -> pa.Table:
    table = pa.table({name: COLUMNS[name] for name in names or COLUMNS})
    pq.write_table(table, path, row_group_size=2000, data_page_size=256, write_batch_size=64, **options)
    return table


def pages(path: Path, group: int, names: list[str]) -> Pages | None:
    place = Place(str(path), str(path), "parquet")
    file, footer = parquet.open_with_footer(place)
    with file:
        return pages_of(str(path), file, file.schema_arrow, footer, group, names)


@pytest.mark.parametrize("way", WAYS)
def test_any_rows_are_decoded_as_from_the_whole(tmp_path: Path, way: str) -> None:
    path = tmp_path / "in.parquet"
    table = written(path, **WAYS[way])
    for group, first, count in ((0, 0, 2000), (1, 2000, 1000)):
        found = pages(path, group, table.schema.names)
        assert found is not None
        assert max(len(column.pages) for column in found.columns) > 1
        for begin, end in ((0, count), (0, 1), (count - 1, count), (63, 65), (500, 933)):
            expected = table.slice(first + begin, end - begin).combine_chunks()
            assert pa.Table.from_batches([found.decode(begin, end)]).equals(expected)


@settings(max_examples=60, deadline=None)
@given(
    wanted=st.lists(st.integers(0, ROWS - 1), max_size=5),
    most=st.integers(1, 200_000),
)
def test_stretches_cover_all_rows_and_those_that_are_wanted_are_read(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[int], most: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "stretches.parquet"
    if not path.exists():
        written(path)
    flags = np.zeros(ROWS, np.bool_)
    flags[wanted] = True
    found = pages(path, 0, ["text", "number"])
    assert found is not None
    stretches = list(found.stretches(most, lambda row, count: bool(flags[row : row + count].any())))
    assert [begin for begin, _, _ in stretches] == [0, *(end for _, end, _ in stretches)][:-1]
    assert stretches[-1][1] == 2000
    for begin, end, size in stretches:
        assert (size is not None) == flags[begin:end].any()


@pytest.mark.parametrize(("threads", "group", "undivided"), [(2, 40_000, 1), (2, 10_000, 0), (1, 40_000, 0)])
def test_large_row_groups_that_threads_can_not_share_are_counted(
    tmp_path: Path, threads: int, group: int, undivided: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_SLOW_GROUP", 1 << 20)
    path = tmp_path / "in.parquet"
    lists = [[i, i + 1, i + 2] * 10 for i in range(40_000)]
    pq.write_table(pa.table({"set": lists}), path, row_group_size=group, use_dictionary=False)
    source = open_files([str(path)], batch_bytes=1 << 20, threads=threads)
    for _ in range(2):  # passes
        batches = [batch for piece in source.pieces(["set"]) for batch in piece.load()]
        assert [row for batch in batches for row in batch.rows["set"].to_pylist()] == lists
        assert source.undivided == undivided  # type: ignore[attr-defined]


def test_a_row_group_that_is_read_in_a_moment_is_no_large_one(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"set": [[i, i + 1, i + 2] * 10 for i in range(40_000)]}), path, use_dictionary=False)
    source = open_files([str(path)], batch_bytes=1 << 20, threads=2)
    assert sum(batch.rows.num_rows for piece in source.pieces(["set"]) for batch in piece.load()) == 40_000
    assert source.undivided == 0  # type: ignore[attr-defined]


def test_text_that_all_differs_is_read_by_its_pages_where_it_begins_with_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    texts = [bytes(row).hex() for row in np.random.default_rng(0).integers(0, 256, (3_000, 3_000), np.uint8)]
    pq.write_table(pa.table({"text": texts}), path)
    found = pages(path, 0, ["text"])
    assert found is not None
    # The dictionary is so large a part of the column that its size tells nothing about how much text there is.
    (column,) = found.columns
    assert column.dictionary is not None
    assert column.dictionary.size > 4 << 20
    stretches = list(found.stretches(4 << 20, lambda row, count: True))
    assert len(stretches) > 2
    rows = [text for begin, end, _ in stretches for text in found.decode(begin, end).column(0).to_pylist()]
    assert rows == texts


def test_a_row_group_of_several_batches_is_read_by_its_pages_and_single_rows_are(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    texts = [f"{i} " * 2000 for i in range(2000)]
    pq.write_table(pa.table({"text": texts, "id": range(2000)}), path, **SMALL)
    source = open_files([str(path)], batch_bytes=1 << 20, threads=2)
    pieces = list(source.pieces(["text", "id"]))
    assert len(pieces) > 5
    rows = [row for piece in reversed(pieces) for batch in piece.load() for row in batch.rows["text"].to_pylist()]
    assert sorted(rows) == sorted(texts)
    only = np.zeros(2000, np.bool_)
    only[[5, 1234]] = True
    for threads in (1, 2):
        some = list(open_files([str(path)], threads=threads).pieces(["id", "text"], only=only))
        assert sum(piece.count for piece in some) < 60
        ids = [i for piece in some for batch in piece.load() for i in batch.rows["id"].to_pylist()]
        assert {5, 1234} <= set(ids)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[i, i] for i in range(50)]),
        pa.array([i * 10**9 for i in range(50)], pa.timestamp("ns")),
        pa.array([{"a": i} for i in range(50)]),
        pa.array([i % 2 == 0 for i in range(50)]),
    ],
    ids=["lists", "times", "structs", "truths"],
)
def test_what_is_not_simple_has_no_pages(tmp_path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"it": column}), tmp_path / "in.parquet")
    assert pages(tmp_path / "in.parquet", 0, ["it"]) is None


def test_a_broken_page_is_an_error_that_names_the_row_group(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    texts = [f"{i} " * 2000 for i in range(2000)]
    pq.write_table(pa.table({"text": texts}), path, **SMALL)
    found = pages(path, 0, ["text"])
    assert found is not None
    page = found.columns[0].pages[7]
    data = bytearray(path.read_bytes())
    data[page.at + page.stored // 2 : page.at + page.stored] = b"\x55" * (page.stored - page.stored // 2)
    path.write_bytes(data)
    for threads in (1, 3):
        with pytest.raises(InputError, match=r"in\.parquet: row group 0: "):
            list(open_files([str(path)], batch_bytes=1 << 20, threads=threads).batches(["text"]))


def test_a_writer_whose_name_is_no_text_writes_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    texts = [f"{i} " * 2000 for i in range(2000)]
    pq.write_table(pa.table({"text": texts}), path, **SMALL)
    data = path.read_bytes()
    at = data.rindex(b"parquet-cpp-arrow")
    path.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    assert pages(path, 0, ["text"]) is None
    source = open_files([str(path)], batch_bytes=1 << 20, threads=2)
    assert [text for batch in source.batches(["text"]) for text in batch.rows["text"].to_pylist()] == texts
