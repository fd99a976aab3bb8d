"""The join of giant buckets: exact, by rare elements, so that a shared template costs nothing.

The problem. If a third of all pages share a template, they meet in nearly every band, far above or just below the
threshold, and m items make m²/2 candidates. More bands or rows do not part them: they are alike.

The idea is the prefix filter of Chaudhuri, Ganti and Kaushik (2006) and Bayardo, Ma and Srikant (2007), with the
shorter prefix for the smaller set of Xiao, Wang, Lin and Yu (PPJoin, 2008). Order all elements, the rarest first. If
|A| <= |B| and J(A, B) >= t, then |A∩B| >= 2t/(1+t)·|A| and >= t·|B|, so the first |A| - ⌈2t/(1+t)·|A|⌉ + 1 elements
of A and the first |B| - ⌈t·|B|⌉ + 1 of B have one in common: of 300 elements at t = 0.8 the 34 and the 61 rarest.
What a template adds to every page is frequent, hence last, and parts of it reach these prefixes only where it makes
up 89% of A, and then the pages are alike indeed. Nothing is lost: of the items of giant buckets every pair at or
above the threshold is found.

Containment of the smaller A in B, |A∩B| >= t·|A|, says nothing of the size of B: the first |A| - ⌈t·|A|⌉ + 1 elements
of A have one in B, and any element of B may be it. So the larger set has all its elements as probes, of which only
those matter that are in the prefix of some item: the others are filtered out by marks.

Any fixed order of the elements is sound, and a good guess at their frequency is enough: one byte for each of a table of
counters, shared by the elements that fall on it. It never counts too few of the first 128, so an element with a count
of 1 is in one item only and cannot make a pair. From 128 on it counts by chance, eight steps for each doubling (Morris
1978), so that a byte tells apart what is in a thousand items from what is in a million: of small sets, such as tags,
all elements are frequent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.spec import mix
from lookalike.types import BoolArray, F64Array, I64Array, U8Array, U32Array, U64Array

__all__ = [
    "Prefix",
    "Reach",
    "containment_lengths",
    "containment_reach",
    "count_elements",
    "counters",
    "entries",
    "jaccard_reach",
    "prefix_entries",
    "prefix_lengths",
]

# (short, long) of sorted rows: how many of its rarest elements an item has in lists, as the smaller and as the larger
# of a pair.
Prefix: TypeAlias = Callable[[I64Array, U64Array], tuple[I64Array, I64Array]]
# (smaller, larger) of sets of so many elements: what an item adds, as the smaller and as the larger of a pair that
# matches, to the number of elements that only one of them has; None where nothing is known of it.
Reach: TypeAlias = Callable[[I64Array], tuple[F64Array, F64Array] | None]

_CLASSES = 256
_MOST_COUNTERS = 1 << 26
_PROBE = np.uint32(1 << 31)
# What is counted one by one, and the bits of chance at which the steps after it begin: 16 to a step, then 32, …
_ONE_BY_ONE = 128
_STEP_BITS = 4
_ONE = np.uint64(1)
# Far more than the rounding of a bound, as a share of a set, and far less than an element.
_SLACK = 1e-9


@kernel("void(Array(uint64,1,'C',readonly=True), int64, int64, int64, uint8[::1])")
def count_elements(values, first, low, high, counts):
    """Count each element x at counts[x mod size], the size being a power of two, up to 255, from low on and below high.

    One by one, and from 128 on with a chance of 1/16, after eight of those steps of 1/32, and so on: first + i is the
    number of values[i] among all that are counted, and draws its chance.
    """
    mask = np.uint64(len(counts) - 1)
    for i in range(len(values)):
        at = np.int64(values[i] & mask)
        if at < low or at >= high:
            continue
        count = np.int64(counts[at])
        if count < _ONE_BY_ONE:
            counts[at] = np.uint8(count + 1)
        elif count < 255:
            bits = np.uint64(_STEP_BITS + ((count - _ONE_BY_ONE) >> 3))
            if mix(np.uint64(first + i)) & ((_ONE << bits) - _ONE) == 0:
                counts[at] = np.uint8(count + 1)


@kernel(
    "int64(Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(uint32,1,'C',readonly=True), "
    "Array(int64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), Array(uint8,1,'C',readonly=True), "
    "Array(uint8,1,'C',readonly=True), uint64, uint64, uint64[::1], uint32[::1])"
)
def prefix_entries(offsets, values, numbers, short, long, counts, marks, low, high, keys, items):
    """Write the entries (element, item) of the prefixes, elements from low to high; how many there are.

    Row i = values[offsets[i] : offsets[i + 1]], sorted, is item numbers[i]; of its elements by (count, element) the
    first long[i] are entries, those after the first short[i] as probes, as far as marks[x mod size] are set. Elements
    with a count of 1 are not written.
    """
    mask, marked = np.uint64(len(counts) - 1), np.uint64(len(marks) - 1)
    classes = np.empty(_CLASSES, np.int64)
    written = 0
    for row in range(len(numbers)):
        begin, end = offsets[row], offsets[row + 1]
        for c in range(_CLASSES):
            classes[c] = 0
        for i in range(begin, end):
            classes[np.int64(counts[np.int64(values[i] & mask)])] += 1
        # What is left of a prefix when the class begins: the whole class, a part of it, or nothing.
        before = 0
        for c in range(_CLASSES):
            before, classes[c] = before + classes[c], before
        for i in range(begin, end):
            x = values[i]
            c = np.int64(counts[np.int64(x & mask)])
            rank = classes[c]
            classes[c] = rank + 1
            if rank >= long[row] or c <= 1 or x < low or x > high:
                continue
            if rank >= short[row] and marks[np.int64(x & marked)] == 0:
                continue
            keys[written] = x
            items[written] = numbers[row] if rank < short[row] else numbers[row] | _PROBE
            written += 1
    return written


def counters(elements: int) -> U8Array:
    """A table of counters for so many elements: about one each, up to 64 MB.

    Its size depends on nothing else: which lists there are, and who leads them, must be the same on every machine.
    """
    size = 1 << 16
    while size < elements and size < _MOST_COUNTERS:
        size *= 2
    return np.zeros(size, np.uint8)


def prefix_lengths(sizes: I64Array, threshold: float) -> tuple[I64Array, I64Array]:
    """The prefixes for Jaccard."""
    return _all_but(sizes, 2 * threshold / (1 + threshold)), _all_but(sizes, threshold)


def containment_lengths(sizes: I64Array, threshold: float) -> tuple[I64Array, I64Array]:
    """The prefixes for containment of the smaller set in the larger one."""
    return _all_but(sizes, threshold), sizes


def jaccard_reach(sizes: I64Array, threshold: float) -> tuple[F64Array, F64Array]:
    """|A∪B| - |A∩B| <= (1 - t)/(1 + t)·(|A| + |B|), where the Jaccard similarity is t or more."""
    share: F64Array = ((1 - threshold) / (1 + threshold) + _SLACK) * sizes.astype(np.float64)
    return share, share


def containment_reach(sizes: I64Array, threshold: float) -> tuple[F64Array, F64Array]:
    """|A∪B| - |A∩B| <= |A| + |B| - 2t·|A|, where a share of t or more of the smaller A is in B."""
    exact = sizes.astype(np.float64)
    return (1 - 2 * threshold + _SLACK) * exact, (1 + _SLACK) * exact


def _all_but(sizes: I64Array, share: float) -> I64Array:
    """How many elements of each set are so many that a part of the set which is `share` of it has one of them."""
    # A bound that is rounded down makes the prefix longer by one, which is safe.
    needed = np.ceil(share * sizes - _SLACK * sizes).astype(np.int64)
    lengths: I64Array = np.minimum(sizes - needed + 1, sizes)
    return lengths


def entries(
    offsets: I64Array,
    values: U64Array,
    numbers: U32Array,
    lengths: tuple[I64Array, I64Array],
    counts: U8Array,
    marks: BoolArray,
    span: tuple[int, int],
) -> tuple[U64Array, U32Array]:
    """The prefix entries of a block of sorted rows with elements in a span, ready for grouping."""
    short, long = lengths
    room = int(long.sum())
    keys, items = np.empty(room, np.uint64), np.empty(room, np.uint32)
    low, high = np.uint64(span[0]), np.uint64(span[1])
    written = prefix_entries(
        offsets, values, numbers, short, long, counts, marks.view(np.uint8), low, high, keys, items
    )
    return keys[:written].copy(), items[:written].copy()
