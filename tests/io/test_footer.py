"""Parquet files whose footers make pyarrow end the process are refused before it is asked."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.formats.parquet import Layout
from lookalike.io.formats.thrift import BINARY, LIST, STRUCT, Struct, parse, serialize
from lookalike.io.places import Place

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
    with pytest.raises(InputError, match=r"secret.parquet: has encrypted columns, which can not be read"):
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
    with pytest.raises(InputError, match=r"secret.parquet: not a Parquet file that can be read: .*encrypted"):
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
