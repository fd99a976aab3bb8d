"""The nearest k: exact where that is asked, with the recall that was asked otherwise, and the same everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from lookalike.errors import InputError, OptionError
from lookalike.search import nearest
from lookalike.search.nearest import Nearest
from tests.reference.vectors import score

F32 = NDArray[np.float32]


def made(count: int, dimensions: int, seed: int) -> F32:
    """Clusters in a space whose directions matter less and less, away from the origin."""
    rng = np.random.default_rng(seed)
    spread = np.arange(1, dimensions + 1) ** -0.5
    centres = np.random.default_rng(0).normal(size=(200, dimensions)) * spread
    noise = rng.normal(size=(count, dimensions)) * spread
    return (centres[rng.integers(0, 200, count)] + 0.5 * noise + 0.1).astype(np.float32)


@pytest.fixture(scope="module")
def items() -> F32:
    return made(8_000, 256, 1)


def recall(found: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), truth.tolist(), strict=True)]))


@pytest.mark.parametrize("measure", ["cosine", "dot", "euclidean", "manhattan"])
def test_an_exact_search_is_the_twin_s(measure: str) -> None:
    vectors = made(300, 20, 2)
    ids, scores = Nearest(vectors, measure, threads=2).search(vectors[:10], 7)
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1))
    scales = 1.0 / lengths if measure == "cosine" else np.ones(300)
    for q in range(10):
        expected = [
            (item, score(measure, vectors[q].tolist(), vector) * (scales[q] * scales[item]))
            for item, vector in enumerate(vectors.tolist())
        ]
        expected.sort(key=lambda entry: (-entry[1], entry[0]))
        assert list(zip(ids[q].tolist(), scores[q].tolist(), strict=True)) == expected[:7]


@pytest.mark.parametrize(("measure", "asked"), [("cosine", 0.8), ("cosine", 0.95), ("dot", 0.8)])
def test_a_plan_by_bits_reaches_its_recall_on_queries_it_has_not_seen(
    items: F32, measure: str, asked: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact scans are made dear, so that bits are chosen for these few items."""
    monkeypatch.setitem(nearest._COMPONENT, measure, 1.0)
    queries = made(1_000, 256, 3)
    truth, exact_scores = Nearest(items, measure).search(queries, 10)
    searched = Nearest(items, measure, recall=asked, threads=2)
    ids, scores = searched.search(queries, 10)
    plan = searched.plan
    assert plan is not None
    assert plan.method == "bits"
    assert asked <= plan.low <= plan.recall <= plan.high <= 1.0
    found = recall(ids, truth)
    # The plan's own estimate lies 2.33 standard errors above what was asked; those of 1,000 queries are smaller.
    assert found >= asked
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(ids.tolist(), truth.tolist(), strict=True)]
    error = np.hypot((plan.high - plan.recall) / 1.96, np.std(shares) / np.sqrt(1_000))
    assert found == pytest.approx(plan.recall, abs=4 * error)
    # What is found has its exact score, and the right place among what is found.
    assert (scores <= exact_scores).all()
    same = ids == truth
    assert np.array_equal(scores[same], exact_scores[same])


def test_plans_and_results_do_not_depend_on_threads_or_batches(items: F32, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(nearest._COMPONENT, "cosine", 1.0)
    queries = made(100, 256, 4)
    one = Nearest(items, recall=0.9)
    expected = one.search(queries, 10)
    monkeypatch.setattr(nearest, "_BATCH", 7)
    monkeypatch.setattr(nearest, "_CHUNK", 100)
    other = Nearest(items, recall=0.9, threads=3)
    found = other.search(queries, 10)
    assert other.plan == one.plan
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


def test_the_sample_is_the_same_vectors_in_any_order_of_the_items(items: F32) -> None:
    orders = Nearest(items, "euclidean"), Nearest(items[::-1], "euclidean")
    first, second = ({vector.tobytes() for vector in each._items.exact[each._sample()]} for each in orders)
    assert first == second
    assert len(first) == nearest._SAMPLE


def test_a_recall_that_a_sample_cannot_promise_is_reached_by_an_exact_scan(
    items: F32, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3,840 neighbours that were all found speak for 0.9994."""
    monkeypatch.setitem(nearest._COMPONENT, "cosine", 1.0)
    searched = Nearest(items, recall=0.9999)
    searched.search(items[:5], 10)
    assert searched.plan is not None
    assert (searched.plan.method, str(searched.plan)) == ("exact", "exact scan")


def test_few_items_few_queries_and_certainty_need_no_plan(items: F32) -> None:
    assert Nearest(items[:1_000], recall=0.5).plan_for(10).method == "exact"
    assert Nearest(items, recall=0.5, expected=100).plan_for(10).method == "exact"
    assert Nearest(items, recall=1.0).plan_for(10).sampled == 0


def test_fewer_items_than_asked_for_leave_empty_places() -> None:
    ids, scores = Nearest(np.eye(3)).search(np.eye(3)[:1], 5)
    assert ids.tolist() == [[0, 1, 2, -1, -1]]
    assert scores.tolist() == [[1.0, 0.0, 0.0, -np.inf, -np.inf]]
    assert Nearest(np.empty((0, 3))).search(np.eye(3), 1)[0].tolist() == [[-1]] * 3


def test_no_queries_have_no_neighbours(items: F32) -> None:
    ids, scores = Nearest(items).search(np.empty((0, 256)), 3)
    assert ids.shape == scores.shape == (0, 3)


def test_what_cannot_be_searched_is_said_in_one_line() -> None:
    good = np.eye(4)
    with pytest.raises(InputError, match="row 1 of the items is zero"):
        Nearest([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(InputError, match="row 0 of the queries is zero"):
        Nearest(good).search([[0.0] * 4], 1)
    with pytest.raises(InputError, match="the queries have 3 components, the items 4"):
        Nearest(good).search([[1.0, 2.0, 3.0]], 1)
    with pytest.raises(InputError, match="row 2 of the items has a component that is not a number"):
        Nearest([[1.0], [2.0], [np.nan]], "euclidean")
    with pytest.raises(InputError, match="not a number in float32"):
        Nearest([[1e60]], "euclidean")
    with pytest.raises(InputError, match="shape"):
        Nearest([1.0, 2.0])
    with pytest.raises(InputError, match="type"):
        Nearest([["a", "b"]])
    with pytest.raises(OptionError, match="measure"):
        Nearest(good, "jaccard")
    with pytest.raises(OptionError, match="recall"):
        Nearest(good, recall=0.0)
    with pytest.raises(OptionError, match="k is 0"):
        Nearest(good).search(good, 0)


def test_vectors_at_angles_that_unit_vectors_of_float32_cannot_tell_come_in_their_exact_order() -> None:
    """A cloud far from the origin, of which cosines differ by 10⁻⁹, and lengths of unit vectors by 10⁻⁷."""
    vectors = (np.random.default_rng(5).normal(size=(60, 3)) + 1e4).astype(np.float32)
    ids, scores = Nearest(vectors, "cosine").search(vectors[:20], 10)
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=1))
    truth = np.array([[math.fsum(x * y) for y in wide] for x in wide[:20]]) / (lengths[:20, None] * lengths)
    # Products of three components, two lengths and a quotient, each rounded once or twice: less than 16 units of 2⁻⁵³.
    assert np.abs(scores - np.sort(truth, axis=1)[:, :-11:-1]).max() < 16 * 2.0**-53
    assert np.abs(scores - np.take_along_axis(truth, ids, 1)).max() < 16 * 2.0**-53
