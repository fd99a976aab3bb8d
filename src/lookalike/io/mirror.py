"""A folder that mirrors input files: the names of the copies, and what an interrupted copy left."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from lookalike.io.places import Place

_STREAM_NAMES = {
    "parquet": "stdin.parquet",
    "jsonl": "stdin.jsonl",
    "csv": "stdin.csv",
    "tsv": "stdin.tsv",
    "arrow": "stdin.arrow",
    "npy": "stdin.npy",
    "npz": "stdin.npz",
    "lines": "stdin.txt",
}
# The names that `atomic` gives to files that are not whole.
_PART = re.compile(r"\..+\.part-\d+-[0-9a-f]{8}")

__all__ = ["mirrored", "remove_parts"]


def mirrored(places: list[Place]) -> list[str]:
    """A name below a common folder for each file, by its path below the folder that all share."""
    paths = [_whole_path(place) for place in places]
    folders = {os.path.dirname(path) for path in paths if path}  # noqa: PTH120
    common = os.path.commonpath(folders) if folders else "/"
    names: dict[str, None] = {}
    for place, path in zip(places, paths, strict=True):
        name = os.path.relpath(path, common) if path else _STREAM_NAMES.get(place.format, "stdin.txt")
        stem, dot, ending = name.rpartition(".")
        copies = 1
        while name in names:
            copies += 1
            name = f"{stem}-{copies}{dot}{ending}"
        names[name] = None
    return list(names)


def _whole_path(place: Place) -> str:
    """The path from the root on, whatever that is; nothing for a stream, whose copy has a name of its own."""
    if place.remote:
        parts = urlsplit(place.name)
        return "/" + f"{parts.netloc}/{parts.path}".strip("/").replace("//", "/")
    return os.path.abspath(place.path) if place.path == place.name else ""  # noqa: PTH100


def remove_parts(folder: Path) -> None:
    """Remove the files that a copy into this folder had not finished."""
    for parent, _, files in os.walk(folder):
        for name in files:
            if _PART.fullmatch(name):
                (Path(parent) / name).unlink(missing_ok=True)
