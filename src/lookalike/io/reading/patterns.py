"""Patterns of file names, as the shell has them: `*`, `?`, `[ab]`, and `**` for any number of folders.

Python's own `**` follows links into folders as often as they lead there: two links that lead back to their own folder
make 2^40 names. Here every folder is entered once, by the name that has no link in it if there is one, otherwise by the
first. Hidden files and folders are left out, unless the pattern begins with a dot there.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator

__all__ = ["has_magic", "matches"]

has_magic = glob.has_magic


def matches(pattern: str) -> list[str]:
    """The files that a pattern matches, sorted."""
    return sorted(name for name in dict.fromkeys(_names(pattern)) if os.path.isfile(name))  # noqa: PTH113


def _names(pattern: str) -> Iterator[str]:
    parts = pattern.split("/")
    if "**" not in parts:
        yield from glob.iglob(pattern)  # noqa: PTH207
        return
    at = parts.index("**")
    before, rest = "/".join(parts[:at]).rstrip("/"), [part for part in parts[at + 1 :] if part] or ["*"]
    # With a separator at the end it matches folders alone.
    for root in [""] if at == 0 else sorted(glob.iglob(before + "/")):  # noqa: PTH207
        for folder in _folders(root):
            yield from _names(glob.escape(folder) + "/".join(rest))


def _folders(root: str) -> Iterator[str]:
    """A folder and all below it, each with its separator; those behind links come last, and none twice."""
    entered: set[tuple[int, int]] = set()
    waiting: list[str] = [root]
    links: list[str] = []
    while waiting or links:
        folder = waiting.pop() if waiting else links.pop(0)
        try:
            there = os.stat(folder or os.curdir)  # noqa: PTH116
            key = (there.st_dev, there.st_ino)
            if key in entered:
                continue
            entered.add(key)
            with os.scandir(folder or os.curdir) as entries:
                inside = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda e: e.name)
        except OSError:
            continue  # it went away, or may not be looked into
        yield folder
        for entry in inside:
            if os.path.isdir(folder + entry.name):  # noqa: PTH112 (a link to itself is no error here)
                (links if entry.is_symlink() else waiting).append(folder + entry.name + "/")
