"""The options of commands: those of the verbs (`lookalike/options/`), and those that only commands have.

A command is a function with `**given: Unpack[...]` of one of the classes below; `command` makes the parameters that
Typer shows and parses of its table.
"""

import os
from collections.abc import Callable
from enum import StrEnum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar, get_args, get_origin

import typer

from lookalike.options import (
    ClustersOptions,
    CollectionOptions,
    DedupOptions,
    Delimited,
    IndexBuildOptions,
    NeighborsOptions,
    PairsOptions,
    PlanOptions,
    TextOptions,
    TuneOptions,
    allowed,
)
from lookalike.options.allowed import Number, Whole
from lookalike.options.option_table import (
    CLUSTER,
    EXPERT,
    LARGE,
    MATCHING,
    READING,
    Entry,
    Option,
    entries,
    without_none,
)

__all__ = [
    "ARGUMENTS",
    "ClustersCommand",
    "CompareCommand",
    "DedupCommand",
    "DemoCommand",
    "IndexAddCommand",
    "IndexBackupCommand",
    "IndexBuildCommand",
    "IndexCompactCommand",
    "IndexExpireCommand",
    "IndexQueryCommand",
    "IndexRemoveCommand",
    "IndexStatsCommand",
    "IndexVerifyCommand",
    "NeighborsCommand",
    "PairsCommand",
    "PlanCommand",
    "ReportCommand",
    "ServeCommand",
    "TuneCommand",
    "command",
    "typed",
]


def typed(value: Any) -> Any:
    """What was typed for a name as the UTF-8 that it is, also where the locale has another encoding."""
    if isinstance(value, list):
        return [typed(each) for each in value]
    return os.fsencode(value).decode("utf-8", "surrogateescape") if isinstance(value, str) else value


class InputArguments(TypedDict, total=False):
    """What is read, and where the result goes."""

    inputs: Annotated[
        list[str] | None,
        Option(
            "Files, globs or folders: Parquet, JSONL, CSV, TSV, npy, text, compressed or not; - is standard input.",
            metavar="IN...",
        ),
    ]
    # With --engine spark it may be an address, which a path would spoil.
    output: Annotated[
        str | None,
        Option(
            "Output: a file (.parquet, .jsonl, .csv), a folder for the run, or - for standard output.",
            short="-o",
            metavar="PATH",
        ),
    ]


class Pictures(TypedDict, total=False):
    """Pictures as items."""

    images: Annotated[
        list[str] | None, Option("The pictures in this folder are the items.", panel=READING, metavar="FOLDER")
    ]
    features: Annotated[
        Literal["pixels", "raw", "dhash", "phash"] | None,
        Option(
            "What to compare in pictures: pixels, raw, dhash or phash.",
            stands_for="pixels",
            panel=READING,
        ),
    ]
    size: Annotated[
        int | None,
        Option(
            "Width and height to which pictures are scaled; for dhash and phash a multiple of 8.",
            stands_for="16, or 8 for dhash and phash",
            panel=READING,
        ),
    ]


class Making(Pictures, total=False):
    """Items that are made of rows or of pictures."""

    edges: Annotated[
        str | None,
        Option(
            "Rows are edges: an item is a value of FROM, its set is all values of TO in the same rows.",
            panel=READING,
            metavar="FROM,TO[,WEIGHT]",
        ),
    ]
    undirected: Annotated[bool, Option("Count each edge in both directions.", default=False, panel=READING)]


class Overwriting(TypedDict, total=False):
    """For commands that write."""

    overwrite: Annotated[
        bool, Option("Replace an existing output file, or the files of an earlier run in the folder.", default=False)
    ]


class DryRun(TypedDict, total=False):
    """For commands that take long."""

    dry_run: Annotated[bool, Option("Do everything except write the output.", default=False)]


class Quiet(TypedDict, total=False):
    """For commands that talk."""

    quiet: Annotated[bool, Option("Print no progress and no summary.", default=False, short="-q")]


class Json(TypedDict, total=False):
    """For commands that report."""

    json: Annotated[bool, Option("Print the report as JSON.", default=False)]


