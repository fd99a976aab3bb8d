"""Write `docs/reference/`: the public names, the commands and the options, from docstrings and tables of the code.

Run it in the repository's root after a docstring or an option has changed:

    python -m tools.make_reference
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

import lookalike
from lookalike import options as tables
from lookalike.cli import command_options
from lookalike.cli.main import app
from lookalike.options.option_table import (
    CLUSTER,
    EXPERT,
    LARGE,
    MATCHING,
    READING,
    Entry,
    documentation,
    entries,
    type_words,
)

__all__ = ["main", "pages"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"

# What a reader looks for first.
_ORDER = ("dedup", "pairs", "clusters", "neighbors", "tune", "plan", "edges", "images")
_VERBS = {
    "dedup": tables.DedupOptions,
    "pairs": tables.PairsOptions,
    "clusters": tables.ClustersOptions,
    "neighbors": tables.NeighborsOptions,
    "tune": tables.TuneOptions,
    "Index.build": tables.IndexBuildOptions,
    "Index.add_collection": tables.CollectionOptions,
    "plan": tables.PlanOptions,
}
_PANELS = ("General", MATCHING, READING, LARGE, CLUSTER, EXPERT)
_COMMANDS = {
    "dedup": command_options.DedupCommand,
    "pairs": command_options.PairsCommand,
    "clusters": command_options.ClustersCommand,
    "neighbors": command_options.NeighborsCommand,
    "tune": command_options.TuneCommand,
}


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    return {"python.md": _python(), "commands.md": _commands(), "options.md": _options()}


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _options() -> str:
    """Every option of the verbs, panel by panel, with what it means to each of them."""
    panels: dict[str, dict[str, list[tuple[str, Entry]]]] = {}
    of: dict[str, str] = {}
    for verb, table in (*_COMMANDS.items(), *_VERBS.items()):
        for name, entry in entries(table).items():
            panel = of.setdefault(name, entry.option.panel or "General")
            panels.setdefault(panel, {}).setdefault(name, []).append((verb, entry))
    lines = [
        "# Options",
        "",
        "Every option of the functions and commands. The names are the same in Python and on the command line:",
        "`max_share=0.1` is `--max-share 0.1`, and the flag `skip_bad=True` is `--skip-bad`.",
        "",
    ]
    for panel in sorted(panels, key=_PANELS.index):
        lines += [f"## {panel}", ""]
        for name, takers in panels[panel].items():
            lines += _option(name, takers)
    return "\n".join(lines).rstrip() + "\n"


def _option(name: str, takers: list[tuple[str, Entry]]) -> list[str]:
    """One option: its meaning, or its meanings, and how it is spelled."""
    meanings: dict[tuple[str, str], list[str]] = {}
    for verb, entry in takers:
        told = " ".join(filter(None, (entry.option.meaning, entry.option.in_python, entry.option.on_command)))
        verbs = meanings.setdefault((told, _default(entry)), [])
        if f"`{verb}`" not in verbs:
            verbs.append(f"`{verb}`")
    python = next((entry for verb, entry in takers if name in entries(_VERBS.get(verb, tables.PlanOptions))), None)
    entry = python or takers[0][1]
    command = "none" if entry.option.typed is None else f"`{_spelled(entry)}`"
    lines = [f"### `{name}`", ""]
    for (told, default), verbs in meanings.items():
        what = "" if default == "none" else f"Default: {default}. "
        lines.append(f"- {_escaped(told)} {what}For {', '.join(verbs)}.")
    return [*lines, f"- Python: {_type(entry) if python else 'none'}; command line: {command}", ""]


def _commands() -> str:
    """Every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        "`lookalike COMMAND --help` shows the same. Exit codes: 0 success; 1 a problem with the input or the output; 2",
        "a wrong option; 3 an alarm of the certificate with `--strict`; 130 interrupted; 128 + N ended by signal N.",
        "",
    ]
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        if inner:
            lines += [f"## lookalike {name}", "", _escaped(inspect.cleandoc(command.help or "")), ""]
            for each in inner:
                lines += _command(f"lookalike {name} {each}", command.get_command(None, each), "###")
        else:
            lines += _command(f"lookalike {name}", command, "##")
    return "\n".join(lines).rstrip() + "\n"


def _command(name: str, command: Any, level: str) -> list[str]:
    text, _, examples = inspect.cleandoc(command.help or "").partition("Example:")
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    usage = " ".join([name, *(each.metavar or each.name.upper() for each in arguments), "[OPTIONS]"])
    lines = [f"{level} {name}", "", _escaped(text.strip()), "", "```text", usage]
    lines += [f"# {line.strip()}" for line in examples.split("Example:") if line.strip()]
    lines += ["```", "", "| option | default | meaning |", "| --- | --- | --- |"]
    for each in arguments:
        lines.append(f"| `{each.metavar or each.name.upper()}` | | {_cell(each.help or '')} |")
    for each in options:
        spelled = ", ".join(f"`{form}`" for form in sorted(each.opts, key=len))
        shown = each.show_default if isinstance(each.show_default, str) else each.default
        shown = shown.value if isinstance(shown, Enum) else shown
        plain = each.is_flag or shown in (None, "", ()) or callable(shown) or each.required
        default = "required" if each.required else "" if plain else f"`{shown}`"
        lines.append(f"| {spelled} | {default} | {_cell(each.help or '')} |")
    return [*lines, ""]


