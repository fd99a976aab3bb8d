"""What `pairs`, `clusters` and `dedup` do alike: read the options, run the pipeline, say what was found."""

from __future__ import annotations

import gc
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lookalike.cli.command_options import typed
from lookalike.cli.lean import load_lean
from lookalike.cli.stopwatch import elapsed
from lookalike.cli.terminal import announce_compiling, progress_for, say
from lookalike.cli.waiting import WAITING
from lookalike.errors import OptionError, OutputError
from lookalike.options import ConfigOptions
from lookalike.options.option_table import checked, entries
from lookalike.wording.phrases import counted
from lookalike.wording.printable import spelled

if TYPE_CHECKING:
    from lookalike.config import Config
    from lookalike.engines.counts import Counts
    from lookalike.engines.local.known_items import KnownItems
    from lookalike.engines.local.pipeline import Found
    from lookalike.engines.local.store.work_folder import Work
    from lookalike.index.index_run import IndexRun
    from lookalike.io.copying.apart import Inputs
    from lookalike.io.source import Source
    from lookalike.items.from_rows import Items
    from lookalike.runs.results import Clusters, Dedup, Pairs
    from lookalike.theory import Plan
    from lookalike.wording.progress import Progress

Result = TypeVar("Result", bound="Pairs | Clusters | Dedup")

__all__ = [
    "Job",
    "Summed",
    "by_measure",
    "carry_out",
    "check_inputs",
    "check_output",
    "closing",
    "given_options",
    "limit_words",
    "load_tokens",
    "path_of",
    "prepare",
    "refuse_nested",
    "run_in_folder",
    "summary",
]

# Options that name files, in the encoding of the file system.
_PATHS = ("inputs", "images", "against", "output", "workdir")


def closing() -> dict[str, Any]:
    """What is known only at the end of a run, for its report."""
    from lookalike.engines.local.room import peak_memory

    return {
        "command": shlex.join(["lookalike", *map(spelled, sys.argv[1:])]),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "actual": {"seconds": round(elapsed(), 3), "memory": peak_memory()},
    }


def path_of(output: str | None) -> Path | None:
    """Where to write, on this machine."""
    return None if output is None else Path(output)


