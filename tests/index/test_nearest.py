"""The nearest items: those of all comparisons, with the chance that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookalike import Index, OptionError
from lookalike.certify.intervals import binomial_tails
from lookalike.index import log_sizes

SEED = 11
Items = list[Any]


def sets_of(count: int, seed: int = SEED) -> list[list[int]]:
    """Sets of which every fourth has a part of an earlier one."""
    rng = np.random.default_rng(seed)
    found: list[list[int]] = []
    for number in range(count):
        new = rng.choice(5_000, 40, replace=False).tolist()
        if number % 4 == 3:
            kept = int(rng.integers(10, 36))
            new = list(dict.fromkeys(found[int(rng.integers(number))][:kept] + new))[:40]
        found.append(new)
    return found


def texts_of(count: int) -> list[str]:
    return [" ".join(f"w{x}" for x in each) for each in sets_of(count)]


def vectors_of(count: int) -> list[list[float]]:
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(count // 10, 12))
    noise = 0.5 * rng.normal(size=(count, 12))
    found: list[list[float]] = (centres[rng.integers(0, len(centres), count)] + noise).astype(np.float32).tolist()
    return found


def bits_of(count: int, length: int) -> list[list[bool]]:
    rng = np.random.default_rng(SEED)
    centres = rng.random((count // 10, length)) < 0.5
    found: list[list[bool]] = (
        centres[rng.integers(0, len(centres), count)] ^ (rng.random((count, length)) < 0.1)
    ).tolist()
    return found


def bags_of(count: int) -> list[dict[str, float]]:
    rng = np.random.default_rng(SEED)
    return [{f"e{x}": float(rng.integers(1, 5)) for x in each} for each in sets_of(count)]


def jaccard(a: Any, b: Any) -> float:
    return len(set(a) & set(b)) / len(set(a) | set(b))


def words(a: str, b: str) -> float:
    return jaccard(a.split(), b.split())


def inside(a: Any, b: Any) -> float:
    return len(set(a) & set(b)) / min(len(set(a)), len(set(b)))


def weighted(a: dict[str, float], b: dict[str, float]) -> float:
    keys = a.keys() | b.keys()
    least = sum(min(a.get(each, 0.0), b.get(each, 0.0)) for each in keys)
    return least / sum(max(a.get(each, 0.0), b.get(each, 0.0)) for each in keys)


def cosine(a: Any, b: Any) -> float:
    x, y = np.array(a), np.array(b)
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def sparse(a: dict[str, float], b: dict[str, float]) -> float:
    keys = sorted(a.keys() | b.keys())
    return cosine([a.get(each, 0.0) for each in keys], [b.get(each, 0.0) for each in keys])


def agreeing(a: Any, b: Any) -> float:
    return float(np.mean(np.array(a) == np.array(b)))


def minkowski(order: float) -> Callable[[Any, Any], float]:
    return lambda a, b: -float(np.linalg.norm(np.array(a) - np.array(b), order))


MEASURES: list[tuple[dict[str, Any], Callable[[int], Items], Callable[[Any, Any], float]]] = [
    ({"threshold": 0.7}, sets_of, jaccard),
    ({"threshold": 0.7, "shingle": "word:1"}, texts_of, words),
    ({"threshold": 0.7, "measure": "containment"}, sets_of, inside),
    ({"threshold": 0.7, "measure": "weighted-jaccard"}, bags_of, weighted),
    ({"threshold": 0.9, "measure": "cosine"}, vectors_of, cosine),
    ({"threshold": 0.8, "measure": "cosine"}, bags_of, sparse),
    ({"threshold": 0.8, "measure": "hamming"}, lambda count: bits_of(count, 100), agreeing),
    ({"threshold": 0.8, "measure": "hamming"}, lambda count: bits_of(count, 400), agreeing),
    ({"max_distance": 1.0, "measure": "euclidean"}, vectors_of, minkowski(2)),
    ({"max_distance": 3.0, "measure": "manhattan"}, vectors_of, minkowski(1)),
    ({"max_distance": 1.0, "measure": "lr:3"}, vectors_of, minkowski(3)),
]
NAMES = [f"{told.get('measure', 'jaccard')}-{make.__name__}" for told, make, _ in MEASURES]


def score(match: Any) -> float:
    found: float = match.similarity if hasattr(match, "similarity") else -match.distance
    return found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several segments, and a table, with a few hundred items."""
    monkeypatch.setattr(log_sizes, "FIRST_TABLE", 16)
    monkeypatch.setattr(log_sizes, "LAST_TABLE", 64)
    monkeypatch.setattr(log_sizes, "LEFT_IN_LOG", 5)


def filled(place: Any, options: dict[str, Any], items: Items) -> Index:
    index = Index.create(place, **options)
    index.add_many(enumerate(items))
    return index


