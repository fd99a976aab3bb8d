"""What shares elements with a query is counted up, list by list: the kernels behind `search/shared_elements.py`.

Each element has a list of the items that have it. The lists of a query's elements are walked, short ones first, and
what each item shares with the query is added up:

    overlap       what a shared element adds     the score
    JACCARD       1                              shared / (|A| + |B| - shared)
    CONTAINMENT   1                              shared / the smaller of |A| and |B|
    LEAST         the smaller weight             shared / (the weights of A and B - shared)
    PRODUCT       the product of both weights    shared / (the lengths of A and B multiplied)

Before a long list is walked it is asked what an item may still score that none of the lists before had. If k items
score more already, nobody new needs to be looked for, and the rest of the query is looked up in the items that were
found: a template that stands in every document is looked up in a few of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookalike.kernels.jit import device, kernel
from lookalike.types import F32Array, F64Array, I64Array, U64Array
from lookalike.verify.selection import NOBODY, replace_worst, worse

__all__ = ["CONTAINMENT", "JACCARD", "LEAST", "PRODUCT", "ElementRows", "add_up", "search_lists"]

JACCARD, CONTAINMENT, LEAST, PRODUCT = 0, 1, 2, 3

# Sums of weights are rounded, and so is what is held against them.
_SLACK = 1e-9
_CLASSES = 33  # of the lengths of lists, each twice as long

_ROWS = "Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True), Array(float32,1,'C',readonly=True)"
_NUMBERS = "Array(int64,1,'C',readonly=True)"
_TOTALS = "Array(float64,1,'C',readonly=True)"


@dataclass(frozen=True, slots=True)
class ElementRows:
    """Sets or bags: item i has the elements words[offsets[i] : offsets[i + 1]], ascending, and as many weights.

    There are no weights where every element counts the same.
    """

    offsets: I64Array
    words: U64Array
    weights: F32Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> I64Array:
        """How many elements each item has."""
        return np.diff(self.offsets)

    def totals(self, overlap: int) -> F64Array:
        """What the score of each item goes by: the number of its elements, the sum of their weights, or its length."""
        if not len(self.weights):
            return self.sizes.astype(np.float64)
        totals = np.empty(len(self))
        add_up(self.offsets, self.weights, overlap, totals)
        return totals

    def taken(self, rows: I64Array) -> ElementRows:
        """Some of these items."""
        sizes = self.sizes[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return ElementRows(offsets, self.words[places], self.weights[places] if len(self.weights) else self.weights)

    def joined(self, other: ElementRows) -> ElementRows:
        """These items and behind them others."""
        return ElementRows(
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.words, other.words]), np.concatenate([self.weights, other.weights]),
        )  # fmt: skip


@kernel(f"void({_NUMBERS}, Array(float32,1,'C',readonly=True), int64, float64[::1])")
def add_up(offsets, weights, overlap, totals):
    """totals[i] = the sum of the weights of item i, or its length where weights are multiplied."""
    for item in range(len(totals)):
        total = 0.0
        for place in range(offsets[item], offsets[item + 1]):
            weight = np.float64(weights[place])
            total += weight * weight if overlap == PRODUCT else weight
        totals[item] = math.sqrt(total) if overlap == PRODUCT else total


@device
def _score(overlap, shared, ours, theirs):
    """The score of a query with an item that shares so much with it, from the totals of both."""
    if overlap == CONTAINMENT:
        return shared / min(ours, theirs)
    if overlap == PRODUCT:
        return shared / (ours * theirs)
    return shared / (ours + theirs - shared)


@device
def _most(overlap, shared, rest, ours, theirs):
    """What an item can score at the most that shares so much, when it has all that it can have of the rest."""
    if overlap == PRODUCT:
        return (shared + math.sqrt(rest) * theirs) / (ours * theirs)
    return _score(overlap, min(shared + rest, min(ours, theirs)), ours, theirs)


@device
def _most_new(overlap, rest, ours):
    """The same of an item that shares nothing yet, however large it is."""
    if overlap == CONTAINMENT:
        return 1.0 if rest > 0.0 else 0.0
    return math.sqrt(rest) / ours if overlap == PRODUCT else rest / ours


@device
def _place_of(words, start, end, element):
    """Where an element stands in words[start : end], which ascend, or -1."""
    stop = end
    while start < end:
        middle = (start + end) >> 1
        if words[middle] < element:
            start = middle + 1
        else:
            end = middle
    return start if start < stop and words[start] == element else np.int64(-1)


@device
def _added(overlap, ours, theirs):
    if overlap == LEAST:
        return min(ours, theirs)
    return ours * theirs if overlap == PRODUCT else 1.0


@kernel(
    f"int64(int64, {_ROWS}, {_TOTALS}, {_ROWS}, {_TOTALS}, {_NUMBERS}, {_NUMBERS}, {_NUMBERS}, "
    "Array(uint32,1,'C',readonly=True), Array(float32,1,'C',readonly=True), int64, int64, int64, int64, "
    "int64[:,::1], float64[:,::1])"
)
def search_lists(
    overlap, offsets, words, weights, totals, q_offsets, q_words, q_weights, q_totals, list_of, starts, ends, owners,
    owner_weights, first, last, myself, short, ids, scores,
):  # fmt: skip
    """Take all that share an element with the queries first, …, last - 1 into the heaps of their best k, worst first.

    `list_of` has the list of each element of the queries, or -1; list g is owners[starts[g] : ends[g]]. Query q is item
    myself + q itself, which is left out, unless myself is negative. Lists longer than `short` are walked only where
    that is necessary. Returns how many entries of lists were walked.
    """
    weighted = len(weights) > 0
    items, k = len(totals), ids.shape[1]
    shared = np.zeros(items, np.float64)
    seen_by = np.full(items, -1, np.int64)
    seen = np.empty(items, np.int64)
    longest = 0
    for q in range(first, last):
        longest = max(longest, q_offsets[q + 1] - q_offsets[q])
    order, rest = np.empty(longest, np.int64), np.empty(longest + 1, np.float64)
    classes = np.empty(_CLASSES + 1, np.int64)
    walked = 0
    for q in range(first, last):
        ours = q_totals[q]
        own = myself + q if myself >= 0 else np.int64(-1)
        # The elements that have a list, by the class of its length.
        for each in range(_CLASSES + 1):
            classes[each] = 0
        lists = 0
        for sorting in range(2):
            if sorting:
                for each in range(_CLASSES):
                    classes[each + 1] += classes[each]
                lists = classes[_CLASSES]
            for place in range(q_offsets[q], q_offsets[q + 1]):
                if list_of[place] < 0:
                    continue
                length = ends[list_of[place]] - starts[list_of[place]]
                size = 0
                while (length >> size) > 1:
                    size += 1
                if sorting:
                    order[classes[size]] = place
                    classes[size] += 1
                else:
                    classes[size + 1] += 1
        rest[lists] = 0.0
        for at in range(lists - 1, -1, -1):
            weight = np.float64(q_weights[order[at]]) if weighted else 1.0
            rest[at] = rest[at + 1] + (weight * weight if overlap == PRODUCT else weight)
        found, at, least = 0, 0, -np.inf
        while at < lists:
            mine = list_of[order[at]]
            length = ends[mine] - starts[mine]
            if length > short and found >= k and length >= found:
                # What the k-th of those that were found scores at the least.
                for place in range(k):
                    ids[q, place], scores[q, place] = NOBODY, -np.inf
                for place in range(found):
                    item = seen[place]
                    score = _score(overlap, shared[item], ours, totals[item])
                    if item != own and worse(scores[q, 0], ids[q, 0], score, item):
                        replace_worst(scores, ids, q, k, score, item)
                least = scores[q, 0]
                if least > _most_new(overlap, rest[at], ours) * (1.0 + _SLACK):
                    break
            weight = np.float64(q_weights[order[at]]) if weighted else 1.0
            for entry in range(starts[mine], ends[mine]):
                item = np.int64(owners[entry])
                if seen_by[item] != q:
                    seen_by[item] = q
                    shared[item] = 0.0
                    seen[found] = item
                    found += 1
                shared[item] += _added(overlap, weight, np.float64(owner_weights[entry]) if weighted else 1.0)
            walked += length
            at += 1
        for place in range(k):
            ids[q, place], scores[q, place] = NOBODY, -np.inf
        for place in range(found):
            item = seen[place]
            if item == own:
                continue
            theirs = totals[item]
            if at < lists:
                if _most(overlap, shared[item], rest[at], ours, theirs) * (1.0 + _SLACK) < least:
                    continue
                for other in range(at, lists):
                    there = _place_of(words, offsets[item], offsets[item + 1], q_words[order[other]])
                    if there >= 0:
                        shared[item] += _added(
                            overlap, np.float64(q_weights[order[other]]) if weighted else 1.0,
                            np.float64(weights[there]) if weighted else 1.0,
                        )  # fmt: skip
            score = _score(overlap, shared[item], ours, theirs)
            if score > 0.0 and worse(scores[q, 0], ids[q, 0], score, item):
                replace_worst(scores, ids, q, k, score, item)
    return walked
