"""Checks of single steps, each against something slow and plain that shares no code with it.

What the audit could not notice in its sample, because near-duplicates are few, these notice in the items themselves:

    represent, sketch   items drawn at random are made into sets and band keys again, by the slow twins (`twin/`). Every
                        one must come out the same, so a fault in one of fifty shows in 230 items in 99 of 100 runs.
    group, compare      pairs drawn at random, by their buckets, are compared again in plain NumPy. Each that matches
                        must be among the matches: a verifier that skips one in thirty candidates shows in 250 of them.

Of n items drawn, whatever their number (`ranks.py`), about n·(1 + ln(rows/n)) are checked, and which they are does not
depend on batches or threads. Of buckets those are drawn whose key ends in so many zeros that some 65,000 items are in
all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.certify.ranks import drawn, ranks_of
from lookalike.shingle import Shingle
from lookalike.twin import hashing
from lookalike.types import BoolArray, I64Array, Sets, U32Array, U64Array

__all__ = ["BucketPairs", "DrawnItem", "ItemCheck"]

# Items whose keys are made again, and those that are made into sets again: about 240 and 15 of 20,000.
KEYS_DRAWN, SETS_DRAWN = 32, 1.2
# A longer text would take too long in plain Python: 0.3 µs a byte and more.
_LONGEST = 20_000
# Entries of all bands that are looked at, and pairs of them that are compared.
_ENTRIES = 1 << 16
_PAIRS = 600


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """An item to be made again: its row, what was made of it, and its value if it is to be made into a set again."""

    row: int
    elements: U64Array
    key: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class ItemCheck:
    """Makes items into sets and keys again: `rows` of a band of `bands`, hashed with `seed`.

    Texts become sets of `shingle`; without it sets are taken as they are. Items are drawn where they are made, and made
    again wherever there is time for it: the twins are plain Python, and take some milliseconds for a text.
    """

    bands: int
    rows: int
    seed: int
    shingle: Shingle | None

    def draw(self, rows: I64Array, values: pa.Array, sets: Sets, keys: U64Array) -> list[DrawnItem]:
        """The items of a batch, each from its row, that are to be made again."""
        again = drawn(rows, KEYS_DRAWN, self.seed % 2**64)
        if not len(again):
            return []
        fully = set(drawn(rows, SETS_DRAWN, self.seed % 2**64).tolist())
        return [
            self._drawn(int(rows[at]), values[at] if at in fully else None, sets, keys, at) for at in again.tolist()
        ]

    def _drawn(self, row: int, value: pa.Scalar | None, sets: Sets, keys: U64Array, place: int) -> DrawnItem:
        elements = sets.values[sets.offsets[place] : sets.offsets[place + 1]].copy()
        return DrawnItem(row, elements, int(keys[row % self.bands, place]), None if value is None else value.as_py())

    def differs(self, item: DrawnItem) -> bool:
        """Whether an item comes out differently when it is made again."""
        return not (self._same_key(item) and self._same_set(item))

    def _same_key(self, item: DrawnItem) -> bool:
        """Whether the key of one band, another one for each row, is that of the set."""
        if not len(item.elements):
            return True
        band = item.row % self.bands
        maps = _maps(self.bands * self.rows, self.seed)[band * self.rows : (band + 1) * self.rows]
        low = np.uint64(2**32 - 1)
        slots = ((maps[:, :1] * (item.elements >> np.uint64(32)) + maps[:, 1:]) & low).min(axis=1)
        return hashing.band_key(band, slots.tolist()) == item.key

    def _same_set(self, item: DrawnItem) -> bool:
        value = item.value
        if value is None or len(value) > _LONGEST:
            return True
        key, shingle = hashing.key_of(self.seed), self.shingle
        if shingle is not None:
            from lookalike.twin import text  # its patterns take longer to compile than a small run samples anything

            raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
            if not text.is_known(raw.decode("utf-8", "replace")):
                return True
            expected = text.shingles(raw, shingle.kind, shingle.k, shingle.normalize, shingle.bag, key)
        else:
            expected = {hashing.hash_element(each, key) for each in value if each is not None}
        return expected == set(item.elements.tolist())


@lru_cache(maxsize=4)
def _maps(slots: int, seed: int) -> U64Array:
    """a and b of each slot, two columns."""
    return np.array(hashing.minhash_constants(slots, hashing.key_of(seed).sketch), np.uint64)


@dataclass(slots=True)
class BucketPairs:
    """Pairs of items that share a bucket, drawn from all bands; `entries` is the number of keys of all of them."""

    entries: int
    seed: int
    _drawn: list[I64Array] = field(default_factory=list)

    def pairs_of(self, keys: U64Array, items: U32Array) -> I64Array:
        """Neighbours in the drawn buckets of a band, two columns, the smaller item first."""
        zeros = max(0, int(np.ceil(np.log2(max(1, self.entries) / _ENTRIES))))
        chosen = np.flatnonzero((keys & np.uint64((1 << zeros) - 1)) == 0)
        order = chosen[np.argsort(keys[chosen], kind="stable")]
        same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
        return np.sort(items[np.column_stack([order[same], order[same + 1]])].astype(np.int64), axis=1)

    def add(self, pairs: I64Array) -> None:
        """Take up what `pairs_of` gave."""
        if len(pairs):
            self._drawn.append(pairs)

    def some(self, most: int) -> I64Array:
        """No more than so many of the pairs, two columns; the same whatever the order they came in."""
        if not self._drawn:
            return np.empty((0, 2), np.int64)
        pairs = np.unique(np.concatenate(self._drawn), axis=0)
        left, right = np.ascontiguousarray(pairs.T)
        ranks = ranks_of(left, self.seed % 2**64) ^ ranks_of(right, 1)
        return pairs[np.sort(np.argsort(ranks, kind="stable")[:most])]

    def lost(
        self, matches: Callable[[I64Array, I64Array], BoolArray], contains: Callable[[I64Array, I64Array], BoolArray]
    ) -> tuple[int, int]:
        """How many of the pairs match, and how many of those are not contained in the results."""
        pairs = self.some(_PAIRS)
        if not len(pairs):
            return 0, 0
        hit = matches(pairs[:, 0], pairs[:, 1])
        left, right = pairs[hit].T
        return len(left), int((~contains(left, right)).sum())
