"""Lines for a terminal: broken between words, so that no word and no number is in two lines.

Only on a terminal. What goes to a file or a pipe keeps its lines, for scripts that look for something in them.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
from typing import TYPE_CHECKING, TextIO

from lookalike.cli.waiting import WAITING
from lookalike.wording.breaks import NAME_BREAKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement

__all__ = ["Breakable", "on_standard_error", "shortened", "tell", "width_of", "wrapped"]

# A label and what it says: "  memory           152 bytes an item".
_LABEL = re.compile(r"\s*\S+(?: \S+)*?\s{2,}(?=\S)")
# A sign stays with its number.
_SIGN = re.compile(r"(?<=[<>]=) (?=\S)|(?<= [=<>]) (?=\d)")
_HANGING = 2
# A width at which there is no use in wrapping.
_LEAST = 30


def width_of(stream: TextIO) -> int | None:
    """How many columns a terminal has; None for what is none."""
    if not stream.isatty():
        return None
    with contextlib.suppress(ValueError):
        return int(os.environ.get("COLUMNS", ""))
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return None


def wrapped(message: str, width: int | None) -> str:
    """The lines of a message broken between words, the rest of each below its beginning, or below what it says."""
    if width is None or width < _LEAST:
        return message
    return "\n".join(_wrapped(line, width) for line in message.split("\n"))


def _wrapped(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    label = _LABEL.match(line)
    indent = len(label.group()) if label else len(line) - len(line.lstrip()) + _HANGING
    if indent > width // 2:
        indent = _HANGING
    bound = _SIGN.sub("\xa0", line)
    lines = textwrap.wrap(
        bound, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False,
        expand_tabs=False, replace_whitespace=False,
    )  # fmt: skip
    return "\n".join(lines).replace("\xa0", " ")


def tell(console: Console, message: str) -> None:
    """Print a message without any markup, its lines broken between words on a terminal."""
    width = console.width if console.is_terminal else None
    console.print(wrapped(message, width), soft_wrap=True, markup=False, highlight=False)


def shortened(text: str, width: int) -> str:
    """The text if it has room, or its beginning up to the end of a word, with a sign that there is more."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    cut = set_cell_size(text, max(0, width - 2)).rstrip()
    whole = cut if text[len(cut) : len(cut) + 1].isspace() else cut.rpartition(" ")[0]
    # In a script without spaces, or a very long word, the end of a word is too far away.
    return f"{whole.rstrip()} …" if cell_len(whole) >= width // 2 else f"{cut}…"


class Breakable:
    """A cell of a table with an id or a text: broken after the parts of a name, and elsewhere only if it must be."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces = [piece for line in text.split("\n") for piece in NAME_BREAKS.split(line)]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.cells import cell_len
        from rich.measure import Measurement

        longest = max(cell_len(piece.rstrip()) for piece in self._pieces)
        whole = max(cell_len(line) for line in self._text.split("\n"))
        return Measurement(min(longest, options.max_width), min(whole, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text("\n".join(self._lines(options.max_width)), no_wrap=True, overflow="fold")

    def _lines(self, width: int) -> Iterator[str]:
        from rich.cells import cell_len, chop_cells

        for line in self._text.split("\n"):
            held = ""
            for piece in NAME_BREAKS.split(line):
                if cell_len(held + piece.rstrip()) <= width:
                    held += piece
                    continue
                if held:
                    yield held.rstrip()
                *whole, held = chop_cells(piece, width) if cell_len(piece.rstrip()) > width else [piece]
                yield from whole
            yield held.rstrip()


def on_standard_error(message: str) -> None:
    """Print a message on standard error, its lines broken between words on a terminal."""
    # Not through rich, which takes 15 ms to load; on a terminal its bars make room for others.
    with WAITING.aside():
        print(wrapped(message, width_of(sys.stderr)), file=sys.stderr)  # noqa: T201
