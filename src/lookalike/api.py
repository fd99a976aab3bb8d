"""The five verbs: `pairs`, `clusters`, `dedup`, `neighbors`, `plan`; and `edges` and `images`, which make items.

`items` is a path, glob or folder (a `str` or `Path`, or a list of `Path`), a list of texts (`str`), a list of sets, a
dict from id to item, a pandas or polars frame or series, an Arrow table, a Hugging Face dataset, an array or tensor of
vectors, a sparse matrix, a list of dicts {element: weight}, or what `edges` and `images` give.

The options of the first three:

    measure     jaccard, weighted-jaccard, containment, cosine, hamming, euclidean, manhattan or lr:R; by default
                Jaccard for text and sets, cosine for vectors, weighted Jaccard for bags, Hamming for bits
    threshold   the similarity from which two items count as alike, above 0 and up to 1
    max_distance the distance up to which two items count as alike, for euclidean, manhattan and lr:R
    recall      the share of the pairs right at the threshold that must be found
    shingle     how text becomes a set: "word:5", "char:9", "word:3:bag"
    normalize   what is ignored about text: lower, accents, digits, punctuation, whitespace
    tokens      a callable from a text to its tokens, instead of words
    html        items are web pages: their main text counts, without menus and footers
    max_share   shingles that stand in more than this share of all documents are left out
    weights     how much a shingle counts in weighted Jaccard and cosine: tf-idf, bm25 or count
    column, id  which columns hold the items and their ids (several columns are joined)
    vectors, sets  the column with the items, where it is to be taken for vectors, or for sets
    verify      "exact" (precision 1), "text" (by the texts or elements themselves, which nobody can forge), "sketch"
                (estimated similarity), or "none" (candidates as they are)
    cluster     "representative" (every removed item matches its keeper), or "components"
    keep        first, last, longest, shortest, max:COLUMN, min:COLUMN, prefer:COLUMN=a,b, or a callable
    exact       identical items only
    group_by    only items with the same value in this column are compared
    against     `dedup` only: another collection; what is like one of its items is removed too
    memory      what may be held of the collection, such as "4GB"; more is spilled to a temporary folder
    audit       how many items of a random sample are compared exactly with all others, to measure the recall
    strict      an alarm of the certificate is an error
    bands, rows b and r for those who know, instead of recall
    seed        the same seed gives the same result, always; where items come from strangers, a random number of 128
                bits that is kept secret, so that nobody can prepare items that collide
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any

from lookalike.config import make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.planning import plan_for
from lookalike.errors import OptionError
from lookalike.io import Source, open_source
from lookalike.io.input_options import InputOptions, edges_of
from lookalike.io.source import batch_bytes_for
from lookalike.report.plain_data import check_strict
from lookalike.runs.results import Clusters, Dedup, Pairs
from lookalike.search.queries import Neighbors, find_neighbors
from lookalike.theory import Plan
from lookalike.theory import plan as choose
from lookalike.wording.progress import SILENT, Progress

__all__ = ["clusters", "dedup", "edges", "images", "neighbors", "pairs", "plan"]

_READING = ("format", "skip_bad", "limit")

# What a verb does not take: `pairs` keeps nothing, and only `dedup` has parts of documents, which have no ids.
_LEFT_OUT = {"pairs": ("keep", "cluster", "unit", "report_by"), "clusters": ("unit", "report_by"), "dedup": ()}


def pairs(items: Any, **options: Any) -> Pairs:
    """Every pair of similar items, with its exact similarity.

    >>> import lookalike
    >>> lookalike.pairs(["the cat sat on the mat today", "The cat sat on the mat, today!", "a dog"], shingle="word:2")
    1 pair (Jaccard >= 0.8 on word:2, every pair compared)
      a=0  b=1  similarity=1.0000
    """
    return Pairs(_find("pairs", items, options))


def clusters(items: Any, **options: Any) -> Clusters:
    """Groups of similar items, each with the item that stands for it.

    >>> import lookalike
    >>> list(lookalike.clusters([{1, 2, 3, 4, 5}, {9}, {1, 2, 3, 4}], threshold=0.8))
    [[0, 2]]
    """
    return Clusters(_find("clusters", items, options))


def dedup(items: Any, **options: Any) -> Dedup:
    """The items without their near-duplicates, and what was removed for what.

    With `unit="paragraph"` or `"line"` it is repeated paragraphs or lines that go, inside and across documents.

    >>> import lookalike
    >>> lookalike.dedup({"a": "one two three", "b": "One, two, three!"}, shingle="word:1").removed.to_pylist()
    [{'id': 'b', 'kept': 'a', 'similarity': 1.0}]
    """
    return Dedup(_find("dedup", items, options))


def neighbors(
    items: Any,
    queries: Any = None,
    *,
    k: int = 10,
    recall: float = 0.9,
    measure: str = "cosine",
    column: str | None = None,
    vectors: str | None = None,
    id: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    skip_bad: bool = False,
    progress: Progress = SILENT,
    **reading: Any,
) -> Neighbors:
    """The k items that are nearest to each query; without queries, to each item among the others.

    `measure` is cosine, euclidean or manhattan. At least a share `recall` of the true k is found on average; 1 compares
    all. What was planned for that on a sample of the items is in the result's `plan`. With `skip_bad` vectors that
    cannot be compared are left out of items and queries, and counted. `format` and `limit` are as for other verbs.

    >>> import lookalike, numpy
    >>> lookalike.neighbors(numpy.eye(3), numpy.array([[1.0, 0.2, 0.0]]), k=2).table.to_pylist()[0]["id"]
    0
    """
    odd = next((name for name in reading if name not in _READING), None)
    if odd is not None:
        raise OptionError(f"neighbors has no option {odd!r}")
    reading["skip_bad"] = skip_bad
    other = None if queries is None else open_source(queries, **reading)
    return find_neighbors(
        open_source(items, **reading), other, k=k, recall=recall, measure=measure, column=column, vectors=vectors,
        id=id, seed=seed, threads=threads, skip_bad=skip_bad, progress=progress,
    )  # fmt: skip


def edges(
    items: Any, of: str, by: str, weight: str | None = None, *, undirected: bool = False, **reading: Any
) -> Source:
    """Items from rows (of, by[, weight]): each value of the column `of` with the values of `by` that stand beside it.

    >>> import lookalike
    >>> bought = {"user": ["ann", "ann", "bob", "bob"], "item": ["tea", "milk", "milk", "tea"]}
    >>> import pyarrow
    >>> lookalike.pairs(lookalike.edges(pyarrow.table(bought), "user", "item")).table.to_pylist()
    [{'a': 'ann', 'b': 'bob', 'similarity': 1.0}]
    """
    return edges_of(
        open_source(items, **reading), ",".join(filter(None, (of, by, weight))), InputOptions(undirected=undirected)
    )


def images(paths: Any, *, features: str = "pixels", size: int | None = None, **reading: Any) -> Source:
    """Pictures as items: every picture below a folder, as a vector (`pixels`, `raw`) or as bits (`dhash`, `phash`)."""
    from lookalike.io.reading.images import open_images

    return open_images(paths, features=features, size=size, threads=os.cpu_count() or 1, **reading)


def plan(
    threshold: float | None = None,
    recall: float = 0.99,
    *,
    measure: str | None = None,
    max_distance: float | None = None,
    sample: Any = None,
    shingle: str = "word:5",
    column: str | None = None,
    items: int | float = 1_000_000,
    bands: int | None = None,
    rows: int | None = None,
) -> Plan:
    """How many bands of how many rows find pairs at `threshold` with probability `recall` at the least cost.

    `sample` (anything that `pairs` takes, a few thousand items of the data) replaces the assumption about how similar
    unrelated items are by a measurement; `items` is the size of the whole collection.
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


