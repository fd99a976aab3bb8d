"""The band test and the measured S-curve: did the bands collide as often as the mathematics says?

A pair with the chance q of colliding in one band, found by at least one of b, collides in each with probability q/P,
P = 1 - (1-q)^b. So every band should have been hit Σ q/P times, and the number m of bands that a found pair hits
follows a binomial law without its zero. Neither needs to know the pairs that were missed.

One band against the others. Pairs of one cluster collide together: the hits of 16 bands vary 18 times as much as a
binomial law says for 60 clusters of 5 to 30 near-copies, 770 times as much for one template. So a band is called odd
only if both are against it: the binomial law (exact tails), and the spread of the other bands (Student's t). The spread
is that of the logarithms of hits, because the share of a cluster that a band hits is a product over its r slots: on
that scale healthy bands are near a bell even with one template and nothing else, and a dead band is far from it. Of
2,000 dead bands in such a collection the hits themselves told 29 at 10⁻², their logarithms all at 10⁻⁵. Odd
bands are set aside one by one, the farthest from the expectation first, up to half of them, so that they cannot hide
each other (Rosner 1983, generalised extreme studentised deviates); looking at b bands is corrected by Bonferroni.

All bands together. A fault common to all bands shows in the sum of m - bq/P over the found pairs, whose expectation is
0. Its variance is that of a jackknife over bands, and again the law of independent pairs must be against it too. Where
the bands vary by more than half of their mean (one template, low threshold) the sum is far from a bell, and nothing is
said.

ALARM is the nominal chance of a false alarm in each of the two tests. Over 1,000 healthy seeds each, independent pairs
gave none in either, clusters none and up to one, a single template one and two (16 or 20 bands; at 10⁻³ it would have
been up to five). With 16 bands and 12,000 independent pairs a band that is hit 9% too often is found, with 6,000 in two
of three cases. A dead band is always found with 16 bands and 100 pairs; with four bands in 498 of 500 runs on 2,000
independent pairs, in 371 on clusters; with three in none. One or two bands have no others to compare with.

The bands with one another. If some bands repeat others, or hang together in another way, each of them is hit as often
as it should be, but a pair hits many or none: the squares m² add up to more than E m² = bq(1-q+bq)/P. The variance of
the sum is that of independent pairs, from the fourth moment, times the spread between bands, which is what clusters of
pairs do to it.

The S-curve. In a bin of similarities the mean of m tells the q that was at work, bq/P(q) = mean, and so a measured
point 1 - (1-q)^b of the curve; its interval is that of the likelihood, widened by the spread between bands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookalike.certify.intervals import binomial_tails, normal_quantile, t_quantile, t_tail
from lookalike.theory.curve import candidate_probability
from lookalike.types import F64Array, I64Array

__all__ = ["ALARM", "BandTest", "CurvePoint", "Hits", "band_test", "measured_curve"]

ALARM = 1e-4
# How much the bands may vary, relative to their mean, for the test of their sum.
WIDEST = 0.5
# Found pairs from which on their numbers of bands are summed up as a bell.
_MANY = 100


@dataclass(frozen=True, slots=True)
class Hits:
    """What the bands did with the found pairs, in cells of almost one similarity; row i is cell i, column j band j.

    `hits` counts the pairs that collided in a band, `alone` those that did so nowhere else, `twice` those that did so
    in just one other band; `times` is the sum, over the pairs, of the square of the number of bands they collided in.
    """

    similarities: F64Array
    chances: F64Array
    pairs: F64Array
    hits: I64Array
    alone: I64Array
    twice: I64Array
    times: I64Array

    @property
    def bands(self) -> int:
        return int(self.hits.shape[1])

    def rates(self) -> F64Array:
        """q/P: the share of the bands in which a found pair should collide."""
        # With one band it is 1, and rounding must not make it more.
        return np.minimum(self.chances / candidate_probability(self.chances, self.bands, 1), 1.0)


@dataclass(frozen=True, slots=True)
class BandTest:
    """Band j (from 0) was hit `hits[j]` times, and should have been `expected` times.

    `z[j]` is the normal deviate that is as improbable as this band, once the spread between bands is allowed for; `p`
    is the probability that healthy bands show one as odd as the oddest, `odd` lists those that are below ALARM, and
    `all_...` is the same for the sum over the bands, `together_...` for how they agree with one another. `spread` is
    the variance between bands over that of independent pairs.
    """

    hits: list[int]
    expected: float
    z: list[float]
    largest_z: float
    p: float
    odd: list[int]
    spread: float
    all_hits: int
    all_expected: float
    all_z: float
    all_p: float
    together_z: float
    together_p: float

    def suspicious(self) -> list[str]:
        """A sentence for everything that healthy bands would not do."""
        said = [
            f"band {band + 1} was hit {self.hits[band]:,} times, expected {self.expected:,.0f} (z = {self.z[band]:.1f})"
            for band in self.odd
        ]
        if self.all_p < ALARM:
            said.append(
                f"all bands together were hit {self.all_hits:,} times, expected {self.all_expected:,.0f} "
                f"(z = {self.all_z:.1f})"
            )
        elif self.together_p < ALARM:
            how = "more" if self.together_z > 0 else "less"
            said.append(f"bands agree with one another {how} than independent ones do (z = {self.together_z:.1f})")
        return said


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One bin of similarities: what was measured, and what the mathematics expects of the same pairs.

    `rate` is the share of the bands in which a found pair collides; `chance` is the q solved from it, `found` the point
    1 - (1-q)^b with its 95% interval `low` to `high`, `curve` the same from the expected rate. With one band every
    found pair has hit it: nothing is measured, and `chance` and `found` are None.
    """

    similarity: float
    pairs: int
    rate: float
    expected_rate: float
    chance: float | None
    found: float | None
    low: float
    high: float
    curve: float


