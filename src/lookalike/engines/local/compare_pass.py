"""The second pass: read again what shares a bucket with another item, and keep the rows that it is compared by.

Each part of the items (see `parts.py`) has a store of rows, filled in one pass over the input. Sizes are known from the
first pass, so every row has its place from the start, and whoever reads an item puts its row there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from lookalike.budget import Budget
from lookalike.collide.fold import Folds
from lookalike.engines.local.held_parts import HeldPart, HeldParts
from lookalike.engines.local.literal_check import Literals
from lookalike.engines.local.parts import Grouped, Part
from lookalike.engines.local.room import Ceiling, Room, items_at_once, weight
from lookalike.engines.local.specimens import Specimens
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.io.reading.watch import changed
from lookalike.io.source import describe
from lookalike.items.collection import Collection
from lookalike.items.from_rows import ItemBatch, ItemPiece
from lookalike.measures import Judge, Measure, Represented
from lookalike.measures.sketch_batch import set_apart
from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, I64Array, U16Array, U32Array, U64Array
from lookalike.verify.verifier import Verifier
from lookalike.wording.progress import Progress

__all__ = ["SecondPass"]

# Each part of several has a file that stays open; parts that are too large for the memory are read piece by piece.
_MOST_PARTS = 256


@dataclass(frozen=True, slots=True)
class _Places:
    """Which items are wanted, the part of each of those, and its row there."""

    wanted: BoolArray
    part: U16Array
    row: U32Array

    @classmethod
    def of(cls, parts: list[Part], items: int) -> _Places:
        places = cls(np.zeros(items, np.bool_), np.zeros(items, np.uint16), np.zeros(items, np.uint32))
        for number, part in enumerate(parts):
            places.wanted[part.items], places.part[part.items] = True, number
            places.row[part.items] = np.arange(len(part.items), dtype=np.uint32)
        return places


@dataclass(slots=True)
class SecondPass:
    """Reads items again. `literals` keep what they are made of, and specimens are caught, where these are wanted."""

    collection: Collection
    measure: Measure
    judge: Judge
    budget: Budget
    work: Work
    folds: Folds
    specimens: Specimens
    literals: Literals | None
    progress: Progress
    # Half of the fingerprint of each item that is read again, in their order, as the first pass saw it.
    fingerprints: U64Array

    def read(self, groups: Grouped, sizes: U32Array) -> HeldParts:
        """The items that share a bucket, part by part, with their rows."""
        lengths = self.judge.lengths(sizes)
        total = 8 * int(lengths[groups.wanted()].sum())
        most = self.budget.rows(len(sizes))
        parts = list(groups.parts(8 * lengths, max(most, total // _MOST_PARTS)))
        needed = 8 * sum(int(lengths[part.items].sum()) for part in parts)
        fits = len(parts) <= 1 and needed <= most
        files = [None] * len(parts) if fits else self.work.files([f"rows-{each:04}.bin" for each in range(len(parts))])
        with spilling("" if fits else str(self.work.folder), needed):
            held = HeldParts(spilled=0 if fits else needed)
            try:
                for part, file in zip(parts, files, strict=True):
                    held.parts.append(self._part(part, StoredRows(lengths[part.items], file), most))
                prints = self._prints(groups, parts)
                if parts or len(self.specimens.items):
                    self._read(_Places.of(parts, len(sizes)), prints, held.parts)
            except BaseException:
                held.close()
                raise
        return held

    def _part(self, part: Part, store: StoredRows, most: int) -> HeldPart:
        verifier = Verifier(self.judge, store, self.budget.gathered, most, self.budget.threads)
        return HeldPart(part, store, verifier, self.folds)

    def _prints(self, groups: Grouped, parts: list[Part]) -> list[U64Array]:
        """The fingerprints of each part."""
        prints, self.fingerprints = self.fingerprints, np.empty(0, np.uint64)
        if len(parts) == 1:
            return [prints]
        items = np.flatnonzero(groups.wanted())
        return [prints[np.searchsorted(items, part.items)] for part in parts]

    def _read(self, places: _Places, prints: list[U64Array], held: list[HeldPart]) -> None:
        judge, budget = self.judge, self.budget
        room, ceiling = Room(budget.memory, budget.threads), Ceiling(budget.memory)

        def work(piece: ItemPiece) -> None:
            for batch in piece.load():
                keep_wanted(batch)

        def keep_wanted(batch: ItemBatch) -> None:
            self.specimens.catch(batch.first, batch.values)
            chosen = np.flatnonzero(places.wanted[batch.first : batch.first + len(batch.values)])
            if len(chosen) == 0:
                return
            groups = None if batch.groups is None else batch.groups[chosen]
            values = batch.values if len(chosen) == len(batch.values) else batch.values.take(pa.array(chosen))
            items = chosen + batch.first
            if self.literals is not None:
                self.literals.put(items, values)
            with room.enter(batch, self.collection.items.source, chosen):
                represented = self.measure.represent(values, groups)
                self._check_unchanged(batch, chosen, represented, _before(items, places, prints))
                offsets, words = judge.rows(represented)
            for each in np.unique(places.part[items]):
                mine = places.part[items] == each
                first, end = int(places.row[items[mine][0]]), int(places.row[items[mine][-1]]) + 1
                held[each].store.put(first, end, words if mine.all() else words[np.repeat(mine, np.diff(offsets))])

        with self.progress.stage("reading what must be compared", self.collection.size(), "B") as stage:
            looked_at = places.wanted.copy()
            looked_at[self.specimens.items] = True
            # What the row of an item takes whatever its size: sketches are K words of the shortest text, too.
            each = 24 * int(judge.lengths(np.zeros(1, np.uint32))[0])
            most = items_at_once(budget.memory, budget.threads, each)
            pieces = self.collection.pieces_again(looked_at, stage.advance, most)
            weigh = partial(weight, each=each)
            for _ in ordered_map(work, pieces, budget.threads, weight=weigh, most=budget.in_flight):
                ceiling.check()

    def _check_unchanged(self, batch: ItemBatch, chosen: I64Array, items: Represented, before: U64Array) -> None:
        """What is read again must be what was decided on; what cannot be compared has another fingerprint there."""
        number = int(self.collection.against is not None and batch.first >= self.collection.references)
        again = set_apart(items, batch.rows[chosen], self.measure.recipe, number)
        differs = before != again.fingerprints[:, 0]
        differs[[row for row, _ in items.bad]] = False
        if differs.any():
            first = int(chosen[np.argmax(differs)])
            of_other = batch.first + first < self.collection.references
            part = self.collection.against if of_other and self.collection.against else self.collection.items
            raise changed(describe(part.source, int(batch.rows[first])))


def _before(items: I64Array, places: _Places, prints: list[U64Array]) -> U64Array:
    """What the first pass saw of some items."""
    before = np.empty(len(items), np.uint64)
    part, row = places.part[items], places.row[items]
    for each in np.unique(part):
        mine = part == each
        before[mine] = prints[each][row[mine]]
    return before
