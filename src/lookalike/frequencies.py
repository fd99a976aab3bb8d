"""The pass before all others, where it is needed: in how many documents each shingle stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookalike.collection import Collection
from lookalike.config import Config
from lookalike.items import ItemBatch
from lookalike.measures.texts import Texts
from lookalike.parallel import ordered_map
from lookalike.progress import Progress
from lookalike.room import Ceiling, Room, weight
from lookalike.store.arrays import Arrays, DamagedError, write_arrays
from lookalike.store.work import Work, spilling

if TYPE_CHECKING:
    from lookalike.represent.weights import Frequencies

__all__ = ["count_frequencies", "needs_frequencies"]

_FILE = "frequencies.bin"
# Bytes of the table: 64 million counters in each row, which are four for each shingle of 50,000 long documents, and
# for those of ten million enough to tell the frequent ones, which decide, from the rare.
_MOST = 1 << 29


def needs_frequencies(config: Config, form: str) -> bool:
    """Whether the options need to know how many documents have each shingle."""
    weighs = config.measure in ("weighted-jaccard", "cosine") and config.weights != "count"
    return form == "text" and (weighs or config.max_share is not None)


def count_frequencies(collection: Collection, config: Config, work: Work, progress: Progress) -> Frequencies:
    """Count the shingles of all parts of a collection; what an interrupted run has counted is taken over."""
    from lookalike.represent.weights import Frequencies

    if work.finished("frequencies") is not None:
        try:
            file = Arrays.verified(work.folder / _FILE, work.token)
            return Frequencies.from_state({name: file.read(name) for name in file.names})
        except DamagedError as error:
            work.redo("frequencies", str(error))
    texts = Texts(config)
    found = Frequencies(_size(collection, config))
    room, ceiling = Room(config.memory, config.threads), Ceiling(config.memory)

    def count(batch: ItemBatch) -> None:
        with room.enter(batch, collection.items.source):
            found.add(texts.counted(batch.values))

    with progress.stage("counting shingles", collection.size(), "B") as stage:
        for part in collection.parts:
            batches = part.batches(on_read=stage.advance)
            for _ in ordered_map(count, batches, config.threads, weight=weight, most=config.memory // 4):
                ceiling.check()
    if work.resumable:
        with spilling(str(work.folder)):
            write_arrays(work.files([_FILE])[0], found.state(), {}, run=work.token)
        work.finish("frequencies", {"documents": found.documents})
    return found


def _size(collection: Collection, config: Config) -> int:
    """Bytes for the table: more than there are shingles where the input is small, a quarter of the memory at most.

    Weights depend on it, if only by accidents of the table; so it is one of few sizes.
    """
    stored = collection.size()
    wanted = _MOST if stored is None else max(1 << 24, 8 * stored)
    power: int = 1 << (min(wanted, _MOST) - 1).bit_length()
    while power > config.memory // 4:
        power //= 2
    return power
