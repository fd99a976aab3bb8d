"""Packed rows: what is packed is what is unpacked, and rows of two tasks are not taken for those of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.engines.packed.blobs import BatchWriter, blobs, by_number, of_one_task, pack, read_kinds, unpack
from lookalike.engines.packed.tallies import Tallies

DTYPES = ("<u8", "<i8", "<u4", "<u2", "|u1", "<f8")


@given(st.lists(st.tuples(st.sampled_from(DTYPES), st.integers(0, 20)), max_size=5), st.integers(0, 7))
def test_arrays_come_back_as_they_were_wherever_they_lie(shapes: list[tuple[str, int]], at: int) -> None:
    arrays = {f"a{i}": np.arange(count).astype(kind) for i, (kind, count) in enumerate(shapes)}
    found = unpack(memoryview(b"x" * at + pack(arrays))[at:])
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].flags.aligned
        assert found[name].tolist() == array.tolist()


def test_a_row_has_one_blob_and_a_stage_sees_the_kinds_that_it_asks_for() -> None:
    out = BatchWriter(["one", "two"])
    out.add("one", 3, {"x": np.arange(2)})
    out.add("two", 4, {"x": np.arange(3)})
    batches = list(out.rest())
    assert [(place, sorted(found)) for place, found in read_kinds(iter(batches), ["one", "two"])] == [
        (3, ["one"]),
        (4, ["two"]),
    ]
    assert [(place, arrays["x"].tolist()) for place, arrays in blobs(iter(batches), "two")] == [(4, [0, 1, 2])]
    with pytest.raises(RuntimeError, match="the tasks 3 and 4"):
        of_one_task(iter(batches), ["one", "two"])
    assert list(out.rest()) == []


def test_a_batch_is_handed_over_when_it_is_large() -> None:
    out = BatchWriter(["one"])
    out.add("one", 0, {"x": np.zeros(10)})
    assert list(out.full()) == []
    out.add("one", 1, {"x": np.zeros(1 << 18)})
    assert [batch.num_rows for batch in out.full()] == [2]


@given(st.lists(st.integers(0, 5)))
def test_numbers_are_grouped_in_order(numbers: list[int]) -> None:
    found = {number: places.tolist() for number, places in by_number(np.array(numbers, np.int64))}
    assert found == {each: [i for i, n in enumerate(numbers) if n == each] for each in sorted(set(numbers))}


def test_counters_of_tasks_are_added_and_of_the_largest_the_largest_counts() -> None:
    one, other = Tallies(), Tallies()
    one.add("rows", 3)
    one.largest("bucket", 7)
    other.add("rows", 4)
    other.add("none", 0)
    other.largest("bucket", 5)
    assert Tallies.merged([one.packed(), other.packed()]) == {"rows": 7, "largest bucket": 7}
