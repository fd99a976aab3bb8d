"""How similar unrelated items are: measured on a sample of the data, for the planner.

The cost of a plan is what it lets through below the threshold, and that depends on the data: two news stories share
almost no five-word shingle, two product titles share half of their characters. A sample of n items has n(n-1)/2 pairs;
their exact similarities stand for those of all pairs. The items are chosen by fingerprint, so the order of the input
does not matter.
"""

from __future__ import annotations

import numpy as np

from lookalike.config import Config
from lookalike.errors import InputError
from lookalike.io.source import Source
from lookalike.items import open_items
from lookalike.measures import Measure
from lookalike.types import F64Array, Sets, U64Array

__all__ = ["SAMPLE_ITEMS", "background"]

# 1,000 items have half a million pairs: a similarity that one pair in 100,000 has is seen five times, in half a second.
SAMPLE_ITEMS = 1000

_BINS = 200


def background(source: Source, config: Config, measure: Measure) -> tuple[tuple[F64Array, F64Array], int]:
    """((similarities, share of pairs at each), mean size of a set) of a sample of the items."""
    fingerprints, values, sizes = [], [], []
    for batch in open_items(source, config).batches():
        sets = measure.represent(batch.values)
        fingerprints.append(sets.fingerprints[:, 0])
        values.extend(np.split(sets.values, sets.offsets[1:-1]))
        sizes.append(sets.sizes)
    if not sizes:
        raise InputError("there are no items in the sample")
    size = np.concatenate(sizes)
    # Identical items are folded before anything is compared; the sample must not hold them twice either.
    _, first = np.unique(np.concatenate(fingerprints), return_index=True)
    chosen = [i for i in first if size[i] > 0][:SAMPLE_ITEMS]
    shares = np.zeros(_BINS + 1)
    n = len(chosen)
    if n > 1:
        similarities = _all_pairs([values[i] for i in chosen], measure)
        # Rounded up, so that no pair looks less similar than it is; 7/50 in 200 bins is 28, not 28.000000000000004.
        places = np.ceil(similarities * _BINS - 1e-9).astype(np.int64)
        counted = np.bincount(places, minlength=_BINS + 1)
        shares[1:] = counted[1:] / (n * (n - 1) / 2)
    at = np.arange(_BINS + 1) / _BINS
    return (at[1:], shares[1:]), max(1, round(float(size[chosen].mean()))) if chosen else 1


def _all_pairs(sets: list[U64Array], measure: Measure) -> F64Array:
    """The exact similarities of all pairs."""
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    judge = measure.judge(len(sets))
    judge.add(np.arange(len(sets)), Sets(offsets, np.concatenate(sets), np.empty((len(sets), 2), np.uint64)))
    left, right = np.triu_indices(len(sets), k=1)
    return judge.similarities(left.astype(np.int64), right.astype(np.int64), 0.0)
