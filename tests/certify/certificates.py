"""Planted pairs in real sketches, and their certificates: truth by construction, counted by plain Python sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from lookalike.certify.recall import PairTally, Recall
from lookalike.collide.band import band_keys
from lookalike.sketch.minhash import constants, sketch_sets
from lookalike.types import BoolArray, F64Array, I64Array, Sets, U32Array

__all__ = ["MADE", "SEEDS", "Planted", "certificate", "independent", "made", "runs", "tallied"]

SEEDS = 200
SIZE = 100


@dataclass(frozen=True)
class Planted:
    """Sets, and all pairs of them at the threshold or above, with the bands and rows they are looked for with."""

    sets: Sets
    left: I64Array
    right: I64Array
    similarities: F64Array
    bands: int
    rows: int

    @property
    def pairs(self) -> int:
        return len(self.similarities)

    def chance(self, similarities: F64Array) -> F64Array:
        return similarities**self.rows

    def signatures(self, seed: int) -> U32Array:
        return sketch_sets(self.sets, *constants(self.bands * self.rows, seed))

    def collisions(self, signatures: U32Array) -> BoolArray:
        """Pair i and band j: whether they collide."""
        keys = band_keys(signatures, self.bands, self.rows)
        same: BoolArray = keys[self.left] == keys[self.right]
        return same


def planted(groups: list[list[set[int]]], threshold: float, bands: int, rows: int) -> Planted:
    """Pairs lie inside a group; different groups share nothing."""
    items = [each for group in groups for each in group]
    offsets = np.cumsum([0] + [len(each) for each in items]).astype(np.int64)
    values = np.array([x for each in items for x in each], np.uint64)
    left, right, similarities, start = [], [], [], 0
    for group in groups:
        for i, j in combinations(range(len(group)), 2):
            similarity = len(group[i] & group[j]) / len(group[i] | group[j])
            if threshold <= similarity < 1.0:
                left.append(start + i)
                right.append(start + j)
                similarities.append(similarity)
        start += len(group)
    return Planted(
        Sets(offsets, values, np.zeros((len(items), 2), np.uint64)),
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(similarities, np.float64),
        bands,
        rows,
    )


def independent(pairs: int, threshold: float, bands: int, rows: int) -> Planted:
    """Pairs that share 100·threshold to 99 of 100 elements, each number equally often, and nothing with other pairs."""
    elements = np.random.default_rng(pairs).integers(0, 2**64, (pairs, SIZE), dtype=np.uint64).tolist()
    groups = []
    for i, row in enumerate(elements):
        least = round(SIZE * threshold)
        both = least + i % (SIZE - least)
        half = (SIZE + both) // 2
        groups.append([set(row[:half]), set(row[:both] + row[half:])])
    return planted(groups, threshold, bands, rows)


def clustered(clusters: int, threshold: float, bands: int, rows: int, *, most: int = 8) -> Planted:
    """Clusters of 5 to 30 copies of one set, each with 1 to `most` of its 100 elements replaced."""
    rng = np.random.default_rng(clusters)
    groups = []
    for _ in range(clusters):
        base = rng.integers(0, 2**64, SIZE, dtype=np.uint64)
        group = []
        for _ in range(int(rng.integers(5, 31))):
            changed = int(rng.integers(1, most + 1))
            copy = base.copy()
            copy[rng.choice(SIZE, changed, replace=False)] = rng.integers(0, 2**64, changed, dtype=np.uint64)
            group.append(set(copy.tolist()))
        groups.append(group)
    return planted(groups, threshold, bands, rows)


MADE: dict[str, Callable[[], Planted]] = {
    "independent at 0.8": lambda: independent(6000, 0.8, 16, 6),
    "independent at 0.5": lambda: independent(3000, 0.5, 20, 5),
    "clusters at 0.8": lambda: clustered(60, 0.8, 16, 6),
}


@cache
def made(name: str) -> Planted:
    return MADE[name]()


def tallied(
    similarities: F64Array,
    hits: BoolArray,
    chance: Callable[[F64Array], F64Array],
    *,
    weights: F64Array | None = None,
    sure: BoolArray | None = None,
) -> PairTally:
    """The tally of the pairs that collide in a band, or are sure."""
    sure = np.zeros(len(hits), np.bool_) if sure is None else sure
    weights = np.ones(len(hits)) if weights is None else weights
    hits = hits & ~sure[:, None]
    found = hits.any(axis=1) | sure
    hits = hits[found]
    offsets = np.concatenate([[0], np.cumsum(hits.sum(axis=1))]).astype(np.int64)
    tally = PairTally(chance, hits.shape[1])
    tally.add(similarities[found], weights[found], sure[found], offsets, np.nonzero(hits)[1].astype(np.uint16))
    return tally


def certificate(data: Planted, hits: BoolArray) -> Recall:
    return tallied(data.similarities, hits, data.chance).finish()


@cache
def runs(name: str) -> list[tuple[float, Recall]]:
    """For each seed the true recall and the certificate."""
    data = made(name)
    results = []
    for seed in range(SEEDS):
        hits = data.collisions(data.signatures(seed))
        results.append((float(hits.any(axis=1).mean()), certificate(data, hits)))
    return results
