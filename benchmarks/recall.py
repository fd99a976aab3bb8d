"""Recall and precision on real data with exact truth: python -m benchmarks.recall [--shared FOLDER]

For each collection and threshold: pairs in the truth, precision (1 by verification), measured recall, the recall that
the S-curve predicts for exactly these pairs, and how many standard errors lie between them. Truth is the file that came
with the data; the similarities of the pairs we report are compared with it too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import lookalike
from lookalike.theory import expected_recall

THRESHOLDS = (0.5, 0.7, 0.8, 0.9)
SEEDS = 20


def spdx(folder: Path) -> tuple[Any, dict[str, str]]:
    with (folder / "spdx" / "docs.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["id"]: row["text"] for row in rows}, {"shingle": "word:3"}


def citeulike(folder: Path) -> tuple[Any, dict[str, str]]:
    lines = (folder / "citeulike_item_tags" / "sets.txt").read_text().splitlines()
    return [{int(tag) for tag in line.split()} for line in lines], {}


def truth(path: Path) -> dict[frozenset[str], float]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {frozenset((a, b)): float(similarity) for a, b, similarity in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    folder = parser.parse_args().shared
    table = Table(title=f"Recall asked: 0.99 at the threshold; {SEEDS} seeds, all of their pairs together")
    for name in ("data", "threshold", "b x r", "true pairs", "precision", "recall", "expected", "std errors"):
        table.add_column(name, justify="right")
    for name, load in (("spdx", spdx), ("citeulike_item_tags", citeulike)):
        items, options = load(folder)
        known = truth(folder / name / "exact_jaccard.tsv")
        for threshold in THRESHOLDS:
            true = {pair: s for pair, s in known.items() if s >= threshold}
            hits = reported = 0
            for seed in range(SEEDS):
                result = lookalike.pairs(items, threshold=threshold, recall=0.99, seed=seed, **options)
                pairs = {frozenset((str(a), str(b))): s for a, b, s in result}
                hits += len(pairs.keys() & true.keys())
                reported += len(pairs)
                wrong = [pair for pair, s in pairs.items() if abs(true.get(pair, -1) - s) > 1e-6]
                assert not wrong, f"{len(wrong)} pairs or similarities differ from the truth, such as {wrong[0]}"
            plan = result.plan
            assert plan is not None
            # Identical items are folded, so they are found whatever the sketch says.
            expected, error = expected_recall(list(true.values()), plan.bands, plan.rows)
            measured = hits / (SEEDS * len(true))
            apart = (measured - expected) / (error / SEEDS**0.5) if error else 0.0
            table.add_row(
                name, f"{threshold}", f"{plan.bands} x {plan.rows}", f"{len(true):,}",
                f"{hits / reported:.4f}", f"{measured:.4f}", f"{expected:.4f}", f"{apart:+.2f}",
            )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
