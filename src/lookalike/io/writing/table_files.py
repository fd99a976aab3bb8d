"""Tables to files: Parquet, JSONL, CSV, TSV or Arrow by the ending, text formats also compressed."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa

from lookalike.errors import OptionError
from lookalike.io.reading.formats import DATA_ENDINGS, endings
from lookalike.io.reading.places import Place
from lookalike.io.writing.atomic import atomic_file, replacing, writing

_TEXT_FORMATS = ("jsonl", "csv", "tsv", "lines")
_FORMATS = ("parquet", "jsonl", "csv", "tsv", "arrow")
# Endings that people give to files: a folder of that name would surprise them.
_FILE_ENDINGS = (".json", ".txt", ".text", ".md", ".html", ".xml", ".xlsx", ".xls", ".log", ".zip")
_GZIP_LEVEL = 6

__all__ = ["Sink", "TableWriter", "is_file", "open_output", "open_sink", "output_format", "save_batches", "save_table"]


class Closing(Protocol):
    """What holds something back until it is closed."""

    def close(self) -> None:
        """Write what is held back."""


class Sink(Closing, Protocol):
    """Writes record batches of one schema."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows."""


def output_format(path: str | Path, format: str | None = None) -> tuple[str, str | None]:
    """The format and the compression of an output.

    Raises:
        OptionError: for an ending that nothing is written as.
    """
    if format is not None and format not in _FORMATS:
        raise OptionError(f"format: '{format}' is not one of {', '.join(_FORMATS)}")
    name = str(path)
    if name == "-":
        return format or "jsonl", None
    if "://" in name:
        raise OptionError(f"{name}: the output must be a local path, not an address")
    ending, compression = endings(name)
    found = format or DATA_ENDINGS.get(ending)
    if found is not None and found not in _FORMATS:
        raise OptionError(
            f"{name}: no rows are written as XLSX; use .parquet, .jsonl, .csv, .tsv or .arrow"
            if found == "xlsx"
            else f"{name}: only rows of {ending} files go to {ending}; use .parquet, .jsonl, .csv, .tsv or .arrow"
        )
    if found is None:
        raise OptionError(
            f"{name}: the ending decides the format: use .parquet, .jsonl, .csv, .tsv or .arrow"
            " (.gz, .zst, .bz2 or .xz behind a text format)"
        )
    if compression is not None and found not in _TEXT_FORMATS:
        raise OptionError(f"{name}: {found} is compressed already: leave out the last ending")
    return found, compression


def is_file(path: str | Path) -> bool:
    """Whether an output is one file (a known ending, or "-") and not a folder.

    Raises:
        OptionError: for an ending that a file would have, but that nothing is written as.
    """
    name = str(path)
    if name == "-":
        return True
    ending, _ = endings(name)
    if ending in DATA_ENDINGS:
        return True
    if ending in _FILE_ENDINGS and not Path(name).is_dir():
        output_format(name)
    return False


@contextlib.contextmanager
def open_output(path: str | Path, compression: str | None) -> Iterator[Any]:
    """A file to write bytes to; "-" is standard output, which stays open."""
    if str(path) == "-":
        with writing("standard output"):
            out = _Counted(sys.stdout.buffer)
            yield out
            out.flush()
        return
    if compression == "xz":
        with lzma.open(path, "wb") as packed:
            yield packed
        return
    with pa.OSFile(os.fsencode(path), "wb") as file:
        if compression is None:
            yield file
        elif compression == "gzip":
            # Arrow's gzip has level 9 and no other: 0.3% smaller, and slower by two thirds.
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                yield packed
        else:
            with pa.CompressedOutputStream(file, compression) as packed:
                yield packed


class _Counted(io.RawIOBase):
    """Standard output with a position, which Arrow asks for and a pipe does not have."""

    def __init__(self, out: Any) -> None:
        super().__init__()
        self._out = out
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._out.write(data)
        size = memoryview(data).nbytes
        self._position += size
        return size

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._out.flush()


def open_sink(format: str, out: Any, schema: pa.Schema, like: Place | None = None) -> Sink:
    """What writes a format to an open file; CSV in the manner of another CSV file."""
    if format == "parquet":
        from lookalike.io.writing.parquet_sink import ParquetSink

        return ParquetSink(out, schema)
    if format == "arrow":
        from lookalike.io.reading.formats import arrow

        return arrow.ArrowSink(out, schema)
    if format == "jsonl":
        from lookalike.io.reading.formats import jsonl

        return jsonl.JsonlSink(out, schema)
    if format == "lines":
        from lookalike.io.reading.formats import lines

        return lines.LineSink(out, schema)
    from lookalike.io.reading.formats import delimited

    return delimited.DelimitedSink(
        out, schema, "\t" if format == "tsv" else ",", delimited.manner(like) if like else None
    )


class TableWriter:
    """Writes batches of one schema to a file that appears, whole, when the block ends.

    With `ours` it is in a folder of our own (`owned.py`), where it may be there already.

    >>> with TableWriter("pairs.parquet", schema) as writer:  # doctest: +SKIP
    ...     writer.write(batch)
    """

    def __init__(
        self,
        path: str | Path,
        schema: pa.Schema,
        *,
        format: str | None = None,
        overwrite: bool = False,
        ours: bool = False,
    ) -> None:
        self._path = path
        self._schema = schema
        self._overwrite = overwrite
        self._ours = ours
        self._format, self._compression = output_format(path, format)
        self._stack = contextlib.ExitStack()
        self.rows = 0

    def __enter__(self) -> TableWriter:
        with contextlib.ExitStack() as stack:
            target: Any = self._path
            if self._ours:
                stack.enter_context(writing(str(self._path)))
                target = stack.enter_context(replacing(Path(self._path)))
            elif str(self._path) != "-":
                target = stack.enter_context(atomic_file(self._path, self._overwrite))
            out = stack.enter_context(open_output(target, self._compression))
            self._sink = stack.enter_context(sinking(open_sink(self._format, out, self._schema)))
            self._stack = stack.pop_all()
        return self

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows, which must have the schema of the writer."""
        batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
        for batch in batches:
            self._sink.write(batch)
            self.rows += batch.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


@contextlib.contextmanager
def sinking(sink: Closing) -> Iterator[Any]:
    """Close a sink; after an error only let go of what it holds."""
    try:
        yield sink
        sink.close()
    except BaseException:
        with contextlib.suppress(Exception):
            getattr(sink, "abort", sink.close)()
        raise


def save_table(
    table: pa.Table, path: str | Path, *, overwrite: bool = False, format: str | None = None, ours: bool = False
) -> None:
    """Write a table, by the ending of the path or as `format` says; "-" is standard output, JSONL by default.

    Raises:
        OptionError: for an ending that nothing is written as.
        OutputError: if the file exists and may not be overwritten, or could not be written.
    """
    with TableWriter(path, table.schema, format=format, overwrite=overwrite, ours=ours) as writer:
        writer.write(table)


def save_batches(
    batches: Iterator[pa.RecordBatch], path: str | Path, *, overwrite: bool = False, ours: bool = False,
    on_rows: Callable[[int], None] = lambda _: None,
) -> None:  # fmt: skip
    """Write batches of one schema as they come, as `save_table` writes a table; there must be one at least."""
    first = next(batches)
    with TableWriter(path, first.schema, overwrite=overwrite, ours=ours) as writer:
        for batch in chain([first], batches):
            writer.write(batch)
            on_rows(batch.num_rows)
