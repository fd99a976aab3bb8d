"""From buckets to matches with `verify="none"`: candidates are taken as they are, and nothing is read again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lookalike.collide.buckets import Buckets
from lookalike.engines.local.noting import Noting
from lookalike.engines.local.parts import Grouped, Part
from lookalike.types import BoolArray, F64Array, I64Array, U32Array

__all__ = ["Unverified"]

# Pairs that are noted at a time.
_CHUNK = 1 << 15


@dataclass(slots=True)
class Unverified:
    """Does what `Comparing` does, without comparing.

    Of a bucket with more than `most` items only the pairs with the one that comes first in keep order are noted, unless
    all pairs are wanted. Pairs that do not count are no candidates.
    """

    noting: Noting
    most: int
    unexamined: int = 0
    spilled: int = 0
    _groups: Grouped = field(init=False)

    def read(self, groups: Grouped, sizes: U32Array) -> None:
        """Nothing is read."""
        self._groups = groups

    def compare(self, rank: I64Array | None) -> None:
        """Note all candidates. `rank` is the place of each item in keep order; None is their own order."""
        for part in self._groups.parts(np.zeros(len(self._groups.meets), np.int64), 1):
            self._accept(part, rank)

    def _accept(self, part: Part, rank: I64Array | None) -> None:
        bands, most = part.buckets(), self.most if self.noting.limit is None else len(part.items)
        large = [np.diff(each.starts) > most for each in bands]
        small = [each.chosen(~flags) for each, flags in zip(bands, large, strict=True)]
        for left, right in Buckets(len(part.items), small).candidates(chunk=_CHUNK):
            self._note(part.items[left], part.items[right])
        for each, flags in zip(bands, large, strict=True):
            for bucket in np.flatnonzero(flags):
                items = part.items[each.members[each.starts[bucket] : each.starts[bucket + 1]]]
                first = items[0] if rank is None else items[np.argmin(rank[items])]
                self.noting.counts.led_items += len(items)
                rest = items[items != first]
                self._note(np.full(len(rest), first), rest)

    def _note(self, left: I64Array, right: I64Array) -> None:
        counted = self.noting.folds.count(left, right)
        left, right = left[counted], right[counted]
        self.noting.counts.candidates += len(left)
        self.noting.note(left, right, np.full(len(left), np.nan), tallied=False)

    def lead_again(self, kept: BoolArray) -> int:
        """There is nothing to look for."""
        return 0

    def similarity(self, left: I64Array, right: I64Array) -> F64Array:
        """It is not known."""
        return np.full(len(left), np.nan)

    def match_again(self, left: I64Array, right: I64Array) -> BoolArray:
        """Nothing is compared."""
        return np.zeros(len(left), np.bool_)

    def close(self) -> None:
        """Nothing is held."""
