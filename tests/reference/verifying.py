"""The slow twin of the verifier: every pair by itself, from rows that are plain lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["best", "best_of", "matches"]

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
