"""Bags that the user brings: elements with weights, each element once, in ascending order of their hashes.

Elements are hashed as those of sets are. The weights of an element that a bag names several times are added, weights of
zero are as good as no element, and a plain list is the bag of its elements with as many as there are of each.

The sum of an element's weights must not depend on the order in which they stand, or two equal bags would differ in a
last bit: they are added as float64 from the smallest on, and the sum is rounded to float32 once.

Fingerprints are sums over the elements x with their weights w, the bits of a float32 as a number (docs/hash-spec.md):

    Σ mix(y ^ C1),   Σ mix(y + C2),   y = mix(x + w·G)

A row is sorted like a band's keys (`collide/group.py`): hashes are uniform, so their top bits say where each belongs,
and an insertion sort mends the rest; where they are not, all bits are sorted (`kernels/chosen_hashes.py`).

    [("a", 1), ("b", 0), ("a", 2.5)]   →   hash("a") with 3.5
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError
from lookalike.kernels.chosen_hashes import sort_pairs, steps_allowed
from lookalike.kernels.jit import device, kernel
from lookalike.key import PUBLIC_KEY
from lookalike.represent.buffers import list_buffers, memory, missing, number_buffer, stored
from lookalike.represent.elements import hash_elements, hash_raw, plain_elements
from lookalike.spec import C1, C2, GOLDEN, mix
from lookalike.types import BoolArray, F32Array, F64Array, I64Array, U8Array, U64Array

__all__ = ["Bags", "bags", "collect_bags"]

# Beyond it, a row is scattered by its top bits before the insertion sort.
_SMALL = 24
_MOST_BITS = 16

_FINE, _LEFT_OUT, _OVERFLOWN = 0, 1, 2


@device
def _sift(numbers, root, end):
    """Let numbers[root] sink in the heap numbers[:end], the largest on top."""
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and numbers[child + 1] > numbers[child]:
            child += 1
        if numbers[root] >= numbers[child]:
            return
        numbers[root], numbers[child] = numbers[child], numbers[root]
        root = child


@device
def _sum(weights, start, end):
    """The sum of weights[start:end] from the smallest on. A heap sort: one element may be there a million times."""
    if end - start > 2:
        run = weights[start:end]
        n = end - start
        for root in range(n // 2 - 1, -1, -1):
            _sift(run, root, n)
        for last in range(n - 1, 0, -1):
            run[0], run[last] = run[last], run[0]
            _sift(run, 0, last)
    total = np.float64(0.0)
    for i in range(start, end):
        total += weights[i]
    return total


@device
def _sort(hashes, weights, start, n, keys, loads, counts):
    """keys[:n], loads[:n] = a row's hashes, ascending, with their weights."""
    bits = 0
    if n > _SMALL:
        while bits < _MOST_BITS and (1 << bits) < n:
            bits += 1
    for i in range((1 << bits) + 1):
        counts[i] = 0
    shift = np.uint64(64 - bits)
    for i in range(start, start + n):
        counts[np.int64(hashes[i] >> shift) + 1 if bits else 1] += 1
    for i in range(1 << bits):
        counts[i + 1] += counts[i]
    for i in range(start, start + n):
        part = np.int64(hashes[i] >> shift) if bits else 0
        keys[counts[part]], loads[counts[part]] = hashes[i], weights[i]
        counts[part] += 1
    left = steps_allowed(n)
    for i in range(1, n):
        key, load = keys[i], loads[i]
        j = i
        while j > 0 and keys[j - 1] > key and left > 0:
            keys[j], loads[j] = keys[j - 1], loads[j - 1]
            j -= 1
            left -= 1
        keys[j], loads[j] = key, load
    if left == 0:
        sort_pairs(keys[:n], loads[:n])


