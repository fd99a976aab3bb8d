"""The keep order against sorting in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.cluster.keep import KeepPolicy, KeepValues, keep_order, parse_keep
from lookalike.errors import InputError, OptionError


def order(
    keep: Any, values: Any = None, *, ties: list[int] | None = None, lengths: list[int] | None = None
) -> list[int]:
    size = len(values if values is not None else lengths or ties or [])
    if values is not None and not callable(keep):
        values = pa.chunked_array([values]) if not isinstance(values, pa.ChunkedArray) else values
    ordered: list[int] = keep_order(
        parse_keep(keep),
        ties=np.array(ties if ties is not None else range(size), np.int64),
        lengths=np.array(lengths if lengths is not None else [0] * size, np.int64),
        values=values,
    ).tolist()
    return ordered


def test_policies_are_parsed() -> None:
    assert parse_keep("first") == KeepPolicy("first")
    assert parse_keep("max:date") == KeepPolicy("max", "date")
    assert parse_keep("min:a:b") == KeepPolicy("min", "a:b")
    assert parse_keep("prefer:source=web, book") == KeepPolicy("prefer", "source", ("web", "book"))
    assert parse_keep(len).key is len


@pytest.mark.parametrize(
    "keep", ["", "best", "max", "max:", "prefer:source", "prefer:=a", "prefer:source=", "first:x", 5]
)
def test_an_unknown_policy_is_an_error_that_lists_them(keep: Any) -> None:
    with pytest.raises(OptionError, match=r"^keep is .*: it must be first, last, longest, shortest, max:COLUMN"):
        parse_keep(keep)


@pytest.mark.parametrize(
    ("keep", "meant"),
    [("newest", "max:COLUMN"), ("Latest", "max:COLUMN"), ("oldest", "min:COLUMN"), ("frist", "first")],
)
def test_what_others_call_so_is_told_by_its_name_here(keep: str, meant: str) -> None:
    with pytest.raises(OptionError, match=rf"; did you mean '{meant}'\?$"):
        parse_keep(keep)


def test_first_and_last_are_the_order_of_the_input() -> None:
    assert order("first", ties=[2, 0, 1]) == [0, 1, 2]
    assert order("last", ties=[2, 0, 1]) == [2, 1, 0]


@given(st.lists(st.integers(0, 3), min_size=1), st.randoms(use_true_random=False))
def test_length_decides_and_ties_go_to_the_smaller_id(lengths: list[int], random: Any) -> None:
    ties = list(range(len(lengths)))
    random.shuffle(ties)
    items = range(len(lengths))
    assert order("longest", ties=ties, lengths=lengths) == sorted(items, key=lambda i: (-lengths[i], ties[i]))
    assert order("shortest", ties=ties, lengths=lengths) == sorted(items, key=lambda i: (lengths[i], ties[i]))


@given(st.lists(st.none() | st.integers(-2, 2), min_size=1), st.sampled_from(["max", "min"]))
def test_a_column_decides_and_nothing_comes_last(values: list[int | None], kind: str) -> None:
    sign = -1 if kind == "max" else 1
    expected = sorted(range(len(values)), key=lambda i: (values[i] is None, sign * (values[i] or 0), i))
    assert order(f"{kind}:x", pa.array(values, pa.int64())) == expected
    texts = pa.array([None if value is None else f"{value:.1f}" for value in values], pa.string())
    assert order(f"{kind}:x", texts) == expected, "text that is all numbers counts as numbers"


@pytest.mark.parametrize(
    ("values", "best"),
    [
        (pa.array(["b", "c", "a"]), 1),
        (pa.array(["9", "10", ""]), 1),
        (pa.array(["9", "10", "x"]), 2),
        (pa.array([False, True, False]), 1),
        (pa.array([1.0, float("nan"), 2.0]), 2),
        (pa.array([1, 3, 2], pa.timestamp("ms")), 1),
        (pa.array([1, 3, 2], pa.decimal128(5)), 1),
        (pa.array([1, 3, 2], pa.date32()), 1),
        (pa.nulls(3), 0),
    ],
)
def test_the_largest_of_every_type_with_an_order(values: pa.Array, best: int) -> None:
    assert order("max:x", values)[0] == best


@pytest.mark.parametrize("values", [pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}])])
def test_a_column_without_an_order_is_an_error_that_names_it(values: pa.Array) -> None:
    with pytest.raises(InputError, match=r"^keep is max:x, but the column holds .*, which has no order$"):
        order("max:x", values)
    with pytest.raises(InputError, match=r"^keep is prefer:x, but the column holds .*, which is not text$"):
        order("prefer:x=a", values)


def test_preferred_values_come_in_their_order_and_all_others_after_them() -> None:
    assert order("prefer:x=c,a", pa.array(["a", "b", None, "c", "a"])) == [3, 0, 4, 1, 2]
    assert order("prefer:x=2,1", pa.array([1, 2, 3])) == [1, 0, 2]
    assert order("prefer:x=true", pa.array([False, True])) == [1, 0]


def collected(keep: Any, *batches: Any) -> Any:
    values = KeepValues(parse_keep(keep))
    for rows, row_of_item in batches:
        values.add(rows, np.array(row_of_item, np.int64))
    return values.finish()


def test_values_are_taken_from_the_row_of_each_item() -> None:
    rows = pa.record_batch({"x": [10, 20, 30], "y": ["a", "b", "c"]})
    assert collected("max:x", (rows, [0, 0, 2])).to_pylist() == [10, 10, 30]
    assert collected(lambda row: (row["y"], row["x"]), (rows, [2, 0])) == [("c", 30), ("a", 10)]
    assert collected("first", (rows, [0])) is None


def test_blocks_of_different_types_become_text_and_empty_blocks_fit_any_type() -> None:
    numbers, words = pa.record_batch({"x": [9, 10]}), pa.record_batch({"x": ["8", None]})
    nothing = pa.record_batch({"x": pa.nulls(1)})
    mixed = collected("max:x", (numbers, [0, 1]), (words, [0, 1]))
    assert mixed.to_pylist() == ["9", "10", "8", None]
    assert order("max:x", mixed) == [1, 0, 2, 3]
    assert collected("max:x", (numbers, [0, 1]), (nothing, [0])).type == pa.int64()
    assert collected("max:x", (nothing, [0])).type == pa.null()
    with pytest.raises(InputError, match="keep is max:x, but the column holds list"):
        collected("max:x", (numbers, [0]), (pa.record_batch({"x": [[1]]}), [0]))


def test_the_keys_of_a_callable_sort_smallest_first() -> None:
    assert order(len, [3, 1, 2, 1], ties=[0, 2, 1, 1]) == [3, 1, 2, 0]
    assert order(len, [("b", 1), ("a", 2), ("a", 1)]) == [2, 1, 0]
    with pytest.raises(OptionError, match="the keep callable gives keys that cannot be compared"):
        order(len, [1, None])
