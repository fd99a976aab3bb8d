"""Looking up: candidates and scores are those of the twins, whatever segments and tables there are."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.index.lookup import SLOTS, TAKEN, find_places, find_rows, score_sets
from lookalike.index.packed_sets import pack_sets
from lookalike.index.recent_table import RecentTable, table_bytes
from lookalike.index.records import GONE
from lookalike.index.segments import build_segment, segment_bytes
from lookalike.kernels.addresses import address_of
from lookalike.kernels.signatures import odd_signatures
from lookalike.key import PUBLIC_KEY
from lookalike.types import I64Array, U8Array, U64Array
from tests.reference import indexing
from tests.stored_records import appended

BANDS = 4


def some_keys(items: int, seed: int) -> U64Array:
    """(items x bands), where a fifth of all keys is one of three."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, (items, BANDS), dtype=np.uint64)
    common = rng.integers(0, 2**64, 3, dtype=np.uint64)
    often = rng.random((items, BANDS)) < 0.2
    keys[often] = common[rng.integers(0, 3, int(often.sum()))]
    return keys


def found(
    stored: U64Array,
    queries: U64Array,
    cuts: list[int],
    *,
    recent: int,
    most: int = 10**9,
    first: int = 0,
    last: int = BANDS,
) -> tuple[list[set[int]], list[int]]:
    """What is found in segments that are cut at some items, the last ones of which are recent."""
    segments = []
    for begin, end in zip([0, *cuts], [*cuts, len(stored) - recent], strict=True):
        keys = np.ascontiguousarray(stored[begin:end].T)
        data = np.zeros(segment_bytes(end - begin, BANDS, 0), np.uint8)
        segments.append(
            build_segment(data, keys, np.arange(begin, end, dtype=np.uint64), np.empty((end - begin, 0), np.uint64))
        )
    capacity = 1 << max(3, recent.bit_length())
    table = RecentTable.begin(np.zeros(table_bytes(capacity, BANDS, 0), np.uint8), capacity, BANDS, 0)
    begin = len(stored) - recent
    table.add(stored[begin:], np.arange(begin, len(stored), dtype=np.uint64), np.empty((recent, 0), np.uint64))
    fields = np.stack([segment.fields for segment in segments])
    places, signatures = np.empty(2 * TAKEN, np.uint64), np.empty(2 * TAKEN, np.int64)
    ends, left_out = np.zeros(len(queries) + 1, np.int64), np.zeros(len(queries), np.int64)
    slots = np.zeros(SLOTS, np.uint64)
    done = 0
    answers: list[set[int]] = []
    while done < len(queries):
        ends[:] = 0
        upto = find_places(
            queries, done, first, last, fields, table.fields.reshape(1, -1), most, slots, np.empty(TAKEN, np.int64),
            places, signatures, ends, left_out,
        )  # fmt: skip
        for query in range(done, upto):
            mine = places[ends[query] : ends[query + 1]].tolist()
            assert len(set(mine)) == len(mine), "each candidate is told once"
            answers.append(set(mine))
        done = upto
    assert not slots.any(), "the table is left as it was"
    return answers, left_out.tolist()


