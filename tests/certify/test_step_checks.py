"""Checks of single steps: healthy runs pass them, and each planted fault is noticed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from benchmarks import faults
from lookalike.certify.step_checks import BucketPairs
from lookalike.types import BoolArray, I64Array

WORDS = np.array(faults.WORDS)


def test_pairs_of_buckets_are_neighbours_with_one_key() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 50, 400).astype(np.uint64)
    items = rng.permutation(1000)[:400].astype(np.uint32)
    pairs = BucketPairs(400, 0).pairs_of(keys, items)
    key_of = dict(zip(items.tolist(), keys.tolist(), strict=True))
    assert all(a < b and key_of[a] == key_of[b] for a, b in pairs.tolist())
    # A bucket of m items has m - 1 neighbours.
    assert len(pairs) == 400 - len(np.unique(keys))


def test_large_collections_are_looked_at_in_part() -> None:
    keys = np.repeat(np.arange(1 << 15, dtype=np.uint64), 2)
    items = np.arange(1 << 16, dtype=np.uint32)
    pairs = BucketPairs(1 << 19, 0).pairs_of(keys, items)
    assert len(pairs) == (1 << 15) >> 3


def test_what_matches_and_is_not_contained_is_lost() -> None:
    witness = BucketPairs(8, 0)
    witness.add(np.array([[0, 1], [2, 3], [4, 5]]))

    def matches(left: I64Array, right: I64Array) -> BoolArray:
        return np.array(left != 2)

    def contains(left: I64Array, right: I64Array) -> BoolArray:
        return np.array(left == 0)

    assert witness.lost(matches, contains) == (2, 1)
    assert BucketPairs(8, 0).lost(matches, contains) == (0, 0)


def texts(items: int = 4000, pairs: int = 600) -> list[str]:
    return faults.made(1, items, pairs)


def test_a_healthy_run_checks_items_and_pairs_and_raises_no_alarm() -> None:
    report = lookalike.pairs(texts()).report
    assert report["checked_items"] > 100
    assert report["checked_pairs"] > 300
    assert (report["faulty_items"], report["lost_pairs"]) == (0, 0)
    assert report["certificate"]["alarms"] == []


def test_texts_of_all_kinds_and_sets_pass_the_check() -> None:
    """Accents, unspaced scripts, broken UTF-8, nothing at all; and sets of strings and of numbers."""
    rng = np.random.default_rng(2)
    odd = [
        "Grüße aus Köln",
        "一二三四五六七八",
        "",
        "...",
        "ﬁne ﬀ",
        "naïve cafe\u0301",
        "ก ข ค ง จ",
        "a\u00adb c d e f",
    ]
    many = [" ".join([odd[i % len(odd)], *rng.choice(WORDS, 20).tolist()]) for i in range(1500)]
    raw = pa.array([each.encode() + b"\xff" for each in many], pa.binary())
    sets = [set(rng.integers(0, 5000, 30).tolist()) for _ in range(1500)]
    names = [{str(each) for each in row} for row in sets]
    for items in (many, pa.table({"text": raw}), sets, names):
        report = lookalike.pairs(items, bands=8, rows=4).report
        assert report["checked_items"] > 50
        assert report["faulty_items"] == 0


@pytest.mark.parametrize("fault", faults.FAULTS[1:], ids=lambda fault: str(fault.__name__))
def test_a_planted_fault_is_noticed(fault: faults.Fault) -> None:
    assert faults.alarms_of(texts(), fault, seed=3) != []
