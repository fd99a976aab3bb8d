"""Texts that are caught while the items pass by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lookalike.collide.fold import Folds
from lookalike.collide.group import Groups
from lookalike.engines.local.parts import Grouped
from lookalike.engines.local.specimens import Specimens, choose, evenly


def groups_of(buckets: list[list[int]]) -> Groups:
    starts = np.cumsum([0, *map(len, buckets)]).astype(np.int64)
    members = np.array([item for each in buckets for item in each], np.uint32)
    return Groups(members, starts, starts[1:].copy(), 0, 0)


def grouped(items: int, bands: list[list[list[int]]], giant: list[int]) -> Grouped:
    meets = np.zeros(items, np.bool_)
    for band in bands:
        for bucket in band:
            meets[bucket] = True
    return Grouped([groups_of(band) for band in bands], meets, np.isin(np.arange(items), giant))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array(["a", "b", None, "d"]), {11: "b", 12: ""}),
        (pa.array([b"a", b"\xff", None, b"d"]), {11: "\ufffd", 12: ""}),
        (pa.array(["a", "x" * 10**5, "y", "d"]), {11: "x" * 4000, 12: "y"}),
    ],
)
def test_the_texts_of_chosen_items_are_caught_and_cut(values: pa.Array, texts: dict[int, str]) -> None:
    specimens = Specimens(np.array([12, 3, 11, 40, 11]))
    assert specimens.items.tolist() == [3, 11, 12, 40]
    specimens.catch(10, values)
    specimens.catch(20, values)
    assert specimens.texts == texts


PAIRS = pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float64())]))
SIDE_BY_SIDE = pa.struct([("indices", pa.list_(pa.int64())), ("values", pa.list_(pa.float64()))])


@pytest.mark.parametrize(
    ("form", "values", "text"),
    [
        ("sets", pa.array([[2, 3]]), "2, 3"),
        ("sets", pa.array([["a"] * 70]), ", ".join(["a"] * 60) + ", … 70 elements"),
        ("sets", pa.array([["a" * 100, "b"]]), "a" * 80 + "…, b"),
        ("vectors", pa.array([[1.5, -0.25]], pa.list_(pa.float32())), "1.5, -0.25"),
        ("vectors", pa.array([[1 / 3] * 384], pa.list_(pa.float32(), 384)), "0.3333, " * 8 + "… 384 components"),
        ("vectors", pa.array([[1.0, None]], pa.list_(pa.float32())), "1, null"),
        ("vectors", pa.array([np.arange(9, dtype="<f4").tobytes()]), "0, 1, 2, 3, 4, 5, 6, 7, … 9 components"),
        ("bits", pa.array([b"\x9f\x3a\x01\xc4\xff"], pa.binary(5)), "9f3a 01c4 ff"),
        ("bits", pa.array([bytes(128)]), "0000 " * 16 + "… 1,024 bits"),
        ("bits", pa.array([[True, False, False, False]]), "80"),
        ("bits", pa.array([-1], pa.int16()), "ffff"),
        ("bags", pa.array([[{"element": "a", "weight": 0.5}, {"element": "b", "weight": 2.0}]], PAIRS), "b: 2, a: 0.5"),
        ("bags", pa.array([[("a", 0.5), ("b", -2.0)]], pa.map_(pa.string(), pa.float64())), "b: -2, a: 0.5"),
        ("bags", pa.array([{"indices": [4, 7], "values": [1.0, 3.0]}], SIDE_BY_SIDE), "7: 3, 4: 1"),
        ("bags", pa.array([["a", "b", "a"]]), "a: 2, b: 1"),
        (
            "bags",
            pa.array([[f"w{i:02}" for i in range(20)]]),
            ", ".join(f"w{i:02}: 1" for i in range(12)) + ", … 20 elements",
        ),
        ("vectors", pa.array([None], pa.list_(pa.float32())), ""),
    ],
)
def test_items_of_every_form_are_told_in_short(form: str, values: pa.Array, text: str) -> None:
    specimens = Specimens(np.array([0]), form)
    specimens.catch(0, values)
    assert specimens.texts == {0: text}


def test_pairs_of_buckets_copies_and_giant_items_are_chosen_the_same_each_time() -> None:
    leader = np.arange(60, dtype=np.uint32)
    leader[50:55] = 49
    bands = [[[0, 1], [2, 3, 4, 5, 6, 7]], [], [[8, 9]]]
    arguments: list[Any] = [grouped(60, bands, list(range(20, 40))), Folds(leader), np.ones(60, np.bool_)]
    chosen = choose(*arguments).items.tolist()
    assert chosen == choose(*arguments).items.tolist()
    assert {0, 1, 8, 9, 49} <= set(chosen)
    assert len({2, 3, 4, 5, 6, 7} & set(chosen)) >= 2
    assert len(set(range(20, 40)) & set(chosen)) >= 10
    assert not set(chosen) & {*range(10, 20), *range(50, 60)}


def test_nothing_alike_is_nothing_to_look_at() -> None:
    empty = grouped(3, [[]], [])
    assert choose(empty, Folds(np.arange(3, dtype=np.uint32)), np.ones(3, np.bool_)).items.tolist() == []
    assert choose(Grouped(), Folds(np.empty(0, np.uint32)), np.empty(0, np.bool_)).items.tolist() == []


def test_many_buckets_are_sampled() -> None:
    bands = [[[2 * i, 2 * i + 1] for i in range(5000)] for _ in range(3)]
    leader = np.arange(10_000, dtype=np.uint32)
    chosen = choose(grouped(10_000, bands, []), Folds(leader), np.ones(10_000, np.bool_)).items
    assert 200 <= len(chosen) <= 2000


def test_pairs_that_share_a_bucket_are_candidates() -> None:
    found = grouped(10, [[[0, 1], [3, 2, 4]]], [])
    candidates = choose(found, Folds(np.arange(10, dtype=np.uint32)), np.ones(10, np.bool_)).candidates.tolist()
    assert [0, 1] in candidates
    assert all(a < b and {a, b} <= {2, 3, 4} for a, b in candidates if (a, b) != (0, 1))


def test_values_are_chosen_evenly_over_their_range() -> None:
    values = np.concatenate([np.full(1000, 0.8), np.linspace(0.8, 1.0, 41)])[::-1].copy()
    assert values[evenly(values, 5)].tolist() == pytest.approx([0.8, 0.85, 0.9, 0.95, 1.0])


@pytest.mark.parametrize("values", [[], [0.5], [0.5] * 9, [np.nan] * 9, [0.5, np.nan, 0.7], [0.0, 1.0, 1.0, 1.0]])
@pytest.mark.parametrize("most", [1, 4, 20])
def test_as_many_are_chosen_as_there_are_each_once(values: list[float], most: int) -> None:
    chosen = evenly(np.array(values), most).tolist()
    assert len(chosen) == len(set(chosen)) == min(most, len(values))
    known = [values[at] for at in chosen if values[at] == values[at]]
    assert known == sorted(known)
