"""Sketches held, spilled and resumed answer alike: as plain arrays of all items would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookalike.engines.local.store.array_file import Arrays
from lookalike.engines.local.store.sketches import SketchBatch, Sketches
from lookalike.engines.local.store.work_folder import Work
from lookalike.types import I64Array, U32Array, U64Array
from tests.reference import buckets as twin

BANDS = 64
# A chunk is a megabyte at least: 66 words of 8 bytes each make one of 1,986 items.
SIZES = (700, 1, 2500, 0, 900, 1300, 40)
ITEMS = sum(SIZES)
TOP = 2**64 - 1
LARGE = 1 << 30
TINY = 1


class All:
    """What all sketches hold together."""

    def __init__(self) -> None:
        rng = np.random.default_rng(17)
        self.fingerprints: U64Array = rng.integers(0, TOP, (2, ITEMS), dtype=np.uint64, endpoint=True)
        self.keys: U64Array = rng.integers(0, TOP, (BANDS, ITEMS), dtype=np.uint64, endpoint=True)
        self.sizes: U32Array = rng.integers(0, 50, ITEMS, dtype=np.uint32)
        self.lengths: I64Array = rng.integers(0, 500, ITEMS)
        self.rows: I64Array = np.arange(ITEMS) // 2

    def batches(self, *, small: bool = True) -> Iterator[SketchBatch]:
        ends = np.cumsum(SIZES)
        for first, end in zip([0, *ends[:-1]], ends, strict=True):
            part = slice(int(first), int(end))
            lengths, rows = (self.lengths[part], self.rows[part]) if small else (None, None)
            yield SketchBatch(self.fingerprints[:, part], self.keys[:, part], self.sizes[part], lengths, rows)


WHOLE = All()


def nothing() -> tuple[Any, dict[str, Any]]:
    return None, {}


@contextmanager
def sketched(memory: int, folder: Path | None = None, spill_to: Path | None = None) -> Iterator[Sketches]:
    work = Work(folder, spill_to=spill_to)
    sketches = Sketches(work, memory, nothing)
    for batch in WHOLE.batches():
        sketches.add(batch)
    sketches.finish()
    try:
        yield sketches
    finally:
        work.close()


def check(sketches: Sketches) -> None:
    rng = np.random.default_rng(3)
    assert len(sketches) == ITEMS
    for name in ("sizes", "lengths", "rows"):
        assert np.array_equal(sketches.column(name), getattr(WHOLE, name))
    for share in (1.0, 0.3, 0.0):
        active = rng.random(ITEMS) < share
        for name, row in (("keys", 0), ("keys", BANDS - 1), ("fingerprints", 1)):
            values = getattr(WHOLE, name)[row]
            for low, high in ((0, TOP), (0, TOP // 7), (TOP // 2, TOP // 2 + TOP // 50), (TOP - 5, TOP)):
                keys, items = sketches.select(name, row, active, low, high)
                expected = twin.select(values.tolist(), active.tolist(), 0, low, high)
                assert list(zip(keys.tolist(), items.tolist(), strict=True)) == expected
    for count in (0, 1, 200, ITEMS):
        items_asked = np.sort(rng.choice(ITEMS, count, replace=False)).astype(np.int64)
        assert np.array_equal(sketches.look_up("fingerprints", 0, items_asked), WHOLE.fingerprints[0][items_asked])
        assert np.array_equal(sketches.look_up("keys", 5, items_asked), WHOLE.keys[5][items_asked])


def test_held_sketches_answer_as_arrays_do_and_write_nothing(tmp_path: Path) -> None:
    with sketched(LARGE, spill_to=tmp_path) as sketches:
        check(sketches)
        assert (sketches.spilled, sketches.written) == (0, 0)
        assert list(tmp_path.iterdir()) == []


# The first of three chunks is held; the second would not fit beside it, the last, which is small, does.
SOME = 2_500_000


@pytest.mark.parametrize("memory", [TINY, SOME])
def test_spilled_sketches_answer_the_same(tmp_path: Path, memory: int) -> None:
    with sketched(memory, spill_to=tmp_path) as sketches:
        check(sketches)
        files = list(tmp_path.rglob("*.bin"))
        assert len(files) == (3 if memory == TINY else 1)
        assert 0 < sketches.spilled == sketches.written
        if memory == TINY:
            assert sketches.spilled == WHOLE.keys.nbytes + WHOLE.fingerprints.nbytes
        sketches.forget()
        assert list(tmp_path.rglob("*.bin")) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("before", "after"), [(LARGE, LARGE), (LARGE, TINY), (TINY, LARGE), (SOME, SOME)])
def test_resumed_sketches_answer_the_same_whatever_memory_there_was_and_is(
    tmp_path: Path, before: int, after: int
) -> None:
    with sketched(before, tmp_path) as sketches:
        check(sketches)
        sketches.forget()
    again = Sketches(Work(tmp_path), after, nothing)
    assert sum(len(chunk.read("sizes")) for chunk in again.resume()) == ITEMS
    again.finish()
    check(again)
    assert (again.spilled > 0) == (after < LARGE)


def test_a_run_that_was_killed_goes_on_after_its_last_whole_chunk(tmp_path: Path) -> None:
    """The state that counts along is that of when each chunk was closed; what was not in a chunk comes again."""
    passed = 0

    def state() -> tuple[Any, dict[str, Any]]:
        return {"passed": passed}, {"more": np.array([passed])}

    def process(stop: int | None) -> Sketches:
        nonlocal passed
        sketches = Sketches(Work(tmp_path), LARGE, state)
        files: list[Arrays] = sketches.resume()
        passed = files[-1].data["passed"] if files else 0
        assert [file.read("more").tolist() for file in files] == [[file.data["passed"]] for file in files]
        for number, batch in enumerate(WHOLE.batches()):
            if number < passed:
                continue
            if number == stop:
                sketches._wait()
                return sketches
            passed = number + 1
            sketches.add(batch)
        sketches.finish()
        return sketches

    for stop in (2, 3, 6, None):
        sketches = process(stop)
    check(sketches)


def test_lengths_and_rows_are_kept_only_where_they_are_asked_for() -> None:
    sketches = Sketches(Work(), LARGE, nothing)
    for batch in WHOLE.batches(small=False):
        sketches.add(batch)
    sketches.finish()
    assert len(sketches.column("lengths")) == len(sketches.column("rows")) == 0
    assert np.array_equal(sketches.column("sizes"), WHOLE.sizes)


def test_items_without_bands_have_fingerprints() -> None:
    """Identical items are found without any sketch."""
    sketches = Sketches(Work(), TINY, nothing)
    sketches.add(SketchBatch(WHOLE.fingerprints[:, :9], np.empty((0, 9), np.uint64), WHOLE.sizes[:9]))
    sketches.finish()
    keys, items = sketches.select("fingerprints", 1, np.ones(9, np.bool_), 0, TOP)
    assert keys.tolist() == WHOLE.fingerprints[1, :9].tolist()
    assert items.tolist() == list(range(9))
    sketches.forget()


def test_no_items_are_no_keys() -> None:
    sketches = Sketches(Work(), LARGE, nothing)
    sketches.finish()
    assert len(sketches) == len(sketches.column("sizes")) == 0
    keys, items = sketches.select("keys", 0, np.zeros(0, np.bool_), 0, TOP)
    assert len(keys) == len(items) == len(sketches.look_up("keys", 0, np.empty(0, np.int64))) == 0
