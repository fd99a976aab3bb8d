"""Vectors and bits against plain Python: every type of number and of list, nulls, slices, and every row that is bad."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.represent.vectors import dense, packed_bits
from lookalike.twin.hashing import C1, C2, hash_bytes
from lookalike.types import Dense
from tests.reference.vectors import vector_fingerprint

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)

some = settings(max_examples=40, deadline=None, derandomize=True)

NOTHING = (hash_bytes(b"", C1), hash_bytes(b"", C2))

NUMBERS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.float16(): st.floats(width=16, allow_nan=False, allow_infinity=False),
    pa.float32(): st.floats(width=32, allow_nan=False, allow_infinity=False),
    pa.float64(): st.floats(-1e38, 1e38),
    pa.int8(): st.integers(-128, 127),
    pa.uint8(): st.integers(0, 255),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.bool_(): st.booleans(),
    pa.decimal128(10, 2): st.decimals(-1000, 1000, places=2),
}


def as_float32(row: Any) -> list[float]:
    return [float(np.float32(float(number))) for number in row]


def check(found: Dense, rows: list[Any], dimensions: int) -> None:
    """Rows that are null or lists of good numbers of one length."""
    assert found.bad == []
    assert found.present.tolist() == [row is not None for row in rows]
    expected = [[0.0] * dimensions if row is None else as_float32(row) for row in rows]
    assert found.values.shape == (len(rows), dimensions)
    assert found.values.dtype == np.float32
    assert found.values.flags.c_contiguous
    assert found.values.tolist() == expected
    prints = [NOTHING if row is None else vector_fingerprint(as_float32(row)) for row in rows]
    assert [tuple(row) for row in found.fingerprints.tolist()] == prints


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
@some
@given(st.data())
def test_vectors_of_every_type_are_those_of_plain_python(kind: pa.DataType, data: st.DataObject) -> None:
    """In every list type, with null rows, cut out of a longer column."""
    size = data.draw(st.integers(1, 5))
    row = st.one_of(st.none(), st.lists(NUMBERS[kind], min_size=size, max_size=size))
    rows = data.draw(st.lists(row, max_size=8))
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    for of in (pa.list_, pa.large_list, pa.list_view, lambda each: pa.list_(each, size)):
        check(dense(pa.array(rows, of(kind))[start:stop], size), rows[start:stop], size)


@some
@given(
    st.lists(
        st.one_of(
            st.none(), st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3)
        )
    )
)
def test_bytes_are_float32(rows: list[Any]) -> None:
    raw = [None if row is None else struct.pack("<3f", *row) for row in rows]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(12)):
        check(dense(pa.array(raw, kind), 3), rows, 3)
        check(dense(pa.array([b"x" * 12, *raw], kind)[1:], 3), rows, 3)


def test_float32_is_not_copied() -> None:
    numbers = np.arange(12, dtype=np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(numbers), 3)
    for column in (lists, lists[1:3], lists.cast(pa.list_(pa.float32()))):
        assert np.shares_memory(dense(column).values, np.asarray(column.flatten()))
        assert dense(column).values.tolist() == column.to_pylist()


def test_the_dimension_is_that_of_the_first_vector_unless_said() -> None:
    column = pa.array([None, [], [1.0, 2.0], [1.0], [3.0, 4.0]])
    found = dense(column)
    assert found.values.tolist() == [[0, 0], [0, 0], [1, 2], [0, 0], [3, 4]]
    assert found.present.tolist() == [False, False, True, False, True]
    assert found.bad == [(1, "has no components, the others have 2"), (3, "has 1 component, the others have 2")]
    found = dense(column, 1)
    assert found.present.tolist() == [False, False, False, True, False]
    assert found.bad[1] == (2, "has 2 components, the others have 1")
    assert dense(pa.array([[1.0] * 99], pa.list_(pa.float32(), 99)), 100).bad == [
        (0, "has 99 components, the others have 100")
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1.0, math.nan], "holds NaN"),
        ([-math.nan, math.inf], "holds NaN"),
        ([math.inf, 1.0], "holds infinity"),
        ([-math.inf, 1.0], "holds infinity"),
        ([1e39, 1.0], "holds a number too large for float32"),
        ([1.0, None], "holds a null"),
        ([1.0], "has 1 component, the others have 2"),
    ],
)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_a_bad_vector_is_told_and_becomes_zeros(row: list[Any], message: str, kind: pa.DataType) -> None:
    if row[0] == 1e39 and kind == pa.float32():
        row, message = [math.inf, 1.0], "holds infinity"
    column = pa.array([[1.0, 2.0], row, None, [3.0, 4.0]], pa.list_(kind))
    before = column.to_pylist()
    found = dense(column)
    assert found.bad == [(1, message)]
    assert found.values.tolist() == [[1, 2], [0, 0], [0, 0], [3, 4]]
    assert found.present.tolist() == [True, False, False, True]
    assert [tuple(each) for each in found.fingerprints.tolist()][1:3] == [NOTHING, NOTHING]
    alone = dense(column[1:2], 2)
    assert (alone.bad, alone.values.tolist()) == ([(0, message)], [[0, 0]])
    assert str(column.to_pylist()) == str(before), "the column itself is left as it was"


def test_half_precision_may_be_infinite_too() -> None:
    assert dense(pa.array([[np.float16(np.inf)]], pa.list_(pa.float16()))).bad == [(0, "holds infinity")]


def test_what_stands_behind_a_null_is_not_looked_at() -> None:
    numbers = pa.array([1.0, 2.0, math.nan, math.inf, 3.0, 4.0], pa.float32())
    gone = pa.array([False, True, False])
    for column in (
        pa.FixedSizeListArray.from_arrays(numbers, 2, mask=gone),
        pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), numbers, mask=gone),
        pa.ListArray.from_arrays(pa.array([0, 2, 3, 5], pa.int32()), numbers.take([0, 1, 2, 4, 5]), mask=gone),
    ):
        check(dense(column), [[1.0, 2.0], None, [3.0, 4.0]], 2)


def test_bytes_that_are_no_float32_are_bad() -> None:
    column = pa.array([struct.pack("<2f", 1, 2), b"1234567", b"1234", struct.pack("<2f", 1, math.nan), b""])
    assert dense(column).bad == [
        (1, "has 7 bytes, which are no float32 numbers"),
        (2, "has 1 component, the others have 2"),
        (3, "holds NaN"),
        (4, "has no components, the others have 2"),
    ]


def test_zero_has_no_sign_in_a_fingerprint() -> None:
    found = dense(
        pa.array([[0.0, -0.0, 1.0], [-0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1e-45, 0.0, 1.0]], pa.list_(pa.float32()))
    )
    one, two, *others = found.fingerprints.tolist()
    assert one == two
    assert all(one != other for other in others)


def test_equal_numbers_of_different_types_are_equal_vectors() -> None:
    rows = [[1, 2, 3], [0, 1, 0]]
    found = [dense(pa.array(rows, pa.list_(kind))) for kind in NUMBERS if kind != pa.bool_()]
    assert len({str(each.fingerprints.tolist()) for each in found}) == 1


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 4), pa.binary(), pa.binary(16), pa.null()]
)
def test_batches_of_no_rows_and_of_nulls(kind: pa.DataType) -> None:
    for rows in ([], [None, None]):
        found = dense(pa.array(rows, kind), 4)
        assert (found.values.shape, sum(found.present), found.bad) == ((len(rows), 4), 0, [])
        assert dense(pa.array(rows, kind)).bad == []
        bits = packed_bits(pa.array(rows, kind), 128)
        assert (bits.words.shape, sum(bits.present), bits.bad) == ((len(rows), 2), 0, [])


def test_tensors_and_dictionaries_are_taken_as_what_they_hold() -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    check(dense(tensors), [[0, 1, 2], [3, 4, 5]], 3)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["a"]), "vectors must be lists, not string"),
        (pa.array([1.5]), "vectors must be lists, not double"),
        (pa.array([["a"]]), "vectors must hold numbers, not string"),
        (pa.array([[[1.0]]]), "vectors must hold numbers, not list<item: double>"),
    ],
)
def test_columns_without_vectors_are_refused(column: pa.Array, message: str) -> None:
    with pytest.raises(InputError) as caught:
        dense(column)
    assert str(caught.value) == message


def unpacked(words: Any, bits: int) -> list[list[int]]:
    return [[int(row[i // 64]) >> i % 64 & 1 for i in range(bits)] for row in words.tolist()]


@some
@given(st.data())
def test_the_same_bits_have_the_same_words_in_every_form(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 150))
    rows = data.draw(
        st.lists(st.one_of(st.none(), st.lists(st.integers(0, 1), min_size=size, max_size=size)), max_size=6)
    )
    start = data.draw(st.integers(0, len(rows)))
    expected = [row or [0] * size for row in rows]
    packed = np.packbits(np.array(expected, np.uint8).reshape(-1, size), axis=1, bitorder="little")
    raw = [None if row is None else packed[i].tobytes() for i, row in enumerate(rows)]
    columns = [
        pa.array(rows, pa.list_(pa.int64())),
        pa.array(rows, pa.list_(pa.float32())),
        pa.array([row and [bool(bit) for bit in row] for row in rows], pa.list_(pa.bool_(), size)),
        pa.array(raw, pa.binary()),
        pa.array(raw, pa.binary(-(-size // 8))),
    ]
    for column in columns:
        found = packed_bits(column[start:], size)
        assert found.words.dtype == np.uint64
        assert found.words.shape == (len(rows) - start, -(-size // 64))
        assert unpacked(found.words, size) == expected[start:]
        assert found.present.tolist() == [row is not None for row in rows[start:]]
        prints = [
            NOTHING if row is None else tuple(hash_bytes(words.tobytes(), salt) for salt in (C1, C2))
            for row, words in zip(rows[start:], found.words, strict=True)
        ]
        assert [tuple(each) for each in found.fingerprints.tolist()] == prints
        assert found.bad == []


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64()], ids=str)
def test_integers_are_the_bits_of_their_type(kind: pa.DataType) -> None:
    size = kind.bit_width
    top = 2 ** (size - 1)
    values = [0, 5, None, top - 1, -1 if pa.types.is_signed_integer(kind) else 2 * top - 1]
    found = packed_bits(pa.array([7, *values], kind)[1:])
    assert found.words[:, 0].tolist() == [0, 5, 0, top - 1, 2 * top - 1]
    assert found.present.tolist() == [True, True, False, True, True]
    assert found.bad == []


def test_integers_of_fewer_bits_must_fit_them() -> None:
    found = packed_bits(pa.array([4095, None, 4096, -1, 0]), 12)
    assert found.words[:, 0].tolist() == [4095, 0, 0, 0, 0]
    assert found.bad == [(2, "holds 4096, which does not fit 12 bits"), (3, "holds -1, which does not fit 12 bits")]
    with pytest.raises(InputError, match="a column of int64 holds 64 bits a row, not 100"):
        packed_bits(pa.array([1]), 100)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 0], [2, 0]], "holds 2, not 0 or 1"),
        ([[1, 0], [0, -1]], "holds -1, not 0 or 1"),
        ([[1.0, 0.0], [0.5, 0.0]], "holds 0.5, not 0 or 1"),
        ([[1.0, 0.0], [math.nan, 0.0]], "holds nan, not 0 or 1"),
        ([[True, False], [True]], "has 1 bit, the others have 2"),
        ([[True, False], []], "has no bits, the others have 2"),
        ([[True, False], [True, None]], "holds a null"),
        ([b"ab", b"abc"], "has 3 bytes, the others have 2"),
        ([b"ab", b""], "has no bytes, the others have 2"),
    ],
)
def test_bad_bits_are_told_and_become_zeros(rows: list[Any], message: str) -> None:
    found = packed_bits(pa.array([*rows, None]))
    assert found.bad == [(1, message)]
    assert found.present.tolist() == [True, False, False]
    assert found.words[0].any()
    assert not found.words[1:].any()
    assert [tuple(each) for each in found.fingerprints.tolist()][1:] == [NOTHING, NOTHING]


def test_lists_of_bytes_are_packed_bits_where_they_are_said_to_be() -> None:
    column = pa.array([[255, 1], None, [0, 128], [7]], pa.list_(pa.uint8()))
    found = packed_bits(column, 16, packed=True)
    assert found.words[:, 0].tolist() == [0x1FF, 0, 0x8000, 0]
    assert found.bad == [(3, "has 1 byte, the others have 2")]
    assert found.fingerprints[0].tolist() == packed_bits(pa.array([b"\xff\1"]), 16).fingerprints[0].tolist()
    with pytest.raises(InputError, match=r"packed bits must be bytes \(uint8\), not int64"):
        packed_bits(pa.array([[1]]), packed=True)


def test_columns_without_bits_are_refused() -> None:
    with pytest.raises(InputError, match="bits must be lists, not string"):
        packed_bits(pa.array(["ff"]))
    with pytest.raises(InputError, match="bits must hold numbers, not string"):
        packed_bits(pa.array([["1"]]))


def test_the_golden_fingerprints_are_met() -> None:
    for said in GOLDEN["vectors"]:
        first, second = dense(pa.array([said["vector"]], pa.list_(pa.float32()))).fingerprints[0].tolist()
        assert f"{first:016x}{second:016x}" == said["fingerprint"]


def test_a_batch_cut_anywhere_gives_the_same() -> None:
    rng = np.random.default_rng(3)
    rows = [None if rng.random() < 0.2 else rng.normal(size=7).tolist() for _ in range(50)]
    rows[20] = [math.nan] * 7
    column = pa.array(rows, pa.list_(pa.float32()))
    whole = dense(column, 7)
    for cut in (1, 13, 20, 21, 49):
        parts = [dense(column[:cut], 7), dense(column[cut:], 7)]
        assert np.array_equal(np.concatenate([part.values for part in parts]), whole.values)
        assert np.array_equal(np.concatenate([part.fingerprints for part in parts]), whole.fingerprints)
        assert [*parts[0].bad, *((row + cut, why) for row, why in parts[1].bad)] == whole.bad
