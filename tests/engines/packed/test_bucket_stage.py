"""From keys to pairs and from fingerprints to folds, against plain dicts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.config import make_config
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter, blobs
from lookalike.engines.packed.bucket_stage import BucketStage
from lookalike.engines.packed.candidate_stage import unique_pairs
from lookalike.engines.packed.numbering import POSITION_BITS
from lookalike.engines.packed.sketch_stage import KINDS, SketchStage
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.recipe import Recipe
from lookalike.shingle import parse_shingle
from lookalike.types import Sets

PARTS, BANDS = 3, 2


@dataclass(frozen=True)
class Item:
    """Its fingerprint and its keys; an item without keys has no elements. Identical items have the same of both."""

    prints: tuple[int, int]
    keys: tuple[int, ...]


# Few different keys, of all tasks, so that most are shared; and first halves that clash.
KEYS = [0, 1, 2**63, 2**63 + 1, 2**64 - 1]
ITEMS = st.builds(
    Item, st.tuples(st.sampled_from([5, 2**63]), st.integers(1, 3)), st.tuples(*[st.sampled_from(KEYS)] * BANDS)
)


def consistent(items: list[Item]) -> list[Item]:
    """Of one fingerprint the keys are those of the first."""
    first: dict[tuple[int, int], Item] = {}
    return [first.setdefault(item.prints, item) for item in items]


def tables(items: list[Item], numbers: list[int]) -> list[list[Arrays1D]]:
    """What each task gets: entries and fingerprints."""
    recipe = Recipe("jaccard", shingle=parse_shingle("word:5"), bands=BANDS, rows=1)
    stage = SketchStage(recipe, make_config(), ("text",), PARTS)
    out = BatchWriter(KINDS)
    for number, item in zip(numbers, items, strict=True):
        keys = np.array([[key] for key in item.keys], np.uint64)
        prints = np.array([[half] for half in item.prints], np.uint64)
        sets = Sets(np.zeros(2, np.int64), np.empty(0, np.uint64), prints.T)
        sketched = ItemSketches(prints, np.ones(1, np.uint32), keys, sets)
        stage._add_entries(np.array([number]), sketched, out)
        stage._add_prints(np.array([number]), sketched, None, out)
    batches = list(out.rest())
    return [
        [
            batch.slice(row, 1)
            for batch in batches
            for row in range(batch.num_rows)
            if batch.column(0)[row].as_py() == task
        ]
        for task in range(PARTS)
    ]


def run(stage: BucketStage, items: list[Item], numbers: list[int]) -> dict[str, list[Arrays1D]]:
    found: dict[str, list[Arrays1D]] = defaultdict(list)
    for part in tables(items, numbers):
        made = list(stage(iter(part)))
        for kind in ("pairs", "giants", "copies", "clashes"):
            found[kind] += [arrays for _, arrays in blobs(iter(made), kind)]
    return found


@given(st.lists(ITEMS, min_size=1, max_size=12), st.integers(1, 4))
def test_pairs_giants_and_copies_are_those_of_plain_dicts(drawn: list[Item], most: int) -> None:
    items = consistent(drawn)
    numbers = [(i % 3 << POSITION_BITS) + i for i in range(len(items))]
    leader = {item.prints: min(n for n, other in zip(numbers, items, strict=True) if other == item) for item in items}
    stage = BucketStage(PARTS, BANDS, most, whole=False)
    clashes = run(stage, items, numbers)["clashes"]
    halves = defaultdict(set)
    for item in items:
        halves[item.prints[0]].add(item.prints)
    clashing = {
        n: leader[item.prints] for n, item in zip(numbers, items, strict=True) if len(halves[item.prints[0]]) > 1
    }
    named = {int(n): int(led) for blob in clashes for n, led in zip(blob["items"], blob["leaders"], strict=True)}
    assert named == clashing
    order = sorted(clashing)
    known = np.array(order, np.int64), np.array([clashing[n] for n in order], np.int64)
    found = run(BucketStage(PARTS, BANDS, most, whole=False, known=known), items, numbers)

    buckets: dict[tuple[int, int], set[int]] = defaultdict(set)
    for item in items:
        for band, key in enumerate(item.keys):
            buckets[band, key].add(leader[item.prints])
    giants = {n for members in buckets.values() if len(members) > most for n in members}
    met: dict[tuple[int, int], list[int]] = defaultdict(list)
    for (band, _), members in sorted(buckets.items()):
        if len(members) <= most:
            for pair in combinations(sorted(members), 2):
                met[pair].append(band)
    assert {int(n) for blob in found["giants"] for n in blob["items"]} == giants
    # A pair of two giants may be left to the task of giants, and need not be: where it is told, it is told right.
    told = {} if not found["pairs"] else _plain(found["pairs"])
    assert {pair: bands for pair, bands in met.items() if not giants.issuperset(pair)} == {
        pair: bands for pair, bands in told.items() if not giants.issuperset(pair)
    }
    assert set(told) <= set(met)
    copies = sorted(
        (int(a), int(b)) for blob in found["copies"] for a, b in zip(blob["leaders"], blob["items"], strict=True)
    )
    led = [(leader[item.prints], n) for n, item in zip(numbers, items, strict=True)]
    assert copies == sorted(pair for pair in led if sum(pair[0] == other for other, _ in led) > 1)


def _plain(found: list[Arrays1D]) -> dict[tuple[int, int], list[int]]:
    left, right, _, ends, bands = unique_pairs(found)
    return {
        (int(a), int(b)): bands[ends[i] : ends[i + 1]].tolist()
        for i, (a, b) in enumerate(zip(left, right, strict=True))
    }


def test_where_all_pairs_are_compared_every_leader_is_a_giant() -> None:
    items = [Item((1, 1), (0, 0)), Item((2, 1), (1, 1)), Item((1, 1), (0, 0))]
    found = run(BucketStage(PARTS, 0, 100, whole=True), [Item(item.prints, ()) for item in items], [0, 1, 2])
    assert sorted(n for blob in found["giants"] for n in blob["items"].tolist()) == [0, 1]
