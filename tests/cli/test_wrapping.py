"""Lines for a terminal: no word and no number in two lines; whole lines elsewhere."""

from __future__ import annotations

import io
import re
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from lookalike.cli import terminal
from lookalike.cli.wrapping import Breakable, shortened, wrapped

SUMMARY = (
    "  found 404 pairs; recall 1 (the audit compared every pair) of the pairs with Jaccard >= 0.8 on word:5; "
    "precision 1 (all verified); no kept item has a near-duplicate left"
)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_words_and_numbers_stay_whole_and_signs_beside_their_numbers(width: int) -> None:
    lines = wrapped(SUMMARY, width).split("\n")
    assert all(len(line) <= width for line in lines)
    assert " ".join(line.strip() for line in lines) == SUMMARY.strip()
    assert not any(line.endswith(">=") for line in lines)
    assert all(line.startswith("  ") for line in lines)


def test_what_stands_behind_a_label_goes_on_below_itself() -> None:
    line = "  why              6 rows a band: 2,458 ns an item against 5,630 with 5 rows (more candidates)"
    first, *rest = wrapped(line, 60).split("\n")
    assert first.startswith("  why              6 rows a band")
    assert all(each.startswith(" " * 19) and each[19] != " " for each in rest)


def test_without_a_terminal_nothing_is_broken() -> None:
    assert wrapped(SUMMARY, None) == SUMMARY
    assert wrapped(SUMMARY, 5) == SUMMARY
    assert wrapped("a\nb", 80) == "a\nb"


@given(st.lists(st.text("ab.,<=>0123456789()%", min_size=1, max_size=12), max_size=40), st.integers(30, 90))
def test_every_word_comes_out_as_it_went_in(words: list[str], width: int) -> None:
    message = " ".join(words)
    out = wrapped(message, width)
    assert out.split() == message.split()
    assert all(len(line) <= width for line in out.split("\n"))


def rendered(cells: list[str], width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    table = Table()
    table.add_column("id")
    table.add_column("similarity", justify="right", no_wrap=True)
    for cell in cells:
        table.add_row(Breakable(cell), Breakable("1.0000"))
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_ids_in_tables_are_broken_after_their_parts() -> None:
    name = "deprecated_GPL-2.0-with-bison-exception"
    lines = rendered([name, "short"], 40)
    cells = [match.group(1).strip() for line in lines if (match := re.match("│(.*?)│", line))]
    assert "".join(cells) == f"{name}short"
    assert all(cell.endswith(("-", "_", ".", "exception", "short")) for cell in cells)
    assert all(len(line) <= 40 for line in lines)


def test_a_part_that_is_too_long_is_broken_all_the_same() -> None:
    lines = rendered(["x" * 100, "\u96f2" * 40], 40)
    assert sum(line.count("x") for line in lines) == 100
    assert sum(line.count("\u96f2") for line in lines) == 40
    assert all(cell_len(line) <= 40 for line in lines)


def test_a_table_with_room_has_one_line_a_row() -> None:
    assert sum("crawl/part-0001.jsonl" in line for line in rendered(["crawl/part-0001.jsonl"], 80)) == 1


@pytest.mark.parametrize(
    ("text", "width", "out"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two …"),
        ("one two three", 10, "one two …"),
        ("abcdefghijklmnop", 10, "abcdefgh…"),
        ("\u96f2" * 10, 10, "\u96f2" * 4 + "…"),
    ],
)
def test_a_text_is_cut_at_the_end_of_a_word(text: str, width: int, out: str) -> None:
    assert shortened(text, width) == out
    assert cell_len(shortened(text, width)) <= width


def test_messages_are_wrapped_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal.say(SUMMARY)
    assert capsys.readouterr().err == f"{SUMMARY}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    terminal.say(SUMMARY)
    assert max(map(len, capsys.readouterr().err.splitlines())) <= 60


def test_brackets_and_colons_in_cells_are_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    terminal.show_table(pa.table({"id": ["[bold]x[/] :smile:"], "similarity": [0.5]}), title="ids")
    assert "[bold]x[/] :smile:" in capsys.readouterr().out


def test_texts_in_tables_are_shown_without_their_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table = pa.table({"id": ["a\nb", "c"], "similarity": [0.5, 0.4], "text": ["one\n\n  two", None]})
    terminal.show_table(table, title="texts")
    shown = capsys.readouterr().out
    assert "one two" in shown and "a\\nb" in shown and "–" in shown
