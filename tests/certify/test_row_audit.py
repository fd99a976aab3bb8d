"""The audit of rows: every pair whose earlier item is sampled, whatever the batches, and nothing else."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lookalike.certify.row_audit import RowAudit
from lookalike.types import BoolArray, F64Array, I64Array, U64Array
from tests.reference.audit import rank


class Near:
    """Rows of one word, alike if their numbers are near: the score is minus their difference."""

    threshold = -3.0

    def compare(
        self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array, threshold: float
    ) -> F64Array:
        a, b = (words[offsets[side]].astype(np.float64) for side in (left, right))
        return -abs(a - b)

    def crossed(self, offsets: I64Array, words: U64Array, left: I64Array, right: I64Array) -> BoolArray:
        """Whatever is even need not be compared with what is far above it."""
        a, b = (words[offsets[side]].astype(np.int64) for side in (left, right))
        crossed: BoolArray = (a[:, None] % 2 == 1) | (b < a[:, None] + 100)
        return crossed


def numbers(count: int, seed: int, empty: float = 0.1) -> tuple[NDArray[np.int64], I64Array, U64Array]:
    """Numbers, -1 for items without a row, and their rows."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(count) < empty, -1, rng.integers(0, 5 * count, count))
    lengths = (values >= 0).astype(np.int64)
    return values, np.concatenate([[0], np.cumsum(lengths)]), values[values >= 0].astype(np.uint64)


def audited(values: Any, offsets: I64Array, words: U64Array, batch: int, **options: Any) -> RowAudit:
    audit = RowAudit(Near(), **options)
    feed(audit, offsets, words, 0, batch)
    return audit


def feed(audit: RowAudit, offsets: I64Array, words: U64Array, start: int, batch: int, groups: Any = None) -> None:
    while start < len(offsets) - 1:
        end = min(start + batch, len(offsets) - 1)
        some = None if groups is None else groups[start:end]
        audit.add(start, offsets[start : end + 1] - offsets[start], words[offsets[start] : offsets[end]], some)
        start = end


def expected(values: Any, sample: int, seed: int, most: int = 50) -> tuple[list[int], list[tuple[int, int]]]:
    """The sample and its pairs, item by item."""
    present = [i for i, value in enumerate(values) if value >= 0]
    halvings = 0
    while len([i for i in present if rank(seed, i) < 2**64 >> halvings]) > 2 * sample:
        halvings += 1
    items = [i for i in present if rank(seed, i) < 2**64 >> halvings]
    pairs = []
    for i in items:
        partners = [j for j in present if j > i and abs(values[i] - values[j]) <= 3]
        pairs += [(i, j) for j in partners[:most]]
    return items, pairs


@pytest.mark.parametrize("sample", [1, 7, 40, 1000])
@pytest.mark.parametrize("batch", [13, 400, 5000])
def test_all_pairs_of_the_sample_are_found_whatever_the_batches(sample: int, batch: int) -> None:
    values, offsets, words = numbers(2500, 1)
    found = audited(values, offsets, words, batch, sample=sample, seed=3).finish()
    items, pairs = expected(values, sample, 3)
    assert found.items.tolist() == items
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == pairs
    assert np.array_equal(found.similarities, [-abs(values[i] - values[j]) for i, j in pairs])
    assert (found.seen, found.compared, found.empty) == ((values >= 0).sum(), (values >= 0).sum(), (values < 0).sum())
    assert found.rate == pytest.approx(len(items) / found.seen, rel=1) and found.full == 0


def test_an_item_with_many_partners_tells_the_first_of_them_and_is_counted_as_full() -> None:
    values = np.concatenate([np.full(80, 5), np.arange(1000, 2000, 10)])
    offsets, words = np.arange(len(values) + 1), values.astype(np.uint64)
    for batch in (10, 500):
        found = audited(values, offsets, words, batch, sample=500, seed=0, most=20).finish()
        _, pairs = expected(values, 500, 0, most=20)
        assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == pairs
        assert found.full == 80 - 21


def test_items_before_the_first_probe_are_not_compared_with_one_another() -> None:
    values, offsets, words = numbers(600, 2)
    found = audited(values, offsets, words, 100, sample=1000, probe_from=400).finish()
    assert found.right.min() >= 400
    assert found.compared == (values[400:] >= 0).sum()
    _, pairs = expected(values, 1000, 0)
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [p for p in pairs if p[1] >= 400]


def test_only_items_of_one_group_are_compared() -> None:
    values, offsets, words = numbers(500, 4)
    groups = np.arange(500, dtype=np.uint64) % np.uint64(3)
    audit = RowAudit(Near(), 1000)
    feed(audit, offsets, words, 0, 64, groups)
    found = audit.finish()
    _, pairs = expected(values, 1000, 0)
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [
        p for p in pairs if p[0] % 3 == p[1] % 3
    ]


@pytest.mark.parametrize("at", [0, 300, 1999])
def test_an_audit_goes_on_from_its_state(at: int) -> None:
    values, offsets, words = numbers(2000, 5)
    whole = audited(values, offsets, words, 150, sample=60, seed=9).finish()
    first = RowAudit(Near(), sample=60, seed=9)
    feed(first, offsets[: at + 1], words, 0, 150)
    again = RowAudit.from_state(Near(), first.state())
    feed(again, offsets, words, at, 150)
    for name in ("items", "left", "right", "similarities"):
        assert np.array_equal(getattr(again.finish(), name), getattr(whole, name))
    assert (again.finish().seen, again.finish().empty) == (whole.seen, whole.empty)


def test_the_truth_of_these_tests_is_every_pair_of_near_numbers() -> None:
    values, _, _ = numbers(60, 6)
    _, pairs = expected(values, 1000, 0)
    there = [i for i in range(60) if values[i] >= 0]
    assert pairs == [(i, j) for i, j in combinations(there, 2) if abs(values[i] - values[j]) <= 3]
