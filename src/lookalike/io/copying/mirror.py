"""The names of the copies in a folder that mirrors input files.

Names come from outside: the entries of an archive and the keys of an object store may be anything. A name that leads
out of the folder, or might on another system, is refused.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from lookalike.errors import InputError
from lookalike.io.reading.places import Place

_STREAM_NAMES = {
    "parquet": "stdin.parquet",
    "jsonl": "stdin.jsonl",
    "csv": "stdin.csv",
    "tsv": "stdin.tsv",
    "arrow": "stdin.arrow",
    "npy": "stdin.npy",
    "npz": "stdin.npz",
    "xlsx": "stdin.xlsx",
    "ris": "stdin.ris",
    "bibtex": "stdin.bib",
    "lines": "stdin.txt",
}
# What the program that opens such an address calls the protocols in which a question mark is no part of a name.
_WEB = ("http", "https")
_ARCHIVES = ("zip", "tar", "libarchive")
_DRIVE = re.compile(r"[A-Za-z]:")

__all__ = ["mirrored"]


def mirrored(places: list[Place]) -> list[str]:
    """A name below a common folder for each file, by its path below the folder that all share.

    Raises:
        InputError: for a name that would lead out of that folder.
    """
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
        return _address_path(place.name)
    return os.path.abspath(place.path) if place.path == place.name else ""  # noqa: PTH100


def _address_path(address: str) -> str:
    """The path of an address, of plain names only."""
    protocol, _, rest = address.partition("://")
    if protocol in _WEB:
        parts = urlsplit(address)
        rest = f"{parts.netloc}/{parts.path}"
    # What follows is where the archive is: `zip://inside.txt::archive.zip`.
    rest = rest.partition("::")[0]
    names = [name for name in rest.split("/") if name not in ("", ".")]
    absolute = rest.startswith("/") and protocol in _ARCHIVES
    if absolute or not names or any(_leads_out(name) for name in names):
        raise InputError(f"{address}: a file of this name would leave the output folder; rename it")
    return "/" + "/".join(names)


def _leads_out(name: str) -> bool:
    """Whether a name is none of a file or folder right here, on any system."""
    return name == ".." or "\\" in name or "\0" in name or bool(_DRIVE.match(name))
