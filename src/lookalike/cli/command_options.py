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

from lookalike.options import ClustersOptions, DedupOptions, NeighborsOptions, PairsOptions, PlanOptions, TextOptions
from lookalike.options.allowed import Whole
from lookalike.options.option_table import LARGE, MATCHING, READING, Entry, Option, entries, without_none

__all__ = [
    "ClustersCommand",
    "CompareCommand",
    "DedupCommand",
    "DemoCommand",
    "NeighborsCommand",
    "PairsCommand",
    "PlanCommand",
    "ReportCommand",
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
            "Files, globs or folders: Parquet, JSONL, CSV, TSV, npy, text, also compressed; - is standard input.",
            metavar="IN...",
        ),
    ]
    output: Annotated[Path | None, Option("Where to write: .parquet, .jsonl, .csv, or - .", short="-o")]


class Pictures(TypedDict, total=False):
    """Pictures as items."""

    images: Annotated[list[str] | None, Option("Pictures of a folder are the items.", panel=READING, metavar="FOLDER")]
    features: Annotated[
        Literal["pixels", "raw", "dhash", "phash"] | None,
        Option(
            "What to compare of pictures: pixels, raw, or dhash and phash (bits).",
            stands_for="pixels",
            panel=READING,
        ),
    ]
    size: Annotated[
        int | None,
        Option(
            "Pixels of a side that pictures are made to; for dhash and phash a multiple of 8.",
            stands_for="16, or 8 for dhash and phash",
            panel=READING,
        ),
    ]


class Making(Pictures, total=False):
    """Items that are made of rows or of pictures."""

    edges: Annotated[
        str | None,
        Option(
            "Rows are edges: an item is a value of FROM with the values of TO that stand beside it.",
            panel=READING,
            metavar="FROM,TO[,WEIGHT]",
        ),
    ]
    undirected: Annotated[bool, Option("Each edge counts both ways.", default=False, panel=READING)]


class Overwriting(TypedDict, total=False):
    """For commands that write."""

    overwrite: Annotated[
        bool, Option("Replace a file that exists, or the files of an earlier run in its folder.", default=False)
    ]


class DryRun(TypedDict, total=False):
    """For commands that take long."""

    dry_run: Annotated[bool, Option("Do everything but write.", default=False)]


class Quiet(TypedDict, total=False):
    """For commands that talk."""

    quiet: Annotated[bool, Option("No progress and no summary.", default=False, short="-q")]


class Json(TypedDict, total=False):
    """For commands that report."""

    json: Annotated[bool, Option("Print the report as JSON, for scripts.", default=False)]


class Workdir(TypedDict, total=False):
    """For commands that spill."""

    workdir: Annotated[
        Path | None,
        Option("Where to spill and to resume from; the run gets a folder of its own there.", panel=LARGE),
    ]


class PairsCommand(InputArguments, PairsOptions, Making, Overwriting, DryRun, Quiet, Json, Workdir, total=False):
    """The options of `lookalike pairs`."""


class ClustersCommand(InputArguments, ClustersOptions, Making, Overwriting, DryRun, Quiet, Json, Workdir, total=False):
    """The options of `lookalike clusters`."""


class DedupCommand(InputArguments, DedupOptions, Making, Overwriting, DryRun, Quiet, Json, Workdir, total=False):
    """The options of `lookalike dedup`."""

    annotate: Annotated[
        bool,
        Option(
            "Keep all rows and add cluster, cluster_size, duplicate_of and similarity.", default=False, panel=MATCHING
        ),
    ]
    resume: Annotated[
        bool,
        Option("Go on with a run that was interrupted, of the same inputs and options.", default=False, panel=LARGE),
    ]


class Queries(TypedDict, total=False):
    """What is searched for."""

    queries: Annotated[
        list[str] | None,
        Option(
            "What to search for, read as the items are: files, or folders of pictures with --images; may be given "
            "several times. Without it, each item among the others.",
            metavar="FILE",
        ),
    ]


class NeighborsCommand(InputArguments, Queries, NeighborsOptions, Pictures, Overwriting, Quiet, Json, total=False):
    """The options of `lookalike neighbors`."""


class PlanCommand(PlanOptions, Overwriting, Json, total=False):
    """The options of `lookalike plan`."""

    items: Annotated[float, Option("How many items there will be, for example 1e6.", default=1e6)]
    sample: Annotated[list[str] | None, Option("Files with items like yours: the plan is made for them.")]
    plot: Annotated[Path | None, Option("Write the S-curve as a picture, for example curve.svg.")]


class CompareCommand(TextOptions, Quiet, Json, total=False):
    """The options of `lookalike compare`."""

    a: Annotated[str, Option("A text file, or - .", default=..., metavar="A")]
    b: Annotated[str, Option("Another one.", default=..., metavar="B")]
    lines: Annotated[int, Option("How many lines to show side by side.", default=24, check=Whole(0))]


class ReportCommand(Overwriting, Quiet, Json, total=False):
    """The options of `lookalike report`."""

    run: Annotated[Path, Option("The folder of a finished run.", default=..., metavar="RUN")]
    output: Annotated[Path | None, Option("Where to write the page, or - .", short="-o")]


class DemoCommand(TypedDict, total=False):
    """The options of `lookalike demo`."""

    threshold: Annotated[float, Option("Similarity from which two files are alike.", default=0.7, short="-t")]
    clusters: Annotated[int, Option("How many clusters to show.", default=8, check=Whole(1))]


_ARGUMENTS = ("inputs", "a", "b", "run")
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


def _parameter(entry: Entry) -> Parameter:
    option, default = entry.option, entry.option.default
    kind = entry.type if option.typed is ... else option.typed
    if get_origin(without_none(kind)) is Literal:
        words: Any = StrEnum("Word", {word.upper(): word for word in get_args(without_none(kind))})  # type: ignore[misc]
        kind = words if default is not None else words | None
        default = None if default is None else words(default)
    meaning = f"{option.meaning} {option.on_command}".rstrip()
    if entry.name in _ARGUMENTS:
        shown: Any = typer.Argument(metavar=option.metavar, help=meaning, show_default=False)
    else:
        long = f"--{entry.name.replace('_', '-')}"
        spelled = [long] if option.short is None else [option.short] if len(entry.name) == 1 else [option.short, long]
        shown = typer.Option(
            *spelled, help=meaning, show_default=option.stands_for or True, rich_help_panel=option.panel,
            metavar=option.metavar, envvar=option.envvar,
        )  # fmt: skip
    empty = Parameter.empty if default is ... else default
    return Parameter(entry.name, Parameter.KEYWORD_ONLY, default=empty, annotation=Annotated[kind, shown])
