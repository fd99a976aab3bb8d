"""Segments: their buckets are those of the twin, and merging loses and invents nothing."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.errors import InputError
from lookalike.index.segments import (
    ENTRY,
    KEY_BITS,
    Segment,
    bucket_bits,
    build_segment,
    merge_segments,
    open_segment,
    segment_bytes,
)
from lookalike.types import U64Array
from tests.reference import indexing


def some_keys(bands: int, items: int, seed: int) -> U64Array:
    """Keys of which many share their first bits, or all of them."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, (bands, items), dtype=np.uint64)
    if items:
        keys[:, rng.random(items) < 0.3] = keys[:, :1]
        near = rng.random(items) < 0.3
        keys[:, near] = (keys[:, near] >> np.uint64(3)) | (keys[:, :1] & np.uint64(7 << 61))
    return keys


def signatures_of(places: U64Array, width: int) -> U64Array:
    rows = [[10 * place + word for word in range(width)] for place in places.tolist()]
    return np.array(rows, np.uint64).reshape(len(places), width)


def built(keys: U64Array, first: int = 0, width: int = 4) -> Segment:
    bands, items = keys.shape
    data = np.zeros(segment_bytes(items, bands, width), np.uint8)
    places = np.arange(first, first + items, dtype=np.uint64)
    signatures = signatures_of(places, width)
    return build_segment(data, keys, places, signatures)


def buckets_of(segment: Segment, band: int) -> list[list[tuple[int, int]]]:
    """The entries of a band as they are stored."""
    buckets = 1 << segment.bits
    begin = 64
    directory = (
        segment.data[begin : begin + 4 * segment.bands * (buckets + 1)].view(np.uint32).reshape(segment.bands, -1)[band]
    )
    begin += (4 * segment.bands * (buckets + 1) + 7) // 8 * 8 + ENTRY * segment.items * band
    raw = segment.data[begin : begin + ENTRY * segment.items].tobytes()
    entries = [int.from_bytes(raw[at : at + ENTRY], "little") for at in range(0, len(raw), ENTRY)]
    room = segment.bits + 3
    split = [(entry >> room, entry & ((1 << room) - 1)) for entry in entries]
    return [split[directory[i] : directory[i + 1]] for i in range(buckets)]


@pytest.mark.parametrize("items", [0, 1, 2, 7, 8, 9, 16, 17, 100, 1000])
@pytest.mark.parametrize("width", [0, 4, 8])
def test_buckets_are_those_of_the_twin(items: int, width: int) -> None:
    keys = some_keys(3, items, items)
    segment = built(keys, width=width)
    assert segment.bits == bucket_bits(items)
    for band in range(3):
        assert buckets_of(segment, band) == indexing.bucketed(keys[band].tolist(), segment.bits)
    again = open_segment(segment.data)
    assert again.places.tolist() == list(range(items))
    assert again.signatures.tolist() == signatures_of(again.places, width).tolist()


@pytest.mark.parametrize("sizes", [(0, 0), (1, 0), (5, 3), (100, 1), (40, 300, 2), (64, 64, 64, 64)])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_a_merged_segment_is_the_one_that_would_have_been_built(sizes: tuple[int, ...], share: float) -> None:
    rng = np.random.default_rng(len(sizes) + sum(sizes))
    keys = [some_keys(2, items, seed) for seed, items in enumerate(sizes)]
    firsts = np.cumsum([0, *sizes])
    sources = [built(each, int(first)) for each, first in zip(keys, firsts, strict=False)]
    kept = [np.flatnonzero(rng.random(items) < share).astype(np.uint32) for items in sizes]
    count = sum(map(len, kept))
    merged = merge_segments(np.zeros(segment_bytes(count, 2, 4), np.uint8), sources, kept)
    whole = np.concatenate([each[:, stay] for each, stay in zip(keys, kept, strict=True)], axis=1)
    for band in range(2):
        # Of one bucket, the order of the sources is not that of the items.
        found = [sorted(bucket) for bucket in buckets_of(merged, band)]
        assert found == [sorted(bucket) for bucket in indexing.bucketed(whole[band].tolist(), merged.bits)]
    places = np.concatenate([np.asarray(source.places)[stay] for source, stay in zip(sources, kept, strict=True)])
    assert merged.places.tolist() == places.tolist()
    assert merged.signatures.tolist() == signatures_of(places, 4).tolist()


def test_every_segment_knows_as_many_bits_of_a_key() -> None:
    for items in (1, 10, 1000, 10**6, 10**9):
        bits = bucket_bits(items)
        assert bits + (8 * ENTRY - bits - 3) == KEY_BITS
        assert items <= 1 << (bits + 3)


def test_what_is_no_whole_segment_is_refused() -> None:
    segment = built(some_keys(2, 20, 1))
    for wrong in (segment.data[:-8], segment.data[:10], np.zeros(200, np.uint8)):
        with pytest.raises(InputError, match="no segment"):
            open_segment(wrong.copy())
