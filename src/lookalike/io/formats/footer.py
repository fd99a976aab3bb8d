"""What must be known of a Parquet file's footer before pyarrow is asked about its columns.

Where a column is encrypted, or a row group has columns that the schema does not have, pyarrow ends the process instead
of raising an error. Files with an encrypted footer it refuses itself.

Source: parquet.thrift and Encryption.md of the Apache Parquet format.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.formats.thrift import Struct, parse

# FileMetaData, RowGroup, ColumnChunk
_ROW_GROUPS, _ALGORITHM, _COLUMNS, _CRYPTO = 4, 8, 1, 8
_TAIL = 8  # the length of the footer, and the magic
_HEAD = 4  # the magic
# The field ColumnChunk.crypto_metadata as Thrift writes it when a column has a key of its own. Other bytes may look like
# it, which the whole footer then decides.
_LOOKS_ENCRYPTED = re.compile(rb"[\x1c\x2c\x3c\x4c\x5c](?:\x2c|\x1c\x00\x1c)")

__all__ = ["check_footer"]


def check_footer(file: Any, source: Any, name: str) -> None:
    """Raise `InputError` for a Parquet file whose columns pyarrow must not be asked about.

    Args:
        file: the open `pyarrow.parquet.ParquetFile`.
        source: the bytes it reads, a `pyarrow.NativeFile`.
        name: for the message.
    """
    metadata = file.metadata
    for group in range(metadata.num_row_groups):
        found = metadata.row_group(group).num_columns
        if found != metadata.num_columns:
            raise InputError(f"{name}: row group {group} has {found} columns instead of {metadata.num_columns}")
    if _is_encrypted(metadata, source, name):
        raise InputError(f"{name}: has encrypted columns, which can not be read; decrypt it first")


def _is_encrypted(metadata: Any, source: Any, name: str) -> bool:
    """A plain footer of a file with encrypted columns is signed: its bytes go on behind what can be parsed."""
    length = _length(source)
    if length != metadata.serialized_size:
        source.seek(source.size() - _TAIL - length)
        return _says_so(source.read(length), name)
    # Written anew there is one way to spell it, whatever the file had.
    out = pa.BufferOutputStream()
    metadata.write_metadata_file(out)
    written = memoryview(out.getvalue())[_HEAD:-_TAIL]
    return _LOOKS_ENCRYPTED.search(written) is not None and _says_so(bytes(written), name)


def _length(source: Any) -> int:
    source.seek(source.size() - _TAIL)
    return int.from_bytes(source.read(_TAIL)[:4], "little")


def _says_so(footer: bytes, name: str) -> bool:
    try:
        fields = parse(footer)
        chunks = [chunk for group in _values(fields, _ROW_GROUPS) for chunk in _values(group, _COLUMNS)]
    except (IndexError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{name}: not a Parquet file that can be read: its footer is broken") from error
    return _ALGORITHM in fields or any(_CRYPTO in chunk for chunk in chunks)


def _values(struct: Struct, field: int) -> list[Any]:
    return list(struct[field][1][1]) if field in struct else []
