"""Checks of single steps, each against something slow and plain that shares no code with it.

What the audit could not notice in its sample, because near-duplicates are few, these notice in the items themselves:

    represent, sketch   items drawn at random are made into sets and band keys again, by the slow twins (`twin/`). Every
                        one must come out the same, so a fault in one of fifty shows in 230 items in 99 of 100 runs.
    group, compare      pairs drawn at random, by their buckets, are compared again in plain NumPy. Each that matches
                        must be among the matches: a verifier that skips one in thirty candidates shows in 250 of them.

Row i is drawn with the chance n/(i+1), or surely if that is more than 1, by a hash of its number, and of a row with
several items one of them: about n·(1 + ln(rows/n)), without knowing how many will come. So what is checked does not
depend on batches or threads. Of buckets those are drawn whose key ends in so many zeros that some 65,000 items are in
all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa

from lookalike.certify.sample_index import ranks_of
from lookalike.shingle import Shingle
from lookalike.twin import hashing
from lookalike.types import BoolArray, I64Array, Sets, U32Array, U64Array

__all__ = ["BucketPairs", "ItemCheck", "drawn"]

# Items whose keys are made again, and those that are made into sets again: about 240 and 15 of 20,000.
KEYS_DRAWN, SETS_DRAWN = 32, 1.2
# A longer text would take too long in plain Python: 0.3 µs a byte and more.
_LONGEST = 20_000
# Entries of all bands that are looked at, and pairs of them that are compared.
_ENTRIES = 1 << 16
_PAIRS = 600


def drawn(rows: I64Array, number: float, seed: int) -> I64Array:
    """Which of the items that are from these rows, ascending, are drawn, as places from 0: one of a drawn row."""
    each, first, count = np.unique(rows, return_index=True, return_counts=True)
    ranks = ranks_of(each, seed)
    chosen = ranks < 2.0**64 * np.minimum(number / (each + 1.0), 1.0)
    nth = (ranks_of(each, seed ^ 1) % count.astype(np.uint64)).astype(np.int64)
    places: I64Array = (first + nth)[chosen]
    return places


@dataclass(frozen=True, slots=True)
class ItemCheck:
    """Makes items of a batch into sets and keys again: `rows` of a band of `bands`, hashed with `seed`.

    Texts become sets of `shingle`; without it sets are taken as they are.
    """

    bands: int
    rows: int
    seed: int
    shingle: Shingle | None

    def differing(self, rows: I64Array, values: pa.Array, sets: Sets, keys: U64Array) -> tuple[int, int]:
        """How many items, each from its row, were made again, and how many of them came out differently."""
        again = drawn(rows, KEYS_DRAWN, self.seed % 2**64)
        wrong = {int(place) for place in again if not self._same_key(int(rows[place]), sets, keys, int(place))}
        fully = drawn(rows, SETS_DRAWN, self.seed % 2**64)
        wrong |= {int(place) for place in fully if not self._same_set(values, sets, int(place))}
        return len(np.union1d(again, fully)), len(wrong)

    def _same_key(self, row: int, sets: Sets, keys: U64Array, place: int) -> bool:
        """Whether the key of one band, another one for each row, is that of the set."""
        elements = sets.values[sets.offsets[place] : sets.offsets[place + 1]]
        if not len(elements):
            return True
        band = row % self.bands
        maps = _maps(self.bands * self.rows, self.seed)[band * self.rows : (band + 1) * self.rows]
        low = np.uint64(2**32 - 1)
        slots = ((maps[:, :1] * (elements >> np.uint64(32)) + maps[:, 1:]) & low).min(axis=1)
        return hashing.band_key(band, slots.tolist()) == int(keys[band, place])

    def _same_set(self, values: pa.Array, sets: Sets, place: int) -> bool:
        value = values[place].as_py()
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
        return expected == set(sets.values[sets.offsets[place] : sets.offsets[place + 1]].tolist())


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

    def lost(
        self, matches: Callable[[I64Array, I64Array], BoolArray], contains: Callable[[I64Array, I64Array], BoolArray]
    ) -> tuple[int, int]:
        """How many of the pairs match, and how many of those are not contained in the results."""
        if not self._drawn:
            return 0, 0
        pairs = np.unique(np.concatenate(self._drawn), axis=0)
        left, right = np.ascontiguousarray(pairs.T)
        ranks = ranks_of(left, self.seed % 2**64) ^ ranks_of(right, 1)
        pairs = pairs[np.sort(np.argsort(ranks, kind="stable")[:_PAIRS])]
        hit = matches(pairs[:, 0], pairs[:, 1])
        left, right = pairs[hit].T
        return len(left), int((~contains(left, right)).sum())
