"""Types that go together, and the pieces of columns that batches bring."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io import concat, is_text
from lookalike.io.column_types import as_text, bytes_of, check_types, conform, honest, merge_json, storable, stretches

TYPES = st.recursive(
    st.sampled_from([pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string()]),
    lambda inner: (
        inner.map(pa.list_)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=2).map(lambda fields: pa.struct(list(fields.items())))
    ),
    max_leaves=4,
)


def sorted_fields(type: Any) -> Any:
    """The type with the fields of structs in order of their names."""
    if pa.types.is_list(type):
        return pa.list_(sorted_fields(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct(sorted((field.name, sorted_fields(field.type)) for field in type))
    return type


@given(TYPES, TYPES, TYPES)
def test_json_types_merge_alike_in_any_order(a: Any, b: Any, c: Any) -> None:
    left = merge_json(merge_json(a, b), c)
    assert sorted_fields(left) == sorted_fields(merge_json(a, merge_json(b, c)))
    assert sorted_fields(left) == sorted_fields(merge_json(c, merge_json(b, a)))
    assert merge_json(left, a) == left


@pytest.mark.parametrize(
    ("chunks", "type", "values"),
    [
        ([pa.array([1, 2]), pa.array(["x"])], pa.large_string(), ["1", "2", "x"]),
        ([pa.nulls(1), pa.array([1])], pa.int64(), [None, 1]),
        ([pa.array([1], pa.int32()), pa.array([2])], pa.int64(), [1, 2]),
        ([pa.array(["a"]), pa.array([b"\xff"])], pa.binary(), [b"a", b"\xff"]),
        ([], pa.null(), []),
    ],
)
def test_pieces_of_ids_are_put_together(chunks: list[Any], type: Any, values: list[Any]) -> None:
    column = concat(chunks)
    assert column.type == type
    assert column.to_pylist() == values


def test_pieces_that_have_nothing_in_common() -> None:
    with pytest.raises(InputError, match="a column holds both int64 and list<item: int64>"):
        concat([pa.array([1]), pa.array([[1]])])


def test_types_are_checked_by_family() -> None:
    lists = pa.list_(pa.int64())
    schema = pa.schema(
        [("t", pa.large_string()), ("b", pa.binary()), ("l", pa.large_list(pa.uint32())), ("s", pa.list_(pa.string()))]
    )
    check_types("x", schema, {"t": pa.string(), "b": pa.string(), "l": lists, "absent": pa.string()})
    with pytest.raises(InputError, match=r"x: column 's' is list<item: string>, not list<item: int64>"):
        check_types("x", schema, {"s": lists})
    with pytest.raises(InputError, match=r"x: column 'l' is .*, not text"):
        check_types("x", schema, {"l": pa.string()})
    assert is_text(pa.string_view())
    assert not is_text(pa.int64())


def test_vectors_and_bags_of_any_width_are_of_one_family() -> None:
    schema = pa.schema([
        ("v", pa.list_(pa.float16(), 3)), ("i", pa.large_list(pa.uint8())), ("s", pa.list_(pa.string())),
        ("b", pa.list_(pa.struct([("weight", pa.int8()), ("element", pa.large_string())]))),
    ])  # fmt: skip
    vectors = pa.list_(pa.float64())
    bags = pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float32())]))
    check_types("x", schema, {"v": vectors, "i": vectors, "b": bags})
    for column, wanted in (("s", vectors), ("b", vectors), ("v", bags), ("v", pa.list_(pa.int64()))):
        with pytest.raises(InputError, match=f"x: column '{column}' is .*, not "):
            check_types("x", schema, {column: wanted})


def test_strings_that_are_not_utf8_are_shown_as_bytes() -> None:
    bad = pa.array([b"\xff", b"ok"]).view(pa.string())
    assert honest(bad).type == pa.binary()
    assert honest(bad.cast(pa.large_binary(), safe=False).view(pa.large_string())).type == pa.large_binary()
    assert honest(pa.array(["ok"])).type == pa.string()
    texts, broken = as_text(pa.array([b"\xff", b"ok", None, b"a\xfe"]), pa.string())
    assert texts.to_pylist() == ["\ufffd", "ok", None, "a\ufffd"]
    assert broken == 2


def test_rows_conform_to_a_schema() -> None:
    rows = pa.record_batch({"a": [1, None], "b": [b"x", b"\xff"], "c": [{"d": 1}, None]})
    schema = pa.schema([("b", pa.string()), ("new", pa.int64()), ("a", pa.string()), ("c", pa.string())])
    found, replaced = conform(rows, schema)
    assert found.to_pylist() == [
        {"b": "x", "new": None, "a": "1", "c": '{"d":1}'},
        {"b": "\ufffd", "new": None, "a": None, "c": None},
    ]
    assert replaced == 1


def test_empty_objects_are_stored_as_text() -> None:
    schema = storable(pa.schema([("a", pa.struct([])), ("b", pa.int64())]))
    assert schema.types == [pa.string(), pa.int64()]


def test_the_bytes_of_a_slice() -> None:
    array = pa.array(["a", "bc", "", "d"], pa.large_string())
    assert bytes(bytes_of(array)) == b"abcd"
    assert bytes(bytes_of(array.slice(1, 2))) == b"bc"
    assert bytes(bytes_of(array.slice(4))) == b""


def test_stretches_of_dictionary_columns_hold_so_many_bytes_once_they_are_decoded() -> None:
    texts = pa.array(["a" * 100, "b", None, "a" * 100, "a" * 100, "b"]).dictionary_encode()
    rows = pa.record_batch({"n": range(6), "text": texts})
    parts = list(stretches(rows, 201))
    assert [part.column(0).to_pylist() for part in parts] == [[0, 1, 2, 3], [4, 5]]
    assert [part.num_rows for part in stretches(rows, 1)] == [1, 2, 1, 1, 1]
    assert list(stretches(rows, 1000)) == [rows]
    assert list(stretches(rows.select(["n"]), 1)) == [rows.select(["n"])]
    numbers = pa.record_batch({"n": pa.array([7, 7, 7]).dictionary_encode()})
    assert [part.num_rows for part in stretches(numbers, 16)] == [2, 1]
