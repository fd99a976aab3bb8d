"""Row groups encoded apart: the file is the one that a single writer writes, byte for byte."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.io import copy_rows, open_files
from lookalike.io.reading.formats.thrift import parse, serialize
from lookalike.io.writing.row_groups import Stitched, encode


def one_writer(tables: list[pa.Table], schema: pa.Schema, options: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    with pq.ParquetWriter(out, schema, **options) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=table.num_rows)
    return out.getvalue()


def stitched(tables: list[pa.Table], schema: pa.Schema, options: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    file = Stitched(out)
    for table in tables or [None]:
        file.append(encode(schema, options, table))
    file.close()
    return out.getvalue()


def some_rows(count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 1000, count)
    return pa.table(
        {
            "id": pa.array(numbers, mask=random.random(count) < 0.2),
            "text": [random.bytes(int(size)).hex() for size in random.integers(0, 300, count)],
            "nested": [{"a": [int(n), None], "b": {"c": str(n)}} for n in numbers],
            "kind": pa.array([f"k{n % 3}" for n in numbers]).dictionary_encode(),
            "flag": pa.array(numbers % 2 == 0),
            "score": random.random(count).astype(np.float32),
            "when": pa.array(numbers, pa.timestamp("us", tz="UTC")),
            "nothing": pa.nulls(count),
        }
    ).replace_schema_metadata({"note": "kept"})


OPTIONS: list[dict[str, Any]] = [
    {},
    {"compression": "zstd", "write_page_index": True},
    {"compression": "none", "use_dictionary": False, "data_page_size": 500, "write_page_index": True},
    {"compression": "gzip", "version": "1.0", "write_statistics": False},
    {"compression": "snappy", "data_page_version": "2.0", "write_statistics": ["text"], "store_schema": False},
    {"use_dictionary": ["text"], "column_encoding": {"score": "BYTE_STREAM_SPLIT"}},
    {"sorting_columns": [pq.SortingColumn(0)], "write_page_checksum": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "default")
@pytest.mark.parametrize("sizes", [[], [1], [20, 1, 500], [100] * 20])
def test_the_file_is_the_one_of_a_single_writer(options: dict[str, Any], sizes: list[int]) -> None:
    tables = [some_rows(size, seed) for seed, size in enumerate(sizes)]
    schema = some_rows(1, 0).schema
    if options.get("version") == "1.0":
        schema = schema.remove(schema.get_field_index("when"))
        tables = [table.drop_columns("when") for table in tables]
    written = stitched(tables, schema, options)
    assert written == one_writer(tables, schema, options)
    assert pq.ParquetFile(io.BytesIO(written)).num_row_groups == len(sizes)


def test_tables_without_columns_are_stitched_too() -> None:
    schema = pa.schema([])
    assert stitched([], schema, {}) == one_writer([], schema, {})


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_copy_is_the_same_for_any_number_of_threads(tmp_path: Path, threads: int) -> None:
    rows = some_rows(4000, 1)
    path = tmp_path / "in.parquet"
    pq.write_table(rows, path, row_group_size=300, compression="zstd", write_page_index=True)
    keep = np.random.default_rng(2).random(4000) < 0.7
    copy_rows(open_files([str(path)]), keep, tmp_path / "kept", threads=threads)
    groups = [rows.slice(at, 300).filter(pa.array(keep[at : at + 300])).combine_chunks() for at in range(0, 4000, 300)]
    file = pq.ParquetFile(path)
    whole = one_writer(groups, file.schema_arrow, {"compression": "zstd", "write_page_index": True})
    assert (tmp_path / "kept" / "in.parquet").read_bytes() == whole


def test_a_row_group_of_more_rows_than_arrow_writes_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.io.writing.parquet_sink._MOST_GROUP_ROWS", 100)
    rows = some_rows(250, 4)
    pq.write_table(rows, tmp_path / "in.parquet")
    copied = copy_rows(open_files([str(tmp_path / "in.parquet")]), None, tmp_path / "kept")
    file = pq.ParquetFile(tmp_path / "kept" / "in.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [100, 100, 50]
    assert copied.recut == 1
    assert file.read().equals(pq.read_table(tmp_path / "in.parquet"))


numbers = st.integers(-(2**63), 2**63 - 1)
leaves: list[tuple[int, st.SearchStrategy[Any]]] = [
    (1, st.none()),
    (2, st.none()),
    (3, st.binary(min_size=1, max_size=1)),
    (4, st.integers(-(2**15), 2**15 - 1)),
    (5, st.integers(-(2**31), 2**31 - 1)),
    (6, numbers),
    (7, st.binary(min_size=8, max_size=8)),
    (8, st.binary(max_size=200)),
]
fields = st.one_of([st.tuples(st.just(kind), values) for kind, values in leaves])


def lists(kind: int, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    inner = st.integers(1, 2) if kind in (1, 2) else values
    return st.tuples(st.sampled_from([9, 10]), st.tuples(st.just(kind), st.lists(inner, max_size=20)))


structs = st.recursive(
    st.dictionaries(st.integers(1, 300), fields, max_size=6),
    lambda inner: st.dictionaries(
        st.integers(1, 300),
        st.one_of(fields, st.tuples(st.just(12), inner), lists(12, inner), *[lists(*leaf) for leaf in leaves]),
        max_size=6,
    ),
    max_leaves=20,
)


@given(structs)
@settings(max_examples=200, deadline=None)
def test_structs_survive_the_way_to_bytes_and_back(struct: dict[int, tuple[int, Any]]) -> None:
    data = serialize(struct)
    found = parse(data + b"more")
    assert found == struct
    assert serialize(found) == data


def test_the_metadata_of_a_file_is_written_as_it_was_read() -> None:
    file = one_writer([some_rows(50, 3)] * 20, some_rows(1, 0).schema, {"write_page_index": True})
    length = int.from_bytes(file[-8:-4], "little")
    assert serialize(parse(file[-8 - length : -8])) == file[-8 - length : -8]


def test_an_unknown_kind_of_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="Thrift type 11"):
        parse(bytes([0x1B]))
