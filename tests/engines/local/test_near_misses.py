"""Pairs that just miss the threshold: compared, below it, and no results."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike


def steps(texts: int = 40, copies: int = 10) -> dict[str, set[int]]:
    """Sets with copies that lack ever more elements, so that similarities lie on both sides of a threshold."""
    whole = {f"s{number}": set(range(1000 * number, 1000 * number + 40)) for number in range(texts)}
    less = {
        f"s{number}-{lacking}": set(range(1000 * number + 2 * lacking, 1000 * number + 40))
        for number in range(texts)
        for lacking in range(1, copies)
    }
    return whole | less


def misses(found: dict[str, Any], column: str = "similarity") -> list[tuple[str, str, float]]:
    return [(each["a"]["id"], each["b"]["id"], each[column]) for each in found["near_misses"]]


@pytest.mark.parametrize("verb", ["pairs", "clusters", "dedup"])
@pytest.mark.parametrize("banded", [True, False])
def test_near_misses_are_below_the_threshold_and_as_alike_as_they_say(verb: str, banded: bool) -> None:
    items = steps()
    options: dict[str, Any] = {"bands": 40, "rows": 4} if banded else {}
    result = getattr(lookalike, verb)(items, threshold=0.8, **options)
    assert result.plan.exhaustive is not banded
    found = misses(result.full_report())
    assert len(found) == 4
    results = {frozenset(pair[:2]) for pair in lookalike.pairs(items, threshold=0.8, **options)}
    for a, b, similarity in found:
        assert 0.68 <= similarity < 0.8
        assert similarity == pytest.approx(len(items[a] & items[b]) / len(items[a] | items[b]))
        assert frozenset((a, b)) not in results


def test_distances_miss_beyond_the_largest() -> None:
    points = np.column_stack([np.arange(400) * 0.26, np.zeros(400)]).astype(np.float32)
    found = lookalike.pairs(points, measure="euclidean", max_distance=1.0).full_report()
    distances = [each["distance"] for each in found["near_misses"]]
    assert distances
    assert all(1.0 < each <= 1.0 / 0.85 for each in distances)
    assert all(math.isclose(each, 1.04, rel_tol=1e-3) for each in distances)


def test_where_nothing_comes_near_nothing_is_shown() -> None:
    apart = {f"s{number}": set(range(1000 * number, 1000 * number + 40)) for number in range(60)}
    assert lookalike.pairs(apart | {"copy": apart["s0"] - {1}}).full_report()["near_misses"] == []
    assert lookalike.dedup(apart, verify="none").full_report()["near_misses"] == []
    assert lookalike.dedup(apart, threshold=1.0).full_report()["near_misses"] == []


def test_groups_that_are_not_compared_do_not_miss_each_other() -> None:
    rows = pa.table({"text": [[str(n) for n in range(40 - lacking)] for lacking in range(20)], "g": [0, 1] * 10})
    found = lookalike.pairs(rows, column="text", group_by="g", threshold=0.9).full_report()
    assert all(int(a) % 2 == int(b) % 2 for a, b, _ in misses(found))
    assert misses(found)


def test_only_pairs_of_two_collections_miss_where_these_are_compared() -> None:
    ours = steps(20)
    theirs = {f"t{name}": items | {-1} for name, items in steps(20).items()}
    found = misses(lookalike.pairs(ours, against=theirs).full_report())
    assert found
    assert all(a.startswith("t") != b.startswith("t") for a, b, _ in found)


def test_of_a_large_collection_what_is_shown_was_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.report.examples._FEW_BYTES", 0)
    found = lookalike.pairs(steps(), bands=40, rows=4).full_report()
    assert found["near_misses"]
    assert all(each[side]["text"] for each in found["near_misses"] for side in "ab")


def test_a_run_that_is_taken_up_has_the_same_near_misses(tmp_path: Path) -> None:
    from lookalike.engines.local.matched import Matched
    from lookalike.engines.local.store.work_folder import Work

    result = lookalike.pairs(steps())
    matched, found = result.found.matched, result.found
    work = Work(tmp_path / "work")
    work.begin({"what": "test"}, resume=False)
    from lookalike.engines.local.matched import matches_file

    matched.matches.settle(matches_file(work))
    matched.save(work)
    again = Matched.load(work, found.plan, found.config.scale, 1 << 30)
    assert again is not None
    assert matched.near
    assert list(again.near) == list(matched.near)
