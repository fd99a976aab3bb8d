"""The collection of the batch benchmarks: a fixed recipe for Parquet files with planted near-duplicates, and the truth.

    python -m benchmarks.collection OUT.parquet --docs 1000000 --bytes 2000 [--truth TRUTH.parquet]
    python -m benchmarks.collection OUT.parquet --template-share 0.3 --template-similarity 0.9
    python -m benchmarks.collection --truth-of OUT.parquet TRUTH.parquet
    python -m benchmarks.collection --strangers-in OUT.parquet

The recipe. Text is that of text.py, at the length asked for; beside it stand an id, an address and a date, so that
there is more than text to copy. 30% of the documents are copies of an earlier one, a tenth of these unchanged. The
others have words replaced, scattered, or in one passage, or at the end, as many as give an exact Jaccard similarity of
word 5-shingles that is uniform over 0.5 to 1. An original has 1 to 20 copies, c of them with a chance proportional to
1/c². 5% of the documents are made from five templates: the template's words, and the document's own at the end, as many
as give any two documents of one template a similarity of 0.6 (three templates) or 0.9 (two). `--template-similarity`
asks for one template instead.

The layout: the members of a family are numbered in a row, and number i stands at the fraction i·φ of the file, give or
take 0.005 (φ is the golden section). So every part of the file has the same share of families and templates (and more
of the copies lie towards its end, as the original comes first), and two documents of a family lie at least 2% of the
file apart: in different row groups, where there are 50 of them.

Any document can be made without the others: its words come from a stream of random numbers whose key is the family, its
changes from one whose key is its id. So an original at the other end of the file costs no memory. 1 million documents
of 2 kB take 2 minutes on two busy cores and 0.6 GB of memory, 10 million of 500 bytes 5 minutes and 0.4 GB; zstd packs
both files 2.8 times. The truth of 1 million takes 2 minutes.

The truth holds a, b (a < b) and the similarity of every pair of one family at 0.5 or more, counted with Python's sets
over `re` words. Pairs inside a template are left out, because they are quadratic. `--strangers-in` counts the shared
shingles of all pairs by an inverted index. Of 20,000 documents no two from different families or templates are more
alike than 0.02 (2 kB) or 0.04 (500 bytes): the truth is whole.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.contenders import SHINGLE, python_shingles
from benchmarks.text import WORDS, Style, any_words, draft, spell

BATCH = 2_000  # documents made at a time
# Few topics, and more of their words: zstd as pyarrow sets it (level 1) packs plain text.py 2.2 times, this 2.7 times.
STYLE = Style(following=0.62, topical=0.33, topic_words=8, topics=30)
BYTES_PER_WORD = 6.31  # in this style, with what stands between
COPIES, IDENTICAL = 0.30, 0.03  # shares of all documents
MOST_COPIES = 20  # of one original
LEAST = 0.5  # similarity that counts as near, in the recipe and in the truth
SITES = 5_000
TRUTH_AT_ONCE = 200_000  # documents whose shingles are looked at in one pass over the file

SCHEMA = pa.schema([("id", pa.int64()), ("url", pa.string()), ("text", pa.string()), ("date", pa.timestamp("ms"))])
TRUTH = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("similarity", pa.float64())])
RECIPE = b"benchmarks.collection"  # where the recipe stands in the metadata of the file


@dataclass(frozen=True)
class Recipe:
    docs: int
    bytes: int = 2_000
    seed: int = 0
    template_share: float = 0.05
    template_similarities: tuple[float, ...] = (0.6, 0.9, 0.6, 0.9, 0.6)

    def lengths(self) -> tuple[int, int]:
        """Fewest and most words of a document: as far from the mean as in text.py."""
        stretch = self.bytes / BYTES_PER_WORD / (sum(WORDS) / 2)
        return round(WORDS[0] * stretch), round(WORDS[1] * stretch)


class Rows:
    """Random numbers by row, SplitMix64 (Steele, Lea, Flood 2014): row i depends on key i alone, so a document comes
    out the same whatever is made beside it."""

    GOLDEN = np.uint64(0x9E3779B97F4A7C15)

    def __init__(self, seed: int, stream: int, numbers: NDArray[np.signedinteger]) -> None:
        start = np.random.default_rng([seed, stream]).integers(2**63, dtype=np.uint64)
        self.keys = self._mix(start + numbers.astype(np.uint64) * self.GOLDEN)
        self.drawn = 0

    @staticmethod
    def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state ^= state >> np.uint64(shift)
            state *= np.uint64(factor)
        state ^= state >> np.uint64(31)
        return state

    def random(self, size: int | tuple[int, int]) -> NDArray[np.float64]:
        """Uniform in [0, 1): one number or a row of numbers for each key."""
        columns = 1 if isinstance(size, int) else size[1]
        steps = np.arange(self.drawn + 1, self.drawn + columns + 1, dtype=np.uint64) * self.GOLDEN
        self.drawn += columns
        numbers = np.empty((len(self.keys), columns))
        block = 1 + 32_768 // columns  # stays in the second-level cache
        for start in range(0, len(self.keys), block):
            mixed = self._mix(self.keys[start : start + block, None] + steps) >> np.uint64(11)
            np.multiply(mixed, 2.0**-53, out=numbers[start : start + block])
        return numbers.reshape(size)


def families(recipe: Recipe) -> NDArray[np.int32]:
    """The family of every document, in the order of the file; a document by itself has a family of its own, and the
    documents of template t are family -1 - t."""
    rng = np.random.default_rng([recipe.seed, 0])
    copies, templated = round(COPIES * recipe.docs), round(recipe.template_share * recipe.docs)
    weight = 1.0 / np.arange(1, MOST_COPIES + 1) ** 2
    sizes = 2 + np.searchsorted(np.cumsum(weight / weight.sum())[:-1], rng.random(copies))
    members = np.repeat(np.arange(copies, dtype=np.int32), sizes)
    # the first families that hold `copies` copies in all; the last of them is cut
    enough = int(np.searchsorted(np.cumsum(sizes - 1), copies)) + 1 if copies else 0
    alone = recipe.docs - copies - enough - templated
    if alone < 0:
        raise ValueError(f"a template share of {recipe.template_share} leaves too few documents for the copies")
    numbers = np.empty(recipe.docs, dtype=np.int32)
    related = copies + enough
    numbers[:related] = members[:related]
    numbers[related : related + alone] = np.arange(enough, enough + alone)
    numbers[related + alone :] = -1 - np.arange(templated) % len(recipe.template_similarities)
    place = np.arange(recipe.docs) * ((5**0.5 - 1) / 2) % 1.0 + 0.01 * rng.random(recipe.docs)
    return numbers[np.argsort(place)]


def is_copy(family: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which documents are no originals: those whose family was met before, and all of a template."""
    copy = np.ones(len(family), dtype=np.bool_)
    copy[np.unique(family, return_index=True)[1]] = False
    copy[family < 0] = True
    return copy


