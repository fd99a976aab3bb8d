"""The vectors of an index in bytes: those of its items, wherever they are; and an index that was made without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lookalike import Index
from lookalike.index import log_sizes
from lookalike.index.row_codec import RowCodec
from lookalike.index.store_view import View
from lookalike.index.vector_scan import VectorScan
from lookalike.verify.byte_rows import ByteQuery, byte_rows
from lookalike.verify.selection import COSINE
from tests.stored_records import log_of

F32 = NDArray[np.float32]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several segments, and a table, with a few hundred items."""
    monkeypatch.setattr(log_sizes, "FIRST_TABLE", 16)
    monkeypatch.setattr(log_sizes, "LAST_TABLE", 64)
    monkeypatch.setattr(log_sizes, "LEFT_IN_LOG", 5)


def vectors_of(count: int) -> F32:
    rng = np.random.default_rng(4)
    centres = rng.normal(size=(count // 10, 20))
    return (centres[rng.integers(0, len(centres), count)] + 0.5 * rng.normal(size=(count, 20))).astype(np.float32)


def view_of(index: Index) -> View:
    log_of(index).settle()
    return log_of(index).view()


def stored_rows(index: Index) -> dict[Any, list[int]]:
    """The bytes of each item that is there."""
    view, found = view_of(index), {}
    for (places, _), vectors in zip(view.parts(), view.vectors(), strict=True):
        for place, row in zip(places.tolist(), vectors[: len(places)].tolist(), strict=True):
            if len(view.rows(np.array([place], np.uint64)).which):
                found[view.item(place).id] = row
    return found


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
def test_every_item_has_its_vector_in_bytes_after_merges_and_reopening(tmp_path: Path, measure: str) -> None:
    vectors = vectors_of(300)
    limit = {"threshold": 0.9} if measure == "cosine" else {"max_distance": 1.0}
    index = Index.create(tmp_path / "seen.idx", measure=measure, **limit)  # type: ignore[arg-type]
    index.add_many(enumerate(vectors[:290]))
    for number in range(290, 300):
        index.add(number, vectors[number])
    index.remove(7)
    index.replace(8, vectors[9])
    code = {"cosine": COSINE, "euclidean": 1}[measure]
    expected = dict(enumerate(byte_rows(vectors, code).tolist()))
    expected[8] = expected[9]
    del expected[7]
    assert stored_rows(index) == expected
    index.compact()
    assert stored_rows(index) == expected
    index.close()
    with Index.open(tmp_path / "seen.idx") as again:
        assert stored_rows(again) == expected
    with Index.open(tmp_path / "seen.idx", readonly=True) as reader:
        assert stored_rows(reader) == expected


def test_a_scan_tells_who_may_reach_a_score_in_segments_and_table() -> None:
    vectors = vectors_of(300)
    index = Index.create(measure="cosine", threshold=0.9)
    index.add_many(enumerate(vectors))
    view = view_of(index)
    scan = VectorScan(view, ByteQuery.of(vectors[3], COSINE))
    assert len(scan.items) > 1
    assert all(scan.items)
    found = scan.reaching([np.arange(count) for count in scan.items], 0.8)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    true = unit @ unit[3]
    reached = {view.item(place).id for place in found.places.tolist()}
    assert set(np.flatnonzero(true >= 0.8).tolist()) <= reached <= set(np.flatnonzero(true >= 0.7).tolist())
    first, others = found.likeliest(3)
    assert len(first) == 3
    assert sorted([*first.tolist(), *others.tolist()]) == list(range(len(found)))
    assert found.bounds[first].min() >= found.bounds[others].max(initial=-1.0)


def test_an_index_that_was_made_without_bytes_is_searched_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = vectors_of(300)
    with monkeypatch.context() as patch:
        patch.setattr(RowCodec, "vector_words", 0)
        with Index.create(tmp_path / "old.idx", measure="cosine", threshold=0.9) as old:
            old.add_many(enumerate(vectors[:200]))
    new = Index.create(measure="cosine", threshold=0.9)
    new.add_many(enumerate(vectors))
    with Index.open(tmp_path / "old.idx") as old:
        old.add_many(enumerate(vectors[200:], 200))
        assert not VectorScan.can_scan(view_of(old))
        assert VectorScan.can_scan(view_of(new))
        for asked in vectors[::50]:
            expected = old.nearest(asked, 5, recall=1.0)
            assert list(new.nearest(asked, 5, recall=1.0)) == list(expected)
            assert list(old.nearest(asked, 5, recall=1.0)) == list(expected)
        old.compact()
        copy = Index.create(measure="cosine", threshold=0.9)
        copy.merge(old)
    assert VectorScan.can_scan(view_of(copy))


@pytest.mark.parametrize("recall", [0.9, 1.0])
def test_no_more_are_compared_than_may_be_and_what_is_left_out_is_told(recall: float) -> None:
    vectors = vectors_of(300)
    index = Index.create(measure="cosine", threshold=0.9)
    index.add_many(enumerate(vectors))
    answer = index.nearest(vectors[5], 5, recall=recall, examine=7)
    # As many of buckets, and as many more.
    assert answer.compared <= 14
    assert answer.left_out > 0
    whole = index.nearest(vectors[5], 5, recall=1.0)
    assert whole.left_out == 0
    assert whole.recall == 1.0
    # Of 300 items most are ruled out.
    assert whole.compared < 100
