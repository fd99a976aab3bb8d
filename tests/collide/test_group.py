"""Buckets against a dict: what shares a key is together, in the order it came, with the probes last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.group import PROBE, Groups, group, select_keys
from lookalike.types import BoolArray, U32Array, U64Array
from tests.reference import buckets as twin

many = settings(max_examples=120, deadline=None, derandomize=True)

TOP = 2**64 - 1


def split(groups: Groups) -> list[twin.Bucket]:
    """The buckets as the twin has them."""
    members, starts, splits = groups.members.tolist(), groups.starts.tolist(), groups.splits.tolist()
    assert starts[0] == 0
    assert starts[-1] == len(members)
    borders = zip(starts[:-1], splits, starts[1:], strict=True)
    return [twin.Bucket(members[start:middle], members[middle:end]) for start, middle, end in borders]


def grouped(keys: U64Array, items: U32Array, probes: BoolArray, size: int, most: int) -> tuple[Groups, list[int]]:
    """The buckets, and the items that were marked as giant."""
    giant = np.zeros(size, np.bool_)
    marked = items | np.where(probes, np.uint32(PROBE), np.uint32(0))
    groups = group(keys.copy(), marked, giant, most=most)
    return groups, np.flatnonzero(giant).tolist()


def check(keys: U64Array, items: U32Array, probes: BoolArray, most: int) -> None:
    expected = twin.group(zip(keys.tolist(), items.tolist(), probes.tolist(), strict=True), most)
    groups, giant = grouped(keys, items, probes, int(items.max(initial=0)) + 1, most)
    assert split(groups) == expected.buckets
    assert giant == sorted(expected.giant)
    assert (groups.giants, groups.largest, len(groups)) == (expected.giants, expected.largest, len(expected.buckets))


entry = st.tuples(st.sampled_from([0, 1, 2, 2**63 - 1, 2**63, TOP - 1, TOP]), st.integers(0, 20), st.booleans())


@many
@given(st.lists(entry, max_size=40), st.integers(0, 12))
def test_buckets_are_those_of_a_dict(entries: list[tuple[int, int, bool]], most: int) -> None:
    keys = np.array([key for key, _, _ in entries], np.uint64)
    items = np.array([item for _, item, _ in entries], np.uint32)
    check(keys, items, np.array([probe for _, _, probe in entries], np.bool_), most)


# The borders of what is scattered: 512 entries by no coarse bit, up to 1,024 by one, and so on.
SIZES = [0, 1, 2, 3, 511, 512, 513, 1024, 1025, 3000]


def spread(kind: str, n: int, rng: np.random.Generator) -> U64Array:
    """Keys as they may come, most of them far from uniform."""
    if kind == "uniform":
        return rng.integers(0, TOP, n, dtype=np.uint64, endpoint=True)
    if kind == "pairs":
        return np.repeat(spread("uniform", n // 2 + 1, rng), 2)[rng.permutation(n)]
    if kind == "few":
        return rng.integers(0, 40, n, dtype=np.uint64) * np.uint64(TOP // 39)
    if kind == "one":
        return np.full(n, TOP, np.uint64)
    if kind == "equal in the top 32 bits":
        return np.uint64(0xDEAD << 32) + rng.integers(0, 2**32, n, dtype=np.uint64)
    if kind == "equal in the top 60 bits":
        return np.uint64(TOP - 15) + rng.integers(0, 16, n, dtype=np.uint64)
    assert kind == "descending"
    return np.arange(n, 0, -1, dtype=np.uint64)


KINDS = [
    "uniform", "pairs", "few", "one", "equal in the top 32 bits", "equal in the top 60 bits", "descending"
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_keys_of_any_kind_and_number_are_grouped(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    keys = spread(kind, n, rng)
    for most, share in ((TOP >> 1, 0.0), (100, 0.0), (2, 0.3), (20, 0.9), (10, 1.0)):
        items = rng.integers(0, max(1, n), n, dtype=np.uint32)
        check(keys, items, rng.random(n) < share, most)


def test_items_of_a_bucket_keep_their_order_and_probes_stand_behind_the_others() -> None:
    keys = np.array([7, 3, 7, 3, 7, 7], np.uint64)
    probes = np.array([True, False, False, True, True, False])
    groups, _ = grouped(keys, np.array([9, 4, 2, 1, 8, 0], np.uint32), probes, 10, 5)
    assert split(groups) == [twin.Bucket([4], [1]), twin.Bucket([2, 0], [9, 8])]


def test_probes_alone_make_no_bucket_and_do_not_make_one_giant() -> None:
    keys, items = np.full(5, 1, np.uint64), np.arange(5, dtype=np.uint32)
    groups, giant = grouped(keys, items, np.ones(5, np.bool_), 5, 2)
    assert (len(groups), groups.giants, groups.largest, giant) == (0, 0, 0, [])
    groups, giant = grouped(keys, items, np.arange(5) > 1, 5, 2)
    assert split(groups) == [twin.Bucket([0, 1], [2, 3, 4])]
    assert giant == []


def test_a_bucket_above_the_most_is_left_out_and_marks_its_items_probes_too() -> None:
    keys = np.array([5, 5, 5, 5, 6, 6], np.uint64)
    probes = np.array([False, False, False, True, False, False])
    groups, giant = grouped(keys, np.arange(6, dtype=np.uint32), probes, 8, 2)
    assert split(groups) == [twin.Bucket([4, 5], [])]
    assert giant == [0, 1, 2, 3]
    assert (groups.giants, groups.largest) == (1, 3)


def test_marks_of_an_earlier_band_stay() -> None:
    giant = np.array([True, False, False])
    group(np.array([1, 1], np.uint64), np.array([1, 2], np.uint32), giant, most=1)
    assert giant.tolist() == [True, True, True]
    group(np.array([1, 1], np.uint64), np.array([1, 2], np.uint32), giant, most=2)
    assert giant.tolist() == [True, True, True]


@many
@given(st.lists(st.integers(0, 9), max_size=30), st.lists(st.booleans(), min_size=12, max_size=12))
def test_some_of_the_buckets_are_as_they_were_among_all(keys: list[int], flags: list[bool]) -> None:
    probes = np.arange(len(keys)) % 3 == 2
    groups, _ = grouped(np.array(keys, np.uint64), np.arange(len(keys), dtype=np.uint32), probes, 40, 40)
    chosen = np.array(flags[: len(groups)], np.bool_)
    kept = [bucket for bucket, flag in zip(split(groups), chosen, strict=True) if flag]
    assert split(groups.chosen(chosen)) == kept


def selected(
    keys: Sequence[int], active: Sequence[bool], first: int, low: int, high: int, room: int
) -> tuple[int, list[tuple[int, int]]]:
    out, items = np.zeros(room, np.uint64), np.zeros(room, np.uint32)
    count = select_keys(
        np.array(keys, np.uint64), np.array(active, np.uint8), first, np.uint64(low), np.uint64(high), out, items, 0
    )
    return count, list(zip(out.tolist(), items.tolist(), strict=True))[:count]


@many
@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2**63, TOP - 1, TOP]), st.booleans()), max_size=15),
    st.sampled_from([0, 1, 2**63]),
    st.sampled_from([0, 2**63, TOP]),
    st.integers(0, 16),
)
def test_keys_of_active_items_in_a_span_are_selected_and_counted_even_without_room(
    rows: list[tuple[int, bool]], low: int, high: int, room: int
) -> None:
    keys, active = [key for key, _ in rows], [on for _, on in rows]
    expected = twin.select(keys, active, 100, low, high)
    count, found = selected(keys, active, 100, low, high, room)
    assert count == len(expected)
    assert found == expected[:room]


def test_selecting_goes_on_where_the_last_chunk_ended() -> None:
    out, items = np.zeros(4, np.uint64), np.zeros(4, np.uint32)
    count = 0
    for first in (0, 2):
        keys = np.array([10 + first, 20 + first], np.uint64)
        count = select_keys(keys, np.ones(2, np.uint8), first, np.uint64(0), np.uint64(TOP), out, items, count)
    assert count == 4
    assert out.tolist() == [10, 20, 12, 22]
    assert items.tolist() == [0, 1, 2, 3]


buckets = st.lists(
    st.tuples(st.lists(st.integers(0, 20), min_size=1, max_size=4), st.lists(st.integers(0, 20), max_size=4)).filter(
        lambda bucket: len(bucket[0]) + len(bucket[1]) > 1
    ),
    max_size=6,
)


def groups_of(made: Sequence[tuple[list[int], list[int]]]) -> Groups:
    members = [item for indexed, probes in made for item in (*indexed, *probes)]
    starts = np.cumsum([0, *(len(indexed) + len(probes) for indexed, probes in made)]).astype(np.int64)
    splits = starts[:-1] + np.array([len(indexed) for indexed, _ in made], np.int64)
    return Groups(np.array(members, np.uint32), starts, splits, 0, 0)


@many
@given(buckets, st.sets(st.integers(0, 20)))
def test_buckets_of_those_that_stay_are_as_if_there_were_no_others(
    made: list[tuple[list[int], list[int]]], staying: set[int]
) -> None:
    groups = groups_of(made)
    left = [tuple([item for item in half if item in staying] for half in bucket) for bucket in made]
    expected = [twin.Bucket(*bucket) for bucket in left if bucket[0] and len(bucket[0]) + len(bucket[1]) > 1]
    assert split(groups.only(np.isin(groups.members, list(staying)))) == expected


@many
@given(buckets)
def test_ascending_buckets_have_their_probes_last_still(made: list[tuple[list[int], list[int]]]) -> None:
    expected = [twin.Bucket(sorted(indexed), sorted(probes)) for indexed, probes in made]
    assert split(groups_of(made).ascending()) == expected
