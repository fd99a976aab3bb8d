"""`lookalike report`: the page of a finished run, made again."""

from __future__ import annotations

from typing import Unpack

from lookalike.cli.command_options import ReportCommand, command

__all__ = ["report"]


@command(ReportCommand)
def report(**given: Unpack[ReportCommand]) -> None:
    """Write the report (report.html) of a finished run again.

    Without -o it takes its place in the folder.

    Example: lookalike report run -o report.html
    """
    import sys

    from lookalike.cli.terminal import print_json, say
    from lookalike.runs.opened_run import Run

    run, output = Run.open(given["run"]), given["output"]
    if given["json"]:
        print_json(run.report)
        return
    if str(output) == "-":
        sys.stdout.write(run.page())
        return
    say(f"wrote {run.write_report(output, overwrite=given['overwrite'])}", quiet=given["quiet"])
