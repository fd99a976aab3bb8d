"""What a Parquet footer says about its column chunks, and a page about itself, from all of it parsed into dicts."""

from __future__ import annotations

from typing import Any

from lookalike.io.reading.formats.thrift import parse, parse_at

__all__ = ["chunks", "page_header", "walked"]


def chunks(footer: bytes) -> list[list[int]] | None:
    """For each chunk codec, bits of encodings, size, data page, dictionary page (-1 for none), and whether it has
    statistics, a page index, a key of its own, and its number of values; None if the file says that it is encrypted."""
    file = parse(footer)
    if 8 in file:
        return None
    found = []
    for group in _values(file, 4):
        for chunk in _values(group, 1):
            if not isinstance(chunk, dict):  # of bytes, it can be asked as well whether a number is in them
                raise TypeError("a chunk is a struct")
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


def page_header(data: bytes) -> tuple[list[int], int]:
    """Kind, size, stored size and number of values, each -1 where it is missing, and the length of the header."""
    header, length = parse_at(data)
    kind, size, stored = (header[field][1] if field in header else -1 for field in (1, 2, 3))
    about = header.get({0: 5, 2: 7, 3: 8}.get(kind, -1), (0, {}))[1]
    values = about[1][1] if isinstance(about, dict) and 1 in about else -1
    return [kind, size, stored, values], length


def walked(data: bytes, at: int, rows: int) -> list[list[int]]:
    """Kind, place, bytes with the header, size and number of values of the pages from a place on that hold the rows."""
    pages: list[list[int]] = []
    while rows > 0:
        (kind, size, stored, values), length = page_header(data[at:])
        if min(size, stored) < 0 or kind not in (0, 2, 3) or (kind == 2 and pages):
            raise ValueError("no page of a column")
        if kind != 2 and not 1 <= values <= rows:
            raise ValueError("a page with too few or too many rows")
        pages.append([kind, at, length + stored, size, values])
        rows -= 0 if kind == 2 else values
        at += length + stored
    return pages
