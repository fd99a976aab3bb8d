"""Whether `--memory` is held and the forecast true: budget, peak, forecast and time of runs that strain them.

    python -m benchmarks.budget [folder]

A run may take its budget and some 0.3 GB of its own. The forecast (the report has it for long runs) is to be within a
factor of two of the time on an idle machine; CPU seconds tell whether it was one.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WORDS = np.array([f"w{i}" for i in range(20_000)])


def texts(rng: np.random.Generator, count: int, words: int) -> list[str]:
    return [" ".join(WORDS[rng.integers(len(WORDS), size=words)]) for _ in range(count)]


def cases(folder: Path) -> list[tuple[str, str, list[str]]]:
    """(what, memory, options) of each run."""
    rng = np.random.default_rng(1)

    def written(name: str, column: str, values: list[str] | list[list[int]]) -> str:
        pq.write_table(pa.table({column: values}), folder / f"{name}.parquet")
        return str(folder / f"{name}.parquet")

    known, fresh = texts(rng, 20_000, 12), texts(rng, 1_540_000, 12)
    paragraphs = [
        "\n\n".join([*(known[j] for j in rng.integers(20_000, size=3)), *fresh[7 * i : 7 * i + 7]])
        for i in range(220_000)
    ]
    three, page = texts(rng, 3, 12), texts(rng, 1, 300)
    sets = [[0, *map(int, rng.integers(1, 1 << 40, size=2))] for _ in range(100_000)]
    lines = folder / "three.jsonl"
    lines.write_text("".join(json.dumps({"text": three[i]}) + "\n" for i in rng.integers(3, size=500_000)))
    np.save(folder / "vectors.npy", rng.normal(size=(200_000, 64)).astype(np.float32))
    return [
        ("2,200,000 paragraphs", "300MB", [written("paragraphs", "text", paragraphs), "--unit", "paragraph"]),
        ("500,000 lines of 3 kinds", "200MB", [str(lines)]),
        ("200,000 identical documents", "100MB", [written("copies", "text", page * 200_000)]),
        ("the same by containment", "100MB", [str(folder / "copies.parquet"), "--measure", "containment"]),
        ("100,000 sets with one element in common", "100MB", [written("sets", "items", sets), "-t", "0.3"]),
        ("200,000 documents", "200MB", [written("documents", "text", texts(rng, 200_000, 150))]),
        ("200,000 vectors", "200MB", [str(folder / "vectors.npy")]),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        folder = Path(name)
        print(f"{'':40} {'budget':>8} {'peak':>8} {'forecast':>9} {'seconds':>8} {'CPU':>6}")
        for number, (what, memory, options) in enumerate(cases(folder)):
            out = folder / f"run{number}"
            command = [sys.executable, "-m", "lookalike", "dedup", *options, "--memory", memory, "-o", str(out), "-q"]
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True)
            seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            report = json.loads((out / "report.json").read_text())
            forecast = f"{report['expected']['seconds']:.1f} s" if report.get("expected") else "none"
            peak = f"{report['actual']['memory'] / 1e6:.0f} MB"
            print(f"{what:40} {memory:>8} {peak:>8} {forecast:>9} {seconds:>7.1f}s {cpu:>5.1f}s", flush=True)


if __name__ == "__main__":
    main()
