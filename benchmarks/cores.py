"""What a machine gives to so many processes that share nothing: the most that threads of one process can hope for.

    python -m benchmarks.cores --processes 1 2 4 8 16

Each process shingles and sketches the same 2,000 texts of 2 kB in memory of its own, again and again, for some seconds.
Where two of the "cores" are one that takes turns, or all of them wait for one memory, it shows here, and no program can
do anything about it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

WORK = """
import sys, time
import numpy as np, pyarrow as pa
from lookalike.config import make_config
from lookalike.measures.sketch_batch import sketch_batch
from lookalike.recipe import recipe_of
from lookalike.theory import plan
rng = np.random.default_rng(0)
words = np.array([f"word{i}" for i in range(20_000)])
texts = pa.array([" ".join(rng.choice(words, 220)) for _ in range(2_000)])
recipe = recipe_of(make_config(), "text", None).planned(plan(0.8, 0.95))
sketch_batch(texts, None, recipe)
print("ready", flush=True)
sys.stdin.readline()
begun, rounds = time.perf_counter(), 0
while time.perf_counter() - begun < float(sys.argv[1]):
    sketch_batch(texts, None, recipe)
    rounds += 1
print(rounds * len(texts) / (time.perf_counter() - begun))
"""


def rate(processes: int, seconds: float) -> float:
    """Texts a second of so many processes together, begun at one moment."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    for each in running:
        assert each.stdout is not None
        each.stdout.readline()
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return sum(float(each.communicate()[0]) for each in running)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    rate(1, 0.1)  # compiles
    one = rate(1, options.seconds)
    print("processes  texts/s  times that of one")
    for processes in options.processes:
        found = rate(processes, options.seconds)
        print(f"{processes:>9}  {found:7,.0f}  {found / one:17.2f}", flush=True)


if __name__ == "__main__":
    main()