def load_tokens(name: str | None) -> Callable[[str], Iterable[str]] | None:
    """The callable that `module:function` names; modules of the working folder count."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        function: Callable[[str], Iterable[str]] = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        why = str(error) if isinstance(error, (ImportError, AttributeError)) else f"{type(error).__name__}: {error}"
        raise OptionError(f"tokens is {name!r}: it must be module:function ({why})") from None
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise OptionError(f"tokens is {name!r}: {attribute} is not a function")
    return function


def check_output(
    output: Path | None, *, overwrite: bool, dry_run: bool, json: bool, table: bool, folder: bool = False,
    lines: bool = False, resume: bool = False, workdir: Path | None = None,
) -> bool:  # fmt: skip
    """Refuse an output that cannot be written before hours of work, not after; whether it is a run folder.

    A `table` goes to a file, or where `folder` says so, without a file ending to a run folder.
    """
    from lookalike.io.writing.table_files import output_format
    from lookalike.runs.run_folder import RunFolder, is_one_file

    if output is None or dry_run:
        _refuse_resume(resume)
        return False
    try:
        output.expanduser()
    except RuntimeError:
        raise OutputError(f"{output} cannot be written: ~ has no home folder here") from None
    if str(output) == "-":
        WAITING.leave_alone()
        _refuse_resume(resume)
        if json:
            raise OptionError("--json (json) and -o - both write to standard output: use one of them")
        return False
    parent = next((folder for folder in output.absolute().parents if folder.exists()), Path("/"))
    if not os.access(parent, os.W_OK):
        raise OutputError(f"{output} cannot be written: {parent} is not writable")
    if table and not (folder and (not output.suffix or output.is_dir())):
        output_format(output)
    elif not is_one_file(output, lines=lines):
        RunFolder(output, overwrite=overwrite, resume=resume, workdir=workdir).check()
        return True
    _refuse_resume(resume)
    if output.exists() and not overwrite:
        raise OutputError(f"{output} exists; use --overwrite to replace it")
    return False


def _refuse_resume(resume: bool) -> None:
    if resume:
        raise OptionError("resume needs the run folder: give it with -o")


@dataclass(frozen=True, slots=True)
class Job:
    """What a command is to do: its options, checked, and its inputs, opened."""

    verb: str
    config: Config
    source: Source
    against: Source | None
    quiet: bool
    workdir: Path | None
    # The index that it is compared with, and its items.
    index: IndexRun | None = None
    known: KnownItems | None = None

    def dedup(self, work: Work | None = None) -> Dedup:
        """What stays, with whatever it is that goes."""
        from lookalike.runs.results import Dedup

        if self.config.span is None:
            return Dedup(self.find(work))
        from lookalike.engines.local.spans.span_pipeline import find_spans
        from lookalike.runs.span_results import SpanDedup

        work, progress = self._begun(work)
        return SpanDedup(find_spans(self.source, self.config, progress, against=self.against, work=work))

    def _begun(self, work: Work | None) -> tuple[Work, Progress]:
        """Where the work of a run is kept and told, now that all is loaded and it begins."""
        from lookalike.engines.local.store.work_folder import Work

        if not gc.isenabled():  # from here on garbage may be large
            gc.freeze()
            gc.enable()
        return work or Work(spill_to=self.workdir), progress_for(self.quiet)

    def find(self, work: Work | None = None) -> Found:
        """Run the pipeline."""
        from lookalike.engines.local.pipeline import find
        from lookalike.report.plain_data import check_strict

        work, progress = self._begun(work)
        found = find(
            self.source, self.config, progress, verb=self.verb, against=self.against, known=self.known, work=work
        )
        check_strict(found)
        if self.index is not None:
            self.index.check(found)
        return found

    @property
    def adds(self) -> bool:
        """Whether what is kept goes into the index."""
        return self.index is not None and self.index.adds

    def add(self, found: Found) -> None:
        """Put what was kept into the index, if that is asked for."""
        if self.index is not None:
            self.index.add(found, progress_for(self.quiet))

    def close(self) -> None:
        """Let go of the index."""
        if self.index is not None:
            self.index.close()


def run_in_folder(
    task: Job, given: Mapping[str, Any], make: Callable[[Work], Result], *, annotate: bool = False
) -> tuple[Result, dict[str, Any]] | None:
    """Run in the run folder that -o names, or go on there: the result and its report; None if it was finished."""
    from lookalike.cli.terminal import print_json
    from lookalike.runs.run_description import describe_run
    from lookalike.runs.run_folder import RunFolder, results_of, write_run

    output, quiet = path_of(given["output"]), given["quiet"]
    result: Result | None = None
    assert output is not None

    def settle() -> None:
        # A run that was killed before this finds again what it found.
        task.add(result.found if result is not None else task.find(run.work))

    run = RunFolder(
        output, overwrite=given["overwrite"], resume=given["resume"], workdir=given["workdir"],
        tell=lambda line: say(line, quiet=quiet), settle=settle if task.adds else None,
    )  # fmt: skip
    what = describe_run(task.verb, task.config, task.source, task.against, annotate=annotate, known=task.known)
    if given["resume"] and (run.finished or run.take_up(what)):
        run.check_same(what)
        if given["json"]:
            print_json(run.report() | {"seconds": elapsed(), "output": str(output)})
        say(f"{output} is a finished run: nothing to do", quiet=quiet)
        return None
    work = run.begin(what, results_of(task.source, task.verb))
    with run.going():
        result = make(work)
        report = write_run(result, run, annotate=annotate, closing=closing, progress=progress_for(quiet))
    return result, report


def carry_out(
    task: Job, given: Mapping[str, Any], make: Callable[[Found], Result], *, to_folder: bool
) -> tuple[Result, dict[str, Any]] | None:
    """The result of a command with its report, which a run folder has already; None if that was finished before."""
    if to_folder:
        return run_in_folder(task, given, lambda work: make(task.find(work)))
    result = make(task.find())
    return result, result.report


def given_options(table: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of a command with its value, checked."""
    return checked(table, {name: value if name in _PATHS else typed(value) for name, value in options.items()})


def prepare(verb: str, table: Any, options: Mapping[str, Any]) -> Job:
    """Check the options that a command was given and open the inputs; what is the command's own is left to it."""
    given = given_options(table, options)
    for name in ("master", "work", "parts"):
        if given.get(name) is not None:
            raise OptionError(f"{name} is for runs on Spark: add --engine spark")
    if given["tokens"] is None:  # a function of the user may use anything
        load_lean()
    given["tokens"] = load_tokens(given["tokens"])
    index = _index_run(table, given) if verb == "dedup" else None
    try:
        return _prepared(verb, given, index)
    except BaseException:
        if index is not None:
            index.close()
        raise


