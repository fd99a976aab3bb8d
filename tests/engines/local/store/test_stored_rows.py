"""Rows in memory and in a file: the same words come back, whatever the order and the threads they were put by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.engines.local.store.stored_rows import StoredRows, copy_stretch
from lookalike.types import I64Array, U64Array
from tests.reference import buckets as twin

many = settings(max_examples=100, deadline=None, derandomize=True)

Words = list[list[int]]

words = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), max_size=12)


def empty(rows: Words, file: Path | None) -> StoredRows:
    return StoredRows(np.array([len(row) for row in rows], np.int64), file)


def flat(rows: Words) -> U64Array:
    return np.array([x for row in rows for x in row], np.uint64)


def filled(rows: Words, file: Path | None) -> StoredRows:
    store = empty(rows, file)
    store.put(0, len(rows), flat(rows))
    return store


def cut(found: tuple[I64Array, U64Array]) -> Words:
    offsets, values = found
    assert offsets[0] == 0
    assert offsets[-1] == len(values)
    return [values[a:b].tolist() for a, b in pairwise(offsets.tolist())]


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "rows.bin" if request.param == "file" else None


@many
@given(words, st.data())
def test_what_was_put_is_taken_whole_in_stretches_and_one_by_one(
    place: Path | None, rows: Words, data: st.DataObject
) -> None:
    with closing(filled(rows, place)) as store:
        assert len(store) == len(rows)
        assert store.nbytes == 8 * sum(map(len, rows))
        assert cut(store.take(0, len(rows))) == rows
        for first in range(len(rows)):
            end = data.draw(st.integers(first, len(rows)))
            assert cut(store.take(first, end)) == rows[first:end]


@many
@given(words, st.sets(st.integers(0, 11)))
def test_some_rows_are_gathered_in_order(place: Path | None, rows: Words, chosen: set[int]) -> None:
    wanted = sorted(each for each in chosen if each < len(rows))
    with closing(filled(rows, place)) as store:
        assert cut(store.gather(np.array(wanted, np.int64))) == [rows[each] for each in wanted]


@many
@given(
    content=st.lists(st.integers(0, 2**64 - 1), max_size=30),
    stretches=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=8),
)
def test_stretches_are_copied_one_after_another(content: list[int], stretches: list[tuple[int, int]]) -> None:
    inside = [(begin, length) for begin, length in stretches if begin + length <= len(content)]
    begins, lengths = [begin for begin, _ in inside], [length for _, length in inside]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    out = np.empty(sum(lengths), np.uint64)
    copy_stretch(np.array(content, np.uint64), np.array(begins, np.int64), offsets, out)
    assert out.tolist() == twin.copy_stretch(content, begins, lengths)


@many
@given(words, st.randoms(use_true_random=False))
def test_rows_may_come_in_any_order(place: Path | None, rows: Words, random: Random) -> None:
    with closing(empty(rows, place)) as store:
        borders = sorted({0, len(rows), len(rows) // 3, len(rows) // 2})
        parts = list(pairwise(borders))
        random.shuffle(parts)
        for first, end in parts:
            store.put(first, end, flat(rows[first:end]))
        assert cut(store.take(0, len(rows))) == rows


def test_rows_of_no_words_are_rows(place: Path | None) -> None:
    with closing(empty([[], [], []], place)) as store:
        store.put(0, 2, np.empty(0, np.uint64))
        store.put(2, 3, np.empty(0, np.uint64))
        assert cut(store.take(0, 3)) == [[], [], []]
        assert cut(store.take(1, 1)) == []
        assert cut(store.gather(np.array([0, 2]))) == [[], []]
        assert list(store.blocks(100)) == [(0, 3)]


def test_no_rows_are_a_store_too(place: Path | None) -> None:
    with closing(empty([], place)) as store:
        assert (len(store), store.nbytes, list(store.blocks(8))) == (0, 0, [])
        assert cut(store.gather(np.empty(0, np.int64))) == []


def test_rows_far_apart_in_a_file_are_gathered_without_what_lies_between(tmp_path: Path) -> None:
    """A row of 100,000 words is more than one read skips over."""
    lengths = np.array([3, 100_000, 2, 100_000, 100_000, 4, 1], np.int64)
    store = StoredRows(lengths, tmp_path / "rows.bin")
    rng = np.random.default_rng(3)
    rows = [rng.integers(0, 2**64, int(length), dtype=np.uint64).tolist() for length in lengths]
    for number, row in enumerate(rows):
        store.put(number, number + 1, np.array(row, np.uint64))
    for chosen in ([0, 2, 5, 6], [0, 6], [2], [0, 1, 2], [1, 4, 5]):
        assert cut(store.gather(np.array(chosen))) == [rows[each] for each in chosen]
    store.close()


@pytest.mark.parametrize("threads", [2, 8])
def test_different_rows_may_be_put_at_the_same_time(place: Path | None, threads: int) -> None:
    rng = np.random.default_rng(threads)
    rows = [rng.integers(0, 2**64, int(n), dtype=np.uint64).tolist() for n in rng.integers(0, 50, 400)]
    with closing(empty(rows, place)) as store:

        def put(first: int) -> None:
            store.put(first, first + 4, flat(rows[first : first + 4]))

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(put, rng.permutation(np.arange(0, 400, 4)).tolist()))
        assert cut(store.take(0, 400)) == rows


@many
@given(st.lists(st.integers(0, 6), max_size=15), st.integers(0, 80))
def test_blocks_cover_all_rows_and_hold_no_more_than_they_may(lengths: list[int], most: int) -> None:
    store = StoredRows(np.array(lengths, np.int64))
    blocks = list(store.blocks(most))
    assert [row for first, end in blocks for row in range(first, end)] == list(range(len(lengths)))
    for first, end in blocks:
        assert end == first + 1 or 8 * sum(lengths[first:end]) <= max(most, 8)
    # As few as that allows: the first row of a block did not fit the one before.
    for (first, end), (_, following) in pairwise(blocks):
        assert following > end
        assert 8 * sum(lengths[first : end + 1]) > most


def test_rows_of_another_length_than_was_said_are_refused(place: Path | None) -> None:
    refused = pytest.raises(AssertionError, match="not as long as was said")
    with closing(empty([[1, 2], [3]], place)) as store, refused:
        store.put(0, 1, np.array([1], np.uint64))


def test_closing_removes_the_file_and_may_be_repeated(tmp_path: Path) -> None:
    store = filled([[1, 2], [3]], tmp_path / "rows.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.bin"]
    store.close()
    store.close()
    assert list(tmp_path.iterdir()) == []
