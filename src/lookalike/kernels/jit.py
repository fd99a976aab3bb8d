"""How kernels are compiled and called: explicitly, kept, without the interpreter lock.

A kernel has one explicit signature. At its first call its object code is loaded (`cache.py`, `loading.py`), or if there
is none yet, compiled (`compiling.py`): importing a module costs nothing, a run loads only what it calls, and Numba is
loaded only where something must be compiled. The very first compilation on a machine takes seconds; `on_compile` is
told, so that the command line can say so. A change of a kernel, or of anything that it takes in from other files, is
noticed (`taken_in.py`).

`device` marks the small functions that kernels call. They are inlined by LLVM and not called from Python but by tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, cached_property
from pkgutil import get_data
from typing import Any

from llvmlite import ir

from lookalike.kernels.cache import KernelFile, note
from lookalike.kernels.kinds import Signature
from lookalike.kernels.later import cgutils, types
from lookalike.kernels.loading import UnloadableError, load
from lookalike.kernels.taken_in import digest_of

__all__ = [
    "Inside",
    "Kernel",
    "aside",
    "byte_bits",
    "device",
    "fold",
    "intrinsic",
    "kernel",
    "load_u64",
    "on_compile",
    "peek",
    "poke",
    "read_at",
    "store_u64",
    "trailing_zeros",
]

_listeners: list[Callable[[], None]] = []
_lock = threading.Lock()

# What is kept of a kernel whose object code cannot be loaded.
_LEFT_TO_NUMBA = b""


def on_compile(listener: Callable[[], None]) -> None:
    """Call `listener` once, when the first kernel of this process has to be compiled instead of loaded."""
    _listeners.append(listener)


class Kernel:
    """A compiled function with one signature, loaded or compiled at its first call."""

    def __init__(self, function: Callable[..., Any], signature: Signature | str, brief: bool = False) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.python = function
        self.signature = signature
        self.brief = brief
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._entry or self.loaded())(*arguments)

    def loaded(self) -> Callable[..., Any]:
        """What is called, loaded or compiled if that has not been done."""
        with _lock:
            if self._entry is None:
                place = self._place()
                self._entry = self._kept(place) or self._compiled(place)
            return self._entry

    def _place(self) -> KernelFile:
        name = f"{self.python.__module__}.{self.python.__qualname__}"
        digest = digest_of(self.python, f"{self.signature}{' brief' if self.brief else ''}", _machinery())
        return KernelFile(self.python.__code__.co_filename, name, digest)

    def _kept(self, place: KernelFile) -> Callable[..., Any] | None:
        """What an earlier process compiled, if there is anything and it can be loaded."""
        code = place.read()
        if code is None:
            return None
        try:
            return self._left_to_numba("as before") if code == _LEFT_TO_NUMBA else self._loaded(code)
        except UnloadableError:
            return None

    def _loaded(self, code: bytes) -> Callable[..., Any]:
        return load(self.__name__, code, lambda: str(self.signature))

    def _compiled(self, place: KernelFile) -> Callable[..., Any]:
        while _listeners:
            _listeners.pop()()
        from lookalike.kernels.compiling import object_code

        try:
            code = object_code(self.__name__, self.python, self.signature, self.brief)
            entry = self._loaded(code)
        except Exception as error:  # of the kernel itself, which Numba will raise again, or of our way around Numba
            entry, code = self._left_to_numba(" ".join(str(error).split())), _LEFT_TO_NUMBA
        place.write(code)
        return entry

    def _left_to_numba(self, why: str) -> Callable[..., Any]:
        from lookalike.kernels.compiling import numbas_own

        function: Callable[..., Any] = numbas_own(self.python, self.signature)
        note(f"{self.__name__} is left to Numba, which makes every start slower: {why}")
        return function


@cache
def _machinery() -> str:
    """The text of the modules that decide how a kernel is compiled and called, which also may change."""
    modules = ("array_layout", "compiling", "entry", "loading", "runtime")
    # Through the package, which may be in an archive, as Spark ships it.
    found = (get_data(__package__ or "lookalike.kernels", f"{name}.py") or b"" for name in modules)
    return b"".join(found).decode()


def kernel(signature: Signature | str, *, brief: bool = False) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a kernel: arrays in, arrays out, no Python objects.

    A `brief` one, of some microseconds, keeps the interpreter lock: where many threads want it, it takes longer to get
    it back.
    """

    def declare(function: Callable[..., Any]) -> Kernel:
        return Kernel(function, signature, brief)

    return declare


