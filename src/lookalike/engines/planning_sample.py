"""How similar unrelated items are: measured on a sample of the data, for the planner.

The cost of a plan is what it lets through below the threshold, and that depends on the data: two news stories share
almost no five-word shingle, two product titles share half of their characters. A sample of n items has n(n-1)/2 pairs;
their exact similarities stand for those of all pairs. The items are chosen by fingerprint, so the order of the input
does not matter.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace

import numpy as np

from lookalike.collide.group import group
from lookalike.collide.overlap import add_overlaps
from lookalike.config import Config
from lookalike.io.source import locating
from lookalike.items.from_rows import Items
from lookalike.measures import Judge, Measure
from lookalike.types import F64Array, I64Array, U64Array

__all__ = ["SAMPLE_ITEMS", "Sample", "sample_items"]

# 1,000 items have half a million pairs: a similarity that one pair in 100,000 has is seen five times, in half a second.
SAMPLE_ITEMS = 1000

# Words that are compared where each pair of the sample is: half a second.
_COMPARED_WORDS = 5e7

_BINS = 200
# Pairs from this similarity on may be copies, or share a template.
_ALIKE = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sample of the items tells: how similar pairs of them are, and how large they are.

    `similarities` and `shares` are the similarities of pairs and the share of pairs at each. `rows` and `stored_bytes`
    are what was read for it, `text_bytes` the text of its `items`, of which `compared` different ones were compared.
    """

    similarities: F64Array
    shares: F64Array
    pairs: int
    mean_size: int
    items: int
    rows: int
    stored_bytes: int
    text_bytes: int
    compared: int

    def cautious(self, threshold: float) -> tuple[F64Array, F64Array]:
        """The background for the planner, with one more pair spread evenly below the threshold.

        What one pair in half a million has, a sample of a thousand items may well not show.
        """
        if not len(self.similarities):
            return self.similarities, self.shares
        below = self.similarities < threshold
        more = np.where(below, 1.0 / max(1, below.sum()), 0.0) / (self.pairs + 1)
        return self.similarities, self.shares * self.pairs / (self.pairs + 1) + more


def sample_items(items: Items, measure: Measure, config: Config, rows: int | None = None) -> Sample:
    """A sample of up to 1,000 different items from the first rows, or from all of them."""
    judge = measure.judge(replace(config, verify="exact"))
    assert judge is not None
    drawn = _Smallest()
    read = text = seen = 0

    def on_read(count: int) -> None:
        nonlocal read
        read += count

    batches = items.batches(on_read=on_read)
    with contextlib.closing(batches):
        for batch in batches:
            some = len(batch.values)
            if rows is not None:
                some = int(np.searchsorted(batch.rows, rows))
            # Readers tell of a batch's bytes when it is whole; its share is what these rows took.
            part = batch.values.slice(0, some)
            with locating(batch.batch, items.source, batch.rows):
                represented = measure.represent(part)
            drawn.add(represented.fingerprints[:, 0], *judge.rows(represented), represented.sizes)
            text += part.nbytes
            seen = batch.batch.first + batch.batch.rows.num_rows
            if rows is not None and seen >= rows:
                break
    if not seen:
        return Sample(np.empty(0), np.empty(0), 0, 1, 0, 0, 0, 0, 0)
    values, sizes = drawn.first(SAMPLE_ITEMS if judge.has_elements else drawn.compared())
    mean = max(1, round(float(sizes.mean()))) if len(sizes) else 1
    count = min(seen, rows) if rows is not None else seen
    stored = int(read * count / max(1, seen))
    n = len(values)
    read_so_far = (drawn.seen, count, stored, text, n)
    pairs = n * (n - 1) // 2
    if not judge.has_elements:
        return Sample(
            *_quantiles(config.scale.measured(np.sort(_scores(values, judge))[::-1])), pairs, mean, *read_so_far
        )
    shares = np.zeros(_BINS + 1)
    if pairs:
        similarities = _background(_all_pairs(values), n)
        # Rounded up, so that no pair looks less similar than it is; 7/50 in 200 bins is 28, not 28.000000000000004.
        places = np.ceil(similarities * _BINS - 1e-9).astype(np.int64)
        counted = np.bincount(places, minlength=_BINS + 1)
        shares[1:] = counted[1:] / pairs
    at = np.arange(_BINS + 1) / _BINS
    return Sample(at[1:], shares[1:], pairs, mean, *read_so_far)


