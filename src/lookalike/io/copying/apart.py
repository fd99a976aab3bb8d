"""What is read and what is written must lie apart: nothing is touched before that is certain.

What counts are the folders that were named and the files that are read, with links followed. A file may be read beside
the output; but an output inside an input folder would be input of the next run, and an input inside the output
or the work folder could be replaced.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lookalike.errors import OptionError

__all__ = ["Inputs", "check_apart"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs as they were given (files, patterns, folders, addresses, "-") and the files that they stand for."""

    given: Sequence[str] = ()
    files: Sequence[str] = ()


def check_apart(own: Inputs, other: Inputs, output: Path | None, work: Path | None, *, is_folder: bool) -> None:
    """Raise `OptionError` if inputs, the other collection, the output and the work folder lie inside one another.

    `is_folder` says that the output is a folder.
    """
    own_files, other_files = _resolved(own.files), _resolved(other.files)
    twice = set(own_files.values()) & set(other_files.values())
    for name, path in other_files.items():
        if path in twice:
            raise OptionError(f"{name} is also in the other collection: nothing of it would be left")
    files = own_files | other_files
    folders, patterns = _named([*own.given, *other.given])
    if output is not None:
        target, advice = Path(os.path.realpath(output.expanduser())), "write somewhere else"
        if output.exists() and any(Path(file).exists() and output.samefile(file) for file in files):
            raise OptionError(f"{output} is also an input: {advice}")
        _refuse_in_folder(f"{output} lies", target, folders, patterns if is_folder else [], advice)
        if is_folder:
            _refuse_inside(target, files, f"the output folder {output}", advice)
    if work is not None:
        place, advice = Path(os.path.realpath(work.expanduser())), "choose another with --workdir"
        _refuse_in_folder(f"the work folder {work} lies", place, folders, patterns, advice)
        _refuse_inside(place, files, f"the work folder {work}", advice)
        if output is not None and (place.is_relative_to(target) or target.is_relative_to(place)):
            raise OptionError(f"the work folder {work} and the output {output} are inside each other: {advice}")


def _resolved(names: Iterable[str]) -> dict[str, Path]:
    """Where local files are, links followed; folders are looked at once."""
    folders: dict[str, str] = {}
    found = {}
    for name in names:
        if name == "-" or "://" in name:
            continue
        path = os.path.expanduser(name)  # noqa: PTH111
        if os.path.islink(path):  # noqa: PTH114
            found[name] = Path(os.path.realpath(path))
            continue
        folder, base = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        found[name] = Path(folders[folder], base)
    return found


def _named(given: Iterable[str]) -> tuple[list[str], list[str]]:
    """The folders and the patterns among what was given."""
    folders, patterns = [], []
    for name in given:
        if name == "-" or "://" in name:
            continue
        path = Path(os.path.expanduser(name))  # noqa: PTH111
        if path.is_dir():
            folders.append(name)
        elif glob.has_magic(name) and not path.exists():
            patterns.append(name)
    return folders, patterns


def _refuse_inside(folder: Path, files: dict[str, Path], called: str, what: str) -> None:
    inside = next((name for name, path in files.items() if path.is_relative_to(folder)), None)
    if inside is not None:
        raise OptionError(f"the input {inside} lies in {called}: {what}")


def _refuse_in_folder(who: str, place: Path, folders: list[str], patterns: list[str], what: str) -> None:
    for name in folders:
        if place.is_relative_to(os.path.realpath(os.path.expanduser(name))):  # noqa: PTH111
            raise OptionError(f"{who} in the input folder {name}: {what}")
    for name in patterns:
        if _reaches_into(Path(os.path.expanduser(name)), place):  # noqa: PTH111
            raise OptionError(f"{who} where the pattern {name} looks for input: {what}")


def _reaches_into(pattern: Path, place: Path) -> bool:
    """Whether a pattern could match what lies in a folder."""
    fixed = next(number for number, part in enumerate(pattern.parts) if glob.has_magic(part))
    base, rest = Path(*pattern.parts[:fixed]), pattern.parts[fixed:]
    below = Path(os.path.realpath(base))
    if not place.is_relative_to(below):
        return False
    inner = place.relative_to(below).parts
    for number, part in enumerate(inner):
        if number >= len(rest):
            return False
        if rest[number] == "**":
            return True
        if not fnmatchcase(part, rest[number]):
            return False
    return len(inner) < len(rest)
