"""Matches come back by item, each once, whether they were held or spilled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.engines.local.store.matches import Matches
from lookalike.engines.local.store.work_folder import Work
from lookalike.errors import OutputError

many = settings(deadline=None, derandomize=True)

SIMILARITIES = {(i, j): (i + 1) / (j + 1) for j in range(8) for i in range(j)}
HELD = 16

parts = st.lists(st.lists(st.sampled_from(sorted(SIMILARITIES)), max_size=6), max_size=8)
rooms = st.sampled_from([HELD, 2 * HELD, 5 * HELD, 9 * HELD, 1 << 20])

Part = list[tuple[int, int]]


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and stretches of a few matches, so that a handful of them has borders everywhere."""
    monkeypatch.setattr("lookalike.engines.local.store.matches.STRETCH", 3)
    monkeypatch.setattr("lookalike.engines.local.store.matches._LEAST", 2)


def add(matches: Matches, part: Part) -> None:
    left, right = (np.array([pair[side] for pair in part], np.int64) for side in (0, 1))
    matches.add(left, right, np.array([SIMILARITIES[pair] for pair in part], np.float64))


def read(matches: Matches) -> list[tuple[int, int, float]]:
    found = []
    for left, right, similarity in matches.stretches():
        assert 0 < len(left) <= 3
        assert left.dtype == right.dtype == np.int64
        found += list(zip(left.tolist(), right.tolist(), similarity.tolist(), strict=True))
    return found


def expected(parts: list[Part]) -> list[tuple[int, int, float]]:
    return [(*pair, SIMILARITIES[pair]) for pair in sorted({pair for part in parts for pair in part})]


@many
@given(parts, rooms, st.sets(st.integers(0, 7)), st.booleans())
@pytest.mark.usefixtures("odd")
def test_matches_come_back_by_item_each_once_however_often_they_were_found(
    parts: list[Part], memory: int, asked: set[int], settled: bool
) -> None:
    """Also when they were read or settled before more came."""
    matches = Matches(Work(), memory)
    for number, part in enumerate(parts):
        add(matches, part)
        if number in asked:
            if settled:
                matches.settle()
            assert read(matches) == expected(parts[: number + 1])
    assert read(matches) == expected(parts)
    matches.settle()
    assert len(matches) == len(expected(parts))
    assert read(matches) == read(matches) == expected(parts)
    assert (matches.spilled > 0) == (sum(map(len, parts)) * HELD > memory) or asked


@many
@given(parts, rooms, rooms)
@pytest.mark.usefixtures("odd")
def test_what_a_run_left_is_taken_up_again_with_more_or_less_memory(
    tmp_path: Path, parts: list[Part], memory: int, later: int
) -> None:
    matches = Matches(Work(), memory)
    for part in parts:
        add(matches, part)
    matches.settle(tmp_path / "matches.bin")
    again = Matches.load(Work(), later, tmp_path / "matches.bin", len(matches), matches.checksum)
    (tmp_path / "matches.bin").unlink()
    for each in (matches, again):
        assert read(each) == expected(parts)
        assert len(each) == len(expected(parts))


@many
@given(parts, rooms)
@pytest.mark.usefixtures("odd")
def test_it_is_known_which_pairs_are_among_them(parts: list[Part], memory: int) -> None:
    matches = Matches(Work(), memory)
    for part in parts:
        add(matches, part)
    asked = [*SIMILARITIES, (0, 9), (8, 9), (0, 1)]
    there = {pair for part in parts for pair in part}
    left, right = (np.array([pair[side] for pair in asked]) for side in (0, 1))
    assert matches.contains(left, right).tolist() == [pair in there for pair in asked]


def test_what_comes_in_order_makes_one_run_which_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    matches = Matches(Work(), 10 * HELD)
    for first in range(0, 100, 7):
        left = np.arange(first, first + 7)
        matches.add(left, left + 1, np.full(7, 0.9))
    monkeypatch.setattr(Matches, "_rewrite", None)
    matches.settle()
    assert np.concatenate([left for left, _, _ in matches.stretches()]).tolist() == list(range(105))


def test_many_runs_of_thousands_are_merged() -> None:
    rng = np.random.default_rng(5)
    left, right = rng.integers(0, 3000, 40_000), rng.integers(0, 3000, 40_000)
    matches = Matches(Work(), 1000 * HELD)
    for begin in range(0, 40_000, 700):
        part = slice(begin, begin + 700)
        matches.add(left[part], right[part], left[part] / (1.0 + right[part]))
    matches.settle()
    keys = np.unique(left << 32 | right)
    stretches = list(matches.stretches())
    found_left, found_right, similarity = (np.concatenate([each[side] for each in stretches]) for side in range(3))
    assert len(matches) == len(keys)
    assert np.array_equal(found_left << 32 | found_right, keys)
    assert np.array_equal(similarity, found_left / (1.0 + found_right))


def test_the_largest_item_numbers_and_unverified_pairs_have_their_place() -> None:
    for memory in (1, 1 << 20):
        matches = Matches(Work(), memory)
        assert list(matches.stretches()) == []
        for _ in range(2):
            matches.add(np.array([2**32 - 2]), np.array([2**32 - 1]), np.array([np.nan]))
        ((left, right, similarity),) = matches.stretches()
        assert (left.tolist(), right.tolist()) == ([2**32 - 2], [2**32 - 1])
        assert np.isnan(similarity).tolist() == [True]


def test_spilling_leaves_no_file_behind_and_says_where_it_could_not(tmp_path: Path) -> None:
    matches = Matches(Work(spill_to=tmp_path), 1)
    add(matches, [(1, 2), (0, 3)])
    assert matches.spilled == 2 * HELD
    assert list(tmp_path.iterdir()) == []
    assert sum(len(left) for left, _, _ in matches.stretches()) == 2
    missing = Matches(Work(spill_to=tmp_path / "missing"), 1)
    with pytest.raises(OutputError, match=f"cannot write to the work folder {tmp_path / 'missing'}"):
        add(missing, [(1, 2), (0, 3)])
