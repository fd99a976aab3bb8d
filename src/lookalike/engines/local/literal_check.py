"""The last check of `verify="text"`: items are compared by what they are made of, before one of them goes for another.

Everything else goes by hashes of 64 bits, and who knows their seed can make items that collide. Two checks make it not
matter:

    identical items   each one that was folded by its fingerprint is read again, and leaves its leader if it differs
    matches           of each match both items are compared by their tokens or elements; what is below the threshold
                      is no match, and what is above it has its real similarity

The items that share a bucket are read again anyway; what they are is kept in a file without a name.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lookalike.collide.fold import Folds
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.items.collection import Collection
from lookalike.measure_table import form_named
from lookalike.measures.shingled_texts import Texts
from lookalike.recipe import Recipe
from lookalike.represent.literal import Element, digest, element_literals, packed, shingle_literals
from lookalike.scale import Scale
from lookalike.types import BoolArray, F64Array, I64Array
from lookalike.wording.progress import Progress

__all__ = ["Literals", "split_folds"]

# Items whose elements are held as Python objects; matches come in the order of their first item.
_HELD = 2048


class _Maker:
    """Makes of items what they are compared by."""

    def __init__(self, recipe: Recipe) -> None:
        self._texts: Texts | None = None
        self._of: Callable[[bytes], frozenset[Element]] = element_literals
        if form_named(recipe.form).is_text:
            shingle, self._texts = recipe.shingle, Texts(recipe)
            self._of = lambda item: frozenset([item]) if shingle is None else shingle_literals(item, shingle)

    def packed(self, values: pa.Array) -> list[bytes]:
        """Each item as bytes: those of its main text, or the elements of its set."""
        return packed(values if self._texts is None else self._texts.plain(values)[0])

    def literals(self, item: bytes) -> frozenset[Element]:
        """The tokens or elements of a packed item."""
        return self._of(item)

    def digest(self, item: bytes) -> bytes:
        """256 bits of them."""
        return digest(self._of(item), item)


def split_folds(collection: Collection, folds: Folds, progress: Progress) -> tuple[Folds, int]:
    """Folds of items that are identical indeed, and how many items only seemed to be."""
    together = folds.sizes[folds.leader] > 1
    if not together.any():
        return folds, 0
    maker = _Maker(collection.items.recipe)
    place = np.cumsum(together) - 1
    prints = np.empty((int(together.sum()), 4), np.uint64)
    with progress.stage("reading identical items again", collection.size(), "B") as stage:
        for batch in collection.again(together, stage.advance):
            chosen = np.flatnonzero(together[batch.first : batch.first + len(batch.values)])
            made = b"".join(map(maker.digest, maker.packed(batch.values.take(pa.array(chosen)))))
            prints[place[batch.first + chosen]] = np.frombuffer(made, np.uint64).reshape(-1, 4)
    items = np.flatnonzero(together)
    before = folds.leader[items]
    order = np.lexsort((items, *prints.T, before))
    items, before, prints = items[order], before[order], prints[order]
    begins = np.ones(len(items), np.bool_)
    begins[1:] = (before[1:] != before[:-1]) | (prints[1:] != prints[:-1]).any(axis=1)
    first = items[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    leader = folds.leader.copy()
    leader[items] = first
    return replace(folds, leader=leader), int((leader != folds.leader).sum())


class Literals:
    """What the items that share a bucket are made of, and whether two of them match by that."""

    def __init__(self, recipe: Recipe, scale: Scale, items: int, work: Work) -> None:
        self._maker = _Maker(recipe)
        self._threshold, self._directed = scale.limit, scale.is_directed
        self._begin, self._size = np.zeros(items, np.int64), np.zeros(items, np.int64)
        self._where = str(work.place)
        with spilling(self._where):
            self._file = tempfile.TemporaryFile(dir=work.place)  # noqa: SIM115 (closed by `close`)
        self.spilled = 0
        self._lock = threading.Lock()
        self._held: OrderedDict[int, frozenset[Element]] = OrderedDict()

    def close(self) -> None:
        """Forget them."""
        self._file.close()
        self._held.clear()

    def put(self, items: I64Array, values: pa.Array) -> None:
        """Keep these items."""
        made = self._maker.packed(values)
        sizes = np.array([len(each) for each in made], np.int64)
        data = b"".join(made)
        with self._lock, spilling(self._where, len(data)):
            self._file.write(data)
            self._file.flush()
            self._begin[items] = self.spilled + np.cumsum(sizes) - sizes
            self._size[items] = sizes
            self.spilled += len(data)

    def confirmed(self, left: I64Array, right: I64Array) -> tuple[BoolArray, F64Array]:
        """Which pairs match by what they are made of, and how alike they are."""
        scores = np.array([self._score(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)], np.float64)
        return scores >= self._threshold, scores

    def _score(self, a: int, b: int) -> float:
        one, other = self._of(a), self._of(b)
        both = len(one & other)
        of = min(len(one), len(other)) if self._directed else len(one) + len(other) - both
        return both / of if of else 0.0

    def _of(self, item: int) -> frozenset[Element]:
        found = self._held.pop(item, None)
        if found is None:
            raw = os.pread(self._file.fileno(), int(self._size[item]), int(self._begin[item]))
            found = self._maker.literals(raw)
            if len(self._held) >= _HELD:
                self._held.popitem(last=False)
        self._held[item] = found
        return found
