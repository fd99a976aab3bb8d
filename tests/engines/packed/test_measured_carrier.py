"""Clocks: each task of a stage that is saved tells what it took, and nothing else is changed by that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import BatchWriter, blobs
from lookalike.engines.packed.measured_carrier import MeasuredCarrier
from lookalike.engines.packed.one_process import OneProcess

PARTS = 3


def numbers_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A stage: each number, and its square to the task of the number."""
    out = BatchWriter(("numbers", "squares"))
    for place, blob in blobs(batches, "numbers"):
        out.add("numbers", place, blob)
        out.add("squares", place, {"x": blob["x"] ** 2})
    yield from out.rest()


def test_a_saved_stage_tells_of_each_task_and_gives_what_it_made(tmp_path: Path) -> None:
    plain = OneProcess(tmp_path)
    carrier = MeasuredCarrier(plain)
    out = BatchWriter(("numbers",))
    for place in range(PARTS):
        out.add("numbers", place, {"x": np.arange(1000 * place)})
    given = carrier.made(list(out.rest()), ("numbers",))
    assert carrier.figures() == {}
    twice = carrier.map(carrier.exchange(given, PARTS), numbers_of, ("numbers", "squares"))
    # Used as it is, it has no clock.
    assert carrier.exchange(twice, PARTS).kinds == ("numbers", "squares")
    assert len(carrier.collect(twice, "squares")[0]) == PARTS
    saved = carrier.save("the squares", twice)
    assert saved.kinds == ("numbers", "squares")
    (squares,) = carrier.collect(saved, "squares")
    assert sorted(len(blob["x"]) for blob in squares) == [0, 1000, 2000]
    carrier.save("numbers alone", carrier.only(saved, "numbers"))
    (name,) = (figures := carrier.figures())
    assert name == "the squares"
    told = figures[name]
    assert told.tasks == PARTS
    assert 0 <= told.longest_task <= told.cpu_seconds
    # The longest task was brought two thirds of 3,000 numbers of 8 bytes.
    assert 16_000 <= told.most_bytes < 24_000 <= told.bytes
    assert told.as_dict()["tasks"] == PARTS
