"""The memory budget, held: the peak of whole runs, each in a process of its own.

A run may take its budget and what the program itself takes, which is there without any item.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# What the program takes, 0.23 GB, and a few batches in flight.
PROGRAM = 320_000_000

# The mark of the process itself: what the system tells about a child may be that of the process it was forked from.
RUN = """
import os, re, sys
def ended(code, end=os._exit):
    held = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
    print(1024 * int(held), file=sys.stderr, flush=True)
    end(code)
os._exit = ended
from lookalike.cli.main import main
main()
"""


def peak(*options: str) -> int:
    """The most bytes that a run held."""
    command = [sys.executable, "-c", RUN, *options, "--threads", "2", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.splitlines()[-1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is known on Linux")
def test_many_copies_in_a_small_file_are_read_within_the_budget(tmp_path: Path) -> None:
    text = " ".join(map(str, np.random.default_rng(1).integers(10_000, size=500)))
    pq.write_table(pa.table({"text": [text] * 60_000}), tmp_path / "copies.parquet")
    found = peak("clusters", str(tmp_path / "copies.parquet"), "-o", str(tmp_path / "out.parquet"), "--memory", "100MB")
    assert found < 100_000_000 + PROGRAM


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is known on Linux")
def test_short_items_with_many_bands_are_sketched_within_the_budget(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sets = [[0, *map(int, rng.integers(1, 1 << 40, size=2))] for _ in range(20_000)]
    pq.write_table(pa.table({"items": sets}), tmp_path / "sets.parquet")
    options = ["--threshold", "0.3", "--memory", "100MB", "-o", str(tmp_path / "out.parquet")]
    # 567 bands of 4 rows: 18 kB an item, 0.36 GB if all were sketched at once.
    assert peak("pairs", str(tmp_path / "sets.parquet"), *options) < 100_000_000 + PROGRAM
