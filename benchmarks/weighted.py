"""How fast raw text becomes weighted sketches: shingles, document frequencies, weights, 96 slots, on one core.

    python -m benchmarks.weighted [--docs 10000] [--bytes 2000] [--shingle word:5] [--rounds 5]

Each step is timed from raw text (1,000 documents at a time) and takes its turn with the others; a figure is the median
of the rounds. MB is 10^6 bytes of UTF-8. "both passes" is all there is to do: counting documents, then counting again,
weighing and sketching.

Where datasketch is installed (benchmarks/requirements.txt), its WeightedMinHash sketches the same bags. It needs a
vocabulary, three tables of K numbers for each word of it, so the bags are of single words there, ready made for both:
what is timed is bags in, sketches out. "error" is the root mean square difference between the share of equal slots and
the exact weighted Jaccard similarity of planted near-duplicates, and beside it what K independent slots would have.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.collection import Recipe, documents, families, is_copy
from benchmarks.sketch import pin_to_one_core
from lookalike.represent.document_counts import Frequencies
from lookalike.represent.text_sets import shingle_texts
from lookalike.represent.weights import bm25, count_shingles, tf_idf
from lookalike.shingle import Shingle, parse_shingle
from lookalike.sketch.dart_minhash import sketch_bags
from lookalike.sketch.minhash import constants, sketch_sets
from lookalike.types import Sets
from lookalike.verify.weighted import bag_rows, weighted_jaccard

SLOTS = 96
BATCH = 1_000
# Its temporary arrays are bags · K numbers, four at a time: 200 was the fastest of 50, 100, 200 and 1,000.
PEER_BATCH = 200

Step = Callable[[], object]
Slots = NDArray[np.generic]


def clock(step: Step) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def in_turns(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """Median seconds of each."""
    for step in steps.values():
        step()
    seconds = [{name: clock(step) for name, step in steps.items()} for _ in range(rounds)]
    return {name: median(each[name] for each in seconds) for name in steps}


def bag_sketch(sets: Sets) -> Slots:
    assert sets.weights is not None
    return sketch_bags(sets.offsets, sets.values, sets.weights, SLOTS, 0)


def text_steps(batches: list[pa.Array], shingle: Shingle) -> dict[str, Step]:
    a, b = constants(SLOTS, 0)
    frequencies = Frequencies()

    def count(into: Frequencies) -> None:
        for texts in batches:
            into.add(count_shingles(texts, shingle))

    def weigh(by: Callable[[Sets, Frequencies], Sets]) -> None:
        for texts in batches:
            bag_sketch(by(count_shingles(texts, shingle), frequencies))

    def both() -> None:
        count(Frequencies())
        weigh(tf_idf)

    count(frequencies)
    return {
        "plain sets, min-hash": lambda: [sketch_sets(shingle_texts(texts, shingle), a, b) for texts in batches],
        "first pass: document frequencies": lambda: count(Frequencies()),
        "second pass: tf·idf, darts": lambda: weigh(tf_idf),
        "second pass: BM25, darts": lambda: weigh(bm25),
        "both passes, tf·idf": both,
    }


def peer(bags: Sets) -> Callable[[], Slots]:
    """datasketch on the same bags, as rows of a sparse matrix over their vocabulary."""
    from datasketch import WeightedMinHashGenerator
    from scipy import sparse  # type: ignore[import-untyped]

    assert bags.weights is not None
    words, places = np.unique(bags.values, return_inverse=True)
    generator = WeightedMinHashGenerator(len(words), SLOTS, seed=1)
    matrix = sparse.csr_matrix((bags.weights, places, bags.offsets), shape=(len(bags), len(words)))
    starts = range(0, len(bags), PEER_BATCH)

    def sketch() -> Slots:
        made: list[Any] = [each for at in starts for each in generator.minhash_many(matrix[at : at + PEER_BATCH])]
        values = np.array([each.hashvalues for each in made], np.int64)
        # Word and step of a sample in one number.
        return values[:, :, 0] * 2**32 + values[:, :, 1]

    return sketch


def errors(slots: Slots, bags: Sets, left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[float, float]:
    """Root mean square error over these pairs, and that of independent slots."""
    assert bags.weights is not None
    exact = weighted_jaccard(*bag_rows(bags.offsets, bags.values, bags.weights), left, right, 0.0)
    found = (slots[left] == slots[right]).mean(axis=1)
    return math.sqrt(np.mean((found - exact) ** 2)), math.sqrt(np.mean(exact * (1 - exact)) / SLOTS)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Raw text to weighted sketches on one core.")
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=2_000, help="mean length of a text")
    parser.add_argument("--shingle", default="word:5")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer-docs", type=int, default=1_000, help="documents that datasketch gets, too")
    return parser.parse_args()


def main() -> None:
    options = parse()
    pinned = pin_to_one_core()
    recipe = Recipe(options.docs, options.bytes)
    family = families(recipe)
    texts = documents(recipe, family, is_copy(family), 0)["text"].combine_chunks()
    size = texts.nbytes - 4 * len(texts)
    batches = [texts.slice(at, BATCH) for at in range(0, len(texts), BATCH)]

    view = Table(title=f"{len(texts):,} documents of {size / len(texts):,.0f} bytes, {options.shingle}, K = {SLOTS}")
    for heading in ("from raw text", "MB/s", "µs a document"):
        view.add_column(heading, justify="left" if heading == "from raw text" else "right")
    for name, seconds in in_turns(text_steps(batches, parse_shingle(options.shingle)), options.rounds).items():
        view.add_row(name, f"{size / 1e6 / seconds:.1f}", f"{seconds / len(texts) * 1e6:.1f}")
    console = Console()
    console.print(view)

    # The members of families one after another: the first of them have copies.
    kin = np.argsort(family, kind="stable")
    kin = kin[family[kin] >= 0][: options.peer_docs]
    related = np.flatnonzero(np.diff(family[kin]) == 0)
    words = count_shingles(texts.take(pa.array(kin)), parse_shingle("word:1"))
    frequencies = Frequencies()
    frequencies.add(words)
    bags = tf_idf(words, frequencies)
    sketches: dict[str, Callable[[], Slots]] = {"darts": lambda: bag_sketch(bags)}
    try:
        sketches["datasketch"] = peer(bags)
    except ImportError as error:
        console.print(f"MISSING: datasketch takes no part: {error}", style="bold red")
    took = in_turns(dict(sketches), options.rounds)
    view = Table(
        title=f"{len(bags):,} bags of {len(bags.values) / len(bags):.0f} words, {len(related):,} pairs, K = {SLOTS}"
    )
    for heading in ("from bags", "µs a bag", "times as long", "error", "independent"):
        view.add_column(heading, justify="left" if heading == "from bags" else "right")
    for name, sketch in sketches.items():
        found, ideal = errors(sketch(), bags, related, related + 1)
        micro = took[name] / len(bags) * 1e6
        view.add_row(name, f"{micro:,.1f}", f"{took[name] / took['darts']:.1f}", f"{found:.4f}", f"{ideal:.4f}")
    console.print(view)
    console.print(f"medians of {options.rounds} rounds in turns, one thread{', pinned to one core' if pinned else ''}")


if __name__ == "__main__":
    main()