def band_test(cells: Hits, *, biased: bool = False) -> BandTest:
    """Whether one band, or all together, collided too often or too rarely.

    Pairs that collide often are the ones that giant buckets take away. What is left is `biased`: bands can be compared
    with one another, but not with what is expected of all.
    """
    b, n = cells.bands, float(cells.pairs.sum())
    hits = cells.hits.sum(axis=0).astype(np.float64)
    rate = cells.rates()
    expected, binomial = float(cells.pairs @ rate), float(cells.pairs @ (rate * (1.0 - rate)))
    # Half a hit keeps a dead band on the scale.
    logs = np.log(hits + 0.5)
    # A band's relative standard deviation if all pairs were independent.
    least = math.sqrt(binomial) / expected if expected else 0.0
    unlikely = [_binomial_p(hits[band], n, expected) for band in range(b)]
    apart = [band for band in _outliers(logs, math.log(expected + 0.5), least) if unlikely[band] * b < ALARM]
    healthy = np.ones(b, np.bool_)
    healthy[apart] = False
    p = []
    for band in range(b):
        others = logs[healthy & (np.arange(b) != band)]
        p.append(max(unlikely[band], _student_p(logs[band], others, least)))
    odd = sorted(band for band in apart if p[band] * b < ALARM)
    z = [_deviate(p[band], hits[band] - expected) for band in range(b)]
    all_z, all_p = (0.0, 1.0) if biased else _all_bands(cells, hits, rate)
    rest = hits[healthy]
    spread = float(rest.var(ddof=1)) / binomial if len(rest) > 1 and binomial > 0.0 else 1.0
    together_z, together_p = (0.0, 1.0) if biased else _together(cells, spread)
    return BandTest(
        hits=[int(h) for h in hits],
        expected=expected,
        z=z,
        largest_z=max(z, key=abs, default=0.0),
        p=min(1.0, b * min(p, default=1.0)),
        odd=odd,
        spread=spread,
        all_hits=int(hits.sum()),
        all_expected=b * expected,
        all_z=all_z,
        all_p=all_p,
        together_z=together_z,
        together_p=together_p,
    )


