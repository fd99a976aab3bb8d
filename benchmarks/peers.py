"""Beside the peers: Parquet in, kept Parquet out; time, memory, recall and precision in one Markdown table.

    make .venv-bench/installed
    .venv/bin/python -m benchmarks.collection C.parquet --docs 100000 --truth T.parquet
    .venv/bin/python -m benchmarks.peers C.parquet T.parquet [--rounds 1] [--only lookalike gaoya] [--all]

Everyone gets the same file, word 5-shingles, the threshold 0.8 and two cores, and runs in a fresh process: the time
begins with its start. `lookalike` is its command line, with the interpreter that runs this; the recipes of the others
are in peers_run.py, with an interpreter of their own (`--peers`). text-dedup and datatrove take minutes for 100,000
documents: above that they take part with `--all` only. Memory is the peak of all processes of a contender together.

Recall and precision are those of the pairs at 0.8 or above, against the truth that benchmarks/collection.py counts with
Python's sets; peers_judge.py has the details. Where a peer has no pairs, those inside its clusters are judged. Words
are each contender's own: white space for gaoya, spaCy for datatrove, runs of \\w for all others and for the truth.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.batch import WARM_UP, Usage, count_documents, measure

CORES = 2
SLOW_LIMIT = 100_000  # documents


@dataclass
class Contender:
    """One row of the table."""

    name: str
    settings: str
    slow: bool = False
    usages: list[Usage] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    trouble: str = ""

    def python(self, options: argparse.Namespace) -> str:
        return sys.executable if self.name == "lookalike" else str(options.peers)

    def command(self, options: argparse.Namespace, folder: Path) -> list[str]:
        python, file = self.python(options), str(options.collection)
        if self.name == "lookalike":
            further = ["--threshold", "0.8", "--id", "id", "--threads", str(CORES), "--quiet"]
            return [python, "-m", "lookalike", "dedup", file, "-o", str(folder), *further]
        folder.mkdir()
        return [python, "-m", "benchmarks.peers_run", self.name, file, str(folder)]

    def run(self, options: argparse.Namespace, folder: Path) -> None:
        try:
            self.usages.append(measure(self.command(options, folder), tree=True, environment=ENVIRONMENT))
            judge = [sys.executable, "-m", "benchmarks.peers_judge"]
            self.verdict = json.loads(ask([*judge, str(options.collection), str(options.truth), str(folder)]))
        except (RuntimeError, subprocess.CalledProcessError) as error:
            self.trouble = f"{error}\n{getattr(error, 'stderr', '')}"
        shutil.rmtree(folder, ignore_errors=True)

    def row(self) -> str:
        if self.trouble:
            return f"| {self.name} {self.version} | {self.settings} | failed | | | | | | |"
        facts, peak = self.verdict, max(usage.peak for usage in self.usages)
        seconds, cpu = (median(getattr(usage, what) for usage in self.usages) for what in ("seconds", "cpu"))
        return (
            f"| {self.name} {self.version} | {self.settings} | {seconds:.1f} | {cpu:.1f} | {peak / 1e6:,.0f} | "
            f"{facts['recall']:.4f} | {facts['precision']:.4f} | {facts['pairs']:,} ({facts['judged']}) | "
            f"{facts['kept']:,} |"
        )


HEAD = """\
| contender | settings | s | CPU s | peak MB | recall | precision | judged | kept |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""
# One thread a core for whoever asks; Arrow and the pools ask the system, see `pin`.
ENVIRONMENT = {f"{library}_NUM_THREADS": str(CORES) for library in ("NUMBA", "OMP", "RAYON")}


def everyone() -> list[Contender]:
    return [
        Contender("lookalike", "planned for recall 0.99, verified exactly"),
        Contender("gaoya", "16 x 8, verified by estimate"),
        Contender("rensa", "RMinHash, 16 x 8, verified by estimate, 2 processes"),
        Contender("datasketch", "xxh32, 9 x 13, verified by estimate, 2 processes"),
        Contender("text-dedup", "xxh3, 9 x 13, 2 processes", slow=True),
        Contender("datatrove", "16 x 8, 2 workers", slow=True),
    ]


def ask(command: list[str]) -> str:
    """What a command prints. Nothing that needs memory happens in this process, see `measure`."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def pin() -> None:
    """Two cores for this process and all that it starts, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-CORES:])


def warm_up(contender: Contender, options: argparse.Namespace, scratch: Path) -> None:
    """Asks for the version, and lets lookalike compile its kernels, which it does once per installation."""
    version = "import sys; from importlib import metadata; print(metadata.version(sys.argv[1]))"
    try:
        contender.version = ask([contender.python(options), "-c", version, contender.name])
        if contender.name == "lookalike":
            measure([*contender.command(options, scratch / "warm-up"), "--limit", str(WARM_UP)])
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        contender.trouble = f"{error}\n{getattr(error, 'stderr', '')}"


def parse() -> argparse.Namespace:
    names = [contender.name for contender in everyone()]
    parser = argparse.ArgumentParser(description="lookalike and its peers, from Parquet to kept Parquet.")
    parser.add_argument("collection", type=Path, help="a file of benchmarks.collection")
    parser.add_argument("truth", type=Path, help="its truth")
    parser.add_argument("--peers", type=Path, default=Path(".venv-bench/bin/python"), metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=1, help="in turns; the table has the median")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--all", action="store_true", help=f"the slow ones above {SLOW_LIMIT:,} documents, too")
    parser.add_argument("--scratch", type=Path, help="where to write; beside the collection by default")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def main() -> None:
    options = parse()
    pin()
    documents = count_documents(options.collection)
    taking_part = [
        contender
        for contender in everyone()
        if contender.name in (options.only or [contender.name])
        and (options.only or options.all or not contender.slow or documents <= SLOW_LIMIT)
    ]
    with tempfile.TemporaryDirectory(dir=options.scratch or options.collection.parent) as folder:
        scratch = Path(folder)
        for contender in taking_part:
            warm_up(contender, options, scratch)
        for number in range(options.rounds):
            for contender in taking_part:
                if not contender.trouble:
                    contender.run(options, scratch / contender.name)
                    said = contender.trouble or f"{contender.usages[-1].seconds:.1f} s"
                    print(f"round {number + 1}, {contender.name}: {said}", file=sys.stderr, flush=True)
    size = options.collection.stat().st_size / 1e6
    print(
        f"{documents:,} documents, {size:,.1f} MB, {CORES} cores, median of {options.rounds}, threshold 0.8\n\n{HEAD}"
    )
    for contender in taking_part:
        print(contender.row())
    for contender in taking_part:
        if contender.verdict.get("left_out"):
            print(
                f"\n{contender.name} found {contender.verdict['left_out']:,} further pairs, of documents with over 100."
            )
    for contender in taking_part:
        if contender.trouble:
            print(f"\n{contender.name}: {contender.trouble.strip()}", file=sys.stderr)


if __name__ == "__main__":
    main()
