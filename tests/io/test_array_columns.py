"""Vectors, bits and bags in memory: what each kind becomes, and what is refused."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.io import open_source
from lookalike.io.making.memory import to_table
from lookalike.represent.bags import bags
from lookalike.represent.vectors import dense, packed_bits

GRID = np.arange(6, dtype=np.float32).reshape(2, 3)
ROWS = GRID.tolist()
NO_VECTORS = "has no vectors; two dimensions are needed, a row for each item"
OF_BAGS = "the elements of bags must be all integers or all strings"
BITS = np.array([[1, 0, 1, 1, 0, 0, 0, 0, 1], [0] * 9], np.bool_)


class Tensor:
    """What torch offers of a tensor, as far as it is used; `half` for a type that NumPy does not have."""

    def __init__(self, array: NDArray[Any], *, half: bool = False) -> None:
        self._array = array
        self._half = half

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self._array.astype(np.float32))

    def numpy(self) -> NDArray[Any]:
        if self._half:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array


class Sparse:
    """What SciPy offers of a sparse matrix, as far as it is used."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def tocsr(self) -> SimpleNamespace:
        rows, columns = self._array.nonzero()
        return SimpleNamespace(
            indptr=np.searchsorted(rows, np.arange(len(self._array) + 1)).astype(np.int32),
            indices=columns.astype(np.int32),
            data=self._array[rows, columns],
        )


def pairs(*weights: tuple[Any, float]) -> list[dict[str, Any]]:
    return [{"element": element, "weight": weight} for element, weight in weights]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", ">f4", ">i2"])
def test_the_rows_of_an_array_are_vectors(dtype: str) -> None:
    table = to_table(GRID.astype(dtype))
    kind = pa.from_numpy_dtype(np.dtype(dtype).newbyteorder("="))
    assert table.schema == pa.schema([("vector", pa.list_(kind, 3))])
    assert table.column("vector").to_pylist() == ROWS
    assert dense(table.column("vector").chunk(0)).values.tolist() == ROWS


def test_an_array_whose_rows_lie_one_after_another_is_not_copied() -> None:
    for array in (GRID, GRID.astype(np.float16), GRID[1:], GRID.astype(np.uint8)):
        numbers = to_table(array).column("vector").chunk(0).flatten()
        assert np.shares_memory(numbers.to_numpy(), array)
    assert np.shares_memory(dense(to_table(GRID).column("vector").chunk(0)).values, GRID)
    for array in (np.asfortranarray(GRID), GRID[:, ::2], GRID[::-1]):
        assert to_table(array).column("vector").to_pylist() == array.tolist()


def test_the_rows_of_an_array_of_booleans_are_bits() -> None:
    table = to_table(BITS)
    assert table.schema.field("bits").type == pa.binary(2)
    assert table.schema.field("bits").metadata == {b"bits": b"9"}
    assert table.column("bits").to_pylist() == [b"\x0d\x01", b"\0\0"]
    found = packed_bits(table.column("bits").chunk(0), 9)
    assert (found.words.tolist(), found.bad) == ([[0x10D], [0]], [])


@pytest.mark.parametrize(
    ("items", "kind", "rows"),
    [
        (Tensor(GRID), pa.list_(pa.float32(), 3), ROWS),
        (Tensor(GRID, half=True), pa.list_(pa.float32(), 3), ROWS),
        ([Tensor(row) for row in GRID], pa.list_(pa.float32(), 3), ROWS),
        (list(GRID), pa.list_(pa.float32(), 3), ROWS),
        (tuple(GRID.astype(np.float16)), pa.list_(pa.float16(), 3), ROWS),
        ([GRID[0], None, GRID[1]], pa.large_list(pa.float32()), [ROWS[0], None, ROWS[1]]),
        ([GRID[0], GRID[1][:2]], pa.large_list(pa.float32()), [ROWS[0], ROWS[1][:2]]),
        ([GRID[0], [1, 2, 3]], pa.list_(pa.float64(), 3), [ROWS[0], [1, 2, 3]]),
        ([[0.5, 1], (2, 3)], pa.list_(pa.float64(), 2), [[0.5, 1], [2, 3]]),
        ([[1, 0], [0.5, np.float32(1)]], pa.list_(pa.float64(), 2), [[1, 0], [0.5, 1]]),
        ([np.array([1, 2]), np.array([0.5, 1])], pa.list_(pa.float64(), 2), [[1, 2], [0.5, 1]]),
        ([[0.5], []], pa.large_list(pa.float64()), [[0.5], []]),
        (pl.DataFrame({"vector": GRID}), pa.list_(pa.float32(), 3), ROWS),
        (pl.Series(ROWS), pa.large_list(pa.float64()), ROWS),
        (pd.DataFrame({"vector": list(GRID)}), pa.list_(pa.float32()), ROWS),
        (pd.Series(list(GRID)), pa.list_(pa.float32()), ROWS),
        (pd.Series(ROWS, name="vector"), pa.list_(pa.float64()), ROWS),
        (pa.array(ROWS), pa.list_(pa.float64()), ROWS),
    ],
)
def test_vectors_from_everywhere(items: Any, kind: pa.DataType, rows: list[Any]) -> None:
    table = to_table(items)
    assert table.schema.names == ["vector"]
    assert table.schema.types == [kind]
    assert table.column("vector").to_pylist() == rows


