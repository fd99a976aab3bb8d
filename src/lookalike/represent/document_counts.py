"""In how many documents each shingle stands: exactly while there are few different ones, else in a table of counters.

Weights are made of these numbers, so they must depend on the documents alone: not on how much memory there is, on the
format that the documents are stored in, on batches or threads. So there are two ways to count, and the number of
different shingles decides, whenever they come:

    up to 2²⁴   a hash table of (shingle, count), which grows with them: 12 bytes a slot, 400 MB at most
    more        two rows of 2²⁶ counters (count-min, Cormode and Muthukrishnan 2005), 512 MB

A document adds one to a counter of each row for every distinct shingle; the smaller of the two is the count, never too
low, and too high where other shingles fell on both. The table is a sum over documents, so what was counted exactly
until then is added to it as if it had been there from the beginning. With four counters in a row for each shingle there
is, 5% of the counts are too high, most of them by one; and weights hardly notice, since they go by the logarithm: of a
million documents, ln(1 + N/2) is 13.1 where ln(1 + N/1) is 13.8. 2²⁴ shingles are those of 50,000 long documents; for
those of ten million there are counters enough to tell the frequent ones, which decide, from the rare.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.errors import InputError
from lookalike.kernels.chosen_hashes import slot_hash, table_words
from lookalike.kernels.jit import kernel
from lookalike.key import TABLE_KEY
from lookalike.spec import C1, mix
from lookalike.types import I64Array, Sets, U32Array, U64Array

__all__ = ["EXACT", "WIDTH", "Frequencies"]

# How many different shingles are counted exactly, and the counters of a row beyond that.
EXACT = 1 << 24
WIDTH = 1 << 26

_SMALLEST = 1 << 12
_ZERO = np.uint64(0)
_SHIFT = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FULL = np.uint32(0xFFFFFFFF)

# Gives an array of zeros of so many numbers of a type.
Allocate = Callable[[int, Any], NDArray[Any]]


@kernel(
    "int64(Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), uint64[::1], uint32[::1], int64, "
    "int64, Array(uint64,1,'C',readonly=True))"
)
def count_exactly(values, times, elements, counts, used, most, key):
    """counts[slot of x] += times of x, or 1 where `times` is empty, as long as there are no more than `most` elements.

    `elements` has a power of two slots, 0 for an empty one, and no value is 0. Returns how many slots are used now; or
    -1 - i if it stopped in front of values[i], which is not among the elements, and they are `most` already. `key`
    decides on slots alone.
    """
    words = table_words(key)
    mask = np.int64(len(elements) - 1)
    for i in range(len(values)):
        x = values[i]
        slot = np.int64(slot_hash(x, words)) & mask
        while elements[slot] != _ZERO and elements[slot] != x:
            slot = (slot + 1) & mask
        if elements[slot] == _ZERO:
            if used == most:
                return -1 - i
            elements[slot] = x
            used += 1
        counts[slot] += times[i] if len(times) else np.uint32(1)
    return used


@kernel(
    "void(Array(uint64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "int64[::1], Array(uint64,1,'C',readonly=True))"
)
def read_exactly(values, elements, counts, found, key):
    """found[i] = the count of values[i], 0 where it is not among the elements; `key` as they were counted with."""
    words = table_words(key)
    mask = np.int64(len(elements) - 1)
    for i in range(len(values)):
        slot = np.int64(slot_hash(values[i], words)) & mask
        while elements[slot] != _ZERO and elements[slot] != values[i]:
            slot = (slot + 1) & mask
        found[i] = np.int64(counts[slot])


@kernel("void(Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), uint32[:,::1])")
def add_counts(values, times, table):
    """So many more for each value, or one where `times` is empty, in a counter of either row, as far as 32 bits go."""
    width = np.uint64(table.shape[1])
    for i in range(len(values)):
        h = mix(values[i] ^ C1)
        first = np.int64(((h >> _SHIFT) * width) >> _SHIFT)
        second = np.int64(((h & _LOW) * width) >> _SHIFT)
        more = times[i] if len(times) else np.uint32(1)
        table[0, first] += min(more, np.uint32(_FULL - table[0, first]))
        table[1, second] += min(more, np.uint32(_FULL - table[1, second]))


@kernel("void(Array(uint64,1,'C',readonly=True), Array(uint32,2,'C',readonly=True), int64[::1])")
def read_counts(values, table, counts):
    """counts[i] = the smaller of the counters of values[i]."""
    width = np.uint64(table.shape[1])
    for i in range(len(values)):
        h = mix(values[i] ^ C1)
        first = np.int64(((h >> _SHIFT) * width) >> _SHIFT)
        second = np.int64(((h & _LOW) * width) >> _SHIFT)
        counts[i] = np.int64(min(table[0, first], table[1, second]))


_ONCE: U32Array = np.empty(0, np.uint32)


class Frequencies:
    """In how many documents each shingle stands. `allocate` gives the memory, which may be that of a file."""

    def __init__(self, *, exact: int = EXACT, width: int = WIDTH, allocate: Allocate = np.zeros) -> None:
        self._exact, self._width, self._allocate = exact, width, allocate
        self._elements: U64Array = np.zeros(_SMALLEST, np.uint64)
        self._counts: U32Array = np.zeros(_SMALLEST, np.uint32)
        self._used = 0
        self._table: U32Array | None = None
        self.documents = 0
        self._length = 0
        self._mark: str | None = None
        self._lock = threading.Lock()

    def add(self, sets: Sets) -> None:
        """Count these documents, empty ones too; their weights, where they have any, are how often shingles occur."""
        length = len(sets.values) if sets.weights is None else int(sets.weights.sum(dtype=np.float64))
        # Two threads that add to one counter at a time would lose one.
        with self._lock:
            self._add(sets.values, _ONCE)
            self._mark = None
            self.documents += len(sets)
            self._length += length

    def add_listed(self, values: U64Array, times: U32Array) -> None:
        """Count shingles that stand in so many documents each, which are counted elsewhere."""
        with self._lock:
            self._add(values, times)
            self._mark = None

    def _add(self, values: U64Array, times: U32Array) -> None:
        while self._table is None and len(values):
            # Half of the slots stay empty.
            most = min(self._exact, len(self._elements) // 2)
            used = count_exactly(values, times, self._elements, self._counts, self._used, most, TABLE_KEY)
            if used >= 0:
                self._used = used
                return
            self._used, done = most, -1 - used
            values, times = values[done:], times[done:]
            if most == self._exact:
                self._spread()
            else:
                self._grow()
        if self._table is not None:
            add_counts(values, times, self._table)

    def _grow(self) -> None:
        """Put what was counted into a hash table of twice the size."""
        slots = min(2 * len(self._elements), 1 << (2 * self._exact - 1).bit_length())
        elements, counts = self.listed()
        self._elements, self._counts = self._allocate(slots, np.uint64), self._allocate(slots, np.uint32)
        count_exactly(elements, counts, self._elements, self._counts, 0, slots, TABLE_KEY)

    def _spread(self) -> None:
        """Put what was counted into the table of counters, and go on there."""
        elements, counts = self.listed()
        self._elements, self._counts, self._used = np.zeros(1, np.uint64), np.zeros(1, np.uint32), 0
        self._table = self._allocate(2 * self._width, np.uint32).reshape(2, self._width)
        add_counts(elements, counts, self._table)

    def listed(self) -> tuple[U64Array, U32Array]:
        """The shingles that were counted exactly, in no order, and their counts."""
        there = np.flatnonzero(self._elements)
        return self._elements[there], self._counts[there]

    def merge(self, other: Frequencies) -> None:
        """Add what another one has counted."""
        if self._width != other._width or self._exact != other._exact:
            raise InputError("frequencies of tables of different sizes cannot be added")
        with self._lock:
            if other._table is None:
                self._add(*other.listed())
            else:
                if self._table is None:
                    self._spread()
                assert self._table is not None
                room = np.uint32(_FULL) - self._table
                self._table += np.minimum(other._table, room)
            self._mark = None
            self.documents += other.documents
            self._length += other._length

    def of(self, values: U64Array) -> I64Array:
        """In how many documents each of these stands: never fewer than there are, and now and then more."""
        counts = np.empty(len(values), np.int64)
        if self._table is None:
            read_exactly(values, self._elements, self._counts, counts, TABLE_KEY)
        else:
            read_counts(values, self._table, counts)
        return counts

    @property
    def mark(self) -> str:
        """What tells these counts from others, whatever the order in which they were made: 128 bits as text."""
        if self._mark is None:
            digest = blake2b(digest_size=16)
            for name, array in sorted(self.state().items()):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(array).reshape(-1).data)
            self._mark = digest.hexdigest()
        return self._mark

    @property
    def length(self) -> int:
        """How many shingles all documents have, repeated ones counted each time."""
        return self._length

    @property
    def mean_length(self) -> float:
        """How many shingles a document has, repeated ones counted each time."""
        return self._length / self.documents if self.documents else 0.0

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything there is to know, to be stored and given to `from_state`."""
        totals = np.array([self.documents, self._length, self._exact, self._width], np.int64)
        if self._table is not None:
            return {"totals": totals, "table": self._table.copy()}
        elements, counts = self.listed()
        # In an order that does not tell how the table grew.
        order = np.argsort(elements)
        return {"totals": totals, "elements": elements[order], "counts": counts[order]}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], allocate: Allocate = np.zeros) -> Self:
        documents, length, exact, width = state["totals"].tolist()
        restored = cls(exact=exact, width=width, allocate=allocate)
        if "table" in state:
            restored._spread()
            assert restored._table is not None
            restored._table[:] = np.reshape(state["table"], (2, width))
        else:
            restored._add(np.asarray(state["elements"], np.uint64), np.asarray(state["counts"], np.uint32))
        restored.documents, restored._length = documents, length
        return restored
