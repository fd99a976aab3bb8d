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
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import numpy as np

from lookalike.config import make_config
from lookalike.errors import InputError, LookalikeError, OutputError
from lookalike.index.answers import Answer, Match, Near
from lookalike.index.asking import BATCH, EXAMINED, Asking
from lookalike.index.commits import Commits
from lookalike.index.index_certificate import IndexCertificate, certificate
from lookalike.index.index_folder import is_index
from lookalike.index.index_items import (
    IdBytes,
    batched,
    bytes_of_payloads,
    columns_of,
    payload_of,
)
from lookalike.index.index_log import VolumeView
from lookalike.index.index_options import check_same_options, index_config, moment_before, plain_options
from lookalike.index.index_probe import IndexProbe
from lookalike.index.log_store import LogStore
from lookalike.index.redis_address import is_redis, no_batch_run, shown_path
from lookalike.index.store import OutrunError, Rekey, Store
from lookalike.index.store_choice import MEMORY, create_store, existing_store
from lookalike.index.store_copy import back_up, merge_items
from lookalike.index.storing import Prepared, Storing
from lookalike.index.text_lookup import TextLookup
from lookalike.io.writing.atomic import atomic_folder
from lookalike.measures.sketch_batch import ItemSketches
from lookalike.options import CollectionOptions, IndexBuildOptions, IndexOptions
from lookalike.options.option_table import check_names, checked, entries, takes
from lookalike.recipe import Recipe
from lookalike.threads.ordered import ordered_map

__all__ = ["Answer", "Index", "Match", "Near"]

_UNLIMITED = 2**62


