"""How kernels are compiled: once, from the cache where there is one, and safely from several threads."""

from __future__ import annotations

import importlib.util
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

from lookalike.kernels import cache, compiling, jit
from lookalike.kernels.jit import Kernel, kernel, load_u64, peek, poke, trailing_zeros
from lookalike.kernels.kinds import array_of, void
from lookalike.kernels.loading import UnloadableError

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


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are compiled."""
    names: list[str] = []

    def counting(name: str, *rest: Any) -> bytes:
        names.append(name)
        code: bytes = object_code(name, *rest)
        return code

    object_code = compiling.object_code
    monkeypatch.setattr(compiling, "object_code", counting)
    return names


def test_a_kernel_keeps_its_name_and_what_it_says(tmp_path: Path) -> None:
    twice = load(write(tmp_path)).twice
    assert isinstance(twice, Kernel)
    assert (twice.__name__, twice.__doc__) == ("twice", "Two times x.")
    assert twice.python(4) == 8


def test_a_brief_kernel_keeps_the_interpreter_lock_and_others_do_not() -> None:
    def twice(x: int) -> int:
        return 2 * x

    for brief in (False, True):
        code = compiling.object_code("twice", twice, "int64(int64)", brief)
        assert (b"PyEval_SaveThread" in code) == (b"PyEval_RestoreThread" in code) == (not brief)
    assert Kernel(twice, "int64(int64)", brief=True)(4) == 8


@pytest.mark.usefixtures("listeners")
def test_a_kernel_is_compiled_at_its_first_call_and_never_again(tmp_path: Path, compiled: list[str]) -> None:
    twice = load(write(tmp_path)).twice
    assert compiled == []
    assert [twice(x) for x in (1, 2, 3)] == [2, 4, 6]
    assert compiled == ["twice"]
    assert load(tmp_path / "twice_module.py").twice(4) == 8
    assert compiled == ["twice"], "it was kept"


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
def test_threads_that_call_a_kernel_first_at_the_same_time_compile_it_once(tmp_path: Path, compiled: list[str]) -> None:
    twice = load(write(tmp_path)).twice
    told: list[str] = []
    jit.on_compile(lambda: told.append("compiled"))
    barrier = threading.Barrier(THREADS)

    def call(x: int) -> int:
        barrier.wait()
        result: int = twice(x)
        return result

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(call, range(THREADS))) == [2 * x for x in range(THREADS)]
    assert compiled == ["twice"]
    assert told == ["compiled"]


@pytest.mark.usefixtures("listeners")
def test_a_kernel_that_cannot_be_loaded_is_left_to_numba_and_that_is_said(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(cache, "_noted", [])
    monkeypatch.setattr(cache, "_listeners", [said.append])
    path = write(tmp_path)

    def unloadable(*_: object) -> None:
        raise UnloadableError("symbols not found")

    monkeypatch.setattr(jit, "load", unloadable)
    assert load(path).twice(2) == 4
    assert said == ["twice is left to Numba, which makes every start slower: symbols not found"]
    assert load(path).twice(3) == 6
    assert compiled == ["twice"], "and not tried again"
    assert said[1:] == ["twice is left to Numba, which makes every start slower: as before"]


@pytest.mark.usefixtures("listeners")
def test_an_error_in_the_source_of_a_kernel_is_numba_s(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_text(SOURCE.replace("x + x", "x.nothing"), encoding="utf-8")
    with pytest.raises(TypingError, match="nothing"):
        load(path).twice(2)


@kernel(void(array_of(np.uint8, readonly=True), array_of(np.uint64), array_of(np.int64)))
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
