"""Shingles with weights: how often each stands in a text, and how rare it is among all texts.

Two passes over the texts. The first counts in how many documents each shingle stands, in a table whose size is fixed
beforehand. The second counts each text's own shingles and weighs them. A text then is a bag: `Sets` with `weights`.

The table (count-min, Cormode and Muthukrishnan 2005) has two rows of counters. A document adds one to a counter of each
row for every distinct shingle; the smaller of the two is the count, never too low, and too high where other shingles
fell on both. Additions come in any order: batches, threads and merged tables give the same bits. With four counters in
a row for each shingle there is, 5% of the counts are too high, most of them by one; and weights hardly notice, since
they go by the logarithm: of a million documents, ln(1 + N/2) is 13.1 where ln(1 + N/1) is 13.8.

    tf·idf  tf · ln(1 + N/df)
    BM25    ln(1 + (N - df + ½)/(df + ½)) · tf·(k₁ + 1) / (tf + k₁·(1 - b + b·length/mean length)), k₁ = 1.2, b = 0.75

tf: how often the shingle stands in this text; length: Σ tf; df: in how many of the N documents of the first pass it
stands, at least 1 and at most N. All of them are whole numbers, and each weight is one float64 formula of them, rounded
once to float32, with the logarithm of `spec.py`: the same bits everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.jit import kernel
from lookalike.key import PUBLIC_KEY
from lookalike.represent.text import shingle_texts
from lookalike.shingle import Shingle
from lookalike.spec import C1, C2, GOLDEN, ln, mix
from lookalike.types import F32Array, I64Array, Sets, U64Array

__all__ = ["Dropped", "Frequencies", "bm25", "count_repeats", "count_shingles", "drop_frequent", "tf_idf", "weighed"]

# The usual ones: k₁ is how soon repeats stop counting, b how far long texts are held back.
_K1 = 1.2
_B = 0.75

_ZERO = np.uint64(0)
_SHIFT = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FULL = np.uint32(0xFFFFFFFF)


@kernel("int64(Array(int64,1,'C',readonly=True), uint64[::1], int64[::1], float32[::1], uint64[::1], int64[::1])")
def count_repeats(offsets, values, ends, times, table, places):
    """values[ends[i] : ends[i + 1]] = the distinct elements of row i in order of first occurrence, in place.

    `times` is how often each occurs. No element is 0. `table` and `places` have room for twice the longest row, in a
    power of two of at least 16. Returns how many elements are left.
    """
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
            slot = np.int64(x) & mask
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


@kernel("void(Array(uint64,1,'C',readonly=True), uint32[:,::1])")
def _add_counts(values, table):
    """One more for each value in a counter of either row, as far as 32 bits go."""
    width = np.uint64(table.shape[1])
    for i in range(len(values)):
        h = mix(values[i] ^ C1)
        first = np.int64(((h >> _SHIFT) * width) >> _SHIFT)
        second = np.int64(((h & _LOW) * width) >> _SHIFT)
        table[0, first] += np.uint32(table[0, first] != _FULL)
        table[1, second] += np.uint32(table[1, second] != _FULL)


@kernel("void(Array(uint64,1,'C',readonly=True), Array(uint32,2,'C',readonly=True), int64[::1])")
def _read_counts(values, table, counts):
    """counts[i] = the smaller of the counters of values[i]."""
    width = np.uint64(table.shape[1])
    for i in range(len(values)):
        h = mix(values[i] ^ C1)
        first = np.int64(((h >> _SHIFT) * width) >> _SHIFT)
        second = np.int64(((h & _LOW) * width) >> _SHIFT)
        counts[i] = np.int64(min(table[0, first], table[1, second]))


class Frequencies:
    """In how many documents each shingle stands, counted in a table of about so many bytes."""

    def __init__(self, size: int) -> None:
        self._table = np.zeros((2, max(1, size // 8)), np.uint32)
        self.documents = 0
        self._length = 0
        self._lock = threading.Lock()

    def add(self, sets: Sets) -> None:
        """Count these documents, empty ones too; their weights, where they have any, are how often shingles occur."""
        length = len(sets.values) if sets.weights is None else int(sets.weights.sum(dtype=np.float64))
        # Two threads that add to one counter at a time would lose one.
        with self._lock:
            _add_counts(sets.values, self._table)
            self.documents += len(sets)
            self._length += length

    def merge(self, other: Frequencies) -> None:
        """Add what another table of the same size has counted."""
        if self._table.shape != other._table.shape:
            raise InputError("frequencies of tables of different sizes cannot be added")
        with self._lock:
            room = np.uint32(_FULL) - self._table
            self._table += np.minimum(other._table, room)
            self.documents += other.documents
            self._length += other._length

    def of(self, values: U64Array) -> I64Array:
        """In how many documents each of these stands: never fewer than there are, and now and then more."""
        counts = np.empty(len(values), np.int64)
        _read_counts(values, self._table, counts)
        return counts

    @property
    def mean_length(self) -> float:
        """How many shingles a document has, repeated ones counted each time."""
        return self._length / self.documents if self.documents else 0.0

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything there is to know, to be stored and given to `from_state`."""
        return {"table": self._table.copy(), "totals": np.array([self.documents, self._length], np.int64)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        restored = cls(0)
        restored._table = np.array(state["table"], np.uint32)
        restored.documents, restored._length = state["totals"].tolist()
        return restored


def count_shingles(texts: pa.Array, shingle: Shingle, key: U64Array = PUBLIC_KEY) -> Sets:
    """The distinct shingles of each text, weighted by how often they occur (exact up to 2²⁴ times)."""
    every = shingle_texts(texts, shingle, key=key, every=True)
    slots = 16
    while slots < 2 * int(every.sizes.max(initial=0)):
        slots *= 2
    ends, times = np.empty(len(every.offsets), np.int64), np.empty(len(every.values), np.float32)
    table, places = np.empty(slots, np.uint64), np.empty(slots, np.int64)
    left = count_repeats(every.offsets, every.values, ends, times, table, places)
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
