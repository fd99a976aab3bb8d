"""Where kernels are kept, and that what is not whole or not of this source and machine is compiled anew."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lookalike
from lookalike.kernels import cache

CODE = "import sys; sys.path.insert(0, {root!r}); from lookalike.cli.start import main; main()"


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """A copy of the package that cannot be written beside: a file stands where the folder would be made."""
    root = tmp_path / "installed"
    shutil.copytree(Path(lookalike.__file__).parent, root / "lookalike", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [root / "lookalike", *(path for path in (root / "lookalike").rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    return root


def command(installation: Path, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    docs = tmp_path / "docs.jsonl"
    docs.write_text('{"text": "one two three four five"}\n' * 2)
    arguments = [sys.executable, "-B", "-c", CODE.format(root=str(installation)), "pairs", str(docs), "--exact"]
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    # Nothing can be made below a device, whoever asks.
    return subprocess.run(
        arguments, capture_output=True, text=True, check=False, env=known | {"HOME": "/dev/null"} | environment
    )


def test_kernels_are_kept_in_a_folder_of_this_user_and_that_is_said(installation: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = command(installation, tmp_path, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    folder = temporary / f"lookalike-kernels-{os.getuid()}"
    line = f"compiled kernels are kept in {folder}: no other place can be written; NUMBA_CACHE_DIR names one"
    assert done.stderr.splitlines().count(line) == 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.kernel"))
    # The next run finds them.
    again = command(installation, tmp_path, TMPDIR=str(temporary))
    assert again.returncode == 0
    assert "compiling kernels" not in again.stderr


def test_a_folder_that_others_may_write_is_not_used(installation: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    folder = temporary / f"lookalike-kernels-{os.getuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    done = command(installation, tmp_path, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert "compiled kernels are not kept, every run compiles them anew" in done.stderr
    assert not list(folder.iterdir())


def test_numba_s_setting_names_the_folder(installation: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    done = command(installation, tmp_path, NUMBA_CACHE_DIR=str(chosen))
    assert done.returncode == 0, done.stderr
    assert "compiled kernels" not in done.stderr
    assert list(chosen.rglob("*.kernel"))


TEXTS = [f"{'the same words again and again and once more ' * 3} {number // 2}" for number in range(40)]
DEDUP = f"""
import sys, lookalike
print(lookalike.dedup({TEXTS!r}).removed.to_pylist(), "numba" in sys.modules)
"""


def test_a_process_that_finds_its_kernels_does_not_load_numba() -> None:
    removed = lookalike.dedup(TEXTS).removed.to_pylist()
    assert removed
    done = subprocess.run([sys.executable, "-c", DEDUP], capture_output=True, text=True, check=True)
    assert done.stdout == f"{removed} False\n"


def place(folder: Path, digest: bytes = b"d" * 32) -> cache.KernelFile:
    return cache.KernelFile(str(folder / "module.py"), "module.twice", digest)


def only_file(folder: Path) -> Path:
    [path] = (folder / "__pycache__").iterdir()
    return path


def test_what_is_kept_is_found_again_for_the_same_source_only(tmp_path: Path) -> None:
    assert place(tmp_path).read() is None
    place(tmp_path).write(b"code")
    assert place(tmp_path).read() == b"code"
    assert place(tmp_path, b"e" * 32).read() is None
    place(tmp_path, b"e" * 32).write(b"other code")
    assert place(tmp_path, b"e" * 32).read() == b"other code"
    assert place(tmp_path).read() is None
    assert only_file(tmp_path).stat().st_size < 200, "the old one is written over"


def test_what_one_user_installs_others_may_read(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        place(tmp_path).write(b"code")
    finally:
        os.umask(before)
    assert stat.S_IMODE(only_file(tmp_path).stat().st_mode) == 0o644


def test_what_is_broken_is_not_there(tmp_path: Path) -> None:
    place(tmp_path).write(b"some code")
    path = only_file(tmp_path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert place(tmp_path).read() is None
        path.write_bytes(whole[:length] + bytes([whole[length] ^ 1]) + whole[length + 1 :])
        assert place(tmp_path).read() is None
    path.write_bytes(whole + b"x")
    assert place(tmp_path).read() is None
    path.write_bytes(whole)
    assert place(tmp_path).read() == b"some code"


def test_code_for_another_processor_or_setting_lies_beside_and_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = cache._machine.__wrapped__
    names = {machine()}
    for function in ("get_host_cpu_name", "get_process_triple"):
        with monkeypatch.context() as other:
            other.setattr(f"llvmlite.binding.{function}", lambda: "another")
            names.add(machine())
    for variable in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_BOUNDSCHECK"):
        with monkeypatch.context() as other:
            other.setenv(variable, "another")
            names.add(machine())
    with monkeypatch.context() as other:
        other.setattr("llvmlite.__version__", "another")
        names.add(machine())
    assert len(names) == 7
    for variable in ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER"):
        with monkeypatch.context() as other:
            other.setenv(variable, str(tmp_path / "elsewhere"))
            assert machine() in names, "where the code lies and how many threads there are does not matter"
    for version, same in (("99.0.1", False), (f"{np.__version__.split('.')[0]}.99.0", True)):
        with monkeypatch.context() as other:
            other.setattr("numpy.__version__", version)
            assert (machine() in names) == same, "a newer NumPy with the same arrays does not matter"

    place(tmp_path).write(b"mine")
    monkeypatch.setattr(cache, "_machine", lambda: "other")
    assert place(tmp_path).read() is None
    place(tmp_path).write(b"theirs")
    assert len(list((tmp_path / "__pycache__").iterdir())) == 2


def installed(root: Path, environment: str, digest: bytes = b"d" * 32) -> cache.KernelFile:
    source = root / environment / "lib" / "site-packages" / "lookalike" / "module.py"
    return cache.KernelFile(str(source), "module.twice", digest)


def test_what_is_installed_anew_or_elsewhere_finds_what_was_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    installed(tmp_path, "one").write(b"code")
    # An upgrade that takes all folders along, and another environment.
    shutil.rmtree(tmp_path / "one")
    assert installed(tmp_path, "one").read() == b"code"
    assert installed(tmp_path, "two").read() == b"code"
    assert installed(tmp_path, "two", b"e" * 32).read() is None
    # A checkout has its own alone.
    assert place(tmp_path).read() is None
    place(tmp_path / "checkout").write(b"mine")
    assert len(list((tmp_path / "home").rglob("*.kernel"))) == 1


def test_of_many_sources_of_a_kernel_the_latest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for number in range(7):
        installed(tmp_path, f"{number}", bytes([number]) * 32).write(b"code %d" % number)
        for path in (tmp_path / "home").rglob("*.kernel"):
            os.utime(path, ns=(path.stat().st_mtime_ns - 10**9,) * 2)
    assert len(list((tmp_path / "home").rglob("*.kernel"))) == 4
    kept = [installed(tmp_path, "other", bytes([number]) * 32).read() for number in range(7)]
    assert kept == [None] * 3 + [b"code 3", b"code 4", b"code 5", b"code 6"]


TWICE = """
import sys
from lookalike.kernels.jit import kernel

@kernel("int64(int64)")
def twice(x):
    return x + x

print(twice(21), "numba" in sys.modules)
"""


def test_processes_that_compile_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TWICE)
    command = [sys.executable, str(script)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert {process.communicate()[0].split()[0] for process in both} == {"42"}
    assert only_file(tmp_path).suffix == ".kernel"
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "42 False\n"
