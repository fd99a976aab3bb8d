"""What a kernel is made of, as a digest: when any of it changes, the kernel must be compiled anew.

That is its own code and signature, the device functions and intrinsics that it calls, theirs, and the values of all
globals that any of them mentions. Code is compared as bytecode: where it stands in a file and what comments say about
it does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from opcode import opmap
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lookalike.kernels.later import LaterModule

__all__ = ["digest_of"]

_LOAD_GLOBAL, _EXTENDED_ARG = opmap["LOAD_GLOBAL"], opmap["EXTENDED_ARG"]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)


def digest_of(function: Callable[..., Any], *more: str) -> bytes:
    """32 bytes that stand for a function, for all that it takes in, and for some more words."""
    found = hashlib.blake2b(repr(more).encode(), digest_size=32)
    seen, waiting = set(), [function]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            said, taken_in = _of_function(each)
            found.update(said)
            waiting.extend(taken_in)
    return found.digest()


@cache
def _of_function(function: Any) -> tuple[bytes, tuple[Any, ...]]:
    """What a function itself says, and the functions that it mentions."""
    taken_in: list[Any] = []
    words = list(_of_code(function.__code__))
    values = function.__globals__
    names = sorted(name for name in set(_names(function.__code__)) if name in values)
    words += [f"{name} = {_of_value(values[name], taken_in)}" for name in names]
    words += [_of_value(cell.cell_contents, taken_in) for cell in function.__closure__ or ()]
    words.append(_of_value(function.__defaults__, taken_in))
    return "\n".join(words).encode(), tuple(taken_in)


def _of_code(code: CodeType) -> Iterator[str]:
    yield f"{code.co_name} {code.co_argcount} {code.co_flags} {code.co_names} {code.co_varnames} {code.co_freevars}"
    yield code.co_code.hex()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        else:
            yield _of_value(constant, [])


def _names(code: CodeType) -> Iterator[str]:
    """The globals that some code mentions; `co_names` has the names of attributes as well."""
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    at = operations.find(_LOAD_GLOBAL)
    while at >= 0:
        place, shift, before = arguments[at], 8, at - 1
        while operations[before] == _EXTENDED_ARG and before >= 0:
            place |= arguments[before] << shift
            shift, before = shift + 8, before - 1
        yield code.co_names[place >> 1]
        at = operations.find(_LOAD_GLOBAL, at + 1)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _of_value(value: Any, taken_in: list[Any]) -> str:
    """A value in words that are the same in every process; functions are put on the list."""
    if isinstance(value, LaterModule):
        return f"module {value}"
    if isinstance(value, (ModuleType, BuiltinFunctionType, np.ufunc)):
        return f"{type(value).__name__} {value.__name__}"
    inner = getattr(value, "py_func", None) or getattr(value, "__wrapped__", value)
    if isinstance(inner, FunctionType):
        taken_in.append(inner)
        return f"{type(value).__name__} {inner.__module__}.{inner.__qualname__}"
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.blake2b(value.tobytes()).hexdigest()}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} {[_of_value(each, taken_in) for each in value]}"
    if isinstance(value, frozenset):
        return f"set {sorted(_of_value(each, taken_in) for each in value)}"
    if isinstance(value, type):
        # Of a class of ours that builds code, the methods; of a NamedTuple, the fields.
        if value.__module__.startswith("lookalike.") and not issubclass(value, tuple):
            taken_in.extend(member for member in vars(value).values() if isinstance(member, FunctionType))
        return f"class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', ())}"
    words = f"{type(value).__name__} {value}"
    if " at 0x" in words:
        raise TypeError(f"a kernel mentions {words}, of which nobody can say whether it has changed")
    return words
