"""How many pairs did the bands miss? Two estimates from the found ones, each with an interval for any level.

`BandEstimate` (Horvitz and Thompson 1952), where what a band finds depends on the bands alone. A pair of similarity s
collides in one of b bands with chance q(s), so it is found with P(s) = 1 - (1-q)^b. Every found pair is verified, so
its s is exact, and each stands for 1/P(s) pairs:

    total = Σ w/P      missed = Σ w(1-P)/P      recall = found / total

w is the number of pairs of items that a pair of groups of identical items stands for.

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
at least 85% of it for q = 0.26, b = 16. If both parts together are negative, they are left out. That they are is no
proof of independence: with four bands a sum of three squares told it. So the degrees of freedom of V are
(b-1)·V²/noise², where the noise is that of both sums, dependence or not, times 0.75: with all of it, intervals of pairs
that are independent hold too often, with none, those of clusters in four bands too rarely (.905 for 2 to 6 copies).

`GiantEstimate`, where giant buckets were joined. Two items that both stand in a giant bucket, of whatever band, are
joined exactly, so a pair is missed if it collides in no band and its items are not both giant. Pairs that collide tend
to be giant for that very reason. So to leave the joined pairs out of the sum above leaves out too many of those that
stand for the missed ones: of 344 such runs the interval held the truth in 43%. What is needed is a pair whose items
would not both be giant if it had not collided. Bands are independent, so a pair that collided in band j alone looks in
all others like a pair that was missed: if its items are not both giant *by the other bands*, it stands for

    a = (1-q)/(bq)        since b·q(1-q)^(b-1)·a = (1-q)^b

missed pairs. That has seen b-1 bands in which the items could have become giant, not b, and is so much too large. With
m₁ the sum over those pairs and m₂ the one with yet another band left out (the mean over all of them), m₁²/m₂ is what b
bands give if each takes the same share away. It is never less than the sum over the pairs that were not joined.

Its variance. For two pairs of one q with the covariance δ, of which p₀ = (1-q)² + δ is the chance that neither collides
in a band and p₁ = q(1-q) - δ that only the one does, the errors (estimate less truth) have the covariance

    C = p₀^(b-2)·(a²bδ + δ²/q²) = p₀^(b-2)·bδ·(a² + a) - p₀^(b-2)·δ·p₁/q²

by summing over the bands; δ is at most q(1-q), where p₁ = 0. The bands tell both terms. The sums N_j over the pairs
alone in band j have the covariance p₀^(b-2)·bδ over bands (times b/(b-1), summed), and with the sums over those that
collided in exactly two bands, N_j over one and N'_j over the other kind, it is p₀^(b-3)·b(b-2)·δp₁. So

    wide = b/(b-1)·Σ(N_j - N)²,  N_j = Σ w·sqrt(a(1+a))       V = wide - b/(b-1)·Σ(K_j - K)(K'_j - K'),
                                                                  K_j, K'_j = Σ w·((1-q)/q)/sqrt(b(b-2))

is right for weak and for full dependence, with (1-q)² ≤ p₀ for p₀ in the second term, and too large between. A
difference of two noisy numbers is often too small, so V goes some of the way back to `wide`, the farther the fewer
bands: min(1/2, 2/sqrt(b)), and so far at least towards what lumps as large as those of the pairs in exactly two bands,
of which there are more to see, would make of it. It is never less than that of independent pairs.

The interval. In a good run few pairs are missed, none to ten, and their number varies like a Poisson count of lumps of
V/missed pairs each. The interval holds the numbers of lumps that the expected number missed²/V does not contradict
(`poisson_at_least`, `poisson_at_most`; where lumps are many it is the normal interval), V widened by Student's t for
the part that b bands told. Four things keep it honest where lumps are few:

- Where "none missed" cannot be excluded, both tails are given to the other end.
- Cantelli: no law with this variance exceeds missed + sqrt(V(1/tail - 1)) more often than `tail`.
- The heaviest pairs, while the chance that any of them was missed is at most ASIDE of a tail, are taken as found, and
  that chance is taken from the tail. Otherwise one pair of a million copies would be the whole interval.
- The estimate itself is always inside. So the interval is a point only where nothing can have been missed.

What was found for `BandEstimate`, 1,000 seeds each with the real sketches; V over the true variance, the same for
independent pairs, the share of 95% intervals that hold the true recall of their seed, and their width over
2·1.96·sqrt(R(1-R)/T):

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
narrower. With one band there is no spread: .957 of intervals hold for independent pairs, .323 for clusters. What left
no trace cannot be known: if half of all pairs of items hang on one pair of groups with P = 0.5, every other run never
sees it. `benchmarks/coverage.py` has the same for `GiantEstimate`, together with the audit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lookalike.certify.band_rates import Hits
from lookalike.certify.intervals import normal_quantile, poisson_at_least, poisson_at_most, t_quantile
from lookalike.theory.curve import candidate_probability, missed_probability
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["FEWEST", "BandEstimate", "GiantEstimate", "JoinedTerms", "Weights", "joined_terms"]

# The chance of missing any of the heaviest pairs that the interval may take for none, as a share of a tail.
ASIDE = 0.4
# How much of the noise of the spread between bands the interval allows for, where no more than that tells dependence.
NOISE = 0.75
# With fewer bands nothing is told beside giant buckets: too few are left to tell who is giant without one of them.
FEWEST = 4


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the pairs in a cell: their mean weight, the mean of its square, and the power of two it begins with."""

    mean: F64Array
    square: F64Array
    power: I64Array


