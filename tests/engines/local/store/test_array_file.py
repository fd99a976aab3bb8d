"""Arrays in a file: what was written comes back, and a write that fails leaves what was there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.engines.local.store.array_file import Arrays, DamagedError, pack_columns, unpack_columns, write_arrays
from lookalike.io.writing.atomic import replacing

RNG = np.random.default_rng(0)

ARRAYS: dict[str, Any] = {
    "keys": RNG.integers(0, 2**64, (3, 5), dtype=np.uint64),
    "sizes": np.arange(7, dtype=np.uint32),
    "flags": np.array([True, False, True]),
    "similarity": RNG.random((2, 3)),
    "bytes": np.frombuffer(b"abc", np.uint8),
    "cube": np.arange(24, dtype=np.int16).reshape(2, 3, 4),
    "nothing": np.empty(0, np.int64),
    "no rows": np.empty((0, 4), np.uint64),
    "no columns": np.empty((4, 0), np.uint64),
    "one": np.array(5, np.int64),
}


def test_arrays_of_any_type_and_shape_come_back(tmp_path: Path) -> None:
    data = {"place": [1, 2, None], "text": "é\n", "share": 0.1}
    write_arrays(tmp_path / "a.bin", ARRAYS, data)
    read = Arrays(tmp_path / "a.bin")
    assert read.data == data
    assert read.names == list(ARRAYS)
    for name, array in ARRAYS.items():
        again = read.read(name)
        assert (again.dtype, again.shape) == (array.dtype, array.shape), name
        assert np.array_equal(again, array)
    assert "keys" in read
    assert "other" not in read


def test_one_row_is_read_alone(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.bin", ARRAYS)
    read = Arrays(tmp_path / "a.bin")
    assert read.data is None
    for name in ("keys", "similarity", "no columns"):
        for row in range(len(ARRAYS[name])):
            assert np.array_equal(read.read(name, row), ARRAYS[name][row])


def test_arrays_that_do_not_lie_in_one_piece_are_written_as_they_are_seen(tmp_path: Path) -> None:
    whole = np.arange(20, dtype=np.uint64).reshape(4, 5)
    write_arrays(tmp_path / "a.bin", {"turned": whole.T, "thinned": whole[::2, ::3], "backward": whole[0][::-1]})
    read = Arrays(tmp_path / "a.bin")
    assert np.array_equal(read.read("turned"), whole.T)
    assert np.array_equal(read.read("turned", 1), whole.T[1])
    assert np.array_equal(read.read("thinned"), whole[::2, ::3])
    assert read.read("backward").tolist() == [4, 3, 2, 1, 0]


def test_no_arrays_are_a_file_too(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.bin", {}, [1])
    assert (Arrays(tmp_path / "a.bin").names, Arrays(tmp_path / "a.bin").data) == ([], [1])


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    for number in range(3):
        write_arrays(tmp_path / "a.bin", {"x": np.full(1000 - number, number)}, number)
        assert Arrays(tmp_path / "a.bin").read("x").tolist() == [number] * (1000 - number)
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.bin", {"x": np.arange(3)})
    with pytest.raises(TypeError):
        write_arrays(tmp_path / "a.bin", {"x": np.arange(4)}, object())
    with pytest.raises(RuntimeError, match="in between"), replacing(tmp_path / "a.bin") as part:
        part.write_bytes(b"half of it")
        raise RuntimeError("in between")
    assert Arrays(tmp_path / "a.bin").read("x").tolist() == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
import lookalike.io.writing.atomic as atomic
import lookalike.engines.local.store.array_file as arrays

def killed(path):
    os.kill(os.getpid(), signal.SIGKILL)

atomic.sync = killed
arrays.write_arrays(Path(sys.argv[1]), {"x": np.zeros(100_000)})
"""


def test_a_killed_write_leaves_the_old_file_and_the_next_one_succeeds(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    write_arrays(file, {"x": np.arange(3)})
    ended = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert Arrays(file).read("x").tolist() == [0, 1, 2]
    write_arrays(file, {"x": np.arange(4)})
    assert Arrays(file).read("x").tolist() == [0, 1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def damages(data: bytes) -> dict[str, bytes | None]:
    """What may happen to a file between two processes."""
    flipped = {f"bit {at}": data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in range(0, len(data), 7)}
    cut = {f"cut at {at}": data[:at] for at in (0, 1, 7, 8, 9, len(data) // 2, len(data) - 8, len(data) - 1)}
    return flipped | cut | {"longer": data + b"\0", "twice": data + data, "gone": None}


def test_a_file_that_is_not_as_it_was_left_is_never_read(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    write_arrays(file, {"x": np.arange(30), "y": np.empty(0)}, {"items": 3}, run="this")
    whole = file.read_bytes()
    assert Arrays.verified(file, "this").read("x").tolist() == list(range(30))
    for what, data in damages(whole).items():
        file.unlink(missing_ok=True)
        if data is not None:
            file.write_bytes(data)
        with pytest.raises(DamagedError, match=r"a\.bin is (damaged|missing|not as long as it was)") as error:
            Arrays.verified(file, "this")
        assert "\n" not in str(error.value), what


def test_a_file_of_another_run_or_in_another_s_place_is_not_taken(tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin"):
        write_arrays(tmp_path / name, {"x": np.arange(3)}, run="this")
    with pytest.raises(DamagedError, match=r"a\.bin is another file"):
        Arrays.verified(tmp_path / "a.bin", "that")
    (tmp_path / "b.bin").replace(tmp_path / "a.bin")
    with pytest.raises(DamagedError, match=r"a\.bin is another file"):
        Arrays.verified(tmp_path / "a.bin", "this")


columns = st.lists(
    st.one_of(
        st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda x: pa.array(x, pa.int64())),
        st.lists(st.none() | st.text(st.sampled_from("aé😀\0"), max_size=4)).map(lambda x: pa.array(x, pa.string())),
        st.lists(st.none() | st.text(max_size=2)).map(lambda x: pa.array(x, pa.large_string())),
        st.lists(st.none() | st.floats(allow_nan=False)).map(lambda x: pa.array(x, pa.float64())),
        st.lists(st.none() | st.booleans()).map(lambda x: pa.array(x, pa.bool_())),
        st.integers(0, 3).map(pa.nulls),
        st.lists(st.integers(0, 1000)).map(lambda x: pa.array(x, pa.timestamp("ms", "UTC"))),
    ),
    max_size=5,
)


@settings(deadline=None, derandomize=True)
@given(columns)
def test_columns_of_any_types_are_packed_and_unpacked(chunks: list[pa.Array]) -> None:
    again = unpack_columns(pack_columns(chunks))
    assert [each.type for each in again] == [each.type for each in chunks]
    assert all(one.equals(other) for one, other in zip(again, chunks, strict=True))


def test_a_slice_of_a_column_is_packed_without_the_rest() -> None:
    whole = pa.array(["x" * 1000] * 1000)
    packed = pack_columns([whole.slice(10, 2)])
    assert len(packed) < 10_000
    assert unpack_columns(packed)[0].to_pylist() == ["x" * 1000] * 2


def test_packed_columns_survive_a_file(tmp_path: Path) -> None:
    for chunks in ([], [pa.array(["a", None])], [pa.array([], pa.int64()), pa.array([1])]):
        write_arrays(tmp_path / "a.bin", {"ids": pack_columns(chunks)})
        again = unpack_columns(Arrays(tmp_path / "a.bin").read("ids"))
        assert [each.to_pylist() for each in again] == [each.to_pylist() for each in chunks]
