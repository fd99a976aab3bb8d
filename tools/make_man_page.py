"""Write the manual page, `docs/lookalike.1`, from the table of options and the texts of the commands.

    python -m tools.make_man_page

A wheel has it in share/man/man1, where `man lookalike` finds it if the environment's bin is on the path. It is in the
man macros of groff and mandoc, without a date: the same options give the same bytes.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from lookalike import __version__
from lookalike.cli import command_options
from lookalike.cli.command_options import ARGUMENTS
from lookalike.cli.index_commands import index_commands
from lookalike.cli.main import COMMANDS
from lookalike.options.option_table import Entry, entries, without_none

PAGE = Path(__file__).resolve().parents[1] / "docs" / "lookalike.1"
# What stands for a value of which nothing else is said.
_VALUES: dict[Any, str] = {int: "N", float: "X", Path: "PATH", str: "TEXT", list[str]: "TEXT"}


def escaped(text: str) -> str:
    """Text that roff takes as it is."""
    for plain, known in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(plain, known)
    # A line that begins with a dot would be a request.
    return re.sub(r"(?m)^\.", r"\\&.", text)


def bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fP"


def prose(text: str) -> str:
    """A text in which `code` becomes bold."""
    return "".join(bold(part) if odd else escaped(part) for odd, part in _by_turns(text.split("`")))


def _by_turns(parts: list[str]) -> list[tuple[int, str]]:
    return [(number % 2, part) for number, part in enumerate(parts)]


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring; lines of code keep their shape."""
    out = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("    "):
            out += [".PP", ".nf", *(escaped(line) for line in part.splitlines()), ".fi"]
        elif part.startswith("Example: "):
            out += [".PP", "Example:", ".PP", ".RS 4", bold(" ".join(part.removeprefix("Example: ").split())), ".RE"]
        else:
            out += [".PP", prose(" ".join(part.split()))]
    return out


def value_of(entry: Entry) -> str:
    """What stands for the value of an option; nothing for a flag."""
    kind = without_none(entry.type if entry.option.typed is ... else entry.option.typed)
    if kind is bool:
        return ""
    if entry.option.metavar:
        return entry.option.metavar
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else _VALUES[kind]


def spelled(entry: Entry) -> str:
    """An option as it is typed, with what stands for its value."""
    long, short, value = f"--{entry.name.replace('_', '-')}", entry.option.short, value_of(entry)
    names = [short] if short and len(entry.name) == 1 else [each for each in (short, long) if each]
    told = ", ".join(bold(name) for name in names)
    return f"{told} \\fI{escaped(value)}\\fP" if value else told


def described(entry: Entry) -> str:
    """What an option means, with its default."""
    option = entry.option
    text = f"{option.meaning} {option.on_command}".strip()
    unsaid = option.default is None or option.default is False or option.default is ...
    usual = f"{option.default:g}" if isinstance(option.default, float) else str(option.default)
    default = option.stands_for or ("" if unsaid else usual)
    more = [f"default {default}"] if default else []
    more += [f"from the environment: {option.envvar}"] if option.envvar else []
    return prose(f"{text} ({'; '.join(more)})" if more else text)


def command(name: str, function: Any, table: Any) -> list[str]:
    """The section of a command."""
    shown = [entry for entry in entries(table).values() if entry.option.typed is not None]
    arguments = [entry for entry in shown if entry.name in ARGUMENTS]
    line = " ".join(f"\\fI{escaped(entry.option.metavar or entry.name.upper())}\\fP" for entry in arguments)
    out = [f".SS {escaped(name)}", f"{bold(f'lookalike {name}')} [\\fIOPTIONS\\fP] {line}".rstrip()]
    out += paragraphs(function.__doc__)
    for entry in arguments:
        out += [".TP", f"\\fI{escaped(entry.option.metavar or entry.name.upper())}\\fP", described(entry)]
    for entry in shown:
        if entry not in arguments:
            out += [".TP", spelled(entry), described(entry)]
    return out


def commands() -> list[tuple[str, Any, Any]]:
    """(name, function, table) of all commands, those of the index among them."""
    found = []
    for name in COMMANDS:
        if name == "index":
            for each in index_commands().registered_commands:
                word = each.name or ""
                table = getattr(command_options, f"Index{word.capitalize()}Command")
                found.append((f"index {word}", each.callback, table))
        else:
            function = getattr(import_module(f"lookalike.cli.{name}"), name)
            found.append((name, function, getattr(command_options, f"{name.capitalize()}Command")))
    return found


def page() -> str:
    """The page."""
    lines = [
        f'.TH LOOKALIKE 1 "" "lookalike {__version__}" "User Commands"',
        # Neither hyphens in the middle of words nor gaps between them.
        ".nh",
        ".ad l",
        ".SH NAME",
        "lookalike \\- find similar items: near\\-duplicates, similar pairs, clusters, neighbours",
        ".SH SYNOPSIS",
        f"{bold('lookalike')} \\fICOMMAND\\fP [\\fIOPTIONS\\fP] [\\fIFILE\\fP...]",
        ".SH DESCRIPTION",
        prose(
            "Finds items that are alike, by locality-sensitive hashing, and compares what it finds exactly. Items are "
            "texts, sets, bags, vectors, strings of bits or pictures, in files of Parquet, JSONL, CSV, Arrow, npy or "
            "plain text, also compressed. Start with `lookalike demo`."
        ),
        ".SH COMMANDS",
    ]
    for each in commands():
        lines += command(*each)
    lines += [
        ".SH OPTIONS OF ALL COMMANDS",
        ".TP",
        f"{bold('-h')}, {bold('--help')}",
        "Show the help of a command and exit.",
        ".TP",
        bold("--version"),
        "Print the version and exit.",
        ".TP",
        f"{bold('--install-completion')}, {bold('--show-completion')}",
        "Let the shell complete commands, options and their values; or show the script for it.",
        ".SH EXIT STATUS",
    ]
    for code, meaning in (
        ("0", "Done."),
        ("1", "The input or the output is at fault."),
        ("2", "An option is at fault."),
        ("130", "Interrupted; 128 + N where signal N ended it."),
    ):
        lines += [".TP", bold(code), meaning]
    lines += [
        ".SH FILES",
        ".TP",
        f"\\fI{escaped('~/.cache/lookalike')}\\fP",
        prose("Compiled kernels, which outlive an upgrade; `NUMBA_CACHE_DIR` names another place."),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
