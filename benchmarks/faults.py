"""Which faults does a run notice in itself? Each is planted in turn, in 10 runs on 20,000 texts with 1,000 pairs.

    python -m benchmarks.faults            all of them
    python -m benchmarks.faults --runs 3

The healthy runs come first: they must raise no alarm. Faults are put in by replacing a function of the program, so the
list is also a list of what each part of the certificate is there for.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

import lookalike
from lookalike.budget import Budget
from lookalike.collide.buckets import Walk
from lookalike.engines.local.comparing import Comparing
from lookalike.engines.local.store.matches import Matches
from lookalike.measures.set_measures import Jaccard
from lookalike.represent import text_sets as represent_text
from lookalike.sketch import minhash
from lookalike.types import F64Array, I64Array, Sets, U32Array, U64Array

Fault = Callable[[ExitStack, np.random.Generator], None]
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]


def made(seed: int, items: int = 20_000, pairs: int = 1000) -> list[str]:
    """Texts of 60 words; 1,000 of them are copies with one to three words changed."""
    rng = np.random.default_rng(seed)
    texts = [rng.choice(WORDS, 120).tolist() for _ in range(items - pairs)]
    for original in rng.choice(items - pairs, pairs, replace=False).tolist():
        copy = list(texts[original])
        for at in rng.choice(len(copy), int(rng.integers(1, 3)), replace=False).tolist():
            copy[at] = str(rng.choice(WORDS))
        texts.append(copy)
    return [" ".join(texts[i]) for i in rng.permutation(items).tolist()]


def healthy(stack: ExitStack, rng: np.random.Generator) -> None:
    """Nothing is wrong."""


def skipped_candidates(stack: ExitStack, rng: np.random.Generator) -> None:
    """3% of the candidates are not compared."""
    whole = Walk.span

    def some(self: Walk, *arguments: Any, **options: Any) -> Iterator[tuple[I64Array, I64Array]]:
        for left, right in whole(self, *arguments, **options):
            stay = rng.random(len(left)) >= 0.03
            yield left[stay], right[stay]

    stack.enter_context(mock.patch.object(Walk, "span", some))


def lost_matches(stack: ExitStack, rng: np.random.Generator) -> None:
    """5% of the matches are lost."""
    whole = Matches.add

    def add(self: Matches, left: I64Array, right: I64Array, similarity: F64Array) -> None:
        stay = rng.random(len(left)) >= 0.05
        whole(self, left[stay], right[stay], similarity[stay])

    stack.enter_context(mock.patch.object(Matches, "add", add))


def lost_part(stack: ExitStack, rng: np.random.Generator) -> None:
    """One of some 13 spilled parts is not compared."""
    whole = Comparing._compare

    def for_rows(self: Budget, items: int) -> int:
        return 150_000

    def compare(self: Comparing, held: Any) -> Any:
        parts = self.held.parts
        return [] if len(parts) > 1 and held is parts[len(parts) // 2] else whole(self, held)

    stack.enter_context(mock.patch.object(Comparing, "_compare", compare))
    stack.enter_context(mock.patch.object(Budget, "rows", for_rows))


def repeated_bands(stack: ExitStack, rng: np.random.Generator) -> None:
    """Half of the bands repeat the other half."""
    whole = minhash.constants

    def constants(slots: int, seed: int) -> tuple[U32Array, U32Array]:
        a, b = whole(slots, seed)
        half = slots // 2
        a[half : 2 * half], b[half : 2 * half] = a[:half], b[:half]
        return a, b

    stack.enter_context(mock.patch("lookalike.measures.set_measures.constants", constants))


def garbage_sketches(stack: ExitStack, rng: np.random.Generator) -> None:
    """2% of the sketches are garbage."""
    whole = Jaccard.band

    def band(self: Jaccard, sketch: U32Array, sets: Sets) -> U64Array:
        made = whole(self, sketch, sets)
        for place in np.flatnonzero(rng.random(len(sets)) < 0.02).tolist():
            made[:, place] = rng.integers(0, 2**64, len(made), dtype=np.uint64)
        return made

    stack.enter_context(mock.patch.object(Jaccard, "band", band))


def last_word(stack: ExitStack, rng: np.random.Generator) -> None:
    """The last word of every text is dropped, in both passes."""
    whole = represent_text.shingle_texts

    def shingled(items: Any, *arguments: Any, **options: Any) -> Sets:
        import pyarrow as pa

        texts = [None if each is None else each.rpartition(" ")[0] for each in items.to_pylist()]
        return whole(pa.array(texts, items.type), *arguments, **options)

    stack.enter_context(mock.patch("lookalike.measures.shingled_texts.shingle_texts", shingled))


FAULTS: list[Fault] = [
    healthy, skipped_candidates, lost_matches, lost_part, repeated_bands, garbage_sketches, last_word,
]  # fmt: skip


def alarms_of(texts: list[str], fault: Fault, seed: int) -> list[str]:
    """The alarms of one run with the fault in it."""
    with ExitStack() as stack:
        fault(stack, np.random.default_rng(seed))
        alarms: list[str] = lookalike.pairs(texts, seed=seed).report["certificate"]["alarms"]
    return alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--fault", action="append", choices=[each.__name__ for each in FAULTS])
    given = parser.parse_args()
    chosen = [each for each in FAULTS if not given.fault or each.__name__ in given.fault]
    noticed = dict.fromkeys(chosen, 0)
    example: dict[Fault, str] = {}
    for run in range(given.runs):
        texts = made(run)
        for fault in chosen:
            alarms = alarms_of(texts, fault, run)
            noticed[fault] += bool(alarms)
            example.setdefault(fault, alarms[0] if alarms else "")
    for fault in chosen:
        print(f"{fault.__doc__:55} {noticed[fault]:3} of {given.runs}   {example[fault]}")


if __name__ == "__main__":
    main()
