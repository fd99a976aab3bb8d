"""Does the 95% interval of the certificate hold the true recall in 95 of 100 runs?

    python -m benchmarks.coverage                          all collections and plans, 200 seeds each
    python -m benchmarks.coverage --kind baskets --seeds 20

Runs `lookalike.pairs` on collections whose pairs are counted exactly, with other hash functions each time (`seed`), and
compares the true recall of each run with the interval that it printed. The collections are those that make it hard:

    articles   clusters of 2 to 6 edited copies among unrelated ones: no giant buckets
    baskets    few items each, a handful of them popular: everything hangs on how a dozen elements are hashed
    families   2 to 500 near-copies each: an item that misses one of its family misses nearly all
    templates  pages of one template with edits, on both sides of the threshold

Where next to nothing is missed, whatever the seed, an interval that holds the estimate holds the truth always; what is
told then is how often anything was missed at all. A false alarm is any alarm: all runs are healthy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import lookalike
from lookalike.types import F64Array, I64Array

U64 = np.uint64


@dataclass(frozen=True)
class Kind:
    """Sets, the threshold they are compared at, and how many pairs reach it."""

    sets: list[I64Array]
    threshold: float
    pairs: int


def edited(rng: np.random.Generator, base: I64Array, most: int) -> I64Array:
    """A copy with 1 to `most` elements replaced by new ones."""
    copy, count = base.copy(), int(rng.integers(1, most + 1))
    copy[rng.choice(len(base), count, replace=False)] = rng.integers(1 << 20, 1 << 60, count)
    return copy


def fresh(rng: np.random.Generator, size: int) -> I64Array:
    return rng.integers(1 << 20, 1 << 60, size)


def articles(rng: np.random.Generator) -> tuple[list[I64Array], float]:
    sets = [fresh(rng, 150) for _ in range(6000)]
    for _ in range(1200):
        base = fresh(rng, 150)
        sets += [edited(rng, base, 19) for _ in range(int(rng.choice([2, 2, 2, 3, 4, 6])))]
    return sets, 0.8


def baskets(rng: np.random.Generator) -> tuple[list[I64Array], float]:
    chances = 1.0 / np.arange(1, 301)
    chances /= chances.sum()
    return [rng.choice(300, int(rng.integers(2, 7)), replace=False, p=chances) for _ in range(20_000)], 0.5


def families(rng: np.random.Generator) -> tuple[list[I64Array], float]:
    sets = [fresh(rng, 100) for _ in range(3000)]
    for size, number in ((2, 300), (3, 150), (5, 60), (10, 30), (30, 12), (100, 4), (250, 2), (500, 1)):
        for _ in range(number):
            base, most = fresh(rng, 100), int(rng.integers(2, 14))
            sets += [edited(rng, base, most) for _ in range(size)]
    return sets, 0.8


def templates(rng: np.random.Generator) -> tuple[list[I64Array], float]:
    base = np.arange(200)
    return [edited(rng, base, 60) for _ in range(4000)] + [fresh(rng, 200) for _ in range(4000)], 0.8


KINDS: dict[str, Callable[[np.random.Generator], tuple[list[I64Array], float]]] = {
    "articles": articles,
    "baskets": baskets,
    "families": families,
    "templates": templates,
}


def made(name: str) -> Kind:
    """A collection, shuffled, each set once."""
    rng = np.random.default_rng(7)
    sets, threshold = KINDS[name](rng)
    different = list({tuple(sorted(set(each.tolist()))): None for each in sets})
    kept = [np.array(different[i]) for i in rng.permutation(len(different))]
    return Kind(kept, threshold, count_pairs(kept, threshold))


def count_pairs(sets: list[I64Array], threshold: float) -> int:
    """The pairs at the threshold or above, by an index of every element."""
    sizes = np.array([len(each) for each in sets])
    _, codes = np.unique(np.concatenate(sets), return_inverse=True)
    owners = np.repeat(np.arange(len(sets)), sizes)
    order = np.argsort(codes, kind="stable")
    lists = np.split(owners[order], np.flatnonzero(np.diff(codes[order])) + 1)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    total = 0
    for i in range(len(sets)):
        others = np.concatenate([lists[code] for code in codes[starts[i] : starts[i + 1]]])
        both = np.bincount(others[others > i], minlength=1)
        later = np.flatnonzero(both)
        total += int((both[later] / (sizes[i] + sizes[later] - both[later]) >= threshold).sum())
    return total


def measure(kind: Kind, recall: float, seeds: int) -> str:
    held, below, above, alarms, missed, empty = 0, 0, 0, 0, 0, 0
    widths: list[float] = []
    truths: list[float] = []
    values: F64Array = np.zeros(0)
    shape = ""
    for seed in range(seeds):
        result = lookalike.pairs(kind.sets, threshold=kind.threshold, recall=recall, seed=seed, measure="jaccard")
        certificate = result.report["certificate"]
        low, high = certificate["recall"]["low"], certificate["recall"]["high"]
        truth = len(result) / kind.pairs
        held += low <= truth <= high
        below, above = below + (truth < low), above + (truth > high)
        alarms += bool(certificate["alarms"])
        missed += len(result) < kind.pairs
        empty += certificate["recall"]["basis"] == "audit"
        widths.append(high - low)
        truths.append(truth)
        shape = f"{result.report['bands']} x {result.report['rows_per_band']}"
    values = np.array(truths)
    return (
        f"{shape:>8} {values.mean():.4f} {values.min():.4f} {held / seeds:6.3f} {below:5} {above:5} "
        f"{np.mean(widths):.4f} {missed / seeds:6.2f} {alarms:6}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="one of the collections; all by default")
    parser.add_argument("--recall", action="append", type=float, help="the recall asked for; 0.6, 0.9 and 0.99")
    parser.add_argument("--seeds", type=int, default=200)
    given = parser.parse_args()
    print("                         plan   true recall    held below above  width missed alarms")
    print("                                 mean  least                            any")
    for name in given.kind or KINDS:
        kind = made(name)
        for recall in given.recall or (0.6, 0.9, 0.99):
            begun = time.perf_counter()
            line = measure(kind, recall, given.seeds)
            print(f"{name:10} {kind.pairs:7,} {recall:4} {line}  {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
