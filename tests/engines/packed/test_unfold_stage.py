"""From matches of leaders to pairs of items, against plain lists."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.engines.packed import unfold_stage
from lookalike.engines.packed.blobs import BatchWriter
from lookalike.engines.packed.numbering import part_of_item
from lookalike.engines.packed.one_process import OneProcess
from lookalike.engines.packed.tallies import Tallies
from lookalike.engines.packed.unfold_stage import COUNTED, HALF, WHOLE, UnfoldLeft, UnfoldRight, count_pairs

PARTS = 3


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.data())
def test_each_match_stands_for_all_pairs_of_copies(sizes: list[int], data: st.DataObject) -> None:
    ends = np.cumsum(sizes).tolist()
    folds = [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    every = list(combinations([fold[0] for fold in folds], 2))
    matches = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    carrier, out = OneProcess(Path()), BatchWriter(["matches", "copies"])
    for left, right in matches:
        task = int(part_of_item(np.array([left]), PARTS)[0])
        arrays = {"left": np.array([left]), "right": np.array([right]), "similarity": np.array([left / 10])}
        out.add("matches", task, arrays)
    for fold in folds:
        if len(fold) > 1:
            task = int(part_of_item(np.array(fold[:1]), PARTS)[0])
            out.add("copies", task, {"leaders": np.array(fold[:1] * len(fold)), "items": np.array(fold)})
    table = carrier.made(list(out.rest()), ["matches", "copies"])
    copies = carrier.only(table, "copies")
    half = carrier.map(carrier.exchange(table, PARTS), UnfoldLeft(PARTS), HALF)
    both = carrier.exchange(carrier.together(half, copies), PARTS)
    found = carrier.collect(carrier.map(both, UnfoldRight(1.0), WHOLE), "listed")[0]
    pairs = sorted((int(a), int(b), float(s)) for blob in found for a, b, s in zip(*blob.values(), strict=True))
    of = {fold[0]: fold for fold in folds}
    across = [(min(a, b), max(a, b), left / 10) for left, right in matches for a, b in product(of[left], of[right])]
    within = [(a, b, 1.0) for fold in folds for a, b in combinations(fold, 2)]
    assert pairs == sorted(across + within)
    counted = Tallies.merged(carrier.collect(carrier.map(both, count_pairs, COUNTED), "counts")[0])
    assert counted.get("pairs", 0) == len(across)


def test_many_copies_are_put_in_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfold_stage, "_PAIRS", 5)
    test_each_match_stands_for_all_pairs_of_copies()