class Workdir(TypedDict, total=False):
    """For commands that spill."""

    workdir: Annotated[
        Path | None,
        Option(
            "Folder for temporary files and the state of the run; the run creates its own folder in it.", panel=LARGE
        ),
    ]


class Engine(TypedDict, total=False):
    """Where a run is carried out."""

    resume: Annotated[
        bool,
        Option("Continue an interrupted run, with the same inputs and options.", default=False, panel=LARGE),
    ]
    engine: Annotated[
        Literal["local", "spark"],
        Option(
            "local: run on this machine; spark: run on a cluster, with the same results.",
            default="local",
            panel=CLUSTER,
        ),
    ]
    master: Annotated[
        str | None,
        Option("Spark master, such as local[*] or spark://HOST:7077. By default spark-submit decides.", panel=CLUSTER),
    ]
    work: Annotated[
        str | None,
        Option(
            "Folder for intermediate data that all machines can reach: a path, s3://… Optional on one machine.",
            panel=CLUSTER,
            metavar="DIR",
        ),
    ]
    parts: Annotated[
        int | None,
        Option(
            "Number of tasks per stage.",
            stands_for="by the number of rows",
            check=Whole(1, 65_000),
            panel=CLUSTER,
        ),
    ]


class PairsCommand(
    InputArguments, PairsOptions, Making, Overwriting, DryRun, Quiet, Json, Workdir, Engine, total=False
):
    """The options of `lookalike pairs`."""


class ClustersCommand(
    InputArguments, ClustersOptions, Making, Overwriting, DryRun, Quiet, Json, Workdir, Engine, total=False
):
    """The options of `lookalike clusters`."""


class DedupCommand(
    InputArguments, DedupOptions, Making, Overwriting, DryRun, Quiet, Json, Workdir, Engine, total=False
):
    """The options of `lookalike dedup`."""

    annotate: Annotated[
        bool,
        Option(
            "Keep all rows and add the columns cluster, cluster_size, duplicate_of and similarity.",
            default=False,
            panel=MATCHING,
        ),
    ]


class Queries(TypedDict, total=False):
    """What is searched for."""

    queries: Annotated[
        list[str] | None,
        Option(
            "What to search for: files, or folders of pictures with --images. Repeatable. "
            "Without it, each item is searched among the others.",
            metavar="FILE",
        ),
    ]


class NeighborsCommand(InputArguments, Queries, NeighborsOptions, Making, Overwriting, Quiet, Json, total=False):
    """The options of `lookalike neighbors`."""


class TuneCommand(InputArguments, TuneOptions, Pictures, Overwriting, Quiet, Json, total=False):
    """The options of `lookalike tune`."""

    plot: Annotated[Path | None, Option("Draw the histogram, for example to tune.svg.")]
    report: Annotated[Path | None, Option("Write a page with everything to look at, for example tune.html.")]


class PlanCommand(PlanOptions, Delimited, Overwriting, Json, total=False):
    """The options of `lookalike plan`."""

    items: Annotated[float, Option("Expected number of items, for example 1e6.", default=1e6)]
    sample: Annotated[list[str] | None, Option("Files with typical items; the plan is made for them.")]
    plot: Annotated[Path | None, Option("Draw the S-curve, for example to curve.svg.")]


class CompareCommand(TextOptions, Delimited, Quiet, Json, total=False):
    """The options of `lookalike compare`."""

    a: Annotated[str, Option("A text file, or - for standard input; with --of an id.", default=..., metavar="A")]
    b: Annotated[str, Option("The other text file or id.", default=..., metavar="B")]
    of: Annotated[
        list[str] | None,
        Option("A run folder, or the files of a collection; A and B are then ids of its items.", metavar="RUN"),
    ]
    id: Annotated[
        str | None,
        Option("With --of files: the column that holds the ids; the default is the row number.", check=allowed.name),
    ]
    column: Annotated[
        list[str] | None,
        Option("With --of files: the column that holds the texts; several columns are joined.", short="-c"),
    ]
    lines: Annotated[int, Option("Number of lines to show side by side.", default=24, check=Whole(0))]


