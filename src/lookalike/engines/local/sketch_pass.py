"""The first pass over the items: represent ─ sketch ─ band.

Batches are worked on by several threads and come back in order. What stays of an item is in `Sketches`; its id and the
value that the keep policy looks at stand beside it. The audit sees the sets as they pass by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.certify.audit import Audited, auditable
from lookalike.certify.step_checks import DrawnItem, ItemCheck
from lookalike.cluster.keep import KeepPolicy, KeepValues
from lookalike.collide.group import PROBE
from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.local.item_checks import ItemChecks
from lookalike.engines.local.known_items import KnownAudit, KnownItems, audited_after
from lookalike.engines.local.room import Ceiling, Room, items_at_once, weight
from lookalike.engines.local.run_audit import Auditing
from lookalike.engines.local.store.array_file import Arrays, pack_columns, unpack_columns
from lookalike.engines.local.store.sketches import SketchBatch, Sketches
from lookalike.engines.local.store.work_folder import Work
from lookalike.errors import InputError, OptionError
from lookalike.io.column_types import as_text, honest, is_text
from lookalike.io.json_text import python_values
from lookalike.io.source import Source, describe, locating
from lookalike.items.collection import Collection, rows_from
from lookalike.items.from_rows import ItemBatch, ItemPiece, Items
from lookalike.items.ids import IdCollector, Ids
from lookalike.items.make_items import item_lengths
from lookalike.measure_table import Slots, form_named
from lookalike.measures.sketch_batch import represent_batch, set_apart, sketch_items
from lookalike.recipe import Recipe
from lookalike.threads.ordered import ordered_flat_map
from lookalike.types import Dense, I64Array, Sets, U32Array
from lookalike.wording.printable import spelled
from lookalike.wording.progress import Progress

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["Sketched", "sketch"]

# Messages about bad items that are kept, to be shown.
_SHOWN = 10


@dataclass(frozen=True)
class Sketched:
    """What the first pass leaves. The ids are those of each part of the collection."""

    sketches: Sketches
    references: int
    ids: tuple[Ids, ...]
    keep_values: pa.ChunkedArray | list[object] | None
    audit: Audited | None
    labels: tuple[list[str], I64Array] | None = None
    # The first few messages about items that cannot be compared.
    bad: tuple[str, ...] = ()
    # Of items that were compared with known ones: what an audit says of that, and the sizes of those that were met.
    known_audit: KnownAudit | None = None
    met_sizes: I64Array | None = None

    def with_known(self, known: KnownItems, met: I64Array) -> Sketched:
        """The same with the known items at some places as references, numbered before the run's own."""
        ids = Ids(len(met), pa.chunked_array([known.ids(met)]))
        return replace(
            self, references=len(met), ids=(ids, self.ids[-1]), audit=audited_after(self.audit, len(met)),
            met_sizes=known.sizes(met),
        )  # fmt: skip

    def __len__(self) -> int:
        """How many items there are, references included."""
        return len(self.sketches) + (0 if self.met_sizes is None else len(self.met_sizes))

    def sizes(self) -> I64Array:
        """How many elements, components or words each item has."""
        sizes = self.sketches.column("sizes").astype(np.int64)
        return sizes if self.met_sizes is None else np.concatenate([self.met_sizes, sizes])

    def rows(self) -> I64Array:
        """The row of each item, in its part of the collection."""
        rows: I64Array = self.sketches.column("rows")
        if len(rows) < len(self):
            own = len(self) - self.references
            rows = np.concatenate([np.arange(self.references), np.arange(own)])
        return rows

    def rows_of(self, items: I64Array) -> I64Array:
        """The rows of some items."""
        rows = self.sketches.column("rows")
        if len(rows) < len(self):
            return np.where(items < self.references, items, items - self.references)
        found: I64Array = rows[items]
        return found

    def sources(self, source: Source) -> tuple[list[str], I64Array]:
        """(names, the name of each of the run's own items as a number): the files, or the values of a column."""
        if self.labels is not None:
            return self.labels
        rows = self.rows()[self.references :]
        starts = np.array(source.first_rows(), np.int64)
        return [spelled(name) for name in source.files], np.searchsorted(starts, rows, side="right") - 1

    def item_rank(self) -> I64Array:
        """The rank of each of the run's own items by id, then by its place in the document."""
        if self.ids[-1].values is None:
            return np.arange(len(self) - self.references)
        rows = self.rows()[self.references :]
        rank = self.ids[-1].rank[rows]
        out = np.empty(len(rows), np.int64)
        out[np.argsort(rank, kind="stable")] = np.arange(len(rows))
        return out

    @cached_property
    def first_in_row(self) -> U32Array:
        """The first item of the row that each item is from."""
        rows = self.rows()
        first = np.arange(len(rows), dtype=np.uint32)
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = rows[1:] != rows[:-1]
        # The rows of another collection are others, whatever their numbers.
        begins[self.references : self.references + 1] = True
        first[~begins] = 0
        np.maximum.accumulate(first, out=first)
        return first