@pytest.mark.parametrize(
    ("items", "rows"),
    [
        (list(BITS), [b"\x0d\x01", b"\0\0"]),
        ([[True, False], [False, True]], [b"\1", b"\2"]),
        ([[True, False], None, [True]], [[True, False], None, [True]]),
        (pa.array([[True], None]), [[True], None]),
        (pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (pl.Series([[True], None]), [[True], None]),
    ],
)
def test_bits_from_everywhere(items: Any, rows: list[Any]) -> None:
    assert to_table(items).to_pydict() == {"bits": rows}


def test_a_dict_from_id_to_vector() -> None:
    table = to_table({"a": GRID[0], "b": GRID[1]})
    assert table.to_pydict() == {"id": ["a", "b"], "vector": ROWS}
    source = open_source({7: GRID[0], 9: None})
    assert source.natural_id == "id"
    assert next(iter(source.batches(["vector", "id"]))).rows.to_pydict() == {"vector": [ROWS[0], None], "id": [7, 9]}
    bits = to_table({"a": BITS[0]})
    assert bits.schema.field("bits").metadata == {b"bits": b"9"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_])
def test_the_rows_of_a_sparse_matrix_are_bags(dtype: Any) -> None:
    array = np.array([[0, 2, 0], [0, 0, 0], [3, 0, 4]]).astype(dtype)
    table = to_table(Sparse(array))
    assert table.schema == pa.schema([
        ("vector", pa.list_(pa.struct([("element", pa.uint64()), ("weight", pa.float32())])))
    ])  # fmt: skip
    two, three, four = (float(dtype(number)) for number in (2, 3, 4))
    assert table.column("vector").to_pylist() == [pairs((1, two)), [], pairs((0, three), (2, four))]


@pytest.mark.parametrize(
    ("indptr", "indices", "data"),
    [
        ([0, 2], [0], [1.0]),
        ([0, 2, 1], [0, 1], [1.0, 1.0]),
        ([1, 2], [0, 1], [1.0, 1.0]),
        ([0, 1], [-1], [1.0]),
        ([], [], []),
        ([0, 1], [0], ["x"]),
        ([0.0, 1.0], [0], [1.0]),
    ],
)
def test_sparse_matrices_that_do_not_fit_together_are_refused(indptr: Any, indices: Any, data: Any) -> None:
    matrix = SimpleNamespace(indptr=np.array(indptr), indices=np.array(indices, int), data=np.array(data))
    with pytest.raises(InputError, match=r"items: .* sparse matrix"):
        to_table(SimpleNamespace(tocsr=lambda: matrix))


@pytest.mark.parametrize(
    ("items", "columns"),
    [
        ([{"a": 1.5, "b": 2}, None, {}], {"vector": [pairs(("a", 1.5), ("b", 2)), None, []]}),
        ([{7: 1, np.int64(9): np.float32(0.5)}], {"vector": [pairs((7, 1), (9, 0.5))]}),
        ([{2**64 - 1: 1.0}], {"vector": [pairs((2**64 - 1, 1.0))]}),
        ([Counter("aab")], {"vector": [pairs(("a", 2), ("b", 1))]}),
        ({"x": {"a": 1.0}, "y": {}}, {"id": ["x", "y"], "vector": [pairs(("a", 1.0)), []]}),
    ],
)
def test_dicts_of_weights_are_bags(items: Any, columns: dict[str, Any]) -> None:
    table = to_table(items)
    assert table.to_pydict() == columns
    assert bags(table.column("vector").chunk(0)).bad == []


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (np.zeros((2, 2, 2)), f"items: an array of 2 x 2 x 2 {NO_VECTORS}"),
        (np.zeros((2, 0)), f"items: an array of 2 x 0 {NO_VECTORS}"),
        (np.array(1.0), f"items: an array of no dimension {NO_VECTORS}"),
        (np.zeros((1, 1), "c8"), "items: an array of complex64 holds no vectors; numbers or booleans are needed"),
        (np.array([["a"]]), "items: an array of <U1 holds no vectors; numbers or booleans are needed"),
        ([[0.5], [1, "a"]], "items: item 1 holds 'a'; vectors must hold numbers"),
        ([[0.5], [None]], "items: item 1 holds None; vectors must hold numbers"),
        ([[0.5], [True]], "items: item 1 holds True; vectors must hold numbers"),
        ([GRID, GRID], "items: item 0 is an array of 2 dimensions of float32, no vector"),
        ([GRID[0], BITS[0]], "items: item 1 is an array of 1 dimensions of bool, no vector"),
        ({"x": [0.5], "y": ["a"]}, "items: item 1 (id 'y') holds 'a'; vectors must hold numbers"),
        ([{0.5}], "items: item 0 holds 0.5; sets must hold integers or strings"),
        ([{"a": "x"}], "items: item 0 has the weight 'x' for 'a'; a dict is a bag, its weights must be numbers"),
        ([{"a": 1}, {1: 1}], f"items: item 1 has the element 1; {OF_BAGS}"),
        ([{0.5: 1}], f"items: item 0 has the element 0.5; {OF_BAGS}"),
        ([{2**64: 1}], "items: the integers of bags must fit 64 bits"),
        ([{"a": 1}, "a"], "items: item 1 is a str, but item 0 is a dict"),
    ],
)
def test_what_is_no_vector_is_said_with_its_position(items: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_table(items)
    assert str(caught.value) == message


def test_arrays_without_rows() -> None:
    assert to_table(np.zeros((0, 3), np.float32)).schema == pa.schema([("vector", pa.list_(pa.float32(), 3))])
    assert to_table(np.zeros((0, 3), np.bool_)).num_rows == 0
    assert to_table(np.zeros((0, 0), np.float32)).num_rows == 0


def test_batches_of_vectors_are_cut_without_copies() -> None:
    array = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
    source = open_source(array, batch_rows=300)
    assert source.count() == 1000
    parts = [dense(batch.rows.column("vector"), 8).values for batch in source.batches(["vector"])]
    assert [len(part) for part in parts] == [300, 300, 300, 100]
    assert all(np.shares_memory(part, array) for part in parts)
    assert np.array_equal(np.concatenate(parts), array)