def _index_run(table: Any, given: dict[str, Any]) -> IndexRun | None:
    """The index that `--against` names, if it does; what is as by default was not given."""
    against, add, payload = given["against"], given["add"], given["payload"] or ()
    replace = given["replace"]
    if not against and not add and not payload and not replace:
        return None
    from lookalike.index.index_run import open_index_run
    from lookalike.index.redis_address import is_redis, no_batch_run, shown_path

    if add and not given["dry_run"] and given["output"] is None:
        raise OptionError("add needs an output: give it with -o")
    if given["dry_run"]:
        add, replace, payload = False, replace and not add, ()
    told = {name: given[name] for name, entry in entries(table).items() if given[name] != entry.option.default}
    for each in against or []:
        if is_redis(each):
            raise no_batch_run(shown_path(each))
    places = [Path(each) for each in against or []] or None
    return open_index_run(places, told, add=add, replace=replace, payload=payload)


def _prepared(verb: str, given: dict[str, Any], index: IndexRun | None) -> Job:
    from lookalike.config import make_config
    from lookalike.io import check_delimiter
    from lookalike.io.copying.apart import Inputs
    from lookalike.io.input_options import InputOptions, open_inputs
    from lookalike.io.source import batch_bytes_for

    options = given if index is None else given | index.options
    config = make_config(**{name: value for name, value in options.items() if name in entries(ConfigOptions)})
    config = config if index is None else index.configured(config)
    announce_compiling(given["quiet"])
    inputs, images = given["inputs"] or [], given["images"] or []
    against = [] if index is not None else given.get("against") or []
    if verb == "pairs" and against:
        from lookalike.index.index_run import refuse_index

        refuse_index([Path(each) for each in against])
    reading = InputOptions(
        format=given["format"], delimiter=given["delimiter"], skip_bad=given["skip_bad"],
        limit=given["limit"], edges=given["edges"],
        batch_bytes=batch_bytes_for(config.memory, config.threads), undirected=given["undirected"],
        negative=config.measure == "cosine",
        images=bool(images), features=given["features"], size=given["size"], threads=config.threads,
        memory=config.memory, workdir=given["workdir"],
    )  # fmt: skip
    check_inputs(inputs, images)
    source = open_inputs([*inputs, *images], reading)
    other = open_inputs(against, replace(reading, format=None, limit=None)) if against else None
    check_delimiter(given["delimiter"], source, other)
    output, workdir = path_of(given["output"]), given["workdir"]
    own = Inputs([*inputs, *images], source.files)
    compared = Inputs(given.get("against") or [], other.files if other is not None else ())
    refuse_nested(own, compared, output, workdir, run=verb == "dedup")
    if verb == "dedup" and output is not None and not given["dry_run"]:
        from lookalike.io.copying.copy import check_destination

        check_destination(source, output, columns=given["annotate"], shortened=config.unit != "document")
    known = None if index is None else index.known(source, config)
    return Job(verb, config, source, other, given["quiet"], given["workdir"], index, known)


def check_inputs(inputs: list[str], images: list[str]) -> None:
    """Something must be read, and it must be of one kind."""
    if inputs and images:
        raise OptionError("--images already names the input: leave out the other inputs")
    if not inputs and not images:
        raise OptionError("no input: give files, a glob, a folder, or - for standard input")


def refuse_nested(own: Inputs, other: Inputs, output: Path | None, workdir: Path | None, *, run: bool = False) -> None:
    """Refuse what is read and what is written inside one another; `run` says that the output may be a run folder."""
    from lookalike.io.copying.apart import check_apart
    from lookalike.runs.run_folder import RunFolder, is_one_file

    written = None if output is None or str(output) == "-" else output
    is_folder = run and written is not None and not is_one_file(written, lines=True)
    work = None if workdir is None else workdir / "lookalike-work"
    if workdir is not None and is_folder and written is not None:
        work = RunFolder(written, workdir=workdir).work_folder
    check_apart(own, other, written, work, is_folder=is_folder)


class Summed(Protocol):
    """What a summary is made of, whichever engine found it."""

    @property
    def config(self) -> Config: ...
    @property
    def plan(self) -> Plan | None: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def items(self) -> Items: ...


