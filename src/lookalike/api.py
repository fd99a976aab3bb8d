"""The four verbs: `pairs`, `clusters`, `dedup`, `plan`.

`items` is a path, glob or folder (a `str` or `Path`, or a list of `Path`), a list of texts (`str`), a list of sets, a
dict from id to item, a pandas or polars frame or series, an Arrow table, or a Hugging Face dataset.

The options of the first three:

    threshold   the similarity from which two items count as alike, above 0 and up to 1
    recall      the share of the pairs right at the threshold that must be found
    shingle     how text becomes a set: "word:5", "char:9", "word:3:bag"
    normalize   what is ignored about text: lower, accents, digits, punctuation, whitespace
    tokens      a callable from a text to its tokens, instead of words
    column, id  which columns hold the items and their ids (several columns are joined)
    verify      "exact" (precision 1), "sketch" (estimated similarity), or "none" (candidates as they are)
    cluster     "representative" (every removed item matches its keeper), or "components"
    keep        first, last, longest, shortest, max:COLUMN, min:COLUMN, prefer:COLUMN=a,b, or a callable
    exact       identical items only
    group_by    only items with the same value in this column are compared
    against     `dedup` only: another collection; what is like one of its items is removed too
    memory      what may be held of the collection, such as "4GB"; more is spilled to a temporary folder
    audit       how many items of a random sample are compared exactly with all others, to measure the recall
    bands, rows b and r for those who know, instead of recall
    seed        the same seed gives the same result, always
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any

from lookalike.config import make_config
from lookalike.errors import OptionError
from lookalike.io import open_source
from lookalike.pipeline import Found, find
from lookalike.progress import SILENT, Progress
from lookalike.results import Clusters, Dedup, Pairs
from lookalike.sample import background
from lookalike.shingle import parse_shingle
from lookalike.theory import Plan
from lookalike.theory import plan as choose

__all__ = ["clusters", "dedup", "pairs", "plan"]

_READING = ("format", "skip_bad", "limit")

# What a verb does not take: `pairs` keeps nothing, and only `dedup` has parts of documents, which have no ids.
_LEFT_OUT = {"pairs": ("keep", "cluster", "unit", "report_by"), "clusters": ("unit", "report_by"), "dedup": ()}


def pairs(items: Any, **options: Any) -> Pairs:
    """Every pair of similar items, with its exact similarity.

    >>> import lookalike
    >>> lookalike.pairs(["the cat sat on the mat today", "The cat sat on the mat, today!", "a dog"], shingle="word:2")
    1 pair (Jaccard >= 0.8 on word:2, b = 16, r = 6)
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


def plan(
    threshold: float = 0.8,
    recall: float = 0.99,
    *,
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
    parse_shingle(shingle)
    measured = None
    size = 300
    if sample is not None:
        config = make_config(threshold=threshold, shingle=shingle, column=column)
        measured, size = background(open_source(sample), config)
    return choose(threshold, recall, bands=bands, rows=rows, items=int(items), set_size=size, background=measured)


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
    other = None if against is None else open_source(against, **{k: v for k, v in reading.items() if k != "limit"})
    return find(open_source(items, **reading), config, progress, verb=verb, against=other)


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
