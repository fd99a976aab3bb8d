"""Keys that spill and those that are held come back alike."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lookalike.engines.local.store.key_ranges import KeyRanges
from lookalike.engines.local.store.work_folder import Work


def filled(work: Work, most: int, below: int) -> KeyRanges:
    rng = np.random.default_rng(5)
    ranges = KeyRanges(work, most, below)
    for count in (0, 700, 3, 1500, 40):
        keys = rng.integers(0, below, count, dtype=np.uint64)
        ranges.add(keys, np.arange(count, dtype=np.uint64) + keys)
    return ranges


@pytest.mark.parametrize("below", [2**64, 300, 7, 1])
def test_what_is_spilled_comes_back_as_what_is_held(tmp_path: Path, below: int) -> None:
    told = []
    for most in (1 << 20, 16 * 100):
        ranges = filled(Work(spill_to=tmp_path), most, below)
        assert (ranges.spilled > 0) == (most < 1 << 20)
        parts = [list(each.chunks()) for each in ranges.ranges()]
        told.append([[np.concatenate(arrays).tolist() for arrays in zip(*chunks, strict=True)] for chunks in parts])
        if most < 1 << 20:
            assert all(len(keys) <= 200 for chunks in parts for keys, _ in chunks)
    assert told[0] == told[1]
    assert sum(len(keys) for keys, _ in told[0]) == 2243
    assert all(max(one[0]) < min(other[0]) for one, other in pairwise(told[0]))
    assert list(tmp_path.iterdir()) == []


def test_a_range_can_be_read_twice(tmp_path: Path) -> None:
    first = next(filled(Work(spill_to=tmp_path), 1600, 2**64).ranges())
    once, again = list(first.chunks()), list(first.chunks())
    assert len(first) == sum(len(keys) for keys, _ in once)
    assert [keys.tolist() for keys, _ in once] == [keys.tolist() for keys, _ in again]


def test_nothing_added_gives_no_range() -> None:
    assert list(KeyRanges(Work(), 100).ranges()) == []
