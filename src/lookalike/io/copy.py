"""Kept rows to the output: to one file, or to a folder that mirrors the input files.

From a format to the same format everything is kept that the format has: JSONL and plain lines byte for byte,
the schema, metadata, codecs and row groups of Parquet, the columns, bytes, line ends and byte order mark of CSV
(of the first file, where several go to one), whole text files. Between formats rows are converted. Order is
always kept.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from lookalike.errors import InputError, OptionError
from lookalike.io import formats
from lookalike.io.atomic import atomic_file, atomic_folder
from lookalike.io.changes import Changes, Edit, Extra
from lookalike.io.columns import conform, storable
from lookalike.io.copy_lines import LineOutput, copy_lines
from lookalike.io.files import FileSource
from lookalike.io.places import Place
from lookalike.io.source import Batch, Flags, OnRead, Source
from lookalike.io.texts import TextSource
from lookalike.io.write import is_file, open_output, open_sink, output_format, sinking

LINE_ENDINGS = (".txt", ".text", ".log", ".lines")
_CELLS = {"csv", "tsv"}
_STREAM_NAMES = {
    "parquet": "stdin.parquet",
    "jsonl": "stdin.jsonl",
    "csv": "stdin.csv",
    "tsv": "stdin.tsv",
    "arrow": "stdin.arrow",
    "lines": "stdin.txt",
}

__all__ = ["LINE_ENDINGS", "Copied", "copy_rows", "goes_to_file"]


@dataclass(slots=True)
class Copied:
    """What was written.

    Attributes:
        rows: how many rows.
        files: the files, relative to a destination folder.
        recut: row groups that were too large to hold and were cut into smaller ones.
        replaced: texts in which invalid UTF-8 became U+FFFD, because the new format needs valid text.
    """

    rows: int
    files: list[str]
    recut: int = 0
    replaced: int = 0


def copy_rows(
    source: Source,
    keep: Flags | None,
    destination: str | Path,
    *,
    overwrite: bool = False,
    format: str | None = None,
    edit: Edit | None = None,
    edit_columns: Sequence[str] = (),
    add: Extra | None = None,
    on_read: OnRead | None = None,
) -> Copied:
    """Write the kept rows with all their columns.

    Args:
        source: where the rows come from.
        keep: a flag for each running row number; None for all rows.
        destination: a file with an ending (.parquet .jsonl .csv .tsv .arrow; .txt from plain lines), "-"
            for standard output, otherwise a folder, which must be empty or absent.
        overwrite: replace a file that is there.
        format: the format of standard output, if not that of a text input or else JSONL.
        edit: changes values: gets batches of `edit_columns` and returns them with new values.
        edit_columns: the columns that `edit` gets.
        add: columns to add to each row.
        on_read: told the number of bytes read.

    Raises:
        InputError: if the input changed since it was read.
        OptionError: if the output can not hold the rows.
        OutputError: if the output is in the way or can not be written.
    """
    changes = Changes.checked(keep, edit, edit_columns, add)
    job = _Copy(source, changes, on_read)
    if goes_to_file(source, destination):
        job.to_file(destination, overwrite, format)
    else:
        job.to_folder(destination)
    return job.done


def _formats_of(source: Source) -> set[str]:
    return {place.format for place in source.places} if isinstance(source, FileSource) else set()


def goes_to_file(source: Source, destination: str | Path) -> bool:
    """Whether the rows of a source go to one file there, and not to a folder; plain lines may go to a text file."""
    ending = formats.endings(str(destination))[0]
    if _formats_of(source) == {"lines"} and ending in LINE_ENDINGS:
        return True
    return is_file(destination)


class _Copy:
    """One copy job."""

    def __init__(self, source: Source, changes: Changes, on_read: OnRead | None) -> None:
        self._source = source
        self._changes = changes
        self._on_read = on_read
        self._seen = 0
        self.done = Copied(0, [])

    def _start(self) -> None:
        """Bad rows must be known before lines are copied unparsed."""
        if isinstance(self._source, FileSource | TextSource) and self._source.skips_bad:
            self._source.settle()

    def _check_count(self) -> None:
        """Raise `InputError` if fewer rows came by than there are flags."""
        keep = self._changes.keep
        if keep is not None and self._seen != len(keep):
            raise InputError(f"{self._seen} rows instead of the {len(keep)} read before: the input changed")

    def to_file(self, destination: str | Path, overwrite: bool, format: str | None) -> None:
        """All kept rows to one file."""
        source = self._source
        found, compression = self._output_format(destination, format)
        own = _formats_of(source) == {found}
        self.done.files.append(str(destination))
        with contextlib.ExitStack() as stack:
            target: Any = destination
            if str(destination) != "-":
                target = stack.enter_context(atomic_file(destination, overwrite))
            self._start()
            if isinstance(source, FileSource) and own and self._by_line(found):
                out = stack.enter_context(open_output(target, compression))
                self._lines(source, range(len(source.places)), LineOutput(out))
            elif isinstance(source, FileSource) and own and found == "parquet" and _same_schema(source):
                out = stack.enter_context(open_output(target, None))
                self._parquet(source, range(len(source.places)), out)
            else:
                out = stack.enter_context(open_output(target, compression))
                self._rows(found, out)
            self._check_count()

    def _output_format(self, destination: str | Path, format: str | None) -> tuple[str, str | None]:
        own = _formats_of(self._source)
        if own == {"lines"} and format is None:
            ending, compression = formats.endings(str(destination))
            if str(destination) == "-" or ending in LINE_ENDINGS:
                return "lines", compression
        if str(destination) == "-" and format is None and len(own) == 1 and own <= {"csv", "tsv"}:
            return next(iter(own)), None
        return output_format(destination, format)

    def _by_line(self, format: str) -> bool:
        """Whether lines can be copied as they are: JSONL always, plain lines only unchanged."""
        unchanged = self._changes.edit is None and self._changes.add is None
        return format == "jsonl" or (format == "lines" and unchanged)

    def to_folder(self, destination: str | Path) -> None:
        """Each input file to a file of its own."""
        source = self._source
        with atomic_folder(destination, run=False) as folder:
            self._start()
            if isinstance(source, TextSource):
                self._texts(source, folder)
            elif isinstance(source, FileSource):
                for index, name in enumerate(mirrored(source.places)):
                    if source.limit is not None and self._seen >= source.limit:
                        break
                    self._mirror(source, index, folder / name, name)
            else:
                self.done.files.append("items.parquet")
                with open_output(folder / "items.parquet", None) as out:
                    self._rows("parquet", out)
            self._check_count()

    def _mirror(self, source: FileSource, index: int, target: Path, name: str) -> None:
        place = source.places[index]
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.left_out(index):
            return
        if self._changes.add is not None:
            self._changes.schema(formats.reader(place.format).schema(place, True), place.name)
        self.done.files.append(name)
        with open_output(target, place.compression) as out:
            if self._by_line(place.format):
                self._lines(source, range(index, index + 1), LineOutput(out))
            elif place.format == "parquet":
                self._parquet(source, range(index, index + 1), out)
            else:
                self._table(source, index, out)

    def _lines(self, source: FileSource, files: range, out: LineOutput) -> None:
        if self._changes.add is not None:
            self._changes.schema(source.schema(), source.files[0])
        for index in files:
            seen, kept = copy_lines(source, index, self._seen, self._changes, out, self._on_read)
            self._seen += seen
            self.done.rows += kept

    def _parquet(self, source: FileSource, files: range, out: Any) -> None:
        from lookalike.io.formats import parquet

        readable = [index for index in files if not source.left_out(index)]
        layout = parquet.Layout.of(source.places[readable[0]])
        schema = self._changes.schema(layout.schema, source.files[readable[0]])
        with sinking(parquet.Sink(out, schema, layout)) as sink:
            for index in readable:
                start, last = self._seen, -1
                reading = source.reading(index, None, self._on_read, only=self._changes.keep, start=start)
                for group, piece in parquet.groups(source.places[index], reading):
                    if group != last:
                        sink.end_group()
                        last = group
                    count = piece.count
                    if source.limit is not None:
                        count = min(count, source.limit - self._seen)
                    if piece.rows is not None:
                        rows = piece.rows.slice(0, count)
                        self._put(sink, Batch(self._seen, index, piece.row, rows), schema)
                    self._seen += count
                    if count < piece.count:
                        break
                sink.end_group()
            self.done.recut += sink.recut

    def _table(self, source: FileSource, index: int, out: Any) -> None:
        """One file of a format that has no shortcut, to the same format."""
        place = source.places[index]
        module = formats.reader(place.format)
        schema = self._changes.schema(module.schema(place), place.name)
        reading = source.reading(index, None, self._on_read)
        start = self._seen
        # Text formats hold any bytes; only typed ones need valid text.
        target = schema if place.format == "arrow" else None
        with (
            sinking(open_sink(place.format, out, schema, place if place.format in _CELLS else None)) as sink,
            contextlib.closing(module.pieces(place, reading)) as pieces,
        ):
            for piece in pieces:
                count = piece.count
                if source.limit is not None:
                    count = min(count, source.limit - self._seen)
                rows = _rows_of(piece).slice(0, count)
                self._put(sink, Batch(start + piece.row, index, piece.row, rows), target)
                self._seen += count
                if source.limit is not None and self._seen >= source.limit:
                    break

    def _rows(self, format: str, out: Any) -> None:
        """All rows, as rows."""
        source = self._source
        schema = source.full_schema()
        where = source.files[0] if source.files else "items"
        schema = self._changes.schema(storable(schema) if format == "parquet" else schema, where)
        own = _formats_of(source)
        like = source.places[0] if isinstance(source, FileSource) and format in _CELLS and own == {format} else None
        # From cells to cells no byte changes, valid text or not.
        as_is = format in _CELLS and bool(own) and own <= _CELLS
        with sinking(open_sink(format, out, schema, like)) as sink:
            for batch in source.batches(None, self._on_read, only=None):
                self._put(sink, batch, _with_bytes(schema, batch.rows) if as_is else schema)
                self._seen += batch.rows.num_rows

    def _put(self, sink: Any, batch: Batch, schema: pa.Schema | None) -> None:
        rows = self._changes.apply(batch)
        if not rows.num_rows:
            return
        if schema is not None:
            rows, replaced = conform(rows, schema)
            self.done.replaced += replaced
        self.done.rows += rows.num_rows
        sink.write(rows)

    def _texts(self, source: TextSource, folder: Path) -> None:
        if self._changes.add is not None:
            raise OptionError("text files have no columns to add to; write to .parquet, .jsonl or .csv")
        names = mirrored(source.places)
        files = source.rows()
        if self._changes.edit is None:
            mask = self._changes.mask(0, len(files))
            for number in mask.nonzero()[0].tolist():
                self._copy_text(source.places[files[number]], folder / names[files[number]], None)
            self._seen = len(files)
        else:
            for batch in source.batches(None, self._on_read):
                texts = self._changes.edited(batch).rows.column("text").cast(pa.large_binary()).to_pylist()
                for row in self._changes.mask(batch.first, len(texts)).nonzero()[0].tolist():
                    place, name = source.places[batch.file + row], names[batch.file + row]
                    self._copy_text(place, folder / name, texts[row])
                self._seen += len(texts)
        self.done.files = [names[files[number]] for number in self._changes.mask(0, len(files)).nonzero()[0]]
        self.done.rows = len(self.done.files)

    def _copy_text(self, place: Place, target: Path, text: bytes | None) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            with open_output(target, place.compression) as out:
                out.write(text)
            return
        with place.open() as raw, open_output(target, None) as out:
            while data := raw.read(1 << 20):
                out.write(data)
                if self._on_read is not None:
                    self._on_read(len(data))


def _with_bytes(schema: pa.Schema, rows: pa.RecordBatch) -> pa.Schema:
    """A schema that leaves the columns of bytes of these rows as they are."""
    for index, field in enumerate(schema):
        column = rows.schema.get_field_index(field.name)
        if column >= 0 and pa.types.is_binary(rows.schema.field(column).type):
            schema = schema.set(index, field.with_type(pa.binary()))
    return schema


def _rows_of(piece: formats.Piece) -> pa.RecordBatch:
    if piece.rows is None:
        raise AssertionError("all rows are wanted")
    return piece.rows


def _same_schema(source: FileSource) -> bool:
    from lookalike.io.formats import parquet

    schemas = [parquet.schema(place) for index, place in enumerate(source.places) if not source.left_out(index)]
    return bool(schemas) and all(schema.equals(schemas[0]) for schema in schemas)


def mirrored(places: list[Place]) -> list[str]:
    """A name below a common folder for each file, by its path below the folder that all share."""
    paths = [_whole_path(place) for place in places]
    folders = [os.path.dirname(path) for path in paths if path]  # noqa: PTH120
    common = os.path.commonpath(folders) if folders else "/"
    names: list[str] = []
    for place, path in zip(places, paths, strict=True):
        name = os.path.relpath(path, common) if path else _STREAM_NAMES.get(place.format, "stdin.txt")
        stem, dot, ending = name.rpartition(".")
        copies = 1
        while name in names:
            copies += 1
            name = f"{stem}-{copies}{dot}{ending}"
        names.append(name)
    return names


def _whole_path(place: Place) -> str:
    """The path from the root on, whatever that is; nothing for a stream, whose copy has a name of its own."""
    if place.remote:
        parts = urlsplit(place.name)
        return "/" + f"{parts.netloc}/{parts.path}".strip("/").replace("//", "/")
    return os.path.abspath(place.path) if place.path == place.name else ""  # noqa: PTH100
