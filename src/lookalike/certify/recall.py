"""Recall from the found pairs alone: what share of all pairs at or above the threshold did the bands find?

Found pairs are counted here; what they tell about the missed ones is in `missed.py`. Pairs inside a group of identical
items, and pairs that an exact join found whatever the bands did, are found with certainty.

The tally. There can be 10⁹ pairs, and neither their order nor their chunks may matter to the last bit. So pairs are
counted in cells, one thousandth of similarity wide and a factor of two in weight, and all sums are whole numbers. q is
evaluated at the mean similarity of a cell, which loses 10⁻⁴ of the missed pairs for b = 16, r = 6, and 2·10⁻³ for a
curve as steep as b = 50, r = 50. Adding takes 0.3 µs a pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.certify.band_rates import BandTest, CurvePoint, Hits, band_test, measured_curve
from lookalike.certify.missed import FEWEST, BandEstimate, GiantEstimate, JoinedTerms, Weights
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["NO_PAIR", "PairTally", "Recall"]

U16Array = NDArray[np.uint16]

LEVEL = 0.95
NO_PAIR = "no pair was found, so the recall is unknown"
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
_COUNT, _SUM, _HIGH, _LOW, _SQUARES, _TIMES, _COLUMNS = range(7)


@dataclass(frozen=True, slots=True)
class Recall:
    """The estimate with its 95% interval, the band test, the measured curve, and what is suspicious in them.

    `found`, `missed` and `total` are pairs of items; `missed` and `total` are estimates, `error` is the standard error
    of `recall`. Where nothing can be said, because no pair was found or because giant buckets leave no trace of what
    was missed, `recall` is None, and the interval is 0 to 1.
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
    estimate: BandEstimate | GiantEstimate | None

    def limits(self, level: float) -> tuple[float, float]:
        """The least and the most pairs missed that the found ones do not contradict."""
        return (0.0, math.inf) if self.estimate is None else self.estimate.limits(level)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain dicts, lists and numbers."""
        return asdict(replace(self, estimate=None))


class PairTally:
    """Counts found pairs in any order and any chunks; `chance` is q(s), `bands` is b."""

    def __init__(self, chance: Callable[[F64Array], F64Array], bands: int) -> None:
        self._chance = chance
        self._bands = bands
        self._sure = 0
        self._keys: I64Array = np.empty(0, np.int64)
        # Behind the sums of a cell stand the pairs that hit each band, those that hit it alone, and it and one other.
        self._table: I64Array = np.empty((0, _COLUMNS + 3 * bands), np.int64)
        # Whether giant buckets were joined, and what the pairs tell that only the join is sure to have found.
        self.giants = False
        self.joined: JoinedTerms | None = None

    def another(self) -> PairTally:
        """An empty one that can be merged with this one."""
        return PairTally(self._chance, self._bands)

    def chances(self, similarities: F64Array) -> F64Array:
        """The chance of each pair in one band."""
        return np.clip(np.asarray(self._chance(similarities), np.float64), LEAST_CHANCE, 1.0)

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
        table[:, _TIMES] = total(numbers.astype(np.float64) ** 2)
        table[:, _SQUARES] = total(np.rint(np.ldexp(weights, -power) ** 2 * _SQUARE))
        table[:, _COLUMNS : _COLUMNS + self._bands] = by_band(np.repeat(first, numbers), hits)
        ends = np.cumsum(numbers)
        alone, twice = numbers == 1, numbers == 2
        table[:, _COLUMNS + self._bands : _COLUMNS + 2 * self._bands] = by_band(first[alone], hits[ends[alone] - 1])
        both = np.column_stack([ends[twice] - 2, ends[twice] - 1]).ravel()
        table[:, _COLUMNS + 2 * self._bands :] = by_band(np.repeat(first[twice], 2), hits[both])
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
        self.giants |= other.giants
        self._add_table(other._keys, other._table)
        if other.joined is not None:
            self.joined = other.joined if self.joined is None else self.joined + other.joined

    @property
    def found(self) -> int:
        """The pairs of items counted so far."""
        high, low = (int(sum(self._table[:, column].tolist())) for column in (_HIGH, _LOW))
        return self._sure + high * int(_HALF) + low

    def state(self) -> dict[str, Any]:
        """Everything counted so far, as plain numbers and lists."""
        return {
            "bands": self._bands,
            "sure": self._sure,
            "keys": self._keys.tolist(),
            "table": self._table.tolist(),
            "giants": self.giants,
            "joined": None if self.joined is None else self.joined.as_dict(),
        }

    @classmethod
    def from_state(cls, chance: Callable[[F64Array], F64Array], state: Mapping[str, Any]) -> PairTally:
        """The tally whose `state` this is."""
        tally = cls(chance, int(state["bands"]))
        tally._sure = int(state["sure"])
        tally._keys = np.array(state["keys"], np.int64)
        tally._table = np.array(state["table"], np.int64).reshape(len(tally._keys), tally._table.shape[1])
        tally.giants = bool(state["giants"])
        if state["joined"] is not None:
            tally.joined = JoinedTerms.from_dict(state["joined"])
        return tally

    def finish(self, certain: float = 0) -> Recall:
        """What the pairs counted so far tell; `certain` is the number of pairs inside groups of identical items."""
        cells, weights = self._cells()
        found = float(self.found) + certain
        estimate = self._estimate(cells, weights)
        least, most = (0.0, math.inf) if estimate is None else estimate.limits(LEVEL)
        missed = 0.0 if estimate is None else estimate.missed
        total = found + missed
        known = estimate is not None and total > 0.0
        test = band_test(cells, biased=self.giants)
        bins = np.minimum(self._keys % (CELLS + 1), CELLS - 1) // CELLS_A_BIN
        suspicious = test.suspicious()
        improbable = int(cells.pairs[cells.chances <= LEAST_CHANCE].sum())
        if improbable:
            suspicious.append(
                f"{improbable:,} pairs were found though their chance in a band is below {LEAST_CHANCE:g}"
            )
        return Recall(
            found=found,
            missed=missed,
            total=total,
            recall=found / total if known else None,
            low=found / (found + most) if known else 0.0,
            high=found / (found + least) if known else 1.0,
            error=found * math.sqrt(estimate.variance) / total**2 if estimate is not None and known else 0.0,
            bands=test,
            curve=measured_curve(cells, bins),
            suspicious=suspicious,
            notes=self._notes(total),
            estimate=estimate if known else None,
        )

    def _estimate(self, cells: Hits, weights: Weights) -> BandEstimate | GiantEstimate | None:
        if not self.giants:
            return BandEstimate(cells, weights)
        if self.joined is None or self._bands < FEWEST:
            return None
        return GiantEstimate(cells, weights, self.joined)

    def _cells(self) -> tuple[Hits, Weights]:
        """The table as numbers to compute with."""
        b = self._bands
        pairs = self._table[:, _COUNT].astype(np.float64)
        similarities = self._table[:, _SUM] / (_SIMILARITY * pairs)
        chances = self.chances(similarities)
        power = self._keys // (CELLS + 1)
        weights = Weights(
            mean=(self._table[:, _HIGH] * _HALF + self._table[:, _LOW]) / pairs,
            square=np.ldexp(self._table[:, _SQUARES] / (_SQUARE * pairs), 2 * power),
            power=power,
        )
        hits, alone, twice = (self._table[:, _COLUMNS + k * b : _COLUMNS + (k + 1) * b] for k in range(3))
        return Hits(similarities, chances, pairs, hits, alone, twice, self._table[:, _TIMES]), weights

    def _notes(self, total: float) -> list[str]:
        if not total:
            return [NO_PAIR]
        if self.giants and self.joined is not None and self._bands < FEWEST:
            return [f"{self._bands} bands do not tell what was missed beside giant buckets: only the audit does"]
        if self._bands == 1:
            return ["with one band nothing shows how pairs hang together: the interval is that of independent pairs"]
        if self._bands < 4:
            return [f"with {self._bands} bands the spread between bands is hardly known: the interval is a rough one"]
        return []
