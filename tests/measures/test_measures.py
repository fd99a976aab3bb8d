"""Every measure through the whole pipeline, against truth that plain Python computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import lookalike
from lookalike.errors import InputError, OptionError

pytestmark = pytest.mark.no_cover

ITEMS, FAMILIES = 240, 60


class Case:
    """Items of one form in an Arrow table, and how alike two of them are."""

    def __init__(self, table: pa.Table, limit: dict[str, Any], truth: dict[tuple[int, int], float]) -> None:
        self.table, self.limit, self.truth = table, limit, truth


def vectors(seed: int = 0) -> NDArray[np.float32]:
    """Families of four, each vector near its family's, at all kinds of distances; lengths differ."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(FAMILIES, 24))
    noise = rng.normal(size=(ITEMS, 24)) * rng.uniform(0.0, 0.6, (ITEMS, 1))
    return ((centres[np.arange(ITEMS) % FAMILIES] + noise) * rng.uniform(0.9, 1.1, (ITEMS, 1))).astype(np.float32)


def bags(seed: int = 0) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    out = []
    for item in range(ITEMS):
        own = np.random.default_rng(1000 + item % FAMILIES)
        bag = {f"e{own.integers(4000)}": float(np.float32(own.gamma(1.0))) for _ in range(30)}
        for element in list(bag)[: int(rng.integers(0, 12))]:
            bag[element] = float(np.float32(bag[element] * rng.uniform(0, 2)))
        out.append(bag)
    return out


def cosine(x: Any, y: Any) -> float:
    return math.fsum(x * y) / math.sqrt(math.fsum(x * x) * math.fsum(y * y))


def weighted(x: dict[str, float], y: dict[str, float]) -> float:
    keys = sorted({*x, *y})
    least = math.fsum(min(x.get(key, 0.0), y.get(key, 0.0)) for key in keys)
    return least / math.fsum(max(x.get(key, 0.0), y.get(key, 0.0)) for key in keys)


def sparse_cosine(x: dict[str, float], y: dict[str, float]) -> float:
    both = math.fsum(x[key] * y[key] for key in x.keys() & y.keys())
    return both / math.sqrt(math.fsum(w * w for w in x.values()) * math.fsum(w * w for w in y.values()))


def same_share(x: Any, y: Any) -> float:
    return float((x == y).mean())


def distance(x: Any, y: Any, order: float) -> float:
    return float(math.fsum(abs(x - y) ** order) ** (1 / order))


def case(measure: str) -> Case:
    alike: Callable[[Any, Any], float]
    if measure in ("weighted-jaccard", "sparse cosine"):
        rows = bags()
        column = pa.array([[{"element": key, "weight": w} for key, w in row.items()] for row in rows])
        alike = weighted if measure == "weighted-jaccard" else sparse_cosine
        table, limit = pa.table({"items": column}), {"threshold": 0.75}
        wide: list[Any] = rows
    elif measure == "hamming":
        words = np.packbits(vectors() > 0, axis=1)
        table, limit = pa.table({"bits": pa.array([row.tobytes() for row in words], pa.binary(3))}), {"threshold": 0.8}
        wide = list(np.unpackbits(words, axis=1).astype(np.float64))
        alike = same_share
    else:
        matrix = vectors()
        flat = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])
        table, wide = pa.table({"vector": flat}), list(matrix.astype(np.float64))
        limit = {
            "cosine": {"threshold": 0.85},
            "euclidean": {"max_distance": 2.5},
            "manhattan": {"max_distance": 9.0},
        }.get(measure, {"max_distance": 1.8})
        order = {"euclidean": 2.0, "manhattan": 1.0, "lr:1.5": 1.5, "lr:3": 3.0}.get(measure)
        alike = cosine if order is None else partial(distance, order=order)
    truth = {}
    for i, j in combinations(range(ITEMS), 2):
        value = alike(wide[i], wide[j])
        if value >= limit.get("threshold", -1) and value <= limit.get("max_distance", math.inf):
            truth[i, j] = value
    assert 20 < len(truth) < 2000
    return Case(table, {"measure": measure.split()[-1], **limit}, truth)


MEASURES = ["cosine", "euclidean", "manhattan", "lr:1.5", "lr:3", "hamming", "weighted-jaccard", "sparse cosine"]
HASHED = [name for name in MEASURES if name != "lr:3"]
CASES = {name: case(name) for name in MEASURES}


