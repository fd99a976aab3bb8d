"""The items of a source as they are searched: all of them in memory, with their ids, and what had to be left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.config import Config
from lookalike.errors import InputError
from lookalike.io.source import describe
from lookalike.items.from_rows import ItemBatch, ItemPiece, Items
from lookalike.items.ids import IdCollector, Ids
from lookalike.measures import Judge, Measure
from lookalike.measures.base import Represented
from lookalike.measures.shingled_texts import Texts
from lookalike.threads.ordered import ordered_flat_map, ordered_map
from lookalike.types import BoolArray, Dense, F32Array, I64Array, Sets, U64Array
from lookalike.verify.element_lists import ElementRows
from lookalike.wording.progress import Progress

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Frequencies

__all__ = ["SearchedItems", "count_shingles", "left_out_examples", "read_items"]

# So many of the items that are left out are told with what is wrong with them.
_SHOWN = 5
_NO_WEIGHTS = np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class SearchedItems:
    """Items that can be compared, by number; their ids, how many cannot be, and how many have nothing to compare.

    They are vectors or strings of bits, a row of `values` each, or sets and bags, as `elements`. The rows that a
    verifier compares (`VerifierRows`) are made when they are asked for.
    """

    judge: Judge
    ids: Ids
    # The row of each in its source, and the columns that it was made of.
    rows: I64Array
    columns: tuple[str, ...]
    bad: int
    empty: int
    examples: list[str]
    values: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    elements: ElementRows | None = None

    def __len__(self) -> int:
        return len(self.values) if self.elements is None else len(self.elements)

    def taken(self, numbers: I64Array) -> SearchedItems:
        """Some of these items."""
        elements = None if self.elements is None else self.elements.taken(numbers)
        ids = Ids(len(numbers), pa.chunked_array([self.ids.of(numbers)]))
        values = self.values if self.elements is not None else np.ascontiguousarray(self.values[numbers])
        return replace(self, ids=ids, rows=self.rows[numbers], values=values, elements=elements)

    # What a verifier asks for.

    @property
    def in_memory(self) -> bool:
        return False

    @property
    def nbytes(self) -> int:
        return self.bytes_of(np.arange(len(self)))

    def bytes_of(self, rows: I64Array) -> int:
        sizes = np.full(len(rows), self.values.shape[1]) if self.elements is None else self.elements.sizes[rows]
        return 8 * int(self.judge.lengths(sizes.astype(np.uint32)).sum())

    def gather(self, rows: I64Array) -> tuple[I64Array, U64Array]:
        prints = np.empty((len(rows), 2), np.uint64)
        if self.elements is None:
            return self.judge.rows(Dense(self.values[rows], prints, np.ones(len(rows), np.bool_)))
        some = self.elements.taken(rows)
        weights = some.weights if len(self.elements.weights) else None
        return self.judge.rows(Sets(some.offsets, some.words, prints, weights=weights))

    def whole(self) -> tuple[I64Array, U64Array]:
        return self.gather(np.arange(len(self)))


def count_shingles(items: Items, threads: int, progress: Progress) -> Frequencies | None:
    """In how many items each shingle stands, where weights go by that."""
    if not items.recipe.needs_frequencies:
        return None
    from lookalike.represent.document_counts import Frequencies

    texts, found = Texts(items.recipe), Frequencies()

    def count(piece: ItemPiece) -> None:
        for batch in piece.load():
            found.add(texts.counted(batch.values))

    with progress.stage("counting shingles", items.source.size(), "B") as stage:
        for _ in ordered_map(count, items.pieces(on_read=stage.advance), threads):
            pass
    return found


def read_items(
    items: Items, measure: Measure, judge: Judge, what: str, config: Config, progress: Progress
) -> SearchedItems:
    """All items of a source and their ids; one that cannot be compared is left out, or an error."""
    gathered, collector, bad = _Gathered(), IdCollector(items), 0
    present: list[BoolArray] = []
    examples: list[str] = []

    def work(piece: ItemPiece) -> Iterator[tuple[ItemBatch, Represented]]:
        for batch in piece.load():
            found = measure.represent(batch.values)
            if isinstance(found, Sets):
                # Each in order, so that an element can be looked up in it.
                found = _ordered(found)
            yield batch, found

    with progress.stage(f"reading the {what}", items.source.size(), "B") as stage:
        pieces = items.pieces(*([items.id] if items.id else []), on_read=stage.advance)
        for batch, found in ordered_flat_map(work, pieces, config.threads):
            there, wrong = found.sizes > 0, dict(found.bad)
            if isinstance(found, Dense):
                wrong = {row: wrong.get(row, "is null") for row in np.flatnonzero(~there).tolist()}
            for row in sorted(wrong)[: _SHOWN - len(examples)]:
                examples.append(f"{describe(items.source, int(batch.rows[row]))}: the item {wrong[row]}")
                if not config.skip_bad:
                    raise InputError(f"{examples[0]}; skip_bad=True (--skip-bad) skips and counts such items")
            bad += len(wrong)
            gathered.add(found, there)
            present.append(there)
            collector.add(batch)
    ids, good = collector.finish(), np.flatnonzero(np.concatenate([np.empty(0, np.bool_), *present]))
    if not len(good):
        raise InputError(f"there are no {what}" + (f" that can be compared: {examples[0]}" if examples else ""))
    empty = ids.rows - len(good) - bad
    if len(good) < ids.rows:
        ids = Ids(len(good), pa.chunked_array([ids.of(good)]))
    return SearchedItems(judge, ids, good, items.columns, bad, empty, examples, *gathered.finish())


def _ordered(sets: Sets) -> Sets:
    """The same sets or bags, the elements of each ascending."""
    from lookalike.verify.jaccard import sort_sets
    from lookalike.verify.weighted import bag_rows

    if sets.weights is None:
        return Sets(sets.offsets, sort_sets(sets.offsets, sets.values), sets.fingerprints, bad=sets.bad)
    # A row of a bag has its elements, and behind them half as many words with their weights.
    begins, words = bag_rows(sets.offsets, sets.values, sets.weights)
    sizes = sets.sizes
    nth = np.arange(sets.offsets[-1]) - np.repeat(sets.offsets[:-1], sizes)
    weights = words.view(np.float32)[np.repeat(2 * (begins[:-1] + sizes), sizes) + nth]
    return Sets(
        sets.offsets, words[np.repeat(begins[:-1], sizes) + nth], sets.fingerprints, weights=weights, bad=sets.bad
    )


class _Gathered:
    """The items of all batches, put together at the end."""

    def __init__(self) -> None:
        self._values: list[NDArray[Any]] = []
        self._words: list[U64Array] = []
        self._sizes: list[I64Array] = []
        self._weights: list[F32Array] = []

    def add(self, found: Represented, there: BoolArray) -> None:
        if isinstance(found, Dense):
            self._values.append(found.values if there.all() else found.values[there])
            return
        begin, end = found.offsets[0], found.offsets[-1]
        self._words.append(found.values[begin:end])
        self._sizes.append(found.sizes[there])
        if found.weights is not None:
            self._weights.append(found.weights[begin:end])

    def finish(self) -> tuple[NDArray[Any], ElementRows | None]:
        if self._values:
            return np.ascontiguousarray(np.concatenate(self._values)), None
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._sizes))]).astype(np.int64)
        words = np.concatenate(self._words)
        return np.empty((0, 0), np.float32), ElementRows(
            offsets, words, np.concatenate(self._weights) if self._weights else _NO_WEIGHTS
        )


def left_out_examples(read: list[SearchedItems], *others: list[str]) -> tuple[str, ...]:
    """The first few of what was left out."""
    return tuple([*chain(*(each.examples for each in read)), *chain(*others)][:_SHOWN])
