"""In how many slots two items differ: Binomial(slots, chance), and where its upper tail begins.

Worked example: two vectors at a cosine of 0.8 differ in a sign bit with chance arccos(0.8)/π = 0.205. Of 256 bits they
differ in 52 on average, and in more than 63 in 4% of all cases: who looks at all pairs that differ in up to 63 bits
misses 4% of such pairs.
"""

from __future__ import annotations

import math

__all__ = ["more_differ", "most_differing"]


def most_differing(chance: float, slots: int, loss: float) -> int:
    """The smallest number of slots that is exceeded with a chance of at most `loss`."""
    if chance <= 0.0:
        return 0
    if chance >= 1.0:
        return slots
    log_odds = math.log(chance) - math.log1p(-chance)
    log_term = slots * math.log1p(-chance)
    total = math.exp(log_term)
    for differing in range(slots):
        if total >= 1.0 - loss:
            return differing
        log_term += math.log(slots - differing) - math.log(differing + 1) + log_odds
        total += math.exp(log_term)
    return slots


def more_differ(chance: float, slots: int, limit: int) -> float:
    """The chance that more than `limit` slots differ: the sum of the terms above it, the smallest first."""
    if limit < 0:
        return 1.0
    if limit >= slots or chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return 1.0
    above = (
        math.lgamma(slots + 1) - math.lgamma(x + 1) - math.lgamma(slots - x + 1)
        + x * math.log(chance) + (slots - x) * math.log1p(-chance)
        for x in range(slots, limit, -1)
    )  # fmt: skip
    return min(1.0, math.fsum(map(math.exp, above)))
