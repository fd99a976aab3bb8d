"""Recall of cosine on real vectors, against brute force: what was asked, what was planned, what came out.

    python -m benchmarks.vector_recall [--seeds 10]

All pairs of the shared GloVe vectors (50,000 x 100) at cosine >= 0.7, 0.8 and 0.9. The planner compares all of them,
which is cheapest there; so the bands and rows that it would have taken otherwise are run too, over several seeds.
Their mean recall stands beside what the curve expects of exactly these pairs, with the standard error of the seeds.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

import lookalike
from benchmarks.embeddings import glove
from lookalike.theory import expected_recall

RECALL = 0.99


def keys(result: Any, n: int) -> Any:
    return result.table["a"].to_numpy() * n + result.table["b"].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall of cosine on the shared GloVe vectors.")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    real = glove()
    if real is None:
        parser.error("the shared GloVe vectors are absent")
    vectors = real[0]
    n = len(vectors)
    wide = vectors.astype(np.float64)
    print("| threshold | pairs | planned run | bands x rows | expected | measured over seeds | within | precision |")
    print("| --- | ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for threshold in (0.7, 0.8, 0.9):
        truth: dict[int, float] = {}
        for start in range(0, n, 1000):
            cosines = wide[start : start + 1000] @ wide.T
            left, right = np.nonzero(cosines >= threshold)
            later = right > left + start
            values = cosines[left[later], right[later]]
            truth |= dict(zip(((left[later] + start) * n + right[later]).tolist(), values.tolist(), strict=True))
        planned = lookalike.pairs(vectors, threshold=threshold, recall=RECALL)
        assert planned.plan is not None
        found = len(set(keys(planned, n).tolist()) & truth.keys()) / len(truth)
        other = next((each for each in planned.plan.alternatives if each.bands), None) or planned.plan
        shares, right_ones, listed = [], 0, 0
        for seed in range(options.seeds):
            result = lookalike.pairs(
                vectors, threshold=threshold, bands=other.bands, rows=other.rows, seed=seed, audit=0
            )
            got = set(keys(result, n).tolist())
            shares.append(len(got & truth.keys()) / len(truth))
            right_ones, listed = right_ones + len(got & truth.keys()), listed + len(got)
        expected, _ = expected_recall(np.array(list(truth.values())), other.bands, other.rows, "cosine")
        error = float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
        print(
            f"| {threshold} | {len(truth):,} | {planned.plan.shape}: {found:.4f} | {other.bands} x {other.rows} | "
            f"{expected:.4f} | {np.mean(shares):.4f} +- {error:.4f} | "
            f"{(np.mean(shares) - expected) / error:+.1f} errors | {right_ones / listed:.6f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
