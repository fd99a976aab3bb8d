"""What RIS and BibTeX share: records that stand one after the other in a file, each with fields of its own.

A record becomes a row of text. Every file has the usual columns, used or not, so that several files and both formats
can be compared by them; all other fields follow in the order in which they first turn up.

The bytes of each record are remembered: kept rows are copied to the same format as they are
(`io/copying/copy_citations.py`).
Bytes that are not UTF-8 are Windows-1252, which has all characters of Latin-1: so old exports of databases are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lookalike.io.reading.cell_limits import Extent, check_columns
from lookalike.io.reading.formats.held_table import BadPart, HeldTable, whole_bytes
from lookalike.io.reading.places import Place, check_encoding

BOM = b"\xef\xbb\xbf"
# Names and keywords that stand in fields of their own become one text with this between them.
SEPARATOR = "; "
_LARGE = 1 << 31

__all__ = ["BOM", "SEPARATOR", "Bibliography", "Citation", "decoded"]


@dataclass(frozen=True, slots=True)
class Citation:
    """One record: its bytes begin … end in the file, and its fields by the names of their columns."""

    begin: int
    end: int
    fields: dict[str, str]


@dataclass(slots=True)
class Bibliography:
    """A file that is being taken apart.

    Attributes:
        data: its bytes.
        encoding: what they are.
        citations: its records, in order.
        bad: what could not be read.
        remarks: what users should know of how it was read.
    """

    place: Place
    data: bytes
    encoding: str
    citations: list[Citation] = field(default_factory=list)
    bad: list[BadPart] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, place: Place) -> Bibliography:
        """The file, not taken apart yet."""
        data = whole_bytes(place)
        check_encoding(place.name, data[:4])
        encoding = _encoding_of(data)
        out = cls(place, data, encoding)
        if encoding != "utf-8":
            out.remarks.append(f"{place.name} is not UTF-8: it was read as Windows-1252")
        return out

    def refuse(self, line: int, message: str, begin: int, end: int) -> None:
        """Note a part that is no record."""
        self.bad.append(BadPart(line, f"{self.place.name}:{line}: {message}", begin, end))

    def table(self, usual: Sequence[str]) -> HeldTable:
        """The rows; `usual` are the columns that every file has."""
        names = list(dict.fromkeys([*usual, *(name for each in self.citations for name in each.fields)]))
        kind = pa.string() if len(self.data) < _LARGE else pa.large_string()
        extent = Extent(len(self.citations), len(self.data))
        check_columns(self.place.name, [kind] * len(names), extent, hint="")
        columns = [pa.array([each.fields.get(name) for each in self.citations], kind) for name in names]
        return HeldTable(
            pa.RecordBatch.from_arrays(columns, names=names),
            self.bad,
            self.remarks,
            np.array([each.begin for each in self.citations], np.int64),
            np.array([each.end for each in self.citations], np.int64),
            self.encoding,
        )


def _encoding_of(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def decoded(data: bytes, encoding: str) -> str:
    """Text; the five bytes that Windows-1252 leaves open are as in Latin-1."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("latin-1")
