"""The nearest ten of each query, beside faiss and hnswlib: time to build, time to search, measured recall.

    make .venv-bench/installed
    .venv-bench/bin/python -m benchmarks.neighbors [--items 200000] [--queries 1000] [--threads 2] [--rounds 3]
                                                   [--only exact lookalike hnswlib] [--glove]

Vectors are those of embeddings.py, or with `--glove` the real ones of the shared data. One process, the same number of
threads for all, searches in turns; a figure is the median of the rounds. Everyone searches all queries in one call.
Recall is the share of the true ten (faiss IndexFlatIP) that was found. Building is adding the items, or for lookalike
making them ready and planning for ten neighbours of 10,000 expected queries. "repaid" is after how many queries
building and searching together take less than the exact scan of faiss, where they ever do.

    faiss IndexLSH           sign bits, scanned; "x 32" has the best 320 reranked (IndexRefineFlat)
    faiss IndexBinaryMultiHash  256 sign bits in 8 hash tables of 16 bits, two flips; the best 100 reranked here
    hnswlib                  M = 16, ef_construction = 200, several ef
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.embeddings import F32Array, Timed, glove, made, threads_of
from lookalike.search.nearest import Nearest

K = 10
I64Array = NDArray[np.int64]


def built(name: str, build: Callable[[], Callable[[], I64Array]], note: str = "") -> Timed:
    start = time.perf_counter()
    run = build()
    return Timed(name, run, time.perf_counter() - start, note=note)


def faiss_exact(items: F32Array, queries: F32Array) -> Callable[[], I64Array]:
    import faiss

    index = faiss.IndexFlatIP(items.shape[1])
    index.add(items)
    return lambda: index.search(queries, K)[1]


def faiss_lsh(items: F32Array, queries: F32Array, bits: int, factor: int) -> Callable[[], I64Array]:
    import faiss

    index: Any = faiss.IndexLSH(items.shape[1], bits, True)
    if factor > 1:
        index = faiss.IndexRefineFlat(index)
        index.k_factor = factor
    index.train(items)
    index.add(items)
    return lambda: index.search(queries, K)[1]


def faiss_multi_hash(items: F32Array, queries: F32Array, taken: int = 100) -> Callable[[], I64Array]:
    import faiss

    bits = 256
    coder = faiss.IndexLSH(items.shape[1], bits, True)
    index = faiss.IndexBinaryMultiHash(bits, 8, 16)
    index.nflip = 2
    index.add(coder.sa_encode(items))

    def run() -> I64Array:
        lists = index.search(coder.sa_encode(queries), taken)[1]
        # Places that were not filled score lowest.
        scores = np.where(lists >= 0, np.einsum("qd,qrd->qr", queries, items[np.maximum(lists, 0)]), -2.0)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :K]
        return np.take_along_axis(lists, best, axis=1)

    return run


def hnsw(items: F32Array, queries: F32Array, threads: int) -> Callable[[int], Callable[[], I64Array]]:
    import hnswlib

    index = hnswlib.Index(space="ip", dim=items.shape[1])
    index.init_index(max_elements=len(items), M=16, ef_construction=200, random_seed=0)
    index.add_items(items, num_threads=threads)

    def at(ef: int) -> Callable[[], I64Array]:
        def run() -> I64Array:
            index.set_ef(ef)
            return index.knn_query(queries, K, num_threads=threads)[0].astype(np.int64)  # type: ignore[no-any-return]

        return run

    return at


def contenders(items: F32Array, queries: F32Array, options: argparse.Namespace) -> list[Timed]:
    found = [built("faiss IndexFlatIP", lambda: faiss_exact(items, queries), "exact")]

    def wanted(name: str) -> bool:
        return not options.only or any(part in name for part in options.only)

    def ours(recall: float) -> Timed:
        start = time.perf_counter()
        searched = Nearest(items, recall=recall, threads=options.threads)
        plan = searched.plan_for(K)
        searched.search(queries[:1], K)
        seconds = time.perf_counter() - start
        return Timed(f"lookalike, recall {recall:g}", lambda: searched.search(queries, K)[0], seconds, note=str(plan))

    if wanted("lookalike"):
        Nearest(items[:100]).search(queries[:10], K)  # kernels are compiled once per installation
        found += [ours(recall) for recall in (1.0, 0.99, 0.9)]
    if wanted("lsh"):
        for bits, factor in ((256, 1), (1024, 1), (256, 32), (512, 32), (1024, 32)):
            name = f"faiss IndexLSH {bits}{' x 32' if factor > 1 else ''}"
            found.append(built(name, lambda b=bits, f=factor: faiss_lsh(items, queries, b, f)))  # type: ignore[misc]
    if wanted("multihash"):
        found.append(built("faiss IndexBinaryMultiHash", lambda: faiss_multi_hash(items, queries)))
    if wanted("hnswlib"):
        start = time.perf_counter()
        at = hnsw(items, queries, options.threads)
        seconds = time.perf_counter() - start
        found += [Timed(f"hnswlib, ef {ef}", at(ef), seconds) for ef in options.ef]
    return found


def measured(everyone: list[Timed], rounds: int) -> None:
    truth: I64Array | None = None
    for _ in range(rounds):
        for contender in everyone:
            ids = contender.round()
            truth = ids if truth is None else truth
            shares = [len({*a} & {*b}) / K for a, b in zip(ids.tolist(), truth.tolist(), strict=True)]
            contender.recall = float(np.mean(shares))


def table(everyone: list[Timed], queries: int) -> str:
    lines = [
        "| contender | recall@10 | build s | µs a query | of faiss exact | repaid after | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    exact = everyone[0].time / queries
    for contender in everyone:
        each = contender.time / queries
        repaid = f"{contender.build / (exact - each):,.0f}" if each < exact else "never"
        lines.append(
            f"| {contender.name} | {contender.recall:.3f} | {contender.build:.1f} | {each * 1e6:,.0f} | "
            f"{each / exact:.2f} | {repaid if contender is not everyone[0] else '-'} | {contender.note} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="The nearest ten, beside faiss and hnswlib.")
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ef", type=int, nargs="+", default=[16, 32, 64, 128, 256])
    parser.add_argument("--only", nargs="+", choices=["lookalike", "lsh", "multihash", "hnswlib"], default=[])
    parser.add_argument("--glove", action="store_true", help="the shared GloVe vectors instead of made ones")
    options = parser.parse_args()
    threads_of(options.threads)
    if options.glove:
        real = glove()
        if real is None:
            parser.error("the shared GloVe vectors are absent")
        items, queries = real
    else:
        vectors = made(options.items + options.queries, options.dimensions)
        items, queries = vectors[: options.items], vectors[options.items :]
    everyone = contenders(items, queries, options)
    measured(everyone, options.rounds)
    print(
        f"{len(items):,} items of {items.shape[1]} components, {len(queries):,} queries, {options.threads} threads, "
        f"median of {options.rounds}\n\n{table(everyone, len(queries))}"
    )


if __name__ == "__main__":
    main()
