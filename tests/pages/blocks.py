"""The code blocks of a page, and what a reader would see who runs them one after the other.

A Python block ends with an expression, and comments below it are its value. Lines of a shell block are commands, and
comments below one are lines that it prints; seconds may differ. A block that cannot run here has a comment before it
that says why: `<!-- not run: needs Spark -->`.
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md", *ROOT.glob("docs/**/*.md")]
}
_BLOCK = re.compile(r"(?:^<!-- not run: ([^\n]*) -->\n+)?^( *)```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\bin [0-9.]+ m?s\b")
# The command of this very package, wherever the shell would look for it.
_LOOKALIKE = f'lookalike() {{ {shlex.quote(sys.executable)} -m lookalike "$@"; }}'
_SHELL = re.compile(r"[<>|;$(]")


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str
    not_run: str | None


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    found = _BLOCK.findall(PAGES[page].read_text(encoding="utf-8"))
    return [Block(language, text, why or None) for why, _, language, text in found]


def run_python(text: str, names: dict[str, Any]) -> None:
    """Run a block, and compare its last value with the comments at its end."""
    body, expected = _parted(text.rstrip().splitlines())
    statements = ast.parse("\n".join(body)).body
    last = statements.pop() if expected and isinstance(statements[-1], ast.Expr) else None
    exec(compile(ast.Module(statements, []), "page", "exec"), names)
    if expected:
        assert last is not None, f"nothing has the value {expected}"
        assert isinstance(last, ast.Expr)
        value = eval(compile(ast.Expression(last.value), "page", "eval"), names)
        assert repr(value).splitlines() == expected, text


def run_shell(text: str, run: Callable[..., Any]) -> None:
    """Run each command of a block, and compare what it prints with the comments below it."""
    lines = text.replace("\\\n", " ").splitlines()
    for at, line in enumerate(lines):
        if not line.strip() or line.startswith("#"):
            continue
        code, told = _command(line, run)
        assert code == 0, f"{line}\n{told}"
        _, expected = _parted(lines[: _next(lines, at)])
        if expected:
            printed = [_plain(each) for each in told.splitlines()]
            wanted = [_plain(each) for each in expected]
            assert any(printed[at : at + len(wanted)] == wanted for at in range(len(printed))), f"{line}\n{told}"


def _command(line: str, run: Callable[..., Any]) -> tuple[int, str]:
    """Its exit code and what it printed: inside this process where it is ours alone, which is far cheaper."""
    words = shlex.split(line, comments=True)
    if words[0] == "lookalike" and not _SHELL.search(line.replace("'", "")):
        done = run(*words[1:])
        return done.code, done.out + done.err
    shell = subprocess.run(["bash", "-c", f"{_LOOKALIKE}\n{line}"], capture_output=True, text=True)
    return shell.returncode, shell.stdout + shell.stderr


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines, and the comments at their end without their marks."""
    end = len(lines)
    while end and lines[end - 1].startswith("#"):
        end -= 1
    return lines[:end], [line[2:] for line in lines[end:]]


def _next(lines: list[str], at: int) -> int:
    """Where the next command begins, or a blank line."""
    after = (i for i in range(at + 1, len(lines)) if not lines[i].startswith("#"))
    return next(after, len(lines))


def _plain(line: str) -> str:
    return _SECONDS.sub("in S s", line).rstrip()
