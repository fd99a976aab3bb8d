"""How a measure tells how alike two items are: its direction, its limit, and the column of its result.

Inside a run every pair has a score, larger is more alike: the similarity itself, or minus the distance. Negation loses
nothing, so a limit that is met exactly stays met. Only where people see it does a score become a distance again.

    euclidean, max_distance 3:  distance 2.5 is the score -2.5, which is >= -3

A similarity may be asked for by a distance, too: what it leaves of 1, times `whole`. Its score stays the similarity,
its limit is that of the similarity, and only people see the distance.

    hamming, max_distance 3, of 64 bits:  whole is 64, the limit 61/64; 2 differing bits are the score 62/64, told as 2
    jaccard, max_distance 0.3:            whole is 1, the limit 0.7; 4/5 in common are the score 0.8, told as 0.2

Ties. Components and weights are float32: each is off by up to 2⁻²⁴ of itself from the number that was meant, and 0.1
is 0.1000000015. Where that decides whether a pair meets the limit, it does; here alone it is decided (`threshold`).

- A vector is moved by up to 2⁻²⁴ of its length, so the angle of two by up to 2⁻²³. Twice that is allowed, for scores
  are rounded as well: a cosine meets the limit t from cos(arccos t + 2⁻²²) on, and parallel vectors a limit of 1.
- A distance d is changed by up to 2⁻²⁴ of both lengths together. Lengths are not looked at: they count as 16 times the
  distance, and a distance meets its limit up to 1 + 2⁻²⁰ of it, a millionth more. Where points lie further out than
  that (1,000,000.1 and 1,000,000.2), float32 has not the digits for the limit: take the mean off first.
- A quotient of sums of weights is changed by up to 2⁻²³ of itself, and meets its limit from 1 - 2⁻²² of it on. So does
  a product of vectors, as far as its terms do not cancel one another.

Sets and bits are exact: 4 of 5 elements are 0.8. So are their distances: 1 - 0.7 is 0.30000000000000004 in float64, and
the limit of a similarity is what is left of 1 in decimals, less a rounding; distances are told to 15 decimals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from lookalike.measure_table import Complement, MeasureTraits, Rounding, measure_named
from lookalike.types import BoolArray, F64Array
from lookalike.wording.phrases import measure_words

__all__ = ["REACH", "Scale", "left_of_one"]

# What the rounding of float32 may change, see the head: of an angle, a distance, and a quotient of weights.
_ANGLE, _DISTANCE, _QUOTIENT = 2.0**-22, 2.0**-20, 2.0**-22
# A similarity without a largest is counted on a scale up to so many times its limit.
REACH = 10.0
# What the limit of a similarity is lowered by where a distance was asked for, and the decimals that distances have.
_LEFT, _DECIMALS = 2.0**-50, 15


def left_of_one(distance: float) -> float:
    """The similarity that a distance of this share leaves, with the rounding of both; none is below it by accident."""
    return max(0.0, float(1 - Decimal(repr(distance))) - _LEFT) if distance else 1.0


@dataclass(frozen=True, slots=True)
class Scale:
    """What two items must reach to be alike, in the words of the measure (`limit`) and as a score (`threshold`).

    With a `whole`, a similarity is told as a distance: as what it leaves of 1, so many times.
    """

    measure: str
    limit: float
    whole: float | None = None

    @property
    def traits(self) -> MeasureTraits:
        """What distinguishes the measure from others."""
        return measure_named(self.measure)

    @property
    def is_distance(self) -> bool:
        """Whether people see a distance."""
        return self.whole is not None or self.traits.is_distance

    @property
    def told_limit(self) -> float:
        """The limit as people see it."""
        # The limit is lower by more than a rounding, see `left_of_one`.
        return self.limit if self.whole is None else float(self._apart(np.array([self.limit]), _DECIMALS - 1)[0])

    def _apart(self, similarities: F64Array, decimals: int = _DECIMALS) -> F64Array:
        """What similarities leave, as distances."""
        assert self.whole is not None
        decimals = 0 if self.traits.complement is Complement.PARTS else decimals
        # Adding 0 makes -0 a 0.
        apart: F64Array = np.round(self.whole * (1.0 - similarities), decimals) + 0.0
        return apart

    @property
    def is_directed(self) -> bool:
        """Whether a pair has a direction: the smaller item is inside the larger one."""
        return self.traits.directed

    @property
    def column(self) -> str:
        """The name of the result column."""
        return "distance" if self.is_distance else "similarity"

    @property
    def threshold(self) -> float:
        """The score from which on two items are alike: the limit, within the rounding of what is compared."""
        rounding = self.traits.rounding
        if rounding is Rounding.DISTANCE:
            return -self.limit * (1.0 + _DISTANCE)
        if rounding is Rounding.ANGLE:
            # Never so low that vectors without anything in common would do, which a limit of that angle would be.
            return max(math.cos(math.acos(self.limit) + _ANGLE), 0.5 * self.limit)
        if rounding is Rounding.QUOTIENT:
            return self.limit * (1.0 - _QUOTIENT)
        return self.limit

    def meets(self, measured: F64Array) -> BoolArray:
        """Which similarities or distances of the measure meet the limit."""
        return self.measured(measured) >= self.threshold

    def measured(self, scores: F64Array) -> F64Array:
        """What the measure says of scores; and the scores of that."""
        # Adding 0 makes -0 a 0.
        return -scores + 0.0 if self.traits.is_distance else scores

    @property
    def identical(self) -> float:
        """The score of an item with itself; NaN where that is another for each."""
        if self.traits.boundless:
            return math.nan
        return 0.0 if self.traits.is_distance else 1.0

    def told(self, scores: F64Array) -> F64Array:
        """Scores as people see them."""
        return self.measured(scores) if self.whole is None else self._apart(scores)

    def share(self, scores: F64Array) -> F64Array:
        """Scores on a scale from 0 to 1, which is identical: what tallies and histograms count in.

        A similarity is that already; a distance becomes 1 - distance / (the largest that counts), and a similarity
        without a largest is divided by `REACH` limits.
        """
        if self.traits.boundless:
            parts: F64Array = np.clip(scores / (REACH * self.limit), 0.0, 1.0)
            return parts
        if not self.is_distance:
            return scores
        shares: F64Array = np.clip(1.0 - self.told(scores) / (self.told_limit or 1.0), 0.0, 1.0)
        return shares

    def from_share(self, shares: F64Array) -> F64Array:
        """What the measure says at a place on that scale."""
        told = self.told_from_share(shares)
        return told if self.whole is None else 1.0 - told / self.whole

    def told_from_share(self, shares: F64Array) -> F64Array:
        """What people see of a place on that scale."""
        if self.traits.boundless:
            return shares * (REACH * self.limit)
        return (1.0 - shares) * self.told_limit if self.is_distance else shares

    def __str__(self) -> str:
        """What is asked of a pair, such as "Jaccard >= 0.8", "cosine >= 0.9", "L3 <= 2" or "Hamming distance <= 3"."""
        return f"{measure_words(self.measure, '' if self.whole is None else self.column)} {self._limit}"

    @property
    def words(self) -> str:
        """The same inside a sentence: "cosine similarity >= 0.9", "Euclidean distance <= 3"."""
        return f"{measure_words(self.measure, self.column)} {self._limit}"

    @property
    def _limit(self) -> str:
        return f"{self.sign} {self.told_limit:g}"

    @property
    def sign(self) -> str:
        return "<=" if self.is_distance else ">="
