"""The options that several commands share, written once."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Against",
    "Annotate",
    "Audit",
    "Bands",
    "Cluster",
    "ClusterChoice",
    "Column",
    "DryRun",
    "Edges",
    "Exact",
    "FeatureChoice",
    "Features",
    "Format",
    "GroupBy",
    "Html",
    "Id",
    "Images",
    "Inputs",
    "Json",
    "Keep",
    "Limit",
    "MaxDistance",
    "MaxPairs",
    "MaxShare",
    "Measure",
    "Memory",
    "Normalize",
    "Output",
    "Overwrite",
    "Quiet",
    "Recall",
    "ReportBy",
    "Resume",
    "Rows",
    "Seed",
    "Sets",
    "Shingle",
    "Size",
    "SkipBad",
    "Threads",
    "Threshold",
    "Tokens",
    "Undirected",
    "Vectors",
    "Verify",
    "VerifyChoice",
    "Weights",
    "WeightsChoice",
    "Workdir",
    "typed",
]


def typed(value: Any) -> Any:
    """What was typed for a name as the UTF-8 that it is, also where the locale has another encoding."""
    if isinstance(value, list):
        return [typed(each) for each in value]
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else value


class WeightsChoice(StrEnum):
    """How much a shingle counts."""

    tf_idf = "tf-idf"
    bm25 = "bm25"
    counts = "count"


class FeatureChoice(StrEnum):
    """What is compared of a picture."""

    pixels = "pixels"
    raw = "raw"
    dhash = "dhash"
    phash = "phash"


class VerifyChoice(StrEnum):
    """How candidates are checked."""

    exact = "exact"
    text = "text"
    sketch = "sketch"
    none = "none"


class ClusterChoice(StrEnum):
    """How matches become clusters."""

    representative = "representative"
    components = "components"


_READ = "Reading"
_MATCH = "Matching"
_EXPERT = "For those who know"
_LARGE = "Large collections"

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="IN...",
        help="Files, globs or folders: Parquet, JSONL, CSV, TSV, npy, text, also compressed; - is standard input.",
        show_default=False,
    ),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Where to write: .parquet, .jsonl, .csv, or - .")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a file that exists, or the files of an earlier run in its folder.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Do everything but write.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print the report as JSON, for scripts.")]

Column = Annotated[
    list[str] | None,
    typer.Option("-c", "--column", help="The column with the items; several are joined.", rich_help_panel=_READ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="The column with the ids; otherwise row numbers.", rich_help_panel=_READ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="parquet, jsonl, csv, tsv, arrow, npy, npz, text (a file is an item) or lines (a line is).",
        rich_help_panel=_READ,
    ),
]  # fmt: skip
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Count broken rows and go on.", rich_help_panel=_READ)]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Read the first N rows only.", rich_help_panel=_READ)]

Measure = Annotated[
    str | None,
    typer.Option(
        "--measure",
        help="jaccard, weighted-jaccard, containment, cosine, hamming, euclidean, manhattan or lr:R; "
        "by default what the items suggest.",
        rich_help_panel=_MATCH,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "-t", "--threshold", help="Similarity from which two items are alike.", show_default="0.8",
        rich_help_panel=_MATCH,
    ),
]  # fmt: skip
MaxDistance = Annotated[
    float | None,
    typer.Option(
        "--max-distance", help="Distance up to which two items are alike, for euclidean, manhattan and lr:R.",
        rich_help_panel=_MATCH,
    ),
]  # fmt: skip
Vectors = Annotated[
    str | None, typer.Option("--vectors", help="The column with vectors to compare.", rich_help_panel=_READ)
]
Sets = Annotated[str | None, typer.Option("--sets", help="The column with sets to compare.", rich_help_panel=_READ)]
Edges = Annotated[
    str | None,
    typer.Option(
        "--edges",
        metavar="FROM,TO[,WEIGHT]",
        help="Rows are edges: an item is a value of FROM with the values of TO that stand beside it.",
        rich_help_panel=_READ,
    ),
]
Undirected = Annotated[bool, typer.Option("--undirected", help="Each edge counts both ways.", rich_help_panel=_READ)]
Images = Annotated[
    list[str] | None,
    typer.Option("--images", metavar="FOLDER", help="Pictures of a folder are the items.", rich_help_panel=_READ),
]
Features = Annotated[
    FeatureChoice | None,
    typer.Option("--features", help="What to compare of pictures: pixels, raw, or dhash and phash (bits).",
                 show_default="pixels", rich_help_panel=_READ),
]  # fmt: skip
Size = Annotated[
    int | None,
    typer.Option("--size", help="Pixels of a side that pictures are made to; for dhash and phash a multiple of 8.",
                 show_default="16, or 8 for dhash and phash", rich_help_panel=_READ),
]  # fmt: skip
Html = Annotated[
    bool,
    typer.Option("--html", help="Items are web pages: compare their main text, without menus.", rich_help_panel=_MATCH),
]
MaxShare = Annotated[
    float | None,
    typer.Option("--max-share", help="Leave out shingles that stand in more than this share of all documents.",
                 rich_help_panel=_MATCH),
]  # fmt: skip
Weights = Annotated[
    WeightsChoice | None,
    typer.Option("--weights", help="How much shingles count in weighted-jaccard and cosine.", show_default="tf-idf",
                 rich_help_panel=_MATCH),
]  # fmt: skip
Recall = Annotated[
    float,
    typer.Option("--recall", help="Share of the pairs at the threshold to be found.", rich_help_panel=_MATCH),
]
Shingle = Annotated[
    str | None,
    typer.Option("--shingle", help="word:K or char:K; word:K:bag counts repeats.", show_default="word:5",
                 rich_help_panel=_MATCH),
]  # fmt: skip
Normalize = Annotated[
    str | None,
    typer.Option(
        "--normalize",
        help="What to ignore, comma-separated: lower, accents, digits, punctuation, whitespace; or none.",
        rich_help_panel=_MATCH,
    ),
]
Exact = Annotated[bool, typer.Option("--exact", help="Identical items only.", rich_help_panel=_MATCH)]
Keep = Annotated[
    str,
    typer.Option(
        "--keep",
        help="Which item stays: first, last, longest, shortest, max:COLUMN, min:COLUMN, prefer:COLUMN=a,b.",
        rich_help_panel=_MATCH,
    ),
]
Cluster = Annotated[
    ClusterChoice,
    typer.Option("--cluster", help="representative: every item matches its keeper; components: chains too.",
                 rich_help_panel=_MATCH),
]  # fmt: skip
Verify = Annotated[
    VerifyChoice,
    typer.Option(
        "--verify",
        help="exact: precision 1; text: by the texts themselves, not by hashes; sketch: estimated; none: candidates.",
        rich_help_panel=_MATCH,
    ),
]

Bands = Annotated[int | None, typer.Option("--bands", help="b, instead of a plan.", rich_help_panel=_EXPERT)]
Rows = Annotated[int | None, typer.Option("--rows", help="r, instead of a plan.", rich_help_panel=_EXPERT)]
Tokens = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        help="module:function from a text to its tokens, instead of words.",
        rich_help_panel=_EXPERT,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        envvar="LOOKALIKE_SEED",
        help="The seed of all hashes. Keep a random one of 128 bits to yourself where items come from strangers.",
        rich_help_panel=_EXPERT,
    ),
]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Threads; all cores by default.", rich_help_panel=_EXPERT)
]
MaxPairs = Annotated[
    int, typer.Option("--max-pairs", help="Refuse to write more pairs than this.", rich_help_panel=_EXPERT)
]

Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="What may be held of the collection, such as 4GB; more is spilled. A quarter of the machine by default.",
        rich_help_panel=_LARGE,
    ),
]
Workdir = Annotated[
    Path | None,
    typer.Option(
        "--workdir",
        help="Where to spill and to resume from; the run gets a folder of its own there.",
        rich_help_panel=_LARGE,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a run that was interrupted, of the same inputs and options.",
        rich_help_panel=_LARGE,
    ),
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="FILE",
        help="Also remove what is like an item of these files; may be given several times.",
        rich_help_panel=_MATCH,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option("--group-by", help="Compare only items with the same value in this column.", rich_help_panel=_MATCH),
]
Annotate = Annotated[
    bool,
    typer.Option(
        "--annotate",
        help="Keep all rows and add cluster, cluster_size, duplicate_of and similarity.",
        rich_help_panel=_MATCH,
    ),
]
Audit = Annotated[
    int,
    typer.Option("--audit", min=0, help="Items of the sample that is compared exactly with all; 0 for none.",
                 rich_help_panel=_EXPERT),
]  # fmt: skip
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Fail, and write nothing, if the certificate raises an alarm.",
                 rich_help_panel=_EXPERT),
]  # fmt: skip
ReportBy = Annotated[
    str | None,
    typer.Option("--report-by", help="Tell removals by this column instead of by file.", rich_help_panel=_EXPERT),
]
