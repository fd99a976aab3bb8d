"""The way into a kernel: a function in machine code that Python calls as it calls its own built-in ones.

It reads the arguments (arrays where they lie, numbers, named tuples of arrays), releases the interpreter lock unless
the kernel is brief, calls it in Numba's calling convention, and makes a Python object of the result. All of that is
part of the object code of the kernel, so that a later process can call it without Numba (`loading.py`).

Whatever goes wrong is left to a Python function, the `self` of the built-in one. It is called with the number of an
argument that is not what the kernel takes, with -1 if there are too few or too many of them, or with the error that the
kernel raised, pickled; and it raises.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype

from lookalike.kernels import array_layout as layout
from lookalike.kernels.loading import ENTRY, SLOTS

__all__ = ["add_entry"]

_BIT, _BYTE, _INT, _WORD, _FLOAT = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_OBJECT = _BYTE.as_pointer()
_NOTHING = ir.Constant(_OBJECT, None)


def add_entry(library: Any, context: Any, descriptor: Any, arguments: Any, result: Any, *, brief: bool) -> None:
    """Add the entry of the kernel that `descriptor` describes to its library; a brief one keeps the lock."""
    module = library.create_ir_module("entry")
    kind = ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT.as_pointer(), _WORD])
    _WayIn(context, ir.Function(module, kind, ENTRY)).build(descriptor, arguments, result, brief)
    library.add_ir_module(module)


class _Emitter:
    """What entry and check are built with; `builder` stands where all is well so far."""

    def __init__(self, function: Any) -> None:
        self.function, self.module = function, function.module
        self.builder = ir.IRBuilder(function.append_basic_block())

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call a function of Python, or of this module."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, name), arguments)

    def field(self, place: Any, offset: int, kind: Any) -> Any:
        """What lies `offset` bytes behind the start of an object."""
        return self.builder.load(self.builder.bitcast(self.builder.gep(place, [_WORD(offset)]), kind.as_pointer()))

    def slot(self, number: int) -> Any:
        """One of the words that the loader fills in."""
        return self.builder.load(cgutils.gep_inbounds(self.builder, self.module.get_global(SLOTS), 0, number))

    def go_on_if(self, good: Any, otherwise: Any) -> None:
        """Go on where `good` is true, and otherwise in another block."""
        block = self.builder.append_basic_block()
        self.builder.cbranch(good, block, otherwise)
        self.builder.position_at_end(block)


class _WayIn(_Emitter):
    """The entry while it is built."""

    def __init__(self, context: Any, function: Any) -> None:
        super().__init__(function)
        self.context = context
        slots = ir.GlobalVariable(self.module, ir.ArrayType(_OBJECT, 2), SLOTS)
        slots.initializer = ir.Constant(slots.type.pointee, None)
        # Where all failures meet. In the first block Python has raised an error; the second tells a number.
        self.leave, self.tell = function.append_basic_block("leave"), function.append_basic_block("tell")
        with self.builder.goto_block(self.leave):
            self.builder.ret(_NOTHING)
        with self.builder.goto_block(self.tell):
            self.told = self.builder.phi(_WORD)
            self.call("PyErr_Clear", ir.VoidType())
            self._complain(self.call("PyLong_FromLongLong", _OBJECT, self.told))

    def build(self, descriptor: Any, arguments: Any, result: Any, brief: bool) -> None:
        """Read the arguments, call, give back the result."""
        builder = self.builder
        _, given, count = self.function.args
        self._fail_unless(builder.icmp_signed("==", count, _WORD(len(arguments))), -1)
        values = []
        for number, kind in enumerate(arguments):
            values.append(self._read(builder.load(builder.gep(given, [_WORD(number)])), kind, number))
        thread = None if brief else self.call("PyEval_SaveThread", _OBJECT)
        called = self.context.declare_function(self.module, descriptor)
        status, value = self.context.call_conv.call_function(builder, called, result, arguments, values)
        if thread is not None:
            self.call("PyEval_RestoreThread", ir.VoidType(), thread)
        with builder.if_then(status.is_error, likely=False):
            self._pass_on(status)
        builder.ret(self._boxed(value, result))

    def _fail_unless(self, good: Any, number: int) -> None:
        self.told.add_incoming(_WORD(number), self.builder.block)
        self.go_on_if(good, self.tell)

    def _complain(self, what: Any) -> None:
        """Leave with what the function in Python raises; `what` is missing where there was no memory for it."""
        with self.builder.if_then(self.builder.icmp_unsigned("==", what, _NOTHING)):
            self.builder.ret(_NOTHING)
        kind = ir.FunctionType(_OBJECT, [_OBJECT, _OBJECT], var_arg=True)
        function = cgutils.get_or_insert_function(self.module, kind, "PyObject_CallFunctionObjArgs")
        answer = self.builder.call(function, [self.function.args[0], what, _NOTHING])
        self.call("Py_DecRef", ir.VoidType(), what)
        self.builder.ret(answer)

    def _pass_on(self, status: Any) -> None:
        """Leave with the error of the kernel, which Numba keeps pickled: where it lies, and how long it is."""
        builder = self.builder
        data, size = (builder.load(cgutils.gep_inbounds(builder, status.excinfoptr, 0, i)) for i in (0, 1))
        self._complain(self.call("PyBytes_FromStringAndSize", _OBJECT, data, builder.sext(size, _WORD)))

    def _read(self, given: Any, kind: Any, number: int) -> Any:
        """The value that stands for an argument in Numba's calling convention."""
        if isinstance(kind, types.Array):
            return self._array(given, kind, number)
        if isinstance(kind, types.NamedTuple):  # type: ignore[attr-defined]
            return self._tuple(given, kind, number)
        if kind == types.float64:
            value = self.call("PyFloat_AsDouble", _FLOAT, given)
            self._leave_if_raised(self.builder.fcmp_ordered("==", value, _FLOAT(-1.0)))
            return value
        if kind == types.boolean:
            value = self.call("PyObject_IsTrue", _INT, given)
            self.go_on_if(self.builder.icmp_signed(">=", value, _INT(0)), self.leave)
            return self.builder.icmp_signed("!=", value, _INT(0))
        if kind not in (types.int64, types.uint64):
            raise NotImplementedError(f"a kernel that takes {kind}")
        whole = self.call("PyNumber_Index", _OBJECT, given)
        self.go_on_if(self.builder.icmp_unsigned("!=", whole, _NOTHING), self.leave)
        value = self.call("PyLong_AsLongLong" if kind.signed else "PyLong_AsUnsignedLongLong", _WORD, whole)
        self.call("Py_DecRef", ir.VoidType(), whole)
        self._leave_if_raised(self.builder.icmp_signed("==", value, _WORD(-1)))
        return value

    def _leave_if_raised(self, suspect: Any) -> None:
        """A value that also stands for an error: ask whether there is one."""
        with self.builder.if_then(suspect, likely=False):
            error = self.call("PyErr_Occurred", _OBJECT)
            self.go_on_if(self.builder.icmp_unsigned("==", error, _NOTHING), self.leave)

    def _tuple(self, given: Any, kind: Any, number: int) -> Any:
        size = self.call("PyTuple_Size", _WORD, given)  # -1 for what is no tuple
        self._fail_unless(self.builder.icmp_signed("==", size, _WORD(len(kind.types))), number)
        fields = [self.call("PyTuple_GetItem", _OBJECT, given, _WORD(i)) for i in range(len(kind.types))]
        values = [self._read(field, each, number) for field, each in zip(fields, kind.types, strict=True)]
        return self.context.make_tuple(self.builder, kind, values)

    def _array(self, given: Any, kind: Any, number: int) -> Any:
        if kind.layout != "C" or not kind.aligned:
            raise NotImplementedError(f"a kernel that takes {kind}")
        dtype = as_dtype(kind.dtype)
        expected = [kind.ndim, *layout.type_numbers(dtype), layout.flags_for(readonly=not kind.mutable)]
        _define_check(self.module)
        self._fail_unless(self.call(_CHECK, _BIT, given, *map(_INT, expected)), number)
        array = self.context.make_array(kind)(self.context, self.builder)
        words = _WORD.as_pointer()
        shape, strides = (
            [self.builder.load(self.builder.gep(start, [_WORD(axis)])) for axis in range(kind.ndim)]
            for start in (self.field(given, place, words) for place in (layout.DIMENSIONS, layout.STRIDES))
        )
        data = self.builder.bitcast(self.field(given, layout.DATA, _OBJECT), array.data.type)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=dtype.itemsize, meminfo=None)
        return array._getvalue()

    def _boxed(self, value: Any, kind: Any) -> Any:
        if kind == types.none:
            nothing = self.slot(1)
            self.call("Py_IncRef", ir.VoidType(), nothing)
            return nothing
        if kind == types.int64:
            return self.call("PyLong_FromLongLong", _OBJECT, value)
        raise NotImplementedError(f"a kernel that gives {kind}")


