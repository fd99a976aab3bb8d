"""What an index needs of whatever keeps its items: a folder or memory (`log_store.py`), or Redis (`redis_store.py`).

A store gives records by places, and a place means something in one view: for a folder that is everything there is, for
Redis what was fetched. So whoever finds something goes on with the view in which it was found.

Of a folder one process is the writer, and its threads take turns (`Index` has the lock). Where several may write at
once (`is_shared`), a write says what it relies on, and the store refuses it if somebody else was faster: then whoever
asked looks again. Nothing is ever locked over the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

from lookalike.index.index_log import NewItems, VolumeView
from lookalike.index.store_view import Candidates
from lookalike.types import I64Array, U64Array

__all__ = ["IdTakenError", "OutrunError", "Rekey", "Store"]

# From what an index is, a view and places to the keys and signatures of the items there.
Rekey: TypeAlias = "Callable[[dict[str, Any], VolumeView, U64Array], tuple[U64Array, U64Array]]"


class IdTakenError(Exception):
    """Another item has the id of the item at `position`; for `Index` alone, which tells people."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class OutrunError(Exception):
    """Somebody else has changed what a write relied on: look again; for `Index` alone."""


class Store(Protocol):
    """Where the items of an index are."""

    @property
    def name(self) -> str:
        """What people know it by; nothing secret is in it."""
        ...

    @property
    def readonly(self) -> bool:
        """Whether nothing can be written to it."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether others may write to it at the same time."""
        ...

    @property
    def waits(self) -> bool:
        """Whether there is something to wait for before what was written is safe."""
        ...

    @property
    def description(self) -> dict[str, Any]:
        """What is known of the index itself: options, and the recipe, or None before the first item."""
        ...

    def describe(
        self, description: dict[str, Any], bands: int, signature_words: int, vector_words: int
    ) -> dict[str, Any]:
        """Say what the index is; what it is now, which is something else if somebody was faster."""
        ...

    @property
    def bands(self) -> int:
        """How many keys an item has; the last is that of its id."""
        ...

    @property
    def items(self) -> int:
        """How many items there are."""
        ...

    def sizes(self) -> dict[str, int]:
        """What it takes, `stored_bytes` and what else there is to tell."""
        ...

    def check(self) -> None:
        """Raise what a query would meet, at once."""
        ...

    def view(self) -> VolumeView:
        """What can be looked at now."""
        ...

    def find(
        self, view: VolumeView, keys: U64Array, first: int, last: int, most: int, start: int = 0, *, examine: int
    ) -> tuple[Candidates, int]:
        """The candidates of the queries from `start` on, by bands first … last - 1, and the first query not done.

        Of each no more than `most` entries of buckets are looked at, and no more than `examine` candidates are needed.
        """
        ...

    def everything(self, view: VolumeView) -> tuple[U64Array, I64Array]:
        """All items as candidates: their places, of removed ones perhaps too, and the addresses of signatures, or 0."""
        ...

    def every_place(self, view: VolumeView) -> U64Array:
        """The places of all items that are there, in the order in which they came."""
        ...

    def walk(self) -> Iterator[tuple[VolumeView, U64Array]]:
        """The same, some at a time, with the view in which they are."""
        ...

    def add(
        self, items: NewItems, view: VolumeView | None = None, replaced: U64Array | None = None, *, alone: bool = False
    ) -> None:
        """Store items, in the place of those at the places `replaced` of the view, if any.

        With `alone` only if no candidate of theirs has come since the view was taken.

        Raises:
            IdTakenError: if the store is shared, and an item that is not replaced has the id of one of these.
            OutrunError: if it is shared, and something has changed since it was looked at in the view.
        """
        ...

    def remove(self, view: VolumeView, places: U64Array) -> int:
        """Remove items; how many of them were still there."""
        ...

    def commit(self) -> None:
        """Return when all that this thread has added and removed is safe."""
        ...

    def compact(self) -> int:
        """Give back the room of what was removed; how many bytes."""
        ...

    def damaged(self) -> list[str]:
        """What is not as it was written, a line each."""
        ...

    def discard(self) -> None:
        """Remove all that was written of an index that was being made, as far as nothing else does."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...
