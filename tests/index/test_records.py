"""Records are those of their twin, byte for byte, and one that is not whole ends the log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.index.records import GONE, check_records, take_in_records
from lookalike.key import PUBLIC_KEY
from lookalike.types import U8Array
from tests.reference import indexing
from tests.stored_records import NOW, Item, appended


def checked(
    data: U8Array, room: int = 100, *, volume: int = 5, with_checksums: bool = True
) -> tuple[list[int], int, int]:
    """Places, where the walk ended, and how many were removed."""
    state, places, gone = np.zeros(2, np.int64), np.zeros(room, np.uint64), np.zeros(1, np.int64)
    count = check_records(data, state, volume, int(with_checksums), PUBLIC_KEY, places, gone)
    return places[:count].tolist(), int(state[0]), int(gone[0])


ids = st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(min_size=1, max_size=20))
items = st.lists(
    st.tuples(ids, st.binary(max_size=20), st.binary(max_size=40), st.integers(0, 2**22)), min_size=1, max_size=8
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(items)
def test_records_are_those_of_the_twin_and_are_found_again(given: list[Item]) -> None:
    data, state, places, done = appended(given)
    assert done == len(given)
    records: list[bytes] = []
    for item in given:
        records.append(indexing.record(*item, volume=5, spot=sum(map(len, records)), now=NOW))
    end = sum(map(len, records))
    assert data[:end].tobytes() == b"".join(records)
    assert state.tolist() == [end, 0]
    spots = np.cumsum([0, *map(len, records)])[:-1].tolist()
    assert places.tolist() == [indexing.place(5, spot, item[3]) for spot, item in zip(spots, given, strict=True)]
    assert checked(data) == (places.tolist(), end, 0)


def three() -> list[Item]:
    return [("a", b"", b"row", 1), (7, b"{}", b"", 0), ("c" * 30, b"payload", b"x" * 33, 4)]


def test_a_volume_without_room_ends_in_front_of_the_record() -> None:
    whole = sum(len(indexing.record(*item, volume=5, spot=0, now=NOW)) for item in three()[:2])
    assert [appended(three(), room=room)[3] for room in (8, whole + 63, whole + 64, 1 << 12)] == [0, 1, 2, 3]


def test_what_was_removed_is_passed_over() -> None:
    data, state, places, _ = appended(three())
    spot = int(places[1] & np.uint64(2**27 - 1)) * 8
    data[spot : spot + 2].view(np.uint16)[0] = GONE
    assert data[spot : spot + 2].tobytes() == b"gg"
    assert checked(data) == ([int(places[0]), int(places[2])], int(state[0]), 1)


@pytest.mark.parametrize("bit", range(8))
def test_no_bit_of_a_record_can_turn_over_unnoticed(bit: int) -> None:
    data, _, places, _ = appended(three())
    second, third = (int(place & np.uint64(2**27 - 1)) * 8 for place in places[1:])
    for byte in range(second, third):
        wrong = data.copy()
        wrong[byte] ^= 1 << bit
        assert checked(wrong) == ([int(places[0])], second, 0), byte


def test_a_record_of_another_place_in_the_log_is_none() -> None:
    data, _, places, _ = appended(three())
    second = int(places[1] & np.uint64(2**27 - 1)) * 8
    moved = np.zeros(1 << 12, np.uint8)
    moved[: 1 << 11] = data[second : second + (1 << 11)]
    assert checked(moved) == ([], 0, 0)


def test_as_many_are_read_as_there_is_room_for() -> None:
    data, _, places, _ = appended(three())
    assert checked(data, room=2)[0] == places[:2].tolist()


def test_hostile_lengths_are_never_followed() -> None:
    data: Any = np.zeros(256, np.uint8)
    for length in (8, 40, 41, 248, 256, 2**31, 2**32 - 8):
        wrong = np.frombuffer(indexing.record("a", b"", b"", 0, volume=5, spot=0, now=NOW), np.uint8).copy()
        wrong[8:12] = np.frombuffer(length.to_bytes(4, "little"), np.uint8)
        data[: len(wrong)] = wrong
        assert checked(data, with_checksums=False)[0] == ([] if length not in (40, 248) else [indexing.place(5, 0, 0)])


def taken_in(records: list[bytes], volume: int = 3) -> tuple[int, U8Array, list[int]]:
    starts = np.cumsum([0, *map(len, records)])
    data, places = np.frombuffer(b"".join(records) + bytes(64), np.uint8).copy(), np.zeros(len(records), np.uint64)
    return take_in_records(data, starts, volume, PUBLIC_KEY, places), data, places.tolist()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(items)
def test_records_that_are_taken_in_are_those_of_the_twin_at_their_new_place(given: list[Item]) -> None:
    travelling = [indexing.record(*item, volume=0, spot=0, now=NOW, synced=8 * 77) for item in given]
    count, data, places = taken_in(travelling)
    assert count == len(given)
    spots = np.cumsum([0, *map(len, travelling)]).tolist()
    expected = [
        indexing.record(*item, volume=3, spot=spot, now=NOW, synced=8 * 77)
        for item, spot in zip(given, spots, strict=False)
    ]
    assert data[: spots[-1]].tobytes() == b"".join(expected)
    assert places == [indexing.place(3, spot, item[3]) for item, spot in zip(given, spots, strict=False)]
    assert checked(data, volume=3) == (places, spots[-1], 0)


def test_no_damaged_record_is_taken_in() -> None:
    good = [indexing.record(*item, volume=0, spot=0, now=NOW) for item in three()]
    for byte in range(len(good[1])):
        for bit in range(8):
            wrong = bytearray(good[1])
            wrong[byte] ^= 1 << bit
            assert taken_in([good[0], bytes(wrong), good[2]])[0] == -2, (byte, bit)
    for cut in (good[1][:-8], good[1][:-1], good[1][:8], b"", good[1] + bytes(8)):
        assert taken_in([good[0], cut])[0] == -2
    # One that was written for another place is none, either.
    assert taken_in([indexing.record(*three()[0], volume=0, spot=8, now=NOW)])[0] == -1