@dataclass(frozen=True, slots=True)
class _Worked:
    """What a thread made of a batch. All that takes time is done there: what takes it in is one thread for all."""

    batch: ItemBatch
    sketch: SketchBatch
    items: Sets | Dense
    # Items without elements, and those that are too large for the audit.
    empty: int
    unaudited: int
    # To be made again by the slow twins.
    drawn: list[DrawnItem]
    audited: I64Array | None = None


def sketch(
    collection: Collection,
    recipe: Recipe,
    frequencies: Frequencies | None,
    audit: Auditing | None,
    config: Config,
    keep: KeepPolicy,
    counts: Counts,
    work: Work,
    progress: Progress,
    known: KnownItems | None = None,
    *,
    across: bool = False,
) -> Sketched:
    """Read every item once; with `known` items, look each up there.

    With `across` the audit is about pairs of an own item and one of the other collection.
    """
    check = _item_check(recipe, config)
    checks = ItemChecks(check, config.threads)
    passing = _Passing(collection, keep, counts, audit, checks, config.report_by, skip_bad=config.skip_bad)
    sketches = Sketches(work, config.budget.sketches, passing.state)
    passing.sketches = sketches
    # Which rows are bad is known only to who reads them all: such a pass begins again.
    skips = any(getattr(part.source, "skips_bad", False) for part in collection.parts)
    chunks = _taken_up(sketches, work, whole=skips)
    for chunk in chunks:
        passing.restore(chunk, last=chunk is chunks[-1])

    room, ceiling = Room(config.memory, config.threads), Ceiling(config.memory)
    each = _bytes_each(recipe)
    most = items_at_once(config.memory, config.threads, each)

    def worked(columns: list[str], piece: ItemPiece) -> Iterator[_Worked]:
        return (sketched(batch, columns) for batch in piece.load())

    def sketched(batch: ItemBatch, columns: list[str]) -> _Worked:
        with room.enter(batch, collection.items.source):
            items = represent_batch(batch.values, batch.groups, recipe, frequencies)
        made = sketch_items(set_apart(items, batch.rows, recipe, passing.part), recipe)
        lengths = item_lengths(batch.values) if keep.kind in ("longest", "shortest") else None
        rows = batch.rows if config.unit != "document" else None
        drawn: list[DrawnItem] = []
        if check is not None and isinstance(made.items, Sets):
            drawn = check.draw(batch.rows, batch.values, made.items, made.keys)
        kept = SketchBatch(made.fingerprints, made.keys, made.sizes, lengths, rows)
        audited = None
        if known is not None:
            probed = known.probe(made, batch.rows)
            kept, audited = replace(kept, places=probed.places, scores=probed.scores), probed.audited
        empty = len(made) - int(np.count_nonzero(made.sizes))
        passing_by, unaudited = made.items, 0
        if audit is not None and isinstance(passing_by, Sets) and passing_by.weights is None:
            passing_by, unaudited = auditable(passing_by)
        return _Worked(_without_values(batch, columns), kept, passing_by, empty, unaudited, drawn, audited)

    if (finished := work.finished("sketch")) is None:
        try:
            with progress.stage("reading and sketching", collection.size(), "B") as stage:
                for part in collection.parts[passing.part :]:
                    columns = passing.columns(part)
                    for done in ordered_flat_map(
                        partial(worked, columns),
                        passing.pieces(part, columns, stage.advance, most),
                        config.threads,
                        weight=partial(weight, each=each),
                        most=config.budget.in_flight,
                    ):
                        passing.add(part, done)
                        ceiling.check()
                    passing.end(part)
            sketches.finish()
            passing.settle()
        except BaseException:
            if audit is not None:
                audit.close()
            raise
        finally:
            checks.close()
            sketches.close()
        if counts.rows == 0:
            files = collection.items.source.files
            raise InputError("there are no items" + (f" in {', '.join(files[:3])}" if files else ""))
        work.finish("sketch", passing.summary() | {"chunks": sketches.chunks})
    else:
        passing.recall(finished)
    if config.unit != "document":
        collection.rows = sketches.column("rows")
    audited = None if passing.audit is None else passing.audit.finish()
    if audited is not None and across:
        there = sketches.column("sizes")[: collection.references]
        audited = audited.across(collection.references, int(np.count_nonzero(there)))
    known_audit = None if known is None else KnownAudit(np.concatenate(passing.known_audits), counts.items)
    return Sketched(
        sketches, collection.references, passing.ids(), passing.values.finish(), audited, passing.labels(),
        tuple(passing.bad), known_audit,
    )  # fmt: skip


