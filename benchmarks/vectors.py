"""All pairs of vectors at a cosine of 0.8 or above, beside faiss: time and measured recall.

    make .venv-bench/installed
    .venv-bench/bin/python -m benchmarks.vectors [--items 200000] [--threads 2] [--rounds 1] [--glove] [--threshold 0.8]
                                                 [--truth pairs.npz] [--only-peers]

Vectors are those of embeddings.py, or with `--glove` the real ones of the shared data. One process, the same number of
threads for all, in turns; a figure is the median of the rounds. The truth is what faiss IndexFlatIP.range_search finds,
which computes all n² products; it is saved in `--truth`, with its time, and read from there instead of run again.

    faiss IndexBinaryHash    256 sign bits, one hash table of 16 bits, two flips, Hamming distance of at most 65 (52 are
                             expected at 0.8, with a standard deviation of 6.4); what is found is compared exactly
    lookalike, scan          `verify.scan.all_pairs_above`: the exact scan alone
    lookalike.pairs          what a user calls; it plans by itself, and may miss what its report says
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lookalike
from benchmarks.embeddings import F32Array, Timed, glove, made, threads_of

THRESHOLD = 0.8
RECALL = 0.95  # asked of lookalike.pairs
I64Array = NDArray[np.int64]
BATCH = 10_000  # queries that faiss gets at a time: its answer is held in memory


def keyed(left: I64Array, right: I64Array, n: int) -> I64Array:
    """Each pair once, as one number, in order."""
    return np.unique(np.minimum(left, right) * n + np.maximum(left, right))


def of_ranges(index: Any, vectors: NDArray[Any], radius: float) -> tuple[I64Array, I64Array]:
    """What range searches of all vectors find, (left < right)."""
    lefts, rights = [], []
    for start in range(0, len(vectors), BATCH):
        limits, _, found = index.range_search(vectors[start : start + BATCH], radius)
        left = start + np.repeat(np.arange(len(limits) - 1), np.diff(limits.astype(np.int64)))
        later = found > left
        lefts.append(left[later])
        rights.append(found[later])
    return np.concatenate(lefts), np.concatenate(rights)


def faiss_exact(vectors: F32Array, threshold: float) -> I64Array:
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    # A range is open at its end.
    return keyed(*of_ranges(index, vectors, float(np.nextafter(np.float32(threshold), np.float32(0)))), len(vectors))


def faiss_binary_hash(vectors: F32Array, threshold: float) -> I64Array:
    import faiss

    bits = 256
    codes = faiss.IndexLSH(vectors.shape[1], bits, True).sa_encode(vectors)
    index = faiss.IndexBinaryHash(bits, 16)
    index.nflip = 2
    index.add(codes)
    left, right = of_ranges(index, codes, 66)
    return above(vectors, left, right, threshold)


def above(vectors: F32Array, left: I64Array, right: I64Array, threshold: float) -> I64Array:
    """The pairs that reach the threshold."""
    found = []
    for start in range(0, len(left), 1_000_000):
        a, b = left[start : start + 1_000_000], right[start : start + 1_000_000]
        reached = np.einsum("pd,pd->p", vectors[a], vectors[b]) >= threshold
        found.append(keyed(a[reached], b[reached], len(vectors)))
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def our_scan(vectors: F32Array, threshold: float, threads: int) -> I64Array:
    from lookalike.verify.scan import all_pairs_above

    parts = [keyed(left, right, len(vectors)) for left, right in all_pairs_above(vectors, threshold, threads)]
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def our_pairs(vectors: F32Array, threshold: float, threads: int) -> I64Array:
    result = lookalike.pairs(vectors, measure="cosine", threshold=threshold, recall=RECALL, threads=threads)
    print(result.plan, result.report["certificate"]["statement"], sep="\n")
    return keyed(result.table["a"].to_numpy(), result.table["b"].to_numpy(), len(vectors))


def main() -> None:
    parser = argparse.ArgumentParser(description="All pairs at a cosine of 0.8 or above, beside faiss.")
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--truth", type=Path, help="a file for the pairs that faiss finds")
    parser.add_argument("--glove", action="store_true", help="the shared GloVe vectors instead of made ones")
    parser.add_argument("--only-peers", action="store_true", help="all but lookalike.pairs")
    options = parser.parse_args()
    threads_of(options.threads)
    if options.glove:
        real = glove()
        if real is None:
            parser.error("the shared GloVe vectors are absent")
        vectors = real[0]
    else:
        vectors = made(options.items, options.dimensions)
    # Kernels are compiled once per installation.
    list(our_scan(vectors[:1_000], options.threshold, 1))
    lookalike.pairs(vectors[:2_000], measure="cosine", threshold=THRESHOLD, bands=20, rows=8)
    runs: dict[str, Callable[[], I64Array]] = {
        "faiss IndexFlatIP.range_search": lambda: faiss_exact(vectors, options.threshold),
        "faiss IndexBinaryHash": lambda: faiss_binary_hash(vectors, options.threshold),
        "lookalike, scan": lambda: our_scan(vectors, options.threshold, options.threads),
    }
    if not options.only_peers:
        runs["lookalike.pairs"] = lambda: our_pairs(vectors, options.threshold, options.threads)
    truth: I64Array | None = None
    if options.truth and options.truth.exists():
        saved = np.load(options.truth)
        truth, runs["faiss IndexFlatIP.range_search"] = saved["pairs"], lambda: saved["pairs"]
    everyone = [Timed(name, run) for name, run in runs.items()]
    for _ in range(options.rounds):
        for contender in everyone:
            found = contender.round()
            if truth is None:
                truth = found
                if options.truth:
                    np.savez(options.truth, pairs=truth, seconds=contender.seconds[0])
            contender.recall = len(np.intersect1d(found, truth, assume_unique=True)) / max(1, len(truth))
            contender.note = f"{len(found):,}"
    if options.truth and truth is not None:
        everyone[0].seconds = [float(np.load(options.truth)["seconds"])]
    print(
        f"{len(vectors):,} vectors of {vectors.shape[1]} components, cosine >= {options.threshold}, "
        f"{options.threads} threads, median of {options.rounds}\n"
    )
    print("| contender | s | of faiss exact | recall | pairs |\n| --- | ---: | ---: | ---: | ---: |")
    for contender in everyone:
        share = contender.time / everyone[0].time
        print(f"| {contender.name} | {contender.time:.2f} | {share:.3f} | {contender.recall:.4f} | {contender.note} |")


if __name__ == "__main__":
    main()
