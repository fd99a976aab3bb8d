"""Text files as items: a collection of files is one table with a row per file.

Columns: `path`, the name as it was given, and `text`, the content without a byte order mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.columns import check_types, honest
from lookalike.io.faults import FaultLog, Faults
from lookalike.io.messages import missing_column
from lookalike.io.places import Place
from lookalike.io.source import Batch, Flags, OnRead

_SCHEMA = pa.schema([("path", pa.string()), ("text", pa.string())])
_BOM = b"\xef\xbb\xbf"

__all__ = ["TextSource"]


class TextSource:
    """Text files, one row each. A file that can not be read is a bad row."""

    def __init__(
        self, places: list[Place], log: FaultLog, limit: int | None, batch_rows: int, batch_bytes: int
    ) -> None:
        self.places = places
        self.limit = limit
        self._log = log
        self._faults = Faults(log)
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files as they were given."""
        return tuple(place.name for place in self.places)

    @property
    def skipped(self) -> int:
        """How many files could not be read and were left out."""
        return self._log.skipped

    @property
    def skips_bad(self) -> bool:
        """Whether bad rows are left out instead of raised."""
        return self._log.skip

    @property
    def bad(self) -> list[str]:
        """The first few messages about them."""
        return self._log.messages

    @property
    def natural_id(self) -> str | None:
        """A text file is named by its path."""
        return "path"

    def first_rows(self) -> Sequence[int]:
        """Each file that can be read is one row."""
        self.settle()
        left_out = [index in self._faults.places for index in range(len(self.places))]
        return [index - sum(left_out[:index]) for index in range(len(self.places))]

    def schema(self) -> pa.Schema:
        """`path` and `text`."""
        return _SCHEMA

    def full_schema(self) -> pa.Schema:
        """`path` and `text`."""
        return _SCHEMA

    def count(self) -> int | None:
        """The number of files, unless some of them may be left out."""
        if self._log.skip and self._faults.judged < len(self.places):
            return None
        return len(self.rows())

    def size(self) -> int | None:
        """Bytes of all files as they are stored."""
        total = 0
        for place in self.places:
            try:
                total += place.size() or 0
            except InputError:
                continue
        return total

    def rows(self) -> list[int]:
        """The index of the file of each row, as far as is known; a file that was left out is no row."""
        files = [index for index in range(len(self.places)) if index not in self._faults.places]
        return files if self.limit is None else files[: self.limit]

    def settle(self) -> None:
        """Make sure that every file has been looked at once."""
        if self._log.skip and self._faults.judged < len(self.places):
            for _ in self.batches(["text"]):
                pass

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """Read the files; a batch holds consecutive files, the first of which is `Batch.file`."""
        names = list(columns) if columns is not None else _SCHEMA.names
        for name in names:
            if name not in _SCHEMA.names:
                raise InputError(missing_column(self.places[0].name, name, _SCHEMA.names))
        check_types(self.places[0].name, _SCHEMA, expect or {})
        group = _Group(names)
        number = 0
        for index, place in enumerate(self.places):
            if self.limit is not None and number >= self.limit:
                break
            known = index < self._faults.judged
            if index in self._faults.places:
                text = None
            elif only is not None and known and not only[number]:
                text = None
                number += 1
            elif known and "text" not in names:
                text = b""
            else:
                text = self._read(index, place, on_read)
            if text is None:
                yield from group.take()
                continue
            group.add(number, index, place.name, text)
            number += 1
            if group.bytes >= self._batch_bytes or len(group.texts) >= self._batch_rows:
                yield from group.take()
        yield from group.take()

    def _read(self, index: int, place: Place, on_read: OnRead | None) -> bytes | None:
        try:
            with place.stream() as stream:
                text: bytes | None = stream.read().removeprefix(_BOM)
                if on_read is not None:
                    on_read(stream.taken())
        except InputError as error:
            self._faults.report(index, str(error))
            text = None
        self._faults.settle(index + 1)
        return text

    def locate(self, number: int) -> tuple[int, int]:
        """The file (index) of a running number, and 0: each file is one row."""
        self.settle()
        return self.rows()[number], 0


class _Group:
    """Texts that wait to become a batch."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._clear()

    def _clear(self) -> None:
        self.first = self.file = self.bytes = 0
        self.paths: list[str] = []
        self.texts: list[bytes] = []

    def add(self, number: int, file: int, path: str, text: bytes) -> None:
        """Append one file."""
        if not self.texts:
            self.first, self.file = number, file
        self.paths.append(path)
        self.texts.append(text)
        self.bytes += len(text)

    def take(self) -> Iterator[Batch]:
        """The batch, if there is any; then start anew."""
        if not self.texts:
            return
        paths = [path.encode("utf-8", "surrogateescape") for path in self.paths]
        columns = {
            "path": honest(pa.array(paths, pa.binary()).view(pa.string())),
            "text": honest(_strings(self.texts)),
        }
        arrays = [columns[name] for name in self._names]
        batch = Batch(self.first, self.file, 0, pa.RecordBatch.from_arrays(arrays, names=self._names))
        self._clear()
        yield batch


def _strings(texts: list[bytes]) -> pa.Array:
    """Bytes as a string array that may not be valid yet."""
    if sum(map(len, texts)) < 2**31:
        return pa.array(texts, pa.binary()).view(pa.string())
    return pa.array(texts, pa.large_binary()).view(pa.large_string())
