"""The nearest items of each query: items and queries read, searched by the way that their form allows, told as a table.

    vectors by cosine, dot, euclidean, ...     a scan of products, or of sign bits first (`nearest.py`)
    sets and bags, text included               lists of those that share an element (`shared_elements.py`)
    rows, column by column                     each query with each row (`verify/field_scan.py`)
    strings of bits                            a scan of all of them (`verify/bit_scan.py`)
    vectors by another distance                each query with each item

All but the sign bits are exact. All items are held: the collection is searched once, not kept; an index (`index/`) is
for that. The scores are those that `pairs` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa

from lookalike.config import Config, check_options, make_config
from lookalike.errors import InputError, OptionError
from lookalike.io.source import Source, remarks_on
from lookalike.io.writing.tabular import Tabular, beginning
from lookalike.items.from_rows import Items, open_items
from lookalike.items.ids import Ids
from lookalike.key import sketch_seed
from lookalike.measure_table import FIELDS, check_measure, measure_named
from lookalike.measures import Measure, measure_of
from lookalike.search.nearest import Nearest, SearchPlan
from lookalike.search.searched_items import SearchedItems, count_shingles, left_out_examples, read_items
from lookalike.search.shared_elements import SharedElements
from lookalike.types import F64Array, I64Array
from lookalike.verify.bit_scan import nearest_by_bits, side_by_side
from lookalike.verify.element_lists import CONTAINMENT, JACCARD, LEAST, PRODUCT
from lookalike.verify.field_scan import nearest_by_fields
from lookalike.verify.verifier import HeldRows, RowsInPlaces, Verifier
from lookalike.wording.phrases import counted, measure_words
from lookalike.wording.printable import printable
from lookalike.wording.progress import SILENT, Progress

__all__ = ["LeftOut", "Neighbors", "SearchedSource", "find_neighbors", "open_search"]

# Pairs of queries and items that are scored at a time, and the bytes of rows that are made for some of them.
_SCORED, _GATHERED = 1 << 16, 256 << 20


@dataclass(frozen=True)
class LeftOut:
    """What was not searched, or not searched for: rows that could not be read, items that cannot be compared, or that
    have nothing to be compared by; and what users should know of how files were read (`remarks`)."""

    rows: int = 0
    items: int = 0
    queries: int = 0
    empty_items: int = 0
    empty_queries: int = 0
    examples: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Neighbors(Tabular):
    """The nearest items of each query: items[q, i] is the item of rank i + 1, -1 where there are no more."""

    config: Config
    plan: SearchPlan
    items: I64Array
    scores: F64Array
    item_ids: Ids
    query_ids: Ids
    left_out: LeftOut
    # Whether each item searched the others.
    among_themselves: bool
    # What an item is called.
    noun: str = "item"

    @cached_property
    def table(self) -> pa.Table:
        """The columns `query`, `rank`, `id` and `similarity` or `distance`, a row for each neighbour."""
        there = self.items >= 0
        query, rank = np.nonzero(there)
        scale = self.config.scale
        return pa.table(
            {
                "query": self.query_ids.of(query),
                "rank": pa.array(rank + 1),
                "id": self.item_ids.of(self.items[there]),
                scale.column: pa.array(scale.told(self.scores[there])),
            }
        )

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.items)

    def __iter__(self) -> Iterator[list[Any]]:
        """The ids of the neighbours of each query, nearest first."""
        for row in self.items:
            yield self.item_ids.of(row[row >= 0]).to_pylist()

    @property
    def k(self) -> int:
        """How many neighbours were asked for."""
        return int(self.items.shape[1])

    @property
    def notes(self) -> list[str]:
        """What is not as it was asked for."""
        out, others = [], self.item_ids.rows - self.among_themselves
        if self.k > others:
            found = "is only 1 item" if others == 1 else f"are only {others:,} items"
            out.append(f"k is {self.k:,}, and there {found} to be found: all are listed")
        for number, noun in ((self.left_out.items, "item"), (self.left_out.queries, "query")):
            if number:
                out.append(f"{counted(number, noun)} skipped: cannot be compared")
        for number, noun in ((self.left_out.empty_items, "item"), (self.left_out.empty_queries, "query")):
            if number:
                out.append(f"{counted(number, noun)} skipped: empty or without a shingle")
        fewer = int((self.items[:, -1] < 0).sum()) if self.k <= others else 0
        if fewer:
            few = "without a neighbour" if self.k == 1 else f"with fewer than {self.k:,} neighbours"
            out.append(f"{counted(fewer, 'query')} {few}: no other item shares anything")
        if self.left_out.rows:
            out.append(f"{counted(self.left_out.rows, 'unreadable row')} skipped")
        if self.left_out.examples:
            out.append(f"the first: {self.left_out.examples[0]}")
        return [*out, *self.left_out.remarks]

    @property
    def headline(self) -> str:
        """How many queries among how many items, and how."""
        among = f"{counted(len(self), 'query')} among {counted(self.item_ids.rows, self.noun)}"
        return f"{among} by {measure_words(self.config.scale.measure, self.config.scale.column)}: {self.plan}"

    @property
    def report(self) -> dict[str, Any]:
        """What was searched, and how."""
        plan = self.plan
        return {
            "queries": len(self.items),
            "items": self.item_ids.rows,
            "k": self.k,
            "measure": self.config.scale.measure,
            "method": plan.method,
            "recall": {"expected": plan.recall, "low": plan.low, "high": plan.high},
            "plan": str(plan),
            "bad_items": self.left_out.items,
            "bad_queries": self.left_out.queries,
            "empty_items": self.left_out.empty_items,
            "empty_queries": self.left_out.empty_queries,
            "skipped_rows": self.left_out.rows,
            "skipped_examples": list(self.left_out.examples),
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        return "\n".join([self.headline, *beginning(self.table), *(printable(f"  ({note})") for note in self.notes)])


def find_neighbors(
    source: Source, queries: Source | None, options: Mapping[str, Any], progress: Progress = SILENT
) -> Neighbors:
    """Search the items of a source by the options of `neighbors`; without queries each item searches the others."""
    k, recall = options["k"], options["recall"]
    if not 0.0 < recall <= 1.0:
        raise OptionError(f"recall is {recall!r}: it must be above 0 and at most 1")
    search = open_search(source, options, progress)
    base = asked = search.base
    if queries is not None:
        asked = search.read_queries(queries, progress)
    with progress.stage("searching", None, "queries"):
        own = None if queries is not None else np.arange(len(base))
        nearest, scores, plan = search.nearest(asked, k, recall, own)
    read = [base] if queries is None else [base, asked]
    left_out = LeftOut(
        rows=source.skipped + (queries.skipped if queries is not None else 0),
        items=base.bad, queries=0 if queries is None else asked.bad,
        empty_items=base.empty, empty_queries=0 if queries is None else asked.empty,
        examples=left_out_examples(read, source.bad, queries.bad if queries else []),
        remarks=remarks_on(source, queries),
    )  # fmt: skip
    noun = search.items.traits.noun
    return Neighbors(search.config, plan, nearest, scores, base.ids, asked.ids, left_out, queries is None, noun)


# Options of the search, and not of what is searched.
_OF_SEARCH = ("k", "recall", "measure", "distance", "format", "delimiter", "limit", "progress")
# By what a set or bag is searched for; what is not here weighs.
_OVERLAPS = {"jaccard": JACCARD, "containment": CONTAINMENT, "weighted-jaccard": LEAST, "cosine": PRODUCT}


def open_search(source: Source, options: Mapping[str, Any], progress: Progress = SILENT) -> SearchedSource:
    """The items of a source, read, to be searched."""
    measure = options["measure"]
    name = None if measure is None else check_measure(measure)
    # No pair is too far apart to be told, so the limit is not looked at; some measures need one.
    needs = [] if name is None else ["max_distance"] if measure_named(name).is_distance else ["threshold"]
    given = {name: value for name, value in options.items() if name not in _OF_SEARCH and value is not None}
    asked_for = make_config(**cast(Any, given | {"measure": name} | dict.fromkeys(needs, 1.0)))
    items = open_items(source, asked_for)
    check_options(asked_for, items.form)
    config = asked_for.for_items(items.form, items.dimensions)
    if options.get("distance"):
        config = config.told_as_distances(items.dimensions)
    kind = measure_of(items.recipe, count_shingles(items, config.threads, progress))
    judge = kind.judge(config)
    assert judge is not None
    base = read_items(items, kind, judge.plain(), "items", config, progress)
    return SearchedSource(asked_for, config, items, kind, base)


@dataclass(frozen=True)
class SearchedSource:
    """Items that are searched. `asked_for` is the configuration as it was given, `config` the one that it came to."""

    asked_for: Config
    config: Config
    items: Items
    kind: Measure
    base: SearchedItems

    def read_queries(self, source: Source, progress: Progress = SILENT) -> SearchedItems:
        """The queries, which must be what the items are; where there is one column, its name does not matter."""
        # They may have the same id column; otherwise they have their natural ids, or row numbers.
        names = source.schema().names
        config = replace(self.asked_for, id=self.asked_for.id if self.asked_for.id in names else None)
        found = open_items(source, replace(config, columns=()) if len(names) == 1 else config)
        if found.form != self.items.form:
            raise InputError(f"the queries are {found.form}, and the items {self.items.form}")
        if found.dimensions != self.items.dimensions:
            part = f"{self.items.traits.part}s"
            raise InputError(f"the queries have {found.dimensions} {part}, and the items {self.items.dimensions}")
        found = replace(found, recipe=self.items.recipe)
        return read_items(found, self.kind, self.base.judge, "queries", self.config, progress)

    def nearest(
        self, asked: SearchedItems, k: int, recall: float = 1.0, own: I64Array | None = None
    ) -> tuple[I64Array, F64Array, SearchPlan]:
        """(items, scores, plan) of the nearest k items of each query; own[q] is query q itself, and left out."""
        # All items ask for all others.
        among = asked is self.base
        found, plan = self._found(asked, k if own is None or among else k + 1, recall, among=among)
        nearest, scores = _scored(found, asked, self.base, k, own)
        return nearest, scores, plan

    def similarities(self, left: I64Array, right: I64Array) -> F64Array:
        """How alike the items of each pair are, however little that is."""
        return self._verifier.similarities(left, right)

    @cached_property
    def _verifier(self) -> Verifier:
        """Compares items many times over, and has their rows in memory."""
        return Verifier(self.base.judge, HeldRows(*self.base.whole()))

    def _found(self, asked: SearchedItems, k: int, recall: float, *, among: bool) -> tuple[I64Array, SearchPlan]:
        """The nearest k items of each query, and a few more where a score may be rounded or an item finds itself."""
        base, name, threads = self.base, self.config.scale.measure, self.config.threads
        exact = SearchPlan("exact", k, 1.0, 1.0, 1.0, 0.0, 0.0)
        if base.elements is not None and self.items.form == FIELDS:
            weights = np.array([each.weight for each in self.items.recipe.compared])
            return nearest_by_fields(base.elements, None if among else asked.elements, weights, k, threads), exact
        if base.elements is not None:
            overlap = _OVERLAPS[name]
            search = SharedElements(overlap, base.elements, None if among else asked.elements, threads)
            extra = 0 if overlap in (JACCARD, CONTAINMENT) else 2
            return search.search(k + extra)[0], replace(exact, method="elements")
        if self.items.form == "bits":
            packed, most = side_by_side(base.values), min(k + 1, len(base))
            return nearest_by_bits(packed, len(base), asked.values, most, threads), exact
        if not measure_named(name).searched:
            return _by_comparing(base, asked, k + 1), exact
        nearest = Nearest(
            base.values, name, recall=recall, seed=sketch_seed(self.config.seed), threads=threads, expected=len(asked)
        )
        # One more where an item is likely to find itself first, and one for equal scores.
        found, _ = nearest.search(asked.values, k + 2)
        assert nearest.plan is not None
        return found, nearest.plan


def _by_comparing(base: SearchedItems, asked: SearchedItems, k: int) -> I64Array:
    """The best k of all items for each query, by comparing each with each."""
    out = np.full((len(asked), k), -1, np.int64)
    block = max(1, _SCORED // len(base))
    for start in range(0, len(asked), block):
        some = np.arange(start, min(start + block, len(asked)))
        everything = np.broadcast_to(np.arange(len(base)), (len(some), len(base)))
        out[some], _ = _scored(everything, asked, base, k, None, start)
    return out


def _scored(
    found: I64Array, asked: SearchedItems, base: SearchedItems, k: int, own: I64Array | None, first: int = 0
) -> tuple[I64Array, F64Array]:
    """The best k of those found for the queries from the first on, by exactly the scores that pairs have; an item does
    not find itself."""
    numbers = np.arange(len(asked) + len(base))
    asking, answering = numbers[: len(asked)], numbers[len(asked) :]
    verifier = Verifier(base.judge, RowsInPlaces([(asking, asked), (answering, base)]), _GATHERED)
    out, scores = np.full((len(found), k), -1, np.int64), np.full((len(found), k), -np.inf)
    block = max(1, _SCORED // max(1, found.shape[1]))
    for start in range(0, len(found), block):
        some = found[start : start + block]
        there = some >= 0
        if own is not None:
            there &= some != own[start : start + block, None]
        query = start + np.nonzero(there)[0]
        kept, rank, score = verifier.best(first + query, answering[some[there]], k)
        out[query[kept], rank] = some[there][kept]
        scores[query[kept], rank] = score
    return out, scores
