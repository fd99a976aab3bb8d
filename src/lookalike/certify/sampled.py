"""What the audit's sample tells: the share of pairs that were missed, with its interval, and what it could not notice.

A sampled item stands for all items, and its pairs stand or fall together: an item that is found by none of its
near-duplicates misses all of them at once. So the sample is one of clusters of pairs, of t_i pairs and m_i missed ones
each, and the share of missed pairs is a ratio of sums:

    p = Σ m_i / Σ t_i        V = (1 - rate)·(n/(n-1)·Σ (m_i - p·t_i)² + ½·Σ_k (mean of t² in class k)) / (Σ t_i)²

The last term is half an item that misses all its pairs, for each class k of items by the power of two of their number
of pairs. Without it an item of many pairs that is missed altogether, and happens not to be in the sample, is not
thought of: with families of up to 500 near-copies 97.5% intervals held the truth in 63 to 89 of 100 runs, and with it
in 97 to 100. Of a sample that is all of the items nothing is uncertain: hence the factor 1 - rate.

The interval is that of Korn and Graubard (1998): Clopper and Pearson's for p·n out of n pairs, where n = p(1-p)/V is
the number of independent pairs that would tell as much, or Kish's (Σt)²/Σt² if that is more, which it is if all pairs
of an item are missed or none. Where a limit is 0 or 1, the whole of the tail is on the other side.

An item with more near-duplicates than the audit takes up stands for as many as were found of it in all, and for as
many missed beside them as beside the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookalike.certify.intervals import binomial_tails, clopper_pearson
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["SampledPairs"]


@dataclass(frozen=True, slots=True)
class SampledPairs:
    """The pairs of sampled items, `totals[i]` of item i, of which `missed[i]` were missed; items without pairs do
    not count. `rate` is the share of all items that were sampled."""

    totals: F64Array
    missed: F64Array
    rate: float

    @classmethod
    def of(cls, owners: I64Array, missed: BoolArray, rate: float, full: dict[int, float] | None = None) -> SampledPairs:
        """From pairs, each with the sampled item it belongs to; of `full` items so many are known, not all are here."""
        items, which = np.unique(owners, return_inverse=True)
        totals, lost = np.bincount(which).astype(np.float64), np.bincount(which, weights=missed)
        known = np.array([(full or {}).get(item, 0.0) for item in items.tolist()])
        # What is known of the rest are the found ones: as many were missed beside them as beside the first.
        rest = np.maximum(0.0, known - totals) / np.maximum(1.0 - lost / totals, 1.0 / totals)
        more = 1.0 + rest / totals
        return cls(totals * more, lost * more, rate)

    @property
    def share(self) -> float | None:
        """The share of the pairs that was missed."""
        return float(self.missed.sum() / self.totals.sum()) if len(self.totals) else None

    def limits(self, level: float) -> tuple[float, float]:
        """The least and the largest share that the sample does not contradict."""
        share = self.share
        if share is None:
            return 0.0, 1.0
        if self.rate >= 1.0:
            return share, share
        pairs = self._independent(share)
        low, high = clopper_pearson(share * pairs, pairs, level)
        if low == 0.0 or high == 1.0:
            one_sided = clopper_pearson(share * pairs, pairs, 2.0 * level - 1.0)
            low, high = (0.0, one_sided[1]) if low == 0.0 else (one_sided[0], 1.0)
        return min(low, share), max(high, share)

    def _independent(self, share: float) -> float:
        """The number of independent pairs that would tell as much."""
        t, n = self.totals, len(self.totals)
        squares = n / max(1, n - 1) * float(((self.missed - share * t) ** 2).sum())
        classes = np.frexp(t)[1]
        unseen = 0.5 * sum(float((t[classes == each] ** 2).mean()) for each in np.unique(classes))
        by_spread = share * (1.0 - share) / (squares + unseen)
        return float(t.sum()) ** 2 * max(by_spread, 1.0 / float((t**2).sum())) / (1.0 - self.rate)

    def hidden(self, usual: float, level: float, power: float = 0.9) -> float:
        """The share of all pairs that could have been lost, beside the `usual` one, without a sure sign of it.

        A larger loss would have brought the lower limit above the usual share in at least `power` of all samples.
        """
        if not len(self.totals):
            return 1.0
        pairs = float(self.totals.sum()) ** 2 / float((self.totals**2).sum())
        # The fewest missed pairs that contradict the usual share, then the share that shows so many often enough. Their
        # lower limit is above the usual share where that share shows so many less often than the tail of the level:
        # one tail instead of a limit, which takes thousands of them where the number goes to 0.
        tail = 0.5 * (1.0 - level)
        few, many = 0.0, pairs
        for _ in range(40):
            middle = 0.5 * (few + many)
            if binomial_tails(middle, pairs, usual)[1] < tail:
                many = middle
            else:
                few = middle
        many = math.ceil(many)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            if binomial_tails(many, pairs, middle)[1] >= power:
                high = middle
            else:
                low = middle
        return high
