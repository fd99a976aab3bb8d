"""The first stage: rows of the input become sketches, packed by where each key goes.

    rows ── make_items ── represent ── sketch ──┬─▶ entries  (key, item, half of its fingerprint) to the task of the key
                                                ├─▶ prints   (fingerprint, item) to the task of the fingerprint
                                                ├─▶ rows     what items are compared by, to their chunk
                                                ├─▶ ids      the user's ids, where there are such
                                                ├─▶ sampled  of those that the audit may draw, the same again
                └─▶ counts   what was seen

Half of the fingerprint goes wherever a key of the item goes, so that identical items are one where they meet: they
share every bucket, and the least of them there is the leader of all. So folding needs no join before buckets are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.certify.audit import LONGEST
from lookalike.config import Config
from lookalike.engines.packed.audit_sample import Draw
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number
from lookalike.engines.packed.carrier import Shared
from lookalike.engines.packed.frequency_stage import shared_frequencies
from lookalike.engines.packed.keep_keys import KeepKeys
from lookalike.engines.packed.numbering import NUMBER, POSITION_BITS, chunk_of_item, part_of_key
from lookalike.engines.packed.tallies import Tallies
from lookalike.errors import InputError, ItemError
from lookalike.items.make_items import make_items
from lookalike.measure_table import AuditKind
from lookalike.measures import measure_of
from lookalike.measures.base import Represented
from lookalike.measures.sketch_batch import ItemSketches, represent_batch, set_apart, sketch_items
from lookalike.recipe import Recipe
from lookalike.types import Dense, I64Array, U64Array
from lookalike.verify.verifier import HeldRows

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["KINDS", "SketchStage"]

KINDS = ("entries", "prints", "rows", "ids", "sampled", "counts")
# Words of stored rows in one blob: 256 kB. Java copies a blob several times, and has no good place for large ones.
_ROW_WORDS = 1 << 15


@dataclass(frozen=True)
class SketchStage:
    """What a task does with its part of the input: the item columns, a number, and the id where there is one.

    Stored rows are made where items are `compared`, and not only told apart. `keep` tells which of two is kept first,
    where that is not the one that comes first. `frequencies` are there where the recipe needs them. `draw` tells which
    items the audit may have in its sample, where that is known.
    """

    recipe: Recipe
    config: Config
    columns: tuple[str, ...]
    parts: int
    id: str | None = None
    group_by: str | None = None
    compared: bool = True
    keep: KeepKeys | None = None
    frequencies: Shared | None = None
    draw: Draw | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out, tallies = BatchWriter(KINDS), Tallies()
        frequencies = None if self.frequencies is None else shared_frequencies(self.frequencies)
        last = None
        for batch in batches:
            if self.id is not None:
                last = self._check_ids(batch, last)
            for piece in _in_chunks(batch):
                self._sketch(piece, frequencies, out, tallies)
                yield from out.full()
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _sketch(
        self, rows: pa.RecordBatch, frequencies: Frequencies | None, out: BatchWriter, tallies: Tallies
    ) -> None:
        """The items of rows of one chunk."""
        numbers = rows.column(rows.schema.get_field_index(NUMBER)).to_numpy()
        made = make_items(rows, self.recipe, self.columns, self.group_by)
        try:
            items = represent_batch(made.values, made.groups, self.recipe, frequencies)
        except ItemError as error:
            raise InputError(f"{self._named(rows, error.position)}: {error}") from None
        if items.bad and not self.config.skip_bad:
            place, why = items.bad[0]
            raise InputError(
                f"{self._named(rows, place)}: the item {why}; skip_bad=True (--skip-bad) counts such items and leaves "
                "them uncompared"
            )
        sketched = sketch_items(set_apart(items, numbers, self.recipe), self.recipe)
        chunk = int(chunk_of_item(numbers[:1])[0])
        self._add_entries(numbers, sketched, out)
        order = None if self.keep is None else self.keep.keys(rows, made.values, numbers)
        self._add_prints(numbers, sketched, order, out)
        if self.compared:
            judge = measure_of(self.recipe).judge(replace(self.config, verify="exact"))
            assert judge is not None
            # Elements of sets tell groups apart; what else a row is compared by does not.
            groups = sketched.items.groups if isinstance(sketched.items, Dense) else None
            offsets, words = judge.rows(sketched.items)
            self._add_rows(chunk, numbers, offsets, words, groups, out)
            if self.draw is not None:
                self._add_sampled(numbers, HeldRows(offsets, words), groups, self.draw, out)
        if self.id is not None:
            ids = rows.select([self.id]).rename_columns(["id"])
            out.add("ids", chunk, {"base": numbers[:1], "table": _as_bytes(ids)})
        self._count(numbers, made.null, items, sketched, tallies)

    def _count(
        self, numbers: I64Array, null: int, items: Represented, sketched: ItemSketches, tallies: Tallies
    ) -> None:
        """Of references nothing is told but how many there are, and what the audit must know of all items."""
        tallies.add(f"part {int(numbers[0]) >> POSITION_BITS}", len(numbers))
        own, indexed = numbers[0] >= 0, self.recipe.traits.audit is AuditKind.INDEX
        unaudited = int((sketched.sizes > LONGEST).sum()) if indexed else 0
        tallies.add("unaudited_items", unaudited)
        for size, many in zip(*np.unique(sketched.sizes[sketched.sizes > 0], return_counts=True), strict=True):
            tallies.add(f"size {size}" if own else f"reference size {size}", int(many))
        empty = int((sketched.sizes == 0).sum())
        if not own:
            tallies.add("references", len(numbers))
            tallies.add("empty_references", empty)
            tallies.add("unaudited_references", unaudited)
            return
        tallies.add("rows", len(numbers))
        tallies.add("items", len(numbers))
        tallies.add("null", null)
        tallies.add("empty", empty)
        tallies.add("short", items.short)
        tallies.add("invalid_utf8", items.invalid)
        tallies.add("bad_items", len(items.bad))
        for name, count in items.noted.items():
            tallies.add(name, count)

    def _add_entries(self, numbers: I64Array, sketched: ItemSketches, out: BatchWriter) -> None:
        """The keys of items that have any, one blob for each task: band after band, and how many each band has.

        An entry has the place of its item among those of the blob, beside whose numbers stand their fingerprints: a
        task is told each of these once, and not for every band.
        """
        full = np.flatnonzero(sketched.sizes > 0)
        bands = len(sketched.keys)
        if not bands or not len(full):
            return
        keys = np.ascontiguousarray(sketched.keys[:, full]).reshape(-1)
        task = part_of_key(keys, self.parts).astype(np.uint16)
        order = np.argsort(task, kind="stable")
        counts = np.bincount(
            task.astype(np.int64) * bands + np.repeat(np.arange(bands), len(full)), minlength=self.parts * bands
        )
        counts = counts.reshape(self.parts, bands)
        ends = np.cumsum(counts.sum(axis=1))
        which, place = full[order % len(full)], np.full(len(numbers), -1, np.int64)
        keys, prints = keys[order], sketched.fingerprints[0]
        for each in np.flatnonzero(counts.any(axis=1)).tolist():
            mine = slice(int(ends[each] - counts[each].sum()), int(ends[each]))
            place[which[mine]] = 0
            told = np.flatnonzero(place == 0)
            place[told] = np.arange(len(told))
            arrays: Arrays1D = {
                "base": numbers[:1],
                "counts": counts[each].astype(np.uint32),
                "keys": keys[mine],
                "items": place[which[mine]].astype(np.uint16),
                "told": told.astype(np.uint16),
                "prints": prints[told],
            }
            place[told] = -1
            out.add("entries", each, arrays)

    def _add_prints(self, numbers: I64Array, sketched: ItemSketches, order: I64Array | None, out: BatchWriter) -> None:
        """Fingerprints, one blob for each task; beside them what the keep policy goes by."""
        first, second = sketched.fingerprints
        full = (sketched.sizes > 0).astype(np.uint8)
        for each, mine in by_number(part_of_key(first, self.parts).astype(np.uint16)):
            arrays: Arrays1D = {"base": numbers[:1], "items": mine.astype(np.uint32), "full": full[mine]}
            arrays |= {"first": first[mine], "second": second[mine]}
            out.add("prints", each, arrays if order is None else arrays | {"order": order[mine]})

    def _add_rows(
        self, chunk: int, numbers: I64Array, offsets: I64Array, words: U64Array, groups: U64Array | None,
        out: BatchWriter,
    ) -> None:  # fmt: skip
        """What items are compared by, in blobs of a bounded size; with their groups, where rows do not tell them."""
        first = 0
        while first < len(numbers):
            end = int(np.searchsorted(offsets, offsets[first] + _ROW_WORDS, side="right")) - 1
            end = min(len(numbers), max(first + 1, end))
            sizes = np.diff(offsets[first : end + 1]).astype(np.uint32)
            mine = words[offsets[first] : offsets[end]]
            arrays: Arrays1D = {"base": numbers[first : first + 1], "sizes": sizes, "words": mine}
            out.add("rows", chunk, arrays if groups is None else arrays | {"groups": groups[first:end]})
            first = end

    def _add_sampled(
        self, numbers: I64Array, rows: HeldRows, groups: U64Array | None, draw: Draw, out: BatchWriter
    ) -> None:
        """What the audit may draw its sample from."""
        mine = np.flatnonzero(draw.drawn(numbers))
        if len(mine):
            offsets, words = rows.gather(mine)
            sizes = np.diff(offsets).astype(np.uint32)
            none = np.zeros(len(mine), np.uint8)
            arrays: Arrays1D = {"items": numbers[mine], "sizes": sizes, "words": words, "giant": none}
            out.add("sampled", 0, arrays if groups is None else arrays | {"groups": groups[mine]})

    def _named(self, rows: pa.RecordBatch, place: int) -> str:
        """A row for a message."""
        if self.id is None:
            return f"row {place} of the rows that begin with {rows.column(rows.schema.get_field_index(NUMBER))[0]}"
        return f"the row with id {rows.column(rows.schema.get_field_index(self.id))[place].as_py()!r}"

    def _check_ids(self, batch: pa.RecordBatch, last: object) -> object:
        """Refuse null and repeated ids, which come in order; the last one of the batch, for the next."""
        column = batch.column(batch.schema.get_field_index(self.id))
        if column.null_count:
            raise InputError(f"the id column {self.id!r} is null in {column.null_count:,} rows or more")
        if not len(column):
            return last
        values = column.to_pylist()
        for before, value in zip([last, *values], values, strict=False):
            if before == value:
                raise InputError(f"id {value!r} in column {self.id!r} is repeated")
        return values[-1]


def _in_chunks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, cut where a chunk begins, and where numbers do not follow one another."""
    if not batch.num_rows:
        return
    numbers = batch.column(batch.schema.get_field_index(NUMBER)).to_numpy()
    cut = (np.diff(chunk_of_item(numbers)) != 0) | (np.diff(numbers) != 1)
    borders = [0, *(np.flatnonzero(cut) + 1).tolist(), batch.num_rows]
    for begin, end in pairwise(borders):
        yield batch.slice(begin, end - begin)


def _as_bytes(rows: pa.RecordBatch) -> I64Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return np.frombuffer(sink.getvalue(), np.uint8)