@kernel(
    "void(Array(uint64,1,'C',readonly=True), Array(float64,1,'C',readonly=True), Array(int64,1,'C',readonly=True), "
    "uint8[::1], uint64[::1], float64[::1], int64[::1], uint64[::1], float32[::1], uint32[::1], int64[::1], "
    "uint64[:,::1])"
)
def collect_bags(hashes, weights, offsets, states, keys, loads, counts, values, sums, bits, ends, fingerprints):
    """Row i has the elements values[ends[i] : ends[i + 1]], ascending, with the weights sums[…]; and its fingerprint.

    The row's hashes[offsets[i] : offsets[i + 1]] have the weights beside them; none may be 0. Rows whose state is not 0
    are left empty. One with a sum beyond float32 is, too, and has the state 2 afterwards. `bits` is `sums` as integers.
    """
    ends[0] = 0
    for row in range(len(offsets) - 1):
        begun = at = ends[row]
        first = second = np.uint64(0)
        n = offsets[row + 1] - offsets[row] if states[row] == _FINE else 0
        if n > 0:
            _sort(hashes, weights, offsets[row], n, keys, loads, counts)
        i = 0
        while i < n:
            j = i + 1
            while j < n and keys[j] == keys[i]:
                j += 1
            weight = np.float32(_sum(loads, i, j))
            if np.isinf(weight):
                states[row] = _OVERFLOWN
            if weight != np.float32(0.0):
                values[at], sums[at] = keys[i], weight
                at += 1
            i = j
        if states[row] == _OVERFLOWN:
            at = begun
        for k in range(begun, at):
            load = np.uint64(bits[k])
            y = mix(values[k] + load * GOLDEN)
            first += mix(y ^ C1)
            second += mix(y + C2)
        fingerprints[row, 0], fingerprints[row, 1] = first, second
        ends[row + 1] = at


class Bags(NamedTuple):
    """A batch of bags: item i has the elements values[offsets[i] : offsets[i + 1]], ascending, and weights beside them.

    `fingerprints` (n, 2) are equal for equal bags; `bad` lists (row, what is wrong with it), and such a row is empty.
    """

    offsets: I64Array
    values: U64Array
    weights: F32Array
    fingerprints: U64Array
    bad: list[tuple[int, str]]


def bags(items: pa.Array, *, key: U64Array = PUBLIC_KEY, negative: bool = False) -> Bags:
    """The bags of an Arrow column; a null row is empty, and null elements go.

    Args:
        items: lists of structs of two fields (`element` and `weight`, or whatever they are called, in this order);
            maps from elements to weights; structs of two lists side by side (`indices` and `values`); or plain lists of
            elements. Elements are integers or strings, weights any kind of numbers.
        key: of the hashes of elements.
        negative: whether weights may be negative.

    Raises:
        InputError: if the column holds something else.
    """
    items = stored(items)
    bad = dict[int, str]()
    absent = missing(items)
    elements, loads, offsets = _parts(items, absent, bad)
    elements = plain_elements(elements)
    if elements.null_count:
        there = ~missing(elements)
        offsets = np.concatenate([[0], np.cumsum(there)])[offsets]
        elements, loads = elements.drop_null(), None if loads is None else loads.filter(pa.array(there))
    weights = np.ones(len(elements)) if loads is None else _weights(loads, offsets, ~absent, bad, negative)
    states = absent.astype(np.uint8)
    states[list(bad)] = _LEFT_OUT
    hashes = hash_elements(elements, key)
    hashes[hashes == 0] = GOLDEN
    result = _collected(hashes, weights, offsets, states, key)
    for row in np.flatnonzero(states == _OVERFLOWN).tolist():
        bad[row] = "holds a weight too large for float32"
    return result._replace(bad=sorted(bad.items()))


def _parts(items: pa.Array, absent: BoolArray, bad: dict[int, str]) -> tuple[pa.Array, pa.Array | None, I64Array]:
    """Elements, their weights if there are any, and the rows' offsets."""
    if pa.types.is_struct(items.type):
        return _side_by_side(items, absent, bad)
    entries, offsets = list_buffers(items, "bags")
    if not pa.types.is_struct(entries.type):
        return entries, None, offsets
    elements, weights = _two(entries, ("element", "weight"))
    if entries.null_count:
        # A field does not know of the nulls of its structs.
        elements = pc.if_else(entries.is_valid(), elements, pa.scalar(None, elements.type))
    return elements, weights, offsets


