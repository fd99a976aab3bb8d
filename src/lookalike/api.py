"""The verbs `pairs`, `clusters`, `dedup`, `neighbors`, `tune`, `plan`; and `edges` and `images`, which make items.

`items` is a path, glob or folder (a `str` or `Path`, or a list of `Path`), a list of texts (`str`), a list of sets, a
dict from id to item, a pandas or polars frame or series, an Arrow table, a Hugging Face dataset, an array or tensor of
vectors, a sparse matrix, a list of dicts {element: weight}, or what `edges` and `images` give.

Their options are those of `lookalike.options`; `help(lookalike.dedup)` shows them with their meaning.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from lookalike.config import Config, make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.sampled_plan import plan_for
from lookalike.errors import InputError, OptionError
from lookalike.io import Source, check_delimiter, open_source
from lookalike.io.input_options import InputOptions, edges_of
from lookalike.io.source import batch_bytes_for
from lookalike.options import (
    ClustersOptions,
    ConfigOptions,
    DedupOptions,
    NeighborsOptions,
    PairsOptions,
    TuneOptions,
    allowed,
)
from lookalike.options.allowed import span_words
from lookalike.options.option_table import check_names, checked, entries, takes
from lookalike.report.plain_data import check_strict
from lookalike.runs.results import Clusters, Dedup, Pairs
from lookalike.search.queries import Neighbors, find_neighbors
from lookalike.shingle import Shingle
from lookalike.theory import Plan
from lookalike.theory import plan as choose
from lookalike.wording.progress import SILENT

if TYPE_CHECKING:
    from lookalike.index.index_run import IndexRun
    from lookalike.tuning.tuner import Tuning

__all__ = ["clusters", "dedup", "edges", "images", "neighbors", "pairs", "plan", "tune"]


@takes(PairsOptions)
def pairs(items: Any, **options: Unpack[PairsOptions]) -> Pairs:
    """List all pairs of similar items with their exact similarity.

    `items` is a path, glob or folder, a list of texts or sets, a dict, a frame, a table, an array, and more: see
    `help(lookalike.api)`.

    >>> import lookalike
    >>> lookalike.pairs(["the cat sat on the mat today", "The cat sat on the mat, today!", "a dog"], shingle="word:2")
    1 pair (Jaccard >= 0.8 on word:2, every pair compared)
      a=0  b=1  similarity=1.0000

    With `against`, `a` is an item of this collection and `b` one of the other.

    >>> lookalike.pairs({"ann": {1, 2, 3}, "bob": {1, 2, 3, 4}}, against={"eve": {1, 2, 3}}, threshold=0.7)
    2 pairs (Jaccard >= 0.7 on sets, every pair compared)
      a='ann'  b='eve'  similarity=1.0000
      a='bob'  b='eve'  similarity=0.7500
    """
    if options.get("against") is not None:
        from lookalike.index.index_run import refuse_index

        refuse_index(options["against"])
    return Pairs(_find("pairs", PairsOptions, items, options))


@takes(ClustersOptions)
def clusters(items: Any, **options: Unpack[ClustersOptions]) -> Clusters:
    """Group similar items; each group has a representative.

    `items` is a path, glob or folder, a list of texts or sets, a dict, a frame, a table, an array, and more: see
    `help(lookalike.api)`.

    >>> import lookalike
    >>> list(lookalike.clusters([{1, 2, 3, 4, 5}, {9}, {1, 2, 3, 4}], threshold=0.8))
    [[0, 2]]
    """
    return Clusters(_find("clusters", ClustersOptions, items, options))


@takes(DedupOptions)
def dedup(items: Any, **options: Unpack[DedupOptions]) -> Dedup:
    """Remove near-duplicates: what is kept, and what was removed in whose place.

    `items` is a path, glob or folder, a list of texts or sets, a dict, a frame, a table, an array, and more: see
    `help(lookalike.api)`.

    With `unit="paragraph"` or `"line"` repeated paragraphs or lines are removed, within and across documents. With
    `unit="span:50"` every run of at least 50 words that occurs earlier is cut out; `removed` says where.

    `against` may be an index, which then sets the options of the run. With `add` the kept items are added to it, all or
    none; with `replace` they replace items with the same ids.

    >>> import lookalike
    >>> lookalike.dedup({"a": "one two three", "b": "One, two, three!"}, shingle="word:1").removed.to_pylist()
    [{'id': 'b', 'kept': 'a', 'similarity': 1.0}]
    """
    check_names("dedup", DedupOptions, options)
    given = checked(DedupOptions, options)
    run = _index_run(given, options)
    if run is None and span_words(given["unit"]) is not None:
        return _cut_spans(items, options)
    if run is None:
        return Dedup(_find("dedup", DedupOptions, items, options))
    with run:
        found = _find("dedup", DedupOptions, items, run.options, run)
        run.check(found)
        run.add(found, given["progress"] or SILENT)
        return Dedup(found)


@takes(NeighborsOptions)
def neighbors(items: Any, queries: Any = None, **options: Unpack[NeighborsOptions]) -> Neighbors:
    """Find the k nearest items of each query, or of each item among the others.

    Items and queries are of the same kind: texts, sets, bags, vectors or bits, in memory, in tables, in files, or
    pictures. An item that shares nothing with a query is never its neighbour.

    The search is exact, except for many vectors: there it is planned on a sample, to find the share of the true
    neighbours that `recall` asks for, and the result has the `plan`. With `skip_bad` items that cannot be compared are
    skipped and counted.

    >>> import lookalike, numpy
    >>> lookalike.neighbors(numpy.eye(3), numpy.array([[1.0, 0.2, 0.0]]), k=2).table.to_pylist()[0]["id"]
    0
    >>> lookalike.neighbors({"ann": {1, 2, 3}, "bob": {1, 2}, "eve": {7}}, k=1)
    3 queries among 3 items by Jaccard similarity: exact, by the elements that are shared
      query='ann'  rank=1  id='bob'  similarity=0.6667
      query='bob'  rank=1  id='ann'  similarity=0.6667
      (1 query without a neighbour: no other item shares anything)
    """
    check_names("neighbors", NeighborsOptions, options)
    values = checked(NeighborsOptions, options)
    names = ("format", "delimiter", "limit")
    reading = {name: values.pop(name) for name in names} | {"skip_bad": values["skip_bad"]}
    other = None if queries is None else open_source(_rows(queries, values["compare"]), **reading)
    source = open_source(_rows(items, values["compare"]), **reading)
    check_delimiter(reading["delimiter"], source, other)
    progress = values.pop("progress") or SILENT
    return find_neighbors(source, other, values, progress)


@takes(TuneOptions)
def tune(items: Any, **options: Unpack[TuneOptions]) -> Tuning:
    """Propose a shingle and a threshold for a collection, with the reason and sample pairs.

    It compares a sample of the items with all of them. If most have a clear gap between their matches and all other
    items, the threshold goes there; otherwise as low as two matches of an item still match each other. With a `truth`
    the result has precision, recall and F1 at every threshold, and proposes the best one.

    At most the first 100,000 rows are read, unless `limit` says otherwise.

    >>> import lookalike
    >>> near = ["the quick brown fox jumps", "the quick brown fox jumped", "a cat sat down", "rain fell all day long"]
    >>> lookalike.tune(near, shingle="char:4").options["shingle"]
    'char:4'
    """
    from lookalike.tuning.tuner import TUNED_ROWS, find_tuning

    check_names("tune", TuneOptions, options)
    values = checked(TuneOptions, options)
    values["limit"] = values["limit"] or TUNED_ROWS
    reading = {name: values[name] for name in ("format", "delimiter", "limit", "skip_bad")}
    rows, against = (_rows(each, values["compare"]) for each in (items, values["against"]))
    other = None if against is None else open_source(against, **reading)
    source = open_source(rows, **reading)
    check_delimiter(values["delimiter"], source, other)
    return find_tuning(source, other, values, values["progress"] or SILENT)


def edges(
    items: Any, of: str, by: str, weight: str | None = None, *, undirected: bool = False, negative: bool = False,
    format: str | None = None, delimiter: str | None = None, skip_bad: bool = False, limit: int | None = None,
) -> Source:  # fmt: skip
    """Make sets of edges: each value of the column `of` with all values of `by` in the same rows.

    With `negative` weights may be below zero, such as dislikes; use them with cosine.

    >>> import lookalike
    >>> bought = {"user": ["ann", "ann", "bob", "bob"], "item": ["tea", "milk", "milk", "tea"]}
    >>> import pyarrow
    >>> lookalike.pairs(lookalike.edges(pyarrow.table(bought), "user", "item")).table.to_pylist()
    [{'a': 'ann', 'b': 'bob', 'similarity': 1.0}]
    """
    delimiter = None if delimiter is None else allowed.delimiter("delimiter", delimiter)
    rows = open_source(items, format=format, delimiter=delimiter, skip_bad=skip_bad, limit=limit)
    check_delimiter(delimiter, rows)
    return edges_of(
        rows, ",".join(filter(None, (of, by, weight))), InputOptions(undirected=undirected, negative=negative)
    )


def images(
    paths: Any, *, features: Literal["pixels", "raw", "dhash", "phash"] = "pixels", size: int | None = None,
    skip_bad: bool = False, limit: int | None = None,
) -> Source:  # fmt: skip
    """Make items of the pictures in a folder: vectors (`pixels`, `raw`) or bits (`dhash`, `phash`)."""
    from lookalike.io.reading.images import open_images

    return open_images(paths, features=features, size=size, threads=os.cpu_count() or 1, skip_bad=skip_bad, limit=limit)


def plan(
    threshold: float | None = None,
    recall: float = 0.99,
    *,
    measure: str | None = None,
    max_distance: float | None = None,
    sample: Any = None,
    shingle: str | Shingle | None = None,
    column: str | Sequence[str] | None = None,
    items: int | float = 1_000_000,
    bands: int | None = None,
    rows: int | None = None,
) -> Plan:
    """Find the cheapest number of bands and rows that finds a pair at `threshold` with probability `recall`.

    `sample` is a few thousand items of your data, in any form that `pairs` accepts; the plan is then made for it.
    `items` is the size of the whole collection.
    """
    if not 1 <= items < float("inf"):
        raise OptionError(f"items is {items:g}: it must be a number, 1 or more")
    config = make_config(
        measure=measure, threshold=threshold, max_distance=max_distance, recall=recall, shingle=shingle, column=column,
        bands=bands, rows=rows,
    )  # fmt: skip
    if sample is not None:
        return plan_for(config, int(items), open_source(sample))
    return choose(
        config.scale.limit, recall, bands=bands, rows=rows, items=int(items), measure=config.measure or "jaccard",
        exhaustive=True,
    )  # fmt: skip


def _rows(items: Any, compare: object) -> Any:
    """A list of dicts, which is one of bags otherwise, as a table where rows are compared column by column."""
    if compare is None or not isinstance(items, list) or not all(isinstance(row, dict) for row in items):
        return items
    import pyarrow as pa

    names = dict.fromkeys(name for row in items for name in row)
    try:
        return pa.table({str(name): pa.array([row.get(name) for row in items]) for name in names})
    except pa.ArrowInvalid as error:
        raise InputError(f"items: the values of a column are of several types: {error}") from error


def _index_run(given: Mapping[str, Any], options: Mapping[str, Any]) -> IndexRun | None:
    """The index that is compared with, if it is one."""
    told = {"add": given["add"], "replace": given["replace"], "payload": given["payload"] or ()}
    if given["against"] is None and not any(told.values()):
        return None
    from lookalike.index.index_run import open_index_run

    return open_index_run(given["against"], options, **told)


def _cut_spans(items: Any, options: Mapping[str, Any]) -> Dedup:
    from lookalike.engines.local.spans.span_pipeline import find_spans
    from lookalike.runs.span_results import SpanDedup

    config, given = _configured(options), checked(DedupOptions, options)
    source, other = _opened(items, config, given, given["against"])
    return SpanDedup(find_spans(source, config, given["progress"] or SILENT, against=other))


def _configured(options: Mapping[str, Any]) -> Config:
    return make_config(**{name: value for name, value in options.items() if name in entries(ConfigOptions)})


def _opened(items: Any, config: Config, given: Mapping[str, Any], against: Any) -> tuple[Source, Source | None]:
    """The input, and the other collection if there is one."""
    reading = {
        "format": given["format"], "delimiter": given["delimiter"], "skip_bad": config.skip_bad,
        "memory": config.memory, "threads": config.threads,
        "batch_bytes": batch_bytes_for(config.memory, config.threads),
    }  # fmt: skip
    other = None if against is None else open_source(_rows(against, config.compare), **reading)
    source = open_source(_rows(items, config.compare), **reading, limit=given["limit"])
    check_delimiter(given["delimiter"], source, other)
    return source, other


def _find(verb: str, table: Any, items: Any, options: Mapping[str, Any], index: IndexRun | None = None) -> Found:
    check_names(verb, table, options)
    config = _configured(options)
    config = config if index is None else index.configured(config)
    given = checked(table, options)
    source, other = _opened(items, config, given, None if index is not None else given.get("against"))
    known = None if index is None else index.known(source, config)
    found = find(source, config, given["progress"] or SILENT, verb=verb, against=other, known=known)
    check_strict(found)
    return found
