"""Kill a server under load, again and again, and look whether each item that was acknowledged is there.

    python -m benchmarks.serve_kill [--times 50] [--workers 2] [--threads 8] [--seed 0]

A moment is drawn after the first acknowledgement; of a server with several processes, the one that writes, a worker or
the parent is killed in turn. The index is opened and looked through after each kill, and served again as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import lookalike
from benchmarks.serve import start

# Seconds of load at the most before a kill.
_LONGEST = 0.5


def text_of(number: int) -> str:
    return f"text number {number} has words such as w{number} x{number} y{number} z{number} of its own"


def load(address: str, number: int, acknowledged: list[int], begun: threading.Event) -> None:
    """Add items until the server is gone."""
    with contextlib.suppress(lookalike.LookalikeError), lookalike.Client(address) as index:
        while True:
            index.add(number, text_of(number))
            acknowledged.append(number)
            begun.set()
            number += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-serve-kill-"))
    path, known, lost = scratch / "seen.idx", list[int](), 0
    lookalike.Index.create(path, threshold=0.8).close()
    try:
        for turn in range(chosen.times):
            process, address = start(path, chosen.workers)
            assert process.stderr is not None
            acknowledged, begun = list[int](), threading.Event()
            threads = [
                threading.Thread(target=load, args=(address, 10**9 * turn + 10**6 * number, acknowledged, begun))
                for number in range(chosen.threads)
            ]
            for thread in threads:
                thread.start()
            begun.wait(60)
            time.sleep(rng.uniform(0, _LONGEST))
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            victims = [process.pid, *map(int, children[:2])]
            os.kill(victims[turn % len(victims)], signal.SIGKILL)
            for thread in threads:
                thread.join()
            process.wait()
            process.stderr.close()
            known += acknowledged
            with lookalike.Index.open(path, wait=30) as index:
                missing = [number for number in known if number not in index]
                found = index.query(text_of(known[-1]), k=1)
                if missing or not found or found[0].id != known[-1]:
                    lost += 1
                    print(f"kill {turn + 1}: {len(missing)} of {len(known):,} acknowledged items are gone")
        print(
            f"{chosen.times} kills of a server with {chosen.workers} workers: {len(known):,} acknowledged, {lost} bad"
        )
    finally:
        shutil.rmtree(scratch)
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
