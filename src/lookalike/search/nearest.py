"""The nearest k items of each query, as exactly as asked for, by the cheapest way that a sample shows.

Two ways, both of which look at every item. `exact` compares the vectors (`verify/scan.py`). `bits` compares D sign bits
of each first, takes the R items that agree in most, and scores these exactly (`verify/bit_scan.py`): how many of the
true k are among them depends on the data, so D and R are chosen on a sample of the items, for which the truth is
counted. Where the items lie on one side of the origin (random pairs have a mean cosine above 1/6), and for distances,
bits are those of the vectors as seen from the mean of the items. For recall 0.9 with 512 bits that changed R from 411
to 307 at a mean cosine of 0.20; for GloVe, at 0.13, from 75 to 103.

Signs tell angles, and products depend on lengths as well. So for products an item x gets one more component, which
makes all of them as long as the longest, M: √(M² - |x|²), and a query q is scaled to M and gets a 0 (Neyshabur and
Srebro, "On symmetric and asymmetric LSHs for inner product search", 2015). The larger x·q, the smaller their angle.

The plan is the same everywhere: the sample is the items with the smallest hashes of their bytes, costs are constants
and no timings, and neither threads nor batches enter. Each item of the sample is a query that must not find itself. R
is the smallest for which the mean recall of the sample is above what was asked by 2.33 standard errors: one in a
hundred samples would have it there by chance. It speaks of queries that are like the items; others may find less.

Tables of buckets were measured and left out, see docs/internals.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lookalike.errors import InputError, OptionError
from lookalike.measure_table import SEARCHED, measure_named
from lookalike.represent.elements import hash_raw
from lookalike.sketch.rotation import sign_bits, width_of
from lookalike.threads.ordered import ordered_map
from lookalike.types import F32Array, F64Array, I64Array, U64Array
from lookalike.verify.bit_scan import nearest_by_bits, side_by_side
from lookalike.verify.scan import COSINE, DOT, EUCLIDEAN, MANHATTAN, Side, best_of_lists, scales_of, top

__all__ = ["Nearest", "SearchPlan"]


_SCANS = {"cosine": COSINE, "dot": DOT, "euclidean": EUCLIDEAN, "manhattan": MANHATTAN}
_SAMPLE = 384  # queries
_BITS = (256, 512, 1024)
_MOST = 4096  # R: beyond it, scoring costs as much as an exact scan of a hundred thousand items
_DOUBT = 2.33  # standard errors between the sample's recall and the one asked for
_BATCH = 4096  # queries whose lists are held at a time
_CHUNK = 4096  # items whose bits one task makes

# Nanoseconds on one core with AVX-512 and products of bytes; only their ratios matter.
_ITEM = 0.15
_COMPONENT = {name: measure_named(name).component_ns for name in SEARCHED}
_WORD = 0.09
_TAKEN = 15.0  # an item that enters the list of the nearest by bits
_SCORED = 20.0  # an item that is scored, and for each of its components:
_SCORED_COMPONENT = 0.4
_BIT = 5.0  # one sign bit of one vector


@dataclass(frozen=True)
class SearchPlan:
    """How the nearest k are found, and what is expected of it.

    `method` is `exact`, `elements` (exact, too) or `bits`. `recall` is the mean share of the true k that the sample
    found, `low` and `high` its 95% interval; 1 for an exact search. `cost` and `exact_cost` are nanoseconds a
    query by the constants above.
    """

    method: str
    k: int
    recall: float
    low: float
    high: float
    cost: float
    exact_cost: float
    sampled: int = 0
    bits: int = 0
    candidates: int = 0
    centred: bool = False

    def __str__(self) -> str:
        if self.method != "bits":
            return "exact, by the elements that are shared" if self.method == "elements" else "exact scan"
        what = f"scan of {self.bits} sign bits{' about the mean' if self.centred else ''}"
        interval = f"{self.low:.3f} to {self.high:.3f}, {self.sampled} items sampled"
        return f"{what}, the best {self.candidates} compared exactly: recall {self.recall:.3f} ({interval})"


class Nearest:
    """Items to be searched. `expected` is how many queries the making of their bits is to be spread over."""

    def __init__(
        self,
        items: ArrayLike,
        measure: str = "cosine",
        *,
        recall: float = 1.0,
        seed: int = 0,
        threads: int = 1,
        expected: int = 10_000,
    ) -> None:
        if measure not in SEARCHED:
            raise OptionError(f"measure is {measure!r}: the nearest can be found by {', '.join(SEARCHED)}")
        if not 0.0 < recall <= 1.0:
            raise OptionError(f"recall is {recall!r}: it must be above 0 and at most 1")
        self.measure, self.recall, self.seed, self.threads, self.expected = measure, recall, seed, threads, expected
        vectors = self._checked(items, "items")
        self._items = Side.of(_SCANS[measure], vectors, scaled=measure_named(measure).scaled)
        self.centred = not self._items.scaled or 6.0 * float(np.square(self._items.centre).sum()) > 1.0
        # Items that are multiplied are as long as the longest, by one more component.
        self._lengthened = _Lengthened.of(vectors) if self._items.measure == DOT else None
        self._bits: dict[int, U64Array] = {}
        self._plans: dict[int, SearchPlan] = {}
        self.plan: SearchPlan | None = None

    def search(self, queries: ArrayLike, k: int) -> tuple[I64Array, F64Array]:
        """The nearest k items of each query, best first (int64), and their scores (float64): minus the distance, or the
        cosine. Equal scores are ordered by item number. Where there are fewer than k items, -1 and -inf fill a row.

        The first search for a k plans; `plan` then tells what is done.
        """
        if k < 1:
            raise OptionError(f"k is {k!r}: it must be 1 or more")
        vectors = self._checked(queries, "queries")
        if vectors.shape[1] != self._items.exact.shape[1]:
            dimensions = self._items.exact.shape[1]
            raise InputError(f"the queries have {vectors.shape[1]} components, the items {dimensions}")
        self.plan = plan = self.plan_for(k)
        if plan.method == "exact":
            return top(self._items, vectors, k, self.threads)
        ids, scores = np.empty((len(vectors), k), np.int64), np.empty((len(vectors), k))
        for start in range(0, len(vectors), _BATCH):
            rows = slice(start, start + _BATCH)
            bits = self._signs(vectors[rows], plan.bits, asked=True)
            lists = nearest_by_bits(self._bits[plan.bits], len(self._items), bits, plan.candidates, self.threads)
            ids[rows], scores[rows] = best_of_lists(self._items, vectors[rows], lists, k, self.threads)
        return ids, scores

    def plan_for(self, k: int) -> SearchPlan:
        """How the nearest k are found; counted once for each k."""
        if k not in self._plans:
            self._plans[k] = self._planned(k)
        return self._plans[k]

    def _planned(self, k: int) -> SearchPlan:
        n, d = self._items.exact.shape
        exact_cost = n * (_ITEM + _COMPONENT[self.measure] * d) + 2.0 * _taken(n, k) * (_SCORED + _SCORED_COMPONENT * d)
        exact = SearchPlan("exact", k, 1.0, 1.0, 1.0, exact_cost, exact_cost)
        wanted = [bits for bits in _BITS if self._cost(bits, k) < exact_cost]
        # A sample costs as much as so many queries; and one that is a large part of the items tells nothing new.
        if not wanted or self.recall == 1.0 or self.expected < 4 * _SAMPLE or n < 16 * _SAMPLE or k > _MOST // 4:
            return exact
        own = self._sample()
        queries = np.ascontiguousarray(self._items.exact[own])
        truth, _ = top(self._items, queries, k, self.threads, own=own)
        best = exact
        signs = self._signs(self._items.exact, wanted[-1])
        asked = self._signs(queries, wanted[-1], asked=True)
        for bits in wanted:
            if self._cost(bits, k) < best.cost:
                packed = side_by_side(signs[:, : bits // 64])
                found = self._tried(packed, asked[:, : bits // 64], own, truth)
                plan = self._smallest(bits, found, k, exact_cost)
                if plan is not None and plan.cost < best.cost:
                    best, self._bits = plan, self._bits | {bits: packed}
        kept = {plan.bits for plan in (*self._plans.values(), best)}
        self._bits = {bits: packed for bits, packed in self._bits.items() if bits in kept}
        return best

    def _sample(self) -> I64Array:
        """The items with the smallest hashes of their bytes, in their order."""
        vectors = self._items.exact
        offsets = np.arange(len(vectors) + 1, dtype=np.int64) * (4 * vectors.shape[1])
        hashes = hash_raw(vectors.view(np.uint8).reshape(-1), offsets)[:, 0]
        return np.sort(np.argsort(hashes, kind="stable")[:_SAMPLE])

    def _tried(self, packed: U64Array, queries: U64Array, own: I64Array, truth: I64Array) -> I64Array:
        """found[q, r] = how many of the true k of query q are among its first r + 1 by bits, itself not counted."""
        most = min(_MOST, len(self._items) - 1) + 1
        lists = nearest_by_bits(packed, len(self._items), np.ascontiguousarray(queries), most, self.threads)
        hits = np.zeros(lists.shape, np.int64)
        for q in range(len(lists)):
            # Its own place is taken out, so that ranks are those of a query that is no item.
            others = lists[q][lists[q] != own[q]]
            hits[q, : len(others)] = np.isin(others, truth[q])
        return np.cumsum(hits, axis=1)

    def _smallest(self, bits: int, found: I64Array, k: int, exact_cost: float) -> SearchPlan | None:
        """The plan with the smallest R that reaches the recall with these bits, or none."""
        shares = found / k
        means = shares.mean(axis=0)
        # Where every query found all, the spread says nothing: at least that of k independent neighbours.
        hits = means * found.shape[0] * k
        guess = (hits + 1.0) / (found.shape[0] * k + 2.0)
        spread = np.maximum(shares.std(axis=0, ddof=1), np.sqrt(guess * (1.0 - guess) / k))
        errors = spread / math.sqrt(found.shape[0])
        enough = np.flatnonzero(means - _DOUBT * errors >= self.recall)
        enough = enough[enough + 1 >= k]
        if not len(enough):
            return None
        r = int(enough[0])
        mean, error = float(means[r]), 1.96 * float(errors[r])
        interval = max(0.0, mean - error), min(1.0, mean + error)
        cost = self._cost(bits, r + 1)
        return SearchPlan("bits", k, mean, *interval, cost, exact_cost, found.shape[0], bits, r + 1, self.centred)

    def _cost(self, bits: int, candidates: int) -> float:
        """Nanoseconds a query, the making of the items' bits spread over all that are expected."""
        n, d = len(self._items), int(self._items.exact.shape[1])
        scored = candidates * (_SCORED + _SCORED_COMPONENT * d)
        made = bits * _BIT * (1.0 + n / self.expected)
        return n * (_ITEM + _WORD * bits / 64) + _taken(n, candidates) * _TAKEN + scored + made

    def _signs(self, vectors: F32Array, bits: int, *, asked: bool = False) -> U64Array:
        """The first sign bits of each item, or query (n x bits/64); fewer bits are the beginning of more."""
        blocks = -(-bits // width_of(vectors.shape[1] + (self._lengthened is not None)))
        out = np.empty((len(vectors), bits // 64), np.uint64)

        def task(start: int) -> None:
            chunk = vectors[start : start + _CHUNK]
            seen = self._seen(chunk, asked=asked)
            signs = sign_bits(seen.astype(np.float32), blocks, self.seed).reshape(len(chunk), -1)
            out[start : start + _CHUNK] = signs[:, : bits // 64]

        for _ in ordered_map(task, range(0, len(vectors), _CHUNK), self.threads):
            pass
        return out

    def _seen(self, vectors: F32Array, *, asked: bool) -> F32Array | F64Array:
        """The vectors as signs are taken of them."""
        if self._lengthened is not None:
            return self._lengthened.seen(vectors, asked=asked)
        seen = vectors * scales_of(vectors)[:, None] if self._items.scaled else vectors
        return seen - self._items.centre if self.centred else seen

    def _checked(self, values: ArrayLike, what: str) -> F32Array:
        """Vectors that can be compared; for the cosine none may be zero."""
        vectors = _vectors(values, what)
        if measure_named(self.measure).scaled:
            zero = np.flatnonzero(~vectors.any(axis=1))
            if len(zero):
                raise InputError(f"row {zero[0]} of the {what} is zero: it has no direction, so no cosine")
        return vectors


@dataclass(frozen=True)
class _Lengthened:
    """Items with one more component, which makes all as long as the longest; seen from their mean."""

    longest: float
    centre: F64Array

    @classmethod
    def of(cls, vectors: F32Array) -> _Lengthened:
        longest, total = 0.0, np.zeros(vectors.shape[1] + 1)
        for start in range(0, len(vectors), _CHUNK):
            longest = max(longest, float(_squares(vectors[start : start + _CHUNK]).max(initial=0.0)))
        for start in range(0, len(vectors), _CHUNK):
            chunk = vectors[start : start + _CHUNK]
            total[:-1] += chunk.sum(axis=0, dtype=np.float64)
            total[-1] += np.sqrt(longest - _squares(chunk)).sum()
        return cls(math.sqrt(longest), total / max(1, len(vectors)))

    def seen(self, vectors: F32Array, *, asked: bool) -> F64Array:
        """Items, or queries that are asked for, which are scaled to that length."""
        squares = _squares(vectors)
        if asked:
            last, scales = np.zeros(len(vectors)), self.longest / np.sqrt(np.where(squares > 0.0, squares, 1.0))
        else:
            last, scales = np.sqrt(self.longest**2 - np.minimum(squares, self.longest**2)), np.ones(len(vectors))
        return np.concatenate([vectors * scales[:, None], last[:, None]], axis=1) - self.centre


def _squares(vectors: F32Array) -> F64Array:
    squares: F64Array = np.square(vectors, dtype=np.float64).sum(axis=1)
    return squares


def _taken(n: int, best: int) -> float:
    """How many of n items, in no particular order, are among the best so many when they come by."""
    return best * (1.0 + math.log(max(1.0, n / best)))


def _vectors(values: ArrayLike, what: str) -> F32Array:
    """A C-contiguous float32 array of vectors, all of them numbers."""
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"the {what} are an array of shape {array.shape}: one vector per row is needed")
    if array.dtype.kind not in "fiu":
        raise InputError(f"the {what} are of type {array.dtype}: numbers are needed")
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(array, dtype=np.float32)
    for start in range(0, len(vectors), _CHUNK):
        wrong = np.flatnonzero(~np.isfinite(vectors[start : start + _CHUNK]).all(axis=1))
        if len(wrong):
            raise InputError(
                f"row {start + int(wrong[0])} of the {what} has a component that is not a number in float32"
            )
    return vectors
