"""Text files as items: a collection of files is one table with a row per file.

Columns: `path`, the name as it was given, and `text`, the content without a byte order mark.
"""

from __future__ import annotations

import pyarrow as pa

from lookalike.io.column_types import honest
from lookalike.io.limits import check_whole
from lookalike.io.reading.places import Place, check_encoding
from lookalike.io.reading.whole_files import WholeFiles

_SCHEMA = pa.schema([("path", pa.string()), ("text", pa.string())])
_BOM = b"\xef\xbb\xbf"
_PART_BYTES = 8 << 20

__all__ = ["TextSource"]


class TextSource(WholeFiles[bytes]):
    """Text files, one row each."""

    def schema(self) -> pa.Schema:
        """`path` and `text`."""
        return _SCHEMA

    def _load(self, place: Place) -> tuple[bytes, int]:
        parts: list[bytes] = []
        size = 0
        with place.stream() as stream:
            while part := stream.read(_PART_BYTES):
                if not parts:
                    check_encoding(place.name, part)
                parts.append(part)
                size += len(part)
                check_whole(f"{place.name}: the text", size, place.memory)
            return b"".join(parts).removeprefix(_BOM), stream.taken()

    def _size(self, value: bytes) -> int:
        return len(value)

    def _columns(self, values: list[bytes]) -> dict[str, pa.Array]:
        return {"text": honest(_strings(values))}


def _strings(texts: list[bytes]) -> pa.Array:
    """Bytes as a string array that may not be valid yet."""
    if sum(map(len, texts)) < 2**31:
        return pa.array(texts, pa.binary()).view(pa.string())
    return pa.array(texts, pa.large_binary()).view(pa.large_string())
