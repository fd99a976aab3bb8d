"""The first pass of a search for spans: which windows may be there twice, told by one hash for many of them.

It leaves a flag for each entry of `collide/windows.py`, whether its hash is there a second time. It is what takes
longest, so a run that is killed later goes on after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.collide.windows import find_windows
from lookalike.engines.counts import Counts
from lookalike.engines.local.room import weight
from lookalike.engines.local.spans.repeated_keys import repeated_keys
from lookalike.engines.local.spans.span_context import SpanContext
from lookalike.engines.local.spans.token_numbers import TokenNumbers
from lookalike.engines.local.store.array_file import Arrays, DamagedError, pack_columns, unpack_columns, write_arrays
from lookalike.engines.local.store.key_ranges import KeyRanges
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.errors import InputError
from lookalike.items.from_rows import ItemBatch, ItemPiece, Items
from lookalike.items.ids import IdCollector, Ids
from lookalike.items.make_items import item_lengths
from lookalike.threads.ordered import ordered_flat_map
from lookalike.types import BoolArray, I64Array, U64Array

__all__ = ["SpanEntries", "find_entries", "finished_attempt"]

_STAGE, _FILE = "span entries", "span-entries.bin"


@dataclass(frozen=True, slots=True)
class SpanEntries:
    """What the pass leaves: where everything is, the entries that are there twice, and the ids of each part.

    `bytes` is how much text the run's own documents have; `spilled`, how much did not fit the memory.
    """

    numbers: TokenNumbers
    repeated: BoolArray
    ids: tuple[Ids, ...]
    counts: Counts
    bytes: int
    spilled: int

    @property
    def documents(self) -> BoolArray:
        """The documents with a repeated entry; no others have a window that is there twice."""
        before = np.zeros(len(self.repeated) + 1, np.int64)
        np.cumsum(self.repeated, out=before[1:])
        return np.diff(before[self.numbers.entries]) > 0

    def save(self, work: Work, attempt: int) -> None:
        """Leave it in the work folder."""
        arrays: dict[str, NDArray[Any]] = {
            "tokens": self.numbers.tokens,
            "entries": self.numbers.entries,
            "repeated": np.packbits(self.repeated),
        }
        for number, each in enumerate(self.ids):
            arrays[f"ids.{number}"] = pack_columns([] if each.values is None else each.values.chunks)
        data = {
            "references": self.numbers.references,
            "rows": [each.rows for each in self.ids],
            "counts": asdict(self.counts),
            "bytes": self.bytes,
            "spilled": self.spilled,
        }
        with spilling(str(work.folder)):
            write_arrays(work.files([_FILE])[0], arrays, data, run=work.token)
        work.finish(_STAGE, {"documents": len(self.numbers), "attempt": attempt})

    @classmethod
    def load(cls, work: Work, attempt: int) -> SpanEntries | None:
        """Take it up again, if an earlier process finished it in the same attempt and it is whole."""
        if work.finished(_STAGE) is None or finished_attempt(work) != attempt:
            return None
        try:
            file = Arrays.verified(work.folder / _FILE, work.token)
        except DamagedError as error:
            work.redo(_STAGE, str(error))
            return None
        numbers = TokenNumbers(file.read("tokens"), file.read("entries"), file.data["references"])
        repeated = np.unpackbits(file.read("repeated"), count=int(numbers.entries[-1])).view(np.bool_)
        chunks = [unpack_columns(file.read(f"ids.{number}")) for number in range(len(file.data["rows"]))]
        ids = tuple(
            Ids(rows, pa.chunked_array(each) if each else None)
            for rows, each in zip(file.data["rows"], chunks, strict=True)
        )
        return cls(numbers, repeated, ids, Counts(**file.data["counts"]), file.data["bytes"], file.data["spilled"])


def finished_attempt(work: Work) -> int:
    """The attempt whose first pass an earlier process finished; 0 if there is none."""
    return int((work.finished(_STAGE) or {"attempt": 0})["attempt"])


@dataclass(frozen=True, slots=True)
class _Entered:
    """What a thread made of a batch: tokens and entries of each document, and the hashes of the entries."""

    batch: ItemBatch
    tokens: I64Array
    counts: I64Array
    entries: U64Array
    invalid: int
    bytes: int


def find_entries(run: SpanContext) -> SpanEntries:
    """Read every document once."""
    known = SpanEntries.load(run.work, run.attempt)
    if known is not None:
        for name, count in asdict(known.counts).items():
            setattr(run.counts, name, count)
        run.collection.references = known.numbers.references
        return known
    ranges = KeyRanges(run.work, run.config.budget.span_keys)
    passing = _EntryPass(run, ranges)
    for name in asdict(run.counts):
        setattr(run.counts, name, 0)
    with run.progress.stage("reading words", run.collection.size(), "B") as stage:
        for part in run.collection.parts:
            columns = [part.id] if part.id else []
            pieces = part.pieces(*columns, on_read=stage.advance)
            worked = partial(_worked, run, part, columns)
            most = run.config.budget.in_flight
            for done in ordered_flat_map(worked, pieces, run.config.threads, weight=weight, most=most):
                passing.add(done)
                run.ceiling.check()
            passing.end(part)
    if run.counts.rows == 0:
        files = run.collection.items.source.files
        raise InputError("there are no items" + (f" in {', '.join(files[:3])}" if files else ""))
    numbers = passing.numbers()
    repeated = np.zeros(int(numbers.entries[-1]), np.bool_)
    for some, firsts in repeated_keys(ranges, run.config.threads):
        repeated[some] = True
        repeated[firsts] = True
    found = SpanEntries(numbers, repeated, passing.ids, run.counts, passing.bytes, ranges.spilled)
    if run.work.resumable:
        found.save(run.work, run.attempt)
    return found


def _worked(run: SpanContext, part: Items, columns: list[str], piece: ItemPiece) -> Iterator[_Entered]:
    for batch in piece.load():
        with run.room.enter(batch, part.source):
            tokens = run.tokens(batch.values)
            windows = find_windows(tokens.values, tokens.offsets, run.words, run.key)
        size = int(item_lengths(batch.values).sum())
        rows = batch.batch.rows.select(columns)
        # What it was made of is not held until its turn comes.
        light = replace(batch, values=pa.nulls(0), batch=replace(batch.batch, rows=rows))
        yield _Entered(light, tokens.sizes, np.diff(windows.entry_ends), windows.entries, tokens.invalid, size)


class _EntryPass:
    """What counts along while the documents pass by."""

    def __init__(self, run: SpanContext, ranges: KeyRanges) -> None:
        self._run = run
        self._ranges = ranges
        self._tokens: list[I64Array] = [np.empty(0, np.int64)]
        self._counts: list[I64Array] = [np.empty(0, np.int64)]
        self._entries = 0
        self._collectors = [IdCollector(part) for part in run.collection.parts]
        self.ids: tuple[Ids, ...] = ()
        self.bytes = 0

    def add(self, done: _Entered) -> None:
        """Take in what a thread made of the next batch."""
        self._collectors[len(self.ids)].add(done.batch)
        self._tokens.append(done.tokens)
        self._counts.append(done.counts)
        numbers = np.arange(self._entries, self._entries + len(done.entries), dtype=np.uint64)
        self._ranges.add(done.entries, numbers)
        self._entries += len(done.entries)
        if len(self.ids) == len(self._collectors) - 1:
            counts = self._run.counts
            counts.rows += len(done.tokens)
            counts.items += len(done.tokens)
            counts.null += done.batch.null
            counts.empty += int(np.count_nonzero(done.tokens == 0))
            counts.short += int(np.count_nonzero((done.tokens > 0) & (done.tokens < self._run.words)))
            counts.invalid_utf8 += done.invalid
            self.bytes += done.bytes

    def end(self, part: Items) -> None:
        """A part is through."""
        self.ids = (*self.ids, self._collectors[len(self.ids)].finish())
        if part is self._run.collection.items:
            self._run.counts.skipped_rows = part.source.skipped
        else:
            self._run.counts.references = self._run.collection.references = self.ids[-1].rows

    def numbers(self) -> TokenNumbers:
        """The numbering of all that passed by."""
        references = self._run.collection.references
        return TokenNumbers.of(np.concatenate(self._tokens), np.concatenate(self._counts), references)
