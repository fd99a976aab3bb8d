"""The certificate's numbers pair by pair and term by term, and tails of discrete laws summed exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb


@dataclass(frozen=True)
class FoundPair:
    """A verified pair: its similarity, the pairs of items it stands for, the bands in which it collided."""

    similarity: float
    weight: int
    bands: frozenset[int]


@dataclass(frozen=True)
class Terms:
    """The estimate of the missed pairs, and the three parts of its variance."""

    missed: float
    independent: float
    strong: float
    weak: float


def spread(sums: Sequence[float]) -> float:
    """b times the variance of b numbers, which is the variance of their sum."""
    b = len(sums)
    mean = sum(sums) / b
    return b * sum((x - mean) ** 2 for x in sums) / (b - 1) if b > 1 else 0.0


def terms(pairs: Sequence[FoundPair], chance: Callable[[float], float], b: int) -> Terms:
    """Horvitz-Thompson over pairs, and its variance from the bands in which each of them collided."""
    missed = independent = strong_diagonal = weak_diagonal = 0.0
    alone, all_hits = [0.0] * b, [0.0] * b
    for pair in pairs:
        w, q = pair.weight, chance(pair.similarity)
        P = 1 - (1 - q) ** b
        missed += w * (1 - P) / P
        independent += w**2 * (1 - P) / P**2
        if q == 1:
            continue
        h2 = (1 - q) / (b * q * P)
        g2 = (1 - q) ** (2 * b - 2) * max(0.0, 1 / P**2 - 1 / (b * q * (1 - q) * P))
        if len(pair.bands) == 1:
            alone[min(pair.bands)] += w * h2**0.5
            strong_diagonal += w**2 * h2
        for band in pair.bands:
            all_hits[band] += w * g2**0.5
        weak_diagonal += w**2 * g2 * b * q * (1 - q) / P
    if b == 1:
        return Terms(missed, independent, 0.0, 0.0)
    return Terms(missed, independent, spread(alone) - strong_diagonal, spread(all_hits) - weak_diagonal)


def expected_hits(pairs: Sequence[FoundPair], chance: Callable[[float], float], b: int) -> float:
    """How often each band should have been hit by pairs that at least one band found."""
    return sum(chance(pair.similarity) / (1 - (1 - chance(pair.similarity)) ** b) for pair in pairs)


def binomial_tails(count: int, trials: int, p: Fraction) -> tuple[Fraction, Fraction]:
    """Pr[X <= count] and Pr[X >= count], X ~ Binomial(trials, p)."""
    a, d = p.numerator, p.denominator
    masses = [comb(trials, k) * a**k * (d - a) ** (trials - k) for k in range(trials + 1)]
    return Fraction(sum(masses[: count + 1]), d**trials), Fraction(sum(masses[count:]), d**trials)


def poisson_tails(count: int, mean: float) -> tuple[Decimal, Decimal]:
    """Pr[X <= count] and Pr[X >= count], X ~ Poisson(mean), to fifty digits."""
    with localcontext() as context:
        context.prec = 60
        m = Decimal(mean)
        mass, below = (-m).exp(), Decimal(0)
        for k in range(count):
            below += mass
            mass *= m / (k + 1)
        return below + mass, 1 - below


@dataclass(frozen=True)
class GiantPair:
    """A pair that collided in some bands; `left` and `right` are the bands in which its items are in giant buckets."""

    chance: float
    weight: float
    bands: frozenset[int]
    left: frozenset[int]
    right: frozenset[int]

    def both_giant(self, without: frozenset[int]) -> bool:
        return bool(self.left - without) and bool(self.right - without)


def giant_estimate(pairs: Sequence[GiantPair], b: int) -> tuple[float, float, float, float]:
    """m₁, m₂, the variance of independent pairs and V, pair by pair: see `certify/missed.py`."""
    missed = before = independent = 0.0
    alone, one, two = [0.0] * b, [0.0] * b, [0.0] * b
    for pair in pairs:
        odds = (1 - pair.chance) / pair.chance
        a, cross = odds / b, odds / (b * (b - 2)) ** 0.5
        if len(pair.bands) == 1:
            (band,) = pair.bands
            others = [each for each in range(b) if each != band]
            before += sum(not pair.both_giant(pair.bands | {other}) for other in others) / (b - 1) * pair.weight * a
            if not pair.both_giant(pair.bands):
                missed += pair.weight * a
                independent += pair.weight**2 * a * (1 + a)
                alone[band] += pair.weight * (a * (1 + a)) ** 0.5
                one[band] += pair.weight * cross
        if len(pair.bands) == 2 and not pair.both_giant(pair.bands):
            for band in pair.bands:
                two[band] += pair.weight * cross
    mean_one, mean_two = sum(one) / b, sum(two) / b
    covariance = b / (b - 1) * sum((x - mean_one) * (y - mean_two) for x, y in zip(one, two, strict=True))
    return missed, before, independent, spread(alone) - covariance
