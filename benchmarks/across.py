"""Pairs across two collections, and neighbours, of real data by every measure, against brute force.

    python -m benchmarks.across ../shared/data

Each line is a measure: `pairs(A, against=B)` as it is planned for so few items (all pairs, mostly), and with bands,
whose recall is that of the plan at the threshold or better, without an audit; and `neighbors(A, B, k=10)`: how many of
the true ten are found, equal scores counted for one another. The truth is plain Python or one product of NumPy.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import lookalike
from benchmarks.citations import COMPARED, parted
from lookalike.twin.text import shingles

Scores = NDArray[Any]
LOWER = frozenset({"lower"})
K = 10
# The recall that bands are planned for.
RECALL = 0.95
# How many pairs of vectors match, where a limit says little by itself.
MATCHES = 2000


@dataclass(frozen=True)
class Case:
    """Two collections, the options, and the similarity (or distance) of each item of the one with each of the other."""

    name: str
    own: Any
    other: Any
    options: dict[str, Any]
    truth: Scores
    distance: bool = False

    @property
    def limit(self) -> float:
        return float(self.options["max_distance" if "max_distance" in self.options else "threshold"])


Sides = list[Any]


def table(score: Callable[[Any, Any], float], sides: Sides) -> Scores:
    own, other = sides
    return np.array([[score(a, b) for b in other] for a in own])


def jaccard(a: set[Any], b: set[Any]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def containment(a: set[Any], b: set[Any]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def weighted(a: Counter[Any], b: Counter[Any]) -> float:
    least = sum(min(n, b[x]) for x, n in a.items())
    return least / (sum(a.values()) + sum(b.values()) - least)


def cosine(a: Counter[Any], b: Counter[Any]) -> float:
    lengths = np.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    return float(sum(n * b[x] for x, n in a.items()) / lengths)


def texts(data: Path) -> list[Case]:
    rows = [json.loads(line)["text"] for line in (data / "spdx" / "docs.jsonl").read_text().splitlines()][:600]
    own, other = rows[::2], rows[1::2]
    sets: Sides = [[set(shingles(text.encode(), "word", 3, LOWER)) for text in side] for side in (own, other)]
    bags: Sides = [[Counter(text.lower().split()) for text in side] for side in (own, other)]
    plain = [[" ".join(text.lower().split()) for text in side] for side in (own, other)]
    elements = [[dict(bag) for bag in side] for side in bags]
    return [
        Case("jaccard, text", own, other, {"shingle": "word:3", "threshold": 0.7}, table(jaccard, sets)),
        Case(
            "containment, text", own, other, {"shingle": "word:3", "measure": "containment", "threshold": 0.8},
            table(containment, sets),
        ),
        Case("weighted-jaccard, bags", elements[0], elements[1], {"threshold": 0.7}, table(weighted, bags)),
        Case("cosine, bags", elements[0], elements[1], {"measure": "cosine", "threshold": 0.9}, table(cosine, bags)),
        Case(
            "cosine, text counted", plain[0], plain[1],
            {"measure": "cosine", "weights": "count", "shingle": "word:2", "threshold": 0.8},
            table(cosine, [[Counter(every(text)) for text in side] for side in plain]),
        ),
    ]  # fmt: skip


def every(text: str) -> list[Any]:
    """Every shingle of two words, as often as it occurs, told apart by its hash in a text of its own."""
    words = re.findall(r"[^\W]+", text)
    return [tuple(words[at : at + 2]) for at in range(max(1, len(words) - 1))]


def sets(data: Path) -> list[Case]:
    lines = (data / "citeulike_item_tags" / "sets.txt").read_text().splitlines()[:3000]
    items = [{int(tag) for tag in line.split()} for line in lines]
    own, other = items[::2], items[1::2]
    return [Case("jaccard, sets", own, other, {"threshold": 0.4}, table(jaccard, [own, other]))]


def vectors(data: Path) -> list[Case]:
    own = np.load(data / "glove_50k" / "queries.npy").astype(np.float32)
    other = np.load(data / "glove_50k" / "base.npy")[:20_000].astype(np.float32)
    wide, far = own.astype(np.float64), other.astype(np.float64)
    products = wide @ far.T
    largest = round(float(-np.partition(-products, MATCHES, axis=None)[MATCHES]), 4)
    lengths = np.linalg.norm(wide, axis=1)[:, None], np.linalg.norm(far, axis=1)
    planes = np.random.default_rng(0).normal(size=(100, 256))
    bits = [side @ planes > 0 for side in (wide, far)]
    listed = [[row.tolist() for row in side] for side in bits]
    differing = np.array([(row != bits[1]).sum(axis=1) for row in bits[0]])
    out = [
        Case("cosine", own, other, {"threshold": 0.7}, products / lengths[0] / lengths[1]),
        Case("dot", own, other, {"measure": "dot", "threshold": largest}, products),
        Case("hamming, bits", listed[0], listed[1], {"threshold": 0.75}, 1 - differing / 256),
        Case(
            "hamming, a count", listed[0], listed[1],
            {"measure": "hamming", "max_distance": 64}, differing.astype(float), distance=True,
        ),
        Case(
            "cosine, a distance", own, other, {"measure": "cosine", "max_distance": 0.3},
            1 - products / lengths[0] / lengths[1], distance=True,
        ),
    ]  # fmt: skip
    for name, order in (("euclidean", 2.0), ("manhattan", 1.0), ("lr:3", 3.0)):
        apart = np.array([(np.abs(row - far) ** order).sum(axis=1) ** (1 / order) for row in wide])
        limit = round(float(np.partition(apart, MATCHES, axis=None)[MATCHES]), 4)
        out.append(Case(name, own, other, {"measure": name, "max_distance": limit}, apart, distance=True))
    return out


def columns(data: Path) -> list[Case]:
    lines = (data / "dblp_acm" / "docs.jsonl").read_text().splitlines()
    rows = [row | parted("dblp_acm", row["text"]) for row in map(json.loads, lines)]
    own, other = ([row for row in rows if row["id"][0] == side][:700] for side in "ab")
    compare = COMPARED["dblp_acm"]

    def parts(row: dict[str, Any]) -> list[set[Any]]:
        title, authors = (set(shingles((row[name] or "").encode(), kind, k, normal)) for name, kind, k, normal in (
            ("title", "char", 4, frozenset({"lower", "whitespace"})), ("authors", "word", 1, LOWER),
        ))  # fmt: skip
        return [title, authors, {row["year"]} - {None}]

    def score(a: list[set[Any]], b: list[set[Any]]) -> float:
        there = [(w, x, y) for w, x, y in zip((2, 1, 1), a, b, strict=True) if x or y]
        return sum(w * jaccard(x, y) for w, x, y in there) / sum(w for w, _, _ in there)

    truth = table(score, [[parts(row) for row in side] for side in (own, other)])
    sides = [pa.Table.from_pylist(side).drop_columns(["id", "text"]) for side in (own, other)]
    return [Case("by columns", sides[0], sides[1], {"compare": compare, "threshold": 0.7}, truth)]


def found(case: Case, **more: Any) -> tuple[float, float, Any]:
    """(recall, precision, plan) of the pairs across."""
    result = lookalike.pairs(case.own, against=case.other, audit=0, **case.options, **more)
    slack = 1e-6 * max(1.0, abs(case.limit))
    true = case.truth <= case.limit + slack if case.distance else case.truth >= case.limit - slack
    # A pair within rounding of the limit may be there or not.
    sure = case.truth < case.limit - slack if case.distance else case.truth > case.limit + slack
    got, ends = np.zeros(true.shape, bool), [result.table[name].to_numpy() for name in ("a", "b")]
    if "a_against" in result.table.schema.names:
        # Of containment `a` is the smaller of the two, wherever it is from.
        turned = result.table["a_against"].to_numpy()
        ends = [np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])]
    got[tuple(ends)] = True
    return (got & sure).sum() / max(1, sure.sum()), (got & true).sum() / max(1, got.sum()), result.plan


def nearest(case: Case) -> tuple[float, str]:
    """(how many of the true ten are found, how)."""
    limits = ("threshold", "max_distance")
    options = {name: value for name, value in case.options.items() if name not in limits}
    result = lookalike.neighbors(case.other, case.own, k=K, **options)
    order = case.truth if case.distance else -case.truth
    hits = total = 0
    for row, items in zip(order, result.items, strict=True):
        best = np.sort(row)[:K]
        # What shares nothing is no neighbour.
        best = best if case.distance else best[best < 0] if case.truth.min() >= 0 else best
        hits += int((row[items[items >= 0]] <= best[-1] + 1e-6 * abs(best[-1])).sum()) if len(best) else 0
        total += len(best)
    return hits / max(1, total), result.plan.method


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    print(
        f"{'':<24} {'pairs':>7} {'recall':>7} {'precision':>9}   {'bands':<14} {'plan':>6} {'recall':>7}   nearest 10"
    )
    for case in (case for group in (texts, sets, columns, vectors) for case in group(data)):
        recall, precision, plan = found(case)
        count = int((case.truth <= case.limit).sum() if case.distance else (case.truth >= case.limit).sum())
        told = f"{'none':<14} {'':>6} {'':>7}"
        choices = [] if plan is None else [plan, *plan.alternatives]
        banded = next((each for each in choices if each.bands and each.expected_recall >= RECALL), None)
        if banded is not None:
            measured, _, _ = found(case, bands=banded.bands, rows=banded.rows)
            told = f"{f'{banded.bands} x {banded.rows}':<14} {banded.expected_recall:6.3f} {measured:7.3f}"
        near, how = nearest(case)
        print(f"{case.name:<24} {count:7,} {recall:7.4f} {precision:9.4f}   {told}   {near:.4f} ({how})", flush=True)


if __name__ == "__main__":
    main()