@pytest.mark.parametrize("items", [1, 5, 40, 500])
@pytest.mark.parametrize("recent", [0, 1, 30])
def test_candidates_are_those_that_share_a_key(items: int, recent: int) -> None:
    recent = min(recent, items)
    stored = some_keys(items, items)
    queries = np.concatenate([stored[:: max(1, items // 50)], some_keys(20, 7)])
    cuts = [(items - recent) // 3, (items - recent) // 2]
    for first, last in ((0, BANDS), (2, 3), (BANDS - 1, BANDS)):
        answers, left_out = found(stored, queries, cuts, recent=recent, first=first, last=last)
        expected = [indexing.sharing(stored.tolist(), query, first, last) for query in queries.tolist()]
        assert answers == expected
        assert not any(left_out)


def test_no_more_entries_are_looked_at_than_allowed_and_the_others_are_counted() -> None:
    stored = np.full((1000, BANDS), 12345 << 40, np.uint64)
    answers, left_out = found(stored, stored[:1], [400, 600], recent=100, most=450)
    # The table has 100 entries in each of 4 bands; of the segments' 900 in each, 50 are left to look at.
    assert len(answers[0]) == 150
    assert left_out[0] == 900 * BANDS - 50
    answers, left_out = found(stored, stored[:1], [400, 600], recent=100)
    assert (len(answers[0]), left_out[0]) == (1000, 0)


def test_small_buckets_come_before_large_ones() -> None:
    stored = np.random.default_rng(3).integers(0, 2**64, (5000, BANDS), dtype=np.uint64)
    stored[:, 0] = 12345 << 40
    queries = stored[:1].copy()
    queries[0, 3] = stored[4321, 3]
    answers, left_out = found(stored, queries, [2000], recent=0, most=200)
    assert {0, 4321} <= answers[0]
    assert 4800 < left_out[0] < 5000
    answers, left_out = found(stored, queries, [2000], recent=0)
    assert (len(answers[0]), left_out[0]) == (5000, 0)


def test_candidates_for_which_there_is_no_room_are_counted() -> None:
    stored = np.full((TAKEN + 1_000, BANDS), 12345 << 40, np.uint64)
    answers, left_out = found(stored, stored[:1], [400, 600], recent=100)
    assert len(answers[0]) == TAKEN
    # Each of them in every band.
    assert left_out[0] == 1_000 * BANDS


def mapped(volume: U8Array) -> list[int]:
    """Where a volume begins and ends."""
    return [address_of(volume), address_of(volume) + len(volume)]


def random_sets(count: int, seed: int) -> list[set[int]]:
    """Sets around a few centres, so that many are alike."""
    rng = np.random.default_rng(seed)
    centres = [set(rng.integers(0, 2**46, 60).tolist()) for _ in range(4)]
    sets = []
    for _ in range(count):
        centre = list(centres[int(rng.integers(4))])
        kept = [x for x in centre if rng.random() < rng.choice([0.5, 0.8, 0.95, 1.0])]
        sets.append(set(kept) | set(rng.integers(0, 2**46, int(rng.integers(0, 15))).tolist()))
    return sets


def arrays_of(sets: list[set[int]]) -> tuple[I64Array, U64Array, U64Array]:
    """Offsets, sorted elements and signatures."""
    offsets = np.cumsum([0, *map(len, sets)])
    values = np.array([x for each in sets for x in sorted(each)], np.uint64)
    signed = np.zeros(4 * len(sets), np.uint64)
    odd_signatures(offsets, values << np.uint64(18), np.arange(len(sets), dtype=np.uint32), 4, signed)
    return offsets, values, signed


@pytest.mark.parametrize("threshold", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("inside", [0, 1])
@pytest.mark.parametrize("signed", [False, True])
def test_scores_are_those_of_the_twin(threshold: float, inside: int, signed: bool) -> None:
    stored, queries = random_sets(120, 1), [*random_sets(15, 1), *random_sets(5, 2)]
    offsets, values, signatures = arrays_of(stored)
    starts, rows = pack_sets(offsets, values)
    items = [(f"id{i}", b"", rows[starts[i] : starts[i + 1]].tobytes(), len(each)) for i, each in enumerate(stored)]
    volume, _, places, _ = appended(list(items), volume=2)
    gone = int(places[3] & np.uint64(2**27 - 1)) * 8
    volume[gone : gone + 2].view(np.uint16)[0] = GONE
    addresses = np.array([[0, 0], [0, 0], mapped(volume)], np.int64)
    many = np.tile(places, len(queries))
    at = address_of(signatures) + 32 * np.arange(len(stored)) if signed else np.zeros(len(stored), np.int64)
    query_offsets, query_values, query_signed = arrays_of(queries)
    ends = np.arange(0, len(many) + 1, len(stored))
    hits, scores, hit_ends = np.empty(len(many), np.int64), np.empty(len(many)), np.zeros(len(queries) + 1, np.int64)
    compared = np.zeros(2 * len(queries), np.int64)
    arguments = (
        many, np.tile(at, len(queries)), ends, addresses, PUBLIC_KEY, query_offsets, query_values, query_signed,
        threshold, inside,
    )  # fmt: skip
    rest = (*np.empty((2, len(many)), np.int64), hits, scores, hit_ends, compared)
    assert score_sets(0, *arguments, 10**6, 0, np.empty(2, np.uint64), *rest) == 0
    assert score_sets(0, *arguments, 10**6, 0, np.empty(200, np.uint64), *rest) == len(queries)
    numbers = {int(place): item for item, place in enumerate(places)}
    for query, its in enumerate(queries):
        mine = slice(hit_ends[query], hit_ends[query + 1])
        found = {numbers[int(many[hit])]: score for hit, score in zip(hits[mine], scores[mine], strict=True)}
        expected = indexing.scored(its, stored, threshold, bool(inside))
        expected.pop(3, None)
        assert found == expected
        assert compared[2 * query + 1] == 0


def test_of_too_many_candidates_the_likeliest_are_compared() -> None:
    stored = random_sets(200, 5)
    query = stored[17]
    offsets, values, signatures = arrays_of(stored)
    starts, rows = pack_sets(offsets, values)
    items = [(i, b"", rows[starts[i] : starts[i + 1]].tobytes(), len(each)) for i, each in enumerate(stored)]
    volume, _, places, _ = appended(list(items), volume=0)
    query_offsets, query_values, query_signed = arrays_of([query])
    for most, until in ((5, 0), (10**6, 1)):
        hits, hit_ends, compared = np.empty(200, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
        these, scores = places.copy(), np.empty(200)
        score_sets(
            0, these, address_of(signatures) + 32 * np.arange(200), np.array([0, 200]),
            np.array([mapped(volume)]), PUBLIC_KEY, query_offsets, query_values, query_signed, 0.3, 0, most, until,
            np.empty(200, np.uint64), *np.empty((2, 200), np.int64), hits, scores, hit_ends, compared,
        )  # fmt: skip
        if until:
            assert hit_ends[1] == 1
        else:
            assert compared[0] == 5
            assert compared[1] > 0
            assert int(places[17]) in these[hits[: hit_ends[1]]].tolist()


def test_rows_of_removed_items_and_unknown_volumes_are_not_found() -> None:
    volume, _, places, _ = appended([("a", b"", b"12345678", 1), ("b", b"xy", b"abcdefgh", 2)], volume=1)
    volume[:2].view(np.uint16)[0] = GONE
    addresses = np.array([[0, 0], mapped(volume)], np.int64)
    asked = np.array([*places, indexing.place(0, 0, 1), indexing.place(9, 0, 1)], np.uint64)
    which, rows, sizes = np.empty((3, 4), np.int64)
    assert find_rows(asked, addresses, 1, PUBLIC_KEY, which, rows, sizes) == 1
    spot = int(places[1] & np.uint64(2**27 - 1)) * 8
    assert (which[0], sizes[0], rows[0]) == (1, 2, address_of(volume) + spot + 32 + 8 + 8)


def test_a_damaged_record_is_told_and_not_used() -> None:
    volume, _, places, _ = appended([("a", b"", b"12345678", 1), ("b", b"xy", b"abcdefgh", 2)], volume=0)
    addresses, out = np.array([mapped(volume)], np.int64), np.empty((3, 2), np.int64)
    spot = int(places[1] & np.uint64(2**27 - 1)) * 8
    for byte in range(spot, spot + 56):
        wrong = volume[byte]
        volume[byte] ^= 4
        assert find_rows(places, addresses, 1, PUBLIC_KEY, *out) == -2, byte
        volume[byte] = wrong
    assert find_rows(places, addresses, 1, PUBLIC_KEY, *out) == 2
    outside = np.array([indexing.place(0, len(volume) - 8, 1)], np.uint64)
    assert find_rows(outside, addresses, 0, PUBLIC_KEY, *out) == -1