class Index:
    """An index of items; see `create`, `open` and `build`."""

    def __init__(
        self, open_store: Callable[[Rekey], Store], options: dict[str, Any], *, durable: bool = True
    ) -> None:  # fmt: skip
        self._options = options
        self._config = index_config(make_config(**options))
        self._closed = False
        self._storing = Storing(open_store, self._config)
        self._store = self._storing.store
        self._asking = Asking(self._store, self._storing.look, self._storing.sketch)
        self._commits = Commits(self._storing, durable=durable)

    # Making and opening.

    @classmethod
    @takes(IndexOptions)
    def create(cls, path: str | Path | None = None, *, durable: bool = True, **options: Unpack[IndexOptions]) -> Self:
        """A new, empty index in a folder, in Redis (`redis://host:port/0?name=seen`), or in memory.

        `durable` waits for the disk before an item counts as added; without it, what was added in the last seconds is
        lost when the machine stops, though not when the program does. Redis is as durable as it is set up to be.
        """
        check_names("an index", IndexOptions, options)
        values = checked(IndexOptions, options)
        config = index_config(make_config(**values))
        told = {name: value for name, value in values.items() if value is not None and name != "tokens"}
        if config.seed >= 2**64:
            told.pop("seed")
        description = {"options": plain_options(told), "recipe": None, "made": _now()}
        return cls(create_store(MEMORY if path is None else path, description).open, values, durable=durable)

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
            check_same_options(shown_path(path), kept, options, given)
            extra = {name: options[name] for name in ("tokens", "seed") if name in options}
            return cls(found.open, kept | extra, durable=durable)
        except BaseException:
            found.close()
            raise

    @classmethod
    @takes(IndexBuildOptions)
    def build(
        cls, path: str | Path | None, items: Any, *, durable: bool = True, payload: Sequence[str] = (),
        **options: Unpack[IndexBuildOptions],
    ) -> Self:  # fmt: skip
        """A new index of a collection: whatever `lookalike.pairs` takes, files of any size among them.

        Bands and rows are planned on the items, as for a batch run. Ids are those of the id column, or row numbers;
        the columns in `payload` are kept beside each item. With None for the path it is in memory.
        """
        from lookalike.index.bulk import add_collection

        check_names("an index", IndexBuildOptions, options)
        given = checked(IndexBuildOptions, options)
        making = {name: value for name, value in options.items() if name in entries(IndexOptions)}
        reading = {name: given[name] for name in entries(CollectionOptions)}
        if path is None or str(path) == MEMORY or is_redis(path):
            index = cls.create(path, **making)  # type: ignore[arg-type]
            try:
                add_collection(index, items, payload, reading, as_one=False)
            except BaseException:
                index._discard()
                raise
            return index
        if is_index(path):
            raise OutputError(
                f"{path} already holds an index: add to it (lookalike index add, Index.open), or choose another folder"
            )
        # It is there when it is whole, or not at all.
        with atomic_folder(path) as part, cls.create(part, durable=False, **making) as index:  # type: ignore[arg-type]
            add_collection(index, items, payload, reading, as_one=False)
        secret: dict[str, Any] = {name: given[name] for name in ("tokens", "seed") if name in options}
        return cls.open(path, durable=durable, **secret)

    @takes(CollectionOptions)
    def add_collection(
        self, items: Any, *, payload: Sequence[str] = (), replace: bool = False, **reading: Unpack[CollectionOptions]
    ) -> int:
        """Add all items of a collection; how many. See `build`.

        With `replace` items take the place of those with their ids. In a folder and in memory all are added, or,
        whatever ends it before, none (`as_one`); in Redis, what was added before it ended stays.
        """
        from lookalike.index.bulk import add_collection

        check_names("add_collection", CollectionOptions, reading)
        return add_collection(self, items, payload, checked(CollectionOptions, reading), replacing=replace)

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
        kind = self._storing.look()
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
        return self._storing.places_of_ids([id], view)[0]

    # Adding.

    def add(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Add an item under an id that is not there yet."""
        own = self._asking.lookup() if type(item) is str else None
        if own is None or not own.sketch(item):
            self._storing.store_new(self._storing.prepare([id], [item], [payload]))
        else:
            self._storing.store_text(own, id, payload)
        self._commits.commit()

    def add_many(self, items: Iterable[tuple[Any, ...]]) -> int:
        """Add items (id, item) or (id, item, payload); how many. What is added so far stays if one is wrong."""
        batches = batched(items, BATCH)
        if self._storing.look() is None:
            # The first item decides what all are.
            first = next(batches, [])
            if not first:
                return 0
            batches = itertools.chain([first], batches)
            self._storing.sketch([columns_of(first[:1])[1][0]], decide=True)
        added = 0
        try:
            for new in ordered_map(
                lambda batch: self._storing.prepare(*columns_of(batch)), batches, self._config.threads
            ):
                self._storing.store_new(new)
                added += len(new.ids)
        finally:
            if added:
                self._commits.commit()
        return added

    def replace(self, id: str | int, item: Any, payload: Any = None) -> None:
        """Put an item in the place of the one with this id, or add it."""
        self._storing.store_new(self._storing.prepare([id], [item], [payload]), replacing=True)
        self._commits.commit()

    def remove(self, id: str | int) -> None:
        """Remove the item with this id; a KeyError if there is none."""
        with self._storing.lock:
            removed = 0
            while not removed:
                view = self._store.view()
                place = self._place_of(id, view)
                if place is None:
                    raise KeyError(id)
                # Nothing is removed where somebody else has replaced it meanwhile.
                removed = self._store.remove(view, np.array([place], np.uint64))
        self._commits.commit()

    def expire(self, older_than: timedelta | datetime | float) -> int:
        """Remove what was added before a moment, or longer ago than a time (seconds, as a number); how many."""
        limit = moment_before(older_than)
        removed = 0
        with self._storing.lock:
            for view, places in self._store.walk():
                old = places[view.times(places) < limit]
                if len(old):
                    removed += self._store.remove(view, old)
        if removed:
            self._commits.commit()
        return removed

    def together(self) -> contextlib.AbstractContextManager[None]:
        """What is added and removed inside waits for the disk once, at the end, instead of each time."""
        return self._commits.together()

    def as_one(self, token: str = "") -> contextlib.AbstractContextManager[None]:
        """What is added inside is there as a whole, or, whatever ends it before, not at all.

        Other threads that write wait meanwhile; inside of another such block it is part of that one. After a crash it
        is taken back by the next process that opens the index to write; until then it is found. By the token a run that
        is repeated knows what it added itself, see `known`.
        """
        return self._commits.as_one(self._log(), token)

    def known(self, token: str = "") -> IndexProbe:
        """Its items as a batch run compares with them; those of the last bundle of this token are passed over."""
        kind = self._storing.look()
        if kind is None:
            raise InputError(f"{self.name} has no items yet: there is nothing to compare with")
        return IndexProbe(self._log(), kind, self.name, token)

    @property
    def storing(self) -> Storing:
        """How items are stored, for those who bring many (`bulk.py`, `index_run.py`)."""
        return self._storing

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
        found = None if size else self._storing.sketch([item], [id], decide=True)
        with self._storing.lock:
            if own is not None and size:
                answer = self._seen_text(own, id, payload)
            else:
                answer = self._seen(id, _given(found), payload)
        # What was found may have been added just now, and counts only when it is safe.
        self._commits.commit()
        return answer

    def _seen_text(self, own: TextLookup, id: str | int, payload: Any) -> Any:
        """The first match of the text that was sketched last, or None, and it was added."""
        match = self._asking.first_match_of_text(self._storing.kind, own)
        if match is None:
            self._storing.store_text(own, id, payload)
        return match

    def _seen(self, id: str | int, found: ItemSketches, payload: Any) -> Any:
        """The same for any item."""
        kind = self._storing.kind
        while True:
            view = self._store.view()
            match = self._asking.first_match(kind, found, view)
            if match is not None:
                return match
            new = Prepared([id], IdBytes([id]), kind.codec.encode(found), bytes_of_payloads([payload]))
            # Where something has come meanwhile that may be like it, that is looked at, too.
            with contextlib.suppress(OutrunError):
                self._storing.store_new(new, after=view)
                return None

    # Looking after it.

    def compact(self) -> int:
        """Give back the room of what was removed, and merge what should be one; how many bytes were given back."""
        with self._storing.lock:
            return self._store.compact()

    def backup(self, path: str | Path) -> None:
        """Make a copy in a folder; others may add and look things up meanwhile.

        Of a folder it is a copy of this moment. From Redis items are fetched one after another: what is there all the
        time is in the copy, what comes or goes meanwhile may be.
        """
        back_up(self._storing, self._config, path)

    def merge(self, other: Index) -> int:
        """Add all items of another index, which must have been made with the same options; how many.

        An id that both have is an error, and nothing is added.
        """
        added = merge_items(self._storing, other._storing)
        if added:
            self._commits.commit()
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
        kind = self._storing.look()
        if kind is None or not len(chosen):
            return IndexCertificate(len(places), damaged, 0, 0, 0, None, None, None)
        searching = self._asking.searching(kind)
        return certificate(view, kind.codec, searching, len(places), chosen, damaged, kind.scale)

    def stats(self) -> dict[str, Any]:
        """What the index is and what it takes."""
        sizes = self._store.sizes()
        kind = self._storing.look()
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


def _given(found: ItemSketches | None) -> ItemSketches:
    assert found is not None
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
