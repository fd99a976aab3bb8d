"""Parts with their rows: which pairs they hold, compare, and leave out."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from lookalike.collide.fold import Folds
from lookalike.engines.counts import Counts
from lookalike.engines.local.held_parts import HeldPart, HeldParts
from lookalike.engines.local.parts import Grouped, Part
from lookalike.engines.local.store.stored_rows import StoredRows
from lookalike.measures.set_measures import SetJudge
from lookalike.types import I64Array
from lookalike.verify.verifier import Verifier
from tests.reference.sets import jaccard

THRESHOLD = 0.5


def held_part(items: dict[int, set[int]], references: int = 0) -> HeldPart:
    rows = [sorted(each) for _, each in sorted(items.items())]
    store = StoredRows(np.array([len(row) for row in rows], np.int64))
    store.put(0, len(rows), np.array([x for row in rows for x in row], np.uint64))
    part = Part(np.array(sorted(items)), np.zeros(len(items), np.bool_), Grouped())
    return HeldPart(
        part, store, Verifier(SetJudge(THRESHOLD), store), Folds(np.arange(100, dtype=np.uint32), references)
    )


def drawn(seed: int, items: int = 30) -> list[set[int]]:
    rng = np.random.default_rng(seed)
    return [set(rng.choice(8, size=rng.integers(1, 6), replace=False).tolist()) for _ in range(items)]


def both(pairs: list[tuple[int, int]]) -> tuple[I64Array, I64Array]:
    left, right = np.array(pairs, np.int64).T
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_match_by_plain_intersections_if_a_part_holds_both(seed: int) -> None:
    sets = drawn(seed)
    # Every third item is in no part.
    parts = HeldParts([held_part({i: sets[i] for i in range(each, 30, 3)}) for each in (0, 1)])
    pairs = list(combinations(range(30), 2))
    found = parts.matching_again(*both(pairs), SetJudge(THRESHOLD))
    truth = [a % 3 == b % 3 < 2 and jaccard(sets[a], sets[b]) >= THRESHOLD for a, b in pairs]
    assert found.tolist() == truth
    assert parts.items == 20


@pytest.mark.parametrize("references", [0, 12])
def test_items_that_are_only_compared_with_are_not_compared_with_one_another(references: int) -> None:
    sets = drawn(7)
    part = held_part({2 * i: each for i, each in enumerate(sets)}, references)
    pairs = list(combinations(range(30), 2))
    counts = Counts()
    found = [
        pair
        for left, right, _ in part.matches(iter([partial(iter, [both(pairs)])]), counts)
        for pair in zip(left.tolist(), right.tolist(), strict=True)
    ]
    asked = [(a, b) for a, b in pairs if 2 * b >= references]
    assert found == [(a, b) for a, b in asked if jaccard(sets[a], sets[b]) >= THRESHOLD]
    assert counts.candidates == len(asked)
