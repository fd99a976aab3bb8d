"""The file formats: their names, their endings, and what a module that reads one offers.

A format is a module in this folder with three functions (`Reader`). Modules are imported when a file of
their format turns up. `text` (one item per file) is read by `lookalike.io.reading.text_files`, since there a whole
collection of files is one table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Protocol, cast

import pyarrow as pa

from lookalike.errors import OptionError
from lookalike.io.reading.faults import Faults
from lookalike.io.reading.line_ranges import LineRange
from lookalike.io.reading.places import Place
from lookalike.io.source import OnRead
from lookalike.wording.phrases import did_you_mean

FORMATS = ("parquet", "jsonl", "csv", "tsv", "arrow", "npy", "npz", "xlsx", "ris", "bibtex", "text", "lines")

# Those with cells that a character parts.
DELIMITED = ("csv", "tsv")

# Those with records of literature, which are copied as they are.
CITATIONS = frozenset({"ris", "bibtex"})

DATA_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json-lines": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
    ".xlsx": "xlsx",
    ".ris": "ris",
    ".bib": "bibtex",
}

# fmt: off
TEXT_ENDINGS = frozenset(
    {
        ".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex", ".htm", ".html", ".xhtml",
        ".xml", ".svg", ".css", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".log", ".srt",
        ".vtt", ".eml", ".py", ".pyi", ".ipynb", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".java", ".kt",
        ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".rs", ".rb", ".php", ".pl", ".lua",
        ".r", ".jl", ".swift", ".sh", ".bash", ".sql",
    }
)
# fmt: on

PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".xz": "xz"}

_MODULES = {
    "parquet": "parquet",
    "jsonl": "jsonl",
    "csv": "delimited",
    "tsv": "delimited",
    "arrow": "arrow",
    "npy": "npy",
    "npz": "npz",
    "xlsx": "xlsx",
    "ris": "ris",
    "bibtex": "bibtex",
    "lines": "lines",
}

__all__ = [
    "CITATIONS",
    "COMPRESSIONS",
    "DATA_ENDINGS",
    "DELIMITED",
    "FORMATS",
    "PICTURE_ENDINGS",
    "TEXT_ENDINGS",
    "FilePiece",
    "Reader",
    "Reading",
    "check_format",
    "endings",
    "reader",
]


@dataclass(frozen=True, slots=True)
class Reading:
    """How one pass reads one file.

    Attributes:
        columns: names to read, in this order; None for all.
        fixed: types that JSONL columns get, instead of what their values look like.
        strict: columns of `fixed` whose rows are bad if their value has another type.
        batch_rows, batch_bytes: roughly how much to decode at once.
        wanted: whether any of (row, count) in this file is wanted; what is not need not be decoded.
        on_read: told the stored bytes read since the last call.
        faults: the bad rows of this file.
        checked: an earlier pass found these columns in this file.
        guess: the types that JSONL columns have in the first block of the input, to try first.
        threads: how many work on the pieces.
        alone: whether one thread reads all pieces, however many may be busy: what can be parsed by others then is.
        ranges: where the lines of a file are, if it was looked through.
        memory: bytes that may be held; a row that is too large for it is an error. None for no limit.
        on_undivided: told the first row of what is large, and which threads can not share.
    """

    columns: tuple[str, ...] | None
    fixed: Mapping[str, Any]
    strict: frozenset[str]
    batch_rows: int
    batch_bytes: int
    wanted: Callable[[int, int], bool]
    on_read: OnRead
    faults: Faults
    checked: bool = False
    guess: Mapping[str, Any] = field(default_factory=dict)
    memory: int | None = None
    threads: int = 1
    alone: bool = False
    ranges: list[LineRange] | None = None
    on_undivided: Callable[[int], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class FilePiece:
    """Consecutive rows of a file: `count` of them from `row` on.

    `load` reads them, some at a time and on any thread; None where none was wanted. They take about `weight` bytes.
    """

    row: int
    count: int
    load: Callable[[], Iterator[pa.RecordBatch]] | None
    weight: int = 0

    @classmethod
    def held(cls, row: int, count: int, rows: pa.RecordBatch | None) -> FilePiece:
        """Rows that are read already, or are not wanted."""
        if rows is None:
            return cls(row, count, None)
        return cls(row, count, partial(iter, (rows,)), int(rows.nbytes))


class Reader(Protocol):
    """What a format's module offers."""

    def schema(self, place: Place, skip_bad: bool = False) -> pa.Schema:
        """The columns of a file; for JSONL, the keys of its first block."""

    def count(self, place: Place) -> int | None:
        """The number of rows where the file tells it, otherwise None."""

    def pieces(self, place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
        """All rows in order, without gaps; pieces may be loaded by several threads at once."""


def reader(format: str) -> Reader:
    """The module that reads a format."""
    return cast(Reader, importlib.import_module(f"{__name__}.{_MODULES[format]}"))


def check_format(format: str | None) -> None:
    """Raise `OptionError` for a format that does not exist."""
    if format is not None and format not in FORMATS:
        near = did_you_mean(
            format,
            FORMATS,
            {"json": "jsonl", "ndjson": "jsonl", "txt": "text", "feather": "arrow", "bib": "bibtex", "excel": "xlsx"},
        )
        raise OptionError(f"format: '{format}' is not one of {', '.join(FORMATS)}{near}")


def endings(name: str) -> tuple[str, str | None]:
    """The ending of a name below its compression, in lower case, and that compression.

    >>> endings("crawl/part-1.jsonl.gz")
    ('.jsonl', 'gzip')
    """
    path = PurePosixPath(name.lower())
    compression = COMPRESSIONS.get(path.suffix)
    if compression is not None:
        path = path.with_suffix("")
    return path.suffix, compression
