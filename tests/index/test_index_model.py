"""Random operations on an index, openings and mergings in between, against a dict and plain comparison."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lookalike import Index, InputError
from lookalike.index import log_sizes
from tests.redis_server import RedisServer
from tests.reference.sets import jaccard

pytestmark = pytest.mark.no_cover

THRESHOLD = 0.5
# Few elements and few ids, so that much is alike, identical, taken or gone.
ids = st.one_of(st.integers(0, 25), st.sampled_from("abcdefgh"))
items = st.frozensets(st.integers(0, 12), max_size=8)
SMALL = {"FIRST_TABLE": 4, "LAST_TABLE": 16, "FIRST_VOLUME": 1 << 12, "LAST_VOLUME": 1 << 12, "LEFT_IN_LOG": 2}


class IndexMachine(RuleBasedStateMachine):
    """An index with 200 bands of one row, which miss a pair at 0.5 once in 10⁶⁰, and a dict that says what is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.before = {name: getattr(log_sizes, name) for name in SMALL}
        for name, value in SMALL.items():
            setattr(log_sizes, name, value)
        self.held: dict[Any, tuple[frozenset[int], Any]] = {}

    def place(self, kept: bool) -> str | Path | None:
        return self.folder / "seen.idx" if kept else None

    @initialize(kept=st.booleans())
    def begin(self, kept: bool) -> None:
        self.path = self.place(kept)
        where = ":memory:" if self.path is None else self.path
        self.index = Index.create(where, measure="jaccard", threshold=THRESHOLD, bands=200, rows=1, durable=False)
        # What the items are is known from the first, and an empty one tells nothing.
        self.index.add("first", {1, 2, 3})
        self.held["first"] = (frozenset({1, 2, 3}), None)
        self.copies = 0

    def matches(self, item: frozenset[int]) -> dict[Any, float]:
        found = {}
        for name, (other, _) in self.held.items():
            score = 1.0 if not item and not other else float(jaccard(item, other))
            if score >= THRESHOLD:
                found[name] = score
        return found

    @rule(name=ids, item=items, payload=st.one_of(st.none(), st.integers(), st.text(max_size=5)))
    def add(self, name: Any, item: frozenset[int], payload: Any) -> None:
        if name in self.held:
            with pytest.raises(InputError, match="exists already"):
                self.index.add(name, set(item), payload)
        else:
            self.index.add(name, set(item), payload)
            self.held[name] = (item, payload)

    @rule(some=st.dictionaries(ids, items, max_size=6))
    def add_many(self, some: dict[Any, frozenset[int]]) -> None:
        fresh = {name: item for name, item in some.items() if name not in self.held}
        assert self.index.add_many((name, set(item)) for name, item in fresh.items()) == len(fresh)
        self.held |= {name: (item, None) for name, item in fresh.items()}

    @rule(name=ids, item=items)
    def replace(self, name: Any, item: frozenset[int]) -> None:
        self.index.replace(name, set(item), "replaced")
        self.held.pop(name, None)
        self.held[name] = (item, "replaced")

    @rule(name=ids)
    def remove(self, name: Any) -> None:
        if name in self.held:
            self.index.remove(name)
            del self.held[name]
        else:
            with pytest.raises(KeyError):
                self.index.remove(name)

    @rule(name=ids, item=items)
    def seen(self, name: Any, item: frozenset[int]) -> None:
        expected = self.matches(item)
        if name in self.held and not expected:
            with pytest.raises(InputError, match="exists already"):
                self.index.seen(name, set(item))
            return
        match = self.index.seen(name, set(item))
        if expected:
            assert match.similarity == expected[match.id]
        else:
            assert match is None
            self.held[name] = (item, None)

    @rule(item=items, threshold=st.sampled_from([None, 0.5, 0.75, 1.0]), k=st.sampled_from([None, 1, 3]))
    def query(self, item: frozenset[int], threshold: float | None, k: int | None) -> None:
        wanted = {name: score for name, score in self.matches(item).items() if score >= (threshold or 0.0)}
        answer = self.index.query(set(item), threshold, k)
        scores = [match.similarity for match in answer]
        assert scores == sorted(wanted.values(), reverse=True)[:k]
        assert all(wanted[match.id] == match.similarity for match in answer)
        assert all(match.payload == self.held[match.id][1] for match in answer)

    @rule()
    def compact(self) -> None:
        self.index.compact()

    @precondition(lambda self: self.path is not None)
    @rule()
    def open_again(self) -> None:
        self.index.close()
        self.index = Index.open(self.path or "", durable=False)

    @precondition(lambda self: self.path is not None)
    @rule()
    def go_on_with_a_backup(self) -> None:
        self.copies += 1
        path = self.folder / f"copy{self.copies}.idx"
        self.index.backup(path)
        self.index.close()
        self.path = path
        self.index = Index.open(path, durable=False)

    @precondition(lambda self: self.path is not None)
    @rule(item=items)
    def ask_a_reader(self, item: frozenset[int]) -> None:
        with Index.open(self.path or "", readonly=True) as reader:
            assert {match.id: match.similarity for match in reader.query(set(item))} == self.matches(item)
            assert len(reader) == len(self.held)

    @rule()
    def expire_nothing(self) -> None:
        assert self.index.expire(3600) == 0

    @invariant()
    def the_same_items_are_there(self) -> None:
        assert len(self.index) == len(self.held)
        assert set(self.index) == set(self.held)

    def teardown(self) -> None:
        try:
            if hasattr(self, "index"):
                assert self.index.verify().sound
                self.index.close()
        finally:
            for name, value in self.before.items():
                setattr(log_sizes, name, value)
            shutil.rmtree(self.folder)


IndexMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
TestIndex = IndexMachine.TestCase


class RedisMachine(IndexMachine):
    """The same in Redis, until it goes on with a backup, which is a folder."""

    server: RedisServer

    def place(self, kept: bool) -> str:
        return self.server.address()


class TestRedisIndex(RedisMachine.TestCase):  # type: ignore[misc, valid-type]
    """Few examples: each step is some round trips."""

    settings = settings(IndexMachine.TestCase.settings, max_examples=8, stateful_step_count=40)

    @pytest.fixture(autouse=True)
    def server(self, redis_server: RedisServer) -> None:
        RedisMachine.server = redis_server
