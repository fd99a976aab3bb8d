"""Recall and precision on real data with exact truth: python -m benchmarks.recall [--shared FOLDER]

For each collection and threshold: pairs in the truth, precision (1 by verification), measured recall, the recall that
the S-curve predicts for exactly these pairs, and how many standard errors lie between them. The similarity of every
pair that is reported is compared with the truth, too.

The truth is the file that came with the data. For the licences it was counted on runs of `\\w`, which make one word of
a whole Chinese sentence; `lookalike` makes a word of each character. So they appear twice: with that rule as a `tokens`
callable, against the file; and with the built-in words, against all pairs of plain Python sets of the slow twin.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import lookalike
from lookalike.theory import expected_recall
from lookalike.twin.text import shingles

THRESHOLDS = (0.5, 0.7, 0.8, 0.9)
SEEDS = 20

Truth = dict[frozenset[str], float]
Data = tuple[Any, dict[str, Any], Truth]


def licences(folder: Path) -> dict[str, str]:
    with (folder / "spdx" / "docs.jsonl").open(encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


def spdx_as_in_the_truth(folder: Path) -> Data:
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    return licences(folder), {"shingle": "word:3", "tokens": words}, read_truth(folder / "spdx")


def spdx(folder: Path) -> Data:
    texts = licences(folder)
    sets = {name: shingles(text.encode(), "word", 3, frozenset({"lower"})) for name, text in texts.items()}
    truth = {}
    for a, b in combinations(sets, 2):
        if min(len(sets[a]), len(sets[b])) >= 0.5 * max(len(sets[a]), len(sets[b])):
            both = len(sets[a] & sets[b])
            similarity = both / (len(sets[a]) + len(sets[b]) - both)
            if similarity >= 0.5:
                truth[frozenset((a, b))] = similarity
    return texts, {"shingle": "word:3"}, truth


def citeulike(folder: Path) -> Data:
    lines = (folder / "citeulike_item_tags" / "sets.txt").read_text().splitlines()
    return [{int(tag) for tag in line.split()} for line in lines], {}, read_truth(folder / "citeulike_item_tags")


def read_truth(folder: Path) -> Truth:
    lines = (folder / "exact_jaccard.tsv").read_text(encoding="utf-8").splitlines()
    return {frozenset((a, b)): float(similarity) for a, b, similarity in (line.split("\t") for line in lines)}


COLLECTIONS: dict[str, Callable[[Path], Data]] = {
    "spdx, words as in the truth": spdx_as_in_the_truth,
    "spdx, built-in words": spdx,
    "citeulike_item_tags": citeulike,
}


def measure(items: Any, options: dict[str, Any], truth: Truth, threshold: float) -> list[str]:
    """One row of the table."""
    true = {pair: s for pair, s in truth.items() if s >= threshold}
    hits = reported = 0
    for seed in range(SEEDS):
        result = lookalike.pairs(items, threshold=threshold, recall=0.99, seed=seed, **options)
        pairs = {frozenset((str(a), str(b))): s for a, b, s in result}
        wrong = [pair for pair, s in pairs.items() if abs(true.get(pair, -1.0) - s) > 1e-6]
        assert not wrong, f"{len(wrong)} pairs or similarities differ from the truth, such as {wrong[0]}"
        hits += len(pairs.keys() & true.keys())
        reported += len(pairs)
    plan = result.plan
    assert plan is not None
    expected, error = expected_recall(list(true.values()), plan.bands, plan.rows)
    measured = hits / (SEEDS * len(true))
    apart = (measured - expected) / (error / SEEDS**0.5) if error else 0.0
    return [
        f"{threshold}", f"{plan.bands} x {plan.rows}", f"{len(true):,}", f"{hits / reported:.4f}",
        f"{measured:.4f}", f"{expected:.4f}", f"{apart:+.2f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    folder = parser.parse_args().shared
    table = Table(title=f"Recall asked: 0.99 at the threshold; {SEEDS} seeds together")
    for name in ("data", "threshold", "b x r", "true pairs", "precision", "recall", "expected", "std errors"):
        table.add_column(name, justify="right")
    for name, load in COLLECTIONS.items():
        data = load(folder)
        for threshold in THRESHOLDS:
            table.add_row(name, *measure(*data, threshold))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
