"""Lines from file to file as they are: JSONL and plain lines keep every byte of every kept line.

An edited JSONL line is written anew, with the same keys in the same order, only if its value changed. Added
columns go textually before the closing brace.
"""

from __future__ import annotations

from typing import Any

from lookalike.io.blocks import Block, Lines, lines_of, pick
from lookalike.io.changes import Changes
from lookalike.io.files import FileSource
from lookalike.io.formats import jsonl, lines
from lookalike.io.formats.json_rows import dump_line, load_line
from lookalike.io.json_text import members
from lookalike.io.source import Batch, Flags, OnRead

__all__ = ["LineOutput", "copy_lines"]


class LineOutput:
    """Puts a newline between files where the last line of one had none."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._open_end = False

    def write(self, data: Any) -> None:
        """Write whole lines, of which the last may lack its newline."""
        if not len(data):
            return
        if self._open_end:
            self._out.write(b"\n")
        self._out.write(data)
        self._open_end = data[-1] not in (0x0A, b"\n")


def copy_lines(
    source: FileSource, index: int, start: int, changes: Changes, out: LineOutput, on_read: OnRead | None
) -> tuple[int, int]:
    """Copy the kept lines of one file; returns how many rows it has and how many were kept."""
    place = source.places[index]
    row = kept = 0
    reading = source.reading(index, changes.edit_columns, on_read)
    if changes.edit is not None:
        for block, rows, count in jsonl.parsed(place, reading):
            found = lines_of(block, blank=False, without=reading.faults.places)
            mask = changes.mask(start + row, min(count, _left(source, start + row)))
            batch = Batch(start + row, index, row, rows)
            _rewrite(block, found, mask, batch, changes, out)
            row, kept = row + len(mask), kept + int(mask.sum())
            if len(mask) < count:
                break
        return row, kept
    read = lines.good_lines if place.format == "lines" else jsonl.good_lines
    for block, found in read(place, reading.faults, reading):
        mask = changes.mask(start + row, min(len(found), _left(source, start + row)))
        if changes.add is not None:
            _rewrite(block, found, mask, Batch(start + row, index, row, None), changes, out)
        else:
            for piece in pick(block, Lines(found.starts[: len(mask)], found.ends[: len(mask)]), mask):
                out.write(piece)
        row, kept = row + len(mask), kept + int(mask.sum())
        if len(mask) < len(found):
            break
    return row, kept


def _left(source: FileSource, number: int) -> int:
    return 2**62 if source.limit is None else max(0, source.limit - number)


def _rewrite(block: Block, found: Lines, mask: Flags, batch: Batch, changes: Changes, out: LineOutput) -> None:
    """Write kept lines one by one, with edited values and added columns."""
    new: dict[str, list[Any]] = {}
    old: dict[str, list[Any]] = {}
    if changes.edit is not None:
        edited = changes.edited(batch).rows
        new = {name: edited.column(name).to_pylist() for name in changes.edit_columns}
        old = {name: batch.rows.column(name).to_pylist() for name in changes.edit_columns}
    extra: list[str] = []
    if changes.add is not None:
        extra = members(changes.add.rows(batch.first, len(mask))).to_pylist()
    for position in mask.nonzero()[0].tolist():
        line = block.data[found.starts[position] : found.ends[position]]
        body = line.rstrip(b"\r\n")
        ending = line[len(body) :]
        changed = {
            name: _text(values[position])
            for name, values in new.items()
            if _text(values[position]) != _text(old[name][position])
        }
        if changed:
            body = dump_line(load_line(body) | changed)
        if extra:
            inside = body.rstrip()[:-1].rstrip()
            comma = b"" if inside == b"{" else b","
            body = inside + comma + extra[position].encode() + b"}"
        out.write(body + (ending or (b"\n" if changed or extra else b"")))


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
