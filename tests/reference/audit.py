"""The audit by plain sets: the sample first, with all items at hand, then every pair of it with a later item."""

from __future__ import annotations

from collections.abc import Sequence, Set
from fractions import Fraction
from typing import NamedTuple

from lookalike.twin.hashing import C1, MASK, G, mix
from tests.reference.sets import exact, jaccard


class Audited(NamedTuple):
    items: list[int]
    pairs: list[tuple[int, int, Fraction]]
    full: int
    rate: Fraction


def rank(seed: int, item: int) -> int:
    return mix((mix(seed ^ C1) + (item + 1) * G) & MASK)


def drawn(rows: Sequence[int], number: float, seed: int) -> list[int]:
    """Of each row that is drawn one item, as a place in `rows`, which are ascending."""
    chosen = [row for row in sorted(set(rows)) if float(rank(seed, row)) < 2.0**64 * min(number / (row + 1.0), 1.0)]
    return [rows.index(row) + rank(seed ^ 1, row) % rows.count(row) for row in chosen]


def extent(sizes: Sequence[int], begin: int) -> tuple[int, int]:
    """The largest size, and how many from `begin` on are not 0."""
    return max(sizes, default=0), sum(size > 0 for size in sizes[max(0, begin) :])


def sampled(sets: Sequence[Set[int]], sample: int, seed: int) -> tuple[list[int], Fraction]:
    """The items in the sample, and the probability of each: the largest 1/2^k that leaves at most 2·sample of them."""
    halvings = 0
    while True:
        items = [i for i, each in enumerate(sets) if each and rank(seed, i) < 2**64 >> halvings]
        if len(items) <= 2 * sample:
            return items, Fraction(1, 2**halvings)
        halvings += 1


def audited(
    sets: Sequence[Set[int]],
    threshold: float,
    *,
    sample: int,
    seed: int = 0,
    probe_from: int = 0,
    most: int = 50,
    groups: Sequence[int] | None = None,
) -> Audited:
    """Every pair of a sampled item with a later one of its group, of which each sampled item keeps the first `most`."""
    items, rate = sampled(sets, sample, seed)
    group = groups if groups is not None else [0] * len(sets)
    pairs: list[tuple[int, int, Fraction]] = []
    full = 0
    for left in items:
        later = [i for i in range(left + 1, len(sets)) if i >= probe_from and group[i] == group[left]]
        matches = [(left, i, jaccard(sets[left], sets[i])) for i in later]
        matches = [match for match in matches if match[2] and match[2] >= exact(threshold)]
        pairs += matches[:most]
        full += len(matches) > most
    return Audited(items, pairs, full, rate)