_CHECK = "lookalike_is_array"


def _define_check(module: Any) -> None:
    """Whether an object is an array of so many dimensions, of one of two types, with certain flags."""
    if _CHECK in module.globals:
        return
    check = ir.Function(module, ir.FunctionType(_BIT, [_OBJECT, *[_INT] * 4]), _CHECK)
    check.linkage = "internal"
    check.attributes.add("noinline")
    emit = _Emitter(check)
    builder = emit.builder
    no = check.append_basic_block("no")
    ir.IRBuilder(no).ret(_BIT(0))
    given, rank, number, other_number, flags = check.args
    kind, wanted = emit.field(given, layout.OBJECT_TYPE, _OBJECT), emit.slot(0)
    with builder.if_then(builder.icmp_unsigned("!=", kind, wanted), likely=False):
        derived = emit.call("PyType_IsSubtype", _INT, kind, wanted)
        emit.go_on_if(builder.icmp_signed("!=", derived, _INT(0)), no)
    description = emit.field(given, layout.DESCRIPTION, _OBJECT)
    found = emit.field(description, layout.TYPE_NUMBER, _INT)
    order = emit.field(description, layout.BYTE_ORDER, _BYTE)
    same_number, same_order = (
        builder.or_(*(builder.icmp_signed("==", value, each) for each in allowed))
        for value, allowed in ((found, (number, other_number)), (order, map(_BYTE, layout.NATIVE_ORDERS)))
    )
    has_flags = builder.icmp_signed("==", builder.and_(emit.field(given, layout.FLAGS, _INT), flags), flags)
    has_rank = builder.icmp_signed("==", emit.field(given, layout.RANK, _INT), rank)
    builder.ret(builder.and_(builder.and_(has_flags, has_rank), builder.and_(same_number, same_order)))
