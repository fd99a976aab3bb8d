"""The nearest vectors of an index: how long a search takes, how much it compares, how many of the true ones it finds.

    python -m benchmarks.index_nearest --vectors 200000 --dimensions 384
    python -m benchmarks.index_nearest --vectors 1000000                     (7 GB of memory)

The vectors are those of `benchmarks/embeddings.py`; queries are stored vectors with some noise. Beside each recall that
is asked for stands what was found, against products with all vectors.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np

from benchmarks.embeddings import made
from lookalike import Index

QUERIES = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--k", type=int, default=10)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    unit = vectors = made(options.vectors, options.dimensions)
    rng = np.random.default_rng(1)
    chosen = vectors[rng.integers(0, len(vectors), QUERIES)]
    noise = rng.normal(size=chosen.shape) * np.linalg.norm(chosen, axis=1, keepdims=True) / options.dimensions**0.5
    queries = (chosen + 0.3 * noise).astype(np.float32)
    truth = [set(np.argpartition(-(unit @ query), options.k)[: options.k].tolist()) for query in queries]
    begun = time.perf_counter()
    index = Index.build(":memory:", vectors, measure="cosine", threshold=0.9)
    print(f"{len(index):,} vectors, {time.perf_counter() - begun:.1f} s to build, {index.recipe}")
    told = index.stats()
    print(f"{told['bytes_per_item']:,.0f} bytes each, of which segments {told['segment_bytes'] / len(index):,.0f}")
    print("recall asked  found  stated  compared   p50 ms   p99 ms")
    for recall in (0.8, 0.95, 0.99, 1.0):
        times, found, stated, compared = [], 0, [], []
        for query, best in zip(queries, truth, strict=True):
            begun = time.perf_counter()
            answer = index.nearest(query, options.k, recall=recall)
            times.append(time.perf_counter() - begun)
            found += len({match.id for match in answer} & best)
            stated.append(answer.recall or 0.0)
            compared.append(answer.compared)
        p50, p99 = np.percentile(times, [50, 99]) * 1e3
        print(
            f"{recall:12.2f}  {found / options.k / QUERIES:5.3f}  {np.mean(stated):6.3f}  {np.mean(compared):8,.0f}  "
            f"{p50:7.2f}  {p99:7.2f}"
        )
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB at most, with the vectors themselves")


if __name__ == "__main__":
    main()
