"""Edges to sets and bags with dicts and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["coded", "counted", "merged", "neighbours", "placed"]


def coded(values: Iterable[Any]) -> tuple[list[int], list[Any]]:
    """The code of each value, by the order of first appearance, and the distinct values."""
    codes: dict[Any, int] = {}
    return [codes.setdefault(value, len(codes)) for value in values], list(codes)


def counted(items: Sequence[int], n: int) -> list[int]:
    """How often each of 0 … n - 1 occurs."""
    return [items.count(item) for item in range(n)]


def placed(items: Sequence[int], elements: Sequence[Any], first: int, n: int) -> list[list[Any]]:
    """The elements of the items first … first + n - 1, in the order they came."""
    edges = list(zip(items, elements, strict=True))
    return [[element for each, element in edges if each == item] for item in range(first, first + n)]


def merged(row: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Each element once, with the sum of its weights."""
    sums: dict[int, float] = {}
    for element, weight in row:
        sums[element] = sums[element] + weight if element in sums else weight
    return sums


def neighbours(edges: Iterable[tuple[Any, Any, float]], undirected: bool = False) -> dict[Any, dict[Any, float]]:
    """For each item its elements with their weights."""
    found: dict[Any, dict[Any, float]] = {}
    for item, element, weight in edges:
        if undirected and item == element:
            continue
        for a, b in ((item, element), (element, item)) if undirected else ((item, element),):
            row = found.setdefault(a, {})
            row[b] = row[b] + weight if b in row else weight
    return found