def changes(recipe: Recipe, family: NDArray[np.int32], lengths: NDArray[np.int64], own: Rows) -> NDArray[np.bool_]:
    """Which words of the copies are replaced, copies x longest length.

    Replacing l words in a row costs a document l + 4 of its n shingles, a single word 5, and the last l words cost l. A
    copy that has lost k is similar to its original by (n - k) / (n + k); so are two documents of a template, each of
    which has k of its own. So k = n (1 - s) / (1 + s), rounded down: the similarity s is reached or exceeded.
    """
    reach = SHINGLE - 1
    identical, how, share, where = own.random((len(family), 4)).T
    templated = family < 0
    asked = np.asarray(recipe.template_similarities)[-1 - np.minimum(family, -1)]
    similarity = np.where(templated, asked, LEAST + (1 - LEAST) * share)
    lost = ((lengths - reach) * (1 - similarity) / (1 + similarity) + 1e-9).astype(np.int64)
    same = ~templated & (identical < IDENTICAL / COPIES)
    inside = ~templated & ~same & (lost >= SHINGLE)
    passage, scattered = inside & (how < 1 / 3), inside & (how >= 2 / 3)

    # What is neither, and so every template, changes at the end: there a document has most words of its own.
    run = np.where(passage, lost - reach, np.maximum(lost, 1))
    start = np.where(passage, reach + (where * (lengths - run - 2 * reach)).astype(np.int64), lengths - run)
    run[same | scattered] = 0
    position = np.arange(recipe.lengths()[1])
    mask: NDArray[np.bool_] = (position >= start[:, None]) & (position < (start + run)[:, None])

    # Scattered words: one in each of `count` equal stretches, never two within a shingle.
    rows, count = np.flatnonzero(scattered), (lost // SHINGLE)[scattered]
    stretch = (lengths[scattered] / np.maximum(count, 1))[:, None]
    number = np.arange(len(position) // (3 * SHINGLE) + 1)  # no more than a third of the shingles is lost
    jitter = own.random((len(family), len(number)))[rows]
    chosen = np.ceil(number * stretch + jitter * (stretch - SHINGLE)).astype(np.int64)
    row, column = np.nonzero(number < count[:, None])
    mask[rows[row], chosen[row, column]] = True
    return mask


def documents(recipe: Recipe, family: NDArray[np.int32], copy: NDArray[np.bool_], start: int) -> pa.Table:
    """The documents from `start` on, whose families are given, and which of them are copies."""
    ids = np.arange(start, start + len(family))
    drafted = draft(Rows(recipe.seed, 1, family), len(family), recipe.lengths(), STYLE)
    own = Rows(recipe.seed, 2, ids[copy])
    mask = changes(recipe, family[copy], drafted.lengths[copy], own)
    words = drafted.words[copy]
    words[mask] = any_words(own.random(mask.shape)[mask])
    drafted.words[copy] = words

    site, moment = Rows(recipe.seed, 3, ids).random((len(ids), 2)).T
    sites = pa.array([f"https://www.site-{number}.example/article" for number in range(SITES)])
    url = pc.binary_join_element_wise(
        sites.take(pa.array((SITES * site**2).astype(np.int32))), pc.cast(ids, "string"), "/"
    )
    date = np.datetime64("2016-01-01", "ms") + (moment * 10 * 365 * 86_400_000).astype("timedelta64[ms]")
    return pa.table([pa.array(ids), url, spell(drafted), pa.array(date)], schema=SCHEMA)


def write(recipe: Recipe, outputs: list[Path], row_group: int) -> None:
    """The collection in files of equal size; what is in memory is a row group."""
    family = families(recipe)
    copy = is_copy(family)
    schema = SCHEMA.with_metadata({RECIPE: json.dumps(asdict(recipe))})

    def batch(start: int, stop: int) -> pa.Table:
        return documents(recipe, family[start:stop], copy[start:stop], start)

    with ThreadPoolExecutor() as pool:
        for number, output in enumerate(outputs):
            first, last = (recipe.docs * at // len(outputs) for at in (number, number + 1))
            with pq.ParquetWriter(output, schema, compression="zstd") as writer:
                for start in range(first, last, row_group):
                    stop = min(start + row_group, last)
                    starts = list(range(start, stop, BATCH))
                    parts = list(pool.map(batch, starts, [*starts[1:], stop]))
                    writer.write_table(pa.concat_tables(parts).cast(schema), row_group_size=row_group)


def parquet_files(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def recipe_of(path: Path) -> Recipe:
    """The recipe that a collection was made by."""
    metadata = pq.read_schema(parquet_files(path)[0]).metadata or {}
    if RECIPE not in metadata:
        raise SystemExit(f"{path} was not written by benchmarks.collection")
    facts = json.loads(metadata[RECIPE])
    return Recipe(**facts | {"template_similarities": tuple(facts["template_similarities"])})


def read_texts(path: Path) -> Iterator[tuple[NDArray[np.int64], pa.Array]]:
    """Ids and texts, a row group at a time."""
    for file in map(pq.ParquetFile, parquet_files(path)):
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, ["id", "text"]).combine_chunks()
            yield table["id"].to_numpy(), table["text"].chunk(0)


def jaccard(a: set[str], b: set[str]) -> float:
    both = len(a & b)
    return both / (len(a) + len(b) - both)


def truth(path: Path, least: float = LEAST) -> Iterator[pa.Table]:
    """Pairs of one family with their exact similarity, in several tables; a pass over the file for each."""
    family = families(recipe_of(path))
    size = np.bincount(np.maximum(family, -1) + 1, minlength=1)[1:]
    passes = 1 + int(size[size > 1].sum()) // TRUTH_AT_ONCE
    shingles = python_shingles(False)
    for number in range(passes):
        members = defaultdict[int, list[tuple[int, str]]](list)
        for ids, texts in read_texts(path):
            own = family[ids]
            wanted = np.flatnonzero((own >= 0) & (size[own] > 1) & (own % passes == number))
            for item, text in zip(ids[wanted].tolist(), texts.take(pa.array(wanted)).to_pylist(), strict=True):
                members[int(family[item])].append((item, text))
        rows = []
        for group in members.values():
            sets = [(item, set(shingles(text))) for item, text in sorted(group)]
            scored = ((a, b, jaccard(first, second)) for (a, first), (b, second) in combinations(sets, 2))
            rows += [row for row in scored if row[2] >= least]
        columns = zip(*sorted(rows), strict=True) if rows else ([], [], [])
        yield pa.table([pa.array(column, kind.type) for column, kind in zip(columns, TRUTH, strict=True)], schema=TRUTH)


def write_truth(path: Path, output: Path) -> tuple[int, int]:
    """Writes the truth; returns how many pairs it holds, and how many are at 0.8 or above."""
    pairs = alike = 0
    with pq.ParquetWriter(output, TRUTH, compression="zstd") as writer:
        for table in truth(path):
            writer.write_table(table)
            pairs += len(table)
            alike += pc.sum(pc.greater_equal(table["similarity"], 0.8)).as_py() or 0
    return pairs, alike


def strangers(path: Path) -> tuple[int, float]:
    """How many pairs of documents from different families or templates share a shingle, and the highest similarity."""
    family = families(recipe_of(path))
    shingles = python_shingles(False)
    number: dict[str, int] = {}
    sets = [
        np.array([number.setdefault(shingle, len(number)) for shingle in set(shingles(text))])
        for _, texts in read_texts(path)
        for text in texts.to_pylist()
    ]
    sizes = np.array([len(members) for members in sets])
    every = np.concatenate(sets)
    holders = np.repeat(np.arange(len(sets)), sizes)[np.argsort(every, kind="stable")]
    held = np.bincount(every)
    ends = np.cumsum(held)
    pairs, highest = 0, 0.0
    for document, members in enumerate(sets):
        met = [holders[ends[member] - held[member] : ends[member]] for member in members[held[members] > 1]]
        other, both = np.unique(np.concatenate([holders[:0], *met]), return_counts=True)
        foreign = (other > document) & (family[other] != family[document])
        similarity = both[foreign] / (sizes[document] + sizes[other[foreign]] - both[foreign])
        pairs += len(similarity)
        highest = max(highest, float(similarity.max(initial=0.0)))
    return pairs, highest


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Write a collection with planted near-duplicates, or its truth.")
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="OUT.parquet, or the file to look at")
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=2_000, help="mean length of a text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--template-share", type=float, default=Recipe.template_share)
    parser.add_argument("--template-similarity", type=float, help="one template, of this similarity")
    parser.add_argument("--files", type=int, default=1, help="more than one: OUT becomes a folder")
    parser.add_argument("--row-group", type=int, default=20_000, help="documents a row group")
    parser.add_argument("--truth", type=Path, help="also write the truth to this file")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--truth-of", action="store_true", help="PATH PATH: the truth of the first to the second")
    other.add_argument("--strangers-in", action="store_true", help="how similar documents of different families are")
    options = parser.parse_args()
    if len(options.paths) != (2 if options.truth_of else 1):
        parser.error("--truth-of needs two paths, everything else one")
    if not 0 <= options.template_share <= 0.5 or not LEAST <= (options.template_similarity or LEAST) <= 0.95:
        parser.error(f"--template-share is 0 to 0.5, --template-similarity is {LEAST} to 0.95")
    if options.docs < 1 or options.bytes < 200 or options.files < 1 or options.row_group < 1:
        parser.error("--bytes must be at least 200, the other numbers at least 1")
    return options


def main() -> None:
    options = parse()
    start = time.perf_counter()
    path = options.paths[0]
    if options.strangers_in:
        pairs, highest = strangers(path)
        print(f"{pairs:,} pairs from different families share a shingle; the highest similarity is {highest:.3f}")
        return
    if not options.truth_of:
        recipe = Recipe(options.docs, options.bytes, options.seed, options.template_share)
        if options.template_similarity is not None:
            recipe = replace(recipe, template_similarities=(options.template_similarity,))
        outputs = [path]
        if options.files > 1:
            path.mkdir(parents=True, exist_ok=True)
            outputs = [path / f"part-{number + 1:04}.parquet" for number in range(options.files)]
        write(recipe, outputs, options.row_group)
        size = sum(output.stat().st_size for output in outputs)
        print(f"{recipe.docs:,} documents, {size / 1e6:,.1f} MB on disk, {time.perf_counter() - start:.1f} s", end=", ")
        print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB of memory")
    target = options.paths[1] if options.truth_of else options.truth
    if target:
        start = time.perf_counter()
        pairs, alike = write_truth(path, target)
        print(f"{pairs:,} pairs at {LEAST} or above, {alike:,} at 0.8, {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
