"""Lines from file to file as they are: JSONL and plain lines keep every byte of every kept line.

An edited JSONL line is written anew, with the same keys in the same order, only if its value changed. Added
columns go textually before the closing brace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from json.encoder import encode_basestring
from typing import Any

from lookalike.errors import InputError
from lookalike.io.copying.changes import Changes
from lookalike.io.json_text import members
from lookalike.io.limits import check_size
from lookalike.io.reading.blocks import Block, Lines, lines_of, pick
from lookalike.io.reading.files import FileSource
from lookalike.io.reading.formats import Reading, jsonl
from lookalike.io.reading.formats.json_rows import dump_line, load_line
from lookalike.io.reading.line_ranges import Span, spans
from lookalike.io.reading.places import Place
from lookalike.io.source import Batch, Flags, OnRead
from lookalike.io.writing.begin_sync import begin_sync
from lookalike.threads.behind import Behind

__all__ = ["LineOutput", "copy_lines"]


class LineOutput:
    """Puts a newline between files where the last line of one had none."""

    def __init__(self, out: Any, behind: Behind) -> None:
        self._out = out
        self._behind = behind
        self._open_end = False

    def make(self, size: int, make: Callable[[], bytes], *, loaded: bool) -> None:
        """Write whole lines, of which the last may lack its newline; they are made by any thread."""
        self._behind.make(size, make, self._put, loaded=loaded)

    def _put(self, data: bytes) -> None:
        if data:
            self._out.write(b"\n" + data if self._open_end else data)
            self._open_end = not data.endswith(b"\n")
            begin_sync(self._out)

    def close(self) -> None:
        """Wait for what is being written."""
        self._behind.finish()

    def abort(self) -> None:
        """Forget what is not written yet."""
        self._behind.drop()


def copy_lines(
    source: FileSource,
    index: int,
    start: int,
    changes: Changes,
    out: LineOutput,
    on_read: OnRead | None,
    memory: int | None = None,
) -> tuple[int, int]:
    """Copy the kept lines of one file; returns how many rows it has and how many were kept."""
    job = _LineCopy(source, index, start, changes, source.reading(index, changes.edit_columns, on_read), memory)
    row = kept = 0
    for span in spans(job.place, job.reading.faults, job.reading.on_read, job.reading.ranges, blank=job.blank):
        count = min(span.rows, _left(source, start + row))
        mask = changes.mask(start + row, count)
        out.make(max(1, span.size), partial(job.lines, span, row, mask), loaded=span.loaded)
        row, kept = row + count, kept + int(mask.sum())
        if count < span.rows:
            break
    return row, kept


@dataclass(frozen=True, slots=True)
class _LineCopy:
    """How the lines of one file are copied."""

    source: FileSource
    index: int
    start: int
    changes: Changes
    reading: Reading
    memory: int | None

    @property
    def place(self) -> Place:
        return self.source.places[self.index]

    @property
    def blank(self) -> bool:
        """Whether a blank line is a row."""
        return bool(self.place.format == "lines")

    def lines(self, span: Span, row: int, mask: Flags) -> bytes:
        """The lines that are kept of some, the first of which is this row of the file."""
        name, block, faults = self.place.name, span.load(), self.reading.faults
        if not self.blank:
            jsonl.report_unfit(self.place, block, faults)
        found = lines_of(block, blank=self.blank, without=set() if self.blank else faults.places)
        _check_lines(name, row, found, self.memory)
        if self.changes.edit is None and self.changes.add is None:
            return b"".join(pick(block, Lines(found.starts[: len(mask)], found.ends[: len(mask)]), mask))
        rows = None if self.changes.edit is None else jsonl.Parser(self.place, self.reading).parse(block, faults)
        batch = Batch(self.start + row, self.index, row, rows)
        return _rewritten(block, found, mask, batch, self.changes, name)


def _check_lines(name: str, row: int, found: Lines, memory: int | None) -> None:
    if memory is not None and len(found):
        sizes = found.ends - found.starts
        largest = int(sizes.argmax())
        check_size(f"{name} row {row + largest}: holds", int(sizes[largest]), memory)


def _left(source: FileSource, number: int) -> int:
    return 2**62 if source.limit is None else max(0, source.limit - number)


def _rewritten(block: Block, found: Lines, mask: Flags, batch: Batch, changes: Changes, name: str) -> bytes:
    """The kept lines, one by one, with edited values and added columns."""
    new: dict[str, list[Any]] = {}
    old: dict[str, list[Any]] = {}
    if changes.edit is not None:
        edited = changes.edited(batch).rows
        new = {column: edited.column(column).to_pylist() for column in changes.edit_columns}
        old = {column: batch.rows.column(column).to_pylist() for column in changes.edit_columns}
    extra: list[str] = []
    added: dict[str, bytes] = {}
    if changes.add is not None:
        extra = members(changes.add.rows(batch.first, len(mask))).to_pylist()
        added = {column: encode_basestring(column).encode() for column in changes.add.schema.names}
    out: list[bytes] = []
    for position in mask.nonzero()[0].tolist():
        line = block.data[found.starts[position] : found.ends[position]]
        body = line.rstrip(b"\r\n")
        ending = line[len(body) :]
        changed = {
            column: _text(values[position])
            for column, values in new.items()
            if _text(values[position]) != _text(old[column][position])
        }
        if changed:
            body = dump_line(load_line(body) | changed)
        if extra:
            for column, key in added.items():
                # The first block was looked at before; this is for a key that turns up later.
                if key in body and column in load_line(body):
                    raise InputError(f"{name} row {batch.row + position}: already has '{column}', which would be added")
            inside = body.rstrip()[:-1].rstrip()
            comma = b"" if inside == b"{" else b","
            body = inside + comma + extra[position].encode() + b"}"
        out.append(body + (ending or (b"\n" if changed or extra else b"")))
    return b"".join(out)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
