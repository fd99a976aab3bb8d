"""Kernels compiled to object code: the only module that loads Numba, when a kernel is not in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numba.extending
import numpy as np
from numba.core import compiler, sigutils, types
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from lookalike.kernels.entry import add_entry
from lookalike.kernels.kinds import ArrayKind, Scalar, Signature, TupleKind
from lookalike.kernels.loading import ENTRY, SLOTS
from lookalike.kernels.runtime import add_runtime

__all__ = [
    "device_function",
    "function_by_itself",
    "intrinsic_and_type",
    "numba_signature",
    "numbas_own",
    "object_code",
]

# As `numba.njit(nogil=True)`, but Python comes in by another way.
_OPTIONS = {"nopython": True, "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Library(CPUCodeLibrary):  # type: ignore[misc]
    """Code that becomes an object instead of being run where it was made."""

    code = b""

    def _optimize_final_module(self) -> None:
        """All is linked but the runtime, of which only what is called is taken."""
        add_runtime(self)
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """All is optimised: hide every name but two, and make machine code of it."""
        names = (ENTRY, SLOTS)
        for symbol in [*self._final_module.functions, *self._final_module.global_variables]:
            if not symbol.is_declaration and symbol.name not in names:
                symbol.linkage = "internal"
        self.code = self._codegen._tm.emit_object(self._final_module)
        self._finalized = True


@global_compiler_lock
def object_code(name: str, function: Callable[..., Any], signature: Any, brief: bool = False) -> bytes:
    """The machine code of a kernel and of the way into it."""
    typing_context, context = cpu_target.typing_context, cpu_target.target_context
    typing_context.refresh()
    context.refresh()
    arguments, result = sigutils.normalize_signature(numba_signature(signature))
    flags = compiler.Flags()
    cpu_target.options.parse_as_flags(flags, _OPTIONS)
    flags.no_compile = True  # not here and now: `_Library` does it, when the entry is there
    library = _Library(context.codegen(), name)
    compiled = compiler.compile_extra(
        typing_context, context, function, arguments, result, flags, {}, library=library
    )  # fmt: skip
    add_entry(library, context, compiled.fndesc, arguments, result, brief=brief)
    library.finalize()
    return library.code


def numbas_own(function: Callable[..., Any], signature: Signature | str) -> Any:
    """A kernel as Numba compiles, keeps and calls it."""
    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        made = function_by_itself(function)
    made.compile(numba_signature(signature))
    made.disable_compile()
    return made


def device_function(function: Callable[..., Any], **options: Any) -> Any:
    """A function as Numba compiles it, for whatever types a kernel calls it with."""
    return numba.jit(**(_OPTIONS | options))(function)


def function_by_itself(function: Callable[..., Any]) -> Any:
    """A function as Numba compiles and calls it."""
    return numba.njit(nogil=True)(function)


def intrinsic_and_type(function: Callable[..., Any]) -> tuple[Any, Any]:
    """An intrinsic as Numba has it, which must be kept, and its type."""
    made = numba.extending.intrinsic(function)
    cpu_target.typing_context.refresh()  # what was declared since the last time
    return made, cpu_target.typing_context.resolve_value_type(made)


def numba_signature(signature: Signature | str) -> Any:
    """A signature in Numba's words."""
    if isinstance(signature, str):
        return signature
    return _numba_type(signature.result)(*map(_numba_type, signature.args))


def _numba_type(kind: Scalar | ArrayKind | TupleKind) -> Any:
    if isinstance(kind, Scalar):
        return getattr(types, kind.name)
    if isinstance(kind, ArrayKind):
        return types.Array(numba.from_dtype(np.dtype(kind.dtype)), kind.dimensions, "C", readonly=kind.readonly)
    return types.NamedTuple([_numba_type(field) for field in kind.fields], kind.named)  # type: ignore[attr-defined]
