"""What a Parquet footer says about its column chunks, from the whole of it parsed into dicts."""

from __future__ import annotations

from typing import Any

from lookalike.io.reading.formats.thrift import parse

__all__ = ["chunks"]


def chunks(footer: bytes) -> list[list[int]] | None:
    """For each chunk codec, bits of encodings, size, data page, dictionary page (-1 for none), and whether it has
    statistics, a page index, a key of its own, and its number of values; None if the file says that it is encrypted."""
    file = parse(footer)
    if 8 in file:
        return None
    found = []
    for group in _values(file, 4):
        for chunk in _values(group, 1):
            data = chunk[3][1] if 3 in chunk else {}
            bits = 0
            for number in _values(data, 2):
                bits |= 1 << min(max(number, 0), 62)
            plain = [data[field][1] if field in data else none for field, none in ((6, 0), (9, 0), (11, -1))]
            codec = data[4][1] if 4 in data else 0
            values = data[5][1] if 5 in data else 0
            found.append([codec, bits, *plain, int(12 in data), int(4 in chunk), int(8 in chunk), values])
    return found


def _values(struct: Any, field: int) -> list[Any]:
    return list(struct[field][1][1]) if field in struct else []
