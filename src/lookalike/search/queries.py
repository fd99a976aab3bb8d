"""The nearest items of each query: items and queries read, searched (`nearest.py`), and told as a table.

All items are held as float32: the collection is searched once, not kept. The scores are those that `pairs` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.config import Config, make_config
from lookalike.errors import InputError, OptionError
from lookalike.io.source import Source, describe
from lookalike.io.writing.tabular import Tabular, beginning
from lookalike.items.from_rows import Items, open_items
from lookalike.items.ids import IdCollector, Ids
from lookalike.key import sketch_seed
from lookalike.measure_table import SEARCHED, check_measure, measure_named
from lookalike.measures import Judge, Measure, measure_of
from lookalike.search.nearest import Nearest, SearchPlan
from lookalike.types import BoolArray, Dense, F32Array, F64Array, I64Array, U64Array
from lookalike.verify.verifier import RowsInPlaces, Verifier
from lookalike.wording.phrases import counted, measure_words
from lookalike.wording.printable import printable
from lookalike.wording.progress import SILENT, Progress

__all__ = ["LeftOut", "Neighbors", "find_neighbors"]

# So many of the vectors that are left out are told with what is wrong with them.
_SHOWN = 5
# Pairs of queries and items that are scored at a time, and the bytes of rows that are made for some of them.
_SCORED, _GATHERED = 1 << 16, 256 << 20


@dataclass(frozen=True)
class LeftOut:
    """What was not searched, or not searched for: rows that could not be read, and vectors that cannot be compared."""

    rows: int = 0
    items: int = 0
    queries: int = 0
    examples: tuple[str, ...] = ()


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
            out.append(f"k is {self.k:,}, and there {_are(others)}: all are listed")
        for number, noun in ((self.left_out.items, "item"), (self.left_out.queries, "query")):
            if number:
                out.append(f"{_counted(number, noun)} left out, which cannot be compared")
        if self.left_out.rows:
            out.append(f"{counted(self.left_out.rows, 'broken row')} skipped")
        if self.left_out.examples:
            out.append(f"the first: {self.left_out.examples[0]}")
        return out

    @property
    def headline(self) -> str:
        """How many queries among how many items, and how."""
        among = f"{_counted(len(self), 'query')} among {counted(self.item_ids.rows, 'vector')}"
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
            "skipped_rows": self.left_out.rows,
            "skipped_examples": list(self.left_out.examples),
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        return "\n".join([self.headline, *beginning(self.table), *(printable(f"  ({note})") for note in self.notes)])


def _counted(number: int, noun: str) -> str:
    return counted(number, noun) if noun != "query" or number == 1 else f"{number:,} queries"


def _are(others: int) -> str:
    return "is only 1 item to be found" if others == 1 else f"are only {others:,} items to be found"


def find_neighbors(
    source: Source,
    queries: Source | None,
    *,
    k: int,
    recall: float,
    measure: str,
    column: str | None = None,
    vectors: str | None = None,
    id: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    skip_bad: bool = False,
    progress: Progress = SILENT,
) -> Neighbors:
    """Search the items of a source; without queries each item searches the others."""
    name = check_measure(measure)
    if name not in SEARCHED:
        raise OptionError(f"measure is {measure!r}: the nearest can be found by {', '.join(SEARCHED)}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise OptionError(f"k is {k!r}: it must be a whole number, 1 or more")
    # No pair is too far apart to be told, so the limit is not looked at.
    limit = 1.0 if measure_named(name).is_distance else None
    config = make_config(
        measure=name, max_distance=limit, column=column, vectors=vectors, id=id, seed=seed, threads=threads,
        skip_bad=skip_bad,
    )  # fmt: skip
    items = open_items(source, config)
    if items.form != "vectors":
        raise InputError(f"the items are {items.form}: the nearest are found among vectors")
    kind = measure_of(items.recipe)
    base = asked = _read(items, kind, "items", skip_bad, progress)
    if queries is not None:
        # Queries may have the same id column; otherwise they have their natural ids, or row numbers.
        own = id if id in queries.schema().names else None
        other = open_items(queries, replace(config, id=own))
        if other.form != "vectors":
            raise InputError(f"the queries are {other.form}: the nearest are found for vectors")
        if other.dimensions != items.dimensions:
            raise InputError(f"the queries have {other.dimensions} components, and the items {items.dimensions}")
        asked = _read(other, kind, "queries", skip_bad, progress)
    search = Nearest(
        base.vectors,
        name,
        recall=recall,
        seed=sketch_seed(config.seed),
        threads=config.threads,
        expected=len(asked.vectors),
    )
    with progress.stage("searching", None, "queries"):
        # One more where an item is likely to find itself first, and one for equal scores.
        found, _ = search.search(asked.vectors, k + 2)
    assert search.plan is not None
    selves = np.arange(len(asked.vectors)) if queries is None else None
    judge = kind.judge(config)
    assert judge is not None
    nearest, scores = _scored(found, asked.vectors, base.vectors, judge, selves, k)
    read = [base] if queries is None else [base, asked]
    left_out = LeftOut(
        rows=source.skipped + (queries.skipped if queries is not None else 0),
        items=base.bad,
        queries=0 if queries is None else asked.bad,
        examples=tuple(
            [*chain(*(each.examples for each in read)), *source.bad, *(queries.bad if queries else [])][:_SHOWN]
        ),
    )
    return Neighbors(config, search.plan, nearest, scores, base.ids, asked.ids, left_out, queries is None)


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The vectors of a source that can be compared, their ids, and how many cannot."""

    vectors: F32Array
    ids: Ids
    bad: int
    examples: list[str]