def _python() -> str:
    """Every public name."""
    names = [*_ORDER, *sorted(name for name in lookalike.__all__ if name not in _ORDER)]
    functions = [name for name in names if name in _ORDER]
    errors = [name for name in names if name.endswith("Error")]
    classes = [name for name in names if name not in functions and name not in errors]
    lines = [
        "# Python API",
        "",
        "Everything that `import lookalike` offers. `help(lookalike.dedup)` and your editor show the same.",
        "",
        "## Functions",
        "",
        "`items` is a path, glob or folder (a `str` or `Path`), a list of texts, a list of sets, a dict from id to",
        "item, a pandas or polars frame, an Arrow table, a Hugging Face dataset, an array or tensor of vectors, a",
        "sparse matrix, a list of dicts from element to weight, or what `edges` and `images` return.",
        "",
    ]
    for name in functions:
        lines += _function(f"lookalike.{name}", getattr(lookalike, name), "###")
    lines += ["## Classes", ""]
    for name in classes:
        lines += _class(name, getattr(lookalike, name))
    lines += ["## Errors", ""]
    for name in errors:
        kind = getattr(lookalike, name)
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        lines += [f"### `{name}`", "", f"{_text(inspect.getdoc(kind) or '')}", "", f"A subclass of {bases}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _class(name: str, kind: type) -> list[str]:
    lines = [f"### `{name}`", "", _text(_own_doc(kind)), ""]
    for attribute, member in _members(kind):
        plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if callable(plain):
            lines += _function(f"{name}.{attribute}", plain, "####")
        else:
            told = inspect.getdoc(plain)
            assert told, f"{name}.{attribute} has no docstring"
            lines += [f"#### `{name}.{attribute}`", "", _text(told), ""]
    return lines


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Its public methods and properties, in the order of the source."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("lookalike"):
            found |= {name: member for name, member in vars(base).items() if not name.startswith("_")}
    for name, member in found.items():
        told = callable(member) or hasattr(member, "__get__")
        if told and inspect.getdoc(member) and not inspect.ismemberdescriptor(member):
            yield name, member


def _function(name: str, function: Callable[..., Any], level: str) -> list[str]:
    table = _table_of(function)
    own = _own_doc(function)
    if table is not None:
        own = own.replace(documentation(table).strip(), "").strip()
    lines = [f"{level} `{name}`", "", "```text", _signature(name, function, table), "```", "", _text(own), ""]
    assert own, f"{name} has no docstring"
    # `plan` has its options in its signature.
    known = entries(table or tables.PlanOptions)
    shown = known if table is not None else [name for name in inspect.signature(function).parameters if name in known]
    if table is not None or function is lookalike.plan:
        linked = ", ".join(f"[`{each}`](options.md#{each})" for each in shown)
        lines += [f"Options: {linked}.", ""]
    return lines


def _table_of(function: Callable[..., Any]) -> Any:
    """The table of options that a function takes, if it takes one."""
    code = function.__code__
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return None
    last = code.co_varnames[code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)]
    words = str(function.__annotations__[last])
    found = re.search(r"Unpack\[(\w+)\]", words)
    return getattr(tables, found[1]) if found else None


def _signature(name: str, function: Callable[..., Any], table: Any) -> str:
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name not in ("self", "cls")]
    if table is not None:
        parameters = [each for each in parameters if each.name not in entries(table)]
        parameters.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD))
    # Objects without a face, such as a silent progress, differ from run to run.
    plain = [
        each.replace(annotation=each.empty, default=... if " object at " in repr(each.default) else each.default)
        for each in parameters
    ]
    return f"{name}{inspect.Signature(plain)}"


def _own_doc(member: Any) -> str:
    return inspect.cleandoc(member.__doc__ or "")


def _text(doc: str) -> str:
    """A docstring as Markdown: examples become blocks of their own."""
    found = []
    for part in re.split(r"\n\n+", doc):
        if part.startswith(">>>"):
            found.append(f"```pycon\n{part}\n```")
        elif part.startswith("    "):
            found.append(f"```text\n{inspect.cleandoc(part)}\n```")
        else:
            found.append(_escaped(part))
    return "\n\n".join(found)


def _spelled(entry: Entry) -> str:
    if entry.name == "inputs":
        return "IN..."
    long = f"--{entry.name.replace('_', '-')}"
    return long if entry.option.short is None else f"{entry.option.short}, {long}"


def _type(entry: Entry) -> str:
    return f"`{type_words(entry.type)}`"


def _default(entry: Entry) -> str:
    option = entry.option
    if option.default is ...:
        return "required"
    if option.stands_for:
        return f"`{option.stands_for}`"
    return "none" if option.default is None else f"`{option.default}`"


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split())).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Text in which nothing but what stands in backticks means something to Markdown."""
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_\[\]<>])", r"\\\1", part)
        for part in re.split(r"(`[^`]*`)", text)
    )


if __name__ == "__main__":
    main()
    print(f"wrote {', '.join(sorted(pages()))} to {FOLDER}")
