"""How much rows hold: additive over slices, and an error for a row that is too large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError, OptionError
from lookalike.io.limits import CopyRoom, check_rows, check_size, size_of

TEXTS = st.one_of(st.none(), st.text(max_size=5))
COLUMNS: list[tuple[Any, Any]] = [
    (pa.int32(), st.one_of(st.none(), st.integers(0, 9))),
    (pa.bool_(), st.booleans()),
    (pa.null(), st.none()),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.list_(pa.string()), st.one_of(st.none(), st.lists(TEXTS, max_size=3))),
    (pa.large_list(pa.int8()), st.lists(st.integers(0, 9), max_size=3)),
    (pa.list_(pa.int16(), 2), st.lists(st.integers(0, 9), min_size=2, max_size=2)),
    (pa.map_(pa.string(), pa.int64()), st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9)), max_size=3)),
    (
        pa.struct([("a", pa.string()), ("b", pa.list_(pa.float64()))]),
        st.one_of(st.none(), st.fixed_dictionaries({"a": TEXTS, "b": st.lists(st.floats(0, 1), max_size=2)})),
    ),
]


def rows(values: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(values)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), count=st.integers(0, 12))
def test_the_size_of_rows_is_that_of_their_slices(data: Any, count: int) -> None:
    arrays = [pa.array(data.draw(st.lists(values, min_size=count, max_size=count)), kind) for kind, values in COLUMNS]
    batch = pa.RecordBatch.from_arrays(arrays, names=[str(index) for index in range(len(arrays))])
    a = data.draw(st.integers(0, count))
    b = data.draw(st.integers(a, count))
    slices = [batch.slice(0, a), batch.slice(a, b - a), batch.slice(b)]
    assert sum(size_of(part) for part in slices) == size_of(batch)


def test_the_size_of_known_rows() -> None:
    assert size_of(rows({"n": pa.array([1, 2], pa.int32())})) == 2 * 32
    assert size_of(rows({"t": pa.array(["abc", None, "é"], pa.string())})) == 3 * 32 + 8 * (3 + 2)
    assert size_of(rows({"t": pa.array([["ab"], []], pa.list_(pa.large_string()))})) == 2 * 32 + 64 + 8 * 2
    assert size_of(rows({"s": pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.int8()), ("b", pa.string())]))})) == (
        8 + 32 + 8
    )
    assert size_of(rows({"v": pa.array([[1, 2, 3]], pa.list_(pa.float32(), 3))})) == 96
    uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 2, pa.binary(16)))
    assert size_of(rows({"u": uuid})) == 2 * 128


def test_a_row_that_is_too_large_is_named() -> None:
    texts = ["x"] * 100
    texts[42] = "y" * 3_000_000
    batch = rows({"id": np.arange(100), "text": texts})
    check_rows("a.parquet", 1000, batch, None)
    check_rows("a.parquet", 1000, batch, 20_000_000)
    with pytest.raises(InputError) as caught:
        check_rows("a.parquet", 1000, batch, 10_000_000)
    assert str(caught.value) == ("a.parquet row 1042: holds 3.0 MB, more than --memory allows; it needs about 18.0 MB")


def test_many_rows_that_are_large_together_are_no_error() -> None:
    check_rows("a.parquet", 0, rows({"text": ["x" * 1000] * 1000}), 10_000)


def test_sizes_are_worded() -> None:
    for size, words in ((999, "999 bytes"), (1500, "1.5 kB"), (1_200_000_000, "1.2 GB"), (5 * 10**12, "5000.0 GB")):
        with pytest.raises(InputError, match=rf"^row 1: holds {words}, more"):
            check_size("row 1: holds", size, 1)


def test_shares_of_a_budget() -> None:
    assert CopyRoom.of(None).memory is None
    room = CopyRoom.of(600 << 20)
    assert room.group == 100 << 20
    assert room.batch_bytes == 4 << 20
    assert CopyRoom.of(96 << 20).decoded_bytes == 4 << 20 < room.decoded_bytes
    assert room.need(1 << 20) < room.need(1 << 40) == room.need(100 << 20) < 600 << 20
    assert CopyRoom.of(64 << 30).group == 1 << 30, "texts of more than 2 GiB do not fit one array"
    assert CopyRoom.of(1) == CopyRoom(1, 1, batch_bytes=1, decoded_bytes=1, ahead=0)
    with pytest.raises(OptionError, match="memory: 0 is less than 1"):
        CopyRoom.of(0)
