"""The inputs of a finished run, opened again by what its `run.json` tells of them, for single rows and for ids.

Only files that hold a wanted row are opened, and of them only the row groups or blocks that do where the format allows
that; a file of lines is read up to the last wanted row. A file that is not as the run found it is refused: its rows
would be other ones.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.config import default_memory
from lookalike.errors import InputError
from lookalike.io import concat
from lookalike.io.checksums import checksum
from lookalike.io.input_options import InputOptions, edges_of
from lookalike.io.reading.files import open_files
from lookalike.io.reading.watch import fingerprints
from lookalike.io.source import Source
from lookalike.types import I64Array
from lookalike.wording.printable import spelled

__all__ = ["RunInputs", "open_made", "source_of"]

# Formats of which a file is one row, whose first column is its name.
_WHOLE = ("text", "image")
# How the recipe of undirected edges ends.
_UNDIRECTED = " undirected"


def source_of(source: Source, run: Path) -> dict[str, Any]:
    """What `RunInputs` must know of a source beside the names and fingerprints of its files.

    Places are told from the run folder on: who moves it with its inputs finds them again.
    """
    made = getattr(source, "recipe", None)
    pictures = {place.format for place in getattr(source, "places", ())} == {"image"}
    firsts = list(map(int, source.first_rows())) if source.files and (made is None or pictures) else []
    return {
        "kind": "memory" if not source.files else "pictures" if pictures else "edges" if made else "rows",
        "recipe": made,
        "skip_bad": bool(getattr(source, "skips_bad", False)),
        "delimiter": next((place.delimiter for place in getattr(source, "places", ()) if place.delimiter), None),
        # Files that are one row each need no list.
        "first_rows": None if firsts == list(range(len(firsts))) and len(firsts) > 1 else firsts,
        "folder": _from(run, Path.cwd()) if _is_relative(source) else None,
        "archives": _archives(source, run),
    }


def _from(run: Path, place: str | Path) -> str:
    return os.path.relpath(os.path.realpath(place), os.path.realpath(run))


def _is_relative(source: Source) -> bool:
    """Whether names of files are told from the working folder on."""
    local = (place for place in getattr(source, "places", ()) if not place.remote)
    return any(not Path(place.name).expanduser().is_absolute() for place in local)


def _archives(source: Source, run: Path) -> dict[str, str]:
    """The archives that files are in, by the names of these: a name does not always tell."""
    found = {}
    for place in getattr(source, "places", ()):
        within = place.system.storage_options if place.remote else {}
        if isinstance(within.get("fo"), str):
            protocol = within.get("target_protocol") or "file"
            found[place.name] = _from(run, within["fo"]) if protocol == "file" else f"{protocol}://{within['fo']}"
    return found


def open_made(names: Sequence[str], source: dict[str, Any], formats: set[str]) -> Source:
    """Files of a run as one source, made into items as the run did it."""
    if source["kind"] == "pictures":
        from lookalike.io.reading.images import open_images

        features, _, size = source["recipe"].partition(":")
        return open_images(list(names), features=features, size=int(size), skip_bad=source["skip_bad"])
    only = next(iter(formats)) if len(formats) == 1 else None
    rows = open_files(
        list(names), format=only, delimiter=source.get("delimiter"), skip_bad=source["skip_bad"],
        memory=default_memory(),
    )  # fmt: skip
    if source["kind"] != "edges":
        return rows
    columns = source["recipe"].removesuffix(_UNDIRECTED)
    undirected = columns != source["recipe"]
    return edges_of(rows, columns, InputOptions(undirected=undirected, memory=default_memory()))


class RunInputs:
    """The files of a run, checked before each is read."""

    def __init__(self, path: Path, files: list[dict[str, Any]], source: dict[str, Any], rows: int) -> None:
        self._path = path
        self._place = Path(os.path.realpath(path))
        self._files = files
        self._source = source
        self._rows = rows

    def take(self, rows: Sequence[int] | I64Array) -> pa.Table:
        """Rows with all their columns, in the order in which they are asked for."""
        wanted, place = np.unique(self._checked(rows), return_inverse=True)
        self._check_there()
        parts = list(self._edges(wanted) if self._source["kind"] == "edges" else self._rows_of_files(wanted))
        if not parts:
            return pa.table({})
        table = pa.concat_tables(parts, promote_options="permissive")
        if table.num_rows != len(wanted):
            raise InputError(f"{self._path}: only {table.num_rows:,} of {len(wanted):,} rows are left in the inputs")
        return table.take(pa.array(place))

    def find(self, column: str, ids: pa.Array) -> I64Array:
        """The rows in which a column has these values, each of which must be in one."""
        values = self._columns.get(column)
        if values is None:
            self._check_there()
            source = self._opened(range(len(self._files)))
            values = self._columns[column] = concat([batch.rows.column(0) for batch in source.batches([column])])
        if values.type != ids.type:
            values, ids = values.cast(pa.string()), ids.cast(pa.string())
        found = pc.index_in(ids, value_set=values)
        if found.null_count:
            lost = ids.filter(found.is_null())[0].as_py()
            raise InputError(f"{self._path}: {lost!r} is not an id in column {column!r} of the inputs")
        rows: I64Array = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return rows

    @cached_property
    def _columns(self) -> dict[str, pa.ChunkedArray]:
        return {}

    def _checked(self, rows: Sequence[int] | I64Array) -> I64Array:
        wanted = np.asarray(rows)
        if wanted.ndim != 1 or (len(wanted) and wanted.dtype.kind not in "iu"):
            raise InputError(f"rows are numbers, from 0 to {self._rows - 1:,}")
        odd = wanted[(wanted < 0) | (wanted >= self._rows)]
        if len(odd):
            raise InputError(f"there is no row {odd[0]}: the run read {self._rows:,} rows, numbered from 0")
        return wanted.astype(np.int64)

    def _check_there(self) -> None:
        if self._source["kind"] == "memory":
            raise InputError(
                f"the items of {self._path} were in memory, and there is no file to read them from; what was kept of "
                "them is in the table `kept`"
            )

    def _edges(self, wanted: I64Array) -> Iterator[pa.Table]:
        yield from _taken(self._opened(range(len(self._files))), wanted)

    def _rows_of_files(self, wanted: I64Array) -> Iterator[pa.Table]:
        """The wanted rows, file by file; files that are one row each together."""
        firsts = self._source["first_rows"]
        files = [row if firsts is None else bisect_right(firsts, row) - 1 for row in wanted.tolist()]
        if self._files[0]["format"] in _WHOLE:
            names = pa.array([spelled(self._files[file]["name"]) for file in files])
            for table in _taken(self._opened(files), np.arange(len(files))):
                yield table.set_column(0, "path", names.slice(0, table.num_rows))
                names = names.slice(table.num_rows)
            return
        for file, rows in groupby(zip(files, wanted.tolist(), strict=True), key=lambda each: each[0]):
            first = 0 if firsts is None else firsts[file]
            yield from _taken(self._opened([file]), np.array([row - first for _, row in rows], np.int64))

    def _opened(self, files: Sequence[int]) -> Source:
        chosen = [self._files[file] for file in files]
        return open_made([self._found(each) for each in chosen], self._source, {each["format"] for each in chosen})

    def _found(self, file: dict[str, Any]) -> str:
        """Where a file is, if it is still the one that the run read."""
        name = str(file["name"])
        if name == "-":
            raise InputError(f"the items of {self._path} came from standard input and cannot be read again")
        if "told" in file:
            archive = self._source["archives"].get(name)
            if archive is not None and "://" not in archive:
                archive = str(self._place / archive)
            address = name if archive is None else f"{name.partition('::')[0]}::{archive}"
            if fingerprints(open_files([address], format=file["format"]))[0].get("told") != file["told"]:
                raise self._changed(name)
            return address
        given = Path(name).expanduser()
        places = [Path(os.path.normpath(self._place / (self._source["folder"] or "") / given)), given]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            raise InputError(f"{name}, an input of {self._path}, no longer exists (looked for {places[0]})")
        stat = path.stat()
        same = file["time"] in (None, stat.st_mtime_ns) and file["size"] == stat.st_size
        if not same or ("checksum" in file and checksum(path) != file["checksum"]):
            raise self._changed(name)
        return str(path)

    def _changed(self, name: str) -> InputError:
        return InputError(f"{name} has changed since {self._path} was made, so its rows may differ")


def _taken(source: Source, rows: I64Array) -> Iterator[pa.Table]:
    """Rows of a source in rising order, batch by batch; what is left after the last is not read."""
    only = np.zeros(int(rows[-1]) + 1, np.bool_)
    only[rows] = True
    for batch in source.batches(only=only):
        begin, end = np.searchsorted(rows, [batch.first, batch.first + batch.rows.num_rows])
        if begin < end:
            table = pa.Table.from_batches([batch.rows])
            yield table.take(pa.array(rows[begin:end] - batch.first))
        if end == len(rows):
            return
