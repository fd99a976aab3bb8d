"""Lines from file to file as they are: JSONL and plain lines keep every byte of every kept line.

An edited JSONL line is written anew, with the same keys in the same order, only if its value changed. Added
columns go textually before the closing brace.
"""

from __future__ import annotations

from functools import partial
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.copying.changes import Changes
from lookalike.io.json_text import members
from lookalike.io.limits import check_size
from lookalike.io.reading.blocks import Block, Lines, lines_of, pick
from lookalike.io.reading.files import FileSource
from lookalike.io.reading.formats import FilePiece, jsonl, lines
from lookalike.io.reading.formats.json_rows import dump_line, load_line
from lookalike.io.source import Batch, Flags, OnRead
from lookalike.threads.behind import Behind

__all__ = ["LineOutput", "copy_lines"]


class LineOutput:
    """Puts a newline between files where the last line of one had none."""

    def __init__(self, out: Any, behind: Behind) -> None:
        self._out = out
        self._behind = behind
        self._open_end = False

    def write(self, data: bytes) -> None:
        """Write whole lines, of which the last may lack its newline."""
        if not data:
            return
        if self._open_end:
            data = b"\n" + data
        self._open_end = not data.endswith(b"\n")
        self._behind.do(len(data), partial(self._out.write, data))

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
    place = source.places[index]
    row = kept = 0
    reading = source.reading(index, changes.edit_columns, on_read)
    if changes.edit is not None:
        for block, piece in jsonl.parsed(place, reading):
            rows, count = _only_batch(piece), piece.count
            found = lines_of(block, blank=False, without=reading.faults.places)
            _check_lines(place.name, row, found, memory)
            mask = changes.mask(start + row, min(count, _left(source, start + row)))
            batch = Batch(start + row, index, row, rows)
            out.write(_rewritten(block, found, mask, batch, changes, place.name))
            row, kept = row + len(mask), kept + int(mask.sum())
            if len(mask) < count:
                break
        return row, kept
    read = lines.good_lines if place.format == "lines" else jsonl.good_lines
    for block, found in read(place, reading.faults, reading):
        _check_lines(place.name, row, found, memory)
        mask = changes.mask(start + row, min(len(found), _left(source, start + row)))
        if changes.add is not None:
            batch = Batch(start + row, index, row, None)
            out.write(_rewritten(block, found, mask, batch, changes, place.name))
        else:
            out.write(b"".join(pick(block, Lines(found.starts[: len(mask)], found.ends[: len(mask)]), mask)))
        row, kept = row + len(mask), kept + int(mask.sum())
        if len(mask) < len(found):
            break
    return row, kept


def _only_batch(piece: FilePiece) -> pa.RecordBatch:
    assert piece.load is not None, "all rows are wanted"
    return next(piece.load())


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
                    raise InputError(f"{name} row {batch.row + position}: has '{column}' already, which would be added")
            inside = body.rstrip()[:-1].rstrip()
            comma = b"" if inside == b"{" else b","
            body = inside + comma + extra[position].encode() + b"}"
        out.append(body + (ending or (b"\n" if changed or extra else b"")))
    return b"".join(out)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
