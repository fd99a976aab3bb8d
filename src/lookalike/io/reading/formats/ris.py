"""RIS: records from `TY  - ` to `ER  - `, a line for each field, as databases of literature export them.

    TY  - JOUR
    AU  - Doe, Ann
    AU  - Roe, Bob
    TI  - On tea
    PY  - 1999/05/12
    ER  -

The columns of `_NAMES`, in which the first tag that a record has of several counts, and one for every other tag, under
its own name. A tag that stands in a record several times (authors, keywords) is one text, with "; " between its values.
A line without a tag goes on with the value before it. Nothing is lost: of `PY  - 1999/05/12` the column `year` has 1999
and the column `PY` the rest as well, and the second of two titles stands under its tag.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.formats.bibliography import BOM, SEPARATOR, Bibliography, Citation, decoded
from lookalike.io.reading.formats.held_table import HeldTable, held, held_pieces, held_schema
from lookalike.io.reading.places import Place

# A column and the tags that it may come from.
_NAMES = {
    "id": ("ID",),
    "type": ("TY",),
    "title": ("TI", "T1"),
    "author": ("AU", "A1"),
    "year": ("PY", "Y1"),
    "journal": ("JF", "JO", "T2", "JA", "J2"),
    "volume": ("VL",),
    "issue": ("IS",),
    "pages": (),
    "doi": ("DO",),
    "abstract": ("AB", "N2"),
    "keywords": ("KW",),
    "url": ("UR",),
    "editor": ("ED", "A2"),
    "publisher": ("PB",),
    "issn": ("SN",),
    "language": ("LA",),
    "notes": ("N1",),
}
_TAG = re.compile(rb"([A-Z][A-Z0-9])  -(?: (.*)|[ \t]*)$", re.DOTALL)
_YEAR = re.compile(r"\d{4}(?!\d)")

__all__ = ["count", "pieces", "schema", "take_apart"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The usual columns, then those of other tags."""
    return held_schema(held(place, take_apart), skip_bad)


def count(place: Place) -> int | None:
    """The number of records."""
    table = held(place, take_apart)
    held_schema(table, False)
    return int(table.rows.num_rows)


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All records in order."""
    yield from held_pieces(place, reading, take_apart)


class _TaggedLine(NamedTuple):
    """A line of a file: its number from 1, its bytes begin … end in the file, and its tag, if it has one."""

    number: int
    begin: int
    end: int
    tag: str
    value: bytes


def take_apart(place: Place) -> HeldTable:
    """The records of a file."""
    found = Bibliography.of(place)
    tags: dict[str, list[list[bytes]]] = {}
    last, first, begin, apart = "", 0, 0, 0
    for line in _lines(found.data):
        if line.tag == "TY" or (line.tag and not first):
            if first:
                found.refuse(first, "the record that begins here has no end (ER)", begin, line.begin)
            first, begin, tags = line.number, line.begin, {}
        if not first:
            apart += bool(line.value.strip())
        elif line.tag == "ER":
            if "TY" in tags:
                fields = _columns({tag: _joined(values, found.encoding) for tag, values in tags.items()})
                found.citations.append(Citation(begin, line.end, fields))
            else:
                found.refuse(first, "the record that begins here has no type (TY)", begin, line.end)
            first = 0
        elif line.tag:
            tags.setdefault(line.tag, []).append([line.value])
            last = line.tag
        elif line.value.strip():
            tags[last][-1].append(line.value)
    if first:
        found.refuse(first, "the record that begins here has no end (ER)", begin, len(found.data))
    if apart and not found.citations and not found.bad:
        raise InputError(f"{place.name}: holds no RIS record, which begins with a line 'TY  - '")
    if apart:
        found.remarks.append(f"{place.name}: lines outside of records were passed over, {apart:,} of them")
    return found.table(list(_NAMES))


def _lines(data: bytes) -> Iterator[_TaggedLine]:
    at = len(BOM) if data.startswith(BOM) else 0
    for number, line in enumerate(_split(data[at:] if at else data), 1):
        text = line.rstrip(b"\r\n")
        found = _TAG.match(text)
        tag, value = ("", text) if found is None else (found[1].decode(), found[2] or b"")
        yield _TaggedLine(number, at, at + len(line), tag, value)
        at += len(line)


def _split(data: bytes) -> list[bytes]:
    """The lines with their ends: line feeds, or carriage returns where a file has nothing else."""
    if b"\n" in data:
        return re.findall(rb"[^\n]*\n|[^\n]+", data)
    return re.findall(rb"[^\r]*\r|[^\r]+", data)


def _joined(values: list[list[bytes]], encoding: str) -> str:
    texts = (" ".join(decoded(b" ".join(lines), encoding).split()) for lines in values)
    return SEPARATOR.join(text for text in texts if text)


def _columns(tags: dict[str, str]) -> dict[str, str]:
    """The fields of a record by the names of their columns, without empty ones."""
    out: dict[str, str] = {}
    for name, known in _NAMES.items():
        tag = next((tag for tag in known if tags.get(tag)), None)
        if tag is not None:
            out[name] = tags.pop(tag)
            year = _YEAR.match(out[name]) if name == "year" else None
            if year is not None and year[0] != out[name]:
                tags[tag], out[name] = out[name], year[0]
    ends = [tags.pop(tag) for tag in ("SP", "EP") if tags.get(tag)]
    if ends:
        out["pages"] = "-".join(ends)
    return out | {tag: text for tag, text in tags.items() if text}
