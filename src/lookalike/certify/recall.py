"""Recall from the found pairs alone: what share of all pairs at or above the threshold did the run find?

The idea (Horvitz and Thompson 1952). A pair of similarity s collides in one of b bands with chance q(s), so it is found
with P(s) = 1 - (1-q)^b. Every found pair is verified, so its s is exact, and each stands for 1/P(s) pairs:

    total = Σ w/P      missed = Σ w(1-P)/P      recall = found / total

w is the number of pairs of items that a pair of groups of identical items stands for. Pairs inside a group, and pairs
that an exact join found whatever the bands did, are found with certainty.

The variance. Pairs of one cluster are found and missed together, and sums over the pairs do not tell which belong
together. But the bands do. The pairs that band j alone found would be missed without it: the same clusters, missed
together in the same way, b times over. A jackknife over bands uses this, but it measures the variance with one band
less, of a statistic that is far from linear: for q = 0.26 and b = 16 it is 5.7 times too large, about bq/(1-q) in
general. So the parts are taken apart, each unbiased where pairs are independent, and right where they are one:

    V = Σ w²(1-P)/P²                        as if pairs were independent; exact, and all pairs tell it
      + what the sums N_j = Σ wh over the pairs that band j alone found vary more than independent pairs would:
        b/(b-1)·Σ(N_j - N)² less its diagonal Σ w²h²,  h² = (1-q)/(bqP)
      + the same of Y_j = Σ wg over all pairs that hit band j, for dependence so weak that few pairs show it alone:
        b/(b-1)·Σ(Y_j - Y)² less its diagonal Σ w²g²bq(1-q)/P,  g² = (1-q)^(2b-2)·(1/P² - 1/(bq(1-q)P))

Two pairs of one q whose collisions have the covariance δ, ρ = δ/(1-q)², are missed together with the covariance
(1-q)^(2b)·((1+ρ)^b - 1). The second part has ρ(1+ρ)^(b-2)/(q(1-q)) in the place of the bracket, which is right at the
largest ρ and too little at small ones; the third adds what is missing to first order (b·ρ). Between, the sum is
at least 85% of it for q = 0.26, b = 16. If both parts together are negative, they are left out.

The interval. In a good run few pairs are missed, none to ten, and their number varies like a Poisson count of lumps of
V/missed pairs each. The interval holds the numbers of lumps that the expected number missed²/V does not contradict
(`poisson_at_least`, `poisson_at_most`; where lumps are many it is the normal interval), V widened by Student's t for
the part that b bands told. Four things keep it honest where lumps are few:

- Where "none missed" cannot be excluded, the whole 5% is given to the other end.
- Cantelli: no law with this variance exceeds missed + sqrt(V(1/tail - 1)) more often than `tail`.
- The heaviest pairs, while the chance that any of them was missed is at most ASIDE, are taken as found, and that chance
  is taken from the tail. Otherwise one pair of a million copies would be the whole interval.
- The estimate itself is always inside. So the interval is a point only where nothing can have been missed.

What was found, 1,000 seeds each with the real sketches; V over the true variance, the same for independent pairs, the
share of intervals that hold the true recall of their seed, and their width over 2·1.96·sqrt(R(1-R)/T):

    T pairs                                        b x r    missed   V     indep.  held   width
    6,000 independent, 0.8 to 1                    16 x 6   5.9      1.23  1.08    .978   1.15
    300 of them                                    16 x 6   0.3      1.08  1.00    .968   0.89
    3,000 independent, 0.5 to 1                    20 x 5   292      1.13  0.99    .971   1.30
    60 of them                                     20 x 5   8.6      1.13  1.01    .964   1.33
    60 clusters of 5 to 30 near-copies, 0.8 to 1   16 x 6   14       0.91  0.44    .944   1.54
    the same                                       8 x 4    37       1.14  0.29    .956   2.27
    the same                                       4 x 3    211      1.12  0.13    .928   4.08
    the same                                       2 x 2    663      1.45  0.06    .872   14.6
    60 such clusters, 0.5 to 1                     20 x 5   1,485    1.04  0.20    .947   2.71
    3 clusters of 100 to 150                       16 x 6   29       0.89  0.12    .939   2.84
    150 pages of one template, 0.8 to 1            16 x 6   14       0.96  0.05    .986   3.88

Where clusters are few and large, recall itself varies so much more than a binomial share, and no honest interval is
narrower. With one band there is no spread: .957 of intervals hold for independent pairs, .323 for clusters, and `notes`
says so. What left no trace cannot be known: if half of all pairs of items hang on one pair of groups with P = 0.5,
every other run never sees it.

The tally. There can be 10⁹ pairs, and neither their order nor their chunks may matter to the last bit. So pairs are
counted in cells, one thousandth of similarity wide and a factor of two in weight, and all sums are whole numbers. q is
evaluated at the mean similarity of a cell, which loses 10⁻⁴ of the missed pairs for b = 16, r = 6, and 2·10⁻³ for a
curve as steep as b = 50, r = 50. Adding takes 0.3 µs a pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.bands import BandTest, CurvePoint, Hits, band_test, measured_curve
from lookalike.certify.intervals import normal_quantile, poisson_at_least, poisson_at_most, t_quantile
from lookalike.theory.curve import candidate_probability, missed_probability
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["PairTally", "Recall"]

U16Array = NDArray[np.uint16]

LEVEL = 0.95
# The chance of missing any of the heaviest pairs that the interval may take for none.
ASIDE = 0.01
# Cells of similarity, and of them in a bin of the measured curve: 0.02.
CELLS = 1000
CELLS_A_BIN = 20
# A pair found against a smaller chance than this has not been found by the bands it was meant for.
LEAST_CHANCE = 1e-9

# Whole numbers in a table of int64: a similarity in 2^-30, a weight as 2^31·high + low, the square of a weight relative
# to the least of its cell in 2^-28. So 2^30 pairs stay below 2^63, and sums over a slice are exact in float64.
_SLICE = 1 << 20
_SIMILARITY = float(1 << 30)
_HALF = float(1 << 31)
_SQUARE = float(1 << 28)
_COUNT, _SUM, _HIGH, _LOW, _SQUARES, _COLUMNS = range(6)


@dataclass(frozen=True, slots=True)
class Recall:
    """The estimate with its 95% interval, the band test, the measured curve, and what is suspicious in them.

    `found`, `missed` and `total` are pairs of items; `missed` and `total` are estimates, `error` is the standard error
    of `recall`. Where no pair was found nothing can be said: `recall` is None, and the interval is 0 to 1.
    """

    found: float
    missed: float
    total: float
    recall: float | None
    low: float
    high: float
    error: float
    bands: BandTest
    curve: list[CurvePoint]
    suspicious: list[str]
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain dicts, lists and numbers."""
        return asdict(self)


