"""Inner products: all pairs from a threshold on, copies like any others, and what there is no sense in is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import OptionError
from lookalike.report.page import page
from lookalike.scale import Scale


def vectors() -> Any:
    """Of very different lengths; some are zero, and some are copies: short ones, which are not even like themselves."""
    rng = np.random.default_rng(0)
    made = (rng.normal(size=(200, 8)) * rng.uniform(0.1, 3, (200, 1))).astype(np.float32)
    made[[3, 4]], made[[10, 11]], made[[20, 21, 22]] = 0.0, 0.125, made[np.argmax(np.abs(made).sum(axis=1))]
    return made


def truth(made: Any, limit: float) -> dict[tuple[int, int], float]:
    products = made.astype(np.float64) @ made.astype(np.float64).T
    return {(i, j): products[i, j] for i, j in zip(*np.nonzero(np.triu(products >= limit, 1)), strict=True)}


@pytest.mark.parametrize("limit", [0.01, 2.0, 12.5])
def test_pairs_are_all_whose_product_reaches_the_threshold(limit: float) -> None:
    result, expected = lookalike.pairs(vectors(), measure="dot", threshold=limit), truth(vectors(), limit)
    found = {(a, b): product for a, b, product in result}
    assert found == pytest.approx(expected)
    assert (3, 4) not in found
    assert ((10, 11) in found) == (limit < 0.125)
    assert {(20, 21), (20, 22), (21, 22)} <= found.keys()
    certificate = result.report["certificate"]
    assert f"pairs with dot product >= {limit:g} on vectors" in certificate["statement"]
    assert "; recall 1 (every pair was compared); precision 1" in certificate["statement"]
    bins = result.report["similarities"]
    assert sum(each["pairs"] for each in bins) == len(expected)
    assert bins[0]["from"] >= limit * 0.9 and bins[-1]["to"] <= 10 * limit


@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_a_removed_vector_has_the_product_with_the_one_that_stays(cluster: Any) -> None:
    made = vectors()
    products = truth(made, 6.0)
    result = lookalike.dedup(made, measure="dot", threshold=6.0, cluster=cluster)
    rows = result.removed.to_pylist()
    linked = {item for pair in products for item in pair}
    assert 20 < len(rows) < len(linked)
    for row in rows:
        assert row["id"] in linked and row["kept"] < row["id"]
        if cluster == "representative":
            assert row["similarity"] == pytest.approx(products[row["kept"], row["id"]])
    assert {3, 4, 10, 11}.isdisjoint(row["id"] for row in rows)
    kept = [row for row in result.clusters.to_pylist() if row["id"] == row["kept"]]
    assert kept and all(row["similarity"] is None for row in kept)


def test_pairs_of_two_collections_are_those_across() -> None:
    made = vectors()
    result = lookalike.pairs(made[:80], against=made[80:], measure="dot", threshold=5.0)
    across = {(i, j - 80) for i, j in truth(made, 5.0) if i < 80 <= j}
    assert {(a, b) for a, b, _ in result} == across


def test_a_threshold_that_only_float32_misses_is_met() -> None:
    assert list(lookalike.pairs([[0.1], [0.7]], measure="dot", threshold=0.07))
    assert not list(lookalike.pairs([[0.1], [0.7]], measure="dot", threshold=0.07001))


def test_the_report_has_products_beyond_its_scale_in_its_last_column() -> None:
    result = lookalike.dedup(vectors(), measure="dot", threshold=0.5)
    report = json.loads(json.dumps(result.full_report(), allow_nan=False))
    last = report["similarities"][-1]
    assert last["from"] == last["to"] == 5.0
    assert last["pairs"] == sum(product >= 5.0 for product in truth(vectors(), 0.5).values())
    text = page(report).replace("\N{NO-BREAK SPACE}", " ")
    assert "at dot product ≥ 0.5." in text
    assert f"The narrow column shows the {last['pairs']:,} pairs at 5 and beyond." in text


def test_a_scale_without_an_end_goes_to_ten_times_its_limit() -> None:
    scale, scores = Scale("dot", 2.0), np.array([2.0, 10.0, 20.0, 500.0])
    assert scale.share(scores).tolist() == [0.1, 0.5, 1.0, 1.0]
    assert scale.from_share(scale.share(scores)).tolist() == [2.0, 10.0, 20.0, 20.0]
    assert np.isnan(scale.identical)
    assert (str(scale), scale.words) == ("dot product >= 2", "dot product >= 2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": None}, "dot needs threshold"),
        ({"max_distance": 3.0}, "dot is a similarity without a distance"),
        ({"threshold": -1.0}, "threshold is -1.0: it must be above 0"),
        ({"bands": 3, "rows": 2}, "all pairs must be compared, which needs"),
        ({"verify": "none"}, "all pairs must be compared, which needs"),
        ({"verify": "sketch"}, "all pairs must be compared, which needs"),
        ({"group_by": "group"}, "all pairs must be compared, which needs"),
        ({"recall": 1.0, "group_by": "group"}, "does not go with group_by"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    items = pa.table({"vector": pa.array(vectors().tolist(), pa.list_(pa.float32())), "group": ["a", "b"] * 100})
    with pytest.raises(OptionError, match=message) as caught:
        lookalike.pairs(items, **{"vectors": "vector", "measure": "dot", "threshold": 2.0, **options})
    assert "\n" not in str(caught.value)


def test_an_index_and_tune_take_no_products(tmp_path: Any) -> None:
    with pytest.raises(OptionError, match="an index is not for dot"):
        lookalike.Index.build(tmp_path / "index", vectors(), measure="dot", threshold=2.0)
    with pytest.raises(OptionError, match="measure is 'dot': tune works with similarities up to 1"):
        lookalike.tune(vectors(), measure="dot")
