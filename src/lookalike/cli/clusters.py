"""`lookalike clusters`: groups of similar items."""

from __future__ import annotations

from typing import Unpack

from lookalike.cli.command_options import ClustersCommand, command
from lookalike.cli.stopwatch import elapsed
from lookalike.cli.waiting import WAITING
from lookalike.wording.phrases import counted

__all__ = ["clusters"]


@command(ClustersCommand)
def clusters(**given: Unpack[ClustersCommand]) -> None:
    """Group similar items: `cluster`, `size`, `id`, `kept` (its representative) and `similarity` to that.

    Without -o it shows the largest clusters. -o FILE writes all of them, -o FOLDER also a report (`report.html`).
    `--resume` continues an interrupted run.

    Example: lookalike clusters news.parquet --id url --keep longest -o clusters.parquet
    """
    if given["engine"] == "spark":
        from lookalike.cli.spark_command import run_on_cluster

        run_on_cluster("clusters", ClustersCommand, given)
        return
    overwrite, dry_run, quiet, json = given["overwrite"], given["dry_run"], given["quiet"], given["json"]
    if not quiet:
        WAITING.begin()
    from lookalike.cli import job
    from lookalike.cli.terminal import print_json, show_table
    from lookalike.wording.printable import spelled

    output = job.path_of(given["output"])
    to_folder = job.check_output(
        output, overwrite=overwrite, dry_run=dry_run, json=json, table=True, folder=True, resume=given["resume"],
        workdir=given["workdir"],
    )  # fmt: skip
    task = job.prepare("clusters", ClustersCommand, given)
    from lookalike.runs.results import Clusters

    done = job.carry_out(task, given, Clusters, to_folder=to_folder)
    if done is None:
        return
    result, report = done
    found = result.found
    if output is not None and not dry_run and not to_folder:
        result.save(output, overwrite=overwrite)
    elif output is None and not json and not dry_run:
        scale = found.config.scale
        nearest = (scale.column, "ascending" if scale.is_distance else "descending")
        by_size = result.table.sort_by([("size", "descending"), ("cluster", "ascending"), nearest])
        show_table(by_size, title="the largest clusters")
    if json:
        data = {"clusters": len(result), "seconds": elapsed(), "output": spelled(str(output)) if output else None}
        print_json(report | data)
    items = f"{result.table.num_rows:,} among {counted(found.counts.items, 'item')}"
    headline = f"{counted(len(result), 'cluster')} of {items}{job.by_measure(found)}"
    job.summary(found, headline, report, quiet=quiet)
