"""Buckets, folds, rare elements and leaders with dicts, sets and nested loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from tests.reference.sets import Pair, exact, jaccard

__all__ = [
    "Bucket",
    "Grouping",
    "Pair",
    "attach",
    "copy_stretch",
    "count_elements",
    "group",
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
    """A band's number for each of its buckets that holds both items."""
    return [
        number for number, band in enumerate(bands) for bucket in band if {*pair} <= {*bucket.indexed, *bucket.probes}
    ]


def leaders(fingerprints: Sequence[tuple[int, int]]) -> list[int]:
    """For each item the first one with the same fingerprint."""
    return [fingerprints.index(each) for each in fingerprints]


def count_elements(sets: Iterable[Set[int]], size: int) -> list[int]:
    """How many elements of all sets fall on each of so many counters, up to 255."""
    counts = [0] * size
    for each in sets:
        for x in each:
            counts[x % size] = min(255, counts[x % size] + 1)
    return counts


def prefix_entries(
    sets: Mapping[int, Set[int]], counts: Sequence[int], threshold: float, low: int = 0, high: int = 2**64 - 1
) -> list[tuple[int, int, bool]]:
    """(element, item, is it a probe) of the rarest elements of each set, as `prefix.py` says how many."""
    t = exact(threshold)
    found = []
    for item, elements in sets.items():
        size = len(elements)
        short = size - -(-2 * t * size // (1 + t)) + 1
        long = size - -(-t * size // 1) + 1
        rarest = sorted(elements, key=lambda x: (counts[x % len(counts)], x))
        for place, x in enumerate(rarest[: int(long)]):
            if counts[x % len(counts)] > 1 and low <= x <= high:
                found.append((x, item, place >= short))
    return found


def attach(
    item: int,
    sets: Sequence[Set[int]],
    lists: Sequence[Sequence[int]],
    lead: Callable[[int], bool],
    rank: Sequence[int],
    threshold: float,
) -> tuple[int, Fraction] | None:
    """(leader, similarity): of the leaders before the item that share a list with it, the most similar that matches.

    Among equals it is the first in keep order.
    """
    met = {other for each in lists if item in each for other in each if lead(other) and rank[other] < rank[item]}
    scored = [(other, jaccard(sets[item], sets[other])) for other in sorted(met, key=lambda other: rank[other])]
    matching = [(other, similarity) for other, similarity in scored if similarity and similarity >= exact(threshold)]
    return max(matching, key=lambda match: match[1], default=None)


def overlaps(sets: Sequence[Set[int]]) -> list[list[int]]:
    """How many elements each two items share, written where the row is the smaller item."""
    return [[len(a & b) if i < j else 0 for j, b in enumerate(sets)] for i, a in enumerate(sets)]


def copy_stretch(words: list[int], begins: list[int], lengths: list[int]) -> list[int]:
    """The stretches of words that begin at these places and have these lengths, one after another."""
    return [word for begin, length in zip(begins, lengths, strict=True) for word in words[begin : begin + length]]
