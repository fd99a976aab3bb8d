"""From what people type (files, patterns, folders, addresses, "-") to the list of input files.

Files come in the order given; the matches of a pattern and the files of a folder come sorted by name. A
folder stands for all data files below it, or, if it has none, for all its text files. Hidden files and
folders are left out.

In a folder or a pattern, symbolic links to nothing are left out, and so is a link to a file that is listed
anyway: the file itself stays. A file that is given twice in any other way is an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lookalike.errors import InputError
from lookalike.io.reading.formats import DATA_ENDINGS, PICTURE_ENDINGS, TEXT_ENDINGS, endings
from lookalike.io.reading.patterns import has_magic, matches
from lookalike.io.reading.places import Place, compression_of, reading, spool, spool_stdin

_HEAD = 8192
_FORMAT_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\3\4": "npz",
    b"{": "jsonl",
    b"TY  - ": "ris",
}
# What one of the first members of a workbook is called, and none of an archive of arrays.
_WORKBOOK = (b"[Content_Types].xml", b"_rels/.rels", b"xl/workbook.xml", b"docProps/")

__all__ = ["expand"]


def expand(paths: Sequence[str], format: str | None) -> list[Place]:
    """The input files, each with its format.

    Args:
        paths: files, patterns, folders, fsspec addresses, or "-".
        format: the format of all files; by their endings if None.

    Raises:
        InputError: if something is not there, is given twice, or tables and texts are mixed.
    """
    if not paths:
        raise InputError("no input: give a file, a pattern, a folder or '-'")
    places: list[Place] = []
    given = {os.path.expanduser(path) for path in paths}  # noqa: PTH111
    for path in paths:
        if path == "-":
            places.append(_stream(spool_stdin(), "-", format))
        elif "://" in path:
            places += _remote(path, format)
        else:
            places += _local(path, format)
    places = _once(places, given)
    _check_mix(places)
    return places


def _local(given: str, format: str | None) -> list[Place]:
    path = os.path.expanduser(given)  # noqa: PTH111 (the name must stay as it was given)
    with reading(given):
        if os.path.isdir(path):  # noqa: PTH112
            return _folder(path, format)
        if os.path.exists(path):  # noqa: PTH110
            if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
                with open(path, "rb") as stream:  # noqa: PTH123
                    return [_stream(spool(stream, given), given, format)]
            return [_file(path, format)]
        if not has_magic(path):
            raise InputError(f"{given}: no such file or folder")
        found = matches(path)
        if not found:
            raise InputError(f"{given}: no file matches this pattern")
        return [_file(match, format) for match in found]


def _folder(folder: str, format: str | None) -> list[Place]:
    names = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names += [os.path.join(parent, name) for name in files if not name.startswith(".")]  # noqa: PTH118
    names = [name for name in names if os.path.isfile(name)]  # noqa: PTH113
    chosen = _choose(sorted(names), format)
    if not chosen:
        raise InputError(f"{folder}: no data or text files in this folder")
    texts = format == "text" or all(endings(name)[0] not in DATA_ENDINGS for name in chosen)
    places = [_place(name, format) for name in chosen]
    if not texts or format not in (None, "text"):
        return places
    readable = [replace(place, format="text") for place in places if _is_text(place)]
    if not readable:
        if any(endings(name)[0] in PICTURE_ENDINGS for name in chosen):
            raise InputError(f"{folder}: holds pictures: use --images")
        raise InputError(f"{folder}: no data or text files in this folder")
    return readable


def _choose(names: list[str], format: str | None) -> list[str]:
    """The files of a folder that are meant: those with a data ending (of this format), otherwise all."""
    if format == "text":
        return names
    data = [name for name in names if (of := DATA_ENDINGS.get(endings(name)[0])) and format in (None, of)]
    return data or names


def _file(path: str, format: str | None) -> Place:
    place = _place(path, format)
    if place.format == "text" and format is None and not _is_text(place):
        if endings(path)[0] in PICTURE_ENDINGS:
            raise InputError(f"{path}: is a picture: use --images")
        raise InputError(
            f"{path}: neither a text file nor one of {' '.join(DATA_ENDINGS)}; give its format with --format"
        )
    return place


def _place(name: str, format: str | None, path: str | None = None, system: Any = None) -> Place:
    ending, compression = endings(name)
    by_ending = "jsonl" if ending == ".json" else DATA_ENDINGS.get(ending, "text")
    chosen = format or by_ending
    if compression and chosen in ("parquet", "arrow", "npz"):
        raise InputError(f"{name}: a {chosen} file inside {compression} cannot be read: unpack it first")
    return Place(name, path or name, chosen, compression, system)


def _is_text(place: Place) -> bool:
    """A known text ending, or no zero byte in the first 8 kB."""
    return endings(place.name)[0] in TEXT_ENDINGS or b"\0" not in place.head(_HEAD)


def _stream(path: str, name: str, format: str | None) -> Place:
    """A spooled stream, whose format shows in its first bytes."""
    with Path(path).open("rb") as file:
        compression = compression_of(file.read(8))
    place = Place(name, path, format or "lines", compression)
    if format is not None:
        return place
    head = place.head(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, known in _FORMAT_MAGIC.items():
        if head.startswith(magic):
            is_workbook = known == "npz" and any(name in head for name in _WORKBOOK)
            return replace(place, format="xlsx" if is_workbook else known)
    return place


def _remote(address: str, format: str | None) -> list[Place]:
    with reading(address, remote=True):
        from fsspec.core import url_to_fs  # 0.27 s of imports that local files do not need

        system, path = url_to_fs(address)
        if has_magic(path):
            visible = (
                name for name in system.glob(path) if not _base(name).startswith(".") or _base(path).startswith(".")
            )
            found = sorted(name for name in visible if system.isfile(name))
            if not found:
                raise InputError(f"{address}: no file matches this pattern")
        elif system.isdir(path):
            found = _choose(sorted(_visible(system.find(path), path)), format)
            if all(endings(name)[0] not in DATA_ENDINGS for name in found) and format is None:
                found = [name for name in found if endings(name)[0] in TEXT_ENDINGS]
                return _texts(address, system, found)
        elif system.exists(path):
            return [_place(address, format, path, system)]
        else:
            raise InputError(f"{address}: no such file or folder")
        return [_place(system.unstrip_protocol(name), format, name, system) for name in found]


def _texts(address: str, system: Any, names: list[str]) -> list[Place]:
    if not names:
        raise InputError(f"{address}: no data or text files in this folder")
    return [_place(system.unstrip_protocol(name), "text", name, system) for name in names]


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _visible(names: Iterable[str], folder: str) -> list[str]:
    below = len(folder.rstrip("/"))
    return [name for name in names if "/." not in name[below:]]


def _once(places: list[Place], given: set[str]) -> list[Place]:
    """The places without links to files that are there anyway, except links that were given by name."""
    same: dict[tuple[str, bool], list[Place]] = {}
    for place in places:
        key = (place.path if place.remote else os.path.realpath(place.path), place.remote)
        same.setdefault(key, []).append(place)
    left_out: set[int] = set()
    for group in same.values():
        if len(group) == 1:
            continue
        best = min(group, key=_links)
        for place in group:
            if place is best:
                continue
            if place.path in given or not (_links(place) > _links(best) or Path(place.path).is_symlink()):
                raise InputError(f"{group[1].name}: given twice")
            left_out.add(id(place))
    return [place for place in places if id(place) not in left_out]


def _links(place: Place) -> int:
    """How many symbolic links there are on the way to a file, as far as its name tells."""
    path = Path(place.path)
    return 0 if place.remote else sum(part.is_symlink() for part in (path, *path.parents))


def _check_mix(places: list[Place]) -> None:
    texts = next((place for place in places if place.format == "text"), None)
    table = next((place for place in places if place.format != "text"), None)
    if texts is not None and table is not None:
        raise InputError(
            f"{texts.name} is a text file and {table.name} is {table.format}: read them separately, or give --format"
        )
