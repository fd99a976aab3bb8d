"""The nearest sets or bags of each query, exactly: those that share an element with it (`verify/element_lists.py`).

An item that shares nothing with a query is no neighbour of it.
"""

from __future__ import annotations

import numpy as np

from lookalike.collide.group import PROBE, group
from lookalike.errors import InputError
from lookalike.threads.ordered import ordered_map
from lookalike.types import F32Array, F64Array, I64Array, U32Array
from lookalike.verify.element_lists import ElementRows, search_lists
from lookalike.verify.selection import NOBODY, sort_best

__all__ = ["SharedElements"]

# Lists up to this length are walked without asking whether that is necessary.
_SHORT = 256
# Queries that one call answers, on one thread.
_QUERIES = 64


class SharedElements:
    """Items to be searched for the nearest of some queries; without queries, for the nearest of each item."""

    def __init__(self, overlap: int, items: ElementRows, queries: ElementRows | None = None, threads: int = 1) -> None:
        self._overlap, self._items, self._threads = overlap, items, threads
        self._queries = items if queries is None else queries
        self._myself = 0 if queries is None else -1
        self.walked = 0
        both = items if queries is None else items.joined(queries)
        if len(both.words) >= PROBE:
            raise InputError(
                f"items and queries have {len(both.words):,} elements: the nearest are found among up to {PROBE - 1:,}"
            )
        own = len(items.words)
        places = np.arange(len(both.words), dtype=np.uint32)
        places[own:] |= np.uint32(PROBE)
        # What stands in one item alone is shared by nobody, and what no item has makes no list.
        lists = group(both.words.copy(), places, np.zeros(1, np.bool_), most=PROBE)
        self._starts, self._ends = lists.starts[:-1], lists.splits
        members = lists.members.astype(np.int64)
        numbers = np.repeat(np.arange(len(lists), dtype=np.int64), np.diff(lists.starts))
        asking = np.full(len(both.words), -1, np.int64)
        asking[members] = numbers
        self._list_of = asking if queries is None else asking[own:]
        # Places of queries are no items; they stand behind the end of their list.
        which = np.repeat(np.arange(len(items), dtype=np.uint32), items.sizes)
        inside = np.minimum(members, max(own - 1, 0))
        self._owners: U32Array = which[inside] if own else np.empty(0, np.uint32)
        self._owner_weights: F32Array = items.weights[inside] if len(items.weights) else items.weights
        # Negative weights may take away what is shared, so what is seen is no lower bound.
        signed = bool(len(both.weights) and (both.weights < 0).any())
        self._short = 2**62 if signed else _SHORT

    def search(self, k: int) -> tuple[I64Array, F64Array]:
        """The nearest k items of each query, best first, and their scores; -1 and -inf where there are no more.

        Equal scores are ordered by item number. Scores by weights are rounded in another order than those of pairs.
        """
        items, queries, overlap = self._items, self._queries, self._overlap
        ids, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        totals = items.totals(overlap)
        asking = totals if self._myself == 0 else queries.totals(overlap)

        def task(first: int) -> int:
            some = slice(first, min(first + _QUERIES, len(queries)))
            walked = search_lists(
                overlap, items.offsets, items.words, items.weights, totals, queries.offsets, queries.words,
                queries.weights, asking, self._list_of, self._starts, self._ends, self._owners, self._owner_weights,
                first, some.stop, self._myself, self._short, ids, scores,
            )  # fmt: skip
            sort_best(ids[some], scores[some])
            return int(walked)

        self.walked = sum(ordered_map(task, range(0, len(queries), _QUERIES), self._threads))
        ids[ids == NOBODY] = -1
        return ids, scores
