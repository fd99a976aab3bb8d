"""Bags against dicts: every form in which they come, repeats, zeros, nulls, slices, and every row that is bad."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.represent.bags import Bags, bags
from lookalike.represent.elements import element_sets
from lookalike.twin.hashing import G
from tests.reference.bags import collected, fingerprint

some = settings(max_examples=60, deadline=None, derandomize=True)

Row = list[tuple[Any, float]] | None

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
floats = st.floats(0, float(np.float32(1e30)), width=32)
PAIRS = pa.struct([("element", pa.string()), ("weight", pa.float64())])


def listed(found: Bags) -> list[dict[int, float]]:
    assert [str(each.dtype) for each in found[:4]] == ["int64", "uint64", "float32", "uint64"]
    rows = [slice(start, end) for start, end in pairwise(found.offsets.tolist())]
    assert all((np.diff(found.values[row].astype(object)) > 0).all() for row in rows), "each element once, ascending"
    return [dict(zip(found.values[row].tolist(), found.weights[row].tolist(), strict=True)) for row in rows]


def check(found: Bags, rows: list[Row]) -> None:
    expected = [collected(row or ()) for row in rows]
    assert listed(found) == expected
    assert [tuple(row) for row in found.fingerprints.tolist()] == [fingerprint(row) for row in expected]
    assert found.bad == []


@some
@given(st.data())
def test_bags_in_every_form_are_those_of_the_twin(data: st.DataObject) -> None:
    words = data.draw(st.booleans())
    elements = texts if words else st.integers(-(2**63), 2**63 - 1) | st.integers(0, 4)
    pair = st.tuples(elements, floats | st.just(0.0))
    rows: list[Row] = data.draw(st.lists(st.one_of(st.none(), st.lists(pair, max_size=40)), max_size=6))
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    kind = pa.string() if words else pa.int64()
    dicts: list[Any] = [
        None if row is None else [{"element": element, "weight": weight} for element, weight in row] for row in rows
    ]
    struct = pa.struct([("element", kind), ("weight", pa.float32())])
    sides = [None if row is None else {"x": [e for e, _ in row], "y": [w for _, w in row]} for row in rows]
    columns = [
        pa.array(dicts, pa.list_(struct)),
        pa.array(dicts, pa.large_list(pa.struct([("weight", pa.float64()), ("element", kind)]))),
        pa.array(dicts, pa.list_view(struct)),
        pa.array(rows, pa.map_(kind, pa.float64())),
        pa.array(sides, pa.struct([("x", pa.list_(kind)), ("y", pa.large_list(pa.float32()))])),
    ]
    for column in columns:
        check(bags(column[start:stop]), rows[start:stop])


@some
@given(st.lists(st.one_of(st.none(), st.lists(st.integers(0, 9) | st.none(), max_size=60)), max_size=6))
def test_a_plain_list_counts_its_elements(rows: list[list[int | None] | None]) -> None:
    counted: list[Row] = [list(Counter(x for x in row or () if x is not None).items()) for row in rows]
    for of in (pa.list_, pa.large_list, pa.list_view):
        check(bags(pa.array(rows, of(pa.int16()))), counted)


@some
@given(st.lists(st.tuples(st.sampled_from("abc"), floats), max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_elements_makes_no_difference(pairs: list[tuple[str, float]], random: Any) -> None:
    other = pairs.copy()
    random.shuffle(other)
    found = bags(pa.array([pairs, other], pa.map_(pa.string(), pa.float64())))
    one, two = listed(found)
    assert one == two
    assert found.fingerprints[0].tolist() == found.fingerprints[1].tolist()


def test_repeated_weights_are_added_from_the_smallest_on() -> None:
    """1e17 + 1 + … + 1 is 1e17 in float64, if the ones do not come first."""
    rows: list[Row] = [[("a", 1e17), *[("a", 1.0)] * 100_000], [*[("a", 1.0)] * 100_000, ("a", 1e17)]]
    check(bags(pa.array(rows, pa.map_(pa.string(), pa.float64()))), rows)


def test_elements_are_hashed_as_those_of_sets() -> None:
    for rows, kind in ([[["a", "b", "a"], []], pa.string()], [[[3, 2**63 - 1, -1], [7]], pa.int64()]):
        column = pa.array(rows, pa.list_(kind))
        sets, found = element_sets(column), bags(column)
        for (start, end), bag in zip(pairwise(sets.offsets.tolist()), listed(found), strict=True):
            assert set(bag) == set(sets.values[start:end].tolist())


def test_an_element_whose_hash_is_zero_is_the_golden_ratio() -> None:
    rows: list[Row] = [[(2**64 - G, 2.0), (1, 1.0)]]
    check(bags(pa.array(rows, pa.map_(pa.uint64(), pa.float32()))), rows)


def test_large_bags_with_many_repeats_and_heavy_elements() -> None:
    rng = np.random.default_rng(1)
    rows: list[Row] = []
    for size in (23, 24, 25, 26, 1000, 70_000):
        elements = np.minimum(rng.geometric(0.001, size), rng.integers(1, 10**6, size))
        rows.append(list(zip(elements.tolist(), rng.random(size).astype(np.float32).tolist(), strict=True)))
    check(bags(pa.array(rows, pa.map_(pa.int64(), pa.float32()))), rows)


def test_null_elements_and_null_pairs_go() -> None:
    rows = [[{"element": None, "weight": 1.0}, None, {"element": "a", "weight": 2.0}], [None], None]
    check(bags(pa.array(rows, pa.list_(PAIRS))), [[("a", 2.0)], [], None])
    assert bags(pa.array([{"x": None, "y": None}, {"x": ["a"], "y": [1]}])).bad == []


def test_weights_of_any_kind_of_number() -> None:
    for one, kind in ((1, pa.int8()), (1, pa.uint64()), (1.0, pa.float16()), (True, pa.bool_())):
        check(bags(pa.array([[("a", one), ("b", type(one)(0))]], pa.map_(pa.string(), kind))), [[("a", 1.0)]])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (math.nan, "holds NaN"),
        (math.inf, "holds infinity"),
        (-math.inf, "holds infinity"),
        (-0.5, "holds a negative weight, -0.5"),
        (None, "holds an element without a weight"),
        (1e39, "holds a weight too large for float32"),
    ],
)
def test_a_bad_bag_is_told_and_becomes_empty(weight: float | None, message: str) -> None:
    good: list[Any] = [{"element": "a", "weight": 1.0}, {"element": "b", "weight": 2.0}]
    rows = [good, [*good, {"element": "c", "weight": weight}], None, good]
    found = bags(pa.array(rows, pa.list_(PAIRS)))
    assert found.bad == [(1, message)]
    bag, empty = collected([("a", 1.0), ("b", 2.0)]), fingerprint({})
    assert listed(found) == [bag, {}, {}, bag]
    assert [tuple(row) for row in found.fingerprints.tolist()] == [fingerprint(bag), empty, empty, fingerprint(bag)]
    sides = [row and {"i": [pair["element"] for pair in row], "w": [pair["weight"] for pair in row]} for row in rows]
    assert bags(pa.array(sides)).bad == [(1, message)]


def test_weights_that_add_up_beyond_float32_are_bad() -> None:
    column = pa.array([[("a", 3e38), ("a", 3e38)]], pa.map_(pa.string(), pa.float32()))
    assert bags(column).bad == [(0, "holds a weight too large for float32")]


def test_negative_weights_where_they_are_allowed() -> None:
    rows: list[Row] = [[("a", -1.5), ("b", 2.0), ("b", -2.0), ("c", -0.0)]]
    column = pa.array(rows, pa.map_(pa.string(), pa.float64()))
    check(bags(column, negative=True), [[("a", -1.5)]])
    assert bags(column).bad == [(0, "holds a negative weight, -1.5")]
    infinite = pa.array([[("a", -math.inf)]], pa.map_(pa.string(), pa.float64()))
    assert bags(infinite, negative=True).bad == [(0, "holds infinity")]


def test_lists_side_by_side_must_be_of_one_length() -> None:
    column = pa.array([{"indices": [1, 2], "values": [1.0]}, {"values": [0.5, 0.5], "indices": [1, 1]}, None])
    found = bags(column)
    assert found.bad == [(0, "has 2 elements and 1 weights")]
    assert listed(found) == [{}, collected([(1, 1.0)]), {}]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["a"]), "bags must be lists, not string"),
        (pa.array([[1.5]]), "the elements of a set must be integers or strings, not double"),
        (pa.array([{"x": 1, "y": 2}]), "the two fields of a bag must be lists, not int64"),
        (
            pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string())),
            "the weights of bags must hold numbers, not string",
        ),
        (
            pa.array([[{"a": 1, "b": 2, "c": 3}]]),
            "bags need the fields 'element' and 'weight', not struct<a: int64, b: int64, c: int64>",
        ),
    ],
)
def test_columns_without_bags_are_refused(column: pa.Array, message: str) -> None:
    with pytest.raises(InputError) as caught:
        bags(column)
    assert str(caught.value) == message
