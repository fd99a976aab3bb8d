"""Items that only the audit connects are told how alike they are, wherever their rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.budget import Budget
from tests.reference.sets import jaccard

# A chain: each shares a third with the next, and nothing with the one after that.
CHAIN = [{2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 3} for i in range(40)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"group_by": "g"}])
def test_the_similarity_to_the_kept_item_is_told_where_no_bucket_connects_them(
    options: dict[str, Any], seed: int
) -> None:
    """A band of four rows finds one in 81 of the pairs; the audit finds all, and makes one component of them."""
    table = pa.table({"items": [sorted(each) for each in CHAIN], "g": ["x"] * len(CHAIN)})
    found = lookalike.clusters(
        table, sets="items", threshold=1 / 3, bands=1, rows=4, cluster="components", seed=seed, **options
    )
    rows = found.table.to_pylist()
    assert [row["id"] for row in rows] == list(range(40))
    assert [row["similarity"] for row in rows] == [float(jaccard(CHAIN[0], each)) for each in CHAIN]


def test_rows_come_from_the_parts_that_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of copies with one element changed share buckets, and each pair is a part; the audit joins them all."""
    monkeypatch.setattr(Budget, "rows", lambda self, items: 1)
    sets = [each | {1000 + i} for i, each in enumerate(CHAIN)] + [each | {2000 + i} for i, each in enumerate(CHAIN)]
    found = lookalike.clusters(sets, threshold=0.25, bands=4, rows=4, cluster="components", threads=1)
    rows = found.table.to_pylist()
    assert [row["id"] for row in rows] == list(range(80))
    assert [row["similarity"] for row in rows] == [float(jaccard(sets[0], each)) for each in sets]


def test_vectors_are_told_as_well() -> None:
    angles = np.arange(12) * 0.4
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = lookalike.clusters(vectors, threshold=np.cos(0.41), bands=1, rows=60, cluster="components")
    assert found.table["similarity"].to_pylist() == pytest.approx(np.cos(angles), abs=1e-6)
