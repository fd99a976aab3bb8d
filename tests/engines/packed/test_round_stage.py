"""Keepers by rounds: those of a walk over all matches in keep order, whatever the tasks see of these."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.engines.packed import packed_clusters
from lookalike.engines.packed.blobs import Arrays1D, BatchWriter
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.order_stage import EDGES, SIZES
from tests.packed_runs import packed_job

# Numbers of items: references, which come first, and others.
ITEMS = np.array([-(1 << 62) + 3, -(1 << 62) + 4, *range(30), *((1 << 33) + np.arange(30)).tolist()])


def walked(edges: list[tuple[int, int, float]], order: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, float]]:
    """Whoever goes, for whom, and how similar they are: the plain walk."""
    before: dict[int, list[tuple[float, tuple[int, ...], int]]] = {}
    for left, right, similarity in edges:
        earlier, later = sorted((left, right), key=order.__getitem__)
        before.setdefault(later, []).append((-similarity, order[earlier], earlier))
    gone: dict[int, tuple[int, float]] = {}
    for item in sorted(before, key=order.__getitem__):
        kept = [each for each in before[item] if each[2] not in gone]
        if kept:
            gone[item] = min(kept)[2], -min(kept)[0]
    return gone


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Random matches, chains, and stars, over items in any order."""
    count = draw(st.integers(2, 40))
    items = draw(st.permutations(ITEMS.tolist()))[:count]
    kind = draw(st.sampled_from(["random", "chain", "star"]))
    if kind == "chain":
        pairs = list(pairwise(items))
    elif kind == "star":
        pairs = [(items[0], each) for each in items[1:]]
    else:
        place = st.integers(0, count - 1)
        pairs = [(items[a], items[b]) for a, b in draw(st.lists(st.tuples(place, place), max_size=80)) if a != b]
    unique = sorted({(min(pair), max(pair)) for pair in pairs})
    scores = draw(st.lists(st.sampled_from([0.5, 0.75, 1.0]), min_size=len(unique), max_size=len(unique)))
    return [(*pair, score) for pair, score in zip(unique, scores, strict=True)]


def blob_of(edges: list[tuple[int, int, float]], told: dict[str, dict[int, int]]) -> Arrays1D:
    left, right, similarity = (np.array(each) for each in zip(*edges, strict=True))
    found: Arrays1D = {"left": left, "right": right, "similarity": similarity.astype(np.float64)}
    for name, values in told.items():
        for side, ends in (("left", left), ("right", right)):
            found[f"{side}_{name}"] = np.array([values[end] for end in ends.tolist()], np.int64)
    return found


@pytest.mark.parametrize("rounds", [1, 2, 5, 100])
@pytest.mark.parametrize("kind", ["own order", "keys", "sizes"])
@settings(max_examples=40, deadline=None)
@given(edges=graphs(), seed=st.integers(0, 2**32 - 1))
def test_keepers_are_those_of_a_walk(kind: str, rounds: int, edges: list[tuple[int, int, float]], seed: int) -> None:
    if not edges:
        return
    rng = np.random.default_rng(seed)
    items = sorted({end for left, right, _ in edges for end in (left, right)})
    told: dict[str, dict[int, int]] = {}
    order: dict[int, tuple[int, ...]] = {item: (item,) for item in items}
    if kind == "keys":
        # The best copy of an item need not be its leader; of references the number is the least there is.
        best = {item: item if item < 0 else item + int(rng.integers(5)) * (1 << 40) for item in items}
        key = {item: -(1 << 63) if item < 0 else int(rng.integers(3)) for item in items}
        told, order = {"key": key, "best": best}, {item: (key[item], best[item]) for item in items}
    elif kind == "sizes":
        size = {item: int(rng.integers(1, 4)) for item in items}
        told, order = {"size": size}, {item: (-(1 << 63) if item < 0 else -size[item], item) for item in items}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_clusters, "_ROUNDS", rounds)
        job = packed_job(pa.table({"items": [[1, 2]]}), Path(folder), 3, verb="dedup", threshold=0.5)
        out = BatchWriter(EDGES)
        for task in range(3):
            mine = [edge for edge in edges if part_of_item(np.array([edge[0]]), 3)[0] == task]
            if mine:
                out.add("edges", task, blob_of(mine, told))
        keepers = packed_clusters._by_rounds(job, job.carrier.made(list(out.rest()), EDGES), 0)
        found = {}
        for blob in job.carrier.collect(keepers, "keepers")[0]:
            for row in range(len(blob["leaders"])):
                leader, kept = int(blob["leaders"][row]), int(blob["kept"][row])
                found[leader] = kept, float(blob["similarity"][row])
                assert int(blob["best"][row]) == told.get("best", {}).get(kept, kept)
                if kind == "sizes":
                    assert bool(blob["contains"][row]) == (told["size"][leader] > told["size"][kept])
    assert SIZES == ("left_size", "right_size")
    assert found == walked(edges, order)