def _read(items: Items, measure: Measure, what: str, skip_bad: bool, progress: Progress) -> _Vectors:
    """All vectors of a source and their ids; one that cannot be compared is left out, or an error."""
    parts: list[F32Array] = []
    present: list[BoolArray] = []
    examples: list[str] = []
    collector = IdCollector(items)
    with progress.stage(f"reading the {what}", items.source.size(), "B") as stage:
        for batch in items.batches(*([items.id] if items.id else []), on_read=stage.advance):
            found = measure.represent(batch.values)
            for row in np.flatnonzero(~found.present)[: _SHOWN - len(examples)].tolist():
                why = dict(found.bad).get(row, "is null")
                examples.append(f"{describe(items.source, int(batch.rows[row]))}: the item {why}")
                if not skip_bad:
                    raise InputError(f"{examples[0]}; skip_bad=True (--skip-bad) counts such items and leaves them out")
            parts.append(found.values if found.present.all() else found.values[found.present])
            present.append(found.present)
            collector.add(batch)
    if not sum(map(len, parts)):
        raise InputError(f"there are no {what}" + (f" that can be compared: {examples[0]}" if examples else ""))
    ids, good = collector.finish(), np.flatnonzero(np.concatenate(present))
    bad = ids.rows - len(good)
    if bad:
        ids = Ids(len(good), pa.chunked_array([ids.of(good)]))
    return _Vectors(np.concatenate(parts), ids, bad, examples)


@dataclass(frozen=True, slots=True)
class _VectorRows:
    """The rows of vectors, made when they are asked for."""

    vectors: F32Array
    judge: Judge

    @property
    def in_memory(self) -> bool:
        return False

    @property
    def nbytes(self) -> int:
        return self.bytes_of(np.arange(len(self.vectors)))

    def bytes_of(self, rows: I64Array) -> int:
        return 8 * int(self.judge.lengths(np.full(len(rows), self.vectors.shape[1], np.uint32)).sum())

    def gather(self, rows: I64Array) -> tuple[I64Array, U64Array]:
        prints = np.empty((len(rows), 2), np.uint64)
        return self.judge.rows(Dense(self.vectors[rows], prints, np.ones(len(rows), np.bool_)))

    def whole(self) -> tuple[I64Array, U64Array]:
        return self.gather(np.arange(len(self.vectors)))


def _scored(
    found: I64Array, queries: F32Array, items: F32Array, judge: Judge, own: I64Array | None, k: int
) -> tuple[I64Array, F64Array]:
    """The best k of those found, by exactly the scores that pairs have; an item does not find itself."""
    numbers = np.arange(len(queries) + len(items))
    asking, asked = numbers[: len(queries)], numbers[len(queries) :]
    places = [(asking, _VectorRows(queries, judge)), (asked, _VectorRows(items, judge))]
    verifier = Verifier(judge, RowsInPlaces(places), _GATHERED)
    out, scores = np.full((len(found), k), -1, np.int64), np.full((len(found), k), -np.inf)
    block = max(1, _SCORED // found.shape[1])
    for start in range(0, len(found), block):
        some = found[start : start + block]
        there = some >= 0
        if own is not None:
            there &= some != own[start : start + block, None]
        query = start + np.nonzero(there)[0]
        kept, rank, score = verifier.best(query, asked[some[there]], k)
        out[query[kept], rank] = some[there][kept]
        scores[query[kept], rank] = score
    return out, scores
