"""A kernel is compiled anew when anything that it takes in has changed, and only then."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from lookalike.kernels.later import LaterModule
from lookalike.kernels.taken_in import digest_of

DEVICE = """
import numpy as np
from lookalike.kernels.jit import device, intrinsic

STEP = 2
TABLE = np.array([1, 2, 3])
UNUSED = 1

def emitted(number):
    return number + 1

@intrinsic
def emit(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return emitted(5)
    return x(x), codegen

@device
def inner(x):
    return emit(x) + TABLE[x]

@device
def outer(x):
    return inner(x) * STEP

def unused():
    return 1
"""
KERNEL = """
from lookalike.kernels.jit import kernel

@kernel("int64(int64)")
def run(x):
    return outer(x) + 1
"""


def digest(device: str = DEVICE, kernel: str = KERNEL, *more: str) -> bytes:
    """The digest of the kernel in two files."""
    inner: dict[str, Any] = {"__name__": "device_module"}
    exec(compile(device, "device.py", "exec"), inner)
    names: dict[str, Any] = {"__name__": "kernel_module", "outer": inner["outer"]}
    exec(compile(kernel, "kernel.py", "exec"), names)
    return digest_of(names["run"].python, *more)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP = 2", "STEP = 3"),
        ("STEP = 2", "STEP = 2.0"),
        ("[1, 2, 3]", "[1, 2, 4]"),
        ("[1, 2, 3])", "[1, 2, 3], np.int32)"),
        ("emit(x) + TABLE", "emit(x) - TABLE"),
        ("inner(x) * STEP", "inner(x) * STEP * 5"),
        ("return number + 1", "return number + 2"),
        ("emitted(5)", "emitted(6)"),
    ],
)
def test_a_change_in_another_file_is_noticed(old: str, new: str) -> None:
    assert old in DEVICE
    assert digest(DEVICE.replace(old, new)) != digest()


def test_a_change_of_the_kernel_or_its_signature_is_noticed() -> None:
    assert digest(DEVICE, KERNEL.replace("+ 1", "+ 2")) != digest()
    assert digest(DEVICE, KERNEL, "int64(int64)") != digest(DEVICE, KERNEL, "void(int64)")


def test_what_a_kernel_does_not_take_in_does_not_matter() -> None:
    for old, new in (("UNUSED = 1", "UNUSED = 2"), ("return 1", "return 2"), ("STEP = 2", "# a comment\n\nSTEP = 2")):
        assert digest(DEVICE.replace(old, new)) == digest()


def test_another_process_finds_the_same() -> None:
    code = "from tests.kernels.test_taken_in import digest; print(digest().hex())"
    root = Path(__file__).parents[2]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}"}, cwd=root,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == digest().hex()


def mentioning(value: object) -> Callable[[], Any]:
    """A function that mentions a global of this value."""
    code = compile("def f():\n    return value", "f.py", "exec").co_consts[0]
    return FunctionType(code, {"value": value})


def test_values_of_all_kinds_are_told_apart() -> None:
    values = [
        1, 1.0, True, "1", b"1", None, (1, 2), [1, 2], frozenset({"a", "b"}), np.uint64(1), np.int64(1), np.dtype("f4"),
        np.array([1]), np.array([[1]]), len, np.add, np, Path, LaterModule("numba.core.types"),
    ]  # fmt: skip
    assert len({digest_of(mentioning(value)) for value in values}) == len(values)


def test_a_value_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(TypeError, match="nobody can say whether it has changed"):
        digest_of(mentioning(object()))
