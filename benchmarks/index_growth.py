"""How an index grows: building, asking, merging and opening it, from some items to a hundred times as many.

    python -m benchmarks.collection docs.parquet --docs 10000000 --bytes 500 --template-share 0
    python -m benchmarks.index_growth docs.parquet --items 100000 1000000 10000000

Each size is built anew from the first so many documents. Queries are documents of the file, three in four of them
stored ones, the others from behind the last that is stored; p50 and p99 of one thread. `merge` is one more segment of
the latest items merged with all others, which is the most that a merge ever costs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from lookalike import Index

QUERIES = 4_000


def documents(path: Path, numbers: list[int]) -> list[str]:
    """The documents with these numbers, which ascend."""
    file = pq.ParquetFile(path)
    found: list[str] = []
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        wanted = [number - first for number in numbers if first <= number < first + rows]
        if wanted:
            texts = file.read_row_group(group, columns=["text"]).column(0)
            found += texts.take(wanted).to_pylist()
        first += rows
    return found


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, CPU seconds, and what came of it."""
    begun, cpu = time.perf_counter(), time.process_time()
    found = call()
    return time.perf_counter() - begun, time.process_time() - cpu, found


def measured(path: Path, items: int, folder: Path) -> str:
    place = folder / f"{items}.idx"
    wall, cpu, index = timed(lambda: Index.build(place, path, limit=items))
    index.close()
    size = sum(file.stat().st_size for file in place.iterdir())
    os.sync()
    opening, _, index = timed(lambda: Index.open(place))
    rng = np.random.default_rng(items)
    total = pq.read_metadata(path).num_rows
    chosen = rng.integers(0, items, QUERIES * 3 // 4), rng.integers(min(items, total - 1), total, QUERIES // 4)
    queries = documents(path, sorted(set(np.concatenate(chosen).tolist())))
    rng.shuffle(queries)
    index.query(queries[0])
    times = np.array([timed(partial(index.query, text))[0] for text in queries])
    segments = index.stats()["segments"]
    index.remove(0)
    index.add_many((f"new {number}", text + " and more") for number, text in enumerate(queries))
    merging, _, _ = timed(index.compact)
    index.close()
    shutil.rmtree(place)
    p50, p99 = np.percentile(times, [50, 99]) * 1e6
    return (
        f"{items:>10,}  {wall:8.1f}  {cpu / items * 1e6:8.1f}  {items / wall:9,.0f}  {size / items:8.0f}  "
        f"{segments:8}  {opening * 1e3:7.1f}  {p50:7.1f}  {p99:7.1f}  {merging:8.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--items", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="where indexes go meanwhile; beside the file by default")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("     items   build s  CPU µs/i    items/s  bytes/i  segments  open ms   p50 µs   p99 µs   merge s")
    with tempfile.TemporaryDirectory(dir=options.folder or options.path.resolve().parent) as folder:
        Index.build(Path(folder) / "warm.idx", options.path, limit=2_000).close()
        for items in options.items:
            print(measured(options.path, items, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
