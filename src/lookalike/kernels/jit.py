"""How kernels are compiled: explicitly, cached, without the interpreter lock.

A kernel has one explicit signature. It is compiled at its first call, or loaded from Numba's cache beside the source
file (a fraction of a second), so that importing a module costs nothing and a run loads only what it calls. The very
first compilation on a machine takes seconds; `on_compile` is told, so that the command line can say so.

`device` marks the small functions that kernels call. They are inlined by LLVM and never called from Python.

Numba notices a change of a kernel's own file, not of a file it imports device functions from: after changing `spec.py`,
`key.py`, this file or one beside it, `sketch/draws.py`, `sketch/turning.py`, `represent/decode.py` or
`represent/tokens.py`, run `make clean`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from lookalike.kernels.cache import use_another_folder

__all__ = [
    "Kernel",
    "array_of",
    "aside",
    "device",
    "fold",
    "kernel",
    "load_u64",
    "on_compile",
    "peek",
    "poke",
    "trailing_zeros",
    "tuple_of",
]

_listeners: list[Callable[[], None]] = []
_lock = threading.Lock()


def on_compile(listener: Callable[[], None]) -> None:
    """Call `listener` once, when the first kernel of this process had to be compiled instead of loaded."""
    _listeners.append(listener)


class Kernel:
    """A jitted function with one signature, compiled or loaded at its first call."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.python = function
        self.signature = signature
        self._dispatcher, self._kept = _jitted(function)
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._entry is None:
            self._load()
            assert self._entry is not None
        return self._entry(*arguments)

    def _load(self) -> None:
        with _lock:
            if self._entry is not None:
                return
            self._dispatcher.compile(self.signature)
            self._dispatcher.disable_compile()
            if self._dispatcher.stats.cache_misses or not self._kept:
                while _listeners:
                    _listeners.pop()()
            self._entry = self._dispatcher


def _jitted(function: Callable[..., Any]) -> tuple[Any, bool]:
    """The function, to be compiled, and whether what is compiled will be kept."""
    try:
        return numba.njit(cache=True, nogil=True)(function), True
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    kept = use_another_folder()
    return numba.njit(cache=kept, nogil=True)(function), kept


def array_of(dtype: Any, dimensions: int = 1, *, readonly: bool = False) -> Any:
    """The Numba type of a C-contiguous array; one that is read only may be given Arrow's memory as it is."""
    return types.Array(numba.from_dtype(np.dtype(dtype)), dimensions, "C", readonly=readonly)


def tuple_of(named: type[tuple[Any, ...]], *, readonly: bool = False) -> Any:
    """The Numba type of a NamedTuple whose fields are one-dimensional arrays, as its annotations say."""
    hints = get_type_hints(named).values()
    # NDArray[T] is ndarray[shape, dtype[T]], and since NumPy 2.5 an alias of its own whose only argument is T.
    last = [get_args(hint)[-1] for hint in hints]
    dtypes = [get_args(argument)[0] if get_args(argument) else argument for argument in last]
    return types.NamedTuple([array_of(dtype, readonly=readonly) for dtype in dtypes], named)  # type: ignore[attr-defined]


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a kernel: arrays in, arrays out, no Python objects."""

    def declare(function: Callable[..., Any]) -> Kernel:
        return Kernel(function, signature)

    return declare


def device(function: Callable[..., Any]) -> Any:
    """Declare a function that kernels call, inlined: Numba otherwise counts references to its arrays at each call."""
    return numba.njit(nogil=True, forceinline=True)(function)


def aside(function: Callable[..., Any]) -> Any:
    """Declare a function that kernels hardly ever call: it stays apart from them, and may allocate memory."""
    return numba.njit(nogil=True)(function)


def _address(context: Any, builder: Any, kind: Any, array: Any, position: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [position])


@intrinsic
def peek(typingctx: Any, array: Any, position: Any) -> Any:
    """array[position] for a position that is known to be inside.

    Numba asks of every signed index whether it counts from the end, which keeps LLVM from vectorising a loop; unsigned
    indices would do, but one signed summand turns them into floats.
    """
    signature = array.dtype(array, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments))

    return signature, codegen


@intrinsic
def poke(typingctx: Any, array: Any, position: Any, value: Any) -> Any:
    """array[position] = value for a position that is known to be inside, the value cut to the array's type."""
    signature = types.void(array, types.int64, value)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        item = context.cast(builder, arguments[2], signature.args[2], kind.dtype)
        builder.store(item, _address(context, builder, kind, arguments[0], arguments[1]))
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def load_u64(typingctx: Any, array: Any, position: Any) -> Any:
    """Eight bytes of a uint8 array from any position, little-endian, unchecked."""
    signature = types.uint64(array, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        value = builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()))
        value.align = 1
        return value

    return signature, codegen


@intrinsic
def trailing_zeros(typingctx: Any, value: Any) -> Any:
    """How many zero bits a uint64 ends with (64 for zero)."""
    signature = types.int64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return signature, codegen


@intrinsic
def fold(typingctx: Any, a: Any, b: Any) -> Any:
    """The two halves of the product of two uint64, exclusive or: one multiplication that every bit of both reaches."""
    signature = types.uint64(types.uint64, types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(each, wide) for each in arguments))
        upper = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return builder.xor(upper, builder.trunc(product, word))

    return signature, codegen