def _outliers(logs: F64Array, expected: float, least: float) -> list[int]:
    """The bands that the spread of the others speaks against, when the farthest are set aside one by one."""
    order = np.argsort(-np.abs(logs - expected), kind="stable")
    b = len(logs)
    found = 0
    # At least three bands are left to compare with, or what there is.
    for aside in range(1, min(b // 2, max(1, b - 3)) + 1):
        others = logs[order[aside:]]
        # Of b - aside + 1 bands this one was looked at because it was the farthest.
        if _student_p(logs[order[aside - 1]], others, least) * (len(others) + 1) < ALARM:
            found = aside
    return [int(band) for band in order[:found]]


def _student_p(x: float, others: F64Array, least: float) -> float:
    """The probability that x lies so far from the mean of the others, if all are of one normal law."""
    m = len(others)
    if m < 2:
        return 1.0
    deviation = max(float(others.std(ddof=1)) * math.sqrt(1.0 + 1.0 / m), least)
    return t_tail((x - float(others.mean())) / deviation, m - 1) if deviation > 0.0 else 1.0


def _binomial_p(hits: float, pairs: float, expected: float) -> float:
    """The two-sided probability of so many hits; the law of pairs with unequal chances is narrower (Hoeffding 1956)."""
    if pairs == 0.0:
        return 1.0
    return min(1.0, 2.0 * min(binomial_tails(hits, pairs, min(1.0, expected / pairs))))


def _deviate(p: float, sign: float) -> float:
    return math.copysign(-normal_quantile(max(p, 1e-300) / 2.0), sign) if p < 1.0 else 0.0


def _all_bands(cells: Hits, hits: F64Array, rate: F64Array) -> tuple[float, float]:
    """z and p of the sum of m - bq/P over the found pairs."""
    b, q = cells.bands, cells.chances
    if b < 2 or not len(q):
        return 0.0, 1.0
    excess = float(hits.sum() - b * (cells.pairs @ rate))
    # The variance of m without its zero: E m² = bq(1-q+bq)/P, E m = bq/P.
    variance = float(cells.pairs @ (b * rate * (1.0 - q + b * q) - (b * rate) ** 2))
    # Leaving band j out takes its hits, and of the pairs it found alone their expectation too.
    alone = (q / candidate_probability(q, b - 1, 1)) @ cells.alone
    parts = hits - (b - 1) * alone
    spread = b * float(parts.var(ddof=1))
    if variance <= 0.0 or spread <= 0.0 or float(hits.std(ddof=1)) > WIDEST * float(hits.mean()):
        return 0.0, 1.0
    p = max(t_tail(excess / math.sqrt(variance), math.inf), t_tail(excess / math.sqrt(spread), b - 1))
    return _deviate(p, excess), p


def _together(cells: Hits, spread: float) -> tuple[float, float]:
    """z and p of the sum of m² - E m² over the found pairs."""
    b, q = cells.bands, cells.chances
    if b < 2 or not len(q):
        return 0.0, 1.0
    found = candidate_probability(q, b, 1)
    # E m(m-1)…, of which moments are made.
    falling = np.cumprod([(b - k) * q for k in range(4)], axis=0)
    second, fourth = (falling[0] + falling[1]) / found, (falling * np.array([[1], [7], [6], [1]])).sum(axis=0) / found
    excess = float(cells.times.sum() - cells.pairs @ second)
    variance = float(cells.pairs @ (fourth - second**2)) * max(1.0, spread)
    # The sum of squares of few pairs is far from a bell.
    if variance <= 0.0 or float(cells.pairs.sum()) < _MANY:
        return 0.0, 1.0
    p = t_tail(excess / math.sqrt(variance), math.inf)
    return _deviate(p, excess), p


def measured_curve(cells: Hits, bins: I64Array, level: float = 0.95) -> list[CurvePoint]:
    """The measured points of the S-curve, one for each bin that holds a pair; bins[i] is the bin of cell i."""
    b, which = cells.bands, np.unique(bins)
    member = (bins == which[:, None]).astype(np.float64)
    pairs = member @ cells.pairs
    similarities = member @ (cells.pairs * cells.similarities) / pairs
    hits, alone = member @ cells.hits, member @ cells.alone
    rates = member @ (cells.pairs * cells.rates()) / pairs
    curve = _chance(b * rates, b) if b > 1 else member @ (cells.pairs * cells.chances) / pairs
    limits = _chance_intervals(pairs, hits, alone, level)
    return [
        CurvePoint(
            similarity=float(similarities[i]),
            pairs=int(pairs[i]),
            rate=float(hits[i].sum() / (b * pairs[i])),
            expected_rate=float(rates[i]),
            chance=chance,
            found=None if chance is None else candidate_probability(chance, b, 1),
            low=candidate_probability(low, b, 1),
            high=candidate_probability(high, b, 1),
            curve=candidate_probability(float(curve[i]), b, 1),
        )
        for i, (chance, low, high) in enumerate(limits)
    ]


def _chance(mean: F64Array, bands: int) -> F64Array:
    """The q for which a binomial law without its zero has this mean, bq/P(q): from 1 (q = 0) to b (q = 1)."""
    low, high = np.zeros_like(mean), np.ones_like(mean)
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = bands * middle < mean * candidate_probability(middle, bands, 1)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(mean <= 1.0, 0.0, np.where(mean >= bands, 1.0, 0.5 * (low + high)))


def _chance_intervals(
    pairs: F64Array, hits: F64Array, alone: F64Array, level: float
) -> list[tuple[float | None, float, float]]:
    """For each bin the q that its hits tell, and the limits of those they do not contradict.

    From its top to a limit the log-likelihood falls by t²/2, times the factor by which a jackknife over the bands
    finds the variance of q larger than independent pairs would have it. So a bin in which every pair hangs on one
    band, or hits them all, has an interval too.
    """
    b, total = hits.shape[1], hits.sum(axis=1)
    if b == 1:
        return [(None, 0.0, 1.0)] * len(pairs)
    chances = _chance(total / pairs, b)
    without = _chance((total[:, None] - hits) / np.maximum(pairs[:, None] - alone, 1.0), b - 1)
    quantile = t_quantile(0.5 + level / 2.0, b - 1)
    intervals: list[tuple[float | None, float, float]] = []
    for q, n, m, left_out in zip(chances.tolist(), pairs.tolist(), total.tolist(), without, strict=True):
        factor = 1.0
        if 0.0 < q < 1.0:
            found = candidate_probability(q, b, 1)
            # The score of a pair is (m - E m) / (q(1-q)), so this is the inverse of the variance of q.
            information = n * (b * q * (1.0 - q + b * q) / found - (b * q / found) ** 2) / (q * (1.0 - q)) ** 2
            factor = max(1.0, (b - 1) * float(left_out.var()) * information)
        drop = 0.5 * factor * quantile**2
        intervals.append((q, _limit(q, 0.0, drop, n, m, b), _limit(q, 1.0, drop, n, m, b)))
    return intervals


def _limit(top: float, end: float, drop: float, pairs: float, hits: float, bands: int) -> float:
    """Where the log-likelihood, on its way from the top to the end, has fallen by `drop`; the end if it never has."""
    inside, outside = top, end
    highest = _likelihood(top, pairs, hits, bands)
    if highest - _likelihood(end, pairs, hits, bands) < drop:
        return end
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        if highest - _likelihood(middle, pairs, hits, bands) < drop:
            inside = middle
        else:
            outside = middle
    return outside


def _likelihood(q: float, pairs: float, hits: float, bands: int) -> float:
    """log of Π q^m (1-q)^(b-m) / P(q) over the pairs; q at an end of [0, 1] stands for the limit."""
    inside = min(max(q, 1e-12), 1.0 - 1e-12)
    hit, missed = math.log(inside), math.log1p(-inside)
    some = math.log(-math.expm1(bands * missed))
    return hits * hit + (bands * pairs - hits) * missed - pairs * some
