"""What kernels take and give, in words that need no Numba: numbers, arrays, named tuples of arrays.

A signature is written as Numba's are, `void(int64, array_of(np.uint64))`; one in Numba's own words, a string, will do
as well, and is read when the kernel is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

__all__ = [
    "ArrayKind", "Scalar", "Signature", "TupleKind", "array_of", "float64", "int64", "tuple_of", "uint64", "void",
]  # fmt: skip


class Scalar(NamedTuple):
    """A number, or nothing."""

    name: str

    def __call__(self, *arguments: Scalar | ArrayKind | TupleKind) -> Signature:
        """The signature of a kernel that gives this."""
        return Signature(self, arguments)

    def __str__(self) -> str:
        return self.name


class ArrayKind(NamedTuple):
    """A C-contiguous array."""

    dtype: str
    dimensions: int
    readonly: bool

    def __str__(self) -> str:
        return f"{'readonly ' if self.readonly else ''}{self.dtype}[{', '.join([':'] * self.dimensions)}]"


class TupleKind(NamedTuple):
    """A NamedTuple whose fields are arrays."""

    named: type[tuple[Any, ...]]
    fields: tuple[ArrayKind, ...]

    def __str__(self) -> str:
        fields = zip(self.named._fields, self.fields, strict=True)  # type: ignore[attr-defined]
        return f"{self.named.__name__}({', '.join(f'{name}: {kind}' for name, kind in fields)})"


class Signature(NamedTuple):
    """What a kernel gives and takes."""

    result: Scalar
    args: tuple[Scalar | ArrayKind | TupleKind, ...]

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.args))})"


void, int64, uint64, float64 = Scalar("void"), Scalar("int64"), Scalar("uint64"), Scalar("float64")


def array_of(dtype: Any, dimensions: int = 1, *, readonly: bool = False) -> ArrayKind:
    """A C-contiguous array; one that is read only may be given Arrow's memory as it is."""
    return ArrayKind(np.dtype(dtype).name, dimensions, readonly)


def tuple_of(named: type[tuple[Any, ...]], *, readonly: bool = False) -> TupleKind:
    """A NamedTuple whose fields are one-dimensional arrays, as its annotations say."""
    hints = get_type_hints(named).values()
    # NDArray[T] is ndarray[shape, dtype[T]], and since NumPy 2.5 an alias of its own whose only argument is T.
    last = [get_args(hint)[-1] for hint in hints]
    dtypes = [get_args(argument)[0] if get_args(argument) else argument for argument in last]
    return TupleKind(named, tuple(array_of(dtype, readonly=readonly) for dtype in dtypes))
