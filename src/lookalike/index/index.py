"""`Index`: items that are looked up, judged and added one by one, kept in a folder, in Redis, or in memory.

    with Index.create("seen.idx", threshold=0.8) as index:
        index.add("a", "the cat sat on the mat")
        index.query("The cat sat on the mat!")      [Match(id='a', similarity=1.0, payload=None)]

An index is made for one recipe (`recipe.py`): measure, shingles, bands, rows and seed are kept in it, so the same items
have the same bits as in a batch run, and the same chance to be found. It is known when the first item comes, since that
tells what the items are.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
import pyarrow as pa

from lookalike.config import Config, make_config
from lookalike.errors import InputError, LookalikeError, OptionError, OutputError
from lookalike.index.answers import Answer, Match, Near
from lookalike.index.asking import BATCH, EXAMINED, Asking
from lookalike.index.index_certificate import IndexCertificate, certificate
from lookalike.index.index_folder import FolderMedium, is_index, lay_out
from lookalike.index.index_items import (
    IdBytes,
    batched,
    bytes_of_payloads,
    check_form,
    columns_of,
    id_bytes,
    payload_of,
    values_of,
)
from lookalike.index.index_log import NewItems, VolumeView
from lookalike.index.index_probe import IndexProbe
from lookalike.index.item_kind import ItemKind, decided_recipe, told_recipe
from lookalike.index.log_store import LogStore, new_manifest
from lookalike.index.redis_address import is_redis, no_batch_run, shown_path
from lookalike.index.row_codec import EncodedItems
from lookalike.index.store import IdTakenError, OutrunError, Rekey, Store
from lookalike.index.store_choice import MEMORY, create_store, existing_store
from lookalike.index.store_copy import copy_store
from lookalike.index.text_lookup import TextLookup
from lookalike.io.writing.atomic import atomic_folder
from lookalike.key import seed_shown
from lookalike.measures.sketch_batch import ItemSketches, sketch_batch
from lookalike.options import CollectionOptions, IndexBuildOptions, IndexOptions
from lookalike.options.option_table import check_names, checked, entries, takes
from lookalike.recipe import Recipe
from lookalike.threads.ordered import ordered_map
from lookalike.types import I64Array, U8Array, U64Array

__all__ = ["Answer", "Index", "Match", "Near"]

_UNLIMITED = 2**62


class Prepared(NamedTuple):
    """Items as they are stored: ids, as given and as bytes; rows and keys; payloads, and where each begins."""

    ids: list[Any]
    names: IdBytes
    encoded: EncodedItems
    payloads: tuple[U8Array, I64Array]


class Index:
    """An index of items; see `create`, `open` and `build`."""

    def __init__(
        self, open_store: Callable[[Rekey], Store], options: dict[str, Any], *, durable: bool = True
    ) -> None:  # fmt: skip
        self._options = options
        self._config = make_config(**options)
        self._kind: ItemKind | None = None
        self._waiting = threading.local()
        self._closed = False
        self._store = open_store(self._rekey)
        self._asking = Asking(self._store, self._look, self._sketched)
        self._durable = durable and self._store.waits
        # A shared store does not let a write through that relies on what has changed, and needs no turns.
        self._lock: contextlib.AbstractContextManager[Any] = (
            contextlib.nullcontext() if self._store.is_shared else threading.RLock()
        )

    # Making and opening.

    @classmethod
    @takes(IndexOptions)
    def create(cls, path: str | Path = MEMORY, *, durable: bool = True, **options: Unpack[IndexOptions]) -> Self:
        """A new, empty index in a folder, in Redis (`redis://host:port/0?name=seen`), or in memory.

        `durable` waits for the disk before an item counts as added; without it, what was added in the last seconds is
        lost when the machine stops, though not when the program does. Redis is as durable as it is set up to be.
        """
        check_names("an index", IndexOptions, options)
        values = checked(IndexOptions, options)
        config = make_config(**values)
        _check_config(config)
        told = {name: value for name, value in values.items() if value is not None and name != "tokens"}
        if config.seed >= 2**64:
            told.pop("seed")
        description = {"options": _plain(told), "recipe": None, "made": _now()}
        return cls(create_store(path, description).open, values, durable=durable)

    @classmethod
    def open(
        cls, path: str | Path, *, readonly: bool = False, wait: float = 0.0, durable: bool = True, **options: Any
    ) -> Self:  # fmt: skip
        """The index in a folder or in Redis, to add to it and to look things up, or only for the latter.

        To a folder one process writes at a time: another one waits for so many seconds and then gives up. Options that
        are given must be those that the index was made with; a secret seed and a function for tokens have to be given.
        """
        check_names("an index", IndexOptions, options)
        found = existing_store(path, readonly=readonly, wait=wait)
        try:
            kept = found.description["options"]
            given = checked(IndexOptions, options)
            for name in options:
                if name != "tokens" and name in kept and _plain({name: given[name]})[name] != kept[name]:
                    told = seed_shown(given[name]) if name == "seed" else given[name]
                    raise OptionError(f"{shown_path(path)} was made with {name}={kept[name]!r}, and {told!r} was given")
            extra = {name: options[name] for name in ("tokens", "seed") if name in options}
            return cls(found.open, kept | extra, durable=durable)
        except BaseException:
            found.close()
            raise

    @classmethod
    @takes(IndexBuildOptions)
    def build(
        cls, path: str | Path, items: Any, *, durable: bool = True, payload: Sequence[str] = (),
        **options: Unpack[IndexBuildOptions],
    ) -> Self:  # fmt: skip
        """A new index of a collection: whatever `lookalike.pairs` takes, files of any size among them.

        Bands and rows are planned on the items, as for a batch run. Ids are those of the id column, or row numbers;
        the columns in `payload` are kept beside each item.
        """
        check_names("an index", IndexBuildOptions, options)
        given = checked(IndexBuildOptions, options)
        making = {name: value for name, value in options.items() if name in entries(IndexOptions)}
        reading = {name: given[name] for name in entries(CollectionOptions)}
        if str(path) == MEMORY or is_redis(path):
            index = cls.create(path, **making)  # type: ignore[arg-type]
            try:
                index.add_collection(items, payload=payload, **reading)
            except BaseException:
                index._discard()
                raise
            return index
        if is_index(path):
            raise OutputError(f"{path} is an index already: open it, or choose another folder")
        # It is there when it is whole, or not at all.
        with atomic_folder(path) as part, cls.create(part, durable=False, **making) as index:  # type: ignore[arg-type]
            index.add_collection(items, payload=payload, **reading)
        secret: dict[str, Any] = {name: given[name] for name in ("tokens", "seed") if name in options}
        return cls.open(path, durable=durable, **secret)

    @takes(CollectionOptions)
    def add_collection(self, items: Any, *, payload: Sequence[str] = (), **reading: Unpack[CollectionOptions]) -> int:
        """Add all items of a collection; how many. See `build`."""
        from lookalike.index.bulk import add_collection

        check_names("add_collection", CollectionOptions, reading)
        return add_collection(self, items, payload, checked(CollectionOptions, reading))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave everything on the disk and let go of it."""
        if not self._closed:
            self._closed = True
            self._store.close()

    def _discard(self) -> None:
        """Leave nothing of an index that could not be built; that it cannot be must not hide what went wrong."""
        with contextlib.suppress(LookalikeError):
            self._store.discard()
        self.close()

    def _rekey(self, told: dict[str, Any], view: VolumeView, places: U64Array) -> tuple[U64Array, U64Array]:
        return self._kind_told(told).rekey(view, places)

    def _kind_told(self, told: dict[str, Any]) -> ItemKind:
        """What the manifest says the items are."""
        if self._kind is None:
            self._kind = ItemKind(told_recipe(told["recipe"], self._config), self._config)
        return self._kind

    def _look(self) -> ItemKind | None:
        """What the items are; a reader learns it when another process has added the first one."""
        if self._kind is None:
            self._store.view()
            told = self._store.description
            return None if told["recipe"] is None else self._kind_told(told)
        return self._kind

    def _known(self) -> ItemKind:
        kind = self._look()
        assert kind is not None, "what the items are is known"
        return kind

    # What it is.

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write to it at the same time, on this machine or another."""
        return self._store.is_shared

    def check(self) -> None:
        """Raise the error that a query would meet, without trying for long."""
        self._store.check()

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with."""
        return {name: value for name, value in self._options.items() if value is not None}

    @property
    def recipe(self) -> Recipe | None:
        """What decides the bits of its sketches; None while there was no item."""
        kind = self._look()
        return None if kind is None else kind.recipe

    def __len__(self) -> int:
        return self._store.items

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str | int) and self._place_of(id, self._store.view()) is not None

    def __iter__(self) -> Iterator[str | int]:
        """The ids, in the order in which they came."""
        for view, places in self._store.walk():
            for place in places[view.rows(places).which].tolist():
                yield view.item(place).id

    def get(self, id: str | int) -> Any:
        """The payload of an item, and None where it has none."""
        view = self._store.view()
        place = self._place_of(id, view)
        if place is None:
            raise KeyError(id)
        return payload_of(view.item(place).payload)

    def _place_of(self, id: str | int, view: VolumeView) -> int | None:
        return self.places_of_ids([id], view)[0]

    def places_of_ids(
        self, ids: Sequence[str | int], view: VolumeView, keys: U64Array | None = None
    ) -> list[int | None]:
        """Where in a view the items with these ids are; None for those that are not. The last key is that of the id."""
        found: list[int | None] = [None] * len(ids)
        if self._look() is None:
            return found
        bands, start = self._store.bands, 0
        if keys is None:
            keys = np.zeros((len(ids), bands), np.uint64)
            keys[:, -1] = IdBytes(ids).keys
        while start < len(ids):
            candidates, upto = self._store.find(view, keys, bands - 1, bands, _UNLIMITED, start, examine=_UNLIMITED)
            ends = candidates.ends
            if ends[upto] == ends[start]:
                start = upto
                continue
            for query in np.flatnonzero(np.diff(ends[start : upto + 1])).tolist():
                begin, end = candidates.ends[start + query : start + query + 2]
                places = candidates.places[begin:end].copy()
                for place in places[view.rows(places).which].tolist():
                    if view.item(place).id == ids[start + query]:
                        found[start + query] = place
            start = upto
        return found

    # Adding.

    def add(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Add an item under an id that is not there yet."""
        own = self._asking.lookup() if type(item) is str else None
        if own is None or not own.sketch(item):
            self.store_new(self._prepared([id], [item], [payload]))
        else:
            self._store_text(own, id, payload)
        self._commit()

    def add_many(self, items: Iterable[tuple[Any, ...]]) -> int:
        """Add items (id, item) or (id, item, payload); how many. What is added so far stays if one is wrong."""
        batches = batched(items, BATCH)
        if self._look() is None:
            # The first item decides what all are.
            first = next(batches, [])
            if not first:
                return 0
            batches = itertools.chain([first], batches)
            self._sketched([columns_of(first[:1])[1][0]], decide=True)
        added = 0
        try:
            for new in ordered_map(lambda batch: self._prepared(*columns_of(batch)), batches, self._config.threads):
                self.store_new(new)
                added += len(new.ids)
        finally:
            if added:
                self._commit()
        return added

    def replace(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Put an item in the place of the one with this id, or add it."""
        self.store_new(self._prepared([id], [item], [payload]), replacing=True)
        self._commit()

    def remove(self, id: str | int) -> None:
        """Remove the item with this id; a KeyError if there is none."""
        with self._lock:
            removed = 0
            while not removed:
                view = self._store.view()
                place = self._place_of(id, view)
                if place is None:
                    raise KeyError(id)
                # Nothing is removed where somebody else has replaced it meanwhile.
                removed = self._store.remove(view, np.array([place], np.uint64))
        self._commit()

    def expire(self, older_than: timedelta | datetime | float) -> int:
        """Remove what was added before a moment, or longer ago than a time (seconds, as a number); how many."""
        limit = _milliseconds(older_than)
        removed = 0
        with self._lock:
            for view, places in self._store.walk():
                old = places[view.times(places) < limit]
                if len(old):
                    removed += self._store.remove(view, old)
        if removed:
            self._commit()
        return removed

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """What is added and removed inside waits for the disk once, at the end, instead of each time."""
        before, self._waiting.inside = getattr(self._waiting, "inside", False), True
        try:
            yield
        except BaseException:
            self._waiting.inside = before
            # What was added before stays; that it cannot be kept must not hide what went wrong.
            with contextlib.suppress(OutputError):
                self._commit()
            raise
        self._waiting.inside = before
        self._commit()

    @contextlib.contextmanager
    def as_one(self, token: str = "") -> Iterator[None]:
        """What is added inside is there as a whole, or, whatever ends it before, not at all.

        Other threads that write wait meanwhile. After a crash it is taken back by the next process that opens the index
        to write; until then it is found. By the token a run that is repeated knows what it added itself, see `known`.
        """
        with self._lock:
            before, self._waiting.inside = getattr(self._waiting, "inside", False), True
            items = len(self)
            log = self._log()
            try:
                log.begin_bundle(token)
                yield
                log.end_bundle(len(self) - items)
            except BaseException:
                # What cannot be taken back now is when the index is opened again.
                with contextlib.suppress(OutputError):
                    log.take_back()
                raise
            finally:
                self._waiting.inside = before

    def known(self, token: str = "") -> IndexProbe:
        """Its items as a batch run compares with them; those of the last bundle of this token are passed over."""
        kind = self._look()
        if kind is None:
            raise InputError(f"{self.name} has no items yet: there is nothing to compare with")
        return IndexProbe(self._log(), kind, self.name, token)

    def view(self) -> VolumeView:
        """What can be looked at now."""
        return self._store.view()

    @property
    def name(self) -> str:
        """Where it is."""
        return self._store.name

    @property
    def readonly(self) -> bool:
        """Whether nothing can be added."""
        return self._store.readonly

    def _log(self) -> LogStore:
        """The store, for what only a folder and memory can do."""
        if not isinstance(self._store, LogStore):
            raise no_batch_run(self.name)
        return self._store

    def _commit(self) -> None:
        if self._durable and not getattr(self._waiting, "inside", False):
            self._store.commit()

    def _sketched(
        self, values: Sequence[Any], ids: Sequence[Any] | None = None, *, decide: bool = False
    ) -> ItemSketches:
        """Items as sketches; one that cannot be compared is an error. The first item may `decide` what all are."""
        field, column = values_of(list(values))
        if decide and self._look() is None:
            self._decide(field, column)
        check_form(field, self._known().recipe)
        return self.sketched(column, ids)

    def sketched(self, column: pa.Array, ids: Sequence[Any] | None = None) -> ItemSketches:
        """The sketches of items that are in an Arrow array, as this index has them."""
        found = sketch_batch(column, None, self._known().recipe, coded=True)
        if found.items.bad:
            at, why = found.items.bad[0]
            raise InputError(f"the item{'' if ids is None else f' {ids[at]!r}'} {why}")
        return found

    def _decide(self, field: pa.Field, column: pa.Array) -> None:
        """What the items are, now that the first one is here."""
        with self._lock:
            if self._look() is None:
                self.adopt(decided_recipe(field, column, self._config))

    def adopt(self, recipe: Recipe) -> None:
        """From now on items are like this."""
        kind = ItemKind(recipe, self._config)
        description = self._store.description | {"recipe": recipe.to_json()}
        codec = kind.codec
        told = self._store.describe(description, codec.bands + 1, codec.signature_words, codec.vector_words)
        # Where somebody else was faster, items are what that one says.
        self._kind = kind if told["recipe"] == description["recipe"] else None
        self._kind_told(told)

    def prepared(
        self, ids: list[Any], names: IdBytes, found: ItemSketches, payloads: tuple[U8Array, I64Array]
    ) -> Prepared:
        """Items that are sketched, as they are stored."""
        return Prepared(ids, names, self._known().codec.encode(found), payloads)

    def _prepared(self, ids: list[Any], values: list[Any], payloads: list[Any]) -> Prepared:
        """Items as they are stored."""
        names, found = IdBytes(ids), self._sketched(values, ids, decide=True)
        return Prepared(ids, names, self._known().codec.encode(found), bytes_of_payloads(payloads))

    def _store_text(self, own: TextLookup, id: str | int, payload: Any) -> None:
        """Store the text that was sketched last, in one step where that can be done."""
        name = id_bytes(id)
        if name is not None:
            told = b"" if payload is None else bytes_of_payloads([payload])[0].tobytes()
            assert isinstance(self._store, LogStore)
            with self._lock:
                if self._store.add_text(own, name, told, time.time_ns() // 1_000_000):
                    return
        self.store_new(Prepared([id], IdBytes([id]), own.encoded(), bytes_of_payloads([payload])))

    def store_new(self, new: Prepared, *, replacing: bool = False, after: VolumeView | None = None) -> None:
        """Store items that are prepared; with `after` only if nothing like them has come since that view was taken."""
        ids, names, encoded, (payload_bytes, payload_starts) = new
        keys = encoded.keys
        if keys.shape[1] == self._known().codec.bands:
            keys = np.concatenate([keys, names.keys[:, None]], axis=1)
        else:
            keys[:, -1] = names.keys
        now = time.time_ns() // 1_000_000
        items = NewItems(
            names.bytes, names.starts, names.integers, payload_bytes, payload_starts, encoded.rows, encoded.row_starts,
            encoded.sizes, np.array([now] * len(ids)), keys, encoded.signatures,
        )  # fmt: skip
        with self._lock:
            if len(ids) > 1 and len(set(ids)) < len(ids):
                twice = next(each for position, each in enumerate(ids) if each in ids[:position])
                raise InputError(f"the id {twice!r} is given twice")
            while not self._stored(items, ids, replacing, after):
                pass

    def _stored(self, items: NewItems, ids: list[Any], replacing: bool, after: VolumeView | None) -> bool:
        """Store items under ids of which none may be taken, or some be replaced; False if somebody else was faster."""
        view = self._store.view() if after is None else after
        # A shared store looks at ids itself. It stores what comes before one that is taken, so many are looked at.
        looked_up = replacing or len(ids) > 1 or not self._store.is_shared
        there = self.places_of_ids(ids, view, items.keys) if looked_up else []
        if not replacing and any(place is not None for place in there):
            raise _taken(next(each for each, place in zip(ids, there, strict=True) if place is not None))
        old = [place for place in there if place is not None]
        try:
            self._store.add(items, view, np.array(old, np.uint64) if old else None, alone=after is not None)
        except IdTakenError as error:
            if not replacing:
                raise _taken(ids[error.position]) from None
            return False
        except OutrunError:
            if after is not None:
                raise
            return False
        return True

    # Asking.

    def query(
        self, item: Any, threshold: float | None = None, k: int | None = None, *, examine: int | None = EXAMINED
    ) -> Answer:
        """The items that are like this one, with their exact similarities, best first.

        `threshold` asks for more than the index was made for; `k` for the best ones only. No more than `examine`
        candidates are compared, the likeliest (None for all): `left_out` of the answer tells how many were not.
        """
        return self._asking.query(item, threshold, k, examine)

    def query_many(
        self, items: Iterable[Any], threshold: float | None = None, k: int | None = None, *,
        examine: int | None = EXAMINED, threads: int | None = None,
    ) -> list[Answer]:  # fmt: skip
        """The same for many items at once."""
        return self._asking.query_many(items, threshold, k, examine, threads or self._config.threads)

    def nearest(
        self, item: Any, k: int = 10, threshold: float | None = None, *, recall: float = 0.95,
        examine: int | None = None,
    ) -> Answer:  # fmt: skip
        """The k items that are most like this one, however little that is, with their exact similarities, best first.

        An item that belongs among them is found with a chance of at least `recall`; 1 compares all. With a `threshold`
        only what reaches it is looked for, which may be any; where nothing is near, that saves most of the time. No
        more than `examine` items are compared, if that is given. What became of the chance is `recall` of the answer.
        """
        return self._asking.nearest(item, k, threshold, recall, examine)

    def seen(self, id: str | int, item: Any, payload: Any = None) -> Any:
        """The first match of an item, or None; then it was added, in one step with the look."""
        own = self._asking.lookup() if type(item) is str else None
        size = 0 if own is None else own.sketch(item)
        found = None if size else self._sketched([item], [id], decide=True)
        with self._lock:
            if own is not None and size:
                answer = self._seen_text(own, id, payload)
            else:
                answer = self._seen(id, _given(found), payload)
        # What was found may have been added just now, and counts only when it is safe.
        self._commit()
        return answer

    def _seen_text(self, own: TextLookup, id: str | int, payload: Any) -> Any:
        """The first match of the text that was sketched last, or None, and it was added."""
        match = self._asking.first_match_of_text(self._known(), own)
        if match is None:
            self._store_text(own, id, payload)
        return match

    def _seen(self, id: str | int, found: ItemSketches, payload: Any) -> Any:
        """The same for any item."""
        kind = self._known()
        while True:
            view = self._store.view()
            match = self._asking.first_match(kind, found, view)
            if match is not None:
                return match
            new = Prepared([id], IdBytes([id]), kind.codec.encode(found), bytes_of_payloads([payload]))
            # Where something has come meanwhile that may be like it, that is looked at, too.
            with contextlib.suppress(OutrunError):
                self.store_new(new, after=view)
                return None

    # Looking after it.

    def compact(self) -> int:
        """Give back the room of what was removed, and merge what should be one; how many bytes were given back."""
        with self._lock:
            return self._store.compact()

    def backup(self, path: str | Path) -> None:
        """Make a copy in a folder; others may add and look things up meanwhile.

        Of a folder it is a copy of this moment. From Redis items are fetched one after another: what is there all the
        time is in the copy, what comes or goes meanwhile may be.
        """
        if str(path) == MEMORY or is_redis(path):
            raise OptionError("a backup needs a folder")
        with atomic_folder(path) as part:
            description = self._store.description
            if not isinstance(self._store, LogStore):
                lay_out(part, new_manifest(description | {"recipe": None}))
                with type(self)(partial(LogStore, FolderMedium(part)), self._options, durable=False) as copy:
                    copy._take_over(self)
                return
            lay_out(part, new_manifest(description))
            medium = FolderMedium(part)
            try:
                copy_store(self._store, medium)
            finally:
                medium.close()

    def _take_over(self, other: Index) -> None:
        """Add all items of another one; of two with one id, which one that is replaced meanwhile leaves, the later."""
        recipe = other.recipe
        if recipe is None:
            return
        self.adopt(recipe)
        rekey = other._known().rekey
        for view, places in other._store.walk():
            ids = [view.item(place).id for place in places.tolist()]
            latest = sorted({each: number for number, each in enumerate(ids)}.values())
            there = self.places_of_ids([ids[number] for number in latest], self._store.view())
            old = np.array([place for place in there if place is not None], np.uint64)
            self._store.add(view.stored(places[latest], *rekey(view, places[latest])), replaced=old)

    def merge(self, other: Index) -> int:
        """Add all items of another index, which must have been made with the same options; how many.

        An id that both have is an error, and nothing is added.
        """
        mine, its = self.recipe, other.recipe
        if its is None:
            return 0
        if mine is None:
            self.adopt(its)
        elif mine != its:
            raise OptionError(f"the indexes were made in different ways: {mine} and {its}")
        with self._lock:
            there = list(other)
            known = self.places_of_ids(there, self._store.view())
            taken = [each for each, place in zip(there, known, strict=True) if place is not None]
            if taken:
                raise InputError(
                    f"both indexes have the id {taken[0]!r}" + f" and {len(taken) - 1:,} more" * (len(taken) > 1)
                )
            added, rekey = 0, other._known().rekey
            for view, places in other._store.walk():
                for begin in range(0, len(places), BATCH):
                    some = places[begin : begin + BATCH]
                    self._store.add(view.stored(some, *rekey(view, some)))
                    added += len(some)
        self._commit()
        return added

    def verify(self, sample: int = 500, *, seed: int = 0) -> IndexCertificate:
        """Check that everything is as it was written, and compare a sample of the items with all, exactly.

        What the sample's items match is counted twice, by looking at every item and by looking them up; the share that
        the second finds is the recall.
        """
        damaged = self._store.damaged()
        if damaged:
            return IndexCertificate(len(self), damaged, 0, 0, 0, None, None, None)
        view = self._store.view()
        places = self._store.every_place(view)
        chosen = np.sort(np.random.default_rng(seed).choice(places, min(sample, len(places)), replace=False))
        kind = self._look()
        if kind is None or not len(chosen):
            return IndexCertificate(len(places), damaged, 0, 0, 0, None, None, None)
        searching = self._asking.searching(kind)
        return certificate(view, kind.codec, searching, len(places), chosen, damaged, kind.scale)

    def stats(self) -> dict[str, Any]:
        """What the index is and what it takes."""
        sizes = self._store.sizes()
        kind = self._look()
        items = len(self)
        stored = sizes.pop("stored_bytes")
        return {
            "items": items,
            "measure": None if kind is None else kind.recipe.measure,
            "limit": None if kind is None else str(kind.scale),
            "recipe": None if kind is None else repr(kind.recipe),
            "bytes_per_item": round(stored / items, 1) if items else 0.0,
            **sizes,
        }


def _taken(id: Any) -> InputError:
    return InputError(f"the id {id!r} is there already: use replace to put another item in its place")


def _given(found: ItemSketches | None) -> ItemSketches:
    assert found is not None
    return found


def _check_config(config: Config) -> None:
    if config.max_share is not None:
        raise OptionError("max_share goes by how many documents have a shingle, which changes while items come")
    if config.weights not in (None, "count"):
        raise OptionError(
            f"weights={config.weights} go by how many documents have a shingle, which changes as items come: use count"
        )


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON has them."""
    told = {}
    for name, value in options.items():
        if name == "shingle" and value is not None:
            value = str(value)
        if name == "normalize" and value is not None and not isinstance(value, str):
            value = ",".join(value)
        told[name] = value
    return told


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _milliseconds(older_than: timedelta | datetime | float) -> int:
    """The moment before which items are too old."""
    if isinstance(older_than, datetime):
        return int(older_than.timestamp() * 1000)
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else float(older_than)
    if not seconds >= 0:
        raise OptionError(f"older_than is {older_than}: it must be a time, 0 or longer")
    return int((time.time() - seconds) * 1000)