@pytest.mark.parametrize("where", ["memory", "reopened"])
@pytest.mark.parametrize(("options", "make", "alike"), MEASURES, ids=NAMES)
def test_the_nearest_are_those_of_all_comparisons(
    small: None, tmp_path: Path, where: str, options: dict[str, Any], make: Callable[[int], Items],
    alike: Callable[[Any, Any], float],
) -> None:  # fmt: skip
    items = make(330)
    place = ":memory:" if where == "memory" else tmp_path / "seen.idx"
    index = filled(place, options, items[:300])
    if where == "reopened":
        index.close()
        index = Index.open(place)
    index.remove(0)
    for asked in (*items[1:15], *items[300:]):
        truth = sorted((-alike(asked, items[i]) for i in range(1, 300)), reverse=False)[:5]
        answer = index.nearest(asked, 5, recall=1.0)
        assert [score(match) for match in answer] == pytest.approx([-x for x in truth], abs=2e-6)
        for match in answer:
            assert score(match) == pytest.approx(alike(asked, items[int(match.id)]), abs=2e-6)
        assert answer.recall == 1.0
        assert answer.complete
    index.close()


@pytest.mark.parametrize(
    ("options", "make", "alike"), [each for each, name in zip(MEASURES, NAMES, strict=True) if "cont" not in name]
)
def test_what_is_nearest_is_found_with_the_chance_that_is_asked_for(
    options: dict[str, Any], make: Callable[[int], Items], alike: Callable[[Any, Any], float]
) -> None:
    """One query, one neighbour: independent trials that succeed with at least 0.8; a tail below 1e-6 refutes it."""
    items = make(900)
    index, trials, found = filled(":memory:", options, items[:750]), 0, 0
    for asked in items[750:]:
        (match,) = index.nearest(asked, 1, recall=0.8)
        best = max(alike(asked, each) for each in items[:750])
        trials, found = trials + 1, found + (score(match) >= best - 2e-6)
    assert binomial_tails(found, trials, 0.8)[0] > 1e-6, (found, trials)


def test_a_near_match_is_enough_and_little_is_compared() -> None:
    items = sets_of(3_000)
    index = filled(":memory:", {"threshold": 0.7}, items)
    answer = index.nearest(items[100], 1)
    assert answer[0].id == 100
    assert answer.compared < 20
    assert answer.recall is not None and answer.recall > 0.99
    # Half of a set that is there: no bucket has it, and its code tells it from most others.
    answer = index.nearest(items[100][:20], 1)
    assert (answer[0].id, answer[0].similarity) == (100, 0.5)
    assert answer.compared < 1_500
    assert answer.recall is not None and answer.recall >= 0.95


def test_a_threshold_may_be_any_and_spares_what_is_far() -> None:
    items = sets_of(1_000)
    index = filled(":memory:", {"threshold": 0.7}, items)
    asked = items[10][:24]
    near = index.nearest(asked, 50, threshold=0.3)
    assert all(match.similarity >= 0.3 for match in near)
    assert near[0].id == 10
    assert near.compared < index.nearest(asked, 50).compared
    assert index.nearest([9_999_999], 3, threshold=0.5) == []


def test_what_may_be_compared_is_a_limit_that_is_told() -> None:
    items = sets_of(1_000)
    index = filled(":memory:", {"threshold": 0.7}, items)
    answer = index.nearest([1, 2, 9_999_999], 5, examine=100)
    assert answer.compared <= 100
    assert answer.left_out > 0
    assert not answer.complete
    assert answer.recall is not None and answer.recall < 0.95


def test_items_without_elements_are_near_nothing_but_their_copies() -> None:
    index = filled(":memory:", {"shingle": "word:1"}, ["", "!!", "a b c", "a b d"])
    assert [match.id for match in index.nearest("")] == [0]
    assert [match.id for match in index.nearest("a b", 4)] == [2, 3]
    assert index.nearest("?") == []


def test_only_copies_are_near_where_only_copies_are_looked_for() -> None:
    index = filled(":memory:", {"exact": True}, ["a b", "a b", "c"])
    assert [match.id for match in index.nearest("a b", 1)] == [0]


def test_nothing_is_near_in_an_empty_index() -> None:
    assert Index.create().nearest("a text") == []


def test_sketches_alone_estimate_who_is_near() -> None:
    items = sets_of(300)
    index = filled(":memory:", {"threshold": 0.7, "verify": "sketch"}, items)
    assert index.nearest(items[8], 1)[0].id == 8
    found = {match.id: match.similarity for match in index.nearest(items[8][:30] + [10**6 + i for i in range(10)])}
    # 30 of 50; the standard error of 96 slots is 0.05.
    assert found[8] == pytest.approx(0.6, abs=0.25)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"recall": 0.0}, {"recall": 1.5}, {"examine": 0}, {"threshold": 2.0}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    index = filled(":memory:", {}, ["a b c d e f"])
    with pytest.raises(OptionError, match=next(iter(wrong))):
        index.nearest("a b c", **wrong)
