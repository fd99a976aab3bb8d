"""The whole of it by definition: all pairs of a collection, and which items stay, with nothing but Python sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from fractions import Fraction
from itertools import combinations

from lookalike.twin.hashing import band_keys, key_of, signature
from tests.reference.buckets import group
from tests.reference.sets import Pair, all_pairs, representative

__all__ = ["all_matches", "giants", "identities", "keepers"]


def identities(
    items: Sequence[Set[int]], raw: Sequence[Hashable] | None = None, groups: Sequence[Hashable] | None = None
) -> list[int]:
    """For each item the first one that is identical to it: the same set, or without elements the same bytes."""
    said = [
        (groups[i] if groups else None, frozenset(item), (raw[i] if raw else None) if not item else None)
        for i, item in enumerate(items)
    ]
    return [said.index(each) for each in said]


def all_matches(
    items: Sequence[Set[int]],
    threshold: float,
    *,
    raw: Sequence[Hashable] | None = None,
    groups: Sequence[Hashable] | None = None,
    references: int = 0,
) -> dict[Pair, Fraction]:
    """Every pair that is to be listed.

    Items of different groups are never compared. Pairs of two of the first `references` items are left out.
    """
    first = identities(items, raw, groups)
    pairs = {(i, j): Fraction(1) for i, j in combinations(range(len(items)), 2) if first[i] == first[j]}
    for (i, j), similarity in all_pairs(items, threshold).items():
        together = groups is None or groups[i] == groups[j]
        if together and first[i] != first[j]:
            pairs[i, j] = similarity
    return {pair: similarity for pair, similarity in pairs.items() if pair[1] >= references}


def keepers(
    first: Sequence[int], pairs: Mapping[Pair, Fraction], order: Sequence[int], references: int = 0
) -> dict[int, tuple[int, Fraction]]:
    """Removed item -> (kept item, similarity), walking the items in `order`, those that are compared against before.

    The first in order of identical items stands for them: where it goes, they go.
    """
    walked = [*range(references), *(item for item in order if item >= references)]
    best: dict[int, int] = {}
    for item in walked:
        best.setdefault(first[item], item)
    standing = [item for item in walked if best[first[item]] == item]
    place = {item: number for number, item in enumerate(standing)}
    edges = {(place[i], place[j]): s for (i, j), s in pairs.items() if i in place and j in place}
    gone = representative(len(standing), edges, range(len(standing)))
    removed: dict[int, tuple[int, Fraction]] = {}
    for item in walked:
        stands = best[first[item]]
        if place[stands] in gone:
            keeper, similarity = gone[place[stands]]
            removed[item] = standing[keeper], Fraction(similarity)
        elif item != stands:
            removed[item] = stands, Fraction(1)
    return {item: kept for item, kept in removed.items() if item >= references}


def giants(items: Sequence[Set[int]], bands: int, rows: int, seed: int, most: int) -> set[int]:
    """The items that stand in a bucket of more than `most`, by the written specification; copies are left out."""
    first = identities(items)
    marked: set[int] = set()
    keys = {
        i: band_keys(signature(item, bands * rows, key_of(seed).sketch), bands, rows)
        for i, item in enumerate(items)
        if item and first[i] == i
    }
    for band in range(bands):
        marked |= group(((each[band], i, False) for i, each in keys.items()), most).giant
    return marked
