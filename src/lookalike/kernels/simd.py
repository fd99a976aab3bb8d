"""Eight float64 side by side: sums whose order is written down, so that they are fast and the same everywhere.

The idea. A sum of n products is fast in several partial sums, and then its last bits depend on how many there are. Left
to the compiler that would be the machine's choice; without fast-math LLVM therefore adds one by one, ten times slower.
Here the partial sums are part of the source: a value of eight lanes, added lane by lane. LLVM makes one AVX-512
instruction of such an operation, two of AVX2, four of SSE2 or NEON, with the same bits from each.

`multiply_add` may or may not round between the product and the sum, as is faster on the machine. It is for products
that need no rounding: those of two float32, which have 48 of the 53 bits of a float64.

These functions are for kernels only; positions are not checked. Where an `array` is asked for, its `pointer` will do.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir

from lookalike.kernels.jit import intrinsic
from lookalike.kernels.later import cgutils, extending, models, types

__all__ = [
    "LANES",
    "add",
    "apart",
    "bits_of",
    "broadcast",
    "float_of",
    "higher",
    "highest",
    "load",
    "load_first",
    "multiply",
    "multiply_add",
    "pointer",
    "pop_count",
    "popped_xor",
    "popped_xor_first",
    "prefetch",
    "store",
    "total",
    "zeros",
]

LANES = 8

_I1, _I32, _I64, _F64 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_WIDE = ir.VectorType(_F64, LANES)
_WORDS = ir.VectorType(_I64, LANES)


@cache
def _lanes() -> Any:
    """The Numba type of eight float64."""

    class Lanes(types.Type):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__(name="F64x8")

    @extending.register_model(Lanes)
    class Model(models.PrimitiveModel):  # type: ignore[misc,name-defined]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, _WIDE)

    return Lanes()


def _address(context: Any, builder: Any, kind: Any, element: Any, array: Any, position: Any) -> Any:
    """The address of the vector that begins at array[position]."""
    data = array if isinstance(kind, types.CPointer) else context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), ir.VectorType(element, LANES).as_pointer())


def _load_first(builder: Any, address: Any, count: Any) -> Any:
    """The first `count` elements of the vector at an address, and zeros; memory after them is not touched."""
    kind = address.type.pointee
    steps = ir.Constant(_WORDS, list(range(LANES)))
    mask = builder.icmp_signed("<", steps, _splat(builder, count))
    short = {ir.FloatType(): "f32", _F64: "f64", _I64: "i64"}[kind.element]
    called = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(kind, [address.type, _I32, mask.type, kind]),
        f"llvm.masked.load.v{LANES}{short}.p0",
    )
    return builder.call(called, [address, ir.Constant(_I32, 4), mask, ir.Constant(kind, None)])


def _splat(builder: Any, value: Any) -> Any:
    kind = ir.VectorType(value.type, LANES)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(
        first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    )


def _halves(builder: Any, value: Any) -> Any:
    """The lower and the upper half of a vector."""
    size = value.type.count // 2
    return [
        builder.shuffle_vector(
            value,
            ir.Constant(value.type, ir.Undefined),
            ir.Constant(ir.VectorType(_I32, size), list(range(begin, begin + size))),
        )
        for begin in (0, size)
    ]


def _widened(builder: Any, value: Any) -> Any:
    return value if value.type == _WIDE else builder.fpext(value, _WIDE)


@intrinsic
def pointer(typingctx: Any, array: Any) -> Any:
    """Where an array begins, to be given to device functions in its stead.

    Numba counts references to an array that is passed on, also to an inlined function with a loop inside: two locked
    instructions, 10 ns, which is more than the distance of two signatures takes. A pointer keeps nothing alive: it is
    for arguments of the kernel, since Numba frees an array made inside after the last mention of its name.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), codegen


@intrinsic
def zeros(typingctx: Any) -> Any:
    """Eight zeros."""
    return _lanes()(), lambda context, builder, signature, arguments: ir.Constant(_WIDE, None)


@intrinsic
def broadcast(typingctx: Any, value: Any) -> Any:
    """The same float64 eight times."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[0])

    return _lanes()(types.float64), codegen


@intrinsic
def load(typingctx: Any, array: Any, position: Any) -> Any:
    """array[position : position + 8] of a float32 or float64 array."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = context.get_data_type(signature.args[0].dtype)
        value = builder.load(_address(context, builder, signature.args[0], element, *arguments))
        value.align = 4
        return _widened(builder, value)

    return _lanes()(array, types.int64), codegen


