"""The slow twin of the verifier: every pair by itself, from rows that are plain lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

__all__ = ["best", "best_of", "matches", "nearest", "total"]

Row = Sequence[int]
Score = Callable[[Row, Row], float]


def matches(
    rows: Sequence[Row], pairs: Sequence[tuple[int, int]], score: Score, threshold: float
) -> list[tuple[int, int, float]]:
    """The pairs that reach the threshold, in their order."""
    scored = [(a, b, score(rows[a], rows[b])) for a, b in pairs]
    return [(a, b, s) for a, b, s in scored if s >= threshold]


def best(
    rows: Sequence[Row], pairs: Sequence[tuple[int, int]], score: Score, k: int
) -> list[tuple[int, int, int, float]]:
    """(left, rank, right, score) of the k best pairs of each row on the left."""
    out = []
    for left in sorted({a for a, _ in pairs}):
        order = sorted((-score(rows[a], rows[b]), b) for a, b in pairs if a == left)
        out += [(left, rank, b, -minus) for rank, (minus, b) in enumerate(order[:k])]
    return out


def best_of(
    rows: Sequence[Row], many: Sequence[int], few: Sequence[int], asked: set[tuple[int, int]], score: Score
) -> list[tuple[int, float] | None]:
    """For each of many rows, by its place, the place and the score of the best of a few that it is asked for."""
    out: list[tuple[int, float] | None] = []
    for i, a in enumerate(many):
        order = [(-score(rows[a], rows[b]), j) for j, b in enumerate(few) if (i, j) in asked]
        out.append((min(order)[1], -min(order)[0]) if order else None)
    return out


def total(overlap: str, bag: Mapping[int, float]) -> float:
    """What the score of a bag goes by: the number of its elements, the sum of their weights, or its length."""
    if overlap == "product":
        return math.sqrt(sum(weight * weight for weight in bag.values()))
    return sum(bag.values()) if overlap == "least" else float(len(bag))


def nearest(
    overlap: str, items: Sequence[Mapping[int, float]], queries: Sequence[Mapping[int, float]] | None, k: int
) -> list[list[tuple[int, float]]]:
    """(item, score) of the k items that score most with each query, or with each item, and share something with it."""
    out = []
    for number, query in enumerate(items if queries is None else queries):
        scored = []
        for item, bag in enumerate(items):
            both = query.keys() & bag.keys()
            if not both or (queries is None and item == number):
                continue
            ours, theirs = total(overlap, query), total(overlap, bag)
            if overlap == "product":
                score = sum(query[each] * bag[each] for each in both) / (ours * theirs)
            elif overlap == "containment":
                score = len(both) / min(ours, theirs)
            else:
                shared = sum(min(query[each], bag[each]) for each in both) if overlap == "least" else float(len(both))
                score = shared / (ours + theirs - shared)
            if score > 0:
                scored.append((-score, item))
        out.append([(item, -score) for score, item in sorted(scored)[:k]])
    return out