class Inside:
    """A function for the inside of kernels, which Numba is told of when it compiles one that mentions it."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.py_func = function
        self._options = options

    @cached_property
    def _made(self) -> Any:
        from lookalike.kernels.compiling import device_function

        return device_function(self.py_func, **self._options)

    @property
    def _numba_type_(self) -> Any:
        """The attribute that Numba asks objects for which it does not know."""
        return self._made._numba_type_

    @cached_property
    def _for_python(self) -> Any:
        from lookalike.kernels.compiling import function_by_itself

        return function_by_itself(self.py_func)

    def __call__(self, *arguments: Any) -> Any:
        """For tests: kernels take in the function itself."""
        return self._for_python(*arguments)


def device(function: Callable[..., Any]) -> Any:
    """Declare a function that kernels call, inlined: Numba otherwise counts references to its arrays at each call."""
    return Inside(function, forceinline=True)


def aside(function: Callable[..., Any]) -> Any:
    """Declare a function that kernels hardly ever call: it stays apart from them, and may allocate memory."""
    return Inside(function)


class _Intrinsic(Inside):
    @cached_property
    def _made(self) -> Any:
        from lookalike.kernels.compiling import intrinsic_and_type

        return intrinsic_and_type(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self._made[1]


def intrinsic(function: Callable[..., Any]) -> Any:
    """Declare a function that emits the code of a call to it, as Numba's decorator does, but without loading Numba."""
    return _Intrinsic(function)


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
def read_at(typingctx: Any, handle: Any, array: Any, size: Any, place: Any) -> Any:
    """Bytes of an open file from a place on, up to `size`, to the beginning of a uint8 array with room for them.

    Returns how many there were, 0 at the end of the file, less where it cannot be read. It is the system's `pread`: a
    kernel that reads here and there asks for the interpreter lock once, and not after every read.
    """
    signature = types.int64(types.int64, array, types.int64, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        handle, array, size, place = arguments
        narrow, word, room = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [narrow, room, word, word]), "pread"
        )
        first = _address(context, builder, signature.args[1], array, ir.Constant(word, 0))
        return builder.call(function, [builder.trunc(handle, narrow), first, size, place])

    return signature, codegen


@intrinsic
def store_u64(typingctx: Any, array: Any, position: Any, value: Any) -> Any:
    """Write eight bytes of a uint8 array from any position on, little-endian, unchecked."""
    signature = types.void(array, types.int64, types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], builder.bitcast(address, ir.IntType(64).as_pointer())).align = 1
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def byte_bits(typingctx: Any, array: Any, position: Any, mask: Any) -> Any:
    """64 bits of 64 bytes of a uint8 array: bit i is whether array[position + i] has a bit of the mask; unchecked."""
    signature = types.uint64(array, types.int64, types.uint8)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, small = ir.VectorType(ir.IntType(8), 64), ir.IntType(32)
        address = _address(context, builder, signature.args[0], *arguments[:2])
        value = builder.load(builder.bitcast(address, kind.as_pointer()))
        value.align = 1
        nothing = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(nothing, arguments[2], ir.Constant(small, 0))
        masks = builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(small, 64), [0] * 64))
        told = builder.icmp_unsigned("!=", builder.and_(value, masks), ir.Constant(kind, [0] * 64))
        return builder.bitcast(told, ir.IntType(64))

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