def found(result: Any) -> dict[tuple[int, int], float]:
    return {(a, b): value for a, b, value in result}


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_found_is_true_and_nearly_all_of_the_truth(name: str) -> None:
    data = CASES[name]
    result = lookalike.pairs(data.table, recall=0.999, **data.limit)
    pairs = found(result)
    assert pairs.keys() <= data.truth.keys()
    # Each pair is missed with a chance of 0.001 at most, so more than five of 2,000 are missed once in 100,000 runs.
    assert len(data.truth) - len(pairs) <= 5 + 0.001 * len(data.truth)
    assert all(value == pytest.approx(data.truth[pair], rel=1e-9) for pair, value in pairs.items())
    column = "distance" if "max_distance" in data.limit else "similarity"
    assert result.table.column_names == ["a", "b", column]
    assert result.report["precision"] == 1.0


@pytest.mark.parametrize("name", HASHED)
def test_bands_find_at_the_rate_of_the_curve(name: str) -> None:
    """Over several seeds, few bands and rows: as many pairs as the curve expects, within five standard deviations."""
    data = CASES[name]
    values = np.array(list(data.truth.values()))
    got = []
    for seed in range(60):
        result = lookalike.pairs(data.table, bands=3, rows=4, recall=0.6, seed=seed, audit=0, **data.limit)
        plan = result.plan
        assert plan is not None and not plan.exhaustive
        got.append(len(result))
    assert plan is not None
    expected = float(plan.probability(values).sum())
    assert 0.1 * len(values) < expected < 0.97 * len(values)
    # All pairs share the random numbers of a seed, so how much they vary together is told by the seeds.
    assert abs(np.mean(got) - expected) < 5 * np.std(got, ddof=1) / math.sqrt(len(got))


@pytest.mark.parametrize("name", MEASURES)
def test_every_removed_item_matches_its_keeper_and_no_two_kept_items_match(name: str) -> None:
    data = CASES[name]
    result = lookalike.dedup(data.table, recall=0.9999, **data.limit)
    kept = set(np.flatnonzero(result.kept).tolist())
    column = "distance" if "max_distance" in data.limit else "similarity"
    for row in result.removed.to_pylist():
        pair = min(row["id"], row["kept"]), max(row["id"], row["kept"])
        assert row["kept"] in kept
        assert row[column] == pytest.approx(data.truth[pair], rel=1e-9)
    left = [pair for pair in data.truth if kept.issuperset(pair)]
    assert len(left) <= 1
    assert len(lookalike.clusters(data.table, recall=0.9999, **data.limit)) > 10


@pytest.mark.parametrize("name", HASHED)
@pytest.mark.parametrize("verb", [lookalike.pairs, lookalike.dedup])
def test_threads_and_memory_change_nothing(name: str, verb: Any) -> None:
    data = CASES[name]
    plan = {"bands": 40, "rows": 6}
    one, two, many = (
        verb(data.table, threads=threads, memory=memory, **plan, **data.limit)
        for threads, memory in ((1, "1GB"), (2, "64MB"), (8, "1GB"))
    )
    assert one.table.equals(two.table) and one.table.equals(many.table)
    assert one.report["certificate"]["statement"] == many.report["certificate"]["statement"]


@pytest.mark.parametrize("name", ["cosine", "euclidean", "hamming", "weighted-jaccard"])
def test_items_of_other_groups_are_not_compared(name: str) -> None:
    data = CASES[name]
    table = data.table.append_column("half", pa.array([i % 7 < 3 for i in range(ITEMS)]))
    result = found(
        lookalike.pairs(table, group_by="half", recall=0.9999, column=data.table.column_names[0], **data.limit)
    )
    expected = {(i, j) for i, j in data.truth if (i % 7 < 3) == (j % 7 < 3)}
    assert result.keys() <= expected
    assert len(expected) - len(result) <= 2


@pytest.mark.parametrize("name", ["cosine", "manhattan", "hamming", "weighted-jaccard"])
def test_what_is_like_an_item_of_another_collection_goes(name: str) -> None:
    data = CASES[name]
    own, other = data.table.slice(100), data.table.slice(0, 100)
    result = lookalike.dedup(own, against=other, recall=0.9999, **data.limit)
    like = {j - 100 for i, j in data.truth if i < 100 <= j}
    gone = {row["id"] for row in result.removed.to_pylist() if row["against"]}
    assert len(like - set(np.flatnonzero(~result.kept).tolist())) <= 1
    assert gone <= like