def _find(verb: str, items: Any, options: dict[str, Any]) -> Found:
    known = _signature(verb).parameters
    unknown = next((name for name in options if name not in known or name == "items"), None)
    if unknown is not None:
        close = get_close_matches(unknown, known, n=1)
        raise OptionError(f"{verb} has no option {unknown!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    reading = {name: options.pop(name) for name in _READING if name in options}
    options["skip_bad"] = reading.get("skip_bad", False)
    progress: Progress = options.pop("progress", SILENT)
    against = options.pop("against", None)
    config = make_config(**options)
    reading["memory"], reading["threads"] = config.memory, config.threads
    reading["batch_bytes"] = batch_bytes_for(config.memory, config.threads)
    other = None if against is None else open_source(against, **{k: v for k, v in reading.items() if k != "limit"})
    found = find(open_source(items, **reading), config, progress, verb=verb, against=other)
    check_strict(found)
    return found


@cache
def _signature(verb: str) -> Signature:
    """What a verb takes, for its errors and for `help`."""
    left_out = {*_LEFT_OUT[verb], *_READING}
    options = [p for p in signature(make_config).parameters.values() if p.name not in left_out]
    reading = [p for p in signature(open_source).parameters.values() if p.name in _READING]
    progress = Parameter("progress", Parameter.KEYWORD_ONLY, default=SILENT, annotation=Progress)
    if verb == "dedup":
        options.append(Parameter("against", Parameter.KEYWORD_ONLY, default=None, annotation=Any))
    return Signature([Parameter("items", Parameter.POSITIONAL_OR_KEYWORD), *options, *reading, progress])


for _verb in (pairs, clusters, dedup):
    setattr(_verb, "__signature__", _signature(_verb.__name__))  # noqa: B010 (mypy knows no such attribute)
