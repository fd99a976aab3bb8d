"""`lookalike pairs`: every pair of similar items."""

from __future__ import annotations

from typing import Unpack

from lookalike.cli.command_options import PairsCommand, command
from lookalike.cli.stopwatch import elapsed
from lookalike.cli.waiting import WAITING
from lookalike.wording.phrases import counted

__all__ = ["pairs"]


@command(PairsCommand)
def pairs(**given: Unpack[PairsCommand]) -> None:
    """List all pairs of similar items, sorted, in the columns `a`, `b` and `similarity`.

    With --against, `a` is an item of the input and `b` one of the other collection.

    Without -o it shows the most similar pairs. -o FILE writes all of them, -o FOLDER also a report (`report.html`).
    `--resume` continues an interrupted run.

    Example: lookalike pairs docs.jsonl --id id -t 0.8 -o pairs.parquet
    """
    if given["engine"] == "spark":
        from lookalike.cli.spark_command import run_on_cluster

        run_on_cluster("pairs", PairsCommand, given)
        return
    overwrite, dry_run, quiet, json = given["overwrite"], given["dry_run"], given["quiet"], given["json"]
    if not quiet:
        WAITING.begin()
    from lookalike.cli import job
    from lookalike.cli.terminal import SHOWN_ROWS, print_json, progress_for, show_table
    from lookalike.wording.printable import spelled

    output = job.path_of(given["output"])
    to_folder = job.check_output(
        output, overwrite=overwrite, dry_run=dry_run, json=json, table=True, folder=True, resume=given["resume"],
        workdir=given["workdir"],
    )  # fmt: skip
    task = job.prepare("pairs", PairsCommand, given)
    from lookalike.engines.local.result_tables import most_similar
    from lookalike.runs.results import Pairs

    done = job.carry_out(task, given, Pairs, to_folder=to_folder)
    if done is None:
        return
    result, report = done
    found = result.found
    if output is not None and not dry_run and not to_folder:
        result.save(output, overwrite=overwrite, progress=progress_for(quiet))
    elif output is None and not json and not dry_run:
        title = "the nearest pairs" if found.config.scale.is_distance else "the most similar pairs"
        show_table(most_similar(found, SHOWN_ROWS), title=title, of=len(result))
    if json:
        print_json(report | {"seconds": elapsed(), "output": spelled(str(output)) if output else None})
    at = "of identical items" if given["exact"] else f"at {job.limit_words(found)}"
    headline = f"{counted(len(result), 'pair')} {at} among {counted(found.counts.items, 'item')}"
    if given["against"]:
        headline += f" and {found.counts.references:,} of the other collection"
    job.summary(found, headline, report, quiet=quiet)
