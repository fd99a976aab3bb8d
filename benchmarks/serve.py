"""How many queries a server answers while items are added, and how long the slowest of them take.

    python -m benchmarks.serve [--workers 2] [--connections 64] [--seconds 10] [--items 100000] [--writers 1]

The load is made by `wrk`, on the same machine, which takes its share of it. Queries are texts of a hundred words, of
which half are in the index; a client adds items all the while, each acknowledged when it is on the disk.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import lookalike

_WORDS = [f"word{number}" for number in range(20_000)]
_SCRIPT = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local at = 0
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", "/v1/query", {["content-type"] = "application/json"}, bodies[at])
end
done = function(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), bad + summary.errors.timeout))
end
"""


def text_of(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=100))


def start(path: Path, workers: int) -> tuple[subprocess.Popen[str], str]:
    """A server, and its address."""
    command = [sys.executable, "-m", "lookalike.cli.main", "serve", str(path), "--port", "0", "--workers", str(workers)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://[\d.:]+", line):
            return process, found[0]
    raise SystemExit(f"the server ended with {process.wait()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--writers", type=int, default=1)
    chosen = parser.parse_args()
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SystemExit("wrk is not installed: apt-get install wrk")
    rng = random.Random(0)
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-serve-"))
    stop = threading.Event()
    added = [0] * chosen.writers

    def add(number: int, address: str) -> None:
        own = random.Random(f"writer {number}")
        with lookalike.Client(address) as index:
            while not stop.is_set():
                index.add(f"{number}-{added[number]}", text_of(own))
                added[number] += 1

    try:
        texts = [text_of(rng) for _ in range(chosen.items)]
        with lookalike.Index.create(scratch / "seen.idx", threshold=0.8) as index:
            index.add_many(enumerate(texts))
        asked = [text if rng.random() < 0.5 else text_of(rng) for text in texts[:5_000]]
        (scratch / "bodies").write_text("".join(json.dumps({"item": text}) + "\n" for text in asked))
        (scratch / "load.lua").write_text(_SCRIPT)
        process, address = start(scratch / "seen.idx", chosen.workers)
        threads = [threading.Thread(target=add, args=(number, address)) for number in range(chosen.writers)]
        for thread in threads:
            thread.start()
        begun = time.perf_counter()
        done = subprocess.run(
            [wrk, "-t1", f"-c{chosen.connections}", f"-d{chosen.seconds}s", "-s", scratch / "load.lua", address],
            env={"BODIES": str(scratch / "bodies")}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        stop.set()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begun
        process.send_signal(signal.SIGTERM)
        code = process.wait()
        requests, micros, middle, worst, errors = map(int, done.stdout.split("RESULT ")[1].split())
        print(
            f"{chosen.workers} workers, {chosen.connections} connections, {chosen.items:,} items: "
            f"{requests / micros * 1e6:,.0f} queries/s, median {middle / 1e3:.1f} ms, p99 {worst / 1e3:.1f} ms, "
            f"{errors} errors; {sum(added) / seconds:,.0f} items added/s meanwhile; exit code {code}"
        )
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
