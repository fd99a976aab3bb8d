"""Running the command line inside the process: the real entry point with real arguments, streams and exit codes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lookalike.cli import main


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line of an error."""
        assert self.code != 0
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("lookalike: ")
        return self.err.removeprefix("lookalike: ").rstrip("\n")


Run = Callable[..., Done]


def without_compiling(err: str) -> str:
    """Standard error without what the first run on a machine says."""
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith("compiling kernels"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """`run("pairs", path, stdin=b"...")` is what the shell would do."""

    def command(*arguments: object, stdin: bytes | None = None) -> Done:
        monkeypatch.setattr(sys, "argv", ["lookalike", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = main.run()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Done(code, out, without_compiling(err))

    return command


WORDS = "one two three four five six seven eight nine ten"
DOCS = [
    {"id": "a", "text": WORDS, "n": 1},
    {"id": "b[/b] :smile:", "text": WORDS.upper(), "n": 2},
    {"id": "c", "text": "something else altogether", "n": 3},
    {"id": "d", "text": WORDS + " eleven", "n": 4},
]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Four documents as JSONL; three of them are alike."""
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in DOCS))
    return path
