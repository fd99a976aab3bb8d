"""How a dedup scales with threads: from a file to the kept rows in the same format, with the report, start-up included.

    python -m benchmarks.collection --docs 1000000 c.parquet
    python -m benchmarks.threads c.parquet --threads 1 2 4 8 16

Each run is a process of its own, and rounds go through all numbers of threads, so that what else the machine does falls
on all of them alike. Beside it stands a copy of the file by pyarrow on one thread (Parquet only): what reading and
writing alone take. Times are the least of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Command = Callable[[Path, str, int], list[str]]

COPY = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1); pa.set_io_thread_count(1)
file = pq.ParquetFile(sys.argv[1])
with pq.ParquetWriter(sys.argv[2], file.schema_arrow, compression="zstd") as out:
    for group in range(file.num_row_groups):
        out.write_table(file.read_row_group(group, use_threads=False))
"""


def dedup(path: Path, out: str, threads: int) -> list[str]:
    """The command that a user types."""
    return [sys.executable, "-m", "lookalike", "dedup", str(path), "-o", out, "--threads", str(threads), "--quiet"]


def copy(path: Path, out: str, threads: int) -> list[str]:
    return [sys.executable, "-c", COPY, str(path), out]


def timed(command: Command, path: Path, folder: Path, threads: int) -> tuple[float, float, int, dict[str, float]]:
    """Seconds, CPU seconds, bytes at the most, and seconds of each stage."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        begun = time.perf_counter()
        process = subprocess.Popen(command(path, f"{out}/copy", threads), stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(process.args)} ended with {process.returncode}")  # type: ignore[arg-type]
        report = Path(out, "copy", "report.json")
        stages = json.loads(report.read_text())["stages"] if report.exists() else []
    told = {stage["name"]: stage["seconds"] for stage in stages}
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, os.cpu_count() or 1])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where results go meanwhile")
    options = parser.parse_args()
    folder = options.folder or options.path.resolve().parent
    jobs: list[tuple[str, Command, int]] = [(str(threads), dedup, threads) for threads in options.threads]
    if options.path.suffix == ".parquet":
        jobs.append(("copy", copy, 1))
    timed(dedup, options.path, folder, max(options.threads))  # compiles, and brings the file into the page cache
    found: dict[str, list[tuple[float, float, int, dict[str, float]]]] = {name: [] for name, _, _ in jobs}
    for _ in range(options.rounds):
        for name, command, threads in jobs:
            found[name].append(timed(command, options.path, folder, threads))
    one = min(found[jobs[0][0]])[0]
    print("threads  seconds  times as fast  CPU s  peak GB  stages")
    for name, runs in found.items():
        seconds, cpu, memory, stages = min(runs)
        told = ", ".join(f"{stage} {each:.2f}" for stage, each in stages.items())
        print(f"{name:>7}  {seconds:7.2f}  {one / seconds:13.1f}  {cpu:5.1f}  {memory / 1e9:7.2f}  {told}")


if __name__ == "__main__":
    main()
