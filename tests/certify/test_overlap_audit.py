"""The audits of containment and of bags against all pairs, however the items are cut."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set
from typing import Any

import numpy as np
import pytest

import lookalike.certify.overlap_audit
from lookalike.certify.audit import Audited
from lookalike.certify.overlap_audit import OverlapAudit
from lookalike.certify.row_audit import RowAudit
from lookalike.measures.bag_measures import BagJudge
from lookalike.measures.containment_measure import ContainmentJudge
from lookalike.measures.field_measure import FieldJudge
from lookalike.verify.weighted import bag_rows, sparse_cosine, weighted_jaccard
from tests.reference.columns import elements
from tests.reference.sets import containment, exact


def items_of(seed: int) -> list[set[int]]:
    rng = random.Random(seed)
    items = [{rng.randrange(2**40) for _ in range(rng.choice([0, 1, 5, 50]))} for _ in range(200)]
    items += [set(rng.sample(sorted(each), (len(each) + 1) // 2)) for each in items if each]
    rng.shuffle(items)
    return items


def audited(items: Sequence[Set[int]], threshold: float, sample: int, cut: int, probe_from: int = 0) -> Audited:
    audit: RowAudit = OverlapAudit(ContainmentJudge(threshold), sample, 3, probe_from)
    for first in range(0, len(items), cut):
        some = [sorted(each) for each in items[first : first + cut]]
        offsets = np.cumsum([0, *map(len, some)]).astype(np.int64)
        audit.add(first, offsets, np.array([x for each in some for x in each], np.uint64))
        audit = OverlapAudit.from_state(ContainmentJudge(threshold), audit.state())
    return audit.finish()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_every_pair_of_a_sampled_item_with_a_later_one_is_found(threshold: float, seed: int) -> None:
    items = items_of(seed)
    for sample, cut, probe_from in ((1000, 37, 0), (40, 1000, 0), (1000, 50, 100)):
        result = audited(items, threshold, sample, cut, probe_from)
        sampled = set(result.items.tolist())
        assert sampled if sample < 1000 else len(sampled) == sum(map(bool, items))
        truth = {}
        for i in sampled:
            for j in range(max(i + 1, probe_from), len(items)):
                share = max(containment(items[i], items[j]), containment(items[j], items[i]))
                if share and share >= exact(threshold):
                    truth[i, j] = float(share)
        found = zip(result.left.tolist(), result.right.tolist(), strict=True)
        assert dict(zip(found, result.similarities.tolist(), strict=True)) == truth


def test_what_is_counted_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [{i % 3, 10, 11, 100 + i} for i in range(100)]
    whole = audited(items, 0.6, 1000, 30)
    monkeypatch.setattr(lookalike.certify.overlap_audit, "_SHARED", 5)
    few = audited(items, 0.6, 1000, 30)
    assert len(whole.left) > 0
    assert (few.left.tolist(), few.right.tolist()) == (whole.left.tolist(), whole.right.tolist())


@pytest.mark.parametrize(("compare", "overlap"), [(weighted_jaccard, "least"), (sparse_cosine, "product")])
def test_bags_are_audited_as_if_each_was_compared_with_each(compare: Any, overlap: str) -> None:
    rng = np.random.default_rng(4)
    families = [rng.integers(0, 2**63, 12) for _ in range(60)]
    judge = BagJudge(0.5, compare, overlap)
    indexed, plain = OverlapAudit(judge, 100, 7), RowAudit(judge, 100, 7)
    for first in range(0, 400, 80):
        bags = [dict.fromkeys(rng.choice(families[rng.integers(60)], 9, replace=False)) for _ in range(80)]
        bags[3] = {}
        offsets = np.cumsum([0, *map(len, bags)]).astype(np.int64)
        values = np.array([x for bag in bags for x in bag], np.uint64)
        weights = rng.uniform(0.8, 1.2, len(values)).astype(np.float32)
        if overlap == "product":
            weights *= rng.choice([-1, 1], len(values), p=[0.1, 0.9]).astype(np.float32)
        rows = bag_rows(offsets, values, weights)
        indexed.add(first, *rows)
        plain.add(first, *rows)
    one, other = indexed.finish(), plain.finish()
    assert len(one.left) > 50
    for name in ("items", "left", "right", "similarities"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_rows_by_columns_are_audited_as_if_each_was_compared_with_each() -> None:
    rng, judge = np.random.default_rng(6), FieldJudge(0.6, np.array([2.0, 1.0, 0.5]))
    indexed, plain = OverlapAudit(judge, 100, 7), RowAudit(judge, 100, 7)
    for first in range(0, 400, 80):
        # Few elements, and some rows that lack columns.
        drawn = [
            {field: set(rng.integers(6, size=rng.integers(0, 5)).tolist()) for field in range(3)} for _ in range(80)
        ]
        some = [sorted(elements(row)) for row in drawn]
        offsets = np.cumsum([0, *map(len, some)]).astype(np.int64)
        rows = offsets, np.array([x for each in some for x in each], np.uint64)
        indexed.add(first, *rows)
        plain.add(first, *rows)
    one, other = indexed.finish(), plain.finish()
    assert len(one.left) > 50
    for name in ("items", "left", "right", "similarities"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_sampled_items_with_enough_matches_leave_the_index() -> None:
    copies, rows = 3000, np.arange(5, dtype=np.uint64)
    audit = OverlapAudit(ContainmentJudge(0.8), sample=500, most=10)
    audit.add(0, 5 * np.arange(copies + 1), np.tile(rows, copies))
    assert audit._index is not None
    # Those of the last step alone: with all that were sampled, every copy would be counted up for each of them.
    assert len(np.unique(audit._index.owners)) <= 1024
    assert len(audit._index.owners) <= 5 * int((audit._matches <= 10).sum()) * 2 + 5 * 1024
    assert audit.finish().full > 0
