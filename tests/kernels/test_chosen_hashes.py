"""Hashes that somebody chose cost no more than others, and change nothing.

Steps are counted on the Python functions that kernels are compiled from, so that no test depends on time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import lookalike
from lookalike.collide import fold, group
from lookalike.io.making.coding import Coder
from lookalike.kernels.chosen_hashes import count_before, slot_hash, sort_pairs, steps_allowed, table_words
from lookalike.key import key_of
from lookalike.represent import bags
from lookalike.represent import shingle_kernels as shingle
from lookalike.represent.document_counts import Frequencies
from lookalike.represent.elements import element_sets, hash_ints, sets_of_hashes
from lookalike.represent.weights import count_repeats
from lookalike.spec import C1
from lookalike.twin.hashing import PUBLIC
from lookalike.types import Sets
from lookalike.verify import jaccard, weighted
from tests.reference.buckets import leaders
from tests.reference.forgery import equal_low_bits, equal_top_bits, integers_with, unmixed

CHOSEN = pytest.mark.parametrize("choose", [equal_low_bits, equal_top_bits])
Choose = Callable[[int], NDArray[np.uint64]]
# Enough that a step for each pair is far beyond what is allowed.
MANY = 3000


@given(st.lists(st.integers(0, 3) | st.integers(0, 2**64 - 1), max_size=50))
def test_pairs_are_sorted_by_all_bits_and_equal_ones_stay_in_order(values: list[int]) -> None:
    keys, loads = np.array(values, np.uint64), np.arange(len(values), dtype=np.uint32)
    sort_pairs(keys, loads)
    assert loads.tolist() == sorted(range(len(values)), key=values.__getitem__)
    assert keys.tolist() == sorted(values)


@given(st.lists(st.integers(0, 5), max_size=50))
def test_occurrences_are_counted_in_order(values: list[int]) -> None:
    n = len(values)
    codes, keys, places = np.array([9, *values], np.uint64), np.empty(n, np.uint64), np.empty(2 * n, np.int32)
    count_before(codes, 1, n, keys, places)
    assert places[n:].tolist() == [values[:i].count(value) for i, value in enumerate(values)]


@CHOSEN
def test_forged_integers_have_the_hashes_that_were_chosen(choose: Choose) -> None:
    hashes = choose(100)
    assert hash_ints(np.array(integers_with(hashes, PUBLIC), np.int64).view(np.uint64)).tolist() == hashes.tolist()


@CHOSEN
def test_sets_and_bags_of_chosen_elements_are_what_they_are(choose: Choose) -> None:
    hashes = np.concatenate([choose(MANY), choose(MANY)[::3]])
    integers = integers_with(hashes, PUBLIC)
    sets = element_sets(pa.array([integers, [7, 7, 8]]))
    assert sets.values[: sets.offsets[1]].tolist() == list(dict.fromkeys(hashes.tolist()))
    assert jaccard.sort_sets(sets.offsets, sets.values)[: sets.offsets[1]].tolist() == sorted(set(hashes.tolist()))
    collected = bags.bags(pa.array([integers]))
    values, times = np.unique(hashes, return_counts=True)
    assert collected.values.tolist() == values.tolist()
    assert collected.weights.tolist() == times.tolist()
    # The j-th further occurrence is an element of its own, the same as in a small bag.
    flags = shingle.BAG
    counted = sets_of_hashes(hashes, np.array([0, len(hashes)]), 0, flags).values
    apart = {
        int(x): sets_of_hashes(np.array([x, x], np.uint64), np.array([0, 2]), 0, flags).values.tolist()
        for x in choose(MANY)[::3]
    }
    assert counted.tolist() == choose(MANY).tolist() + [apart[int(x)][1] for x in choose(MANY)[::3]]


@CHOSEN
def test_pairs_of_chosen_elements_have_their_similarity(choose: Choose) -> None:
    integers = integers_with(choose(MANY), PUBLIC)
    for measure in ("jaccard", "containment", "weighted-jaccard", "cosine"):
        both: Any = [integers, integers[:-300]]
        if measure in ("weighted-jaccard", "cosine"):
            both = [dict.fromkeys(each, 1.5) for each in both]
        found = lookalike.pairs(both, measure=measure, threshold=0.5).table.to_pylist()
        expected = {"containment": 1.0, "cosine": 0.9**0.5}.get(measure, 0.9)
        assert [round(pair["similarity"], 6) for pair in found] == [round(expected, 6)]


@CHOSEN
def test_documents_and_repeats_of_chosen_shingles_are_counted(choose: Choose) -> None:
    values = np.concatenate([choose(MANY), choose(MANY)[::2]])
    offsets = np.array([0, MANY, len(values)])
    frequencies = Frequencies()
    frequencies.add(Sets(offsets, values, np.zeros((2, 2), np.uint64)))
    assert frequencies.of(choose(MANY)).tolist() == [2, 1] * (MANY // 2)
    row = values.copy()
    ends, times = np.empty(2, np.int64), np.empty(len(row), np.float32)
    table, places = np.empty(1 << 14, np.uint64), np.empty(1 << 14, np.int64)
    left = count_repeats(np.array([0, len(row)]), row, ends, times, table, places, key_of(3))
    assert (left, row[:left].tolist()) == (MANY, choose(MANY).tolist())
    assert times[:left].tolist() == [2.0, 1.0] * (MANY // 2)


def test_values_are_coded_by_first_appearance_under_any_key() -> None:
    coder = Coder(pa.int64())
    values = integers_with(equal_low_bits(MANY), PUBLIC)
    assert coder.codes(pa.array(values)).tolist() == list(range(MANY))
    assert coder.codes(pa.array(values[::-1])).tolist() == list(range(MANY))[::-1]


@CHOSEN
def test_slots_of_a_table_that_stays_do_not_follow_the_hashes(choose: Choose) -> None:
    """1,000 even hashes on 2^16 slots share one 7.6 times on average; above 40 the chance is below 1e-15."""
    words = table_words(key_of(11))
    slots = {int(slot_hash(x, words)) & 0xFFFF for x in choose(1000)}
    assert len(slots) > 960


class Counted(np.ndarray[Any, Any]):
    """An array that counts how often one of its numbers is read."""

    reads = 0

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return np.asarray(self)[place]
        Counted.reads += 1
        return np.asarray(self)[place]


def reads_of(function: Callable[..., Any], *arguments: Any) -> int:
    Counted.reads = 0
    function(*[each.view(Counted) if isinstance(each, np.ndarray) else each for each in arguments])
    return Counted.reads


def row_sort(hashes: NDArray[np.uint64]) -> int:
    n = len(hashes)
    scratch = np.empty(n, np.uint64), np.empty(2 * n + 2, np.int64)
    return reads_of(jaccard.sort_rows.python, np.array([0, n]), hashes, *scratch)


def bag_packing(hashes: NDArray[np.uint64]) -> int:
    n = len(hashes)
    words = np.empty(2 * n, np.uint64)
    return reads_of(
        *(weighted.pack_bags.python, np.array([0, n]), hashes, np.ones(n, np.float32), np.array([0, 2 * n])),
        *(words, words.view(np.float32), np.empty(n, np.int64), np.empty(2 * n + 2, np.int64)),
    )


def bag_sort(hashes: NDArray[np.uint64]) -> int:
    n = len(hashes)
    scratch = np.empty(n, np.uint64), np.empty(n), np.empty((1 << 16) + 1, np.int64)
    before = reads_of(bags._sort.py_func, hashes[:0], np.ones(0), 0, 0, *scratch)
    return reads_of(bags._sort.py_func, hashes, np.ones(n), 0, n, *scratch) - before


def grouping(hashes: NDArray[np.uint64]) -> int:
    n = len(hashes)
    scratch = [
        np.empty(n, np.uint64),
        np.empty(n, np.uint32),
        np.empty(2049, np.int64),
        np.empty((1 << 14) + 1, np.int64),
    ]
    out = [np.zeros(n, np.uint8), np.empty(n, np.uint32)] + [np.empty(n + 2, np.int64) for _ in range(3)]
    return reads_of(group.group_entries.python, hashes, np.arange(n, dtype=np.uint32), *scratch, n, *out)


def leading(hashes: NDArray[np.uint64]) -> int:
    n = len(hashes)
    members = np.arange(n, dtype=np.uint32)
    return reads_of(fold.lead_buckets.python, members, np.array([0, n]), hashes, np.empty(n, np.uint32))


@CHOSEN
@pytest.mark.parametrize("sort", [row_sort, bag_packing, bag_sort, grouping, leading])
def test_steps_are_in_proportion_to_chosen_hashes(sort: Callable[[NDArray[np.uint64]], int], choose: Choose) -> None:
    """A few reads for each element and each of its buckets, and some for each step that is allowed."""
    n = 1000
    assert sort(choose(n)) <= 4 * steps_allowed.py_func(n) + 20 * n < n * n // 8


@pytest.mark.parametrize("way", ["_distinct", "_counted"])
def test_tables_of_chosen_elements_take_as_many_steps_as_are_allowed(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, n = 0, MANY

    def read(array: Any, place: int) -> Any:
        nonlocal reads
        reads += 1
        return array[place]

    def write(array: Any, place: int, value: Any) -> None:
        array[place] = value

    monkeypatch.setattr(shingle, "peek", read)
    monkeypatch.setattr(shingle, "poke", write)
    for name in ("_find", "_emptied", "append_all"):
        monkeypatch.setattr(shingle, name, getattr(shingle, name).py_func)
    hashes = equal_low_bits(n)
    table, counts = np.zeros(8192, np.uint64), np.zeros(8192, np.int32)
    values = np.empty(n, np.uint64)
    with np.errstate(over="ignore"):
        assert getattr(shingle, way).py_func(hashes, n, table, counts, values, 0) == n
    assert reads <= steps_allowed.py_func(n) + 5 * n < n * n // 8
    assert values.tolist() == hashes.tolist()


def test_items_with_equal_halves_of_their_fingerprints_are_told_apart() -> None:
    """Two elements a and b with mix(a ^ C1) + mix(b ^ C1) of one's choice: the first half is the same for all."""
    first = np.arange(1, MANY + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    halves = [unmixed(half) ^ C1 for half in (first, np.uint64(0x1234567890ABCDEF) - first)]
    items = list(zip(*(integers_with(half, PUBLIC) for half in halves), strict=True))
    sets = element_sets(pa.array([list(item) for item in items]))
    assert len(set(sets.fingerprints[:, 0].tolist())) == 1
    kept = lookalike.dedup([list(item) for item in items + items[:7]], exact=True)
    assert kept.removed["kept"].to_pylist() == list(range(7))
    members = np.arange(2 * MANY, dtype=np.uint32)
    seconds = np.concatenate([sets.fingerprints[:, 1], sets.fingerprints[::-1, 1]])
    leader = np.empty(2 * MANY, np.uint32)
    assert fold.lead_buckets(members, np.array([0, 2 * MANY]), seconds, leader) == MANY
    assert leader.tolist() == leaders([(0, int(second)) for second in seconds])
