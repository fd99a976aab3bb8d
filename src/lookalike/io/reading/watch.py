"""Whether input files stay what they are while a run goes on, and what tells an unchanged input from another one.

A run reads its input several times, and what one pass decides is about the rows that it saw. So size, time of the last
change and number on the disk of each file are looked at before and after each reading of it; the second pass compares
the items themselves with those of the first (`engines/local/compare_pass.py`), for what these do not show.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookalike.errors import InputError
from lookalike.io.checksums import checksum
from lookalike.io.reading.places import Place
from lookalike.io.source import Source

__all__ = ["Watch", "changed", "fingerprints"]

# What file systems tell of a file that is another when its content is.
_TELLING = (
    "size", "CRC", "ETag", "etag", "e_tag", "md5", "md5Hash", "content_md5", "generation", "mtime", "LastModified",
    "last_modified", "date_time", "chksum",
)  # fmt: skip


class Watch:
    """The input files of a source as they were when each was first looked at."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._seen: dict[int, Any] = {}

    def check(self, index: int) -> None:
        """Raise `InputError` if a file is not what it was."""
        now = _identity(self._places[index])
        before = self._seen.setdefault(index, now)
        if now is None and before is not None:
            raise InputError(f"{self._places[index].name}: it was removed during the run")
        if before != now:
            raise changed(self._places[index].name)

    def check_all(self) -> None:
        """The same for all files that have been looked at."""
        for index in sorted(self._seen):
            self.check(index)


def changed(where: str) -> InputError:
    """The error for an input that is not what it was."""
    return InputError(f"{where} has changed during the run: start again, and do not change it meanwhile")


def fingerprints(source: Source) -> list[dict[str, Any]]:
    """What tells whether the files of a source have changed since an earlier process read them."""
    return [_fingerprint(place) for place in getattr(source, "places", ())]


def _identity(place: Place) -> Any:
    """What is the same as long as a file is; None if it is not there."""
    if place.remote:
        return _told(place)
    try:
        found = os.stat(place.path)  # noqa: PTH116 (a million of them)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


def _fingerprint(place: Place) -> dict[str, Any]:
    """Of a file its size and the time of its last change; of what has no such time, its content."""
    out: dict[str, Any] = {"name": place.name, "format": place.format, "size": None, "time": None}
    if place.delimiter is not None:
        out["delimiter"] = place.delimiter
    if place.remote:
        return out | {"told": _told(place)}
    path = Path(place.path)
    if not path.is_file():
        return out
    found = path.stat()
    if place.path != place.name:  # a stream, kept in a temporary file
        return out | {"size": found.st_size, "checksum": checksum(path)}
    return out | {"size": found.st_size, "time": found.st_mtime_ns}


def _told(place: Place) -> dict[str, str] | None:
    """What the file system of an address tells of it, and of the archive that it is in."""
    try:
        info = place.system.info(place.path)
    except Exception:  # libraries have errors of their own; whoever reads the file next tells of it
        return None
    told = {name: str(info[name]) for name in _TELLING if info.get(name) is not None}
    if set(told) <= {"size"}:
        told |= {name: str(info[name]) for name in ("created",) if info.get(name) is not None}
    archive = getattr(getattr(place.system, "fo", None), "path", None)
    if isinstance(archive, str) and Path(archive).is_file():
        found = Path(archive).stat()
        told["archive"] = f"{found.st_size} {found.st_mtime_ns}"
    return told
