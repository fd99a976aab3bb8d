"""The nearest items of each query: items and queries read, searched (`nearest.py`), and told as a table.

All items are held as float32: the collection is searched once, not kept. The scores are those that `pairs` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.config import Config, make_config
from lookalike.errors import InputError, OptionError
from lookalike.identify import IdCollector, Ids
from lookalike.io.source import Source, describe
from lookalike.io.write import save_table
from lookalike.items import Items, open_items
from lookalike.measures import Measure, measure_of
from lookalike.nearest import Nearest, Plan
from lookalike.progress import Progress
from lookalike.scale import check_measure, order_of
from lookalike.types import Dense, F32Array, F64Array, I64Array

__all__ = ["Neighbors", "find_neighbors"]

_MEASURES = ("cosine", "euclidean", "manhattan")


@dataclass(frozen=True)
class Neighbors:
    """The nearest items of each query: ids[q, i] is the item of rank i + 1, -1 where there are no more."""

    config: Config
    plan: Plan
    items: I64Array
    scores: F64Array
    item_ids: Ids
    query_ids: Ids

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

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        return self.table.to_pandas()

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the table; the ending chooses the format: .parquet, .jsonl, .csv, .tsv or .arrow."""
        save_table(self.table, path, overwrite=overwrite)

    @property
    def report(self) -> dict[str, Any]:
        """What was searched, and how."""
        plan = self.plan
        return {
            "queries": len(self.items),
            "k": plan.k,
            "measure": self.config.scale.measure,
            "method": plan.method,
            "recall": {"expected": plan.recall, "low": plan.low, "high": plan.high},
            "plan": str(plan),
        }

    def __repr__(self) -> str:
        column = self.config.scale.column
        rows = self.table.slice(0, 5).to_pylist()
        shown = (
            f"  query={row['query']!r}  rank={row['rank']}  id={row['id']!r}  {column}={row[column]:.4f}"
            for row in rows
        )
        return "\n".join([f"{len(self):,} queries, {self.plan}", *shown])


def find_neighbors(
    source: Source,
    queries: Source | None,
    *,
    k: int,
    recall: float,
    measure: str,
    column: str | None,
    id: str | None,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> Neighbors:
    """Search the items of a source; without queries each item searches the others."""
    name = check_measure(measure)
    if name not in _MEASURES:
        raise OptionError(f"measure is {measure!r}: the nearest can be found by {', '.join(_MEASURES)}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise OptionError(f"k is {k!r}: it must be a whole number, 1 or more")
    # No pair is too far apart to be told, so the limit is not looked at.
    limit = 1.0 if order_of(name) is not None else None
    config = make_config(measure=name, max_distance=limit, column=column, id=id, seed=seed, threads=threads)
    items = open_items(source, config)
    if items.form != "vectors":
        raise InputError(f"the items are {items.form}: the nearest are found among vectors")
    kind = measure_of(config, items.form, items.dimensions)
    vectors, ids = _read(items, kind, "reading the items", progress)
    asked, query_ids = vectors, ids
    if queries is not None:
        other = open_items(queries, make_config(measure=name, max_distance=limit, column=column, seed=seed))
        if other.dimensions != items.dimensions:
            raise InputError(f"the queries have {other.dimensions} components, and the items {items.dimensions}")
        asked, query_ids = _read(other, kind, "reading the queries", progress)
    search = Nearest(vectors, name, recall=recall, seed=seed, threads=config.threads, expected=len(asked))
    with progress.stage("searching", None, "queries"):
        # One more where an item is likely to find itself first, and one for equal scores.
        found, _ = search.search(asked, k + 2)
    assert search.plan is not None
    own = np.arange(len(asked)) if queries is None else None
    nearest, scores = _scored(found, asked, vectors, kind, config, own, k)
    return Neighbors(config, search.plan, nearest, scores, ids, query_ids)


def _read(items: Items, measure: Measure, name: str, progress: Progress) -> tuple[F32Array, Ids]:
    """All vectors of a source and their ids; one that cannot be compared is an error."""
    parts: list[F32Array] = []
    collector = IdCollector(items)
    with progress.stage(name, items.source.size(), "B") as stage:
        for batch in items.batches(*([items.id] if items.id else []), on_read=stage.advance):
            found = measure.represent(batch.values)
            missing = np.flatnonzero(~found.present)
            if len(missing):
                why = dict(found.bad).get(int(missing[0]), "is null")
                raise InputError(f"{describe(items.source, int(batch.rows[missing[0]]))}: the item {why}")
            parts.append(found.values)
            collector.add(batch)
    if not parts:
        raise InputError("there are no items")
    return np.concatenate(parts), collector.finish()


def _scored(
    found: I64Array, queries: F32Array, items: F32Array, measure: Measure, config: Config, own: I64Array | None, k: int
) -> tuple[I64Array, F64Array]:
    """The best k of those found, by exactly the scores that pairs have; an item does not find itself."""
    judge = measure.judge(config)
    assert judge is not None
    out, scores = np.full((len(found), k), -1, np.int64), np.full((len(found), k), -np.inf)
    block = max(1, (1 << 16) // found.shape[1])
    for start in range(0, len(found), block):
        some = found[start : start + block]
        there = some >= 0
        if own is not None:
            there &= some != own[start : start + block, None]
        query = np.repeat(np.arange(len(some)), there.sum(axis=1))
        wanted, which = np.unique(some[there], return_inverse=True)
        both = np.concatenate([queries[start : start + block], items[wanted]])
        prints = np.empty((len(both), 2), np.uint64)
        offsets, words = judge.rows(Dense(both, prints, np.ones(len(both), np.bool_)))
        score = judge.compare(offsets, words, query, len(some) + which, judge.lowest)
        order = np.lexsort((some[there], -score, query))
        nth = np.arange(len(order)) - np.searchsorted(query[order], query[order])
        kept = order[nth < k]
        rank = nth[nth < k]
        out[start + query[kept], rank] = some[there][kept]
        scores[start + query[kept], rank] = score[kept]
    return out, scores
