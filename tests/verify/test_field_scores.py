"""Scores of rows by columns, against exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.measures.field_measure import FieldJudge
from lookalike.types import I64Array, U64Array
from lookalike.verify.field_scores import field_scores
from tests.reference import columns as twin

WEIGHTS = [2.0, 1.0, 0.5, 3.0]


def drawn(seed: int, rows: int) -> list[dict[int, set[int]]]:
    """Rows with few different elements, of which some lack columns."""
    rng = np.random.default_rng(seed)
    return [{field: set(rng.integers(8, size=rng.integers(0, 6)).tolist()) for field in range(4)} for _ in range(rows)]


def rows_of(rows: list[dict[int, set[int]]]) -> tuple[I64Array, U64Array]:
    parts = [sorted(twin.elements(row)) for row in rows]
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return offsets, np.array([each for part in parts for each in part], np.uint64)


def test_the_example_of_the_head() -> None:
    rows = rows_of([{0: {1, 2}, 1: {9}}, {0: {1, 3}, 1: {9}}])
    found = field_scores(*rows, np.array([0]), np.array([1]), np.array([2.0, 1.0]))
    assert found.tolist() == [(2.0 * (1 / 3) + 1.0) / 3.0]


@pytest.mark.parametrize("seed", range(4))
def test_every_pair_has_the_similarity_of_the_definition(seed: int) -> None:
    rows = drawn(seed, 60)
    left, right = (each.reshape(-1) for each in np.meshgrid(np.arange(60), np.arange(60)))
    judge, (offsets, values) = FieldJudge(0.5, np.array(WEIGHTS)), rows_of(rows)
    found, reaching = (judge.compare(offsets, values, left, right, least) for least in (0.0, 0.5))
    assert (reaching[found >= 0.5] == found[found >= 0.5]).all() and (reaching[found < 0.5] < 0.5).all()
    assert (reaching == -1.0).any()
    for a, b, score in zip(left.tolist(), right.tolist(), found.tolist(), strict=True):
        exact = twin.similarity(rows[a], rows[b], WEIGHTS)
        # Four quotients, products and sums are rounded, each by 2^-53 of something below 4.
        assert abs(score - float(exact)) < 16 * 2.0**-52
        one, other = values[offsets[a] : offsets[a + 1]], values[offsets[b] : offsets[b + 1]]
        assert abs(judge.plain_score(one, other) - float(exact)) < 16 * 2.0**-52
