"""Where kernels are kept when the places that Numba would use cannot be written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import lookalike

CODE = "import sys; sys.path.insert(0, {root!r}); from lookalike.cli.start import main; main()"


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """A copy of the package that cannot be written beside: a file stands where Numba would make its folder."""
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
    assert done.stderr.splitlines()[0] == line
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))
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
    assert done.stderr.startswith("compiled kernels are not kept, every run compiles them anew")
    assert not list(folder.iterdir())


def test_numba_s_own_setting_is_respected(installation: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    done = command(installation, tmp_path, NUMBA_CACHE_DIR=str(chosen))
    assert done.returncode == 0, done.stderr
    assert "compiled kernels" not in done.stderr
    assert list(chosen.rglob("*.nbc"))
