"""One text stored in one call leaves the same bytes as the general way, which is its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lookalike import Index, InputError
from lookalike.index import log_sizes
from tests.stored_records import log_of


def texts(count: int) -> list[str]:
    rng = np.random.default_rng(5)
    words = np.array([f"w{i}" for i in range(500)] + ["ä", "日本", "ŋ"])
    return [" ".join(rng.choice(words, int(rng.integers(1, 120)))) for _ in range(count)]


def state(index: Index) -> list[Any]:
    """All that is stored: logs, tables and segments as they are, but for what a table has no item for."""
    view = log_of(index).view()
    table = view.table
    assert table is not None
    count = table.count
    return [
        {number: volume.data[: volume.end].tobytes() for number, volume in view.volumes.items()},
        [segment.data.tobytes() for segment in view.segments],
        [part[:count].tobytes() for part in (table.keys, table.places, table.signatures, table.following)],
        table.heads.tobytes(),
        len(index),
    ]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still, and tables and volumes are soon full."""
    monkeypatch.setattr("lookalike.index.storing.time.time_ns", lambda: 1_700_000_000_000_000_000)
    monkeypatch.setattr(log_sizes, "FIRST_TABLE", 16)
    monkeypatch.setattr(log_sizes, "LAST_TABLE", 32)
    monkeypatch.setattr(log_sizes, "FIRST_VOLUME", 1 << 13)


def test_the_same_bytes_as_by_the_general_way(stopped: None) -> None:
    fast, plain = Index.create(shingle="word:2"), Index.create(shingle="word:2")
    names: list[Any] = [f"id {i}" if i % 2 else i - 20 for i in range(90)]
    for name, text in zip(names, texts(90), strict=True):
        payload = {"n": name} if name != 3 else None
        fast.add(name, text, payload)
        plain.add_many([(name, text, payload)])
        log_of(fast).settle()
        log_of(plain).settle()
        assert state(fast) == state(plain)


def test_an_id_that_is_there_is_refused_and_one_that_was_removed_is_not(stopped: None) -> None:
    index = Index.create(shingle="word:2")
    for number, text in enumerate(texts(40)):
        index.add(number, text)
    for taken in (0, 39):
        with pytest.raises(InputError, match="already"):
            index.add(taken, "one more text of some words")
    index.add("0", "one more text of some words")
    index.remove(0)
    index.add(0, "and another text of some words")
    assert index.query("and another text of some words")[0].id == 0
    assert len(index) == 41


def test_a_text_that_is_too_long_for_a_volume_gets_one_of_its_own(stopped: None) -> None:
    index = Index.create(shingle="word:2")
    index.add("short", "a text of some words")
    long = " ".join(f"word{i}" for i in range(6_000))
    index.add("long", long)
    assert index.query(long)[0].id == "long"
    assert len(index) == 2