def _bytes_each(recipe: Recipe) -> int:
    """What it takes to sketch an item, however short it is: its slots, and its keys, which are turned by bands."""
    return recipe.bands * (4 * recipe.rows + 16)


def _item_check(recipe: Recipe, config: Config) -> ItemCheck | None:
    """What makes some items again: of Jaccard, where an item is nothing but its own text or set."""
    tokens = recipe.shingle is not None and recipe.shingle.tokens is not None
    changed = recipe.html or recipe.max_share is not None or tokens or recipe.grouped
    plain = recipe.traits.slots is Slots.MINHASH and form_named(recipe.form).literal
    if not plain or changed or not config.audit or not recipe.bands:
        return None
    return ItemCheck(recipe.bands, recipe.rows, recipe.seed, recipe.shingle)


def _taken_up(sketches: Sketches, work: Work, *, whole: bool) -> list[Arrays]:
    """The chunks of an earlier process; where a pass must be whole, all of them or none."""
    finished = work.finished("sketch")
    if finished is not None or not whole:
        chunks = sketches.resume(None if finished is None else finished["chunks"])
        if not whole or work.finished("sketch") is not None:
            return chunks
    sketches.start_again()
    return []


def _python_rows(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows for a function of the user; text that is not UTF-8 is bytes."""
    columns = [python_values(column) for column in rows.columns]
    return [dict(zip(rows.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]


class _Labels:
    """The value of a column for each row, as a number: what the report tells removals by."""

    # Beyond this many values the rest goes under one name.
    MOST = 10_000
    OTHERS = "(others)"

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}
        self._codes: list[I64Array] = []
        self._told = 0

    def add(self, column: pa.Array, row_of_item: I64Array) -> None:
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        try:
            texts = as_text(honest(plain), pa.string())[0] if is_text(plain.type) else plain.cast(pa.string())
            encoded = texts.fill_null("(null)").dictionary_encode()
        except pa.ArrowNotImplementedError as error:
            raise OptionError(f"report_by: its column holds {plain.type}, which has no name to tell it by") from error
        numbers = np.array([self._code(name) for name in encoded.dictionary.to_pylist()], np.int64)
        self._codes.append(numbers[encoded.indices.to_numpy()][row_of_item])

    def _code(self, name: str) -> int:
        if name not in self._number:
            if len(self.names) >= self.MOST:
                name = self.OTHERS
            if name not in self._number:
                self._number[name] = len(self.names)
                self.names.append(name)
        return self._number[name]

    def fresh(self) -> I64Array:
        fresh, self._told = self._codes[self._told :], len(self._codes)
        return np.concatenate([np.empty(0, np.int64), *fresh])

    def restore(self, names: list[str], codes: I64Array) -> None:
        self.names, self._number = list(names), {name: i for i, name in enumerate(names)}
        self._codes.append(codes)
        self._told = len(self._codes)

    def finish(self) -> tuple[list[str], I64Array]:
        return self.names, np.concatenate([np.empty(0, np.int64), *self._codes])


class _Passing:
    """Everything that counts along while the items pass by, and that a restart must find as it was."""

    sketches: Sketches

    def __init__(
        self,
        collection: Collection,
        keep: KeepPolicy,
        counts: Counts,
        audit: Auditing | None,
        checks: ItemChecks,
        report_by: str | None,
        *,
        skip_bad: bool,
    ) -> None:
        self._skip_bad = skip_bad
        self._checks = checks
        self.bad: list[str] = []
        self._collection = collection
        self._report_by = report_by
        self._labels = _Labels()
        self._keep = keep
        self._counts = counts
        self.audit = audit
        self._collectors = [IdCollector(part) for part in collection.parts]
        self.values = KeepValues(keep, _python_rows)
        self.part = 0
        self._rows = 0
        self._items = 0
        self._first = 0
        self._read = [0] * len(self._collectors)
        self.known_audits: list[I64Array] = [np.empty((0, 3), np.int64)]

    def columns(self, part: Items) -> list[str]:
        """The columns of a part that are read along with its items."""
        more = [part.id] if part.id else []
        own = part is self._collection.items
        if own and self._keep.column is not None:
            more.append(self._keep.column)
        elif own and self._keep.key is not None:
            more.extend(part.source.schema().names)
        if own and self._report_by is not None:
            more.append(self._report_by)
        return list(dict.fromkeys(more))

    def pieces(self, part: Items, columns: list[str], on_read: Any, most: int) -> Iterator[ItemPiece]:
        """The pieces of a part that have not passed by yet, in batches of at most so many rows."""
        only = rows_from(part.source, self._rows)
        return part.pieces(*columns, on_read=on_read, only=only, start=self._rows, most=most)

    def add(self, part: Items, done: _Worked) -> None:
        """Take in what a thread made of the next batch."""
        counts, batch = self._counts, done.batch
        if done.audited is not None and len(done.audited):
            self.known_audits.append(done.audited)
        self._checks.add(done.drawn)
        own = part is self._collection.items
        rows = batch.batch.rows.num_rows
        if done.items.bad:
            self._note_bad(part, batch, done.items.bad)
        self._collectors[self.part].add(batch)
        if own:
            if self._keep.column is not None or self._keep.key is not None:
                with locating(batch.batch, part.source):
                    self.values.add(batch.batch.rows, batch.rows - batch.batch.first)
            if self._report_by is not None:
                column = batch.batch.rows.column(batch.batch.rows.schema.get_field_index(self._report_by))
                self._labels.add(column, batch.rows - batch.batch.first)
            counts.items += len(done.sketch)
            counts.rows += rows
            counts.null += batch.null
            counts.few_words += batch.few_words
            counts.empty += done.empty
            counts.short += done.items.short
            counts.invalid_utf8 += done.items.invalid
            for name, number in done.items.noted.items():
                setattr(counts, name, getattr(counts, name) + number)
        if self.audit is not None:
            counts.unaudited_items += done.unaudited
            self.audit.add(self._first + self._items, done.items)
        self._read[self.part] += rows
        self._rows = batch.batch.first + rows
        self._items += len(done.sketch)
        if self._first + self._items >= PROBE:
            raise InputError(f"there are more than {PROBE:,} items, the limit of one machine")
        self.sketches.add(done.sketch)

    def _note_bad(self, part: Items, batch: ItemBatch, bad: list[tuple[int, str]]) -> None:
        """Count items that cannot be compared, where that is allowed."""
        messages = [f"{describe(part.source, int(batch.rows[row]))}: the item {why}" for row, why in bad[:_SHOWN]]
        if not self._skip_bad:
            raise InputError(messages[0] + "; skip_bad=True (--skip-bad) skips and counts such items")
        self.bad += messages[: _SHOWN - len(self.bad)]
        if part is self._collection.items:
            self._counts.bad_items += len(bad)

    def end(self, part: Items) -> None:
        """A part is through."""
        if part is self._collection.items:
            self._counts.skipped_rows = part.source.skipped
        else:
            self._counts.references = self._collection.references = self._items
            if self.audit is not None:
                self.audit.probe_from(self._items)
        self._first += self._items
        self.part += 1
        self._rows = self._items = 0

    def settle(self) -> None:
        """Count what was made again."""
        checked, faulty = self._checks.settle()
        self._counts.checked_items += checked
        self._counts.faulty_items += faulty

    def labels(self) -> tuple[list[str], I64Array] | None:
        return None if self._report_by is None else self._labels.finish()

    def ids(self) -> tuple[Ids, ...]:
        return tuple(collector.finish() for collector in self._collectors)

    def state(self) -> tuple[Any, dict[str, NDArray[Any]]]:
        """What a chunk's header carries: where we are and what was counted."""
        self.settle()
        arrays: dict[str, NDArray[Any]] = {}
        if self.audit is not None:
            arrays = {f"audit.{name}": array for name, array in self.audit.state().items()}
        for number, collector in enumerate(self._collectors):
            arrays[f"ids.{number}"] = pack_columns(collector.fresh())
        arrays["keep"] = pack_columns(self.values.fresh())
        arrays["labels"] = self._labels.fresh()
        arrays["known_audits"] = np.concatenate(self.known_audits).reshape(-1)
        place = [self.part, self._rows, self._items, self._first, self._collection.references]
        data = {"place": place, "rows": self._read, "counts": asdict(self._counts), "labels": self._labels.names}
        return data | {"bad": self.bad}, arrays

    def summary(self) -> dict[str, Any]:
        """What a finished pass counted."""
        source = self._collection.items.source
        bad = [*source.bad, *self.bad]
        return {"counts": asdict(self._counts), "references": self._collection.references, "bad": bad}

    def recall(self, summary: dict[str, Any]) -> None:
        """Be as after the pass that left this summary."""
        self._collection.references = summary["references"]
        for name, count in summary["counts"].items():
            setattr(self._counts, name, count)

    def restore(self, chunk: Arrays, *, last: bool) -> None:
        """Be as when the chunk was closed; what it does not carry alone is taken from the last one."""
        self.part, self._rows, self._items, self._first, self._collection.references = chunk.data["place"]
        self._read = chunk.data["rows"]
        self.bad = list(chunk.data["bad"])
        for name, count in chunk.data["counts"].items():
            setattr(self._counts, name, count)
        for number, collector in enumerate(self._collectors):
            collector.restore(self._read[number], unpack_columns(chunk.read(f"ids.{number}")))
        self.values.restore(unpack_columns(chunk.read("keep")))
        self._labels.restore(chunk.data["labels"], chunk.read("labels"))
        if self.audit is not None and last:
            state = {name[6:]: chunk.read(name) for name in chunk.names if name.startswith("audit.")}
            self.audit.restore(state)
        if last:
            self.known_audits = [chunk.read("known_audits").reshape(-1, 3)]


def _without_values(batch: ItemBatch, columns: list[str]) -> ItemBatch:
    """The batch with these columns alone: what it was made of is not held until its turn comes."""
    return replace(batch, values=pa.nulls(0), batch=replace(batch.batch, rows=batch.batch.rows.select(columns)))
