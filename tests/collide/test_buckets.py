"""Candidates against nested loops: every pair that shares a bucket, exactly once, in order, in chunks of any size."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.collide.buckets import Buckets, Likeness, Walk
from lookalike.collide.group import Groups
from lookalike.types import I64Array
from tests.reference import buckets as twin

many = settings(max_examples=120, deadline=None, derandomize=True)

Bands = list[list[twin.Bucket]]

ITEMS = 18
CHUNKS = [1, 7, 1 << 20]


def groups_of(buckets: Sequence[twin.Bucket]) -> Groups:
    starts = np.cumsum([0, *(len(each.indexed) + len(each.probes) for each in buckets)])
    splits = starts[:-1] + np.array([len(each.indexed) for each in buckets], np.int64)
    members = [item for each in buckets for item in [*each.indexed, *each.probes]]
    return Groups(np.array(members, np.uint32), starts.astype(np.int64), splits.astype(np.int64), 0, 0)


def indexed(bands: Bands) -> Buckets:
    return Buckets(ITEMS, [groups_of(band) for band in bands])


def flags(apart: Set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    out = np.zeros(ITEMS, np.bool_)
    out[list(apart)] = True
    return out


def found(bands: Bands, apart: Set[int] | None, chunk: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    told: list[int] = []
    given_apart = None if apart is None else flags(apart)
    for left, right in indexed(bands).candidates(given_apart, chunk=chunk, on_items=told.append):
        assert left.dtype == right.dtype == np.int64
        assert len(left) == len(right) > 0
        # An item's own candidates stay together even where they are more than a chunk.
        assert len(left) <= chunk or len(left) <= len(bands) * ITEMS * 2
        pairs += zip(left.tolist(), right.tolist(), strict=True)
    assert sum(told) == ITEMS
    return pairs


@st.composite
def buckets(draw: st.DrawFn) -> twin.Bucket:
    """Items ascend, those that are no probes and those that are."""
    items = draw(st.sets(st.integers(0, ITEMS - 1), min_size=2, max_size=8))
    probes = draw(st.sets(st.sampled_from(sorted(items)))) if draw(st.booleans()) else set()
    return twin.Bucket(sorted(items - probes), sorted(probes))


bands_of_buckets = st.lists(st.lists(buckets(), max_size=5), max_size=4)
sets_of_items = st.sets(st.integers(0, ITEMS - 1))


@many
@given(bands_of_buckets, st.none() | sets_of_items, st.sampled_from(CHUNKS))
def test_each_pair_that_shares_a_bucket_comes_once_and_in_order(
    bands: Bands, apart: set[int] | None, chunk: int
) -> None:
    """Buckets of one band may overlap, as lists of items with a rare element do."""
    assert found(bands, apart, chunk) == sorted(twin.sharing(bands, apart or set()))


@many
@given(bands_of_buckets)
def test_the_bands_in_which_a_pair_met_are_told(bands: Bands) -> None:
    pairs = [(i, j) for i in range(ITEMS) for j in range(i + 1, ITEMS)]
    left: I64Array = np.array([i for i, _ in pairs], np.int64)
    right: I64Array = np.array([j for _, j in pairs], np.int64)
    ends, hits = indexed(bands).hits(left, right)
    assert len(hits) == ends[-1]
    for number, pair in enumerate(pairs):
        assert hits[ends[number] : ends[number + 1]].tolist() == twin.shared_bands(bands, pair)


def test_the_hits_of_more_bands_than_there_was_room_for_are_all_told() -> None:
    bands = [[twin.Bucket([0, 1, 2], [])]] * 50
    ends, hits = indexed(bands).hits(np.array([0, 1]), np.array([1, 2]))
    assert ends.tolist() == [0, 50, 100]
    assert hits.tolist() == [*range(50), *range(50)]
    ends, hits = indexed(bands).hits(np.empty(0, np.int64), np.empty(0, np.int64))
    assert (ends.tolist(), hits.tolist()) == ([0], [])


@pytest.mark.parametrize("chunk", CHUNKS)
def test_a_bucket_of_all_items_in_every_band_gives_each_pair_once(chunk: int) -> None:
    bands = [[twin.Bucket(list(range(ITEMS)), [])]] * 3
    assert found(bands, None, chunk) == [(i, j) for i in range(ITEMS) for j in range(i + 1, ITEMS)]


@pytest.mark.parametrize("chunk", CHUNKS)
def test_probes_meet_what_is_smaller_and_no_probe_but_not_each_other(chunk: int) -> None:
    assert found([[twin.Bucket([3], [1, 5, 7])]], None, chunk) == [(3, 5), (3, 7)]
    assert found([[twin.Bucket([3], [5]), twin.Bucket([5], [3])]], None, chunk) == [(3, 5)]


@many
@given(bands_of_buckets, st.lists(st.integers(0, 2**64 - 1), min_size=2 * ITEMS, max_size=2 * ITEMS), st.booleans())
def test_only_pairs_with_signatures_that_are_near_enough_are_candidates(
    bands: Bands, words: list[int], lacking: bool
) -> None:
    """Half of 128 bits differ on average, a quarter are missing in the other."""
    signature = [words[2 * i] << 64 | words[2 * i + 1] for i in range(ITEMS)]
    spare = np.arange(ITEMS, dtype=np.int64) % 3 + 31
    likeness = Likeness(np.array(words, np.uint64), 2, 64, spare if lacking else np.empty(0, np.int64))
    pairs = [
        pair
        for left, right in Walk(indexed(bands), likeness=likeness).span(0, ITEMS, chunk=100)
        for pair in zip(left.tolist(), right.tolist(), strict=True)
    ]

    def near(i: int, j: int) -> bool:
        if lacking:
            return (signature[i] & ~signature[j]).bit_count() <= int(spare[i])
        return (signature[i] ^ signature[j]).bit_count() <= 64

    assert pairs == [pair for pair in sorted(twin.sharing(bands)) if near(*pair)]


@pytest.mark.parametrize("chunk", [3, 1000])
@pytest.mark.parametrize("words", [8, 16])
@pytest.mark.parametrize("bands", [1, 4, 40])
def test_with_a_reach_pairs_are_as_near_as_both_items_allow_and_none_of_a_bucket_is_lost(
    bands: int, words: int, chunk: int
) -> None:
    """In 40 bands all items are looked at; in one those of the bucket."""
    rng = np.random.default_rng(words)
    drawn = [[twin.Bucket(sorted(rng.choice(ITEMS, 6, replace=False).tolist()), [])] for _ in range(bands)]
    signatures = rng.integers(0, 2**64, (ITEMS, words), dtype=np.uint64)
    smaller, larger = rng.normal(32 * words, 8, ITEMS), rng.normal(0, 8, ITEMS)
    likeness = Likeness(signatures.reshape(-1), words, 0, reach=(smaller, larger))
    apart = rng.random(ITEMS) < 0.3
    pairs = [
        pair
        for left, right in Walk(indexed(drawn), apart, likeness).span(0, ITEMS, chunk=chunk)
        for pair in zip(left.tolist(), right.tolist(), strict=True)
    ]
    near = {
        (i, j)
        for i in range(ITEMS)
        for j in range(i + 1, ITEMS)
        if not (apart[i] and apart[j])
        and int(np.bitwise_count(signatures[i] ^ signatures[j]).sum()) <= smaller[i] + larger[j]
    }
    assert 0 < len(near) < ITEMS * (ITEMS - 1) // 2
    assert pairs == sorted(set(pairs))
    assert near & set(twin.sharing(drawn)) <= set(pairs) <= near
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    assert likeness.may_match(one, other).all()


def test_items_set_apart_are_compared_with_the_others_only() -> None:
    bands = [[twin.Bucket([0, 1, 2, 3], [])]]
    assert found(bands, {0, 2, 3}, 7) == [(0, 1), (1, 2), (1, 3)]


def test_no_bands_and_no_items_give_no_candidates() -> None:
    assert found([], None, 7) == []
    assert found([[], []], None, 7) == []
    assert list(Buckets(0, []).candidates()) == []


def test_chunks_are_filled_but_not_beyond_their_size() -> None:
    """Eighteen buckets of two: each item has one candidate at most, so chunks of four hold up to four."""
    bands = [[twin.Bucket([i, i + 1], [])] for i in range(ITEMS - 1)]
    sizes = [len(left) for left, _ in indexed(bands).candidates(chunk=4)]
    assert sum(sizes) == ITEMS - 1
    assert max(sizes) <= 4


@many
@given(st.lists(st.integers(0, ITEMS - 1), max_size=40))
def test_an_item_knows_its_places(members: list[int]) -> None:
    """Told through `hits`: a bucket for each place, so an item shares with itself the buckets of all its places."""
    bands = [[twin.Bucket([item], [])] for item in members]
    items: I64Array = np.arange(ITEMS)
    ends, hits = indexed(bands).hits(items, items)
    assert [hits[a:b].tolist() for a, b in pairwise(ends.tolist())] == twin.places(members, ITEMS)


@pytest.mark.parametrize("words", [8, 16])
def test_candidates_whose_signatures_differ_too_much_are_left_out(words: int) -> None:
    rng = np.random.default_rng(words)
    bands = [
        [twin.Bucket(sorted(half.tolist()), []) for half in rng.permutation(ITEMS).reshape(3, 6)] for _ in range(4)
    ]
    signatures = rng.integers(0, 2**64, (ITEMS, words), dtype=np.uint64)
    index = indexed(bands)
    everything = found(bands, None, 1 << 20)
    differing = [int(np.bitwise_count(signatures[a] ^ signatures[b]).sum()) for a, b in everything]
    most = int(np.median(differing))
    expected = [pair for pair, bits in zip(everything, differing, strict=True) if bits <= most]
    assert 0 < len(expected) < len(everything)
    for chunk, work in ((3, 5), (1000, 5), (1000, 10**6)):
        walk = Walk(index, None, Likeness(signatures.reshape(-1), words, most))
        pairs: list[tuple[int, int]] = []
        for begin, end in index.spans(work):
            for left, right in walk.span(begin, end, chunk=chunk):
                pairs += zip(left.tolist(), right.tolist(), strict=True)
        assert pairs == expected


@pytest.mark.parametrize("work", [1, 7, 10**6])
def test_spans_cover_all_items_once(work: int) -> None:
    index = indexed([[twin.Bucket([0, 1, 2, 5], []), twin.Bucket([3, 4], [])], [twin.Bucket([2, 4, 6], [])]])
    assert [item for begin, end in index.spans(work) for item in range(begin, end)] == list(range(ITEMS))


@many
@given(st.lists(st.lists(buckets(), max_size=4), max_size=4), st.integers(2, 30))
def test_buckets_are_the_same_for_any_number_of_threads(bands: Bands, threads: int) -> None:
    one, several = indexed(bands), Buckets(ITEMS, [groups_of(band) for band in bands], threads)
    for name in ("entries", "probes", "_offsets", "_where"):
        assert np.array_equal(getattr(one, name), getattr(several, name)), name