class ReportCommand(Overwriting, Quiet, Json, total=False):
    """The options of `lookalike report`."""

    run: Annotated[Path, Option("The folder of a finished run.", default=..., metavar="RUN")]
    output: Annotated[Path | None, Option("Where to write the page, or - for standard output.", short="-o")]


class ServeCommand(Quiet, total=False):
    """The options of `lookalike serve`."""

    index: Annotated[str, Option("The folder of an index, or redis://HOST/DB?name=NAME.", default=..., metavar="INDEX")]
    host: Annotated[
        str,
        Option(
            "Address to listen on; other addresses than this machine need --token-file or --insecure.",
            default="127.0.0.1",
        ),
    ]
    port: Annotated[int, Option("Port to listen on; 0 picks a free one.", default=8080)]
    token_file: Annotated[
        Path | None,
        Option("A file of lines `read TOKEN` or `write TOKEN` that only you can read.", metavar="FILE"),
    ]
    insecure: Annotated[
        bool, Option("Let everyone who can reach the server read and write, without a token.", default=False)
    ]
    workers: Annotated[
        int, Option("Number of processes that answer; with more than one, a separate process writes.", default=1)
    ]
    seed: Annotated[
        int | None,
        Option(
            "The secret seed that the index was created with.",
            check=Whole(0, 2**128 - 1, "a whole number from 0 to 2^128 - 1"),
            panel=EXPERT,
            envvar="LOOKALIKE_SEED",
        ),
    ]
    max_body: Annotated[
        int, Option("Largest request, and largest line of a stream, in bytes.", default=10_000_000, panel=LARGE)
    ]
    max_item: Annotated[int, Option("Largest item, in bytes.", default=1_000_000, panel=LARGE)]
    max_batch: Annotated[int, Option("Most items in a batch.", default=10_000, panel=LARGE)]
    request_time: Annotated[
        float,
        Option(
            "Seconds for a request to arrive, and for open requests to finish at the end.", default=30.0, panel=LARGE
        ),
    ]


class DemoCommand(TypedDict, total=False):
    """The options of `lookalike demo`."""

    threshold: Annotated[float, Option("Minimum similarity of two files that match.", default=0.7, short="-t")]
    clusters: Annotated[int, Option("Number of clusters to show.", default=8, check=Whole(1))]


class IndexArgument(TypedDict, total=False):
    """The index that a command is about."""

    index: Annotated[
        str, Option("The folder of the index, or redis://HOST/DB?name=NAME.", default=..., metavar="INDEX")
    ]


class WaitOption(TypedDict, total=False):
    """For commands that write to an index."""

    wait: Annotated[float, Option("Seconds to wait if another process is writing to the index.", default=0.0)]


class Payload(TypedDict, total=False):
    """What is kept beside each item."""

    payload: Annotated[
        list[str] | None,
        Option(
            "A column to store with each item; several may be parted by commas. Repeatable.",
            panel=READING,
            metavar="COLUMN",
        ),
    ]


class IndexInputs(TypedDict, total=False):
    """What goes into an index."""

    inputs: Annotated[
        list[str] | None,
        Option("Files, globs or folders, as for dedup; - is standard input.", metavar="IN..."),
    ]


class IndexBuildCommand(IndexInputs, IndexBuildOptions, Payload, Quiet, Json, total=False):
    """The options of `lookalike index build`."""

    output: Annotated[
        str,
        Option("The folder of the new index, or redis://HOST/DB?name=NAME.", default=..., short="-o", metavar="INDEX"),
    ]


class IndexAddCommand(IndexArgument, IndexInputs, CollectionOptions, Payload, WaitOption, Quiet, Json, total=False):
    """The options of `lookalike index add`."""

    replace: Annotated[bool, Option("Replace items that have the same id.", default=False)]


