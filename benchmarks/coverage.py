"""Does the 95% interval of the certificate hold the true recall in 95 of 100 runs?

    python -m benchmarks.coverage                          all collections and plans, 200 seeds each
    python -m benchmarks.coverage --kind baskets --seeds 20 --jobs 2

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
import functools
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

import lookalike
from lookalike.types import I64Array


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


@dataclass(frozen=True)
class Run:
    """What one run found, and what it stated."""

    shape: str
    found: int
    low: float
    high: float
    alarms: int


made_once = functools.lru_cache(maxsize=None)(made)


def run(name: str, recall: float, threads: int | None, seed: int) -> Run:
    kind = made_once(name)
    result = lookalike.pairs(
        kind.sets, threshold=kind.threshold, recall=recall, seed=seed, measure="jaccard", threads=threads
    )
    report = result.report
    certificate = report["certificate"]
    low, high = certificate["recall"]["low"], certificate["recall"]["high"]
    shape = f"{report['bands']} x {report['rows_per_band']}"
    return Run(shape, len(result), low, high, len(certificate["alarms"]))


def told(pairs: int, runs: list[Run]) -> str:
    truth = np.array([each.found for each in runs]) / pairs
    low, high = np.array([(each.low, each.high) for each in runs]).T
    held = (low <= truth) & (truth <= high)
    return (
        f"{runs[-1].shape:>8} {truth.mean():.4f} {truth.min():.4f} {held.mean():6.3f} {(truth < low).sum():5} "
        f"{(truth > high).sum():5} {(high - low).mean():.4f} {(truth < 1).mean():6.2f} "
        f"{sum(each.alarms > 0 for each in runs):6}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="one of the collections; all by default")
    parser.add_argument("--recall", action="append", type=float, help="the recall asked for; 0.6, 0.9 and 0.99")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="processes that run side by side, of one thread each")
    given = parser.parse_args()
    print("                         plan   true recall    held below above  width missed alarms")
    print("                                 mean  least                            any")
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for name in given.kind or KINDS:
            pairs = made_once(name).pairs
            for recall in given.recall or (0.6, 0.9, 0.99):
                begun = time.perf_counter()
                task = functools.partial(run, name, recall, 1 if given.jobs > 1 else None)
                line = told(pairs, list((pool.map if given.jobs > 1 else map)(task, range(given.seeds))))
                print(f"{name:10} {pairs:7,} {recall:4} {line}  {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
