"""Buckets, folds and rare elements with dicts, sets and nested loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations
from typing import NamedTuple

from lookalike.twin.hashing import mix
from tests.reference.sets import Pair, exact

__all__ = [
    "Bucket",
    "Grouping",
    "Pair",
    "containment_lengths",
    "copy_stretch",
    "count_elements",
    "group",
    "jaccard_lengths",
    "leaders",
    "overlaps",
    "places",
    "prefix_entries",
    "select",
    "shared_bands",
    "sharing",
]


class Bucket(NamedTuple):
    """The items that share a key, in the order they came; probes make no pairs with one another."""

    indexed: list[int]
    probes: list[int]


class Grouping(NamedTuple):
    """The buckets that are kept, by key; the items of giant ones, how many those are, and the largest of all."""

    buckets: list[Bucket]
    giant: set[int]
    giants: int
    largest: int


def select(keys: Sequence[int], active: Sequence[bool], first: int, low: int, high: int) -> list[tuple[int, int]]:
    """(key, item) of the active items with a key from low to high; the first key is that of item `first`."""
    chosen = zip(keys, range(first, first + len(keys)), active, strict=True)
    return [(key, item) for key, item, on in chosen if on and low <= key <= high]


def group(entries: Iterable[tuple[int, int, bool]], most: int) -> Grouping:
    """From entries (key, item, is it a probe)."""
    by_key: dict[int, Bucket] = defaultdict(lambda: Bucket([], []))
    for key, item, probe in entries:
        (by_key[key].probes if probe else by_key[key].indexed).append(item)
    kept: list[Bucket] = []
    giant: set[int] = set()
    giants = 0
    for _, bucket in sorted(by_key.items()):
        if len(bucket.indexed) > most:
            giants += 1
            giant |= {*bucket.indexed, *bucket.probes}
        elif bucket.indexed and len(bucket.indexed) + len(bucket.probes) > 1:
            kept.append(bucket)
    return Grouping(kept, giant, giants, max((len(bucket.indexed) for bucket in by_key.values()), default=0))


def places(members: Sequence[int], items: int) -> list[list[int]]:
    """For each item where it stands in `members`."""
    return [[place for place, member in enumerate(members) if member == item] for item in range(items)]


def sharing(bands: Sequence[Sequence[Bucket]], apart: Set[int] = frozenset()) -> set[Pair]:
    """The pairs that share a bucket in which the smaller item is no probe, and are not both set apart."""
    pairs: set[Pair] = set()
    for band in bands:
        for bucket in band:
            for i, j in combinations(sorted([*bucket.indexed, *bucket.probes]), 2):
                if i in bucket.indexed and not (i in apart and j in apart):
                    pairs.add((i, j))
    return pairs


def shared_bands(bands: Sequence[Sequence[Bucket]], pair: Pair) -> list[int]:
    """A band's number for each of its buckets that holds both items, the smaller not as a probe."""
    first, second = min(pair), max(pair)
    return [
        number
        for number, band in enumerate(bands)
        for bucket in band
        if first in bucket.indexed and second in {*bucket.indexed, *bucket.probes}
    ]


def leaders(fingerprints: Sequence[tuple[int, int]]) -> list[int]:
    """For each item the first one with the same fingerprint."""
    return [fingerprints.index(each) for each in fingerprints]


def count_elements(sets: Iterable[Set[int]], size: int) -> list[int]:
    """How many elements of all sets fall on each of so many counters: exact to 128, then in steps by chance.

    The elements come set by set, each in ascending order; the n-th of all draws from the hash of n.
    """
    counts = [0] * size
    for number, x in enumerate(x for each in sets for x in sorted(each)):
        at = counts[x % size]
        bits = 0 if at < 128 else 4 + (at - 128) // 8
        if at < 255 and mix(number) % 2**bits == 0:
            counts[x % size] += 1
    return counts


def prefix_entries(
    sets: Mapping[int, Set[int]], counts: Sequence[int], lengths: Sequence[tuple[int, int]]
) -> list[tuple[int, int, bool]]:
    """(element, item, is it a probe) of the rarest elements of each set: of each so many, and as many with probes."""
    found = []
    for (item, elements), (short, long) in zip(sets.items(), lengths, strict=True):
        rarest = sorted(elements, key=lambda x: (counts[x % len(counts)], x))
        for place, x in enumerate(rarest[:long]):
            if counts[x % len(counts)] > 1:
                found.append((x, item, place >= short))
    return found


def jaccard_lengths(size: int, threshold: float) -> tuple[int, int]:
    """How many elements of a set must be entries, and entries or probes, so that no pair at the threshold escapes."""
    t = exact(threshold)
    return int(size - -(-2 * t * size // (1 + t)) + 1), int(size - -(-t * size // 1) + 1)


def containment_lengths(size: int, threshold: float) -> tuple[int, int]:
    """The same where it is the smaller set that must be inside the larger."""
    return int(size - -(-exact(threshold) * size // 1) + 1), size


def overlaps(sets: Sequence[Set[int]]) -> list[list[int]]:
    """How many elements each two items share, written where the row is the smaller item."""
    return [[len(a & b) if i < j else 0 for j, b in enumerate(sets)] for i, a in enumerate(sets)]


def copy_stretch(words: list[int], begins: list[int], lengths: list[int]) -> list[int]:
    """The stretches of words that begin at these places and have these lengths, one after another."""
    return [word for begin, length in zip(begins, lengths, strict=True) for word in words[begin : begin + length]]