class IndexQueryCommand(IndexArgument, Json, total=False):
    """The options of `lookalike index query`."""

    text: Annotated[
        str,
        Option(
            "A file or a text; - reads JSON lines: texts, lists, or objects with item and id.",
            default=...,
            metavar="ITEM",
        ),
    ]
    id: Annotated[
        str | None,
        Option("With -: the key that names an object of standard input.", stands_for="id", metavar="KEY"),
    ]
    threshold: Annotated[
        float | None, Option("Minimum similarity (or maximum distance), instead of the one of the index.", short="-t")
    ]
    k: Annotated[int | None, Option("Return only the best k matches.", check=Whole(1), short="-k")]
    nearest: Annotated[
        bool, Option("Return the k most similar items, whatever their similarity; 10 if k is not given.", default=False)
    ]
    recall: Annotated[
        float,
        Option("Probability that each of the nearest items is found.", default=0.95, check=Number(0.0, up_to=1.0)),
    ]
    examine: Annotated[
        int | None,
        Option("Most candidates to compare; 0 for all, the default with --nearest.", check=Whole(0), stands_for="300"),
    ]


class IndexRemoveCommand(IndexArgument, WaitOption, Quiet, total=False):
    """The options of `lookalike index remove`."""

    ids: Annotated[list[str], Option("The ids of the items.", default=..., metavar="ID...")]


class IndexExpireCommand(IndexArgument, WaitOption, Quiet, total=False):
    """The options of `lookalike index expire`."""

    older_than: Annotated[
        str, Option("Remove items added longer ago than this, such as 90d, 12h or 30m, or before a date.", default=...)
    ]


class IndexStatsCommand(IndexArgument, Json, total=False):
    """The options of `lookalike index stats`."""


class IndexVerifyCommand(IndexArgument, Quiet, Json, total=False):
    """The options of `lookalike index verify`."""

    sample: Annotated[int, Option("Number of items to compare exactly with all others.", default=500, check=Whole(0))]


class IndexCompactCommand(IndexArgument, WaitOption, Quiet, total=False):
    """The options of `lookalike index compact`."""


class IndexBackupCommand(IndexArgument, Quiet, total=False):
    """The options of `lookalike index backup`."""

    to: Annotated[Path, Option("Folder for the copy.", default=..., metavar="TO")]


# Parameters without a name.
ARGUMENTS = ("inputs", "a", "b", "run", "index", "ids", "text", "to")
# What is the same for all commands stands last.
_LAST = ("overwrite", "dry_run", "quiet", "json")

_Command = TypeVar("_Command", bound=Callable[..., None])


def command(options: Any) -> Callable[[_Command], _Command]:
    """Give a function with `**given: Unpack[...]` the parameters of its table, as Typer reads them."""

    def tell(function: _Command) -> _Command:
        shown = [entry for entry in entries(options).values() if entry.option.typed is not None]
        shown.sort(key=lambda entry: entry.name in _LAST)
        setattr(function, "__signature__", Signature([_parameter(entry) for entry in shown]))  # noqa: B010 (mypy knows no such attribute)
        return function

    return tell


def _completing(option: Option) -> Callable[[str], list[str]] | None:
    """What a shell asks for the values that begin with what was typed."""
    if not option.suggested:
        return None

    def complete(incomplete: str) -> list[str]:
        before = incomplete[: incomplete.rfind(",") + 1] if option.listed else ""
        return [each for word in option.suggested if (each := before + word).startswith(incomplete)]

    return complete


def _parameter(entry: Entry) -> Parameter:
    option, default = entry.option, entry.option.default
    kind = entry.type if option.typed is ... else option.typed
    if get_origin(without_none(kind)) is Literal:
        words: Any = StrEnum("Word", {word.upper(): word for word in get_args(without_none(kind))})  # type: ignore[misc]
        kind = words if default is not None else words | None
        default = None if default is None else words(default)
    meaning = f"{option.meaning} {option.on_command}".rstrip()
    if entry.name in ARGUMENTS:
        shown: Any = typer.Argument(metavar=option.metavar, help=meaning, show_default=False)
    else:
        long = f"--{entry.name.replace('_', '-')}"
        spelled = [long] if option.short is None else [option.short] if len(entry.name) == 1 else [option.short, long]
        shown = typer.Option(
            *spelled, help=meaning, show_default=option.stands_for or True, rich_help_panel=option.panel,
            metavar=option.metavar, envvar=option.envvar, autocompletion=_completing(option),
        )  # fmt: skip
    empty = Parameter.empty if default is ... else default
    return Parameter(entry.name, Parameter.KEYWORD_ONLY, default=empty, annotation=Annotated[kind, shown])
