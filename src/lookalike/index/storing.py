"""From items to what is stored of them: what all items are, their sketches and rows, and ids that are taken once.

`Index` is what users have; here is what it does when something is added, for one text, for many items, and for batches
that others have read (`bulk.py`, `index_run.py`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.config import Config
from lookalike.errors import InputError
from lookalike.index.index_items import IdBytes, bytes_of_payloads, check_form, id_bytes, values_of
from lookalike.index.index_log import NewItems, VolumeView
from lookalike.index.item_kind import ItemKind, decided_recipe, told_recipe
from lookalike.index.item_places import WHERE
from lookalike.index.log_store import LogStore
from lookalike.index.row_codec import EncodedItems
from lookalike.index.store import IdTakenError, OutrunError, Rekey, Store
from lookalike.index.text_lookup import TextLookup
from lookalike.measures.sketch_batch import ItemSketches, sketch_batch
from lookalike.recipe import Recipe
from lookalike.types import I64Array, U8Array, U64Array

__all__ = ["Prepared", "Storing", "given_twice"]

_UNLIMITED = 2**62


class Prepared(NamedTuple):
    """Items as they are stored: ids, as given and as bytes; rows and keys; payloads, and where each begins."""

    ids: list[Any]
    names: IdBytes
    encoded: EncodedItems
    payloads: tuple[U8Array, I64Array]


class Storing:
    """Stores the items of one index.

    Args:
        open_store: where they go; it is told how keys are made again of what is stored.
        config: the options that the index was made with.
    """

    def __init__(self, open_store: Callable[[Rekey], Store], config: Config) -> None:
        self._config = config
        self._kind: ItemKind | None = None
        self.store = open_store(self._rekey)
        # A shared store does not let a write through that relies on what has changed, and needs no turns.
        self.lock: contextlib.AbstractContextManager[Any] = (
            contextlib.nullcontext() if self.store.is_shared else threading.RLock()
        )

    # What the items are.

    def _rekey(self, told: dict[str, Any], view: VolumeView, places: U64Array) -> tuple[U64Array, U64Array]:
        return self._kind_told(told).rekey(view, places)

    def _kind_told(self, told: dict[str, Any]) -> ItemKind:
        """What the manifest says the items are."""
        if self._kind is None:
            self._kind = ItemKind(told_recipe(told["recipe"], self._config), self._config)
        return self._kind

    def look(self) -> ItemKind | None:
        """What the items are; a reader learns it when another process has added the first one."""
        if self._kind is None:
            self.store.view()
            told = self.store.description
            return None if told["recipe"] is None else self._kind_told(told)
        return self._kind

    @property
    def kind(self) -> ItemKind:
        """The same, where it is known."""
        kind = self.look()
        assert kind is not None, "what the items are is known"
        return kind

    def _decide(self, field: pa.Field, column: pa.Array) -> None:
        """What the items are, now that the first one is here."""
        with self.lock:
            if self.look() is None:
                self.adopt(decided_recipe(field, column, self._config))

    def adopt(self, recipe: Recipe) -> None:
        """From now on items are like this."""
        kind = ItemKind(recipe, self._config)
        description = self.store.description | {"recipe": recipe.to_json()}
        codec = kind.codec
        told = self.store.describe(description, codec.bands + 1, codec.signature_words, codec.vector_words)
        # Where somebody else was faster, items are what that one says.
        self._kind = kind if told["recipe"] == description["recipe"] else None
        self._kind_told(told)

    # From items to rows.

    def sketch(self, values: Sequence[Any], ids: Sequence[Any] | None = None, *, decide: bool = False) -> ItemSketches:
        """Items as sketches; one that cannot be compared is an error. The first item may `decide` what all are."""
        field, column = values_of(list(values))
        if decide and self.look() is None:
            self._decide(field, column)
        check_form(field, self.kind.recipe)
        return self.sketched(column, ids)

    def sketched(self, column: pa.Array, ids: Sequence[Any] | None = None) -> ItemSketches:
        """The sketches of items that are in an Arrow array, as this index has them."""
        found = sketch_batch(column, None, self.kind.recipe, coded=True)
        if found.items.bad:
            at, why = found.items.bad[0]
            raise InputError(f"the item{'' if ids is None else f' {ids[at]!r}'} {why}")
        return found

    def prepared(
        self, ids: list[Any], names: IdBytes, found: ItemSketches, payloads: tuple[U8Array, I64Array]
    ) -> Prepared:
        """Items that are sketched, as they are stored."""
        return Prepared(ids, names, self.kind.codec.encode(found), payloads)

    def prepare(self, ids: list[Any], values: list[Any], payloads: list[Any]) -> Prepared:
        """Items as they are stored."""
        names, found = IdBytes(ids), self.sketch(values, ids, decide=True)
        return Prepared(ids, names, self.kind.codec.encode(found), bytes_of_payloads(payloads))

    # From rows to the store.

    def places_of_ids(
        self, ids: Sequence[str | int], view: VolumeView, keys: U64Array | None = None
    ) -> list[int | None]:
        """Where in a view the items with these ids are; None for those that are not. The last key is that of the id."""
        found: list[int | None] = [None] * len(ids)
        if self.look() is None:
            return found
        bands, start = self.store.bands, 0
        if keys is None:
            keys = np.zeros((len(ids), bands), np.uint64)
            keys[:, -1] = IdBytes(ids).keys
        while start < len(ids):
            candidates, upto = self.store.find(view, keys, bands - 1, bands, _UNLIMITED, start, examine=_UNLIMITED)
            ends = candidates.ends
            if ends[upto] == ends[start]:
                start = upto
                continue
            for query in np.flatnonzero(np.diff(ends[start : upto + 1])).tolist():
                begin, end = candidates.ends[start + query : start + query + 2]
                places = candidates.places[begin:end].copy()
                # Of two, which there are while one is to replace the other, the later.
                for place in sorted(places[view.rows(places).which].tolist(), key=lambda place: place & int(WHERE)):
                    if view.item(place).id == ids[start + query]:
                        found[start + query] = place
            start = upto
        return found

    def ids(self) -> list[str | int]:
        """The ids of all items, in the order in which they came."""
        return [
            view.item(place).id for view, places in self.store.walk()
            for place in places[view.rows(places).which].tolist()
        ]  # fmt: skip

    def store_text(self, own: TextLookup, id: str | int, payload: Any) -> None:
        """Store the text that was sketched last, in one step where that can be done."""
        name = id_bytes(id)
        if name is not None:
            told = b"" if payload is None else bytes_of_payloads([payload])[0].tobytes()
            assert isinstance(self.store, LogStore)
            with self.lock:
                if self.store.add_text(own, name, told, time.time_ns() // 1_000_000):
                    return
        self.store_new(Prepared([id], IdBytes([id]), own.encoded(), bytes_of_payloads([payload])))

    @property
    def position(self) -> int | None:
        """Where the next item is going to be, as places tell it; None where nobody knows."""
        return self.store.position if isinstance(self.store, LogStore) else None

    def store_new(
        self, new: Prepared, *, replacing: bool = False, after: VolumeView | None = None, since: int | None = None
    ) -> None:
        """Store items that are prepared; with `after` only if nothing like them has come since that view was taken.

        Those that were stored from the position `since` on belong to the same collection: an id may not come again.
        """
        ids, names, encoded, (payload_bytes, payload_starts) = new
        keys = encoded.keys
        if keys.shape[1] == self.kind.codec.bands:
            keys = np.concatenate([keys, names.keys[:, None]], axis=1)
        else:
            keys[:, -1] = names.keys
        now = time.time_ns() // 1_000_000
        items = NewItems(
            names.bytes, names.starts, names.integers, payload_bytes, payload_starts, encoded.rows, encoded.row_starts,
            encoded.sizes, np.array([now] * len(ids)), keys, encoded.signatures,
        )  # fmt: skip
        with self.lock:
            if len(ids) > 1 and len(set(ids)) < len(ids):
                twice = next(each for position, each in enumerate(ids) if each in ids[:position])
                raise given_twice(twice)
            while not self._stored(items, ids, replacing, after, since):
                pass

    def _stored(
        self, items: NewItems, ids: list[Any], replacing: bool, after: VolumeView | None, since: int | None
    ) -> bool:
        """Store items under ids of which none may be taken, or some be replaced; False if somebody else was faster."""
        view = self.store.view() if after is None else after
        # A shared store looks at ids itself. It stores what comes before one that is taken, so many are looked at.
        looked_up = replacing or len(ids) > 1 or not self.store.is_shared
        there = self.places_of_ids(ids, view, items.keys) if looked_up else []
        if since is not None:
            for each, place in zip(ids, there, strict=True):
                if place is not None and place & int(WHERE) >= since:
                    raise given_twice(each)
        if not replacing and any(place is not None for place in there):
            raise _taken(next(each for each, place in zip(ids, there, strict=True) if place is not None))
        old = [place for place in there if place is not None]
        try:
            self.store.add(items, view, np.array(old, np.uint64) if old else None, alone=after is not None)
        except IdTakenError as error:
            if not replacing:
                raise _taken(ids[error.position]) from None
            return False
        except OutrunError:
            if after is not None:
                raise
            return False
        return True


def given_twice(id: Any) -> InputError:
    """What is said where two items of one collection have one id."""
    return InputError(f"the id {id!r} is repeated")


def _taken(id: Any) -> InputError:
    return InputError(f"the id {id!r} exists already: use replace (--replace)")