@intrinsic
def load_first(typingctx: Any, array: Any, position: Any, count: Any) -> Any:
    """array[position : position + count] and zeros, at most eight, none for a count below 1; nothing else is read."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = context.get_data_type(signature.args[0].dtype)
        address = _address(context, builder, signature.args[0], element, *arguments[:2])
        return _widened(builder, _load_first(builder, address, arguments[2]))

    return _lanes()(array, types.int64, types.int64), codegen


@intrinsic
def store(typingctx: Any, array: Any, position: Any, value: Any) -> Any:
    """array[position : position + 8] = value, of a float64 array."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = builder.store(arguments[2], _address(context, builder, signature.args[0], _F64, *arguments[:2]))
        stored.align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, _lanes()), codegen


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    """An operation of LLVM that has a name, on one or more vectors of one type."""
    kind = arguments[0].type
    short = "f64" if kind.element == _F64 else "i64"
    wanted = ir.FunctionType(kind, [kind] * len(arguments))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, wanted, f"llvm.{name}.v{LANES}{short}"), arguments
    )


@intrinsic
def add(typingctx: Any, x: Any, y: Any) -> Any:
    """x + y, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return _lanes()(_lanes(), _lanes()), codegen


@intrinsic
def apart(typingctx: Any, x: Any, y: Any) -> Any:
    """|x - y|, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "fabs", builder.fsub(*arguments))

    return _lanes()(_lanes(), _lanes()), codegen


@intrinsic
def higher(typingctx: Any, x: Any, y: Any) -> Any:
    """The larger of x and y, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return _lanes()(_lanes(), _lanes()), codegen


@intrinsic
def multiply(typingctx: Any, x: Any, y: Any) -> Any:
    """x·y, rounded, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments)

    return _lanes()(_lanes(), _lanes()), codegen


@intrinsic
def multiply_add(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    """x·y + z, lane by lane, where x·y needs no rounding."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "fmuladd", *arguments)

    return _lanes()(_lanes(), _lanes(), _lanes()), codegen


@intrinsic
def total(typingctx: Any, x: Any) -> Any:
    """The sum of the lanes: ((0+4)+(2+6)) + ((1+5)+(3+7))."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        while value.type.count > 1:
            value = builder.fadd(*_halves(builder, value))
        return builder.extract_element(value, ir.Constant(_I32, 0))

    return types.float64(_lanes()), codegen


@intrinsic
def highest(typingctx: Any, x: Any) -> Any:
    """The largest of the lanes."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        while value.type.count > 1:
            low, high = _halves(builder, value)
            value = builder.select(builder.fcmp_ordered(">", low, high), low, high)
        return builder.extract_element(value, ir.Constant(_I32, 0))

    return types.float64(_lanes()), codegen


@intrinsic
def pop_count(typingctx: Any, value: Any) -> Any:
    """How many bits of a uint64 are set."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


def _popped_xor(builder: Any, x: Any, y: Any) -> Any:
    value = _call(builder, "ctpop", builder.xor(x, y))
    while value.type.count > 1:
        value = builder.add(*_halves(builder, value))
    return builder.extract_element(value, ir.Constant(_I32, 0))


@intrinsic
def popped_xor(typingctx: Any, x: Any, i: Any, y: Any, j: Any) -> Any:
    """In how many bits x[i : i + 8] and y[j : j + 8] differ, of uint64 arrays."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = []
        for k in (0, 2):
            value = builder.load(_address(context, builder, signature.args[k], _I64, *arguments[k : k + 2]))
            value.align = 8
            values.append(value)
        return _popped_xor(builder, *values)

    return types.int64(x, types.int64, y, types.int64), codegen


@intrinsic
def popped_xor_first(typingctx: Any, x: Any, i: Any, y: Any, j: Any, count: Any) -> Any:
    """In how many bits x[i : i + count] and y[j : j + count] differ, at most eight words."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = [
            _load_first(
                builder, _address(context, builder, signature.args[k], _I64, *arguments[k : k + 2]), arguments[4]
            )
            for k in (0, 2)
        ]
        return _popped_xor(builder, *values)

    return types.int64(x, types.int64, y, types.int64, types.int64), codegen


@intrinsic
def bits_of(typingctx: Any, value: Any) -> Any:
    """The 64 bits of a float64, as an int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _I64)

    return types.int64(types.float64), codegen


@intrinsic
def float_of(typingctx: Any, bits: Any) -> Any:
    """The float64 that has these 64 bits."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _F64)

    return types.float64(types.int64), codegen


@intrinsic
def prefetch(typingctx: Any, array: Any, position: Any) -> Any:
    """Ask for the memory of array[position], which will be read soon; a position outside does no harm."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], _I64, *arguments)
        address = builder.bitcast(address, ir.IntType(8).as_pointer())
        wanted = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
        called = cgutils.get_or_insert_function(builder.module, wanted, "llvm.prefetch.p0")
        builder.call(called, [address] + [ir.Constant(_I32, value) for value in (0, 3, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen
