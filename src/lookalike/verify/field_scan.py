"""The nearest rows of each query that are compared column by column, by comparing it with each of them.

What rows share tells too little before they are compared: a year, or the name of a journal, is the same in many, and
the least of a title outweighs it. A pair takes a tenth of a microsecond or two.
"""

from __future__ import annotations

import numpy as np

from lookalike.kernels.jit import kernel
from lookalike.threads.ordered import ordered_map
from lookalike.types import F64Array, I64Array
from lookalike.verify.element_lists import ElementRows
from lookalike.verify.field_scores import field_score
from lookalike.verify.selection import NOBODY, replace_worst, sort_best, worse

__all__ = ["nearest_by_fields"]

_ROWS = "Array(int64,1,'C',readonly=True), Array(uint64,1,'C',readonly=True)"
# Queries that one call answers, on one thread.
_QUERIES = 16


@kernel(
    f"void({_ROWS}, {_ROWS}, Array(float64,1,'C',readonly=True), int64, int64, int64, int64[:,::1], float64[:,::1])"
)
def _nearest_rows(offsets, words, q_offsets, q_words, weights, first, last, myself, ids, scores):
    """Fill the heaps of the best of the queries from `first` to before `last`; none of them where nothing is shared.

    Query q does not find item q if `myself` is 0.
    """
    k = ids.shape[1]
    for q in range(first, last):
        for place in range(k):
            ids[q, place], scores[q, place] = NOBODY, -np.inf
        for item in range(len(offsets) - 1):
            if item == q + myself:
                continue
            score = field_score(
                q_words,
                q_offsets[q],
                q_offsets[q + 1],
                words,
                offsets[item],
                offsets[item + 1],
                weights,
                max(0.0, scores[q, 0]),
            )
            if score > 0.0 and worse(scores[q, 0], ids[q, 0], score, item):
                replace_worst(scores, ids, q, k, score, item)


def nearest_by_fields(
    items: ElementRows, queries: ElementRows | None, weights: F64Array, count: int, threads: int
) -> I64Array:
    """The `count` nearest items of each query, or of each item; nearest first, equals by number, -1 where none are."""
    asked, myself = (items, 0) if queries is None else (queries, -(2**62))
    ids, scores = np.empty((len(asked), count), np.int64), np.empty((len(asked), count))

    def task(first: int) -> None:
        last = min(first + _QUERIES, len(asked))
        _nearest_rows(items.offsets, items.words, asked.offsets, asked.words, weights, first, last, myself, ids, scores)
        sort_best(ids[first:last], scores[first:last])

    for _ in ordered_map(task, range(0, len(asked), _QUERIES), threads):
        pass
    ids[ids == NOBODY] = -1
    return ids
