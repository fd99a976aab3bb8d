"""Memory that a kernel is given by its address: parts of files that are mapped, as many as there are.

A kernel takes a fixed number of arrays, and an index has any number of files. So their addresses stand in one array of
integers. Whoever makes such an array keeps what it points to alive while kernels have it, and sees to it that nothing
is read outside: positions are not checked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numpy.typing import NDArray

from lookalike.kernels.jit import intrinsic
from lookalike.kernels.later import cgutils, types

__all__ = ["address_of", "prefetch_at", "u16_at", "u32_at", "u64_at"]


def address_of(array: NDArray[Any]) -> int:
    """Where an array begins."""
    return int(array.ctypes.data)


def _load(bits: int, kind: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
        value.align = 1
        return value

    return kind(types.int64), codegen


@intrinsic
def u16_at(typingctx: Any, address: Any) -> Any:
    """The uint16 at an address."""
    return _load(16, types.uint16)


@intrinsic
def u32_at(typingctx: Any, address: Any) -> Any:
    """The uint32 at an address."""
    return _load(32, types.uint32)


@intrinsic
def u64_at(typingctx: Any, address: Any) -> Any:
    """The uint64 at an address."""
    return _load(64, types.uint64)


@intrinsic
def prefetch_at(typingctx: Any, address: Any) -> Any:
    """Ask for the memory at an address, which will be read soon; an address outside does no harm."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        small = ir.IntType(32)
        wanted = ir.FunctionType(ir.VoidType(), [place.type, small, small, small])
        called = cgutils.get_or_insert_function(builder.module, wanted, "llvm.prefetch.p0")
        builder.call(called, [place] + [ir.Constant(small, value) for value in (0, 3, 1)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen
