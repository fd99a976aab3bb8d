"""How long `lookalike dedup` takes beside a plain copy of the same Parquet file, and what memory it needs.

    python -m benchmarks.collection FILE.parquet --docs 1000000 --bytes 2000
    python -m benchmarks.batch FILE.parquet [--rounds 5] [--memory 500MB] [-- further options of dedup]
    python -m benchmarks.batch FILE.parquet --per-document OTHER.parquet

The floor is a copy with pyarrow on one thread: every row group is read and written with the codec it had. Copy and
dedup take turns, each in a fresh process, start-up and writing included, and what they wrote is deleted after each
round. The ratio is that of the medians. Peak memory is what the kernel says of the process (ru_maxrss).
`--per-document` lets two files take turns instead, and compares their times per document: is the time linear in the
size?

Kernels are compiled once per installation, not once per run: a run over 1,000 documents before the clock starts sees to
it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

COPY = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
with pq.ParquetFile(sys.argv[1]) as source:
    codec = source.metadata.row_group(0).column(0).compression
    with pq.ParquetWriter(sys.argv[2], source.schema_arrow, compression=codec) as target:
        for number in range(source.num_row_groups):
            table = source.read_row_group(number, use_threads=False)
            target.write_table(table, row_group_size=max(1, len(table)))
"""
DOCUMENTS = "import sys, pyarrow.parquet as pq; print(pq.read_metadata(sys.argv[1]).num_rows)"
WARM_UP = 1_000  # documents
TREE_INTERVAL = 1.0  # seconds; the kernel walks all pages of a process to tell its share


@dataclass(frozen=True)
class Usage:
    seconds: float
    cpu: float  # seconds, of all processes together
    peak: int  # bytes


def measure(command: list[str], *, tree: bool = False, environment: dict[str, str] | None = None) -> Usage:
    """Runs a command to its end: wall and CPU time, and peak memory, with `tree` of all its descendants together.

    A new process starts with the high-water mark of the one that made it, so this one must stay small: nothing here
    imports Arrow.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | (environment or {}))
        watch = _TreeWatch(process.pid) if tree else None
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu, peak = watch.stop() if watch else (0.0, 0)
        if process.returncode:
            log.seek(0)
            raise RuntimeError(f"{' '.join(command)} failed with {process.returncode}:\n{log.read()[-2_000:]}")
    unit = 1 if sys.platform == "darwin" else 1_024
    return Usage(seconds, max(usage.ru_utime + usage.ru_stime, cpu), max(usage.ru_maxrss * unit, peak))


class _TreeWatch:
    """CPU time and the most memory of a process and its descendants together, looked at now and then (Linux). Pages
    that several of them share count once (Pss). Descendants for whom nobody waits are in no `wait4`, but they are here.
    """

    def __init__(self, root: int) -> None:
        self.root, self.peak, self.cpu, self.over = root, 0, dict[int, float](), threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.over.wait(TREE_INTERVAL):
            self.peak = max(self.peak, sum(map(self._visit, self._members(self.root))))

    @classmethod
    def _members(cls, pid: int) -> list[int]:
        try:
            found = [Path(task, "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:
            return []
        return [pid, *(member for text in found for child in text.split() for member in cls._members(int(child)))]

    def _visit(self, pid: int) -> int:
        """Notes the CPU time of a process and returns its memory."""
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            return 0
        self.cpu[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return sum(int(line.split()[1]) * 1_024 for line in lines if line.startswith("Pss:"))

    def stop(self) -> tuple[float, int]:
        self.over.set()
        self.thread.join()
        return sum(self.cpu.values()), self.peak


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    return path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


@dataclass
class Turn:
    """One of the two that take turns: what it runs, given where to write, and what came of it."""

    name: str
    command: Callable[[Path], list[str]]
    usages: list[Usage]
    written: int = 0

    def take(self, output: Path) -> Usage:
        usage = measure(self.command(output))
        self.written = size_of(output)
        shutil.rmtree(output) if output.is_dir() else output.unlink()
        self.usages.append(usage)
        return usage

    @property
    def seconds(self) -> float:
        return median(usage.seconds for usage in self.usages)

    def summary(self) -> str:
        times = [usage.seconds for usage in self.usages]
        peak = max(usage.peak for usage in self.usages)
        return (
            f"{self.name}: median {self.seconds:.2f} s ({min(times):.2f} to {max(times):.2f}), "
            f"CPU {median(usage.cpu for usage in self.usages):.2f} s, "
            f"peak {peak / 1e6:,.0f} MB, {self.written / 1e6:,.1f} MB written"
        )


def alternate(first: Turn, second: Turn, rounds: int, scratch: Path) -> None:
    for number in range(rounds):
        parts = list[str]()
        for turn in (first, second):
            usage = turn.take(scratch / f"out-{len(parts)}")
            parts.append(f"{turn.name} {usage.seconds:.2f} s (CPU {usage.cpu:.2f} s), {usage.peak / 1e6:,.0f} MB")
        print(f"round {number + 1}: {'; '.join(parts)}", flush=True)
    for turn in (first, second):
        print(turn.summary())


def dedup(path: Path, options: argparse.Namespace) -> Callable[[Path], list[str]]:
    further = ["--memory", options.memory] if options.memory else []
    start = [sys.executable, "-m", "lookalike", "dedup", str(path), "--threshold", str(options.threshold), "--quiet"]
    return lambda output: [*start, *further, *options.further, "-o", str(output)]


def count_documents(path: Path) -> int:
    """In a process of its own, see `measure`."""
    found = subprocess.run([sys.executable, "-c", DOCUMENTS, str(path)], check=True, capture_output=True, text=True)
    return int(found.stdout)


def against_a_copy(options: argparse.Namespace, scratch: Path) -> None:
    path: Path = options.file
    copy = Turn("copy", lambda output: [sys.executable, "-c", COPY, str(path), str(output)], [])
    work = Turn("dedup", dedup(path, options), [])
    print(f"{path}: {count_documents(path):,} documents, {size_of(path) / 1e6:,.1f} MB")
    alternate(copy, work, options.rounds, scratch)
    print(f"dedup takes {work.seconds / copy.seconds:.2f} times as long as the copy")


def per_document(options: argparse.Namespace, scratch: Path) -> None:
    turns, counts = [], []
    for path in (options.file, options.per_document):
        counts.append(count_documents(path))
        print(f"{path}: {counts[-1]:,} documents, {size_of(path) / 1e6:,.1f} MB")
        turns.append(Turn(path.name, dedup(path, options), []))
    alternate(turns[0], turns[1], options.rounds, scratch)
    first, second = (turn.seconds / count * 1e6 for turn, count in zip(turns, counts, strict=True))
    print(f"{first:.2f} and {second:.2f} µs a document, ratio {second / first:.2f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="lookalike dedup beside a copy of the same Parquet file.")
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--per-document", type=Path, metavar="OTHER", help="compare the times per document of two files"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--memory", help="passed on to dedup, such as 500MB")
    parser.add_argument("--scratch", type=Path, help="where to write; beside the file by default")
    arguments, further = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, further = arguments[:at], arguments[at + 1 :]
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    options.further = further
    return options


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory(dir=options.scratch or options.file.parent) as folder:
        scratch = Path(folder)
        try:
            measure([*dedup(options.file, options)(scratch / "warm-up"), "--limit", str(WARM_UP)])
            shutil.rmtree(scratch / "warm-up")
            (per_document if options.per_document else against_a_copy)(options, scratch)
        except RuntimeError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
