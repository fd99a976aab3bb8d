"""Long items: worked on one at a time, or refused with their place and what they would need."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lookalike
from lookalike.config import make_config
from lookalike.engines.local.pipeline import find
from lookalike.engines.local.room import Ceiling, Room, _resident, give_back_memory, items_at_once, peak_memory, weight
from lookalike.io import open_source
from lookalike.items.from_rows import open_items

LONG = "word " * 1_200_000


def test_an_item_that_cannot_fit_is_named_with_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "short"}\n{"text": "' + LONG + '"}\n')
    small = dataclasses.replace(make_config(threads=1), memory=10_000)
    with pytest.raises(lookalike.InputError, match=r"x\.jsonl row 1: the item holds 6 MB.*--memory.* about 0\.1 GB$"):
        find(open_source(path), small)
    run = find(open_source(path), dataclasses.replace(small, memory=120_000_000))
    assert run.counts.items == 2


def test_long_items_pass_one_at_a_time_and_short_ones_together(monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(["x" * 100, "y" * 100])
    batch = next(open_items(source, make_config()).batches())

    def together(memory: int) -> bool:
        """Whether a second batch gets in while the first is inside."""
        room, entered, known = Room(memory, 2), threading.Event(), threading.Event()
        lock = threading.Lock()

        @contextlib.contextmanager
        def announced() -> Iterator[None]:
            """The lock, which tells when somebody has to wait for it."""
            if not lock.acquire(blocking=False):
                known.set()
                lock.acquire()
            try:
                yield
            finally:
                lock.release()

        def second() -> None:
            with room.enter(batch, source):
                entered.set()
                known.set()

        monkeypatch.setattr(type(room), "_alone", property(lambda _: announced(), lambda *_: None), raising=False)
        thread = threading.Thread(target=second)
        with room.enter(batch, source):
            thread.start()
            assert known.wait(120)
            inside = entered.is_set()
        thread.join()
        assert entered.is_set()
        return inside

    assert together(1 << 30)
    assert not together(1000)


def test_sets_need_no_room_of_their_own() -> None:
    source = open_source([set(range(1000)), {1}])
    batch = next(open_items(source, make_config()).batches())
    with Room(1, 8).enter(batch, source):
        pass


def test_memory_is_looked_at_now_and_then_and_given_back_above_the_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = 100.0, []
    monkeypatch.setattr("lookalike.engines.local.room.give_back_memory", lambda above: asked.append(above))
    monkeypatch.setattr("lookalike.engines.local.room.time.monotonic", lambda: now)
    ceiling = Ceiling(1_000_000_000)
    ceiling.check()
    ceiling.check()
    assert asked == [1_200_000_000]
    now = 101.0
    ceiling.check()
    assert len(asked) == 2


def test_memory_is_kept_below_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr("lookalike.engines.local.room.ctypes.CDLL", lambda name: given.append(name))
    monkeypatch.setattr("lookalike.engines.local.room._resident", lambda: 500)
    give_back_memory(above=500)
    assert not given
    give_back_memory(above=499)
    give_back_memory()
    assert len(given) == 2


def test_the_memory_of_the_process_is_known_on_linux() -> None:
    if Path("/proc/self/statm").exists():
        assert _resident() > 10_000_000


def test_batches_have_fewer_items_where_each_takes_more_and_never_none() -> None:
    assert items_at_once(100_000_000, 1, 1000) == 6250
    assert items_at_once(100_000_000, 1, 2000) == 3125
    assert items_at_once(1 << 40, 1, 1000) == (32 << 20) // 1000
    assert items_at_once(1, 8, 10**9) == 1


def test_what_an_item_takes_whatever_its_length_counts_in_the_weight_of_a_piece() -> None:
    (piece,) = open_items(open_source(["a b", "c d"]), make_config()).pieces()
    assert weight(piece, each=1000) == weight(piece) + 2000


def test_the_peak_of_a_process_is_its_own_and_not_that_of_the_one_it_was_started_by() -> None:
    if not Path("/proc/self/status").exists():
        return
    large = np.ones(400_000_000, np.uint8)
    assert peak_memory() > len(large)
    code = "from lookalike.engines.local.room import peak_memory; print(peak_memory())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(told) < len(large)
