"""The pass before all others, where it is needed: in how many documents each shingle stands."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.config import Config
from lookalike.engines.local.room import Ceiling, Room, weight
from lookalike.engines.local.store.array_file import Arrays, DamagedError, write_arrays
from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.items.collection import Collection
from lookalike.items.from_rows import ItemPiece
from lookalike.measures.shingled_texts import Texts
from lookalike.threads.ordered import ordered_map
from lookalike.wording.progress import Progress

if TYPE_CHECKING:
    from lookalike.represent.document_counts import Allocate, Frequencies

__all__ = ["count_frequencies"]

_FILE = "frequencies.bin"


def count_frequencies(collection: Collection, config: Config, work: Work, progress: Progress) -> Frequencies:
    """Count the shingles of all parts of a collection; what an interrupted run has counted is taken over."""
    from lookalike.represent.document_counts import Frequencies

    allocate = _allocated(work, config.budget.counters)
    if work.finished("frequencies") is not None:
        try:
            file = Arrays.verified(work.folder / _FILE, work.token)
            return Frequencies.from_state({name: file.read(name) for name in file.names}, allocate)
        except DamagedError as error:
            work.redo("frequencies", str(error))
    texts = Texts(collection.items.recipe)
    found = Frequencies(allocate=allocate)
    room, ceiling = Room(config.memory, config.threads), Ceiling(config.memory)

    def count(piece: ItemPiece) -> None:
        for batch in piece.load():
            with room.enter(batch, collection.items.source):
                found.add(texts.counted(batch.values))

    with progress.stage("counting shingles", collection.size(), "B") as stage:
        for part in collection.parts:
            pieces = part.pieces(on_read=stage.advance)
            for _ in ordered_map(count, pieces, config.threads, weight=weight, most=config.budget.in_flight):
                ceiling.check()
    if work.resumable:
        with spilling(str(work.folder)):
            write_arrays(work.files([_FILE])[0], found.state(), {}, run=work.token)
        work.finish("frequencies", {"documents": found.documents})
    return found


def _allocated(work: Work, most: int) -> Allocate:
    """Arrays of zeros: larger ones are those of a file without a name, so that counts do not depend on the memory."""

    def allocate(count: int, kind: Any) -> NDArray[Any]:
        size = count * np.dtype(kind).itemsize
        if size <= most:
            return np.zeros(count, kind)
        with spilling(str(work.place), size), tempfile.TemporaryFile(dir=work.place) as file:
            # Without blocks of its own a full disk would end the program when a counter is written.
            os.posix_fallocate(file.fileno(), 0, size)
            return np.asarray(np.memmap(file, kind, "r+", shape=(count,)))

    return allocate
