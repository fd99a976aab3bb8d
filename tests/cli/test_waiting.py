"""The line that is there while nothing else is: on a terminal, and gone before anything is written."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest

from lookalike.cli import terminal, waiting
from lookalike.cli.waiting import WaitingLine


class Screen(io.StringIO):
    """A terminal that remembers what it got."""

    def isatty(self) -> bool:
        return True

    @property
    def line(self) -> str:
        """What stands in the last line."""
        return self.getvalue().rpartition("\n")[2].rpartition("\x1b[2K")[2]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(waiting, "_PATIENCE", 0.02)
    monkeypatch.setattr(waiting, "_EVERY", 0.01)
    return screen


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


def test_a_line_appears_when_nothing_is_seen_and_leaves_nothing(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", screen)  # here, since pytest sets its own when a test begins
    line = WaitingLine()
    line.begin()
    assert until(lambda: screen.line.startswith("working, "))
    assert line.end()
    assert screen.line == ""
    before = screen.getvalue()
    time.sleep(0.1)
    assert screen.getvalue() == before
    assert not line.end()


def test_what_is_written_aside_has_a_line_of_its_own(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen)  # here, since pytest sets its own when a test begins
    line = WaitingLine()
    line.begin()
    assert until(lambda: "working" in screen.line)
    with line.aside():
        screen.write("something to say\n")
    assert "\x1b[2Ksomething to say\n" in screen.getvalue()
    assert until(lambda: "working" in screen.line)
    line.end()


def test_what_was_seen_just_now_puts_it_off(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen)  # here, since pytest sets its own when a test begins
    monkeypatch.setattr(waiting, "_PATIENCE", 60.0)
    line = WaitingLine()
    line.seen()
    line.begin()
    time.sleep(0.1)
    assert screen.getvalue() == ""
    assert line.unseen() < 30
    line.end()


@pytest.mark.parametrize("why", ["no terminal", "dumb", "results go there"])
def test_elsewhere_there_is_never_a_line(screen: Screen, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr(sys, "stderr", screen)  # here, since pytest sets its own when a test begins
    line = WaitingLine()
    if why == "no terminal":
        monkeypatch.setattr(screen, "isatty", lambda: False)
    elif why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    else:
        line.leave_alone()
    line.begin()
    time.sleep(0.1)
    assert screen.getvalue() == ""
    line.end()


def test_a_stage_takes_its_place_and_gives_it_back(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen)  # here, since pytest sets its own when a test begins
    line = WaitingLine()
    monkeypatch.setattr(terminal, "WAITING", line)
    progress = terminal.progress_for(quiet=False)
    assert until(lambda: "working" in screen.line)
    with progress.stage("reading", 10):
        # What had to wait before is seen at once.
        assert until(lambda: "reading" in screen.getvalue())
        assert "working" not in screen.getvalue().rpartition("reading")[2]
    assert until(lambda: "working" in screen.getvalue().rpartition("reading")[2])
    line.end()
