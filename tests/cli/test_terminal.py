"""What a person sees on the terminal: bars, lines, tables; and what ends a command early."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lookalike.cli import job, terminal
from lookalike.kernels import jit
from lookalike.wording.progress import SILENT, Progress
from tests.cli.conftest import Run


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Progress:
    """The bars of a terminal that is colour-blind and 120 columns wide; a bar appears at once."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    return terminal.progress_for(quiet=False)


def test_a_bar_shows_the_stage_the_share_and_the_rate(bars: Progress, capfd: pytest.CaptureFixture[str]) -> None:
    with bars.stage("reading", 4e6, "B") as stage:
        stage.advance(1e6)
        stage.advance(1e6)
    shown = capfd.readouterr().err
    assert "reading" in shown
    assert "50%" in shown
    assert "MB/s" in shown
    assert "left" in shown


def test_a_stage_without_a_known_end_shows_its_rate(bars: Progress, capfd: pytest.CaptureFixture[str]) -> None:
    with bars.stage("comparing", None, "pairs") as stage:
        stage.advance(10)
        stage.advance(10)
    shown = capfd.readouterr().err
    assert "pairs/s" in shown
    assert "%" not in shown


def test_a_short_stage_shows_no_bar(
    bars: Progress, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_PATIENCE", 60.0)
    with bars.stage("reading", 2, "items") as stage:
        stage.advance()
    assert "reading" not in capfd.readouterr().err


def test_there_are_no_bars_without_a_terminal_or_when_asked_for_quiet(bars: Progress) -> None:
    assert bars is not SILENT
    assert terminal.progress_for(quiet=True) is SILENT
    with SILENT.stage("nothing") as stage:
        stage.advance()


def test_compiling_is_announced_unless_asked_for_quiet(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    listeners: list[Any] = []
    monkeypatch.setattr(jit, "_listeners", listeners)
    terminal.announce_compiling(quiet=True)
    assert listeners == []
    terminal.announce_compiling(quiet=False)
    listeners[0]()
    assert capfd.readouterr().err.startswith("compiling kernels, once on this machine for this kind of run")


def test_an_interruption_is_one_line_and_its_own_exit_code(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupting.py").write_text(
        "import os, signal\n\n\ndef tokens(text):\n    os.kill(os.getpid(), signal.SIGINT)\n    return text.split()\n"
    )
    monkeypatch.chdir(tmp_path)
    done = run("pairs", docs, "--tokens", "interrupting:tokens", "--threads", "1", "-o", "out.csv")
    assert (done.code, done.error) == (130, "interrupted; no incomplete output is kept")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (MemoryError(), 1, "lookalike: not enough memory\n"),
        (OSError(5, "Input/output error", "disk.parquet"), 1, "lookalike: Input/output error: disk.parquet\n"),
        (OSError("no reason"), 1, "lookalike: no reason\n"),
    ],
)
def test_what_the_system_refuses_is_one_line(
    run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, line: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(job, "summary", refuse)
    done = run("pairs", docs, "--dry-run")
    assert (done.code, done.err) == (code, line)


def test_a_closed_pipe_is_no_error(docs: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for arguments in (["plan"], ["pairs", docs], ["dedup", docs, "-o", "-", "-q"]):
        done = subprocess.run(
            [sys.executable, "-m", "lookalike.cli.main", *arguments], stdout=writer, stderr=subprocess.PIPE, check=False
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert b"lookalike:" not in done.stderr
    os.close(writer)
