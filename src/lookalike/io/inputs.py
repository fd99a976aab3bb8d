"""What people pass as items: places to read from, or the items themselves.

A `str` is always a place (path, pattern, folder, "-" or fsspec address), and so is a `Path` or a list of
them. A list of `str` is always a list of texts. Everything else is in memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, OptionError
from lookalike.io.making.memory import MemorySource, index_column, to_table
from lookalike.io.reading.files import check_limits, open_files
from lookalike.io.reading.formats import DELIMITED, check_format
from lookalike.io.source import BATCH_BYTES, BATCH_ROWS, Source

__all__ = ["check_delimiter", "open_source"]


def open_source(
    items: Any,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    skip_bad: bool = False,
    limit: int | None = None,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    memory: int | None = None,
    threads: int = 1,
) -> Source:
    """Open anything that holds items: see this module and `lookalike.io.making.memory` for what may be given.

    Args:
        items: a path, pattern, folder, address, "-", a list of `Path`; or items in memory; or a source already.
        format: for files, one of `formats.FORMATS`; by their endings if None.
        delimiter: for CSV files, what parts their cells.
        skip_bad: for files, count broken rows and go on, instead of an error.
        limit: only the first so many rows.
        batch_rows, batch_bytes: how much a batch may hold.
        memory: for files, what a run may hold; a row that is too large for it is refused while it is read.
        threads: for files, how many will read pieces at once.
    """
    if hasattr(items, "batches") and hasattr(items, "first_rows"):
        source: Source = items
        return source
    paths = _paths(items)
    if paths is None:
        check_format(format)
        check_limits(limit, batch_rows, batch_bytes)
        table = to_table(items)
        named = isinstance(items, Mapping) or (hasattr(items, "index") and hasattr(items, "to_frame"))
        natural_id = "id" if named and "id" in table.column_names else index_column(items)
        return MemorySource(table, limit, batch_rows, batch_bytes, natural_id)
    return open_files(
        paths,
        format=format,
        delimiter=delimiter,
        skip_bad=skip_bad,
        limit=limit,
        batch_rows=batch_rows,
        batch_bytes=batch_bytes,
        memory=memory,
        threads=threads,
    )


def check_delimiter(delimiter: str | None, *sources: Source | None) -> None:
    """Refuse a delimiter where there is no CSV to read with it."""
    places = [place for source in sources for place in getattr(source, "places", ())]
    if delimiter is None or any(place.format in DELIMITED for place in places):
        return
    what = (
        f"{places[0].name} is read as {places[0].format}; format (--format) says otherwise"
        if places
        else "none is read"
    )
    raise OptionError(f"delimiter (--delimiter) is for CSV files, and {what}")


def _paths(items: Any) -> list[str] | None:
    if isinstance(items, str | Path):
        return [os.fspath(items)]
    if isinstance(items, list | tuple) and any(isinstance(item, Path) for item in items):
        odd = next((item for item in items if not isinstance(item, Path)), None)
        if odd is not None:
            raise InputError(f"items: a list of paths must hold paths only, not {odd!r}")
        return [os.fspath(item) for item in items]
    return None
