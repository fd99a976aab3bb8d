"""How many pairs there are, while they are found and before: more than may be listed are refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.budget import Limits
from lookalike.collide.buckets import Buckets
from lookalike.collide.fold import Folds
from lookalike.engines.local.held_parts import HeldPart
from lookalike.types import I64Array
from lookalike.wording.progress import Progress

__all__ = ["PairLimit"]

# Pairs of large lists that are compared to estimate how many match: 1% of error where one in four does.
_DRAWN = 20_000


@dataclass(slots=True)
class PairLimit:
    """Counts the pairs of items that the matches so far stand for, copies included."""

    limits: Limits
    folds: Folds
    progress: Progress
    pairs: int = 0

    def add(self, pairs: int) -> None:
        """So many more were found."""
        self.pairs += pairs
        self.limits.check_pairs(self.pairs + self.folds.within, "at least ")

    def estimate(self, lists: Buckets, rows: I64Array, held: HeldPart) -> None:
        """Tell how many pairs large lists of rows will give, from a sample; refuse what would be too many.

        A drawn pair stands for all pairs of the lists, over the lists it is in: for so many it would be drawn.
        """
        total = lists.pairs()
        if total <= max(_DRAWN, self.limits.pairs // 100):
            return
        left, right, count = lists.draw(_DRAWN)
        left, right = rows[left], rows[right]
        hit = (held.verifier.scores(left, right) >= held.verifier.judge.threshold) & (count > 0)
        weights = self.folds.weights(held.items[left], held.items[right]) * hit / np.maximum(1, count)
        about = total * float(weights.mean()) + self.pairs + self.folds.within
        self.progress.note(f"about {about:,.0f} pairs are expected")
        self.limits.check_pairs(about, "about ")
