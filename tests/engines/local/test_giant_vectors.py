"""Giant buckets of vectors, bits and bags: led in near-linear comparisons, and what goes matches what stays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
import lookalike.engines.leading
from lookalike.config import make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.result_tables import pairs_table, removed_table
from lookalike.errors import OptionError
from lookalike.io import open_source
from lookalike.types import F32Array
from tests.limited import limited

LARGE = 20
BANDS: dict[str, Any] = {"bands": 12, "rows": 6}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, row_bucket=LARGE, matches=LARGE)
    monkeypatch.setattr(lookalike.engines.leading, "_PATIENCE", 50)


def found(items: Any, verb: str, *, memory: int = 1 << 30, **options: Any) -> Found:
    given_options: dict[str, Any] = {"threads": 1, "audit": 0, "threshold": 0.9} | options
    config = dataclasses.replace(make_config(**given_options), memory=memory)
    return find(open_source(items), config, verb=verb)


def vectors(seed: int, alike: tuple[int, ...] = (300, 100), others: int = 200, spread: float = 0.04) -> F32Array:
    """Clusters of vectors that are all alike, and others that are like nothing, in no order."""
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal(32) + spread * rng.standard_normal((count, 32)) for count in alike]
    return rng.permutation(np.concatenate([*parts, rng.standard_normal((others, 32))])).astype(np.float32)


def cosines(x: F32Array) -> Any:
    unit = x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("options", [BANDS, {}], ids=["banded", "exhaustive"])
@pytest.mark.parametrize("seed", range(4))
def test_of_each_giant_cluster_one_stays_after_few_comparisons(seed: int, options: dict[str, Any]) -> None:
    x = vectors(seed)
    run = found(x, "dedup", measure="cosine", **options)
    assert run.plan is not None
    assert run.plan.exhaustive == (not options)
    truth = cosines(x)
    rows = removed_table(run).to_pylist()
    removed = {row["id"] for row in rows}
    for row in rows:
        assert row["kept"] not in removed
        assert row["similarity"] == pytest.approx(truth[row["id"], row["kept"]], abs=1e-12)
        assert row["similarity"] >= 0.9
    stay = np.setdiff1d(np.arange(len(x)), list(removed))
    left = truth[np.ix_(stay, stay)] >= 0.9
    assert left.sum() == len(stay)
    assert run.counts.led_items > 380
    assert run.counts.unexamined_items == 0
    # All pairs of the clusters are 49,800; a few leaders for each of 600 items are far less.
    assert run.counts.candidates < 600 * 25


@pytest.mark.parametrize("keep", ["last", "first"])
def test_the_first_in_keep_order_stays(keep: str) -> None:
    x = vectors(5, alike=(200,), others=50)
    run = found(x, "dedup", measure="cosine", keep=keep, **BANDS)
    cluster = np.flatnonzero((cosines(x) >= 0.9).sum(axis=1) > 100)
    kept = {row["kept"] for row in removed_table(run).to_pylist()}
    assert kept == {int(cluster[0 if keep == "first" else -1])}


@pytest.mark.parametrize("measure", ["euclidean", "hamming", "weighted-jaccard", "cosine bags"])
def test_bits_and_bags_and_distances_are_led_too(measure: str) -> None:
    x = vectors(7, alike=(200,), others=60, spread=0.01)
    options: dict[str, Any] = {"measure": measure.split()[0]} | BANDS
    items: Any = x
    if measure == "euclidean":
        options |= {"threshold": None, "max_distance": 1.0}
    elif measure == "hamming":
        items = pa.table({"bits": pa.array([row.tobytes() for row in np.packbits(x > 0, axis=1)], pa.binary(4))})
    else:
        bags = [[{"element": i, "weight": abs(float(w))} for i, w in enumerate(row)] for row in x]
        items = pa.table({"bag": pa.array(bags)})
    run = found(items, "dedup", **options)
    removed = removed_table(run).num_rows
    assert removed + run.counts.identical >= 199
    assert run.counts.unexamined_items == 0
    assert run.counts.led_items + run.counts.identical >= 190
    # Whatever way, a removed item is as similar to its keeper as a comparison of the two alone says.
    scale = run.config.scale
    for row in removed_table(run).to_pylist()[:20]:
        two = items.take([row["id"], row["kept"]]) if isinstance(items, pa.Table) else items[[row["id"], row["kept"]]]
        alone = pairs_table(found(two, "pairs", **options)).to_pylist()
        assert [each[scale.column] for each in alone] == [row[scale.column]]


@pytest.mark.parametrize("options", [BANDS, {}], ids=["banded", "exhaustive"])
def test_memory_and_threads_change_nothing(options: dict[str, Any]) -> None:
    x = vectors(9)

    def told(**more: Any) -> tuple[Any, ...]:
        run = found(x, "dedup", measure="cosine", **options, **more)
        return removed_table(run).to_pylist(), dataclasses.asdict(run.counts)

    whole = told()
    assert whole[0]
    assert told(threads=2) == whole
    assert told(threads=8) == whole
    if options:
        assert told(memory=200_000, threads=2) == whole
        assert told(memory=20_000) == whole


@pytest.mark.parametrize("options", [BANDS, {}], ids=["banded", "exhaustive"])
def test_pairs_of_giant_buckets_are_all_listed_or_refused_before_they_are_compared(options: dict[str, Any]) -> None:
    x = vectors(11)
    run = found(x, "pairs", measure="cosine", **options)
    truth = int((np.triu(cosines(x), 1) >= 0.9).sum())
    assert 0.99 * truth <= run.matched.pairs <= truth
    with pytest.raises(OptionError, match=r"there are about [45]\d,\d\d\d pairs, more than max_pairs = 20,000"):
        found(x, "pairs", measure="cosine", max_pairs=20_000, **options)


def test_a_bucket_whose_items_are_not_alike_is_compared_in_full_and_nobody_is_led() -> None:
    """One row a band: half of all items share each bucket, and only a few of them are alike."""
    rng = np.random.default_rng(13)
    x = rng.standard_normal((300, 32)).astype(np.float32)
    x[1::2] = x[::2] + 0.02 * rng.standard_normal((150, 32)).astype(np.float32)
    run = found(x, "dedup", measure="cosine", bands=6, rows=1)
    assert run.counts.largest_bucket > 100
    assert removed_table(run).num_rows == 150
    assert run.counts.unexamined_items == 0


def test_the_certificate_says_that_items_were_led() -> None:
    x = vectors(15)
    certificate = lookalike.dedup(x, measure="cosine", threshold=0.9, **BANDS).report["certificate"]
    assert "their items were compared with a few leaders only" in certificate["statement"]
    assert any("in very large buckets compared with a few leaders only" in note for note in certificate["notes"])
    assert certificate["left"]["items"] == 0


@pytest.mark.parametrize("cluster", ["representative", "components"])
@pytest.mark.parametrize("alike", [(60,), (60, 45), (30, 30, 30)])
@pytest.mark.parametrize(
    "limit",
    [
        {"measure": "cosine", "threshold": 0.99},
        {"measure": "euclidean", "threshold": None, "max_distance": 2.0},
        {"measure": "manhattan", "threshold": None, "max_distance": 9.0},
        {"measure": "lr:3", "threshold": None, "max_distance": 2.0},
    ],
    ids=lambda limit: str(limit["measure"]),
)
def test_lists_of_which_leaders_leave_nobody_are_led(
    limit: dict[str, Any], alike: tuple[int, ...], cluster: str
) -> None:
    x = vectors(1, alike=alike, others=0, spread=0.01)
    run = found(x, "dedup", cluster=cluster, **limit)
    assert len(x) - len(removed_table(run)) == len(alike)


@pytest.mark.parametrize("measure", ["cosine", "euclidean", "manhattan"])
@pytest.mark.parametrize("dimensions", [1, 8])
def test_vectors_around_one_are_one_cluster(measure: str, dimensions: int) -> None:
    rng = np.random.default_rng(0)
    x = (np.tile(1 + rng.random(dimensions), (300, 1)) + rng.normal(size=(300, dimensions)) * 1e-3).astype(np.float32)
    limit: dict[str, Any] = {"threshold": 0.9} if measure == "cosine" else {"threshold": None, "max_distance": 1.0}
    assert len(removed_table(found(x, "dedup", measure=measure, **limit))) == 299


@pytest.mark.parametrize("verb", ["pairs", "clusters", "dedup"])
@pytest.mark.parametrize("banded", [False, True])
@pytest.mark.parametrize("measure", ["cosine", "euclidean", "manhattan", "lr:3", "lr:inf"])
def test_one_vector_one_component_and_nothing_but_copies_are_collections_too(
    measure: str, banded: bool, verb: str
) -> None:
    # Of orders above 2 all pairs are compared always.
    bands: dict[str, Any] = {"bands": 3, "rows": 2} if banded and not measure.startswith("lr") else {}
    limit: dict[str, Any] = {"threshold": 0.9} if measure == "cosine" else {"threshold": None, "max_distance": 1.0}
    one = np.array([[1.5, -2.0]], np.float32)
    assert found(one, verb, measure=measure, **limit, **bands).matched.pairs == 0
    assert found(np.tile(one, (50, 1)), verb, measure=measure, **limit, **bands).matched.pairs == 50 * 49 // 2
    line = np.linspace(1, 1.5, 5, dtype=np.float32)[:, None]
    # All are parallel, and within 1 of one another; hashed, some of the distances may be missed.
    run = found(line, verb, measure=measure, **limit, **(bands if measure == "cosine" else {}))
    assert run.matched.pairs == 10