@pytest.mark.parametrize("name", MEASURES)
def test_the_audit_agrees(name: str) -> None:
    data = CASES[name]
    said = lookalike.pairs(data.table, recall=0.9999, **data.limit).report["certificate"]["audit"]
    assert said["sampled"] == ITEMS
    assert said["pairs"] == len(data.truth)
    assert said["found"] >= len(data.truth) - 1


def test_copies_are_folded_and_told_as_identical() -> None:
    table = pa.table({"vector": [[1.0, 2.0], [5.0, 5.0], [1.0, 2.0], [1.0, 2.5]]})
    result = lookalike.pairs(table, measure="euclidean", max_distance=1)
    assert list(result) == [(0, 2, 0.0), (0, 3, 0.5), (2, 3, 0.5)]
    assert lookalike.pairs(table, threshold=0.9999).table.to_pylist() == [{"a": 0, "b": 2, "similarity": 1.0}]


def test_vectors_of_one_direction_are_alike_whatever_their_length() -> None:
    table = pa.table({"vector": [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [-1.0, -2.0, -3.0]]})
    assert [(a, b) for a, b, _ in lookalike.pairs(table, threshold=0.999999)] == [(0, 1)]


BAD: list[Any] = [[1.0, 2.0], [1.0], [math.nan, 1.0], [math.inf, 0.0], None, [0.0, 0.0], [1.0, 2.0]]


def test_a_vector_that_cannot_be_compared_is_named_with_its_row() -> None:
    for row, why in ((1, "has 1 component, the others have 2"), (2, "holds NaN"), (3, "holds infinity")):
        with pytest.raises(InputError, match=rf"item 1: the item {why}; skip_bad=True \(--skip-bad\) skips"):
            lookalike.pairs(pa.table({"vector": [BAD[0], BAD[row]]}))
    with pytest.raises(InputError, match="item 1: the item is zero and has no direction"):
        lookalike.pairs(pa.table({"vector": [BAD[0], BAD[5]]}))
    lookalike.pairs(pa.table({"vector": [BAD[0], BAD[5]]}), measure="euclidean", max_distance=1)


def test_bad_vectors_are_counted_left_uncompared_and_kept_where_that_is_asked_for() -> None:
    table = pa.table({"vector": BAD * 2})
    result = lookalike.dedup(table, skip_bad=True)
    assert result.report["bad_items"] == 8
    assert result.report["null"] == 2
    assert len(result.report["skipped_examples"]) == 8
    # The copies of the first go, and the second null; what cannot be compared is identical to nothing.
    assert np.flatnonzero(~result.kept).tolist() == [6, 7, 11, 13]


def test_negative_weights_are_for_cosine_only() -> None:
    rows = pa.table({"items": [[{"element": 1, "weight": -1.0}, {"element": 2, "weight": 2.0}]] * 2})
    assert len(lookalike.pairs(rows, measure="cosine")) == 1
    with pytest.raises(
        InputError, match=r"item 0: the item holds a negative weight|item 0: the item holds the weight -1"
    ):
        lookalike.pairs(rows)


def test_an_order_above_two_compares_all_pairs_and_says_why() -> None:
    data = CASES["lr:3"]
    result = lookalike.pairs(data.table, **data.limit)
    plan = result.plan
    assert plan is not None and plan.exhaustive and "no hash functions are known for orders above 2" in plan.why
    assert found(result).keys() == data.truth.keys()
    with pytest.raises(
        OptionError, match="no hash functions are known for orders above 2, so all pairs must be compared"
    ):
        lookalike.pairs(data.table, bands=4, rows=4, **data.limit)


def test_estimated_cosines_are_near_and_others_have_none() -> None:
    data = CASES["cosine"]
    result = lookalike.pairs(data.table, verify="sketch", recall=0.999, **data.limit)
    estimated = found(result)
    both = estimated.keys() & data.truth.keys()
    assert len(both) > 0.7 * len(data.truth)
    # 1,024 bits of chance p(0.85) = 0.823: the angle is known to 0.037, five times over, the cosine to 0.1.
    assert max(abs(estimated[pair] - data.truth[pair]) for pair in both) < 0.1
    assert "similarities are estimates" in " ".join(result.report["certificate"]["notes"])
    for name in ("euclidean", "hamming", "weighted-jaccard"):
        with pytest.raises(OptionError, match="verify=sketch is not for"):
            lookalike.pairs(CASES[name].table, verify="sketch", **CASES[name].limit)
    candidates = lookalike.pairs(data.table, verify="none", bands=20, rows=6, **data.limit)
    assert candidates.table.column("similarity").null_count == len(candidates)