class _Smallest:
    """The different items with the smallest fingerprints of all that pass by; no more of them are held than are taken.

    Identical items are folded before anything is compared, and the sample must not hold them twice either.
    """

    def __init__(self) -> None:
        self.seen = 0
        self._words = 0
        self._prints = np.empty(0, np.uint64)
        self._sizes = np.empty(0, np.int64)
        self._rows: list[U64Array] = []

    def add(self, fingerprints: U64Array, offsets: I64Array, words: U64Array, sizes: I64Array) -> None:
        self.seen += len(sizes)
        self._words += len(words)
        prints = np.concatenate([self._prints, fingerprints])
        every = np.concatenate([self._sizes, sizes])
        _, first = np.unique(prints, return_index=True)
        stay = first[every[first] > 0][:SAMPLE_ITEMS]
        held = len(self._rows)
        self._rows = [
            self._rows[i] if i < held else words[offsets[i - held] : offsets[i - held + 1]].copy()
            for i in stay.tolist()
        ]
        self._prints, self._sizes = prints[stay], every[stay]

    def compared(self) -> int:
        """How many items to compare one by one: fewer where they are long."""
        mean = self._words / max(1, self.seen)
        return min(SAMPLE_ITEMS, max(50, int(math.sqrt(_COMPARED_WORDS / max(1.0, mean)))))

    def first(self, most: int) -> tuple[list[U64Array], I64Array]:
        """(rows, sizes) of so many items."""
        return self._rows[:most], self._sizes[:most]


def _scores(rows: list[U64Array], judge: Judge) -> F64Array:
    """The scores of all pairs, compared one by one."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    left, right = np.triu_indices(len(rows), k=1)
    return judge.compare(offsets, np.concatenate([np.empty(0, np.uint64), *rows]), left, right, judge.lowest)


def _quantiles(told: F64Array) -> tuple[F64Array, F64Array]:
    """Some of many values, the most alike first, and the share that each stands for: the first ones for themselves.

    Of the others every thousandth part is taken for as alike as its first, so that no pair looks less alike than it is.
    """
    if not len(told):
        return np.empty(0), np.empty(0)
    firsts = np.unique(
        np.concatenate([np.arange(min(1000, len(told))), np.linspace(0, len(told) - 1, 1001).astype(int)])
    )
    shares: F64Array = np.diff(np.append(firsts, len(told))) / len(told)
    return told[firsts], shares


def _background(similarities: F64Array, items: int) -> F64Array:
    """The similarities of all pairs without those of copies and templates, which are 0 then.

    An item has as many copies whatever the size of the collection, but accidental likenesses grow with it. And items
    that share a template fill giant buckets, which cost no more than linear time whatever bands and rows are. What is
    left, and what a plan can do something about, is that items in general are like one another: an item of such a
    collection is like more than half of the sample.
    """
    left, right = np.triu_indices(items, k=1)
    alike = similarities >= _ALIKE
    partners = np.bincount(left[alike], minlength=items) + np.bincount(right[alike], minlength=items)
    special = alike & (np.minimum(partners[left], partners[right]) <= items / 2)
    return np.where(special, 0.0, similarities)


def _all_pairs(sets: list[U64Array]) -> F64Array:
    """The exact similarities of all pairs, counted element by element: most pairs share none."""
    sizes = np.array([len(each) for each in sets])
    items = np.repeat(np.arange(len(sets), dtype=np.uint32), sizes)
    lists = group(np.concatenate(sets), items, np.zeros(len(sets), np.bool_), most=len(sets))
    overlaps = np.zeros((len(sets), len(sets)), np.int64)
    add_overlaps(lists.members, lists.starts, overlaps)
    left, right = np.triu_indices(len(sets), k=1)
    both = overlaps[left, right]
    out: F64Array = both / (sizes[left] + sizes[right] - both)
    return out
