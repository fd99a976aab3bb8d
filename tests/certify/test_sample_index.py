"""The index of a sample: it is asked by several threads, about items that came later than those in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest

from lookalike.certify.audit import Audit, Audited
from lookalike.certify.sample_index import extent_of, indexed_elements
from lookalike.types import Sets
from tests.reference import audit as twin


def collection(count: int, seed: int) -> list[set[int]]:
    """Sets of which many are near others, in families."""
    random = Random(seed)
    roots = [random.sample(range(10_000), 30) for _ in range(20)]
    return [set(random.choice(roots)[random.randrange(6) :]) | {random.randrange(10_000)} for _ in range(count)]


def as_sets(items: list[set[int]]) -> Sets:
    values = [np.sort(np.array(sorted(each), np.uint64) * np.uint64(0x9E3779B97F4A7C15)) for each in items]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in values])]).astype(np.int64)
    return Sets(offsets, np.concatenate([np.empty(0, np.uint64), *values]), np.zeros((len(items), 2), np.uint64), 0, 0)


def told(audited: Audited) -> list[tuple[int, int, float]]:
    return list(zip(*(each.tolist() for each in (audited.left, audited.right, audited.similarities)), strict=True))


@pytest.mark.parametrize("most", [3, 50])
@pytest.mark.parametrize("batch", [40, 300])
@pytest.mark.parametrize("ready", [False, True])
def test_threads_that_probe_at_once_find_what_one_after_another_finds(batch: int, most: int, ready: bool) -> None:
    items = collection(600, seed=batch)
    audit = Audit(0.6, sample=60, seed=3, most=most)
    parts = [(first, as_sets(items[first : first + batch])) for first in range(0, len(items), batch)]
    with ThreadPoolExecutor(4) as pool:
        for begin in range(0, len(parts), 3):
            some = parts[begin : begin + 3]
            if ready:
                audit.make_ready(some)
            for first, sets in some:
                audit.enter(first, sets)
            probing = [pool.submit(audit.probe, [each]) for each in some]
            audit.note([each.result() for each in probing])
    expected = twin.audited(items, 0.6, sample=60, seed=3, most=most)
    found = audit.finish()
    assert found.items.tolist() == expected.items
    assert told(found) == [(a, b, float(score)) for a, b, score in expected.pairs]
    assert (found.full, found.rate) == (expected.full, float(expected.rate))


def test_an_item_is_not_found_by_those_before_it_though_it_is_in_the_index() -> None:
    items = [{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3}]
    audit = Audit(0.5)
    audit.enter(0, as_sets(items))
    places, later, _ = audit.probe([(0, as_sets(items))])
    assert sorted(zip(places.tolist(), later.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("begin", [-4, 0, 2, 9])
def test_the_extent_of_sets_is_the_longest_and_how_many_have_elements(begin: int) -> None:
    sizes = [3, 0, 5, 1, 0, 2]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    assert extent_of(offsets, begin) == twin.extent(sizes, begin)
    assert extent_of(np.zeros(1, np.int64), begin) == twin.extent([], begin)


def test_enough_elements_are_indexed_that_two_sets_which_match_share_one_of_them() -> None:
    """Of |x| elements a y that matches lacks at most |x| - ⌈t|x|⌉: one more than that can't all be missing."""
    for size in range(1, 200):
        for threshold in (0.1, 0.5, 0.8, 1.0):
            assert indexed_elements(threshold, np.array([size]))[0] >= size - int(np.ceil(threshold * size - 1e-9)) + 1
