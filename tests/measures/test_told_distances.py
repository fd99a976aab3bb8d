"""Similarities asked for by a distance, and told as one: bits that differ, or what a similarity leaves of 1."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.config import make_config
from lookalike.errors import OptionError
from lookalike.report.page import page
from lookalike.scale import Scale, left_of_one
from tests.packed_runs import listed, numbered, packed_job

Pairs = dict[tuple[int, int], float]
# All pairs are compared, or buckets are: so many bands of one row that nothing near is missed.
WAYS: dict[str, dict[str, Any]] = {"all": {}, "bands": {"bands": 60, "rows": 1}}


def bits() -> Any:
    rng = np.random.default_rng(0)
    made = (rng.integers(0, 2, (20, 70)).repeat(5, 0) ^ (rng.random((100, 70)) < 0.05)).astype(bool)
    made[7], made[9] = made[3], made[8]
    made[9, 0] ^= True
    return made


def sets() -> list[set[int]]:
    rng = np.random.default_rng(1)
    return [set(rng.integers(0, 12, 8).tolist()) for _ in range(60)]


def bags() -> list[dict[str, int]]:
    rng = np.random.default_rng(2)
    return [{f"w{word}": int(rng.integers(1, 4)) for word in rng.integers(0, 9, 6)} for _ in range(60)]


def vectors() -> Any:
    rng = np.random.default_rng(3)
    return rng.normal(size=(30, 3)).repeat(3, 0) + rng.normal(size=(90, 3)) * 0.1


def jaccard(a: set[int], b: set[int]) -> Fraction:
    return Fraction(len(a & b), len(a | b))


def weighted(a: dict[str, int], b: dict[str, int]) -> Fraction:
    words = a.keys() | b.keys()
    return Fraction(
        sum(min(a.get(word, 0), b.get(word, 0)) for word in words),
        sum(max(a.get(word, 0), b.get(word, 0)) for word in words),
    )


def found(result: Any) -> Pairs:
    return {(a, b): distance for a, b, distance in result}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("most", [0, 1, 3, 6])
def test_hamming_counts_the_bits_that_differ_and_the_limit_is_in(most: int, way: str) -> None:
    made = bits()
    apart = {(i, j): int((made[i] != made[j]).sum()) for i, j in combinations(range(len(made)), 2)}
    result = lookalike.pairs(made, measure="hamming", max_distance=most, **WAYS[way])
    assert found(result) == {pair: count for pair, count in apart.items() if count <= most}
    assert result.table.column_names == ["a", "b", "distance"]
    assert most not in (1, 3) or most in found(result).values()
    report = result.report
    assert (report["threshold"], report["told_as"]) == (most, "distance")
    assert sum(each["pairs"] for each in report["distances"]) == len(result)
    assert f"Hamming distance <= {most} on strings of 70 bits" in report["certificate"]["statement"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("most", ["0.1", "0.2", "0.3", "0.4", "0.6", "0.7", "0.9"])
def test_a_jaccard_distance_meets_its_limit_as_it_is_written(most: str, way: str) -> None:
    """1 - 0.7 is more than 0.3 in float64, and 3 of 10 in common are a distance of 0.7 all the same."""
    apart = {(i, j): 1 - jaccard(a, b) for (i, a), (j, b) in combinations(enumerate(sets()), 2)}
    result = found(lookalike.pairs(sets(), measure="jaccard", max_distance=float(most), **WAYS[way]))
    expected = {pair: float(each) for pair, each in apart.items() if each <= Fraction(most)}
    # One slot of 60 agrees with a chance that is the similarity; those of 0.1 are missed by (1 - 0.1)^60.
    assert result.keys() <= expected.keys() and len(expected) - len(result) <= (0 if way == "all" else 40)
    assert result == pytest.approx({pair: expected[pair] for pair in result}, abs=1e-15)
    assert max(result.values(), default=0.0) <= float(most)


def test_a_third_is_met_by_two_of_three() -> None:
    assert found(lookalike.pairs([{1, 2, 3}, {1, 2}], measure="jaccard", max_distance=1 / 3)) == {
        (0, 1): pytest.approx(1 / 3)
    }


def test_weighted_jaccard_and_cosine_leave_a_distance_of_one() -> None:
    apart = {(i, j): float(1 - weighted(a, b)) for (i, a), (j, b) in combinations(enumerate(bags()), 2)}
    result = found(lookalike.pairs(bags(), measure="weighted-jaccard", max_distance=0.5))
    assert result == pytest.approx({pair: each for pair, each in apart.items() if each <= 0.5})
    unit = vectors() / np.linalg.norm(vectors(), axis=1, keepdims=True)
    cosines = 1 - unit @ unit.T
    near = {(i, j): cosines[i, j] for i, j in combinations(range(90), 2) if cosines[i, j] <= 0.05}
    assert found(lookalike.pairs(vectors(), measure="cosine", max_distance=0.05)) == pytest.approx(near, abs=1e-6)


@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_what_is_removed_has_the_distance_to_what_stays(cluster: Any) -> None:
    made = bits()
    result = lookalike.dedup(made, measure="hamming", max_distance=4, cluster=cluster)
    rows = result.removed.to_pylist()
    assert len(rows) > 20
    for row in rows:
        apart = int((made[row["id"]] != made[row["kept"]]).sum())
        assert row["distance"] is None or row["distance"] == apart
        assert cluster == "components" or apart <= 4
    clusters = lookalike.clusters(made, measure="hamming", max_distance=4, cluster=cluster)
    assert all(row["distance"] == 0 for row in clusters.table.to_pylist() if row["id"] == row["kept"])
    same = lookalike.dedup(made, measure="hamming", threshold=66 / 70, cluster=cluster)
    assert same.kept.tolist() == result.kept.tolist()


def test_neighbours_are_told_by_distance_if_that_is_asked_for() -> None:
    made = bits()
    apart = (made[:, None] != made[None]).sum(axis=2)
    rows = lookalike.neighbors(made, k=3, distance=True).table.to_pylist()
    assert all(row["distance"] == apart[row["query"], row["id"]] for row in rows)
    np.fill_diagonal(apart, 70)
    assert [row["distance"] for row in rows] == np.sort(apart, axis=1)[:, :3].reshape(-1).tolist()
    rows = lookalike.neighbors(sets(), k=2, distance=True).table.to_pylist()
    assert all(
        row["distance"] == pytest.approx(float(1 - jaccard(sets()[row["query"]], sets()[row["id"]]))) for row in rows
    )
    assert lookalike.neighbors(vectors(), k=1, measure="euclidean", distance=True).table.column_names[-1] == "distance"
    assert lookalike.neighbors(made, k=3).table.column_names[-1] == "similarity"


@pytest.mark.parametrize("options", [{"max_distance": 5}, {"max_distance": 5, "bands": 30, "rows": 4}])
def test_stages_for_many_machines_tell_the_same_distances(options: dict[str, Any], tmp_path: Any) -> None:
    table = pa.table({"item": pa.array(bits().tolist(), pa.list_(pa.bool_()))})
    options = {"column": "item", "measure": "hamming", **options}
    job = packed_job(table, tmp_path, 3, **options)
    told = job.config.scale.told
    pairs = [(a, b, float(told(np.array([s]))[0])) for a, b, s in listed(job, job.match(numbered(table, [40])))]
    assert pairs == sorted(lookalike.pairs(table, **options)) and len(pairs) > 50


def test_the_page_speaks_of_distances_and_draws_a_falling_curve() -> None:
    report = lookalike.dedup(bits(), measure="hamming", max_distance=6, bands=20, rows=12).full_report()
    report = json.loads(json.dumps(report, allow_nan=False))
    text = page(report).replace("\N{NO-BREAK SPACE}", " ")
    assert "at Hamming distance ≤ 6." in text
    assert "imilarit" not in text and "≥" not in text
    assert report["curve"] and all(0 <= point["distance"] <= 6 for point in report["curve"])
    assert "20 bands of 12 rows: a pair at the maximum distance becomes a candidate" in text
    assert [(each["from"], each["to"]) for each in report["distances"]][:2] == [(0, 0), (0, 1)]


def test_counts_are_shown_without_digits_behind_the_point() -> None:
    shown = repr(lookalike.pairs(bits(), measure="hamming", max_distance=3))
    assert "distance=3\n" in f"{shown}\n" and "distance=3.0" not in shown
    assert "distance=0.5000" in repr(lookalike.pairs([{1, 2}, {1}], measure="jaccard", max_distance=0.5))


def test_a_run_folder_remembers_that_distances_were_asked_for(tmp_path: Any) -> None:
    lookalike.pairs(bits(), measure="hamming", max_distance=3).save(tmp_path / "pairs.parquet")
    lookalike.dedup(bits(), measure="hamming", max_distance=3).save(tmp_path / "run")
    opened = lookalike.Run.open(tmp_path / "run")
    assert "Hamming distance <= 3" in repr(opened)
    assert opened.report["threshold"] == 3


def test_a_scale_that_is_told_as_a_distance_goes_there_and_back() -> None:
    scale = Scale("hamming", 61 / 64, 64.0)
    assert (str(scale), scale.words, scale.sign) == ("Hamming distance <= 3", "Hamming distance <= 3", "<=")
    scores = np.array([1.0, 63 / 64, 61 / 64])
    assert scale.told(scores).tolist() == [0.0, 1.0, 3.0]
    assert scale.from_share(scale.share(scores)) == pytest.approx(scores)
    assert scale.told_from_share(scale.share(scores)) == pytest.approx([0.0, 1.0, 3.0])
    assert scale.identical == 1.0
    limits = [0.05 * step for step in range(20)]
    assert [Scale("jaccard", left_of_one(each), 1.0).told_limit for each in limits] == pytest.approx(limits, abs=1e-14)
    assert all(left_of_one(each) <= 1 - Fraction(str(round(each, 2))) for each in limits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "hamming", "max_distance": 0.1}, "for hamming it is a number of bits, such as 3"),
        ({"measure": "hamming", "max_distance": 70}, "max_distance is 70: strings of 70 bits never differ in more"),
        ({"measure": "hamming", "max_distance": 3, "threshold": 0.9}, "both say what matches: give one of them"),
        ({"measure": "jaccard", "max_distance": 1.0}, "for jaccard it is 1 - similarity and must be below 1"),
        ({"measure": "containment", "max_distance": 0.1}, "without a distance: give threshold"),
        ({"measure": "euclidean", "max_distance": 0}, "max_distance is 0: it must be above 0"),
        ({"measure": "hamming", "max_distance": -1}, "max_distance is -1: it must be above 0"),
        ({"max_distance": 3}, r"add measure \(--measure\), for example euclidean"),
    ],
)
def test_a_distance_that_cannot_be_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        lookalike.pairs(bits(), **options)
    assert "\n" not in str(caught.value)


def test_where_no_items_are_known_bits_cannot_be_counted(tmp_path: Any) -> None:
    with pytest.raises(OptionError, match="max_distance of hamming counts bits"):
        lookalike.plan(measure="hamming", max_distance=3)
    assert lookalike.plan(measure="hamming", max_distance=3, sample=bits()).threshold == 67 / 70
    assert lookalike.plan(measure="cosine", max_distance=0.1).threshold == pytest.approx(0.9)
    with pytest.raises(OptionError, match="an index by hamming tells similarities: give threshold"):
        lookalike.Index.build(tmp_path / "index", bits(), measure="hamming", max_distance=3)
    with pytest.raises(OptionError, match="containment has none"):
        lookalike.neighbors(sets(), measure="containment", distance=True)
    assert make_config(measure="jaccard", max_distance=0.0).threshold == 1.0
