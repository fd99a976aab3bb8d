"""Matches among the items of giant buckets that a task has: the code of the local engine on the rows that were sent.

One task has all of them, if it can hold them; else there are many, each with a block or two (`block_stage.py`).

All of them, where pairs are listed; else as many as leaders need (`engines/leading.py`) or, for components, as connect
what is connected (`engines/connecting.py`). Leaders may have to look again once it is known who is kept: the task then
does what it did before, which comes out the same, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.collide.buckets import Buckets, Task
from lookalike.collide.giant_bands import GiantBands
from lookalike.collide.group import Groups, group
from lookalike.config import Config
from lookalike.engines.counts import Counts
from lookalike.engines.giant_matches import GiantMatches
from lookalike.engines.giants import Join
from lookalike.engines.joined_pairs import JoinedEvidence, JoinedPairs
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, by_number, of_one_task
from lookalike.engines.packed.block_stage import GIANT_KINDS, block_of, both_blocks
from lookalike.engines.packed.lookup_stage import sizes_of
from lookalike.engines.packed.numbering import Numbering, part_of_item
from lookalike.engines.packed.order_stage import SIZES, in_keep_order, orders_of
from lookalike.engines.packed.ship_stage import read_rows
from lookalike.engines.packed.tallies import Tallies
from lookalike.measure_table import Slots
from lookalike.measures import compares_elements, measure_of
from lookalike.recipe import Recipe
from lookalike.theory import Plan
from lookalike.types import BoolArray, F64Array, I64Array, U8Array
from lookalike.verify.verifier import HeldRows, Verifier

__all__ = ["AUDIT", "GIANT", "KINDS", "GiantStage", "add_sure"]

# What found a match that no band did.
GIANT, AUDIT = 1, 2
KINDS = ("matches", "joined", "counts")


@dataclass(frozen=True)
class GiantStage:
    """What the task of the giants does.

    Attributes:
        parts: how many tasks the stages have.
        all_pairs: whether every pair is asked for.
        numbering: the places of items among all, by which a sample of the pairs is drawn.
        plan: the plan of the run.
        blocks: in how many blocks giants are, where no task has all of them. All pairs are then looked for by the task
            of each pair of blocks; leaders know too little to tell from their matches what was missed.
        kept: which of them were kept, one array for each time that leaders looked again.
    """

    recipe: Recipe
    config: Config
    parts: int
    all_pairs: bool
    numbering: Numbering
    plan: Plan
    blocks: int = 1
    kept: tuple[BoolArray, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, found = of_one_task(batches, GIANT_KINDS)
        out, tallies = BatchWriter(KINDS), Tallies()
        if found["giant_rows"]:
            items, rows, _ = read_rows(found["giant_rows"])
            notes = self._notes(items, found["marks"], sizes_of(items, found["sized"]))
            judge = measure_of(self.recipe).judge(self.config)
            assert judge is not None
            sizes = np.diff(rows.offsets) if self.recipe.traits.directed else None
            if self.all_pairs and compares_elements(judge):
                apart = None if self.blocks == 1 else self._apart(items, task or 0)
                yield from self._join(items, rows, sizes, apart, notes, out, tallies)
            else:
                bands = self._bands(items, found["listed"])
                rank = _rank(items, found["ordered"], sizes)
                yield from self._cluster(items, rows, bands, rank, sizes, notes, out, tallies)
            if notes.evidence is not None:
                out.add("joined", 0, notes.evidence.as_arrays())
        out.add("counts", 0, tallies.packed())
        yield from out.rest()

    def _apart(self, items: I64Array, pair: int) -> U8Array | None:
        """A bit for each block of a pair of them: two items of one block are looked for elsewhere."""
        one, other = both_blocks(pair)
        if one == other:
            return None
        bits: U8Array = np.where(block_of(items, self.numbering, self.blocks) == one, 1, 2).astype(np.uint8)
        return bits

    def _notes(self, items: I64Array, marks: list[Arrays1D], copies: tuple[I64Array, I64Array]) -> _GiantNotes:
        """What becomes of a match; `copies` are those of each item, itself included, and the references of them."""
        recipe, joined = self.recipe, None
        places = self.numbering.places(items)
        tells = self.blocks == 1 or self.all_pairs
        if tells and recipe.bands and recipe.traits.slots in (Slots.MINHASH, Slots.FIELD_MINHASH):
            bands = GiantBands(len(items), recipe.bands)
            for blob in marks:
                for band, mine in by_number(blob["bands"]):
                    bands.mark(band, np.searchsorted(items, blob["items"][mine]))
            joined = JoinedPairs(measure_of(recipe), _BandsByPlace(places, bands))
        limit = _AnyNumber() if self.all_pairs else None
        return _GiantNotes(len(items), places, copies, joined, limit=limit)

    def _bands(self, items: I64Array, listed: list[Arrays1D]) -> list[Groups]:
        """The buckets that the items share, band by band, where they are no sets that could be joined."""
        if not listed:
            return []
        keys, numbers, bands = (np.concatenate([blob[name] for blob in listed]) for name in ("keys", "items", "bands"))
        order = np.lexsort((numbers, bands))
        keys, bands = keys[order], bands[order]
        local = np.searchsorted(items, numbers[order]).astype(np.uint32)
        found = []
        for band in range(self.recipe.bands):
            mine = bands == band
            found.append(group(keys[mine], local[mine], np.zeros(len(items), np.bool_), most=len(items)))
        return found

    def _join(
        self, items: I64Array, rows: HeldRows, sizes: I64Array | None, apart: U8Array | None, notes: _GiantNotes,
        out: BatchWriter, tallies: Tallies,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        """All matches, but for those of items set `apart`; `sizes` are there where a pair has a direction."""
        judge, store = measure_of(self.recipe).judge(self.config), _stored(rows)
        assert judge is not None and compares_elements(judge), "only sets are joined"
        room = self.config.budget.join(len(items), rows_in_file=False)
        join = Join.of(store, np.arange(len(items)), judge, room, self.config.limits)
        for done in Verifier(judge, store).verified(join.pairs(apart)):
            tallies.add("candidates", done.compared)
            notes.offer(done.left, done.right, done.similarity)
            both = None if sizes is None else (sizes[done.left], sizes[done.right])
            add_sure(items[done.left], items[done.right], done.similarity, GIANT, self.parts, out, both)
            tallies.add("matches", len(done.left))
            yield from out.full()
        notes.note_giants(_GiantItems(np.arange(len(items)), store, Verifier(judge, store), 0))

    def _cluster(
        self, items: I64Array, rows: HeldRows, bands: list[Groups], rank: I64Array | None, sizes: I64Array | None,
        notes: _GiantNotes, out: BatchWriter, tallies: Tallies,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        """As many matches as clusters need; `rank` is the place of each item in keep order, if that is another."""
        judge, store, config = measure_of(self.recipe).judge(self.config), _stored(rows), self.config
        assert judge is not None
        held = _GiantItems(np.arange(len(items)), store, Verifier(judge, store), int(np.searchsorted(items, 0)))
        giants = GiantMatches(judge, notes, config.budget, config.limits, rank, config.cluster == "components")
        large = np.full(len(items), bool(bands))
        led = giants.find(held, bands, large, judge.likeness(*store.whole()) if bands else None)
        again = 0
        for kept in self.kept:
            again = giants.lead_again(led, kept)
        tallies.add("again", again)
        tallies.add("candidates", notes.counts.candidates)
        tallies.add("led_items", notes.counts.led_items)
        unexamined = sum(int(each.leading.unexamined.sum()) for each in led)
        tallies.add("unexamined_items", notes.counts.unexamined_items + unexamined)
        for left, right, similarity in notes.unique():
            both = None if sizes is None else (sizes[left], sizes[right])
            add_sure(items[left], items[right], similarity, GIANT, self.parts, out, both)
            tallies.add("matches", len(left))
            yield from out.full()


def _rank(items: I64Array, ordered: list[Arrays1D], sizes: I64Array | None) -> I64Array | None:
    """The place of each item in keep order, where that is not their own."""
    if not ordered and sizes is None:
        return None
    keys, best = orders_of(items, ordered) if ordered else (None, items)
    rank = np.empty(len(items), np.int64)
    rank[in_keep_order(best, keys, sizes)] = np.arange(len(items))
    return rank


@dataclass(frozen=True)
class _GiantItems:
    """The items of giant buckets, by their places among them."""

    items: I64Array
    store: StoredRows
    verifier: Verifier
    references: int

    @property
    def giant(self) -> BoolArray:
        return np.ones(len(self.items), np.bool_)

    def matches(self, tasks: Iterator[Task], counts: Counts) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
        def asked(left: I64Array, right: I64Array) -> BoolArray:
            own: BoolArray = np.maximum(left, right) >= self.references
            return own

        for done in self.verifier.verified(tasks, asked if self.references else None):
            counts.candidates += done.compared
            if len(done.left):
                yield done.left, done.right, done.similarity


@dataclass(frozen=True)
class _BandsByPlace:
    """The giant bands of items that are named by their places among all."""

    places: I64Array
    bands: GiantBands

    def of(self, items: I64Array) -> BoolArray:
        return self.bands.of(np.searchsorted(self.places, items))

    def number(self, items: I64Array) -> I64Array:
        return self.bands.number(np.searchsorted(self.places, items))


class _AnyNumber:
    """Lets any number of pairs pass: they are counted when all are there."""

    def estimate(self, lists: Buckets, rows: I64Array, held: Any) -> None:
        """Nothing is refused here."""


@dataclass
class _GiantNotes:
    """Keeps matches until all are there, and draws a sample of those that a join found (`engines/joined_pairs.py`)."""

    items: int
    places: I64Array
    copies: tuple[I64Array, I64Array]
    joined: JoinedPairs | None = None
    counts: Counts = field(default_factory=Counts)
    limit: _AnyNumber | None = None
    evidence: JoinedEvidence | None = None
    _found: list[tuple[I64Array, I64Array, F64Array]] = field(default_factory=list)

    def note(
        self, left: I64Array, right: I64Array, similarity: F64Array, *, tallied: bool = True,
        of: BoolArray | None = None,
    ) -> int:  # fmt: skip
        self._found.append((np.minimum(left, right), np.maximum(left, right), similarity))
        if tallied:
            self.offer(left, right, similarity)
        return len(left) if of is None else int(of.sum())

    def offer(self, left: I64Array, right: I64Array, similarity: F64Array) -> None:
        """Let matches join the sample."""
        if self.joined is not None and len(left):
            copies, references = self.copies
            weights = (copies[left] * copies[right] - references[left] * references[right]).astype(np.float64)
            self.joined.offer(self.places[left], self.places[right], similarity, weights)

    def note_giants(self, joined: Any = None) -> None:
        """Look up what the sample tells, where all pairs were joined."""
        if joined is not None and self.joined is not None:
            self.evidence = self.joined.evidence(replace(joined, items=self.places))

    def unique(self) -> Iterator[tuple[I64Array, I64Array, F64Array]]:
        """Each match once."""
        if self._found:
            left, right, similarity = (np.concatenate(each) for each in zip(*self._found, strict=True))
            _, first = np.unique(left * self.items + right, return_index=True)
            yield left[first], right[first], similarity[first]


def _stored(rows: HeldRows) -> StoredRows:
    store = StoredRows(np.diff(rows.offsets))
    store.put(0, len(rows), rows.words)
    return store


def add_sure(
    a: I64Array, b: I64Array, similarity: F64Array, origin: int, parts: int, out: BatchWriter,
    sizes: tuple[I64Array, I64Array] | None = None,
) -> None:  # fmt: skip
    """Matches that no band found, but a join of giants, or the audit; to the task of the smaller item.

    The sizes of both items are told where a pair has a direction.
    """
    left, right = np.minimum(a, b), np.maximum(a, b)
    for each, mine in by_number(part_of_item(left, parts)):
        arrays: Arrays1D = {"left": left[mine], "right": right[mine], "similarity": similarity[mine]}
        if sizes is not None:
            turned = (a != left)[mine]
            one, other = (each_size[mine] for each_size in sizes)
            told = np.where(turned, other, one), np.where(turned, one, other)
            arrays |= dict(zip(SIZES, told, strict=True))
        none = {"hits": np.zeros(len(mine), np.uint16), "bands": np.empty(0, np.uint16)}
        out.add("matches", each, arrays | none | {"origin": np.array([origin], np.uint8)})
