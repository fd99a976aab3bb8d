"""Arrow IPC: the file format (.arrow, .feather version 2) and the stream format (which datasets writes).

Offsets come from the file as they are, so every batch is checked (`io/reading/sound.py`) before anything follows them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from lookalike.errors import InputError
from lookalike.io.reading.formats import FilePiece, Reading
from lookalike.io.reading.places import Place
from lookalike.io.reading.places import reading as naming
from lookalike.io.reading.sound import check_sound
from lookalike.wording.messages import missing_column, reason

_MAGIC = b"ARROW1"

__all__ = ["ArrowSink", "count", "pieces", "schema"]


def schema(place: Place, skip_bad: bool = False) -> pa.Schema:
    """The schema, metadata included."""
    with _Input(place) as file:
        return file.schema


def count(place: Place) -> int | None:
    """The number of rows where the file has a footer that leads to it; a stream has none."""
    with _Input(place) as file:
        return file.count()


def pieces(place: Place, reading: Reading) -> Generator[FilePiece, None, None]:
    """All rows in order, batch by batch as they were written."""
    if 0 in reading.faults.places:
        return
    try:
        file = _Input(place)
    except InputError as error:
        reading.faults.report(0, str(error))
        return
    with file:
        reading.faults.settle(1)
        if reading.columns:
            file.select(reading.columns)
        row = 0
        for number, rows in enumerate(file.batches()):
            reading.on_read(file.taken())
            if rows.num_rows:
                wanted = reading.wanted(row, rows.num_rows)
                if wanted:
                    check_sound(rows, f"{place.name}: record batch {number}")
                yield FilePiece.held(row, rows.num_rows, rows if wanted else None)
            row += rows.num_rows


class _Input:
    """An open IPC file or stream."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._raw = place.open()
        self._told = 0
        self._columns: list[str] | None = None
        try:
            self._listed = self._raw.read(len(_MAGIC)) == _MAGIC
            self._open(None)
            self.schema = self._reader.schema
            _read_names(self.schema)
        except UnicodeDecodeError as error:
            self._raw.close()
            raise InputError(f"{place.name}: not a readable Arrow file: names that are not UTF-8") from error
        except (OSError, pa.ArrowException) as error:
            self._raw.close()
            raise InputError(f"{place.name}: not a readable Arrow file: {reason(error)}") from error

    def _open(self, options: Any) -> None:
        self._raw.seek(0)
        opened = ipc.open_file if self._listed else ipc.open_stream
        self._reader = opened(self._raw, options=options)

    def select(self, columns: tuple[str, ...]) -> None:
        """Read only these columns."""
        for column in columns:
            found = self.schema.names.count(column)
            if not found:
                raise InputError(missing_column(self._place.name, column, self.schema.names))
            if found > 1:
                raise InputError(f"{self._place.name}: column '{column}' occurs {found} times")
        fields = sorted({self.schema.get_field_index(column) for column in columns})
        self._columns = list(columns)
        self._open(ipc.IpcReadOptions(included_fields=fields))

    def count(self) -> int | None:
        """The number of rows, from the metadata of the batches."""
        if not self._listed or not hasattr(self._reader, "count_rows"):
            return None
        with naming(self._place.name, remote=self._place.remote):
            return int(self._reader.count_rows())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The record batches in order."""
        number = 0
        while True:
            with naming(f"{self._place.name}: record batch {number}", remote=self._place.remote):
                rows = self._batch(number)
            if rows is None:
                return
            yield rows if self._columns is None else rows.select(self._columns)
            number += 1

    def _batch(self, number: int) -> pa.RecordBatch | None:
        if self._listed:
            known = number < self._reader.num_record_batches
            return self._reader.get_batch(number) if known else None
        return next(self._reader, None)

    def taken(self) -> int:
        """Bytes read since the last call, for progress."""
        position = int(self._raw.tell())
        fresh = max(0, position - self._told)
        self._told += fresh
        return fresh

    def __enter__(self) -> _Input:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()


def _read_names(fields: Iterable[Any]) -> None:
    """Look at every name, at any depth: one that is not UTF-8 raises only when it is asked for."""
    for field in fields:
        assert isinstance(field.name, str)
        kind = getattr(field.type, "storage_type", field.type)
        if not pa.types.is_dictionary(kind):
            _read_names(kind.field(index) for index in range(kind.num_fields))


class ArrowSink:
    """Writes tables as an Arrow IPC file."""

    def __init__(self, out: Any, schema: pa.Schema) -> None:
        self._writer = ipc.new_file(out, schema)

    def write(self, rows: pa.RecordBatch) -> None:
        """Write rows as one record batch."""
        if rows.num_rows:
            self._writer.write_batch(rows)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
