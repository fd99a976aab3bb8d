"""Columns as JSON text, against the json module."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.io.json_text import literals, record_lines

DAY = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, None, -(2**63)]), ["1", "null", str(-(2**63))]),
        (pa.array([2**64 - 1], pa.uint64()), [str(2**64 - 1)]),
        (pa.array([True, False, None]), ["true", "false", "null"]),
        (pa.array([1.0, 0.1, 1e20, -0.0, 1e-7]), ["1.0", "0.1", "1e+20", "-0.0", "1e-7"]),
        (pa.array([math.nan, math.inf, -math.inf, None]), ["null"] * 4),
        (pa.array([0.1], pa.float32()), ["0.1"]),
        (
            pa.array(["a", 'q"\\', "\n\t\x00\x7f", "ü☃", None]),
            ['"a"', '"q\\"\\\\"', '"\\n\\t\\u0000\x7f"', '"ü☃"', "null"],
        ),
        (pa.array([b"text", b"\xff\x00", None]), ['"text"', '"/wA="', "null"]),
        (pa.array([b"\xff"]).view(pa.string()), ['"/w=="']),
        (pa.array([DAY], pa.timestamp("us")), ['"2020-01-02T03:04:05.678000"']),
        (pa.array([DAY], pa.timestamp("us", "UTC")), ['"2020-01-02T03:04:05.678000Z"']),
        (pa.array([DAY], pa.timestamp("us", "Europe/Paris")), ['"2020-01-02T04:04:05.678000+01:00"']),
        (pa.array([DAY.date(), None]), ['"2020-01-02"', "null"]),
        (pa.array([DAY.time()]), ['"03:04:05.678000"']),
        (pa.array([datetime.timedelta(seconds=1)]), ["1000000"]),
        (pa.array([decimal.Decimal("1.50")]), ["1.50"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ['"a"', '"b"', '"a"']),
        (pa.array([[1, None], [], None]), ["[1,null]", "[]", "null"]),
        (
            pa.array([{"a": math.nan, "b": DAY.date(), "c": b"x", "d": decimal.Decimal("2.5")}]),
            ['{"a":null,"b":"2020-01-02","c":"x","d":2.5}'],
        ),
        (pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())), ['{"k":1}', "[]"]),
        (pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())), ["[[1,2]]"]),
        (pa.array([[1_000_000_001]], pa.list_(pa.timestamp("ns"))), ['["1970-01-01T00:00:01"]']),
        (pa.nulls(2), ["null", "null"]),
    ],
)
def test_literals(array: Any, expected: list[str]) -> None:
    assert literals(array).to_pylist() == expected
    assert literals(array.slice(1)).to_pylist() == expected[1:]


ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        'te"xt': st.none() | st.text(),
        "b": st.none() | st.booleans(),
        "l": st.none() | st.lists(st.text(max_size=3), max_size=3),
        "s": st.none() | st.fixed_dictionaries({"x": st.integers(0, 9), "y": st.none() | st.text(max_size=3)}),
    }
)
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ('te"xt', pa.string()),
        ("b", pa.bool_()),
        ("l", pa.list_(pa.string())),
        ("s", pa.struct([("x", pa.int64()), ("y", pa.string())])),
    ]
)


@given(st.lists(ROW, max_size=5))
def test_lines_read_back_as_the_rows_they_were(rows: list[dict[str, Any]]) -> None:
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    lines = record_lines(batch).to_pylist()
    assert all(line.endswith("}\n") and line.count("\n") == 1 for line in lines)
    assert [json.loads(line) for line in lines] == rows


def test_rows_without_columns_are_empty_objects() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert record_lines(batch).to_pylist() == ["{}\n", "{}\n"]


def test_values_that_python_does_not_have_are_a_line() -> None:
    far = pa.array([2**40]).cast(pa.int64()).view(pa.timestamp("s"))
    nested = pa.StructArray.from_arrays([far], names=["when"])
    with pytest.raises(InputError, match=r"a value of struct<when: timestamp\[s\]> cannot be read: "):
        literals(nested)
