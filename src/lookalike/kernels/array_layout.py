"""Where the parts of a NumPy array lie in memory, for code that reads them without asking NumPy.

The layout is NumPy's public one (`PyArrayObject_fields` and the head of `PyArray_Descr`, which all compiled extensions
have built into them). It is looked at once in every process before any code relies on it, all the same.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

__all__ = [
    "BYTE_ORDER", "DATA", "DESCRIPTION", "DIMENSIONS", "FLAGS", "NATIVE_ORDERS", "OBJECT_TYPE", "RANK", "STRIDES",
    "TYPE_NUMBER", "flags_for", "is_as_expected", "type_numbers",
]  # fmt: skip

_HEAD = object.__basicsize__  # of every object; free-threaded Python has a longer one
OBJECT_TYPE = _HEAD - 8
DATA, RANK, DIMENSIONS, STRIDES = _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 24
DESCRIPTION, FLAGS = _HEAD + 40, _HEAD + 48
# Inside of the description.
BYTE_ORDER, TYPE_NUMBER = _HEAD + 10, _HEAD + 12

# The machine's own, or none for single bytes.
NATIVE_ORDERS = (ord("="), ord("|"))

_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x0001, 0x0100, 0x0400


def flags_for(*, readonly: bool) -> int:
    """The flags that an array must have which a kernel reads, or also writes."""
    return _CONTIGUOUS | _ALIGNED | (0 if readonly else _WRITEABLE)


def type_numbers(dtype: Any) -> tuple[int, int]:
    """The numbers of the types that look like this one: `long` and `long long` may both be int64."""
    dtype = np.dtype(dtype)
    alike = [np.dtype(code) for code in np.typecodes["All"] if code not in "SUVOMm"]
    numbers = {other.num for other in alike if (other.kind, other.itemsize) == (dtype.kind, dtype.itemsize)}
    return min(numbers), max(numbers)


@cache
def is_as_expected() -> bool:
    """Whether an array of this process lies in memory as this module says."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    array = np.zeros((2, 3), np.int32)
    array.flags.writeable = False

    def at(place: int, kind: Any) -> Any:
        return kind.from_address(place).value

    here, pointer, number = id(array), ctypes.c_uint64, ctypes.c_int32
    description = at(here + DESCRIPTION, pointer)
    # Each pointer is compared before it is followed.
    return (
        at(here + OBJECT_TYPE, pointer) == id(np.ndarray)
        and at(here + DATA, pointer) == array.__array_interface__["data"][0]
        and at(here + RANK, number) == 2
        and description == id(array.dtype)
        and at(here + FLAGS, number) == array.flags.num
        and array.flags.num & flags_for(readonly=False) == flags_for(readonly=True)
        and at(description + TYPE_NUMBER, number) == array.dtype.num
        and at(description + BYTE_ORDER, ctypes.c_uint8) == ord(array.dtype.byteorder)
        and _words(at(here + DIMENSIONS, pointer)) == array.shape
        and _words(at(here + STRIDES, pointer)) == array.strides
    )


def _words(place: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * 2).from_address(place))
