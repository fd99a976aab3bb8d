"""What footers say about columns, without asking pyarrow, which ends the process where something is wrong with them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading.formats.footer import CODECS, ENCODINGS, read_chunks, read_footer
from lookalike.io.reading.formats.thrift import BINARY, I64, LIST, STRUCT, Struct, parse, serialize
from lookalike.io.reading.places import Place
from lookalike.io.writing.parquet_sink import Layout
from tests.reference.footer import chunks

TABLE = pa.table({"id": [1, 2, 3], "text": ["one two three", "one two four", "five"]})


def encrypted(path: Path, *, plain_footer: bool) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def __init__(self, config: Any) -> None:
            super().__init__()

        def wrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64decode(key)

    config = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"key": ["text"]}, plaintext_footer=plain_footer
    )
    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    with pq.ParquetWriter(path, TABLE.schema, encryption_properties=properties) as writer:
        writer.write_table(TABLE)


def with_footer(change: Callable[[Struct], None]) -> bytes:
    """A Parquet file whose footer was changed."""
    out = io.BytesIO()
    pq.write_table(TABLE, out)
    data = out.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    fields = parse(data[-8 - length :])
    change(fields)
    footer = serialize(fields)
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def group_of(fields: Struct) -> Struct:
    group: Struct = fields[4][1][1][0]
    return group


def chunks_of(fields: Struct) -> list[Struct]:
    chunks: list[Struct] = group_of(fields)[1][1][1]
    return chunks


def test_encrypted_columns_are_an_error_or_a_file_left_out(tmp_path: Path) -> None:
    path, other = tmp_path / "secret.parquet", tmp_path / "plain.parquet"
    encrypted(path, plain_footer=True)
    with pytest.raises(InputError, match=r"secret.parquet: has encrypted columns, which cannot be read"):
        lookalike.pairs(str(path))
    with pytest.raises(InputError, match="has encrypted columns"):
        list(open_files([str(path)]).batches(["id"]))
    with pytest.raises(InputError, match="has encrypted columns"):
        Layout.of(Place(str(path), str(path), "parquet"))
    pq.write_table(TABLE, other)
    source = open_files([str(path), str(other)], skip_bad=True)
    assert sum(batch.rows.num_rows for batch in source.batches(["text"])) == 3
    assert source.skipped == 1


def test_an_encrypted_footer_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "secret.parquet"
    encrypted(path, plain_footer=False)
    with pytest.raises(InputError, match=r"secret.parquet: not a readable Parquet file: .*encrypted"):
        lookalike.pairs(str(path))


def test_a_column_that_only_says_that_it_is_encrypted_is_an_error(tmp_path: Path) -> None:
    def forge(fields: Struct) -> None:
        chunks_of(fields)[1][8] = STRUCT, {2: (STRUCT, {1: (LIST, (BINARY, [b"text"]))})}

    path = tmp_path / "forged.parquet"
    path.write_bytes(with_footer(forge))
    with pytest.raises(InputError, match=r"forged.parquet: has encrypted columns"):
        lookalike.pairs(str(path))


@pytest.mark.parametrize("times", [0, 5])
def test_a_row_group_with_other_columns_than_the_schema_is_an_error(times: int, tmp_path: Path) -> None:
    def forge(fields: Struct) -> None:
        group_of(fields)[1] = LIST, (STRUCT, chunks_of(fields) * times)

    path = tmp_path / "forged.parquet"
    path.write_bytes(with_footer(forge))
    with pytest.raises(InputError, match=rf"forged.parquet: row group 0 has {2 * times} columns instead of 2"):
        lookalike.pairs(str(path))


def test_text_that_looks_like_an_encrypted_column_is_none(tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    odd = "\x1c,\\,<,L,\x1c\x1c\x00\x1c"
    pq.write_table(pa.table({odd: ["one two three", odd]}), path)
    assert sum(batch.rows.num_rows for batch in open_files([str(path)]).batches([odd])) == 2


def test_a_histogram_of_levels_that_does_not_fit_is_no_concern_of_a_reader(tmp_path: Path) -> None:
    """pyarrow ends the process when it is asked for such a column."""

    def forge(fields: Struct) -> None:
        data = chunks_of(fields)[1][3][1]
        data[16] = STRUCT, {3: (LIST, (I64, [1, 2, 3, 4, 5, 6, 7]))}

    path = tmp_path / "forged.parquet"
    path.write_bytes(with_footer(forge))
    try:
        found = sum(batch.rows.num_rows for batch in open_files([str(path)]).batches(["text"]))
    except InputError as error:
        assert "forged.parquet" in str(error)
    else:
        assert found == 3


WIDE = pa.table(
    {
        "text": ["a", "b", None] * 5,
        "list": [[1, 2], None, []] * 5,
        "struct": [{"x": 1.5, "y": ["z"]}] * 15,
        "flag": [True, False, None] * 5,
    }
)


def footer_of(data: bytes) -> bytes:
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False, "write_statistics": False}, {"write_page_index": True}]
)
def test_columns_are_as_pyarrow_tells(codec: str, options: dict[str, Any]) -> None:
    out = io.BytesIO()
    encoding = {"column_encoding": {"text": "DELTA_BYTE_ARRAY"}} if "use_dictionary" in options else {}
    pq.write_table(WIDE, out, row_group_size=4, compression=codec, **options, **encoding)
    source = pa.BufferReader(out.getvalue())
    file = pq.ParquetFile(source)
    footer = read_footer(file, source, "here")
    for group in range(file.num_row_groups):
        told = [file.metadata.row_group(group).column(index) for index in range(len(footer.paths))]
        assert [column.path_in_schema for column in told] == footer.paths
        for index, column in enumerate(told):
            chunk = footer.chunk(group, index)
            assert chunk.size == column.total_uncompressed_size
            assert chunk.values == column.num_values
            assert chunk.codec == codec
            assert set(chunk.encodings) == set(column.encodings) & set(ENCODINGS.values())
            assert chunk.statistics == column.is_stats_set
            assert chunk.page_index == column.has_offset_index
            assert (chunk.dictionary is not None) == column.has_dictionary_page
            if chunk.dictionary is not None:
                assert chunk.dictionary == column.data_page_offset - column.dictionary_page_offset


def bent_footer(at: int, value: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(WIDE, out, row_group_size=8)
    footer = bytearray(footer_of(out.getvalue()))
    footer[at % len(footer)] = value
    return bytes(footer)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10_000), st.integers(0, 255), st.integers(0, 3000))
@example(7743, 19, 704)  # a list of bytes where chunks should be
def test_chunks_of_any_bytes_are_those_of_the_twin_or_broken(at: int, value: int, length: int) -> None:
    footer = bent_footer(at, value)[: length if length < 1500 else None]
    rows = np.zeros((64, 9), np.int64)
    count = read_chunks(np.frombuffer(footer, np.uint8), rows)
    try:
        expected = chunks(footer)
    except (IndexError, ValueError):
        assert count in (-1, -2)
        return
    except (TypeError, AttributeError):
        return  # well-formed, and something else where a list or a struct should be
    if expected is None:
        assert count in (-1, -2)
    elif count != -1 and all(isinstance(value, int) for row in expected for value in row):
        assert rows[:count].tolist() == expected


def test_names_of_codecs_and_encodings_are_those_that_a_writer_takes() -> None:
    assert set(CODECS.values()) >= {"none", "snappy", "gzip", "brotli", "lz4", "zstd"}
    assert "DELTA_BYTE_ARRAY" in ENCODINGS.values()