def limit_words(found: Summed) -> str:
    """What pairs had to reach: "Jaccard similarity >= 0.8"."""
    return found.config.scale.words


def by_measure(found: Summed) -> str:
    """The same for headlines that say it only where it is not what everybody expects: Jaccard similarity of texts."""
    config, scale, form = found.config, found.config.scale, found.items.traits
    usual = config.exact or (form.is_text and scale.measure == form.measure and not scale.is_distance)
    return "" if usual else f" at {limit_words(found)}"


def _candidates(found: Summed) -> str:
    """How many pairs became candidates, and how many of them in vain; nothing where every pair was one."""
    counts, config, planned = found.counts, found.config, found.plan
    if planned is not None and planned.exhaustive and not planned.joined:
        return ""
    beyond = "beyond the maximum distance" if config.scale.is_distance else "below the threshold"
    below = f", {counts.candidates - counts.matches:,} of them {beyond}" if config.verify != "none" else ""
    return f"; {counted(counts.candidates, 'candidate')}{below}"


def _folded(counts: Counts, report: Mapping[str, Any]) -> str:
    """How matches add up to pairs, where identical items were compared as one."""
    if not counts.identical or report["pairs"] == counts.matches:
        return ""
    return f"; {counted(counts.matches, 'match')}, {counted(report['pairs'], 'pair')} including identical items"


def summary(found: Summed, headline: str, report: dict[str, Any], *, quiet: bool) -> None:
    """What was found, how sure that is, and everything that was skipped or replaced."""
    counts, config, planned = found.counts, found.config, found.plan
    if quiet:
        return
    exact = " (identical items only)" if planned is None else ""
    say(f"{headline} in {elapsed():.1f} s{exact}")
    if planned is not None:
        say(f"  {report['certificate']['statement']}")
        shape = planned.shape
        say(
            f"  {shape}, planned recall {planned.expected_recall:.4f} at the threshold"
            f"{_candidates(found)}{_folded(counts, report)}"
        )
        if planned.expected_recall < 0.5:
            say(
                f"  {shape} find only {planned.expected_recall:.1%} of the pairs at {config.scale.told_limit:g}; "
                "see lookalike plan"
            )
        for note in report["certificate"]["notes"]:
            say(f"  {note}")
    if counts.items == 1 and found.items.id == "path":
        say("  one text file is one item; --format lines makes an item of each line")
    sets, text = found.items.traits.has_elements, found.items.traits.is_text
    same = "with the same set as an earlier one" if sets and planned is not None else "identical to an earlier one"
    if found.config.compared:
        same = "equal to an earlier one in all compared columns"
    notes = [
        (counts.identical, same),
        (
            counts.empty,
            f"without any {'shingle' if text else 'element'} (they match identical items only)" if sets else "",
        ),
        (counts.null, "null, treated as empty" if sets else "null, not compared"),
        (counts.bad_items, "that cannot be compared"),
        (counts.short, f"shorter than {config.shingle} (compared as one shingle)"),
        (0 if "known" in report else counts.references, "in the other collection"),
        (counts.invalid_utf8, "with invalid UTF-8, replaced by U+FFFD"),
        (counts.html_fallback, "without a main text: all visible text was compared"),
        (counts.emptied_items, "whose shingles all occur in too many documents"),
        (counts.few_words, f"with fewer than {config.min_words} words, kept unchanged"),
        (counts.seldom, f"repeated fewer than {config.min_count} times, kept unchanged"),
    ]
    noun = "item" if config.unit == "document" else config.unit
    for number, what in notes:
        if number and what:
            say(f"  {counted(number, noun)} {what}")
    if counts.dropped_shingles:
        share = f"more than {config.max_share:g} of the documents"
        say(f"  {counted(counts.dropped_shingles, 'shingle')} ignored, found in {share}")
    if counts.skipped_rows:
        say(f"  {counted(counts.skipped_rows, 'unreadable row')} skipped; the first: {found.items.source.bad[0]}")
    if counts.bad_items:
        for example in report.get("skipped_examples", [])[len(found.items.source.bad) :][:1]:
            say(f"  the first that cannot be compared: {example}")
    from lookalike.report.plain_data import warnings

    for warning in warnings(report, counts=False):
        say(f"  warning: {warning}")
