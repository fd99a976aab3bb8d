"""Additions that wait for the disk, by 1, 8 and 64 clients, beside what the disk can do.

    python -m benchmarks.index_sync FOLDER

First the disk alone: 2 kB are written into a file that has its size already, and brought to the disk, one after
another. Then threads add texts of 2 kB, each waiting until its own is safe before it goes on. Of those that wait at the
same time one brings the texts of all to the disk: acknowledged additions for each such sync are what that is worth.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from lookalike import Index

SIZE = 2_000


def alone(folder: Path, seconds: float) -> tuple[float, float]:
    """Syncs a second, and the median of one in ms."""
    handle = os.open(folder / "alone", os.O_RDWR | os.O_CREAT)
    try:
        os.posix_fallocate(handle, 0, 64 << 20)
        os.fdatasync(handle)
        times, end, at = [], time.perf_counter() + seconds, 0
        while (begun := time.perf_counter()) < end:
            os.pwrite(handle, bytes([at % 251]) * SIZE, at * SIZE % (64 << 20))
            os.fdatasync(handle)
            times.append(time.perf_counter() - begun)
            at += 1
        return len(times) / sum(times), float(np.median(times)) * 1e3
    finally:
        os.close(handle)


def clients(folder: Path, count: int, seconds: float) -> str:
    rng = np.random.default_rng(count)
    words = np.array([f"word{i}" for i in range(30_000)])
    texts = [" ".join(rng.choice(words, 220)) for _ in range(2_000)]
    syncs, times = [0], [np.empty(0)] * count
    real = os.fdatasync

    def counted(handle: int) -> None:
        syncs[0] += 1
        real(handle)

    with Index.create(folder / f"{count}.idx") as index:
        index.add("first", "what the items are")
        start, stop = threading.Barrier(count + 1), threading.Event()

        def work(client: int) -> None:
            mine = []
            start.wait()
            number = 0
            while not stop.is_set():
                text = f"{client} {number} " + texts[(client * 31 + number) % len(texts)]
                begun = time.perf_counter()
                index.add(f"{client}/{number}", text)
                mine.append(time.perf_counter() - begun)
                number += 1
            times[client] = np.array(mine)

        threads = [threading.Thread(target=work, args=[client]) for client in range(count)]
        for thread in threads:
            thread.start()
        os.fdatasync = counted  # type: ignore[assignment]
        try:
            start.wait()
            begun = time.perf_counter()
            time.sleep(seconds)
            stop.set()
            for thread in threads:
                thread.join()
            wall = time.perf_counter() - begun
        finally:
            os.fdatasync = real
        every = np.concatenate(times)
        assert len(index) == len(every) + 1, "every acknowledged item is there"
    p50, p99 = np.percentile(every, [50, 99]) * 1e3
    return (
        f"{count:>7}  {len(every) / wall:11,.0f}  {syncs[0] / wall:7,.0f}  {len(every) / max(1, syncs[0]):9.1f}  "
        f"{p50:7.2f}  {p99:7.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="on the disk that is to be measured")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rate, median = alone(Path(folder), options.seconds)
        print(f"the disk alone: {rate:,.0f} syncs a second, {median:.2f} ms each")
        print("clients  additions/s  syncs/s  adds/sync   p50 ms   p99 ms")
        for count in options.clients:
            print(clients(Path(folder), count, options.seconds), flush=True)


if __name__ == "__main__":
    main()
