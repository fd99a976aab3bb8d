"""Shingles with weights: how often each stands in a text, and how rare it is among all texts.

Two passes over the texts. The first counts in how many documents each shingle stands (`document_counts.py`). The second
counts each text's own shingles and weighs them. A text then is a bag: `Sets` with `weights`.

    tf·idf  tf · ln(1 + N/df)
    BM25    ln(1 + (N - df + ½)/(df + ½)) · tf·(k₁ + 1) / (tf + k₁·(1 - b + b·length/mean length)), k₁ = 1.2, b = 0.75

tf: how often the shingle stands in this text; length: Σ tf; df: in how many of the N documents of the first pass it
stands, at least 1 and at most N. All of them are whole numbers, and each weight is one float64 formula of them, rounded
once to float32, with the logarithm of `spec.py`: the same bits everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.kernels.chosen_hashes import slot_hash, table_words
from lookalike.kernels.jit import kernel
from lookalike.key import PUBLIC_KEY, TABLE_KEY
from lookalike.represent.document_counts import Frequencies
from lookalike.represent.text_sets import shingle_texts
from lookalike.shingle import Shingle
from lookalike.spec import C1, C2, GOLDEN, ln, mix
from lookalike.types import F32Array, Sets, U64Array

__all__ = [
    "Dropped", "as_sets", "bm25", "count_repeats", "count_shingles", "drop_frequent", "number_repeats", "tf_idf",
    "weighed",
]  # fmt: skip

# The usual ones: k₁ is how soon repeats stop counting, b how far long texts are held back.
_K1 = 1.2
_B = 0.75

_ZERO = np.uint64(0)


@kernel(
    "int64(Array(int64,1,'C',readonly=True), uint64[::1], int64[::1], float32[::1], uint64[::1], int64[::1], "
    "Array(uint64,1,'C',readonly=True))"
)
def count_repeats(offsets, values, ends, times, table, places, key):
    """values[ends[i] : ends[i + 1]] = the distinct elements of row i in order of first occurrence, in place.

    `times` is how often each occurs. No element is 0. `table` and `places` have room for twice the longest row, in a
    power of two of at least 16. Returns how many elements are left; `key` decides on slots alone.
    """
    words = table_words(key)
    v = 0
    ends[0] = 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        capacity = 16
        while capacity < 2 * (end - start):
            capacity *= 2
        for i in range(capacity):
            table[i] = _ZERO
        mask = np.int64(capacity - 1)
        for i in range(start, end):
            x = values[i]
            slot = np.int64(slot_hash(x, words)) & mask
            while table[slot] != _ZERO and table[slot] != x:
                slot = (slot + 1) & mask
            if table[slot] == _ZERO:
                table[slot] = x
                places[slot] = v
                values[v] = x
                times[v] = np.float32(1.0)
                v += 1
            else:
                times[places[slot]] += np.float32(1.0)
        ends[row + 1] = v
    return v


def count_shingles(texts: pa.Array, shingle: Shingle, key: U64Array = PUBLIC_KEY) -> Sets:
    """The distinct shingles of each text, weighted by how often they occur (exact up to 2²⁴ times)."""
    every = shingle_texts(texts, shingle, key=key, every=True)
    slots = 16
    while slots < 2 * int(every.sizes.max(initial=0)):
        slots *= 2
    ends, times = np.empty(len(every.offsets), np.int64), np.empty(len(every.values), np.float32)
    table, places = np.empty(slots, np.uint64), np.empty(slots, np.int64)
    left = count_repeats(every.offsets, every.values, ends, times, table, places, TABLE_KEY)
    return weighed(replace(every, offsets=ends, values=every.values[:left]), times[:left])


@kernel("void(Array(float32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), int64, float32[::1])")
def _weigh_tf_idf(times, df, documents, weights):
    for i in range(len(times)):
        rarity = np.divide(np.float64(documents), np.float64(min(max(df[i], 1), documents)))
        weights[i] = np.float32(np.float64(times[i]) * ln(1.0 + rarity))


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(float32,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "int64, float64, float32[::1])"
)
def _weigh_bm25(offsets, times, df, documents, mean_length, weights):
    for row in range(len(offsets) - 1):
        length = 0.0
        for i in range(offsets[row], offsets[row + 1]):
            length += np.float64(times[i])
        slowed = _K1 * (1.0 - _B + _B * np.divide(length, mean_length))
        for i in range(offsets[row], offsets[row + 1]):
            tf, n = np.float64(times[i]), np.float64(min(max(df[i], 1), documents))
            idf = ln(1.0 + np.divide(np.float64(documents) - n + 0.5, n + 0.5))
            weights[i] = np.float32(idf * np.divide(tf * (_K1 + 1.0), tf + slowed))


def tf_idf(counted: Sets, frequencies: Frequencies) -> Sets:
    """Shingles that were counted, weighted by tf · ln(1 + N/df)."""
    weights = np.empty(len(counted.values), np.float32)
    df = frequencies.of(counted.values)
    _weigh_tf_idf(_times(counted), df, max(1, frequencies.documents), weights)
    return weighed(counted, weights)


def bm25(counted: Sets, frequencies: Frequencies) -> Sets:
    """Shingles that were counted, weighted as BM25 weighs the words of a document."""
    weights = np.empty(len(counted.values), np.float32)
    df = frequencies.of(counted.values)
    # A text that was not there in the first pass may come when nothing was: any mean length does then.
    mean = frequencies.mean_length or 1.0
    _weigh_bm25(counted.offsets, _times(counted), df, max(1, frequencies.documents), mean, weights)
    return weighed(counted, weights)


def _times(counted: Sets) -> F32Array:
    return np.ones(len(counted.values), np.float32) if counted.weights is None else counted.weights


class Dropped(NamedTuple):
    """What `drop_frequent` took away: shingles, each once for every document, and documents that have none left."""

    shingles: int
    documents: int


def drop_frequent(sets: Sets, frequencies: Frequencies, share: float) -> tuple[Sets, Dropped]:
    """The sets without the shingles that stand in more than this share of all documents, and what that took away.

    A document that loses all of them is empty, and keeps its fingerprint: it equals only its own copies.
    """
    # One rounded division, so that 29 of 100 documents are 0.29 of them and not more.
    rare = frequencies.of(sets.values) / max(1, frequencies.documents) <= share
    before = np.zeros(len(rare) + 1, np.int64)
    np.cumsum(rare, out=before[1:])
    offsets = before[sets.offsets]
    weights = None if sets.weights is None else sets.weights[rare]
    emptied = int(((np.diff(offsets) == 0) & (sets.sizes > 0)).sum())
    left = weighed(replace(sets, offsets=offsets, values=sets.values[rare]), weights)
    return left, Dropped(int(len(rare) - before[-1]), emptied)


@kernel("void(Array(uint64,1,'C',readonly=True), Array(float32,1,'C',readonly=True), uint64[::1])")
def number_repeats(values, times, out):
    """Each element x, and its j-th further occurrence as mix(x + j·G), j = 1, 2, …: `times` of it in all."""
    v = 0
    for i in range(len(values)):
        x = values[i]
        out[v] = x
        for j in range(1, np.int64(times[i])):
            out[v + j] = mix(x + np.uint64(j) * GOLDEN)
        v += np.int64(times[i])


def as_sets(counted: Sets) -> Sets:
    """Bags that were counted as sets of numbered occurrences, as `shingle_texts` makes them of `word:5:bag`."""
    times = _times(counted)
    before = np.zeros(len(times) + 1, np.int64)
    np.cumsum(times, out=before[1:], dtype=np.int64)
    values = np.empty(before[-1], np.uint64)
    number_repeats(counted.values, times, values)
    return weighed(replace(counted, offsets=before[counted.offsets], values=values), None)


@kernel(
    "void(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "uint64[:,::1])"
)
def _fingerprint_bags(offsets, values, weight_bits, fingerprints):
    """The fingerprints of rows that have elements: of mix(x + weight bits · G), or of x where there are no weights."""
    weighted = len(weight_bits) > 0
    for row in range(len(offsets) - 1):
        first, second = _ZERO, _ZERO
        for i in range(offsets[row], offsets[row + 1]):
            x = values[i]
            if weighted:
                x = mix(x + np.uint64(weight_bits[i]) * GOLDEN)
            first += mix(x ^ C1)
            second += mix(x + C2)
        if offsets[row + 1] > offsets[row]:
            fingerprints[row, 0], fingerprints[row, 1] = first, second


def weighed(sets: Sets, weights: F32Array | None) -> Sets:
    """The sets with these weights, and with the fingerprints of both; an item without elements keeps its own."""
    fingerprints = sets.fingerprints.copy()
    bits = np.empty(0, np.uint32) if weights is None else weights.view(np.uint32)
    _fingerprint_bags(sets.offsets, sets.values, bits, fingerprints)
    return replace(sets, weights=weights, fingerprints=fingerprints)
