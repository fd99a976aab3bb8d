"""Packed sets are those of their twin, and come out as they went in."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.index.packed_sets import ELEMENT_BITS, cut_elements, gather_rows, pack_sets, packed_bytes, unpack_sets
from lookalike.kernels.addresses import address_of
from tests.reference import indexing

some = settings(max_examples=150, deadline=None, derandomize=True)
elements = st.integers(0, 2**ELEMENT_BITS - 1)


@some
@given(st.lists(st.lists(elements, max_size=80, unique=True).map(sorted), max_size=6))
def test_rows_are_packed_as_their_twins_and_unpacked_again(rows: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)])
    values = np.array([x for row in rows for x in row], np.uint64)
    starts, data = pack_sets(offsets, values)
    whole = np.concatenate([data, np.full(8, 255, np.uint8)])
    found = [whole[begin:end].tobytes() for begin, end in pairwise(starts)]
    assert found == [indexing.packed(row) for row in rows]
    assert starts.tolist() == packed_bytes(offsets).tolist()
    assert unpack_sets(address_of(whole) + starts[:-1], offsets).tolist() == values.tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 4000])
@pytest.mark.parametrize("where", ["low", "high", "spread"])
def test_sets_of_every_size_and_place(size: int, where: str) -> None:
    largest = 2**ELEMENT_BITS - 1
    row = {
        "low": range(size),
        "high": range(largest - size + 1, largest + 1),
        "spread": range(0, largest, largest // size),
    }
    values = np.array(list(row[where])[:size], np.uint64)
    _, data = pack_sets(np.array([0, size]), values)
    assert data.tobytes() == indexing.packed(values.tolist())
    whole = np.concatenate([data, np.zeros(8, np.uint8)])
    assert unpack_sets(np.array([address_of(whole)]), np.array([0, size])).tolist() == values.tolist()


def test_an_element_that_stands_twice_stays() -> None:
    values = np.array([3, 3, 7], np.uint64)
    starts, data = pack_sets(np.array([0, 3]), values)
    whole = np.concatenate([data, np.zeros(8, np.uint8)])
    assert unpack_sets(np.array([address_of(whole)]), np.array([0, 3])).tolist() == [3, 3, 7]
    assert starts.tolist() == [0, len(data)]


def test_elements_are_cut_to_their_upper_bits() -> None:
    assert cut_elements(np.array([2**64 - 1, 2**18, 2**18 - 1], np.uint64)).tolist() == [2**46 - 1, 1, 0]


def test_rows_of_numbers_are_gathered_from_wherever_they_lie() -> None:
    memory = np.random.default_rng(0).integers(0, 256, 400, dtype=np.uint8)
    places, lengths = [8, 200, 3, 0], [40, 0, 12, 4]
    starts = np.cumsum([0, *(length // 4 for length in lengths)])
    out = np.empty(int(starts[-1]), np.uint32)
    gather_rows(address_of(memory) + np.array(places), starts, out)
    assert out.tobytes() == indexing.gathered(memory.tobytes(), places, lengths)
