"""What a person sees: progress bars and one-line summaries on standard error, tables on standard output.

What comes from the input (ids, names, texts) passes `printable` before it is printed.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lookalike.cli.waiting import WAITING
from lookalike.cli.wrapping import Breakable, on_standard_error, wrapped
from lookalike.wording.printable import printable
from lookalike.wording.progress import SILENT, Progress, Stage

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

__all__ = ["SHOWN_ROWS", "announce_compiling", "out", "print_json", "progress_for", "say", "show_table"]

# A table on the screen shows this many rows; -o has them all.
SHOWN_ROWS = 20

# Characters of a cell that are shown of a text.
_MOST_SHOWN = 300

# Columns with texts of items.
_TEXTS = frozenset({"text", "text_a", "text_b", "kept_text"})

# A bar appears only when nothing has been seen for this long, and its stage has taken a moment.
_PATIENCE, _LEAST_PATIENCE = 0.7, 0.15


def _console(stderr: bool) -> Console:
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to `main`, for which `| head` is no error; rich would exit with 1."""
            raise BrokenPipeError

    return Piped(stderr=stderr, highlight=False)


def out() -> Console:
    """Standard output."""
    WAITING.end()
    return _console(stderr=False)


def say(message: str, *, quiet: bool = False) -> None:
    """A line for people on standard error."""
    if not quiet:
        on_standard_error(printable(message))


def print_json(data: Any) -> None:
    """Data for scripts on standard output, exact whatever its encoding is."""
    WAITING.end()
    plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    sys.stdout.write(json.dumps(data, ensure_ascii=plain, indent=2) + "\n")


def announce_compiling(quiet: bool) -> None:
    """Say it when kernels must be compiled: that takes seconds, once on a machine for each kind of items and measure.

    Measured from nothing, CPU time on 2 cores of an AMD EPYC: bits 2 s, vectors 7, words 13, characters 20.
    """
    from lookalike.kernels.cache import on_note
    from lookalike.kernels.jit import on_compile

    if not quiet:
        on_note(say)
        on_compile(lambda: say("compiling kernels, once on this machine for this kind of run (5 to 20 seconds) …"))


class _Bar(Stage):
    def __init__(self, bars: Any, task: Any) -> None:
        self._bars, self._task = bars, task

    def advance(self, amount: float = 1) -> None:
        self._bars.advance(self._task, amount)


class _Bars(Progress):
    """One rich bar a stage, with rate and time left."""

    def note(self, message: str) -> None:
        say(message)

    @contextmanager
    def stage(self, name: str, total: float | None = None, unit: str = "items") -> Iterator[Stage]:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%" if total else ""),
            _rate_column(unit),
            TimeElapsedColumn(),
            *([TextColumn("left"), TimeRemainingColumn()] if total else []),
        ]
        # Stages before it that were too short to be seen count.
        left = min(_PATIENCE, max(_LEAST_PATIENCE, _PATIENCE - WAITING.unseen()))
        at_once = WAITING.end()
        try:
            with Bars(*columns, console=_console(stderr=True), transient=True) as bars:
                task = bars.add_task(name, total=total, visible=at_once)
                patience = threading.Timer(left, bars.update, [task], {"visible": True})
                patience.start()
                try:
                    yield _Bar(bars, task)
                finally:
                    patience.cancel()
                    if bars.tasks[0].visible:
                        WAITING.seen()
        finally:
            WAITING.begin()


def _rate_column(unit: str) -> Any:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.speed or 0.0
            return Text(f"{speed / 1e6:,.0f} MB/s" if unit == "B" else f"{speed:,.0f} {unit}/s")

    return Rate()


def progress_for(quiet: bool) -> Progress:
    """Bars on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        return SILENT
    WAITING.begin()
    return _Bars()


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        text = printable(str(value)[: _MOST_SHOWN + 1])
        return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    # A small distance is not 0.
    return f"{value:.4f}" if value >= 0.01 or value == 0.0 else f"{value:.4g}"


def show_table(
    table: pa.Table, *, title: str, rows: int = SHOWN_ROWS, of: int | None = None, whole: str = "-o FILE"
) -> None:
    """The first rows of a table on standard output, and how many more there are; `of` all if it is not the whole.

    `whole` is the option that writes all of it.
    """
    import pyarrow as pa
    from rich.table import Table
    from rich.text import Text

    from lookalike.io.writing.tabular import first_rows

    console = out()
    if table.num_rows == 0:
        return
    # A title of the table itself would be folded to the table's width.
    width = console.width if console.is_terminal else None
    console.print(Text(wrapped(printable(title), width), style="italic"), soft_wrap=True)
    shown = Table(header_style="bold")
    for field in table.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        shown.add_column(field.name, justify="right" if number else "left", no_wrap=number)
    texts = _TEXTS.intersection(table.schema.names)
    for row in first_rows(table, rows).to_pylist():
        # Of a text the words are shown; its lines have no room.
        row |= {name: " ".join(row[name][: 4 * _MOST_SHOWN].split()) for name in texts if row[name] is not None}
        # Not as they are, because brackets and colons in an id are no markup.
        shown.add_row(*(Breakable(_cell(value)) for value in row.values()))
    console.print(shown)
    total = table.num_rows if of is None else of
    if total > rows:
        console.print(f"… and {total - rows:,} more; {whole} writes them all")