@dataclass(frozen=True, slots=True)
class _Variance:
    """Of a number of missed pairs: as if all were independent, and what their dependence adds (0 at least).

    `told` is the part that the spread of b bands told, and that is known no better than the variance of b numbers.
    """

    independent: float
    together: float
    told: float

    @property
    def total(self) -> float:
        return self.independent + self.together


class BandEstimate:
    """The pairs missed where no giant bucket was joined: every found pair stands for 1/P."""

    def __init__(self, cells: Hits, weights: Weights) -> None:
        self._cells, self._weights = cells, weights
        q, b = cells.chances, cells.bands
        self._odds = missed_probability(q, b, 1) / candidate_probability(q, b, 1)
        self.missed = float((cells.pairs * weights.mean) @ self._odds)

    @property
    def variance(self) -> float:
        """Of the number missed, less its estimate."""
        return self._variance(np.ones(len(self._odds), np.bool_)).total

    def limits(self, level: float) -> tuple[float, float]:
        """The least and the most pairs missed that the found ones do not contradict."""
        cells, weights = self._cells, self._weights
        tail = (1.0 - level) / 2.0
        light, spent = _set_aside(cells.pairs * self._odds, weights.power, ASIDE * tail)
        few = float((cells.pairs * weights.mean * self._odds)[light].sum())
        least, most = _limits(few, self._variance(light), cells.bands, tail, spent)
        return min(least, self.missed), max(most, self.missed)

    def _variance(self, chosen: BoolArray) -> _Variance:
        cells, weights = self._cells, self._weights
        b, q, pairs, weight = cells.bands, cells.chances[chosen], cells.pairs[chosen], weights.mean[chosen]
        found, lost = candidate_probability(q, b, 1), missed_probability(q, b, 1)
        independent = float((pairs * weights.square[chosen]) @ (lost / found**2))
        if b < 2:
            return _Variance(independent, 0.0, 0.0)
        alone, hits = cells.alone[chosen], cells.hits[chosen]
        h = weight * np.sqrt((1.0 - q) / (b * q * found))
        strong = _spread(h @ alone), float(h**2 @ alone.sum(axis=1))
        # Without its factors (1-q), which may be 0: g² = (1-q)^(2b-3) · ((1-q)/P² - 1/(bqP)).
        square = (1.0 - q) ** (2 * b - 3) * np.maximum((1.0 - q) / found**2 - 1.0 / (b * q * found), 0.0)
        g = weight * np.sqrt(square)
        weak = _spread(g @ hits), float((pairs * g**2) @ (b * q * (1.0 - q) / found))
        together = max(0.0, strong[0] - strong[1] + weak[0] - weak[1])
        return _Variance(independent, together, NOISE * math.hypot(max(strong), max(weak)))


