"""What inputs are opened as: tables and texts as they are, edges as sets, pictures as vectors or bits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lookalike.budget import Budget
from lookalike.errors import OptionError
from lookalike.io import open_files
from lookalike.io.source import BATCH_BYTES, Source

__all__ = ["InputOptions", "edges_of", "open_inputs"]


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How inputs are read."""

    format: str | None = None
    delimiter: str | None = None
    skip_bad: bool = False
    limit: int | None = None
    batch_bytes: int = BATCH_BYTES
    edges: str | None = None
    undirected: bool = False
    # Whether edges may have weights below zero, as cosine takes them.
    negative: bool = False
    images: bool = False
    features: str | None = None
    size: int | None = None
    threads: int = 1
    memory: int = 1 << 30
    workdir: Path | None = None


def open_inputs(inputs: list[str], reading: InputOptions) -> Source:
    """Open files as the options say."""
    if reading.images:
        from lookalike.io.reading.images import open_images

        for option in ("edges", "format", "delimiter"):
            if getattr(reading, option) is not None:
                raise OptionError(f"{option} (--{option}) cannot be combined with pictures (--images)")

        return open_images(
            list(inputs), features=reading.features or "pixels", size=reading.size, threads=reading.threads,
            skip_bad=reading.skip_bad, limit=reading.limit, batch_bytes=reading.batch_bytes,
        )  # fmt: skip
    for option in ("features", "size"):
        if getattr(reading, option) is not None:
            raise OptionError(f"{option} (--{option}) is for pictures: add --images FOLDER")
    source = open_files(
        inputs, format=reading.format, delimiter=reading.delimiter, skip_bad=reading.skip_bad,
        limit=reading.limit, batch_bytes=reading.batch_bytes,
        memory=reading.memory, threads=reading.threads,
    )  # fmt: skip
    if reading.edges is None:
        if reading.undirected:
            raise OptionError("undirected needs edges: name their columns with --edges FROM,TO")
        return source
    return edges_of(source, reading.edges, reading)


def edges_of(source: Source, columns: str, reading: InputOptions) -> Source:
    """The items that the edges of a source make; `columns` are FROM,TO or FROM,TO,WEIGHT."""
    from lookalike.io.making.edges import open_edges

    names = [name.strip() for name in columns.split(",")]
    if len(names) not in (2, 3) or not all(names):
        raise OptionError(f"edges is {columns!r}: it must name two or three columns, FROM,TO or FROM,TO,WEIGHT")
    return open_edges(
        source, *names, undirected=reading.undirected, negative=reading.negative,
        memory=Budget(reading.memory, reading.threads).edges, folder=reading.workdir, batch_bytes=reading.batch_bytes,
    )  # fmt: skip