def _two(entries: pa.Array, names: tuple[str, str]) -> tuple[pa.Array, pa.Array]:
    """The two fields of structs, by their names or else by their order."""
    found = [entries.type.get_field_index(name) for name in names]
    if min(found) < 0:
        found = [0, 1]
        if entries.type.num_fields != 2:
            raise InputError(f"bags need the fields '{names[0]}' and '{names[1]}', not {entries.type}")
    return entries.field(found[0]), entries.field(found[1])


def _side_by_side(items: pa.Array, absent: BoolArray, bad: dict[int, str]) -> tuple[pa.Array, pa.Array, I64Array]:
    """Structs of a list of elements and a list of weights."""
    lists = _two(items, ("indices", "values"))
    (elements, offsets), (weights, ends) = (_compact(each, absent) for each in lists)
    sizes, others = np.diff(offsets), np.diff(ends)
    wrong = sizes != others
    for row in np.flatnonzero(wrong).tolist():
        bad[row] = f"has {sizes[row]} elements and {others[row]} weights"
    if wrong.any():
        elements = elements.filter(pa.array(np.repeat(~wrong, sizes)))
        weights = weights.filter(pa.array(np.repeat(~wrong, others)))
        offsets = np.concatenate([[0], np.cumsum(np.where(wrong, 0, sizes))]).astype(np.int64)
    return elements, weights, offsets


def _compact(lists: pa.Array, absent: BoolArray) -> tuple[pa.Array, I64Array]:
    """Elements and offsets in which null rows take no room."""
    elements, offsets = list_buffers(stored(lists), "the two fields of a bag")
    elements = plain_elements(elements)
    gone = absent | missing(lists)
    if not gone.any():
        return elements, offsets
    sizes = np.diff(offsets)
    elements = elements.filter(pa.array(np.repeat(~gone, sizes)))
    return elements, np.concatenate([[0], np.cumsum(np.where(gone, 0, sizes))]).astype(np.int64)


def _weights(loads: pa.Array, offsets: I64Array, present: BoolArray, bad: dict[int, str], negative: bool) -> F64Array:
    """The weights as float64; rows with one that cannot be are bad."""
    weights: F64Array = number_buffer(loads, "the weights of bags").astype(np.float64)
    nulls = missing(loads)
    fine = np.isfinite(weights) if negative else (weights >= 0) & (weights < np.inf)
    odd = nulls | ~fine
    if odd.any():
        rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        for place in np.flatnonzero(odd & np.repeat(present, np.diff(offsets))).tolist():
            what = "holds an element without a weight" if nulls[place] else _wrong(weights[place])
            bad.setdefault(int(rows[place]), what)
    return weights


def _wrong(weight: float) -> str:
    if np.isnan(weight):
        return "holds NaN"
    return "holds infinity" if np.isinf(weight) else f"holds a negative weight, {weight:g}"


def _collected(hashes: U64Array, weights: F64Array, offsets: I64Array, states: U8Array, key: U64Array) -> Bags:
    rows, total = len(offsets) - 1, int(offsets[-1])
    longest = int(np.diff(offsets).max(initial=0))
    ends, fingerprints = np.empty(rows + 1, np.int64), np.empty((rows, 2), np.uint64)
    values, sums = np.empty(total, np.uint64), np.empty(total, np.float32)
    collect_bags(
        hashes, weights, offsets, states, memory.take("bag keys", longest, np.uint64),
        memory.take("bag weights", longest, np.float64), np.empty((1 << _MOST_BITS) + 1, np.int64),
        values, sums, sums.view(np.uint32), ends, fingerprints,
    )  # fmt: skip
    fingerprints[np.diff(ends) == 0] = hash_raw(np.empty(0, np.uint8), np.zeros(2, np.int64), key)
    size = int(ends[-1])
    return Bags(ends, values[:size], sums[:size], fingerprints, [])