@dataclass(frozen=True)
class JoinedTerms:
    """What some pairs add to a `GiantEstimate`.

    `missed` is m₁ and `before` m₂; `independent` is the variance of independent pairs; `alone`, `alone_cross` and
    `twice_cross` are N_j, K_j and K'_j of the bands.
    """

    missed: float
    before: float
    independent: float
    alone: F64Array
    alone_cross: F64Array
    twice_cross: F64Array

    def __add__(self, other: JoinedTerms) -> JoinedTerms:
        names = self.__dataclass_fields__
        return JoinedTerms(*(getattr(self, name) + getattr(other, name) for name in names))

    def as_dict(self) -> dict[str, Any]:
        """The same as plain numbers and lists."""
        return {name: np.asarray(value).tolist() for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JoinedTerms:
        """The terms whose `as_dict` this is."""
        arrays = (np.array(data[name]) for name in ("alone", "alone_cross", "twice_cross"))
        return cls(data["missed"], data["before"], data["independent"], *arrays)


def joined_terms(
    chances: F64Array, weights: F64Array, hits: BoolArray, left: BoolArray, right: BoolArray
) -> JoinedTerms:
    """The terms of pairs that giant buckets joined: row i of `hits` tells in which bands pair i collided.

    Row i of `left` and `right` tells in which bands its items stand in a giant bucket. Only pairs that collided in one
    or two bands count.
    """
    b = hits.shape[1]
    # A q of 1 leaves no pair to be missed; one of 0 was never found.
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = (1.0 - chances) / chances
    times = hits.sum(axis=1)
    # By the bands in which the pair did not collide.
    left, right = left & ~hits, right & ~hits
    many_left, many_right = left.sum(axis=1), right.sum(axis=1)
    giant = (many_left > 0) & (many_right > 0)
    one, two = (times == 1) & ~giant, (times == 2) & ~giant
    # Bands without which the items of a pair would not both be giant.
    same = (left & right).any(axis=1) & (many_left == 1) & (many_right == 1)
    needed = (many_left == 1).astype(np.int64) + (many_right == 1) - same
    nearly = np.where((times == 1) & giant, needed, 0) / max(1, b - 1)
    a = weights * odds / b
    cross = weights * odds / math.sqrt(b * max(1, b - 2))
    wide = np.sqrt(a * (a + weights))
    missed = float(a[one].sum())
    return JoinedTerms(
        missed=missed,
        before=missed + float((a * nearly)[nearly > 0].sum()),
        independent=float((wide[one] ** 2).sum()),
        alone=wide[one] @ hits[one],
        alone_cross=cross[one] @ hits[one],
        twice_cross=cross[two] @ hits[two],
    )


class GiantEstimate:
    """The pairs missed where giant buckets were joined; `joined` are the terms of the pairs that they joined."""

    def __init__(self, cells: Hits, weights: Weights, joined: JoinedTerms) -> None:
        self._bands = cells.bands
        self._terms = terms = _loose_terms(cells, weights) + joined
        self._plain = BandEstimate(cells, weights)
        by_bands = terms.missed**2 / terms.before if terms.before > 0.0 else 0.0
        self.missed = max(by_bands, self._plain.missed)

    @property
    def variance(self) -> float:
        """Of the number missed, less its estimate."""
        return self._variance().total

    def limits(self, level: float) -> tuple[float, float]:
        """The least and the most pairs missed that the found ones do not contradict."""
        tail = (1.0 - level) / 2.0
        least, most = _limits(self.missed, self._variance(), self._bands, tail, 0.0)
        return min(least, self.missed), max(most, self.missed)

    def _variance(self) -> _Variance:
        b, terms = self._bands, self._terms
        plain = self._plain._variance(np.ones(len(self._plain._odds), np.bool_)).independent
        independent = max(terms.independent, plain)
        wide = _spread(terms.alone)
        narrow = wide - b * float(np.cov(terms.alone_cross, terms.twice_cross)[0, 1])
        back = min(0.5, 2.0 / math.sqrt(b))
        variance = max(narrow + back * (wide - narrow), back * self._by_lumps())
        together = max(0.0, variance - independent)
        return _Variance(independent, together, together)

    def _by_lumps(self) -> float:
        """The variance if all that is missed came in lumps like those of the pairs in exactly two bands."""
        b, terms = self._bands, self._terms
        if terms.missed <= 0.0 or not terms.twice_cross.any():
            return 0.0
        # A lump of L pairs adds a·L to the estimate and a(1+a)·L² to the variance; K' counts a·b/sqrt(b(b-2)) for each.
        lump = _spread(terms.twice_cross) / float(terms.twice_cross.sum()) * math.sqrt(b * (b - 2)) / b
        a = max(terms.independent / terms.missed - 1.0, 1e-9)
        return self.missed * lump * (1.0 + a) / a


def _loose_terms(cells: Hits, weights: Weights) -> JoinedTerms:
    """The same terms of pairs that were not joined: their items were not both giant, so not without a band either."""
    b = cells.bands
    odds = (1.0 - cells.chances) / cells.chances
    number, a, cross = cells.alone.sum(axis=1), odds / b, odds / math.sqrt(b * max(1, b - 2))
    missed = float((number * weights.mean) @ a)
    return JoinedTerms(
        missed=missed,
        before=missed,
        independent=float((number * weights.square) @ (a * (1.0 + a))),
        alone=(weights.mean * np.sqrt(a * (1.0 + a))) @ cells.alone,
        alone_cross=(weights.mean * cross) @ cells.alone,
        twice_cross=(weights.mean * cross) @ cells.twice,
    )


def _spread(sums: F64Array) -> float:
    """b times the variance of b numbers, which is the variance of their sum."""
    return len(sums) * float(sums.var(ddof=1))


def _set_aside(missed: F64Array, power: I64Array, most: float) -> tuple[BoolArray, float]:
    """The cells of the lighter pairs, and the chance that one of the others was missed, which is at most `most`."""
    light = np.ones(len(power), np.bool_)
    chance = 0.0
    for heaviest in np.unique(power)[::-1]:
        here = power == heaviest
        if chance + float(missed[here].sum()) > most:
            break
        chance += float(missed[here].sum())
        light &= ~here
    return light, chance


def _limits(missed: float, variance: _Variance, bands: int, tail: float, spent: float) -> tuple[float, float]:
    """The least and the most pairs missed that the estimate does not contradict; `spent` of the tail is used up."""
    if missed <= 0.0:
        return 0.0, 0.0
    # Satterthwaite: only the part that the bands told has few degrees of freedom.
    freedom = (bands - 1) * (variance.total / variance.told) ** 2 if variance.told > 0.0 else math.inf
    wide = variance.total * (t_quantile(1.0 - tail, freedom) / normal_quantile(1.0 - tail)) ** 2
    lump = wide / missed
    least = lump * poisson_at_least(missed / lump, tail)
    upper = (tail if least > 0.0 else 2.0 * tail) - spent
    most = lump * poisson_at_most(missed / lump, upper)
    return least, min(most, missed + math.sqrt(wide * (1.0 / upper - 1.0)))
