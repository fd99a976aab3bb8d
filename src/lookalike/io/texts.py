"""Text files as items: a collection of files is one table with a row per file.

Columns: `path`, the name as it was given, and `text`, the content without a byte order mark.
"""

from __future__ import annotations

import pyarrow as pa

from lookalike.io.columns import honest
from lookalike.io.places import Place
from lookalike.io.whole_files import WholeFiles

_SCHEMA = pa.schema([("path", pa.string()), ("text", pa.string())])
_BOM = b"\xef\xbb\xbf"

__all__ = ["TextSource"]


class TextSource(WholeFiles[bytes]):
    """Text files, one row each."""

    def schema(self) -> pa.Schema:
        """`path` and `text`."""
        return _SCHEMA

    def _load(self, place: Place) -> tuple[bytes, int]:
        with place.stream() as stream:
            text = stream.read().removeprefix(_BOM)
            return text, stream.taken()

    def _size(self, value: bytes) -> int:
        return len(value)

    def _columns(self, values: list[bytes]) -> dict[str, pa.Array]:
        return {"text": honest(_strings(values))}


def _strings(texts: list[bytes]) -> pa.Array:
    """Bytes as a string array that may not be valid yet."""
    if sum(map(len, texts)) < 2**31:
        return pa.array(texts, pa.binary()).view(pa.string())
    return pa.array(texts, pa.large_binary()).view(pa.large_string())
