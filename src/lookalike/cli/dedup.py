"""`lookalike dedup`: a collection without its near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from lookalike.cli.command_options import DedupCommand, command
from lookalike.cli.span_summary import summary_of_spans
from lookalike.cli.stopwatch import elapsed
from lookalike.cli.waiting import WAITING
from lookalike.errors import OptionError
from lookalike.wording.phrases import counted

if TYPE_CHECKING:
    from lookalike.cli.job import Job
    from lookalike.runs.results import Dedup

__all__ = ["dedup"]


@command(DedupCommand)
def dedup(**given: Unpack[DedupCommand]) -> None:
    """Remove near-duplicates. -o FILE writes the rows that are kept; -o FOLDER also writes what was removed, and why.

    With --unit span:50 it is runs of at least 50 words that go wherever they stand again, word for word.

    The folder holds `kept/` (the input files without their near-duplicates, in their own format, all columns),
    `removed.parquet` (`id`, `kept`, `similarity`), `pairs.parquet`, `clusters.parquet`, `report.html` and
    `report.json`. `--resume` continues an interrupted run.

    Example: lookalike dedup 'crawl/*.parquet' -o run
    """
    if given["engine"] == "spark":
        from lookalike.cli.spark_command import run_on_cluster

        run_on_cluster("dedup", DedupCommand, given)
        return
    if not given["quiet"]:
        WAITING.begin()
    from lookalike.cli import job

    to_folder = job.check_output(
        job.path_of(given["output"]), overwrite=given["overwrite"], dry_run=given["dry_run"], json=given["json"],
        table=False, lines=given["format"] == "lines", resume=given["resume"], workdir=given["workdir"],
    )  # fmt: skip
    if given["with_rows"] and not to_folder:
        raise OptionError("with_rows (--with-rows) is about removed.parquet: give a folder with -o for it")
    task = job.prepare("dedup", DedupCommand, given)
    if task.config.span is not None and given["annotate"]:
        raise OptionError(f"annotate tells of whole documents: it does not go with unit={given['unit']!r}")
    try:
        _run(task, given, to_folder=to_folder)
    finally:
        task.close()


def _run(task: Job, given: DedupCommand, *, to_folder: bool) -> None:
    """Find, write, add to the index where that is asked for, and say what came of it."""
    overwrite, dry_run, annotate = given["overwrite"], given["dry_run"], given["annotate"]
    quiet, json = given["quiet"], given["json"]
    from lookalike.cli import job
    from lookalike.cli.terminal import print_json, progress_for, say
    from lookalike.wording.printable import spelled

    output = job.path_of(given["output"])
    if to_folder:
        done = job.run_in_folder(task, given, task.dedup, annotate=annotate)
        if done is None:
            return
        result, report = done
    else:
        result = task.dedup()
        if output is not None and not dry_run:
            result.save(output, overwrite=overwrite, annotate=annotate, progress=progress_for(quiet))
            task.add(result.found)
        elif not json and not dry_run:
            _show_removed(result)
        report = result.report
    if json:
        print_json(report | {"seconds": elapsed(), "output": spelled(str(output)) if output else None})
    if task.config.span is not None:
        summary_of_spans(report, quiet=quiet)
        return
    noun = report["unit"]
    headline = (
        f"kept {report['kept']:,} of {counted(report['items'], noun)}, "
        f"removed {report['removed']:,}{job.by_measure(result.found)}"
    )
    job.summary(result.found, headline, report, quiet=quiet)
    if "known" in report:
        say(f"  {report['known']['statement']}", quiet=quiet)
        say(f"  {report['known']['recall_statement']}", quiet=quiet)
    elif given["against"]:
        say(
            f"  {counted(report['removed_against'], noun)} removed because of a match in the other collection",
            quiet=quiet,
        )
        if given["only_against"]:
            there = result.found.counts.references
            say(
                f"  items of the other collection found in the input: {report['items_hit']:,} of {there:,}", quiet=quiet
            )
    if report.get("documents_emptied"):
        say(f"  {counted(report['documents_emptied'], 'document')} dropped: all of the text was removed", quiet=quiet)
    if to_folder and report["pairs_left_out"]:
        say(
            f"  no pairs.parquet: {report['pairs']:,} pairs exceed --max-pairs {given['max_pairs']:,}",
            quiet=quiet,
        )


def _show_removed(result: Dedup) -> None:
    """What goes, the least alike first; spans, the longest first."""
    from lookalike.cli.terminal import show_table

    scale, spans = result.found.config.scale, result.found.config.span is not None
    what = "spans" if spans else f"{result.report['unit']}s"
    order = ("words", "descending") if spans else (scale.column, "descending" if scale.is_distance else "ascending")
    title = f"removed {what} (nothing is written without -o)"
    show_table(result.removed.sort_by([order]), title=title, whole="-o FOLDER")
