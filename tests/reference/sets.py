"""Similarity, pairs and clusters by the shortest way that is certainly right."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from fractions import Fraction
from itertools import combinations

Pair = tuple[int, int]


def jaccard(a: Set[int], b: Set[int]) -> Fraction:
    """|a ∩ b| / |a ∪ b|, and 0 for two empty sets, which share nothing."""
    union = len(a | b)
    return Fraction(len(a & b), union) if union else Fraction(0)


def containment(a: Set[int], b: Set[int]) -> Fraction:
    """How much of a is inside b: |a ∩ b| / |a|, and 0 for an empty a."""
    return Fraction(len(a & b), len(a)) if a else Fraction(0)


def exact(threshold: float | Fraction) -> Fraction:
    """The threshold as it is written: 0.8 is eight tenths, though the float is a little more."""
    return threshold if isinstance(threshold, Fraction) else Fraction(str(threshold))


def all_pairs(sets: Sequence[Set[int]], threshold: float | Fraction) -> dict[Pair, Fraction]:
    """(i, j), i < j -> similarity, of all pairs at the threshold or above that share an element."""
    least = exact(threshold)
    scored = {(i, j): jaccard(sets[i], sets[j]) for i, j in combinations(range(len(sets)), 2)}
    return {pair: similarity for pair, similarity in scored.items() if similarity and similarity >= least}


def components(n: int, edges: Iterable[Pair]) -> list[int]:
    """For each of n items the smallest item that it is connected with."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in edges:
        neighbours[i].add(j)
        neighbours[j].add(i)
    labels = [-1] * n
    for start in range(n):
        if labels[start] < 0:
            for item in reachable(start, neighbours):
                labels[item] = start
    return labels


def reachable(start: int, neighbours: Sequence[Set[int]]) -> set[int]:
    seen = {start}
    queue = deque([start])
    while queue:
        for item in neighbours[queue.popleft()] - seen:
            seen.add(item)
            queue.append(item)
    return seen


def representative(
    n: int, edges: Mapping[Pair, Fraction | float], order: Sequence[int]
) -> dict[int, tuple[int, Fraction | float]]:
    """Removed item -> (the kept item it is removed for, their similarity).

    Walk the items in `order`. One that matches no item kept so far is kept; another is removed for the most
    similar kept item, among equals for the one that comes first in `order`.
    """
    assert sorted(order) == list(range(n))
    kept: list[int] = []
    removed: dict[int, tuple[int, Fraction | float]] = {}
    for item in order:
        matches = [(keeper, edges.get((keeper, item), edges.get((item, keeper)))) for keeper in kept]
        scored = [(keeper, similarity) for keeper, similarity in matches if similarity is not None]
        if scored:
            removed[item] = max(scored, key=lambda match: match[1])
        else:
            kept.append(item)
    return removed
