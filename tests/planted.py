"""Planted pairs: sets of integers whose similarity is known by construction and counted by plain Python sets."""

from __future__ import annotations

from fractions import Fraction
from math import exp, lgamma, log, log1p

__all__ = ["binomial_tails", "planted_pairs"]


def planted_pairs(similarity: Fraction, pairs: int, *, union: int = 60, base: int = 0) -> list[set[int]]:
    """2 · pairs sets; sets 2i and 2i + 1 have exactly this Jaccard similarity and share nothing with the others."""
    both = similarity * union
    assert both.denominator == 1, f"{similarity} of a union of {union} is no whole number"
    sets = []
    for i in range(pairs):
        start = base + i * union
        middle = start + int(both)
        split = middle + (union - int(both)) // 2
        shared = set(range(start, middle))
        sets.append(shared | set(range(middle, split)))
        sets.append(shared | set(range(split, start + union)))
    first, second = sets[0], sets[1]
    assert Fraction(len(first & second), len(first | second)) == similarity
    return sets


def binomial_tails(hits: int, trials: int, p: float) -> tuple[float, float]:
    """P(X <= hits) and P(X >= hits) for X ~ Binomial(trials, p), summed exactly from the nearer end."""
    if p in (0.0, 1.0):
        sure = trials if p == 1.0 else 0
        return float(hits >= sure), float(hits <= sure)

    def mass(k: int) -> float:
        choose = lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1)
        return exp(choose + k * log(p) + (trials - k) * log1p(-p))

    below = sum(mass(k) for k in range(hits + 1))
    above = sum(mass(k) for k in range(hits, trials + 1))
    return min(below, 1.0), min(above, 1.0)
