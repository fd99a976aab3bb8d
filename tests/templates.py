"""Collections that fill giant buckets: items that share a template far below, around and above the threshold."""

from __future__ import annotations

import random

__all__ = ["KINDS", "templates"]

KINDS = ("below", "around", "above", "chain", "families", "mixed")


def templates(kind: str, seed: int, *, items: int = 40, threshold: float = 0.6) -> list[set[int]]:
    """Sets of integers in no order of size; about one in eight is a copy of an earlier one.

    `below`: the template is less than half of what a match needs; what is alike is so by its own elements, in pairs.
    `around`: the template with so much of its own that about half of all pairs match.
    `above`: the template with next to nothing of its own: all match.
    `chain`: windows that slide over a line; neighbours match, those further away do not.
    `families`: several templates, whose items match within a family, and a common one below the threshold.
    """
    rng = random.Random(f"{kind} {seed}")
    fresh = iter(range(10_000, 10_000_000))
    if kind == "mixed":
        parts = [templates(each, seed, items=items // 5 + 1, threshold=threshold) for each in KINDS[:-1]]
        sets = [each for part in parts for each in part]
        rng.shuffle(sets)
        return sets

    def own(count: int) -> set[int]:
        return {next(fresh) for _ in range(count)}

    def some(elements: set[int], most: int) -> set[int]:
        """All but up to `most` of them."""
        return set(rng.sample(sorted(elements), len(elements) - rng.randrange(most + 1)))

    template = set(range(20))
    loss = round(20 * (1 - threshold))
    sets = []
    for i in range(items):
        if kind == "below":
            if i % 2 == 0:
                twin = own(40)
            sets.append(some(template, 2) | some(twin, 12))
        elif kind == "around":
            sets.append(some(template, loss) | own(rng.randrange(loss + 1)))
        elif kind == "above":
            sets.append(some(template, 1) | own(rng.randrange(2)))
        elif kind == "chain":
            sets.append(set(range(100 + i, 100 + i + rng.randrange(18, 22))))
        else:
            assert kind == "families"
            if i % 8 == 0:
                family = own(40)
            sets.append(template | some(family, loss))
        if rng.random() < 1 / 8:
            sets[-1] = set(rng.choice(sets))
    rng.shuffle(sets)
    return sets
