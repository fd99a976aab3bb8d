"""Two texts side by side, what they share in one colour, what differs in another.

Lines are aligned as `diff` would. Long runs of equal lines are cut to a little context. Without colour, what differs
stands in ‹ ›.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookalike.wording.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from lookalike.types import BoolArray

__all__ = ["print_side_by_side"]

_CONTEXT = 2
_MOST_LINES = 5000


@dataclass(frozen=True, slots=True)
class _Line:
    text: bytes
    shared: BoolArray


def print_side_by_side(
    console: Console,
    names: tuple[str, str],
    texts: tuple[bytes, bytes],
    shared: tuple[BoolArray, BoolArray],
    *,
    rows: int = 24,
) -> None:
    """Print up to `rows` aligned lines of the two texts."""
    from rich.table import Table
    from rich.text import Text

    left, right = _lines(texts[0], shared[0]), _lines(texts[1], shared[1])
    table = Table(show_lines=False, header_style="bold", expand=True, padding=(0, 1))
    for name in names:
        table.add_column(Text(printable(name), overflow="ellipsis"), ratio=1, overflow="fold")
    aligned = list(_align(left, right))
    for pair in aligned[:rows]:
        table.add_row(*(_cell(line, plain=not console.color_system) for line in pair))
    console.print(table)
    legend = Text("shared", style="green") + Text(" · ") + Text("not shared", style="bold red")
    if not console.color_system:
        legend = Text("‹…› is not shared")
    if len(aligned) > rows:
        legend += Text(f" · {len(aligned) - rows:,} more lines")
    console.print(legend)


def _lines(text: bytes, shared: BoolArray) -> list[_Line]:
    lines, at = [], 0
    for line in text.split(b"\n")[:_MOST_LINES]:
        lines.append(_Line(line.rstrip(), shared[at : at + len(line.rstrip())]))
        at += len(line) + 1
    return lines


def _align(left: list[_Line], right: list[_Line]) -> Iterator[tuple[_Line | str | None, _Line | str | None]]:
    """Pairs of lines; None where one side has none; equal stretches shortened to their ends."""
    matcher = difflib.SequenceMatcher(None, [x.text for x in left], [x.text for x in right], autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal" and i_end - i > 2 * _CONTEXT + 1:
            head, tail = _CONTEXT, _CONTEXT
            yield from zip(left[i : i + head], right[j : j + head], strict=True)
            skipped = i_end - i - head - tail
            yield (f"⋯ {skipped} equal lines", f"⋯ {skipped} equal lines")
            yield from zip(left[i_end - tail : i_end], right[j_end - tail : j_end], strict=True)
            continue
        for n in range(max(i_end - i, j_end - j)):
            yield (left[i + n] if i + n < i_end else None, right[j + n] if j + n < j_end else None)


def _cell(line: _Line | str | None, *, plain: bool) -> Text:
    from rich.text import Text

    if line is None:
        return Text("")
    if isinstance(line, str):
        return Text(line, style="dim")
    cell = Text()
    at = 0
    while at < len(line.text):
        end = at
        while end < len(line.text) and line.shared[end] == line.shared[at]:
            end += 1
        piece = printable(line.text[at:end].decode("utf-8", "replace"), keep="\t")
        if line.shared[at]:
            cell.append(piece, style="green")
        elif piece.strip() and plain:
            cell.append(f"‹{piece}›")
        else:
            cell.append(piece, style="bold red")
        at = end
    return cell
