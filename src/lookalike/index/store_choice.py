"""Which store a path stands for: memory, a folder, or Redis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lookalike.errors import OutputError
from lookalike.index.index_folder import FolderMedium, create_folder
from lookalike.index.log_store import LogStore, new_manifest
from lookalike.index.medium import MemoryMedium
from lookalike.index.redis_address import is_redis
from lookalike.index.store import Rekey, Store

__all__ = ["MEMORY", "ChosenStore", "create_store", "existing_store"]

MEMORY = ":memory:"


class ChosenStore(NamedTuple):
    """A store that is there: what it says of the index, how it is opened, and how to let go of it instead."""

    description: dict[str, Any]
    open: Callable[[Rekey], Store]
    close: Callable[[], None]


def create_store(path: str | Path, description: dict[str, Any]) -> ChosenStore:
    """Make an empty store; one that is there is an error."""
    if is_redis(path):
        # Only here, since it needs a library that is an extra.
        from lookalike.index.redis_store import RedisStore, create_in_redis

        made = create_in_redis(str(path), description)
        return ChosenStore(description, partial(RedisStore, made), made.close)
    manifest = new_manifest(description)
    if str(path) == MEMORY:
        return _in_medium(description, MemoryMedium(manifest))
    create_folder(path, manifest)
    return _in_medium(description, FolderMedium(path))


def existing_store(path: str | Path, *, readonly: bool, wait: float) -> ChosenStore:
    """The store at a path, which must be there."""
    if is_redis(path):
        from lookalike.index.redis_store import RedisStore, find_in_redis

        found = find_in_redis(str(path))
        return ChosenStore(found.description, partial(RedisStore, found, readonly=readonly), found.close)
    if str(path) == MEMORY:
        raise OutputError("an index in memory is gone when it is closed: make one with Index.create()")
    medium = FolderMedium(path, readonly=readonly, wait=wait)
    try:
        return _in_medium(medium.load()["index"], medium)
    except BaseException:
        medium.close()
        raise


def _in_medium(description: dict[str, Any], medium: MemoryMedium | FolderMedium) -> ChosenStore:
    return ChosenStore(description, partial(LogStore, medium), medium.close)
