"""Files that are one item each, as they are: texts and pictures; texts also with what was edited."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.errors import OptionError
from lookalike.io.copying.changes import Changes
from lookalike.io.copying.mirror import mirrored
from lookalike.io.reading.places import Place
from lookalike.io.reading.whole_files import WholeFiles
from lookalike.io.source import OnRead
from lookalike.io.writing.atomic import sync
from lookalike.io.writing.table_files import open_output
from lookalike.threads.crew import Crew, Job

_FILES_AT_ONCE = 64
_BLOCK = 1 << 20

__all__ = ["copy_whole_files", "no_columns"]


def copy_whole_files(
    source: WholeFiles[Any], changes: Changes, folder: Path, crew: Crew, on_read: OnRead, into: bool
) -> list[str]:
    """Copy the kept files to a folder; returns their names.

    With `into` a file that has the bytes of its original is left as it is: a million small files are not worth a
    record each. Edited texts are written anew.
    """
    if changes.add is not None:
        raise no_columns(source)
    names = mirrored(source.places)
    files = source.rows()
    kept = [files[number] for number in changes.mask(0, len(files)).nonzero()[0].tolist()]
    for parent in {(folder / names[file]).parent for file in kept}:
        parent.mkdir(parents=True, exist_ok=True)
    if changes.edit is None:
        todo = [(file, folder / names[file]) for file in kept]
        crew.run(_jobs(source, todo, on_read, into), lambda _: None)
    else:
        for batch in source.batches(None, on_read):
            texts = changes.edited(batch).rows.column("text").cast(pa.large_binary()).to_pylist()
            for row in changes.mask(batch.first, len(texts)).nonzero()[0].tolist():
                place, target = source.places[batch.file + row], folder / names[batch.file + row]
                target.unlink(missing_ok=True)
                with open_output(target, place.compression) as out:
                    out.write(texts[row])
                if into:
                    sync(target)
    return [names[file] for file in kept]


def no_columns(source: WholeFiles[Any]) -> OptionError:
    """What to say where columns are to be added to whole files."""
    what = "text files" if "text" in source.schema().names else "pictures"
    return OptionError(f"{what} have no columns to add to; write to .parquet, .jsonl or .csv")


def _jobs(source: WholeFiles[Any], todo: list[tuple[int, Path]], on_read: OnRead, into: bool) -> Iterator[Job[None]]:
    for start in range(0, len(todo), _FILES_AT_ONCE):
        yield (lambda: 0), partial(_copy, source, todo[start : start + _FILES_AT_ONCE], on_read, into)


def _copy(source: WholeFiles[Any], todo: list[tuple[int, Path]], on_read: OnRead, into: bool) -> None:
    for file, target in todo:
        place = source.places[file]
        source.watch.check(file)
        if into and _is_copy(place, target):
            on_read(target.stat().st_size)
            continue
        # A link that is there must not be written through.
        target.unlink(missing_ok=True)
        with place.open() as raw, open_output(target, None) as out:
            while data := raw.read(_BLOCK):
                out.write(data)
                on_read(len(data))
        source.watch.check(file)
        if into:
            sync(target)


def _is_copy(place: Place, target: Path) -> bool:
    """Whether a file has the bytes of an input."""
    if target.is_symlink() or not target.is_file() or target.stat().st_size != place.size():
        return False
    with place.open() as one, target.open("rb") as two:
        while data := one.read(_BLOCK):
            if data != two.read(len(data)):
                return False
    return True
