"""An index in Redis, shared by any number of processes and machines, all of which may write (`redis_scripts.py`).

    find      one script for each query: looks into all bands, and returns the records of the candidates
    add       one script for each item: looks at the id, and enters the item everywhere
    remove    the record tells the keys, then one script: nothing happens if somebody else was faster

Scripts of many items travel together. Each is a step of its own, which is why nothing is lost where two add at once,
and why nothing needs a lock: whoever relies on what was looked at says so, and the script refuses if that has changed.

A record has a random part where that of a log says how much was on the disk. So an addition that is sent again, since
its answer was lost, finds the very same record and knows it for its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.errors import InputError, OutputError, UnavailableError
from lookalike.index.fetched_view import FetchedView
from lookalike.index.index_items import id_bytes
from lookalike.index.index_log import IndexLog, NewItems, VolumeView
from lookalike.index.records import append_records
from lookalike.index.redis_address import RedisAddress
from lookalike.index.redis_link import Again, Command, RedisLink
from lookalike.index.redis_scripts import (
    ADD,
    CHECK,
    CREATE,
    DESCRIBE,
    FIND,
    GONE_AWAY,
    LOAD,
    OUTRUN,
    RECORDS,
    REMOVE,
    TAKEN_ID,
    Script,
)
from lookalike.index.store import IdTakenError, OutrunError, Rekey
from lookalike.index.store_view import Candidates
from lookalike.io.checksums import seal, unseal
from lookalike.key import PUBLIC_KEY
from lookalike.spec import VERSION
from lookalike.types import I64Array, U64Array

__all__ = ["RedisStore", "create_in_redis", "find_in_redis"]

# The version of the layout of keys and records.
FORMAT = 1
# Queries, items and hashes of records that travel together.
_QUERIES, _ITEMS, _HASHES = 100, 200, 4
# Entries of long buckets that are looked at for one query. Redis does nothing else meanwhile: 10,000 take 2 to 4 ms.
_ENTRIES = 10_000
# What stands for the item to be replaced where there is none.
_NO_ITEM = ("", "", 0)
_HALF = np.uint64(32)
# Keys whose size is measured where it is asked what the index takes.
_SAMPLE = 20


@dataclass(slots=True)
class MadeIndex:
    """An index that is there: its connection, what tells it from another one of its name, what it says of itself."""

    link: RedisLink
    made: bytes
    about: bytes
    manifest: dict[str, Any]

    @property
    def description(self) -> dict[str, Any]:
        return dict(self.manifest["index"])

    def close(self) -> None:
        """Let go of the connection."""
        self.link.close()


def create_in_redis(path: str, description: dict[str, Any]) -> MadeIndex:
    """Make an empty index; one that is there is an error."""
    link = RedisLink(RedisAddress.parse(path))
    manifest = {"index": description, "bands": 0}
    made, about = secrets.token_hex(8).encode(), _sealed(manifest)
    try:
        if not link.run(CREATE, made, about):
            raise OutputError(f"{link.address.shown} already holds an index: open it, or choose another name")
        return MadeIndex(link, made, about, manifest)
    except BaseException:
        link.close()
        raise


def find_in_redis(path: str) -> MadeIndex:
    """The index at an address, which must be there."""
    link = RedisLink(RedisAddress.parse(path))
    try:
        made, about = link.send([("HMGET", f"{link.address.prefix}index", "made", "about")])[0]
        if made is None or about is None:
            raise InputError(
                f"there is no index at {link.address.shown}: make one with Index.create or lookalike index build"
            )
        return MadeIndex(link, made, about, _unsealed(link, about))
    except BaseException:
        link.close()
        raise


def _sealed(manifest: dict[str, Any]) -> bytes:
    return seal({"lookalike": __version__, "format": FORMAT, "spec": VERSION} | manifest).encode("ascii")


def _unsealed(link: RedisLink, about: bytes) -> dict[str, Any]:
    try:
        manifest = dict(unseal(about.decode("ascii")))
        versions = manifest["format"], manifest["spec"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{link.address.shown} is damaged: what it is cannot be read ({error})") from error
    words = ("the format of an index in Redis", "the hash specification")
    for word, found, here in zip(words, versions, (FORMAT, VERSION), strict=True):
        if found != here:
            raise InputError(f"{link.address.shown} has version {found} of {word}, and this reads version {here}")
    return manifest


class RedisStore:
    """One index in Redis. `rekey` makes the keys of stored items again, by which they are found to be removed."""

    is_shared = True
    # When Redis answers, an item is as safe as Redis is set up to make it.
    waits = False

    def __init__(self, found: MadeIndex, rekey: Rekey, *, readonly: bool = False) -> None:
        self.name = found.link.address.shown
        self._index, self._link, self._rekey, self.readonly = found, found.link, rekey, readonly

    # What there is.

    @property
    def description(self) -> dict[str, Any]:
        """What is known of the index itself; as long as that is little, Redis is asked."""
        if not self._index.manifest["bands"]:
            about = self._facts("about")[0]
            if about != self._index.about:
                self._index.manifest, self._index.about = _unsealed(self._link, about), about
        return self._index.description

    def describe(
        self, description: dict[str, Any], bands: int, signature_words: int, vector_words: int
    ) -> dict[str, Any]:
        """Say what the index is; what it is now, which is something else if somebody was faster."""
        self._check_writable()
        index = self._index
        if not index.manifest["bands"]:
            about = _sealed({"index": description, "bands": bands})
            found = self._answer(self._link.run(DESCRIBE, index.made, index.about, about))
            index.manifest, index.about = _unsealed(self._link, found), found
        return index.description

    @property
    def bands(self) -> int:
        return int(self._index.manifest["bands"])

    @property
    def items(self) -> int:
        return int(self._facts("items")[0])

    def _facts(self, *names: str) -> list[Any]:
        """What the index says of itself."""
        made, *found = list(self._link.send([("HMGET", self._key("index"), "made", *names)])[0])
        if made != self._index.made:
            raise self._gone()
        return found

    def sizes(self) -> dict[str, int]:
        """Bytes of all records, and of all buckets, estimated from some of their hashes."""
        most, nbytes = (int(each) for each in self._facts("most", "bytes"))
        count = 1 + most // LOAD
        commands: list[Command] = [
            ("MEMORY", "USAGE", self._key(f"b{band}:{at}"), "SAMPLES", 0)
            for band, at in enumerate(range(0, count, max(1, count // _SAMPLE)))
            if band < self.bands
        ]
        taken = [each for each in self._link.send(commands) if each is not None] if commands else []
        buckets = round(sum(taken) / len(taken) * count * self.bands) if taken else 0
        return {"stored_bytes": nbytes + buckets, "record_bytes": nbytes, "bucket_bytes": buckets}

    def check(self) -> None:
        """Raise what a query would meet, at once."""
        made = self._link.send([("HGET", self._key("index"), "made")], patient=False)[0]
        if made != self._index.made:
            raise self._gone()

    def view(self) -> FetchedView:
        """Nothing yet: what is fetched is put into it."""
        return FetchedView(self.name)

    def find(
        self, view: VolumeView, keys: U64Array, first: int, last: int, most: int, start: int = 0, *, examine: int
    ) -> tuple[Candidates, int]:
        """The candidates of some queries, fetched into the view: of each those in the most bands."""
        assert isinstance(view, FetchedView)
        upto = min(len(keys), start + _QUERIES)
        entries = most if examine >= most else min(most, max(examine, _ENTRIES))
        fields = _kept(keys[start:upto, first:last])
        answers = self._send([self._call(FIND, each, first, entries, examine) for each in fields])
        ends, left_out = np.zeros(len(keys) + 1, np.int64), np.zeros(len(keys), np.int64)
        numbers: list[int] = []
        records: list[bytes | None] = []
        for query, (given, missed, found, its) in enumerate(answers, start):
            view.asked(given)
            numbers += found
            # What is missing at the end is not told at all.
            records += its + [None] * (len(found) - len(its))
            ends[query + 1], left_out[query] = len(numbers), missed
        places = view.take_in(numbers, records)
        return Candidates(places, np.zeros(len(places), np.int64), ends, left_out), upto

    def everything(self, view: VolumeView) -> tuple[U64Array, I64Array]:
        """All items as candidates; all are fetched, once for a view."""
        places = self.every_place(view)
        return places, np.zeros(len(places), np.int64)

    def every_place(self, view: VolumeView) -> U64Array:
        """The places of all items."""
        assert isinstance(view, FetchedView)
        if view.everything is None:
            parts = [view.take_in(numbers, records) for numbers, records in self._records(view)]
            view.everything = np.concatenate([np.empty(0, np.uint64), *parts])
        return view.everything

    def walk(self) -> Iterator[tuple[FetchedView, U64Array]]:
        """All items in the order in which they came, some at a time."""
        for numbers, records in self._records():
            view = self.view()
            places = view.take_in(numbers, records)
            if len(places):
                yield view, places

    def _records(self, view: FetchedView | None = None) -> Iterator[tuple[list[int], list[bytes]]]:
        """The numbers and records of all items, also of those that come meanwhile."""
        done = 0
        while done < (given := int(self._facts("numbers")[0])):
            if view is not None:
                view.asked(given)
            for at in range(done // RECORDS, -(-given // RECORDS), _HASHES):
                found = self._link.send([("HGETALL", self._key(f"r{each}")) for each in range(at, at + _HASHES)])
                some = [
                    (RECORDS * (at + part) + int(name), its)
                    for part, each in enumerate(found)
                    for name, its in _pairs(each)
                ]
                # Those that came while these were read are read in the next turn.
                yield _apart(sorted(each for each in some if done <= each[0] < given))
            done = given

    # Adding and removing.

    def add(
        self, items: NewItems, view: VolumeView | None = None, replaced: U64Array | None = None, *, alone: bool = False
    ) -> None:
        """Store items; each is there, and as safe as Redis makes it, when this returns."""
        self._check_writable()
        IndexLog.check_room(items)
        old: dict[Any, tuple[Any, ...]] = {}
        if replaced is not None and len(replaced):
            assert view is not None
            # Each is replaced by the item with its id.
            names = [id_bytes(view.item(place).id) for place in replaced.tolist()]
            old = dict(zip(names, self._entered(view, replaced), strict=True))
        assert not alone or isinstance(view, FetchedView)
        since = view.since if alone and isinstance(view, FetchedView) and view.since is not None else ""
        fields = self._fields(items.keys)
        for begin in range(0, len(fields), _ITEMS):
            these = range(begin, min(begin + _ITEMS, len(fields)))
            calls = [
                self._call(ADD, *fields[each], _record(items, each), since, *old.get(_name(items, each), _NO_ITEM))
                for each in these
            ]  # fmt: skip
            answers = self._send(calls)
            if OUTRUN in answers:
                raise OutrunError
            if TAKEN_ID in answers:
                raise IdTakenError(begin + answers.index(TAKEN_ID))

    def _fields(self, keys: U64Array) -> list[tuple[bytes, int]]:
        """What is kept of the keys of each item, and the first band that it is entered in.

        Where nothing is looked up by keys they are 0, and the item is entered under its id alone.
        """
        kept = _kept(keys)
        if self.bands > 2:
            return [(each, 0) for each in kept]
        return [(each[4:], 1) if not key else (each, 0) for each, key in zip(kept, keys[:, 0].tolist(), strict=True)]

    def remove(self, view: VolumeView, places: U64Array) -> int:
        """Remove items; how many of them were still there."""
        self._check_writable()
        removed = 0
        for begin in range(0, len(places), _ITEMS):
            some = self._entered(view, places[begin : begin + _ITEMS])
            removed += sum(self._send([self._call(REMOVE, *each, 0) for each in some], lambda call: (*call[:-1], 1)))
        return removed

    def _entered(self, view: VolumeView, places: U64Array) -> list[tuple[int, bytes, int]]:
        """Where items are entered: their numbers, what is kept of their keys, and the first band."""
        keys, _ = self._rekey(self._index.description, view, places)
        return [(int(number), *each) for number, each in zip(view.identities(places), self._fields(keys), strict=True)]

    def commit(self) -> None:
        """What Redis has answered is as safe as it makes it."""

    # Looking after it.

    def compact(self) -> int:
        """What is removed takes no room."""
        return 0

    def damaged(self) -> list[str]:
        """What is not as it was written: records, and items that are not in all of their buckets."""
        found, stored, lost = [], 0, 0
        try:
            for view, places in self.walk():
                stored += len(places)
                entered = self._entered(view, places)
                listed = self._send([self._call(CHECK, *each) for each in entered])
                lost += sum(count < len(each[1]) // 4 for count, each in zip(listed, entered, strict=True))
        except InputError as error:
            return [str(error)]
        if lost:
            found.append(f"{lost:,} of {stored:,} items cannot be found by all of their keys")
        if not lost and stored != self.items:
            found.append(f"{stored:,} items are stored, and {self.items:,} are counted")
        return found

    def discard(self) -> None:
        """Remove the whole index, which was being made."""
        self._facts("items")
        keys: list[bytes] = []
        for key in self._link.scan(f"{self._link.address.prefix}*"):
            keys.append(key)
            if len(keys) == 1000:
                self._link.send([("UNLINK", *keys)])
                keys = []
        if keys:
            self._link.send([("UNLINK", *keys)])

    def close(self) -> None:
        """Let go of all connections."""
        self._link.close()

    def _key(self, rest: str) -> str:
        return self._link.address.prefix + rest

    def _call(self, script: Script, *arguments: Any) -> Command:
        return self._link.script(script, self._index.made, self.bands, *arguments)

    def _send(self, calls: list[Command], again: Again = None) -> list[Any]:
        return [self._answer(each) for each in self._link.send(calls, again)]

    def _answer(self, answer: Any) -> Any:
        if answer == GONE_AWAY:
            raise self._gone()
        return answer

    def _gone(self) -> UnavailableError:
        return UnavailableError(f"the index at {self.name} no longer exists: Redis has lost it, or it was made anew")

    def _check_writable(self) -> None:
        if self.readonly:
            raise OutputError(f"{self.name} is opened read-only")


def _kept(keys: U64Array) -> list[bytes]:
    """The upper four bytes of the keys of each item, one band after another."""
    kept = np.ascontiguousarray(keys >> _HALF).astype("<u4")
    return [each.tobytes() for each in kept]


def _name(items: NewItems, which: int) -> tuple[bytes, int]:
    """The id of an item, as `id_bytes` has it."""
    begin, end = items.id_starts[which : which + 2]
    return items.ids[begin:end].tobytes(), int(items.integers[which])


def _record(items: NewItems, item: int) -> bytes:
    """The record of an item, as one that begins volume 0, with a random part."""
    data = np.zeros(IndexLog.room_for(items, item) + 64, np.uint8)
    state, places = np.array([0, secrets.randbits(32) << 3], np.int64), np.empty(item + 1, np.uint64)
    append_records(
        data, state, 0, item, items.times, PUBLIC_KEY, items.ids, items.id_starts, items.integers, items.payloads,
        items.payload_starts, items.rows, items.row_starts, items.sizes[: item + 1], places,
    )  # fmt: skip
    return data[: int(state[0])].tobytes()


def _pairs(answer: Any) -> Iterator[tuple[bytes, bytes]]:
    """Fields and values, which one version of the protocol tells as a list and another as a dict."""
    if isinstance(answer, dict):
        yield from answer.items()
    else:
        yield from zip(answer[::2], answer[1::2], strict=True)


def _apart(pairs: list[tuple[int, bytes]]) -> tuple[list[int], list[bytes]]:
    return [number for number, _ in pairs], [record for _, record in pairs]
