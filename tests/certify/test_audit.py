"""The audit against plain sets: the same sample, the same pairs, however the items come in."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import astuple
from math import comb, sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.certify.audit import Audit, Audited
from lookalike.errors import OptionError
from lookalike.twin.hashing import G, mix
from lookalike.types import Sets
from tests.reference import audit as twin

many = settings(max_examples=200, deadline=None, derandomize=True)

THRESHOLDS = [0.3, 0.5, 0.8, 1.0]


def as_sets(rows: Sequence[Set[int]], random: Random | None = None) -> Sets:
    """In the order of the set, or in a random one."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:] = np.cumsum([len(row) for row in rows])
    values = [x for row in rows for x in (random.sample(sorted(row), len(row)) if random else row)]
    return Sets(offsets, np.array(values, np.uint64), np.zeros((len(rows), 2), np.uint64))


def feed(audit: Audit, rows: Sequence[Set[int]], size: int, groups: Sequence[int] | None = None) -> Audited:
    for first in range(0, len(rows), size):
        part = slice(first, first + size)
        audit.add(first, as_sets(rows[part]), None if groups is None else np.array(groups[part], np.uint64))
    return audit.finish()


def check(found: Audited, expected: twin.Audited) -> None:
    assert found.items.tolist() == expected.items
    pairs = list(zip(found.left.tolist(), found.right.tolist(), found.similarities.tolist(), strict=True))
    assert pairs == [(left, right, float(similarity)) for left, right, similarity in expected.pairs]
    assert found.full == expected.full
    assert found.rate == float(expected.rate)


def same(one: Audited, other: Audited) -> None:
    for a, b in zip(astuple(one), astuple(other), strict=True):
        np.testing.assert_array_equal(a, b)


def hashed(rows: Sequence[Set[int]]) -> list[set[int]]:
    """The same sets of elements that are spread over 64 bits, as elements are."""
    return [{mix(x + G) for x in row} for row in rows]


@st.composite
def collections(draw: st.DrawFn) -> list[set[int]]:
    """Small sets over a small universe, some of them edited copies of earlier ones: many similarities of few values."""
    universe = draw(st.sampled_from([6, 12, 25, 60]))
    random = draw(st.randoms(use_true_random=False))
    rows: list[set[int]] = []
    for _ in range(draw(st.integers(0, 30))):
        if rows and random.random() < 0.6:
            row = set(random.choice(rows))
            for _ in range(random.randrange(4)):
                row ^= {random.randrange(universe)}
        else:
            row = set(random.sample(range(universe), random.randint(0, min(20, universe))))
        rows.append(row)
    return rows


@many
@given(
    rows=collections(),
    threshold=st.sampled_from([*THRESHOLDS, 2 / 3, 0.01]),
    sample=st.sampled_from([1, 2, 5, 100]),
    seed=st.integers(0, 2**64 - 1),
    size=st.integers(1, 31),
    spread=st.booleans(),
)
def test_every_match_of_a_sampled_item_with_a_later_one_is_found_and_nothing_else(
    rows: list[set[int]], threshold: float, sample: int, seed: int, size: int, spread: bool
) -> None:
    rows = hashed(rows) if spread else rows
    found = feed(Audit(threshold, sample, seed), rows, size)
    check(found, twin.audited(rows, threshold, sample=sample, seed=seed))
    assert found.seen == found.compared == sum(map(bool, rows))
    assert found.empty == len(rows) - found.seen


@many
@given(
    rows=collections(),
    threshold=st.sampled_from(THRESHOLDS),
    sample=st.sampled_from([3, 100]),
    probe_from=st.integers(0, 35),
    most=st.integers(1, 4),
    kinds=st.integers(1, 3),
    random=st.randoms(use_true_random=False),
)
def test_references_groups_and_the_cap_leave_out_what_they_should(
    rows: list[set[int]], threshold: float, sample: int, probe_from: int, most: int, kinds: int, random: Random
) -> None:
    groups = [random.choice([0, 2**63 + 1, 2**64 - 1][:kinds]) for _ in rows]
    found = feed(Audit(threshold, sample, probe_from=probe_from, most=most), rows, 7, groups)
    expected = twin.audited(rows, threshold, sample=sample, probe_from=probe_from, most=most, groups=groups)
    check(found, expected)
    assert found.compared == sum(map(bool, rows[probe_from:]))


