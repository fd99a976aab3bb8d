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