class PairTally:
    """Counts found pairs in any order and any chunks; `chance` is q(s), `bands` is b."""

    def __init__(self, chance: Callable[[F64Array], F64Array], bands: int) -> None:
        self._chance = chance
        self._bands = bands
        self._sure = 0
        self._keys: I64Array = np.empty(0, np.int64)
        self._table: I64Array = np.empty((0, _COLUMNS + 2 * bands), np.int64)

    def add(
        self,
        similarities: F64Array,
        weights: F64Array,
        sure: BoolArray,
        offsets: I64Array,
        hit_bands: U16Array,
    ) -> None:
        """Count pairs: pair i collided in the bands hit_bands[offsets[i] : offsets[i + 1]], each named once.

        A pair that is `sure` was found by an exact join, and has none. A weight is a whole number below 2^62.
        """
        self._check(weights, sure, offsets, hit_bands)
        for start in range(0, len(similarities), _SLICE):
            part = slice(start, min(start + _SLICE, len(similarities)))
            whole = weights[part][sure[part]]
            self._sure += int((whole // _HALF).sum()) * int(_HALF) + int((whole % _HALF).sum())
            loose = ~sure[part]
            if loose.any():
                numbers = np.diff(offsets[start : part.stop + 1])[loose]
                # Pairs that are sure have no hits, so what lies between the ends belongs to the others.
                hits = hit_bands[offsets[start] : offsets[part.stop]]
                self._count(similarities[part][loose], weights[part][loose], numbers, hits)

    def _check(self, weights: F64Array, sure: BoolArray, offsets: I64Array, hit_bands: U16Array) -> None:
        numbers = np.diff(offsets)
        if np.any((numbers == 0) != sure):
            raise ValueError("a pair has bands in which it collided, or it is sure; not both, not neither")
        if np.any(numbers > self._bands) or np.any(hit_bands[offsets[0] : offsets[-1]] >= self._bands):
            raise ValueError(f"a pair collided in more than the {self._bands} bands there are")
        if np.any((weights < 1.0) | (weights >= 2.0**62) | (weights != np.floor(weights))):
            raise ValueError("the weight of a pair is the number of pairs of items it stands for")

    def _count(self, similarities: F64Array, weights: F64Array, numbers: I64Array, hits: U16Array) -> None:
        """Add a slice of pairs; numbers[i] of the hits, in order, are those of pair i."""
        # The nudge keeps 0.57, which is a little less than 57 hundredths, in its own bin.
        cells = np.clip(np.floor(similarities * CELLS + 1e-6), 0, CELLS).astype(np.int64)
        power = np.frexp(weights)[1].astype(np.int64) - 1
        keys = power * (CELLS + 1) + cells
        counts = np.bincount(keys)
        present = np.flatnonzero(counts)
        # Which row of `present` a key is; the others are never looked up.
        row = (np.cumsum(counts > 0) - 1)[keys]

        def total(values: F64Array) -> I64Array:
            return np.bincount(row, values, len(present)).astype(np.int64)

        def by_band(firsts: I64Array, bands: U16Array) -> I64Array:
            firsts += bands
            return np.bincount(firsts, minlength=len(present) * self._bands).reshape(len(present), self._bands)

        first = row * self._bands
        table = np.empty((len(present), self._table.shape[1]), np.int64)
        table[:, _COUNT] = counts[present]
        table[:, _SUM] = total(np.rint(similarities * _SIMILARITY))
        table[:, _HIGH] = total(weights // _HALF)
        table[:, _LOW] = total(weights % _HALF)
        table[:, _SQUARES] = total(np.rint(np.ldexp(weights, -power) ** 2 * _SQUARE))
        table[:, _COLUMNS : _COLUMNS + self._bands] = by_band(np.repeat(first, numbers), hits)
        alone = numbers == 1
        table[:, _COLUMNS + self._bands :] = by_band(first[alone], hits[np.cumsum(numbers)[alone] - 1])
        self._add_table(present, table)

    def _add_table(self, keys: I64Array, table: I64Array) -> None:
        together = np.union1d(self._keys, keys)
        if len(together) > len(self._keys):
            grown = np.zeros((len(together), self._table.shape[1]), np.int64)
            grown[np.searchsorted(together, self._keys)] = self._table
            self._keys, self._table = together, grown
        self._table[np.searchsorted(self._keys, keys)] += table

    def merge(self, other: PairTally) -> None:
        """Count what the other has counted too."""
        if other._bands != self._bands:
            raise ValueError(f"a tally of {other._bands} bands does not go with one of {self._bands}")
        self._sure += other._sure
        self._add_table(other._keys, other._table)

    def state(self) -> dict[str, Any]:
        """Everything counted so far, as plain numbers and lists."""
        return {
            "bands": self._bands,
            "sure": self._sure,
            "keys": self._keys.tolist(),
            "table": self._table.tolist(),
        }

    @classmethod
    def from_state(cls, chance: Callable[[F64Array], F64Array], state: Mapping[str, Any]) -> PairTally:
        """The tally whose `state` this is."""
        tally = cls(chance, int(state["bands"]))
        tally._sure = int(state["sure"])
        tally._keys = np.array(state["keys"], np.int64)
        tally._table = np.array(state["table"], np.int64).reshape(len(tally._keys), tally._table.shape[1])
        return tally

    def finish(self, certain: float = 0) -> Recall:
        """What the pairs counted so far tell; `certain` is the number of pairs inside groups of identical items."""
        cells, weights = self._cells()
        counted = sum(self._table[:, _HIGH].tolist()) * int(_HALF) + sum(self._table[:, _LOW].tolist())
        found = float(self._sure + counted) + certain
        estimate = _estimate(cells, weights)
        total = found + estimate.missed
        test = band_test(cells)
        bins = np.minimum(self._keys % (CELLS + 1), CELLS - 1) // CELLS_A_BIN
        suspicious = test.suspicious()
        improbable = int(cells.pairs[cells.chances <= LEAST_CHANCE].sum())
        if improbable:
            suspicious.append(
                f"{improbable:,} pairs were found though their chance in a band is below {LEAST_CHANCE:g}"
            )
        return Recall(
            found=found,
            missed=estimate.missed,
            total=total,
            recall=found / total if total else None,
            low=found / (found + estimate.most) if total else 0.0,
            high=found / (found + estimate.least) if total else 1.0,
            error=found * math.sqrt(estimate.variance) / total**2 if total else 0.0,
            bands=test,
            curve=measured_curve(cells, bins),
            suspicious=suspicious,
            notes=_notes(self._bands, total),
        )

    def _cells(self) -> tuple[Hits, _Weights]:
        """The table as numbers to compute with."""
        b = self._bands
        pairs = self._table[:, _COUNT].astype(np.float64)
        similarities = self._table[:, _SUM] / (_SIMILARITY * pairs)
        chances = np.clip(np.asarray(self._chance(similarities), np.float64), LEAST_CHANCE, 1.0)
        power = self._keys // (CELLS + 1)
        weights = _Weights(
            mean=(self._table[:, _HIGH] * _HALF + self._table[:, _LOW]) / pairs,
            square=np.ldexp(self._table[:, _SQUARES] / (_SQUARE * pairs), 2 * power),
            power=power,
        )
        hits, alone = self._table[:, _COLUMNS : _COLUMNS + b], self._table[:, _COLUMNS + b :]
        return Hits(similarities, chances, pairs, hits, alone), weights


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of the pairs in a cell: their mean weight, the mean of its square, and the power of two it begins with."""

    mean: F64Array
    square: F64Array
    power: I64Array


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The pairs missed, with the variance of the estimate and the limits of their number."""

    missed: float
    variance: float
    least: float
    most: float


def _estimate(cells: Hits, weights: _Weights) -> _Estimate:
    odds = missed_probability(cells.chances, cells.bands, 1) / candidate_probability(cells.chances, cells.bands, 1)
    missed = float((cells.pairs * weights.mean) @ odds)
    light, chance = _set_aside(cells.pairs * odds, weights.power)
    few = float((cells.pairs * weights.mean * odds)[light].sum())
    alone, together = _variance(cells, weights, light)
    least, most = _limits(few, alone, together, cells.bands, chance)
    return _Estimate(missed, sum(_variance(cells, weights, np.ones_like(light))), min(least, missed), max(most, missed))


def _set_aside(missed: F64Array, power: I64Array) -> tuple[BoolArray, float]:
    """The cells of the lighter pairs, and the chance that one of the others was missed, at most ASIDE."""
    light = np.ones(len(power), np.bool_)
    chance = 0.0
    for heaviest in np.unique(power)[::-1]:
        here = power == heaviest
        if chance + float(missed[here].sum()) > ASIDE:
            break
        chance += float(missed[here].sum())
        light &= ~here
    return light, chance


def _variance(cells: Hits, weights: _Weights, chosen: BoolArray) -> tuple[float, float]:
    """The variance of the missed pairs as if all were independent, and what their dependence adds (0 at least)."""
    b, q, pairs, weight = cells.bands, cells.chances[chosen], cells.pairs[chosen], weights.mean[chosen]
    found, lost = candidate_probability(q, b, 1), missed_probability(q, b, 1)
    independent = float((pairs * weights.square[chosen]) @ (lost / found**2))
    if b < 2:
        return independent, 0.0
    alone, hits = cells.alone[chosen], cells.hits[chosen]
    h = weight * np.sqrt((1.0 - q) / (b * q * found))
    strong = b * float((h @ alone).var(ddof=1)) - float(h**2 @ alone.sum(axis=1))
    # Without its factors (1-q), which may be 0: g² = (1-q)^(2b-3) · ((1-q)/P² - 1/(bqP)).
    square = (1.0 - q) ** (2 * b - 3) * np.maximum((1.0 - q) / found**2 - 1.0 / (b * q * found), 0.0)
    g = weight * np.sqrt(square)
    weak = b * float((g @ hits).var(ddof=1)) - float((pairs * g**2) @ (b * q * (1.0 - q) / found))
    return independent, max(0.0, strong + weak)


def _limits(missed: float, alone: float, together: float, bands: int, spent: float) -> tuple[float, float]:
    """The least and the most pairs missed that the estimate does not contradict; `spent` of the tail is used up."""
    if missed <= 0.0:
        return 0.0, 0.0
    tail = (1.0 - LEVEL) / 2.0
    variance = alone + together
    # Satterthwaite: only the part that the bands told has few degrees of freedom.
    freedom = (bands - 1) * (variance / together) ** 2 if together > 0.0 else math.inf
    variance *= (t_quantile(1.0 - tail, freedom) / normal_quantile(1.0 - tail)) ** 2
    lump = variance / missed
    least = lump * poisson_at_least(missed / lump, tail)
    upper = (tail if least > 0.0 else 2.0 * tail) - spent
    most = lump * poisson_at_most(missed / lump, upper)
    return least, min(most, missed + math.sqrt(variance * (1.0 / upper - 1.0)))


def _notes(bands: int, total: float) -> list[str]:
    if not total:
        return ["no pair was found, so nothing can be said about recall"]
    if bands == 1:
        return ["with one band nothing shows how pairs hang together: the interval is that of independent pairs"]
    if bands < 4:
        return [f"with {bands} bands the spread between bands is hardly known: the interval is a rough one"]
    return []
