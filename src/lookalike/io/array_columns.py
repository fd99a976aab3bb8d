"""Vectors, bits and bags as Arrow columns: arrays and sparse matrices row by row, lists of vectors, dicts of weights.

| given | column |
| --- | --- |
| 2-D array of numbers | `vector`: fixed_size_list of the same numbers, without a copy where they lie row after row |
| 2-D array of booleans | `bits`: fixed_size_binary, bit i of a row in bit i mod 8 of byte i / 8 |
| sparse matrix (CSR) | `vector`: list<struct<element: uint64, weight: float>>, an element is the number of a column |
| vectors one by one | `vector`: fixed_size_list if all are of one size, otherwise list |
| booleans one by one | `bits`: fixed_size_binary likewise, otherwise list<bool> |
| element → weight, one by one | `vector`: list<struct<element, weight: double>>, elements as they are |

Numbers keep their type, so that a column that is only passed on loses nothing; they are compared as float32. How many
bits a row of `bits` has is in the metadata of the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.errors import InputError

__all__ = ["BITS", "SPARSE", "array_column", "array_field", "bag_column", "sparse_column", "vector_column"]

# What the rows of a sparse matrix become.
SPARSE = pa.field("vector", pa.list_(pa.struct([("element", pa.uint64()), ("weight", pa.float32())])))

# The key of a field's metadata that tells how many bits its rows have.
BITS = b"bits"

# Arrow counts the elements of a list of one length in 31 bits.
_WIDEST = 2**31 - 1

_NUMBERS = (int, float, np.integer, np.floating)

Column = tuple[pa.Field, pa.Array]


def array_field(shape: Sequence[int], dtype: np.dtype[Any], where: str) -> pa.Field:
    """The column that an array of this shape becomes.

    Raises:
        InputError: if it is not of two dimensions, or not of numbers or booleans.
    """
    if len(shape) != 2 or (shape[1] == 0 and shape[0]):
        shown = " x ".join(map(str, shape)) or "no dimension"
        raise InputError(f"{where}: an array of {shown} has no vectors; two dimensions are needed, a row for each item")
    width = max(1, shape[1])
    if width > _WIDEST:
        raise InputError(
            f"{where}: an array of {shape[0]} x {shape[1]} is too wide; {_WIDEST:,} components are the most"
        )
    if dtype.kind == "b":
        return pa.field("bits", pa.binary(-(-width // 8)), metadata={BITS: str(width).encode()})
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise InputError(f"{where}: an array of {dtype} holds no vectors; numbers or booleans are needed")
    return pa.field("vector", pa.list_(pa.from_numpy_dtype(dtype.newbyteorder("=")), width))


def array_column(array: NDArray[Any], where: str) -> Column:
    """The rows of an array, which are copied only where they do not lie one after another; booleans are packed."""
    field = array_field(array.shape, array.dtype, where)
    if array.dtype.kind == "b":
        packed = np.packbits(array, axis=1, bitorder="little")
        return field, pa.Array.from_buffers(field.type, len(array), [None, pa.py_buffer(packed)])
    plain = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    return field, pa.FixedSizeListArray.from_arrays(pa.array(plain.reshape(-1)), type=field.type)


def sparse_column(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], where: str) -> Column:
    """The rows of a matrix in CSR form: row i has data[indptr[i] : indptr[i + 1]] in the columns beside it.

    Raises:
        InputError: if the three do not fit together.
    """
    arrays = (indptr, indices, data)
    whole = all(array.ndim == 1 for array in arrays) and indptr.dtype.kind in "iu" and indices.dtype.kind in "iu"
    if not whole or not len(indptr) or data.dtype.kind not in "biuf":
        raise InputError(f"{where}: not a sparse matrix of numbers in CSR form")
    ends = indptr.astype(np.int64)
    if ends[0] != 0 or ends[-1] > min(len(indices), len(data)) or (np.diff(ends) < 0).any() or (indices < 0).any():
        raise InputError(f"{where}: the rows of the sparse matrix do not fit its elements")
    elements = pa.array(np.ascontiguousarray(indices[: ends[-1]], np.uint64))
    with np.errstate(over="ignore", invalid="ignore"):
        weights = pa.array(np.ascontiguousarray(data[: ends[-1]], np.float32))
    return _bags(ends, elements, weights, None)


def _bags(ends: NDArray[Any], elements: pa.Array, weights: pa.Array, gone: pa.Array | None) -> Column:
    pairs = pa.StructArray.from_arrays([elements, weights], names=["element", "weight"])
    if ends[-1] < 2**31:
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs, mask=gone)
    else:
        column = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), pairs, mask=gone)
    return pa.field("vector", column.type), column


def vector_column(values: Sequence[Any], place: Callable[[str], str]) -> Column | None:
    """Lists or arrays of numbers, one for each item, None for a null; or nothing if they are no vectors.

    They are where one of them holds a float, or all hold booleans alone. `place` words the number of an item.
    """
    if any(not isinstance(value, list | tuple | np.ndarray) for value in values if value is not None):
        return None
    kinds: set[type] = set()
    for value in values:
        if value is not None:
            kinds |= {value.dtype.type} if isinstance(value, np.ndarray) else set(map(type, value))
    truths = bool(kinds) and all(issubclass(kind, bool | np.bool_) for kind in kinds)
    if not truths and not any(issubclass(kind, float | np.floating) for kind in kinds):
        return None
    if not truths:
        for position, value in enumerate(values):
            _check_numbers(value, place(str(position)))
    only = kinds.pop() if len(kinds) == 1 else float
    dtype = np.bool_ if truths else only if issubclass(only, np.floating) else np.float64
    arrays = [None if value is None else np.asarray(value, dtype) for value in values]
    there = [array for array in arrays if array is not None]
    if len(there) == len(arrays) and len({len(array) for array in there}) == 1 and len(there[0]):
        return array_column(np.stack(there), "items")
    ends = np.concatenate([[0], np.cumsum([0 if array is None else len(array) for array in arrays])])
    gone = pa.array([array is None for array in arrays], pa.bool_())
    numbers = pa.array(np.concatenate(there))
    column = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), numbers, mask=gone)
    return pa.field("bits" if truths else "vector", column.type), column


def _check_numbers(value: Any, where: str) -> None:
    if value is None:
        return
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "iuf":
            raise InputError(f"items: item {where} is an array of {value.ndim} dimensions of {value.dtype}, no vector")
        return
    for number in value:
        if not isinstance(number, _NUMBERS) or isinstance(number, bool):
            raise InputError(f"items: item {where} holds {number!r}; vectors must hold numbers")


def bag_column(values: Sequence[Mapping[Any, Any] | None], place: Callable[[str], str]) -> Column:
    """Dicts from elements (integers or strings) to weights, one for each item, None for a null.

    Raises:
        InputError: with the item that holds another kind of element than those before, or no number as weight.
    """
    elements: list[Any] = []
    weights: list[Any] = []
    ends = np.zeros(len(values) + 1, np.int64)
    kind: type | None = None
    for position, bag in enumerate(values):
        for element, weight in (bag or {}).items():
            element = int(element) if isinstance(element, np.integer) else element
            kind = kind or type(element)
            if type(element) is not kind or kind not in (int, str):
                raise InputError(
                    f"items: item {place(str(position))} has the element {element!r};"
                    " the elements of bags must be all integers or all strings"
                )
            if not isinstance(weight, _NUMBERS):
                raise InputError(
                    f"items: item {place(str(position))} has the weight {weight!r} for {element!r};"
                    " a dict is a bag, its weights must be numbers"
                )
            elements.append(element)
            weights.append(weight)
        ends[position + 1] = len(elements)
    column = pa.array(elements, pa.large_string()) if kind is str else _whole_numbers(elements)
    gone = pa.array([bag is None for bag in values], pa.bool_())
    return _bags(ends, column, pa.array(np.array(weights, np.float64)), gone if gone.true_count else None)


def _whole_numbers(values: list[int]) -> pa.Array:
    """Integers as int64, or as uint64 where they need it.

    Raises:
        InputError: if they do not fit 64 bits.
    """
    low, high = min(values, default=0), max(values, default=0)
    if low < -(2**63) or high >= (2**63 if low < 0 else 2**64):
        raise InputError("items: the integers of bags must fit 64 bits")
    return pa.array(values, pa.int64() if high < 2**63 else pa.uint64())
