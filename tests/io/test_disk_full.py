"""A disk that is really full: a tiny tmpfs, or where mounting is not allowed a limit on the size of files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CODE = """
import resource, signal, sys
import numpy as np
import pyarrow as pa
from lookalike.errors import OutputError
from lookalike.io import atomic_folder, copy_rows, open_source, save_table

path, limit = sys.argv[1], int(sys.argv[2])
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
random = np.random.default_rng(0)
table = pa.table({"x": random.integers(0, 2**62, 200_000)})
try:
    if path.endswith("/run"):
        with atomic_folder(path) as part:
            copy_rows(open_source(table), None, part / "kept")
    else:
        save_table(table, path)
except OutputError as error:
    print(error)
else:
    print("written")
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A folder that holds 256 kB, and the limit on the size of files if it could not be made so small."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        yield folder, 256 << 10
        return
    try:
        yield folder, 0
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl", "out.csv", "out.jsonl.gz", "out.arrow", "run"])
def test_a_full_disk_is_one_line_and_leaves_nothing(small_disk: tuple[Path, int], name: str) -> None:
    folder, limit = small_disk
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE, str(folder / name), str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    why = "the file became larger than the system allows" if limit else "no space left on the disk"
    assert done.stdout.startswith(f"{why} while writing {folder / name}")
    assert list(folder.iterdir()) == []
