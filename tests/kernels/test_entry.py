"""The way from Python into a kernel: what it takes, what it refuses, and what becomes of errors."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from lookalike.kernels import array_layout
from lookalike.kernels.jit import intrinsic, kernel
from lookalike.kernels.kinds import array_of, int64, tuple_of


class Two(NamedTuple):
    """Two arrays."""

    words: NDArray[np.uint64]
    floats: NDArray[np.float32]


@kernel("void(Array(int64,2,'C',readonly=True), uint8[::1], int64, uint64, float64, boolean, float64[::1])")
def _echo(table, small, whole, word, real, truth, out):  # type: ignore[no-untyped-def]
    out[0], out[1], out[2] = table.shape[0], table.shape[1], table[-1, -1]
    out[3], out[4], out[5] = len(small), whole, word >> np.uint64(60)
    out[6], out[7] = real, truth
    small[0] = 7


@kernel(int64(int64, tuple_of(Two), array_of(np.bool_)))
def _sum_tuple(start, two, flags):  # type: ignore[no-untyped-def]
    total = start
    for i in range(len(two.words)):
        total += np.int64(two.words[i])
    for i in range(len(two.floats)):
        total += np.int64(two.floats[i])
    for i in range(len(flags)):
        total += np.int64(flags[i])
    return total


@kernel("int64(int64, int64)")
def _divide(a, b):  # type: ignore[no-untyped-def]
    if a < 0:
        raise ValueError("a is negative", 17)
    return a // b


@intrinsic
def _look(typingctx: Any, array: Any) -> Any:
    """array[0] as it is at this moment, whatever the compiler thinks."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, ordering="monotonic", align=8)

    return array.dtype(array), codegen


@kernel("int64(int64[::1], int64)")
def _wait(shared, most):  # type: ignore[no-untyped-def]
    for _ in range(most):
        if _look(shared) != 0:
            return 1
    return 0


def arguments() -> dict[str, Any]:
    table = np.arange(12, dtype=np.int64).reshape(4, 3)
    table.flags.writeable = False
    return {
        "table": table, "small": np.zeros(5, np.uint8), "whole": -3, "word": 2**64 - 1, "real": 0.5, "truth": True,
        "out": np.zeros(8),
    }  # fmt: skip


def test_arrays_and_numbers_arrive() -> None:
    given = arguments()
    assert _echo(*given.values()) is None
    assert given["out"].tolist() == [4, 3, 11, 5, -3, 15, 0.5, 1]
    assert given["small"].tolist() == [7, 0, 0, 0, 0]


def test_numbers_of_numpy_and_whole_numbers_for_floats_will_do() -> None:
    given = arguments() | {"whole": np.int32(-8), "word": np.uint8(3), "real": 2, "truth": np.bool_(False)}
    _echo(*given.values())
    assert given["out"].tolist() == [4, 3, 11, 5, -8, 0, 2, 0]


def test_arrays_of_derived_classes_and_of_other_names_for_the_type_will_do(tmp_path: Path) -> None:
    given = arguments()
    given["table"].tofile(tmp_path / "table")
    mapped = np.memmap(tmp_path / "table", np.int64, "r", shape=(4, 3))
    for table in (mapped, given["table"].astype(np.longlong), np.zeros((0, 3), np.int64).reshape(0, 3)[:0]):
        if len(table):
            _echo(*(given | {"table": table, "out": (out := np.zeros(8))}).values())
            assert out.tolist()[:3] == [4, 3, 11]


WRONG: dict[str, list[Any]] = {
    "table": [
        np.zeros((4, 3), np.uint64), np.zeros((4, 3), np.float64), np.zeros((4, 3), np.int32), np.zeros(12, np.int64),
        np.zeros((4, 3, 1), np.int64), np.zeros((3, 4), np.int64).T, np.zeros((4, 6), np.int64)[:, ::2],
        np.zeros((4, 3), ">i8"), np.zeros(97, np.uint8)[1:].view(np.int64).reshape(4, 3), [[1, 2, 3]], None, 5,
    ],
    "small": [np.zeros(5, np.int8), np.zeros(5, np.bool_), np.frombuffer(b"12345", np.uint8), b"12345"],
    "whole": [1.0, "1", None, 2**63, -(2**63) - 1],
    "word": [-1, 2**64, 0.5, None],
    "real": ["1.0", None, 1j],
    "out": [np.zeros(8, np.float32)],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_of_the_signature_is_an_error_that_says_so(name: str) -> None:
    for wrong in WRONG[name]:
        given = arguments() | {name: wrong}
        expected: Any = (TypeError, OverflowError)
        with pytest.raises(expected) as caught:
            _echo(*given.values())
        if isinstance(arguments()[name], np.ndarray):
            number = list(given).index(name) + 1
            assert str(caught.value).startswith(f"_echo: argument {number} is not what it takes: void(Array(int64,2")
        assert not given["out"].any(), "nothing was done"


def test_too_few_and_too_many_arguments_are_an_error() -> None:
    for given in ([1], [1, 2, 3], []):
        with pytest.raises(TypeError, match=r"_divide: the arguments are not what it takes: int64\(int64, int64\)"):
            _divide(*given)


def test_tuples_of_arrays_arrive_and_others_are_refused() -> None:
    two = Two(np.array([1, 2, 3], np.uint64), np.array([0.5, 4.5], np.float32))
    flags = np.array([True, False, True])
    assert _sum_tuple(10, two, flags) == 22
    for wrong in (tuple(two)[:1], (*two, two[0]), (two[1], two[0]), list(two), None, Two(two.words[::2], two.floats)):
        with pytest.raises(TypeError, match="_sum_tuple: argument 2 is not what it takes"):
            _sum_tuple(10, wrong, flags)


def test_an_error_inside_of_a_kernel_is_raised_as_it_is() -> None:
    assert _divide(7, 2) == 3
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        _divide(7, 0)
    with pytest.raises(ValueError, match="a is negative") as caught:
        _divide(-1, 1)
    assert caught.value.args == ("a is negative", 17)
    assert _divide(-(0), 1) == 0


def test_other_threads_go_on_while_a_kernel_runs() -> None:
    shared = np.zeros(1, np.int64)
    began = threading.Event()

    def stop() -> None:
        began.wait()
        shared[0] = 1

    thread = threading.Thread(target=stop)
    thread.start()
    began.set()
    # Seconds of looking, in which a kernel that kept the interpreter lock would see nothing change.
    assert _wait(shared, 10**10) == 1
    thread.join()


def test_arrays_lie_in_memory_as_kernels_read_them() -> None:
    assert array_layout.is_as_expected()
    assert array_layout.type_numbers(np.int64) == tuple(sorted((np.dtype("l").num, np.dtype("q").num)))
    assert len(set(array_layout.type_numbers(np.float32))) == 1