@pytest.mark.parametrize("threshold", [*THRESHOLDS, 0.7, 0.9, 0.95])
def test_pairs_of_all_sizes_right_at_the_threshold_are_in_and_one_element_less_is_out(threshold: float) -> None:
    """|A∩B| / |A∪B| = p/q exactly, whichever of the two is larger and whatever of A comes first in the index."""
    numerator, denominator = threshold.as_integer_ratio() if threshold == 0.5 else (round(threshold * 100), 100)
    random = Random(1)
    for times in (1, 2, 5):
        both, union = numerator * times, denominator * times
        for own in {0, (union - both) // 2, union - both}:
            elements = [mix(G * (x + 1)) for x in range(union)]
            random.shuffle(elements)
            a, b = set(elements[: both + own]), set(elements[:both] + elements[both + own :])
            less = a - {elements[0]}
            check(feed(Audit(threshold), [a, b], 2), twin.audited([a, b], threshold, sample=9))
            assert feed(Audit(threshold), [a, b], 2).similarities.tolist() == [both / union]
            assert feed(Audit(threshold), [less, b], 2).similarities.tolist() == []
            assert feed(Audit(threshold), [b, less], 2).similarities.tolist() == []


def documents(random: Random, count: int) -> list[set[int]]:
    """Longer sets of many kinds: of their own, edited copies, of a template at several shares, and empty ones."""
    template = [random.getrandbits(64) for _ in range(60)]
    rows: list[set[int]] = []
    for number in range(count):
        size = random.randint(20, 70)
        kind = random.random()
        row = {random.getrandbits(64) for _ in range(size)}
        if kind < 0.1 and rows:
            row = set(random.choice(rows))
        elif kind < 0.3 and rows:
            other = random.choice(rows)
            row = set(random.sample(sorted(other), int(len(other) * random.uniform(0.7, 1)))) | set(list(row)[:3])
        elif kind < 0.7:
            row = set(template[: random.choice([45, 55, 60])]) | set(list(row)[: random.randint(0, 25)])
        rows.append(row if number % 17 else set())
    return rows


@pytest.fixture(scope="module")
def collection() -> list[set[int]]:
    return documents(Random(3), 1500)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_a_collection_with_templates_and_copies_is_audited_as_plain_sets_say(
    collection: list[set[int]], threshold: float
) -> None:
    found = feed(Audit(threshold, 100, seed=5, most=20), collection, 100)
    check(found, twin.audited(collection, threshold, sample=100, seed=5, most=20))
    assert len(found.left) > 5
    assert threshold == 1.0 or found.full > 0


def test_batches_make_no_difference(collection: list[set[int]]) -> None:
    whole = feed(Audit(0.7, 40, most=9), collection, len(collection))
    for size in (1, 7, 1000):
        same(feed(Audit(0.7, 40, most=9), collection, size), whole)


def test_the_order_within_a_set_makes_no_difference(collection: list[set[int]]) -> None:
    audit = Audit(0.7, 40)
    audit.add(0, as_sets(collection, Random(8)))
    same(audit.finish(), feed(Audit(0.7, 40), collection, 500))


@pytest.mark.parametrize("stop", [0, 1, 30, 777, 1500])
def test_an_audit_goes_on_from_its_state_as_if_it_had_never_stopped(collection: list[set[int]], stop: int) -> None:
    def run(audit: Audit, rows: list[set[int]], first: int) -> Audit:
        for i in range(0, len(rows), 50):
            audit.add(
                first + i, as_sets(rows[i : i + 50]), np.arange(i, i + len(rows[i : i + 50]), dtype=np.uint64) % 2
            )
        return audit

    def new() -> Audit:
        return Audit(0.7, 30, seed=2**64 - 1, probe_from=200, most=5)

    state = run(new(), collection[:stop], 0).state()
    again = Audit.from_state(state)
    equal_states(again.state(), state)
    resumed = run(again, collection[stop:], stop)
    straight = run(run(new(), collection[:stop], 0), collection[stop:], stop)
    same(resumed.finish(), straight.finish())
    equal_states(resumed.state(), straight.state())


def equal_states(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.dtype == other[name].dtype, name
        np.testing.assert_array_equal(array, other[name], name)


def test_an_item_with_more_matches_than_fit_is_full_and_the_others_go_on() -> None:
    """Items 0 and 2 have five and four matches; items 1 and 3 have three, which fit."""
    a, b = {1, 2, 3}, {4, 5, 6}
    found = feed(Audit(1.0, most=3), [a, b, a, a, b, a, b, a, a, b], 4)
    of = found.left.tolist()
    assert found.right[found.left == 0].tolist() == [2, 3, 5]
    assert found.right[found.left == 1].tolist() == [4, 6, 9]
    assert {item: of.count(item) for item in set(of)} == {0: 3, 1: 3, 2: 3, 3: 3, 4: 2, 5: 2, 6: 1, 7: 1}
    assert found.full == 2


def test_the_sample_is_uniform_over_the_collection() -> None:
    """In ten stretches of the collection, over 40 seeds: chi-square with 9 degrees of freedom is below 27.9 in 99.9%.

    Given its size a sample is a uniformly random subset, whose counts vary less than the multinomial ones assumed.
    """
    rows = as_sets([{mix(x)} for x in range(1, 4001)])
    counts = np.zeros(10)
    for seed in range(40):
        audit = Audit(1.0, 100, seed)
        audit.add(0, rows)
        found = audit.finish()
        # Just after a halving the size is binomial (201, 1/2): below 67 once in 10^6.
        assert 67 <= len(found.items) <= 200
        counts += np.bincount(found.items // 400, minlength=10)
    mean = counts.sum() / 10
    assert ((counts - mean) ** 2 / mean).sum() < 27.9


def test_every_pair_is_found_with_the_same_probability() -> None:
    """Of 2,000 items with one copy each, next to it or far behind, as many are found as the sample's size says.

    Given the size k of a sample of N items, how many of P first copies are in it is hypergeometric: mean kP/N,
    variance k·P/N·(1 - P/N)·(N - k)/(N - 1). Four standard deviations are exceeded once in 16,000.
    """
    near = [{mix(2 * x + 1)} for x in range(1, 1001) for _ in range(2)]
    far = [{mix(2 * x + 2)} for x in range(1, 1001)]
    rows = as_sets([*far, *near, *far])
    first = {True: np.arange(1000), False: np.arange(1000, 3000, 2)}
    for seed in range(5):
        audit = Audit(1.0, 200, seed)
        audit.add(0, rows)
        found = audit.finish()
        k, n, p = len(found.items), 4000, 1000
        for is_far, items in first.items():
            mean, spread = k * p / n, sqrt(k * p / n * (1 - p / n) * (n - k) / (n - 1))
            assert abs(np.isin(found.left, items).sum() - mean) < 4 * spread, (seed, is_far)


def test_a_collection_that_fits_into_the_sample_is_compared_whole() -> None:
    rows = [{1, 2, 3, 4}] * 12
    found = feed(Audit(0.5, sample=6), rows, 5)
    assert (found.items.tolist(), found.rate, len(found.left)) == (list(range(12)), 1.0, comb(12, 2))


def test_sets_of_very_different_sizes_make_room_for_themselves() -> None:
    random = Random(7)
    base = [random.getrandbits(64) for _ in range(30_000)]
    sizes = [1, 30_000, 2, 0, 25_000, 24_000, 1, 23_999, 300, 240, 2]
    rows = [set(base[:size]) for size in sizes]
    for size in (1, 4, len(rows)):
        check(feed(Audit(0.8, 5), rows, size), twin.audited(rows, 0.8, sample=5))


def test_gaps_in_the_numbers_are_allowed_and_going_back_is_not() -> None:
    audit = Audit(1.0)
    audit.add(3, as_sets([{1}]))
    audit.add(10, as_sets([{1}, {2}]))
    assert (audit.finish().left.tolist(), audit.finish().right.tolist()) == ([3], [10])
    with pytest.raises(ValueError, match="item 11 comes after item 11: items must come in order"):
        audit.add(11, as_sets([{1}]))


def test_nothing_gives_nothing() -> None:
    cases: list[list[set[int]]] = [[], [set()], [{5}]]
    for rows in cases:
        found = feed(Audit(0.8), rows, 1)
        assert (len(found.left), found.full, found.rate) == (0, 0, 1.0)
        assert found.items.tolist() == [0] * any(rows)


@pytest.mark.parametrize("options", [{"threshold": 0.0}, {"threshold": 1.5}, {"sample": 0}, {"most": 0}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(options))} is "):
        Audit(**{"threshold": 0.8, **options})
