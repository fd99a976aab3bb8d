"""Rows compared column by column, by the shortest way that is certainly right: a row has a set for each column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction

from lookalike.twin.hashing import MASK, G, mix

Columns = Mapping[int, Set[int]]

_SHIFT = 61
_RACE = 0x6A09E667F3BCC909


def elements(row: Columns) -> set[int]:
    """The elements of all columns, the column in the top three bits."""
    return {field << _SHIFT | each % 2**_SHIFT for field, part in row.items() for each in part}


def fingerprint(parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The fingerprint of a row, from those of all its columns."""
    halves = [0, 0]
    for field, part in enumerate(parts):
        halves = [mix(((half + more) * G + field) & MASK) for half, more in zip(halves, part, strict=True)]
    return halves[0], halves[1]


def similarity(a: Columns, b: Columns, weights: Sequence[float]) -> Fraction:
    """The mean of the Jaccard similarities of the columns that either has, by weight."""
    there = [field for field in range(len(weights)) if a.get(field) or b.get(field)]
    total = Fraction(0)
    for field in there:
        one, other = a.get(field, set()), b.get(field, set())
        total += Fraction(weights[field]) * Fraction(len(one & other), len(one | other))
    return total / sum(Fraction(weights[field]) for field in there) if there else Fraction(0)


def winner(slot: int, there: Set[int], weights: Sequence[float], seed: int) -> int:
    """The column that arrives first of those that are there, in the race of this slot."""

    def arrival(field: int) -> float:
        drawn = mix((mix(seed ^ _RACE) + (slot * len(weights) + field + 1) * G) & MASK)
        return -math.log(((drawn >> 12) + 0.5) * 2.0**-52) / weights[field]

    return min(there, key=arrival)


def signature(row: Columns, a: Sequence[int], b: Sequence[int], weights: Sequence[float], seed: int) -> list[int]:
    """Of each slot the min-hash of the column that wins it."""
    there, out = {field for field, part in row.items() if part}, []
    for slot, (factor, summand) in enumerate(zip(a, b, strict=True)):
        field = winner(slot, there, weights, seed)
        hashes = [(each << 3 & MASK) >> 32 for each in row[field]]
        out.append(min((factor * x + summand) % 2**32 for x in hashes) ^ field)
    return out


def prefix_length(row: Columns, weights: Sequence[float], threshold: float) -> int:
    """All elements but as many as can be the last without reaching the threshold, whichever these are."""
    there = {field: len(part) for field, part in row.items() if part}
    needed = Fraction(str(threshold)) * sum(Fraction(weights[field]) for field in there)
    heaviest = sorted((Fraction(weights[f]) / size for f, size in there.items() for _ in range(size)), reverse=True)
    spare = max(count for count in range(len(heaviest) + 1) if sum(heaviest[:count]) < needed or not count)
    return len(heaviest) - spare


def nearest(rows: Sequence[Columns], query: Columns, weights: Sequence[float], k: int, own: int | None) -> list[int]:
    """The k rows that are most like the query, equals by number; none that share nothing."""
    scores = {number: similarity(row, query, weights) for number, row in enumerate(rows) if number != own}
    found = sorted((-score, number) for number, score in scores.items() if score)
    return [number for _, number in found[:k]]
