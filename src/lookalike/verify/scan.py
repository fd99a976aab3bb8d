"""Every pair of vectors, or the best k items of every query, by comparing all with all, fast and exactly.

The idea. Products of blocks are what processors do best (`products.py`): all pairs of a block of queries and a block of
items at 2·d operations each, close to the peak of the machine. But they are rounded. So they only rule out: whatever
could reach the limit within the error is scored again, in float64 and in an order that depends on the two vectors
alone. What comes out is therefore the same for all blocks, threads and machines.

The error. A float32 sum of d products, in any order and with or without fused operations, is off by at most
γ·Σ|x_i·y_i| <= γ·|x|·|y| with γ = d·u / (1 - d·u) and u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms,
section 3.1): 2.3·10⁻⁵ for unit vectors of 384 components. `_slack` adds eight u for what follows the product. Vectors
rounded to bytes are off by their rounding as well, |x|·e_y + e_x·(|y| + e_y); e_y is the column's own, the others are
the largest there are.

Vectors are multiplied as they are seen from the mean m of the items, x' = x - m: most of them lie closer to it than to
the origin, and the error goes with their length. With s the product less a number of the item, and l one of the query:

    cosine      x·y = s + l,  s = x'·y' + m·y,  l = m·x - m·m;  x and y are of length 1, or scaled to it
    euclidean   -|x-y|²/2 = s + l,  s = x'·y' - |y'|²/2,  l = -|x'|²/2
    dot         the same of vectors of any length
    manhattan   s = -Σ|x_i - y_i|, by a kernel of its own; a sum of positive terms is off by γ times itself

Scores: the larger the better; of a distance it is minus the distance. Equal scores are ordered by item number.

Unit vectors of float32 are too long or too short by up to 2⁻²⁴. Cosines of vectors at angles of a thousandth differ by
less, so that such lengths would choose among them. The nearest are therefore chosen by products of the vectors as they
came, divided by both lengths in float64 (`scaled`).

Bytes are tried first where they pay. Where more than a sixteenth of the pairs are scored (all vectors alike, or all far
from the mean and close to one another), the rest is multiplied in float32: a score takes 40 to 100 ns, bytes save 5.

Blocks of 480 x 480 products (0.9 MB) stay in the second-level cache until they are looked through, which takes 0.06 ns
a pair for a limit and 0.11 for the best ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lookalike.threads.ordered import ordered_map
from lookalike.types import F32Array, F64Array, I64Array
from lookalike.verify.products import (
    BYTES_PAY,
    LANES,
    MOST_COMPONENTS,
    Bytes,
    byte_products,
    float_products,
    packed_floats,
    padded,
)
from lookalike.verify.selection import (
    COSINE,
    EUCLIDEAN,
    MANHATTAN,
    NOBODY,
    collect_pairs,
    keep_best,
    manhattan_block,
    score_lists,
    sort_best,
)

__all__ = [
    "COSINE",
    "DOT",
    "EUCLIDEAN",
    "MANHATTAN",
    "Side",
    "all_pairs_above",
    "all_pairs_multiplied",
    "all_pairs_within",
    "best_of_lists",
    "scales_of",
    "top",
]


# To the kernels a product is a product, however long the vectors are.
DOT = -1
_BLOCK = 10 * LANES
_STRIP = 16  # blocks of one task, which hold 59 MB of pairs if every pair is one
_FEW = 16  # one pair in so many may be scored before float32 is cheaper
_UNIT = 2.0**-24


def _slack(dimensions: int) -> float:
    """The relative error of a float32 sum of so many products, and of the few operations after it."""
    terms = (dimensions + 8) * _UNIT
    return terms / (1.0 - terms) if terms < 0.5 else math.inf


def _spans(first: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
    for start in range(first, stop, step):
        yield start, min(start + step, stop)


@dataclass(frozen=True)
class Side:
    """Vectors made ready to be scanned; s + l of the head of this file is x'·y' - halves[y] + lifts[x].

    What is multiplied are the vectors `exact`, times their scales where there are any.
    """

    measure: int
    exact: F32Array
    scales: F64Array | None
    centre: F64Array
    squares: F64Array
    halves: F32Array
    lifts: F64Array
    bytes: Bytes | None

    @classmethod
    def of(
        cls,
        measure: int,
        vectors: F32Array,
        like: Side | None = None,
        *,
        rounded: bool = BYTES_PAY,
        scaled: bool = False,
    ) -> Side:
        """Items, or queries for the items `like`; `scaled` to length 1, for the cosine of vectors that are not."""
        n, d = vectors.shape
        scales = scales_of(vectors) if scaled else None
        centre = _mean(vectors, scales) if like is None else like.centre
        squares, halves, lifts = np.zeros((3, n))
        packed = Bytes.empty(n, d) if rounded and measure != MANHATTAN and d <= MOST_COMPONENTS else None
        for start, stop in _spans(0, n if measure != MANHATTAN else 0, _BLOCK):
            sized = _sized(vectors[start:stop], _some(scales, start, stop))
            near = (sized - centre).astype(np.float32)
            squares[start:stop] = np.square(near, dtype=np.float64).sum(axis=1)
            if measure in (COSINE, DOT):
                halves[start:stop] = -(sized * centre).sum(axis=1)
            if packed is not None:
                packed.put(start, near)
        if measure in (COSINE, DOT):
            lifts = -halves - np.square(centre).sum()
        elif measure == EUCLIDEAN:
            halves, lifts = squares / 2, -squares / 2
        with np.errstate(over="ignore"):
            return cls(measure, vectors, scales, centre, squares, halves.astype(np.float32), lifts, packed)

    def __len__(self) -> int:
        return len(self.exact)

    @property
    def kernel(self) -> int:
        """The measure as kernels know it."""
        return COSINE if self.measure == DOT else self.measure

    def moved(self, first: int, stop: int) -> F32Array:
        """The vectors as they are multiplied: seen from the mean of the items."""
        sized = _sized(self.exact[first:stop], _some(self.scales, first, stop))
        return (sized - self.centre).astype(np.float32)

    @property
    def scaled(self) -> bool:
        """Whether the vectors have other lengths than 1 and count as if they had that."""
        return self.scales is not None

    @property
    def factors(self) -> F64Array:
        """What exact products are multiplied by."""
        return np.ones(len(self)) if self.scales is None else self.scales

    def margins(self, other: Side, *, rounded: bool) -> F64Array:
        """The error of each row's approximations with the other side's rows, for Manhattan as a share of them."""
        slack = _slack(self.exact.shape[1])
        if self.measure == MANHATTAN:
            return np.full(len(self), slack)
        # With X and Y the norms of the moved vectors, M the larger: the product is off by γ·X·Y, |y'|²/2 by u/2·Y²,
        # their difference by u·(X·Y + Y²/2), and each moved vector by u of its norm, which shifts the product by
        # 2·u·X·Y and half the squared distance by u·(X + Y)²: together less than (d + 8)·u·M². The cosine adds and
        # subtracts products with the mean, three of them at most 1 and each rounded at most twice. Each operation may
        # also be off by the smallest normal number. Where vectors have any length, M is at least that of m, so that no
        # product with the mean is above 2·M²; three such, five roundings and that of the limit are within 16·u·M².
        most = float(other.squares.max(initial=0.0))
        centre = float(np.square(self.centre).sum()) if self.measure == DOT else 0.0
        largest = np.maximum(self.squares, max(most, centre))
        margins = slack * largest + (self.exact.shape[1] + 8) * 2.0**-126
        if self.measure == COSINE:
            margins += 8.0 * _UNIT
        elif self.measure == DOT:
            margins += 16.0 * _UNIT * largest
        if rounded and self.bytes is not None and other.bytes is not None:
            margins += 1.001 * self.bytes.errors * (math.sqrt(most) + other.bytes.errors.max(initial=0.0))
        # Where a product may be infinite, everything is scored.
        return np.where(largest < 2.0**125, margins, np.inf)

    def columns(self, other: Side, *, rounded: bool) -> F32Array:
        """What is taken from the products with each of these, the columns: the rounding of each is given back."""
        if not rounded or self.bytes is None:
            return self.halves
        longest = 1.001 * math.sqrt(float(other.squares.max(initial=0.0)))
        with np.errstate(over="ignore"):
            return (self.halves - longest * self.bytes.errors).astype(np.float32)


def scales_of(vectors: F32Array) -> F64Array:
    """1 / length of each vector; infinity for zeros."""
    scales = np.empty(len(vectors))
    with np.errstate(divide="ignore"):
        for start, stop in _spans(0, len(vectors), _BLOCK):
            scales[start:stop] = 1.0 / np.sqrt(np.square(vectors[start:stop], dtype=np.float64).sum(axis=1))
    return scales


def _sized(vectors: F32Array, scales: F64Array | None) -> F32Array | F64Array:
    return vectors if scales is None else vectors * scales[:, None]


def _mean(vectors: F32Array, scales: F64Array | None) -> F64Array:
    total = np.zeros(vectors.shape[1])
    for start, stop in _spans(0, len(vectors), _BLOCK):
        total += _sized(vectors[start:stop], _some(scales, start, stop)).sum(axis=0, dtype=np.float64)
    return total / max(1, len(vectors))


def _some(scales: F64Array | None, first: int, stop: int) -> F64Array | None:
    return None if scales is None else scales[first:stop]


class _BlockScan:
    """The approximate scores of a block of rows with one block of columns after another."""

    def __init__(self, rows: Side, columns: Side) -> None:
        self.rows, self.items = rows, columns
        both = rows.bytes is not None and columns.bytes is not None
        self.margins = {rounded: rows.margins(columns, rounded=rounded) for rounded in {both, False}}
        self.halves = {rounded: columns.columns(rows, rounded=rounded) for rounded in {both, False}}
        self.rounded = both

    def block(self, first: int, stop: int) -> _ScannedBlock:
        return _ScannedBlock(self, first, stop)


class _ScannedBlock:
    """A block of rows of a scan; its products are in `near`, until those with the next columns are made."""

    def __init__(self, scan: _BlockScan, first: int, stop: int) -> None:
        self.scan, self.first, self.stop = scan, first, stop
        self.near = np.empty(padded(stop - first) * padded(_BLOCK), np.float32)
        self._floats: F32Array | None = None

    def multiply(self, column: int, end: int, rounded: bool) -> int:
        """Fill `near` with the approximations for these columns, and tell how far apart its rows are."""
        rows, items, stride = self.scan.rows, self.scan.items, padded(end - column)
        count, groups = self.stop - self.first, stride // LANES
        if rows.measure == MANHATTAN:
            columns = np.ascontiguousarray(items.exact[column:end].T)
            manhattan_block(rows.exact[self.first : self.stop], columns, stride, self.near)
        elif rounded and rows.bytes is not None and items.bytes is not None:
            ours, theirs = rows.bytes, items.bytes
            byte_products(
                ours.packed, ours.scales, self.first // LANES, count, theirs.packed, theirs.scales, theirs.starts,
                column // LANES, groups, ours.words, self.near,
            )  # fmt: skip
        else:
            if self._floats is None:
                self._floats = packed_floats(rows.moved(self.first, self.stop))
            columns = packed_floats(items.moved(column, end))
            float_products(self._floats, count, columns, groups, items.exact.shape[1], self.near)
        return stride


def _all_pairs(
    side: Side, limits: F64Array, least: float, threads: int, labels: I64Array
) -> Iterator[tuple[I64Array, I64Array]]:
    """The pairs whose score is at least `least`; limits are those of their approximations without any error.

    Labels, if there are any, ascend: pairs of one label are left out, and blocks of one are not multiplied.
    """
    n, scan, nothing = len(side), _BlockScan(side, side), np.empty(0, np.int64)
    if side.measure == MANHATTAN:
        lowest = {False: limits * (1.0 + scan.margins[False])}
    else:
        lowest = {rounded: limits - margins for rounded, margins in scan.margins.items()}

    def task(span: tuple[int, int, int, int]) -> tuple[I64Array, I64Array]:
        row, row_end, first, last = span
        block = scan.block(row, row_end)
        counts = np.empty(row_end - row, np.int64)
        found = [(nothing, nothing)]
        for column, end in _spans(first, last, _BLOCK):
            if len(labels) and labels[row] == labels[end - 1]:
                continue
            for rounded in sorted({scan.rounded, False}, reverse=True):
                stride = block.multiply(column, end, rounded)
                halves, limit = scan.halves[rounded][column:end], lowest[rounded][row:row_end]
                where = side.kernel, block.near, stride, halves, limit, side.exact, labels, least, row, column
                total = collect_pairs(*where, False, counts, nothing, nothing)
                if total * _FEW < (row_end - row) * (end - column):
                    break
            if total:
                left, right = np.empty((2, total), np.int64)
                total = collect_pairs(*where, True, counts, left, right)
                found.append((left[:total], right[:total]))
        lefts, rights = zip(*found, strict=True)
        return np.concatenate(lefts), np.concatenate(rights)

    tasks = ((*rows, *strip) for rows in _spans(0, n, _BLOCK) for strip in _spans(rows[0], n, _STRIP * _BLOCK))
    for left, right in ordered_map(task, tasks, threads):
        if len(left):
            yield left, right


def all_pairs_above(
    unit: F32Array, threshold: float, threads: int, labels: I64Array | None = None
) -> Iterator[tuple[I64Array, I64Array]]:
    """Pairs (left < right) of unit vectors: all whose product reaches the threshold, and few below it, to be compared.

    Those below come within γ of it: unit vectors are rounded themselves. The pairs come in chunks, block by block.
    Pairs of vectors with the same label are left out.
    """
    if labels is not None:
        return _of_labels(labels, lambda order, mine: _above(unit[order], threshold, threads, mine))
    return _above(unit, threshold, threads, np.empty(0, np.int64))


def _above(unit: F32Array, threshold: float, threads: int, labels: I64Array) -> Iterator[tuple[I64Array, I64Array]]:
    least = threshold - _slack(unit.shape[1])
    side = Side.of(COSINE, unit)
    return _all_pairs(side, least - side.lifts, least, threads, labels)


def all_pairs_multiplied(
    vectors: F32Array, product: float, threads: int, labels: I64Array | None = None
) -> Iterator[tuple[I64Array, I64Array]]:
    """Pairs (left < right) of vectors of any length: all whose product reaches `product`, and few below it.

    Those below come within the rounding of a float64 sum, d·2⁻⁵² of both lengths. Pairs of vectors with the same label
    are left out.
    """
    if labels is not None:
        return _of_labels(labels, lambda order, mine: _multiplied(vectors[order], product, threads, mine))
    return _multiplied(vectors, product, threads, np.empty(0, np.int64))


def _multiplied(
    vectors: F32Array, product: float, threads: int, labels: I64Array
) -> Iterator[tuple[I64Array, I64Array]]:
    side = Side.of(DOT, vectors)
    longest = float(scales_of(vectors).min(initial=math.inf)) ** -2
    least = product - (vectors.shape[1] + 8) * 2.0**-52 * longest
    return _all_pairs(side, least - side.lifts, least, threads, labels)


def all_pairs_within(
    vectors: F32Array, distance: float, threads: int, measure: int = EUCLIDEAN, labels: I64Array | None = None
) -> Iterator[tuple[I64Array, I64Array]]:
    """Pairs (left < right) at a Euclidean or Manhattan distance of at most `distance`, by scores in float64.

    Pairs of vectors with the same label are left out.
    """
    if labels is not None:
        return _of_labels(labels, lambda order, mine: _within(vectors[order], distance, threads, measure, mine))
    return _within(vectors, distance, threads, measure, np.empty(0, np.int64))


def _within(
    vectors: F32Array, distance: float, threads: int, measure: int, labels: I64Array
) -> Iterator[tuple[I64Array, I64Array]]:
    side = Side.of(measure, vectors)
    # Another order of the same float64 sum gives another last bit.
    distance *= 1.0 + 1e-12
    limits = -distance * distance / 2.0 - side.lifts if measure == EUCLIDEAN else np.full(len(side), -distance)
    return _all_pairs(side, limits, -distance, threads, labels)


def _of_labels(
    labels: I64Array, scan: Callable[[I64Array, I64Array], Iterator[tuple[I64Array, I64Array]]]
) -> Iterator[tuple[I64Array, I64Array]]:
    """The pairs of a scan of vectors put in the order of their labels, by their numbers before."""
    order = np.argsort(labels, kind="stable")
    for one, other in scan(order, labels[order]):
        left, right = order[one], order[other]
        yield np.minimum(left, right), np.maximum(left, right)


def _heaps(queries: int, k: int) -> tuple[I64Array, F64Array]:
    return np.full((queries, k), NOBODY), np.full((queries, k), -np.inf)


def top(
    items: F32Array | Side,
    queries: F32Array,
    k: int,
    threads: int,
    measure: int = COSINE,
    own: I64Array | None = None,
) -> tuple[I64Array, F64Array]:
    """The best k items of each query, best first, and their exact scores: int64 and float64 (queries x k).

    For the cosine both are unit vectors, or the items are `scaled` and queries will be. `own` names an item that a
    query must not find. Where there are fewer than k items, the rest of a row is -1 with a score of -inf.
    """
    ours = items if isinstance(items, Side) else Side.of(measure, items)
    theirs = Side.of(ours.measure, queries, ours, rounded=ours.bytes is not None, scaled=ours.scaled)
    own = np.full(len(queries), -1, np.int64) if own is None else own
    ids, scores = _heaps(len(queries), k)
    scan = _BlockScan(theirs, ours)
    factors, own_factors = ours.factors, theirs.factors

    def task(span: tuple[int, int]) -> None:
        rows, count = slice(*span), span[1] - span[0]
        block, rounded = scan.block(*span), scan.rounded
        # A heap has to be filled first: that says nothing about the rest.
        allowed = count * (8 * k + 4 * _BLOCK // _FEW)
        for first, last in _spans(0, len(ours), _BLOCK):
            stride = block.multiply(first, last, rounded)
            allowed += count * (last - first) // _FEW
            allowed -= keep_best(
                ours.kernel, block.near, stride, scan.halves[rounded][first:last], first, ours.exact, factors,
                queries[rows], own_factors[rows], own[rows], theirs.lifts[rows], scan.margins[rounded][rows],
                ids[rows], scores[rows],
            )  # fmt: skip
            rounded = rounded and allowed > 0
        sort_best(ids[rows], scores[rows])

    # Few queries are dealt out evenly, but for what stands side by side.
    share = max(LANES, min(_BLOCK, padded(-(-len(queries) // threads))))
    for _ in ordered_map(task, _spans(0, len(queries), share), threads):
        pass
    ids[ids == NOBODY] = -1
    return ids, scores


def best_of_lists(
    items: Side, queries: F32Array, lists: I64Array, k: int, threads: int, own: I64Array | None = None
) -> tuple[I64Array, F64Array]:
    """The best k of the items in each query's list, as `top` gives them; an item of -1 in a list is none."""
    own = np.full(len(queries), -1, np.int64) if own is None else own
    ids, scores = _heaps(len(queries), k)
    factors = items.factors
    own_factors = scales_of(queries) if items.scaled else np.ones(len(queries))

    def task(span: tuple[int, int]) -> None:
        rows = slice(*span)
        score_lists(
            items.kernel, items.exact, factors, queries[rows], own_factors[rows], lists[rows], own[rows], ids[rows],
            scores[rows],
        )  # fmt: skip
        sort_best(ids[rows], scores[rows])

    for _ in ordered_map(task, _spans(0, len(queries), max(1, min(64, -(-len(queries) // threads)))), threads):
        pass
    ids[ids == NOBODY] = -1
    return ids, scores
