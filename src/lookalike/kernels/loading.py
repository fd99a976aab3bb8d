"""Object code of kernels made callable: LLVM links it, Python calls it as one of its own built-in functions.

No Numba: loading it, with the registries that it fills at the first kernel, takes 0.37 s; LLVM alone takes 0.035 s, a
kernel 0.4 ms. Each kernel is a library of its own in LLVM's linker, so that a helper which two of them have under one
name stays apart, and a symbol that is nowhere to be found is an error, not the end of the process.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from lookalike.kernels.array_layout import is_as_expected

__all__ = ["ENTRY", "SLOTS", "UnloadableError", "load"]

# What the object code of a kernel shows: the function, and two words that are filled in here, for ndarray and None.
ENTRY, SLOTS = "lookalike_entry", "lookalike_slots"

_FAST_CALL = 0x0080  # METH_FASTCALL: the arguments come as an array, with their number


class UnloadableError(Exception):
    """This process cannot run the object code."""


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("entry", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


# PyCFunction_NewEx(definition, self, module), of which `self` comes to the entry as its first argument.
_built_in = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

# Code that could still be called must stay where it is, for as long as the process lives. When it ends, Python empties
# this module before it looks for garbage, and that may hold a kernel: so a reference too many is counted.
_loaded: list[Any] = []
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_loaded))


@cache
def _linker() -> Any:
    import llvmlite.binding as llvm
    from llvmlite.binding import orcjit

    if not is_as_expected():
        raise UnloadableError("arrays of this NumPy are laid out in another way")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    linker = orcjit.create_lljit_compiler(suppress_errors=True)
    _loaded.append(linker)
    return linker


def load(name: str, code: bytes, takes: Callable[[], str]) -> Callable[..., Any]:
    """The kernel in some object code, as a function; `takes` says what it takes, for those who call it wrongly."""
    from llvmlite.binding import orcjit

    try:
        library = orcjit.JITLibraryBuilder().add_object_img(code).add_current_process()
        library.export_symbol(ENTRY).export_symbol(SLOTS)
        linked = library.link(_linker(), f"{name} {len(_loaded)}")
    except RuntimeError as error:
        raise UnloadableError(str(error)) from None
    slots = (ctypes.c_void_p * 2).from_address(linked[SLOTS])
    slots[0], slots[1] = id(np.ndarray), id(None)
    definition = _MethodDefinition(name.encode(), linked[ENTRY], _FAST_CALL, None)
    _loaded.append((linked, definition))
    function: Callable[..., Any] = _built_in(ctypes.addressof(definition), _complaint(name, takes), None)
    return function


def _complaint(name: str, takes: Callable[[], str]) -> Callable[[int | bytes], None]:
    """What a kernel calls that cannot do its work, with the number of a wrong argument or its pickled error."""

    def complain(what: int | bytes) -> None:
        if isinstance(what, bytes):
            kind, arguments, _ = pickle.loads(what)
            raise kind(*(arguments or ()))
        which = f"argument {what + 1} is" if what >= 0 else "the arguments are"
        raise TypeError(f"{name}: {which} not what it takes: {takes()}")

    return complain
