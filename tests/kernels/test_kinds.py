"""What kernels take, in words that need no Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from lookalike.kernels.compiling import numba_signature
from lookalike.kernels.kinds import array_of, float64, int64, tuple_of, uint64, void


class Arrays(NamedTuple):
    """Arrays of two types."""

    small: NDArray[np.uint8]
    large: NDArray[np.int64]


def test_a_tuple_of_arrays_follows_its_annotations() -> None:
    for readonly in (False, True):
        kind = tuple_of(Arrays, readonly=readonly)
        assert kind.named is Arrays
        assert list(kind.fields) == [array_of(dtype, readonly=readonly) for dtype in (np.uint8, np.int64)]


def test_a_signature_says_the_same_to_numba() -> None:
    signature = int64(uint64, float64, array_of(np.float32, 2), tuple_of(Arrays, readonly=True))
    fields = [types.Array(dtype, 1, "C", readonly=True) for dtype in (types.uint8, types.int64)]
    assert numba_signature(signature) == types.int64(
        types.uint64,
        types.float64,
        types.Array(types.float32, 2, "C"),
        types.NamedTuple(fields, Arrays),  # type: ignore[attr-defined]
    )
    assert numba_signature(void(array_of(np.bool_))) == types.void(types.Array(types.boolean, 1, "C"))
    assert numba_signature("void(int64)") == "void(int64)"


def test_a_signature_can_be_read() -> None:
    signature = void(int64, array_of(np.uint64, 2), tuple_of(Arrays, readonly=True))
    assert str(signature) == "void(int64, uint64[:, :], Arrays(small: readonly uint8[:], large: readonly int64[:]))"
