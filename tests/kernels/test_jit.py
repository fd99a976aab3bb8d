"""How kernels are compiled: once, from the cache where there is one, and safely from several threads."""

from __future__ import annotations

import importlib.util
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import types
from numpy.typing import NDArray

from lookalike.kernels import jit
from lookalike.kernels.jit import Kernel, array_of, kernel, load_u64, peek, poke, trailing_zeros, tuple_of

SOURCE = '''
from lookalike.kernels.jit import kernel

@kernel("int64(int64)")
def twice(x):
    """Two times x."""
    return x + x
'''

THREADS = 8


@pytest.fixture
def listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listeners of this test only."""
    monkeypatch.setattr(jit, "_listeners", [])


def load(path: Path) -> ModuleType:
    """The module in a file, as a new process would see it: with no kernel compiled or loaded yet."""
    spec = importlib.util.spec_from_file_location("twice_module", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path) -> Path:
    path = folder / "twice_module.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


class Counting:
    """A dispatcher that counts how often it is asked to compile."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self.compiled = 0

    def compile(self, signature: str) -> None:
        self.compiled += 1
        self._dispatcher.compile(signature)

    def __call__(self, *arguments: Any) -> Any:
        return self._dispatcher(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dispatcher, name)


def counted(twice: Kernel) -> Counting:
    counting = Counting(twice._dispatcher)
    twice._dispatcher = counting
    return counting


def test_a_kernel_keeps_its_name_and_what_it_says(tmp_path: Path) -> None:
    twice = load(write(tmp_path)).twice
    assert isinstance(twice, Kernel)
    assert (twice.__name__, twice.__doc__) == ("twice", "Two times x.")
    assert twice.python(4) == 8


@pytest.mark.usefixtures("listeners")
def test_a_kernel_is_compiled_at_its_first_call_and_never_again(tmp_path: Path) -> None:
    twice = load(write(tmp_path)).twice
    counting = counted(twice)
    assert counting.compiled == 0
    assert [twice(x) for x in (1, 2, 3)] == [2, 4, 6]
    assert counting.compiled == 1


@pytest.mark.usefixtures("listeners")
def test_a_kernel_takes_no_other_types_than_those_of_its_signature(tmp_path: Path) -> None:
    twice = load(write(tmp_path)).twice
    assert twice(5) == 10
    with pytest.raises(TypeError):
        twice("no number")
    assert len(twice._dispatcher.signatures) == 1


@pytest.mark.usefixtures("listeners")
def test_the_listener_is_told_of_a_compilation_once_and_of_a_load_from_the_cache_never(tmp_path: Path) -> None:
    path = write(tmp_path)
    told: list[str] = []
    jit.on_compile(lambda: told.append("first"))
    jit.on_compile(lambda: told.append("also"))
    fresh = load(path)
    assert told == []
    assert fresh.twice(1) == 2
    assert sorted(told) == ["also", "first"]
    assert fresh.twice(2) == 4
    assert len(told) == 2

    jit.on_compile(lambda: told.append("second"))
    assert load(path).twice(3) == 6
    assert len(told) == 2, "it was in the cache"

    path.write_text(SOURCE.replace("x + x", "x + x + 1"), encoding="utf-8")
    assert load(path).twice(3) == 7
    assert told[2:] == ["second"], "a changed file is compiled again"

    path.write_text(SOURCE.replace("x + x", "x + x + 10"), encoding="utf-8")
    assert load(path).twice(3) == 16
    assert len(told) == 3, "each listener is told once"


@pytest.mark.usefixtures("listeners")
def test_threads_that_call_a_kernel_first_at_the_same_time_compile_it_once(tmp_path: Path) -> None:
    twice = load(write(tmp_path)).twice
    counting = counted(twice)
    told: list[str] = []
    jit.on_compile(lambda: told.append("compiled"))
    barrier = threading.Barrier(THREADS)

    def call(x: int) -> int:
        barrier.wait()
        result: int = twice(x)
        return result

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(call, range(THREADS))) == [2 * x for x in range(THREADS)]
    assert counting.compiled == 1
    assert told == ["compiled"]


@kernel(types.void(array_of(np.uint8, readonly=True), array_of(np.uint64), array_of(np.int64)))
def _read(data, words, zeros):  # type: ignore[no-untyped-def]
    for i in range(len(words)):
        words[i] = load_u64(data, i)
        zeros[i] = trailing_zeros(words[i])


@kernel("void(Array(int32,1,'C',readonly=True), uint8[::1], uint64[::1], int64)")
def _copy(source, small, large, value):  # type: ignore[no-untyped-def]
    for i in range(len(source)):
        poke(small, i, peek(source, i))
        poke(large, i, peek(source, i))
    poke(large, len(source), value)


class Arrays(NamedTuple):
    """Arrays of two types."""

    small: NDArray[np.uint8]
    large: NDArray[np.int64]


def test_the_type_of_a_tuple_of_arrays_follows_its_annotations() -> None:
    for readonly in (False, True):
        kind = tuple_of(Arrays, readonly=readonly)
        assert list(kind.types) == [array_of(dtype, readonly=readonly) for dtype in (np.uint8, np.int64)]
        assert kind.instance_class is Arrays


def test_eight_bytes_are_read_little_endian_from_any_position() -> None:
    data = random.Random(1).randbytes(64)
    words, zeros = np.empty(57, np.uint64), np.empty(57, np.int64)
    _read(np.frombuffer(data, np.uint8), words, zeros)
    assert words.tolist() == [int.from_bytes(data[i : i + 8], "little") for i in range(57)]


def test_trailing_zeros_of_every_bit_and_of_zero() -> None:
    for bit in range(64):
        words, zeros = np.empty(1, np.uint64), np.empty(1, np.int64)
        for number in (1 << bit, (2**64 - 1) << bit & 2**64 - 1):
            _read(np.frombuffer(number.to_bytes(8, "little"), np.uint8), words, zeros)
            assert zeros.tolist() == [bit]
    _read(np.zeros(8, np.uint8), words, zeros)
    assert zeros.tolist() == [64]


def test_peek_and_poke_read_and_write_items_cut_to_the_type_of_the_array() -> None:
    source = np.array([0, 1, 255, 256, 511, -1, 2**31 - 1, -(2**31)], np.int32)
    small, large = np.full(len(source) + 1, 77, np.uint8), np.full(len(source) + 1, 77, np.uint64)
    _copy(source, small, large, -2)
    assert small.tolist() == [x % 256 for x in source.tolist()] + [77]
    assert large.tolist() == [x % 2**64 for x in source.tolist()] + [2**64 - 2]