def test_lists_of_integers_are_sets_unless_a_measure_wants_numbers() -> None:
    table = pa.table({"x": [[1, 2, 3], [1, 2, 3, 4], [10, 20, 30]]})
    assert lookalike.pairs(table, threshold=0.7).report["measure"] == "jaccard"
    equal = pa.table({"x": [[1, 2, 3], [2, 4, 6], [9, 0, 0]]})
    assert [(a, b) for a, b, _ in lookalike.pairs(equal, measure="cosine")] == [(0, 1)]
    assert [(a, b) for a, b, _ in lookalike.pairs(equal, vectors="x")] == [(0, 1)]
    assert lookalike.pairs(table, sets="x", threshold=0.7).report["compared"] == "sets"
    with pytest.raises(InputError, match="column 'x' holds list<item: string>: an item must be a list of numbers"):
        lookalike.pairs(pa.table({"x": [["a"]]}), vectors="x")
    with pytest.raises(OptionError, match="column, vectors, sets and compare all name the column"):
        lookalike.pairs(table, vectors="x", column="x")


def test_numpy_arrays_and_sparse_matrices_are_items() -> None:
    matrix = vectors()
    assert found(lookalike.pairs(matrix, threshold=0.85)) == found(
        lookalike.pairs(CASES["cosine"].table, threshold=0.85)
    )


def test_what_python_calls_a_set_is_no_vector_and_what_numpy_calls_an_array_is() -> None:
    assert lookalike.pairs([{1, 2, 3}, {1, 2}], measure="cosine").report["form"] == "bags"
    assert lookalike.pairs(np.array([[1, 2, 3], [3, 2, 1]]), threshold=0.5).report["measure"] == "cosine"


def test_small_collections_of_any_measure_are_compared_in_full() -> None:
    assert len(lookalike.pairs([{"a": 1, "b": 2}, {"a": 2, "b": 1}], threshold=0.5)) == 1
    for name in MEASURES:
        plan = lookalike.pairs(CASES[name].table.slice(0, 20), **CASES[name].limit).plan
        assert plan is not None and plan.exhaustive


def test_identical_items_of_every_form_are_found() -> None:
    for name in MEASURES:
        table = pa.concat_tables([CASES[name].table.slice(0, 30), CASES[name].table.slice(10, 5)])
        found_pairs = {(a, b) for a, b, _ in lookalike.pairs(table, exact=True)}
        assert found_pairs >= {(10 + i, 30 + i) for i in range(5)}


def test_a_collection_of_nothing_but_bad_items_has_no_pairs() -> None:
    for measure in ({"measure": "cosine"}, {"measure": "euclidean", "max_distance": 1}):
        result = lookalike.dedup(np.full((5, 3), np.nan), skip_bad=True, **measure)
        assert result.table.num_rows == 5 and result.report["bad_items"] == 5


def test_maps_are_bags() -> None:
    rows = pa.array([[("a", 1.0), ("b", 2.0)], [("a", 2.0), ("b", 1.0)]], pa.map_(pa.string(), pa.float32()))
    assert [s for _, _, s in lookalike.pairs(pa.table({"v": rows}), threshold=0.5)] == [0.5]


def test_ids_are_not_taken_for_items_and_a_column_of_the_wrong_kind_is_named() -> None:
    table = pa.table({"id": ["x", "y"], "tags": [["a", "b"], ["a", "b"]]})
    assert list(lookalike.pairs(table, id="id")) == [("x", "y", 1.0)]
    with pytest.raises(
        InputError, match=r"column 'vector' holds .* must be text, a list of elements, a row of 0 and 1"
    ):
        lookalike.pairs(np.eye(3) / 2, measure="jaccard")
    with pytest.raises(InputError, match=r"column 'text' holds .* an item must be a list of numbers for euclidean"):
        lookalike.pairs(["a", "b"], measure="euclidean", max_distance=1)


def test_a_sample_tells_the_planner_of_pairs_that_do_not_match() -> None:
    """Points a little beyond the limit cost candidates, points far beyond hardly any, and those that match none."""
    line = np.zeros((200, 3), np.float32)
    line[:, 0] = np.arange(200)
    near, far = (
        lookalike.plan(measure="euclidean", max_distance=limit, sample=line, items=10**6) for limit in (0.9, 0.02)
    )
    assert near.candidates_per_item > 10 * far.candidates_per_item > 0
    alike = lookalike.plan(measure="euclidean", max_distance=300.0, sample=line, items=10**6)
    assert alike.candidates_per_item < 1 or alike.exhaustive
