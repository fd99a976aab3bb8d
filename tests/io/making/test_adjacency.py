"""Edges to rows against lists and dicts, in memory and through files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lookalike.errors import OutputError
from lookalike.io.making import adjacency
from lookalike.io.making.adjacency import Edges, Numbers, count_items, merge_rows, place_edges
from tests.reference.edges import counted, merged, placed

ITEMS, ELEMENTS = 5, 4
EDGES = st.lists(
    st.tuples(st.integers(0, ITEMS - 1), st.integers(0, ELEMENTS - 1), st.floats(0, 10, width=16)), max_size=40
)
Edge = tuple[int, int, float]


def columns(edges: list[Edge]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    items, elements, weights = zip(*edges, strict=True) if edges else ((), (), ())
    return np.array(items, np.int32), np.array(elements, np.int32), np.array(weights, np.float64)


@settings(deadline=None)
@given(EDGES)
def test_items_are_counted(edges: list[Edge]) -> None:
    items, *_ = columns(edges)
    counts = np.zeros(ITEMS, np.int64)
    count_items(items, counts)
    assert counts.tolist() == counted(items.tolist(), ITEMS)


@settings(deadline=None)
@given(EDGES, st.integers(0, ITEMS - 1), st.booleans())
def test_edges_are_placed_in_their_order(edges: list[Edge], first: int, weighted: bool) -> None:
    items, elements, weights = columns(edges)
    expected = placed(items.tolist(), elements.tolist(), first, ITEMS - first)
    places = np.cumsum([0, *map(len, expected)])[:-1].astype(np.int64)
    size = sum(map(len, expected))
    out, out_weights = np.empty(size, np.int32), np.empty(size if weighted else 0)
    place_edges(items, elements, weights if weighted else weights[:0], first, places, out, out_weights)
    assert out.tolist() == [element for row in expected for element in row]
    if weighted:
        by_weight = placed(items.tolist(), weights.tolist(), first, ITEMS - first)
        assert out_weights.tolist() == [weight for row in by_weight for weight in row]


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, ELEMENTS - 1), st.floats(-9, 9))), max_size=6), st.booleans())
def test_a_row_keeps_each_element_once_and_adds_its_weights(
    rows: list[list[tuple[int, float]]], weighted: bool
) -> None:
    flat = [edge for row in rows for edge in row]
    elements = np.array([element for element, _ in flat], np.int32)
    weights = np.array([weight for _, weight in flat] if weighted else [], np.float64)
    starts, sizes = np.cumsum([0, *map(len, rows)]).astype(np.int64), np.empty(len(rows), np.int64)
    count = merge_rows(starts, elements, weights, np.full(ELEMENTS, -1, np.int64), sizes)
    expected = [merged(row) for row in rows]
    assert sizes.tolist() == [len(row) for row in expected]
    assert elements[:count].tolist() == [element for row in expected for element in row]
    if weighted:
        assert weights[:count].tolist() == [weight for row in expected for weight in row.values()]


@settings(deadline=None)
@given(edges=EDGES, cut=st.integers(1, 40), weighted=st.booleans(), memory=st.sampled_from([0, 100, 10**9]))
def test_rows_do_not_depend_on_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, edges: list[Edge], cut: int, weighted: bool, memory: int
) -> None:
    monkeypatch.setattr(adjacency, "_LEAST_PART", 1)
    monkeypatch.setattr(adjacency, "_STEP", 7)
    store = Edges(weighted, memory, tmp_path)
    for at in range(0, len(edges), cut):
        items, elements, weights = columns(edges[at : at + cut])
        store.add(items, elements, weights if weighted else None, 0)
    assert store.spilled == (len(edges) * (28 if weighted else 12) > memory)
    rows = store.rows(ITEMS, ELEMENTS, 0)
    expected = [merged((e, w) for item, e, w in edges if item == each) for each in range(ITEMS)]
    assert rows.starts.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    size = int(rows.starts[-1])
    assert rows.elements.read(0, size).tolist() == [element for row in expected for element in row]
    if weighted:
        assert rows.weights is not None
        assert rows.weights.read(0, size).tolist() == [weight for row in expected for weight in row.values()]
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-9, 9)), min_size=1), st.integers(0, 5), st.data())
def test_numbers_are_read_as_they_were_appended(parts: list[list[int]], spill_at: int, data: st.DataObject) -> None:
    numbers = Numbers(np.int32, None)
    for index, part in enumerate(parts):
        if index == spill_at:
            numbers.spill()
        numbers.append(np.array(part, np.int32))
    whole = [number for part in parts for number in part]
    assert len(numbers) == len(whole)
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, len(whole)))
    assert numbers.read(begin, end).tolist() == whole[begin:end]


def test_a_folder_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    store = Edges(False, 0, tmp_path / "gone")
    one = np.zeros(1, np.int32)
    with pytest.raises(OutputError, match=r"can not write temporary files to .*gone: no such file"):
        store.add(one, one, None, 0)
