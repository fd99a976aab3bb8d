"""The few functions of Numba's runtime that machine code of kernels calls, so that it can do without Numba's.

Arrays made inside of a kernel are counted references to a block of memory; the arguments of kernels are not counted.
`reshape` asks whether an array lies as it must; `frexp` and `ldexp` treat what is not finite the same on all systems.
A kernel that needs anything else cannot be linked (`loading.py`), and is left to Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.runtime.nrtdynmod import _meminfo_struct_type as _block

__all__ = ["add_runtime"]

_BYTES, _INT, _WORD, _FLOAT = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_BIT, _WORDS, _VOID = ir.IntType(1), _WORD.as_pointer(), ir.VoidType()
_HEAD = 64  # bytes in front of the memory of a block, for what is known of it


def add_runtime(library: Any) -> None:
    """Add those to a library that it calls."""
    module = library.create_ir_module("runtime")
    for name in ("NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned"):
        _allocate(*_begun(module, name, _BYTES, _WORD, _INT))
    _free(*_begun(module, "NRT_MemInfo_call_dtor", _VOID, _BYTES))
    _reshape(*_begun(module, "numba_attempt_nocopy_reshape", _INT, *[_WORD, _WORDS, _WORDS] * 2, _WORD, _INT))
    _frexp(*_begun(module, "numba_frexp", _FLOAT, _FLOAT, _INT.as_pointer()))
    _ldexp(*_begun(module, "numba_ldexp", _FLOAT, _FLOAT, _INT))
    library.add_ir_module(module)


def _begun(module: Any, name: str, result: Any, *arguments: Any) -> tuple[Any, Any]:
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    return ir.IRBuilder(function.append_basic_block()), function.args


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _allocate(builder: Any, arguments: Any) -> None:
    """A block with one reference and memory of this size and alignment; NULL where there is none."""
    size, alignment = arguments
    alignment = builder.zext(alignment, _WORD)
    start = _call(builder, "malloc", _BYTES, builder.add(builder.add(size, alignment), _WORD(_HEAD)))
    with builder.if_then(builder.icmp_unsigned("==", start, ir.Constant(_BYTES, None)), likely=False):
        builder.ret(ir.Constant(_BYTES, None))
    end = builder.add(builder.add(builder.ptrtoint(start, _WORD), alignment), _WORD(_HEAD - 1))
    data = builder.inttoptr(builder.sub(end, builder.urem(end, alignment)), _BYTES)
    block = builder.bitcast(start, _block.as_pointer())
    none = ir.Constant(_BYTES, None)
    for place, value in enumerate((_WORD(1), none, none, data, size)):
        builder.store(value, cgutils.gep_inbounds(builder, block, 0, place))
    builder.ret(start)


def _free(builder: Any, arguments: Any) -> None:
    """What is called when the last reference is gone."""
    _call(builder, "free", _VOID, arguments[0])
    builder.ret_void()


def _reshape(builder: Any, arguments: Any) -> None:
    """1, and the new strides, if the array has no gaps and is in C order; else 0, which Numba makes an error of."""
    rank, shape, strides, new_rank, new_shape, new_strides, size, _ = arguments
    step, gaps, items = (cgutils.alloca_once_value(builder, first) for first in (size, _BIT(0), _WORD(1)))
    for length, stride in _from_the_last(builder, rank, shape, strides):
        found, expected = builder.load(stride), builder.load(step)
        # The stride of an axis with one place does not matter.
        apart = builder.and_(
            builder.icmp_signed("!=", found, expected), builder.icmp_signed("!=", length, _WORD(1))
        )  # fmt: skip
        builder.store(builder.or_(builder.load(gaps), apart), gaps)
        builder.store(builder.mul(expected, length), step)
        builder.store(builder.mul(builder.load(items), length), items)
    has_items = builder.icmp_signed("!=", builder.load(items), _WORD(0))
    with builder.if_then(builder.and_(builder.load(gaps), has_items)):
        builder.ret(_INT(0))
    builder.store(size, step)
    for length, stride in _from_the_last(builder, new_rank, new_shape, new_strides):
        builder.store(builder.load(step), stride)
        builder.store(builder.mul(builder.load(step), length), step)
    builder.ret(_INT(1))


def _from_the_last(builder: Any, rank: Any, shape: Any, strides: Any) -> Iterator[tuple[Any, Any]]:
    """For each axis its length, and where its stride stands."""
    with cgutils.for_range(builder, rank) as loop:
        axis = builder.sub(builder.sub(rank, loop.index), _WORD(1))
        yield builder.load(builder.gep(shape, [axis])), builder.gep(strides, [axis])


def _plain(builder: Any, x: Any) -> Any:
    """Whether a float64 is finite and not zero."""
    size = _call(builder, "llvm.fabs.f64", _FLOAT, x)
    finite = builder.fcmp_ordered("<", size, _FLOAT(float("inf")))
    return builder.and_(finite, builder.fcmp_ordered(">", size, _FLOAT(0.0)))


def _frexp(builder: Any, arguments: Any) -> None:
    x, exponent = arguments
    with builder.if_then(_plain(builder, x)):
        builder.ret(_call(builder, "frexp", _FLOAT, x, exponent))
    builder.store(_INT(0), exponent)
    builder.ret(x)


def _ldexp(builder: Any, arguments: Any) -> None:
    x, exponent = arguments
    with builder.if_then(_plain(builder, x)):
        builder.ret(_call(builder, "ldexp", _FLOAT, x, exponent))
    builder.ret(x)
