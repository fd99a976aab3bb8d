"""Files that are one item each: what texts and images have in common as sources.

A batch holds consecutive files. Files are read by `threads` threads, some ahead; what is wrong with one is told when
its turn comes, so neither rows nor messages depend on how many read.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar, cast

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.column_types import check_types
from lookalike.io.reading.faults import FaultLog, Faults
from lookalike.io.reading.places import Place
from lookalike.io.reading.watch import Watch
from lookalike.io.source import Batch, Flags, OnRead, Piece, held
from lookalike.threads.ordered import ordered_map
from lookalike.wording.messages import missing_column
from lookalike.wording.printable import spelled

__all__ = ["WholeFiles"]

Value = TypeVar("Value")


class _Task(NamedTuple):
    """A file of which nothing is wanted (None), only the name (False), or the content (True)."""

    file: int
    content: bool | None


class _Outcome(NamedTuple, Generic[Value]):
    task: _Task
    value: Value | None = None
    taken: int = 0
    fault: str | None = None


class WholeFiles(ABC, Generic[Value]):
    """Files, one row each, of which the first column is the path. A file that cannot be read is a bad row.

    Attributes:
        derived: columns that are made of a file for comparing it, and are no part of it.
    """

    derived: tuple[str, ...] = ()

    def __init__(
        self,
        places: list[Place],
        log: FaultLog,
        limit: int | None,
        batch_rows: int,
        batch_bytes: int,
        threads: int = 1,
    ) -> None:
        self.places = places
        self.limit = limit
        self.watch = Watch(places)
        self._log = log
        self._faults = Faults(log)
        self._batch_rows = batch_rows
        self._batch_bytes = batch_bytes
        self._threads = threads

    @abstractmethod
    def schema(self) -> pa.Schema:
        """`path`, then what a file holds."""

    @abstractmethod
    def _load(self, place: Place) -> tuple[Value, int]:
        """What a file holds, and how many bytes were read for it; `InputError` if it cannot be read."""

    @abstractmethod
    def _size(self, value: Value) -> int:
        """Bytes that a value takes in a batch."""

    @abstractmethod
    def _columns(self, values: list[Value]) -> dict[str, pa.Array]:
        """The columns after `path` of some files."""

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
        """A file is named by its path."""
        return "path"

    def first_rows(self) -> Sequence[int]:
        """Each file that can be read is one row."""
        self.settle()
        rows = [index not in self._faults.places for index in range(len(self.places))]
        return [0, *accumulate(rows)][:-1]

    def full_schema(self) -> pa.Schema:
        """The same columns for every file."""
        return self.schema()

    def count(self) -> int | None:
        """The number of files, unless some of them may be left out."""
        if self._log.skip and self._faults.judged < len(self.places):
            return None
        return len(self.rows())

    def tally(self, on_read: OnRead | None = None) -> int:
        """The number of files, bad ones among them: to tell which those are, all would have to be read."""
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
            for _ in self.batches():
                pass

    def locate(self, number: int) -> tuple[int, int]:
        """The file (index) of a running number, and 0: each file is one row."""
        self.settle()
        return self.rows()[number], 0

    def batches(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Batch]:
        """Read the files; a batch holds consecutive files, the first of which is `Batch.file`."""
        schema = self.schema()
        names = list(columns) if columns is not None else schema.names
        for name in names:
            if name not in schema.names:
                raise InputError(missing_column(self.places[0].name, name, schema.names))
        check_types(self.places[0].name, schema, expect or {})
        first = number = size = 0
        group: list[_Outcome[Value]] = []
        tasks = self._tasks(set(names) != {"path"}, only)
        answers = cast("Generator[_Outcome[Value]]", ordered_map(self._answer, tasks, self._threads))
        with contextlib.closing(answers):
            for answer in answers:
                index, content = answer.task
                if on_read is not None and answer.taken:
                    on_read(answer.taken)
                if answer.fault is not None:
                    self._faults.report(index, answer.fault)
                if content:
                    self._faults.settle(index + 1)
                here = content is not None and answer.fault is None
                full = size >= self._batch_bytes or len(group) >= self._batch_rows
                if group and (full or not here):
                    yield self._batch(first, names, group)
                    group, size = [], 0
                if here:
                    first = first if group else number
                    group.append(answer)
                    size += 0 if answer.value is None else self._size(answer.value)
                if answer.fault is None and index not in self._faults.places:
                    number += 1
                if self.limit is not None and number >= self.limit:
                    break
        if group:
            yield self._batch(first, names, group)

    def pieces(
        self,
        columns: Sequence[str] | None = None,
        on_read: OnRead | None = None,
        *,
        expect: Mapping[str, Any] | None = None,
        only: Flags | None = None,
    ) -> Iterator[Piece]:
        """The rows in pieces; see `Source.pieces`."""
        return held(self.batches(columns, on_read, expect=expect, only=only))

    def _tasks(self, content: bool, only: Flags | None) -> Iterator[_Task]:
        """What a pass does with each file. A file that no pass has looked at is read whatever is wanted of it."""
        judged = self._faults.judged
        number = 0
        for index in range(len(self.places)):
            if index < judged and index in self._faults.places:
                yield _Task(index, None)
                continue
            if index >= judged:
                yield _Task(index, True)
            else:
                yield _Task(index, content if only is None or only[number] else None)
            number += 1

    def _answer(self, task: _Task) -> _Outcome[Value]:
        if not task.content:
            return _Outcome(task)
        self.watch.check(task.file)
        try:
            answer = _Outcome(task, *self._load(self.places[task.file]))
        except InputError as error:
            answer = _Outcome(task, fault=str(error))
        self.watch.check(task.file)
        return answer

    def _batch(self, first: int, names: list[str], group: list[_Outcome[Value]]) -> Batch:
        columns = {"path": pa.array([spelled(self.places[answer.task.file].name) for answer in group], pa.string())}
        if set(names) != {"path"}:
            columns |= self._columns([answer.value for answer in group if answer.value is not None])
        arrays = [columns[name] for name in names]
        return Batch(first, group[0].task.file, 0, pa.RecordBatch.from_arrays(arrays, names=names))
