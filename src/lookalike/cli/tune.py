"""`lookalike tune`: which shingle and threshold suit a collection."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Unpack

from lookalike.cli.command_options import TuneCommand, command, typed
from lookalike.cli.waiting import WAITING
from lookalike.options import TuneOptions
from lookalike.options.option_table import checked, entries

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lookalike.tuning.tuner import Trial, Tuning

__all__ = ["tune"]

_BARS = 20
_WIDTH = 40
# Columns before a text.
_SCORE = 8


@command(TuneCommand)
def tune(**given: Unpack[TuneCommand]) -> None:
    """Propose a shingle and a threshold for a collection, say why, and show pairs of all similarities.

    With --truth it reports precision, recall and F1, and proposes the best threshold.

    -o writes the pairs that it shows, with their texts; --report writes a page with everything.

    Example: lookalike tune records.jsonl --id id --truth gold.tsv
    """
    overwrite, quiet, json = given["overwrite"], given["quiet"], given["json"]
    plot, report = given["plot"], given["report"]
    if not quiet:
        WAITING.begin()
    from lookalike.cli import job
    from lookalike.cli.terminal import announce_compiling, out, print_json, progress_for, say
    from lookalike.config import default_memory
    from lookalike.errors import OptionError, OutputError
    from lookalike.io import check_delimiter
    from lookalike.io.copying.apart import Inputs
    from lookalike.io.input_options import InputOptions, open_inputs
    from lookalike.tuning.tuner import TUNED_ROWS, find_tuning

    if plot is not None and plot.suffix != ".svg":
        raise OptionError(f"plot is {plot}: the picture must end in .svg")
    if report is not None and report.suffix != ".html":
        raise OptionError(f"report is {report}: the page must end in .html")
    for written in (plot, report):
        if written is not None and written.exists() and not overwrite:
            raise OutputError(f"{written} exists; use --overwrite to replace it")
    output = job.path_of(given["output"])
    job.check_output(output, overwrite=overwrite, dry_run=False, json=json, table=True)
    announce_compiling(quiet)
    values = checked(TuneCommand, given)
    images, inputs, against = values["images"] or [], values["inputs"] or [], values["against"] or []
    reading = InputOptions(
        format=values["format"], delimiter=values["delimiter"], skip_bad=values["skip_bad"],
        limit=values["limit"] or TUNED_ROWS, images=bool(images),
        features=values["features"], size=values["size"], threads=values["threads"] or os.cpu_count() or 1,
        memory=default_memory(),
    )  # fmt: skip
    job.check_inputs(inputs, images)
    source = open_inputs([*inputs, *images], reading)
    other = open_inputs(against, reading) if against else None
    check_delimiter(values["delimiter"], source, other)
    truth = [values["truth"]] if values["truth"] is not None else []
    files = [*source.files, *(other.files if other is not None else ()), *truth]
    for written in (output, plot, report):
        job.refuse_nested(Inputs([*inputs, *images, *against, *truth], files), Inputs(), written, None)
    wanted = {name: typed(values[name]) for name in entries(TuneOptions) if name in values}
    found = find_tuning(source, other, wanted, progress_for(quiet))
    if output is not None:
        found.save(output, overwrite=overwrite)
    if plot is not None:
        from lookalike.io.writing.atomic import atomic_file
        from lookalike.tuning.picture import svg

        with atomic_file(plot, overwrite=overwrite) as part:
            part.write_text(svg(found), encoding="utf-8")
    if report is not None:
        found.write_report(report, overwrite=overwrite)
    if json:
        print_json(found.report)
    elif output is None or str(output) != "-":
        _show(out(), found)
    say(found.headline, quiet=quiet)
    say(f"  {found.reason}", quiet=quiet)
    for note in found.notes:
        say(f"  {note}", quiet=quiet)


def _show(console: Console, found: Tuning) -> None:
    """What was tried, how alike the nearest are, and pairs."""
    from rich.text import Text

    from lookalike.cli.wrapping import shortened, tell
    from lookalike.wording.phrases import counted
    from lookalike.wording.printable import printable

    held = "all" if found.sampled == found.items else f"{found.sampled:,} of them"
    words = "" if found.words is None else f"; a median of {found.words:,.0f} different words"
    tell(console, f"{counted(found.items, found.noun)}, {held} compared with all others{words}")
    console.print(_tried(found))
    console.print(Text(f"similarity of each {found.noun} to its nearest", style="italic"))
    for line in _bars(found.trial, found.threshold):
        console.print(Text(line))
    if found.pairs.num_rows:
        console.print(Text("pairs, most similar first", style="italic"))
    matched = True
    for row in found.pairs.to_pylist():
        if matched and row["similarity"] < found.threshold:
            console.print(Text(f"{'─' * 8} below {found.threshold:.2f}"))
            matched = False
        for score, end in ((f"{row['similarity']:.2f}", "a"), ("", "b")):
            text = f"{printable(str(row[end]))}: {printable(row[f'item_{end}'])}"
            console.print(Text(f"{score:>6}  {shortened(text, console.width - _SCORE)}"), no_wrap=True, crop=True)


def _tried(found: Tuning) -> Table:
    """A row for each shingle."""
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    columns = ["shingle", "proposed", "matched", "at random"]
    if found.truth is not None:
        columns += ["F1", "best possible", "F1"]
    for name in columns:
        table.add_column(name, justify="left" if name == "shingle" else "right", no_wrap=True)
    for number, trial in enumerate(found.trials):
        cells = [trial.shingle or "–", f"{trial.proposal.threshold:.2f}", f"{trial.matched:.0%}", f"{trial.alike:.2f}"]
        best, proposed = trial.best, trial.proposed
        if best is not None and proposed is not None:
            cells += [f"{proposed.f1:.3f}", f"{best.threshold:.2f}", f"{best.f1:.3f}"]
        table.add_row(*(Text(cell) for cell in cells), style="bold" if number == found.chosen else None)
    return table


def _bars(trial: Trial, threshold: float) -> list[str]:
    """A histogram of the nearest, from high to low, with a mark where the threshold is."""
    import numpy as np

    counts = np.histogram(trial.nearest, _BARS, (0.0, 1.0))[0]
    most = max(1, int(counts.max()))
    lines = []
    for number in range(_BARS - 1, -1, -1):
        low, count = number / _BARS, int(counts[number])
        mark = " ◂" if low <= threshold < low + 1 / _BARS else ""
        lines.append(f"  {low:.2f}  {'█' * round(_WIDTH * count / most) or ('▏' if count else '')} {count:,}{mark}")
    return lines
