"""All items of an index into another one: a copy of a log as it is, and items that go from one store to another."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from lookalike.config import Config
from lookalike.errors import InputError, OptionError
from lookalike.index.index_folder import FolderMedium, lay_out
from lookalike.index.log_store import LogStore, new_manifest
from lookalike.index.medium import Medium
from lookalike.index.records import SPARE
from lookalike.index.redis_address import is_redis
from lookalike.index.store_choice import MEMORY
from lookalike.index.storing import Storing
from lookalike.io.writing.atomic import atomic_folder

__all__ = ["back_up", "copy_store", "merge_items"]

# Items that are moved at a time.
_BATCH = 1_000


def back_up(storing: Storing, config: Config, path: str | Path) -> None:
    """Make a copy in a folder; others may add and look things up meanwhile."""
    if str(path) == MEMORY or is_redis(path):
        raise OptionError("a backup needs a folder")
    with atomic_folder(path) as part:
        store = storing.store
        if not isinstance(store, LogStore):
            lay_out(part, new_manifest(store.description | {"recipe": None}))
            copy = Storing(partial(LogStore, FolderMedium(part)), config)
            try:
                _take_over(copy, storing)
            finally:
                copy.store.close()
            return
        lay_out(part, new_manifest(store.description))
        medium = FolderMedium(part)
        try:
            copy_store(store, medium)
        finally:
            medium.close()


def _take_over(storing: Storing, other: Storing) -> None:
    """Add all items of another one; of two with one id, which one that is replaced meanwhile leaves, the later."""
    kind = other.look()
    if kind is None:
        return
    storing.adopt(kind.recipe)
    for view, places in other.store.walk():
        ids = [view.item(place).id for place in places.tolist()]
        latest = sorted({each: number for number, each in enumerate(ids)}.values())
        there = storing.places_of_ids([ids[number] for number in latest], storing.store.view())
        old = np.array([place for place in there if place is not None], np.uint64)
        storing.store.add(view.stored(places[latest], *kind.rekey(view, places[latest])), replaced=old)


def merge_items(storing: Storing, other: Storing) -> int:
    """Add all items of another index, which must have been made with the same options; how many."""
    mine, its = storing.look(), other.look()
    if its is None:
        return 0
    if mine is None:
        storing.adopt(its.recipe)
    elif mine.recipe != its.recipe:
        raise OptionError(f"the indexes were made in different ways: {mine.recipe} and {its.recipe}")
    added = 0
    with storing.lock:
        there = other.ids()
        known = storing.places_of_ids(there, storing.store.view())
        taken = [each for each, place in zip(there, known, strict=True) if place is not None]
        if taken:
            raise InputError(
                f"both indexes have the id {taken[0]!r}" + f" and {len(taken) - 1:,} more" * (len(taken) > 1)
            )
        for view, places in other.store.walk():
            for begin in range(0, len(places), _BATCH):
                some = places[begin : begin + _BATCH]
                storing.store.add(view.stored(some, *its.rekey(view, some)))
                added += len(some)
    return added


def copy_store(store: LogStore, medium: Medium) -> None:
    """Copy everything to an empty medium. The view keeps all that it needs mapped, so nobody has to wait."""
    view, manifest, ends = store.snapshot()
    manifest |= {"table": None, "claimed": [], "moving": None}
    manifest["volumes"] = {str(number): end for number, end in sorted(ends.items())}
    copied = []
    for told, segment in zip(manifest["segments"], view.segments, strict=True):
        medium.make(told["name"], segment.nbytes)[:] = segment.data
        # Memory has no checksums; those of a folder show what went wrong on the way.
        found = medium.settle(told["name"])
        copied.append(told if store.medium.checks else told | {"checksum": found})
    manifest["segments"] = copied
    for number, volume in view.volumes.items():
        # The spare bytes are zeros, whatever was written there since.
        medium.make(volume.name, ends[number] + SPARE)[: ends[number]] = volume.data[: ends[number]]
        medium.settle(volume.name)
    medium.save(manifest)
