"""Sets that the user brings against the twin: every element type, every list type, nulls, slices and repeats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.represent.elements import element_sets, hash_raw, hash_strings, sets_of_hashes
from lookalike.represent.shingle_kernels import BAG
from lookalike.twin import hashing
from lookalike.twin import text as twin
from lookalike.types import Sets

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

Element = int | str | bytes
Row = Sequence[Element | None] | None

some = settings(max_examples=30, deadline=None, derandomize=True)

INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
small_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

ELEMENTS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    **{getattr(pa, name)(): st.integers(*bounds) for name, bounds in INTEGERS.items()},
    pa.bool_(): st.booleans(),
    pa.string(): small_texts,
    pa.large_string(): small_texts,
    pa.string_view(): small_texts,
    pa.binary(): st.binary(max_size=20),
    pa.large_binary(): st.binary(max_size=20),
    pa.binary_view(): st.binary(max_size=20),
    pa.dictionary(pa.int32(), pa.string()): small_texts,
    pa.dictionary(pa.int8(), pa.int64()): st.integers(-50, 50),
}


def elements(sets: Sets) -> list[set[int]]:
    """The elements of each row, which the kernel has to give once each."""
    listed = [sets.values[start:end].tolist() for start, end in pairwise(sets.offsets.tolist())]
    assert all(len(set(row)) == len(row) for row in listed)
    return [set(row) for row in listed]


def check(lists: pa.Array, rows: Sequence[Row]) -> None:
    expected = [{hashing.hash_element(x) for x in row or () if x is not None} for row in rows]
    sets = element_sets(lists)
    assert elements(sets) == expected
    assert [tuple(row) for row in sets.fingerprints.tolist()] == [hashing.fingerprint(row, b"") for row in expected]
    assert (sets.invalid, sets.short) == (0, 0)


@pytest.mark.parametrize("kind", ELEMENTS, ids=str)
@some
@given(st.data())
def test_elements_of_every_type_are_hashed_as_by_the_twin(kind: pa.DataType, data: st.DataObject) -> None:
    """With nulls among the elements and among the lists, repeated elements, and cut out of a longer column."""
    values = st.one_of(st.none(), ELEMENTS[kind])
    row = st.one_of(st.none(), st.lists(values, max_size=6), st.lists(values, max_size=3).map(lambda x: x * 2))
    rows = data.draw(st.lists(row, max_size=8))
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    for of in (pa.list_, pa.large_list, pa.list_view):
        check(pa.array(rows, of(kind))[start:stop], rows[start:stop])


@pytest.mark.parametrize("kind", [pa.int32(), pa.string()], ids=str)
@some
@given(st.data())
def test_lists_of_one_size(kind: pa.DataType, data: st.DataObject) -> None:
    """Arrow keeps room for the elements of a null in them, which are no elements."""
    size = data.draw(st.integers(1, 4))
    values = st.one_of(st.none(), ELEMENTS[kind])
    rows = data.draw(st.lists(st.one_of(st.none(), st.lists(values, min_size=size, max_size=size)), max_size=8))
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    check(pa.array(rows, pa.list_(kind, size))[start:stop], rows[start:stop])


def test_elements_hidden_behind_a_null_list_are_none() -> None:
    values, offsets = pa.array([1, 2, 3, 4, 5]), pa.array([0, 2, 4, 5], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, values, mask=pa.array([False, True, False]))
    check(lists, [[1, 2], None, [5]])


def test_a_null_among_the_values_of_a_dictionary_is_no_element() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None, 2]), pa.array(["a", None, ""]))
    check(pa.ListArray.from_arrays(pa.array([0, 3, 5], pa.int32()), words), [["a", None, "a"], [None, ""]])


def test_lists_of_nothing_but_nulls() -> None:
    check(pa.array([[None], None, [], [None, None]], pa.list_(pa.null())), [[None], None, [], [None, None]])
    check(pa.array([], pa.list_(pa.int64())), [])


def test_the_same_number_is_the_same_element_in_every_integer_type() -> None:
    sets = [element_sets(pa.array([[7, 100]], pa.list_(getattr(pa, name)()))) for name in INTEGERS]
    assert len({tuple(row) for one in sets for row in one.fingerprints.tolist()}) == 1
    one, other = (element_sets(pa.array([[value]], pa.list_(kind))) for value, kind in
                  [(-1, pa.int8()), (2**64 - 1, pa.uint64())])  # fmt: skip
    assert elements(one) == elements(other)


def test_repeated_elements_count_once_in_sets_larger_than_the_smallest_table() -> None:
    rows = [[i % n for i in range(3 * n)] for n in (1, 7, 8, 9, 16, 100, 1000)]
    check(pa.array(rows, pa.list_(pa.int64())), rows)


def test_an_element_whose_hash_is_zero_is_the_golden_ratio() -> None:
    """The only integer with the hash 0; the kernel's table has 0 for an empty slot."""
    zero = hashing.PUBLIC.integer
    assert hashing.hash_int(zero) == 0
    check(pa.array([[zero, 1, zero], [zero]], pa.list_(pa.uint64())), [[zero, 1, zero], [zero]])
    hashes = np.array([0, 5, 0, 0], np.uint64)
    bag = sets_of_hashes(hashes, np.array([0, 4], np.int64), 0, BAG)
    assert elements(bag) == [twin.bag_elements([hashing.G, 5, hashing.G, hashing.G])]


def test_elements_of_another_type_are_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="must be integers or strings, not double"):
        element_sets(pa.array([[1.5]]))


def test_the_golden_hashes_are_met() -> None:
    numbers = {int(value): int(said, 16) for value, said in GOLDEN["hash_int"].items()}
    for value, said in numbers.items():
        kind = pa.int64() if value < 2**63 else pa.uint64()
        assert elements(element_sets(pa.array([[value]], pa.list_(kind)))) == [{said}]
    strings = [bytes.fromhex(data) for data in GOLDEN["hash_bytes"]]
    assert [f"{h:016x}" for h in hash_strings(strings).tolist()] == list(GOLDEN["hash_bytes"].values())
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in strings])]).astype(np.int64)
    raw = hash_raw(np.frombuffer(b"".join(strings), np.uint8), offsets)
    assert [f"{h:016x}" for h in raw[:, 0].tolist()] == list(GOLDEN["hash_bytes_from_c1"].values())
    assert raw[:, 1].tolist() == [hashing.hash_bytes(s, hashing.C2) for s in strings]


def test_strings_of_every_length_around_the_lanes_of_eight_bytes() -> None:
    strings = (
        [bytes(range(1, n + 1)) for n in range(70)] + [b"\0" * n for n in range(20)] + [b"\xff" * n for n in range(20)]
    )
    assert hash_strings(strings).tolist() == [hashing.hash_bytes(s) for s in strings]
    assert hash_strings([]).tolist() == []
