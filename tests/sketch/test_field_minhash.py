"""Min-hash of rows by columns: against its twin, and its one promise, that a slot agrees with the similarity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lookalike.sketch.field_minhash import field_winners, sketch_fields
from lookalike.sketch.minhash import EMPTY_SLOT, constants
from lookalike.types import Sets, U32Array
from tests.reference import columns as twin

WEIGHTS = [2.0, 1.0, 0.5]


def drawn(seed: int, rows: int, most: int = 6) -> list[dict[int, set[int]]]:
    """Rows of which some lack columns."""
    rng = np.random.default_rng(seed)
    return [
        {field: set(rng.integers(2**61, size=rng.integers(0, most), dtype=np.uint64).tolist()) for field in range(3)}
        for _ in range(rows)
    ]


def sets_of(rows: list[dict[int, set[int]]]) -> Sets:
    parts = [sorted(twin.elements(row)) for row in rows]
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    values = np.array([each for part in parts for each in part], np.uint64)
    return Sets(offsets, values, np.zeros((len(rows), 2), np.uint64))


def sketched(rows: list[dict[int, set[int]]], slots: int, weights: list[float], seed: int = 0) -> U32Array:
    winners = field_winners(np.array(weights), slots, seed)
    return sketch_fields(sets_of(rows), *constants(slots, seed), winners, len(weights))


@pytest.mark.parametrize("seed", [0, 2**63 + 7])
def test_slots_are_those_of_the_twin(seed: int) -> None:
    rows = drawn(1, 40)
    a, b = (each.tolist() for each in constants(24, seed))
    found = sketched(rows, 24, WEIGHTS, seed)
    for row, slots in zip(rows, found, strict=True):
        if any(row.values()):
            assert slots.tolist() == twin.signature(row, a, b, WEIGHTS, seed)
        else:
            assert (slots == EMPTY_SLOT).all()


def test_a_longer_sketch_begins_with_a_shorter_one() -> None:
    rows = drawn(2, 10)
    assert (sketched(rows, 50, WEIGHTS)[:, :20] == sketched(rows, 20, WEIGHTS)).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({0: {1, 2, 3, 4}, 1: {7}, 2: {9}}, {0: {1, 2, 3, 5}, 1: {7}, 2: {8}}),
        # A column that only one of them has, and one that both lack.
        ({0: {1, 2, 3, 4}, 1: {7}}, {0: {1, 2, 3, 4}, 2: {9}}),
        ({0: {1, 2, 3}, 1: {7}}, {0: {1, 2, 3}}),
        # What two columns have in common is nothing.
        ({0: {5}, 1: {6}}, {0: {6}, 1: {5}}),
    ],
)
def test_a_slot_agrees_as_often_as_the_rows_are_alike(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    rng, slots = np.random.default_rng(3), 200_000
    hashes = rng.integers(2**61, size=10, dtype=np.uint64)
    rows = [{field: {int(hashes[each]) for each in part} for field, part in row.items()} for row in (one, other)]
    similarity = twin.similarity(rows[0], rows[1], WEIGHTS)
    first, second = sketched(rows, slots, WEIGHTS, seed=11)
    agreed = int((first == second).sum())
    # Binomial: five standard deviations, beyond which one in a million seeds would be.
    error = math.sqrt(slots * float(similarity * (1 - similarity)))
    assert abs(agreed - slots * float(similarity)) <= 5 * error, (agreed / slots, float(similarity))
