"""Edges become sets and bags, from every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError, OptionError
from lookalike.io import copy_rows, open_files, open_source
from lookalike.io.making import adjacency
from lookalike.io.making.edges import EdgeSource, open_edges
from lookalike.represent.elements import element_sets
from tests.reference.edges import neighbours

Edge = tuple[Any, Any, float]
SHOP: list[Edge] = [("ann", "tea", 1.0), ("bob", "tea", 2.5), ("ann", "milk", 0.5), ("ann", "tea", 0.25)]


def table(edges: list[Edge]) -> pa.Table:
    users, things, weights = zip(*edges, strict=True) if edges else ((), (), ())
    kind = pa.int64() if users and isinstance(users[0], int) else pa.string()
    return pa.table(
        {"user": pa.array(users, kind), "item": pa.array(things, kind), "w": pa.array(weights, pa.float64())}
    )


def opened(edges: list[Edge], *names: str, **options: Any) -> EdgeSource:
    defaults: dict[str, Any] = {"memory": 10**9, "folder": None}
    return open_edges(open_source(table(edges)), *(names or ("user", "item")), **(defaults | options))


def rows_of(source: EdgeSource, **options: Any) -> dict[Any, Any]:
    return {
        end: items
        for batch in source.batches(**options)
        for end, items in zip(*(column.to_pylist() for column in batch.rows.columns), strict=True)
    }


def bags_of(source: EdgeSource) -> dict[Any, dict[Any, float]]:
    return {end: {each["element"]: each["weight"] for each in bag} for end, bag in rows_of(source).items()}


def save(edges: list[Edge], path: Path) -> str:
    if path.suffix == ".parquet":
        pq.write_table(table(edges), path, row_group_size=2)
    elif path.suffix == ".csv":
        path.write_text("user,item,w\n" + "".join(f"{a},{b},{w}\n" for a, b, w in edges))
    else:
        path.write_text("".join(json.dumps({"w": w, "item": b, "user": a}) + "\n" for a, b, w in edges))
    return str(path)


def test_users_by_items_and_items_by_users() -> None:
    assert rows_of(opened(SHOP)) == {"ann": ["tea", "milk"], "bob": ["tea"]}
    assert rows_of(opened(SHOP, "item", "user")) == {"tea": ["ann", "bob"], "milk": ["ann"]}


def test_weights_of_repeated_rows_add_up() -> None:
    source = opened(SHOP, "user", "item", "w")
    assert bags_of(source) == {"ann": {"tea": 1.25, "milk": 0.5}, "bob": {"tea": 2.5}}
    assert source.edges == 4


def test_vertices_by_neighbours_without_loops() -> None:
    edges: list[Edge] = [(3, 1, 1.0), (1, 1, 1.0), (1, 2, 1.0), (2, 1, 4.0), (9, 9, 1.0)]
    source = opened(edges, undirected=True)
    assert list(rows_of(source).items()) == [(3, [1]), (1, [3, 2]), (2, [1])]
    assert (source.self_loops, source.edges, source.count()) == (2, 6, 3)
    assert bags_of(opened(edges, "user", "item", "w", undirected=True)) == {
        3: {1: 1.0},
        1: {3: 1.0, 2: 5.0},
        2: {1: 5.0},
    }


ENDS = st.integers(-4, 4) | st.just(2**62)
TEXTS = st.text(min_size=1, max_size=2) | st.sampled_from(["a", "b", "é"])
WEIGHTS = st.floats(0, 1e6)


@settings(deadline=None)
@given(
    edges=st.lists(st.tuples(ENDS, ENDS, WEIGHTS)) | st.lists(st.tuples(TEXTS, TEXTS, WEIGHTS)),
    undirected=st.booleans(),
    memory=st.sampled_from([0, 10**9]),
    cut=st.integers(1, 9),
)
def test_rows_are_those_of_plain_dicts(
    monkeypatch: pytest.MonkeyPatch, edges: list[Edge], undirected: bool, memory: int, cut: int
) -> None:
    monkeypatch.setattr(adjacency, "_LEAST_PART", 1)
    source = open_edges(
        open_source(table(edges), batch_rows=cut), "user", "item", "w",
        undirected=undirected, memory=memory, folder=None, batch_rows=cut, batch_bytes=64,
    )  # fmt: skip
    expected = neighbours(edges, undirected)
    found = bags_of(source)
    assert found == expected
    assert list(found) == list(expected)
    assert [list(row) for row in found.values()] == [list(row) for row in expected.values()]
    sets = opened(edges, undirected=undirected)
    assert rows_of(sets) == {item: list(row) for item, row in expected.items()}


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_every_format_gives_the_same_items(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(5)
    edges: list[Edge] = [(f"u{rng.integers(40)}", f"i{rng.integers(9)}", float(rng.integers(5))) for _ in range(500)]
    halves = [Path(save(part, tmp_path / f"{k}{ending}")) for k, part in enumerate((edges[:200], edges[200:]))]
    inner = open_source(halves, batch_rows=64)
    source = open_edges(inner, "user", "item", "w", memory=10**9, folder=None, batch_rows=10)
    assert source.count() is None
    expected = neighbours(edges)
    assert bags_of(source) == expected
    assert source.count() == len(expected)
    before = len(neighbours(edges[:200]))
    assert list(source.first_rows()) == [0, before]
    assert source.locate(0) == (0, 0)
    assert source.locate(before) == (1, 0)
    assert source.files == tuple(map(str, halves))
    for batch in source.batches(["user"]):
        assert source.locate(batch.first) == (batch.file, batch.row)


def test_integers_stay_integers_and_their_widths_may_differ(tmp_path: Path) -> None:
    for name, kind in (("a", pa.int32()), ("b", pa.int64())):
        columns = {"user": pa.array([1, 2], kind), "item": pa.array([7, 8], pa.uint64())}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    source = open_edges(open_files([str(tmp_path)]), "user", "item", memory=10**9, folder=None)
    assert rows_of(source) == {1: [7], 2: [8]}
    assert source.schema().field("items").type == pa.large_list(pa.uint64())
    assert source.schema() == source.full_schema()


def test_dictionary_columns_and_bytes_are_read_as_their_values() -> None:
    users = pa.array([b"\xff", b"b", b"\xff"])
    things = pa.array(["x", "y", "y"]).dictionary_encode()
    source = open_edges(open_source(pa.table({"u": users, "i": things})), "u", "i", memory=10**9, folder=None)
    assert rows_of(source) == {b"\xff": ["x", "y"], b"b": ["y"]}
    assert source.full_schema().field("u").type == pa.large_binary()
    bags = open_edges(
        open_source(pa.table({"u": users, "i": users, "w": [1, 2, 3]})), "u", "i", "w", memory=0, folder=None
    )
    for _ in range(2):
        (batch,) = bags.batches(["items"], expect={"items": bags.schema().field("items").type})
        assert batch.rows.column("items")[0].as_py() == [{"element": b"\xff", "weight": 4.0}]


def test_a_pass_can_be_repeated_and_parts_of_it_left_out() -> None:
    edges: list[Edge] = [(user, item, 1.0) for user in range(20) for item in range(user + 1)]
    source = opened(edges, batch_rows=4)
    assert [batch.first for batch in source.batches()] == [0, 4, 8, 12, 16]
    only = np.zeros(20, np.bool_)
    only[9] = True
    (batch,) = source.batches(["items", "user"], only=only)
    assert (batch.first, batch.rows.column("user").to_pylist()) == (8, [8, 9, 10, 11])
    assert batch.rows.column("items").to_pylist()[1] == list(range(10))
    assert rows_of(source) == rows_of(source)
    (names,) = opened(edges).batches(["user"])
    assert names.rows.schema.names == ["user"]


def test_the_bytes_of_each_pass_add_up_to_the_size(tmp_path: Path) -> None:
    source = open_edges(open_files([save(SHOP, tmp_path / "e.csv")]), "user", "item", memory=0, folder=tmp_path)
    for _ in range(2):
        told: list[int] = []
        list(source.batches(on_read=told.append))
        assert sum(told) == source.size() == (tmp_path / "e.csv").stat().st_size
    assert source.spilled


def test_a_giant_vertex_is_a_batch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjacency, "_LEAST_PART", 1000)
    edges: list[Edge] = [(0, leaf, 1.0) for leaf in range(1, 5001)] + [(leaf, leaf + 1, 1.0) for leaf in range(1, 5000)]
    source = opened(edges, undirected=True, memory=1000, batch_bytes=4096)
    found = rows_of(source)
    assert {vertex: dict.fromkeys(row, 1.0) for vertex, row in found.items()} == neighbours(edges, True)
    assert next(iter(source.batches())).rows.num_rows == 1
    assert source.spilled


NAN = float("nan")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b", 1.0), (None, "b", 1.0)], "item 1 has no 'user'"),
        ([("a", None, 1.0)], "item 0 has no 'item'"),
        ([("a", "", 1.0)], "item 0 has no 'item'"),
        ([("a", "b", -1.0)], "item 0 has the w -1.0; a weight is a number from 0 on"),
        ([("a", "b", NAN)], "item 0 has the w nan"),
        ([("a", "b", float("inf"))], "item 0 has the w inf"),
        ([("a", "b", None)], "item 0 has the w None"),
    ],
)
def test_a_bad_edge_is_named(edges: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(opened(edges, "user", "item", "w").batches())


def test_bad_edges_are_counted_where_bad_rows_are_skipped(tmp_path: Path) -> None:
    rows = ["a,b,1", "a,,1", ",b,1", "a,c,none", "a,d,-1", "a,e,nan", "a,b,2", "a,f, 3 ", "too,few"]
    (tmp_path / "e.csv").write_text("user,item,w\n" + "\n".join(rows) + "\n")
    inner = open_files([str(tmp_path / "e.csv")], skip_bad=True)
    source = open_edges(inner, "user", "item", "w", memory=10**9, folder=None)
    assert bags_of(source) == {"a": {"b": 3.0, "f": 3.0}}
    assert bags_of(source) == {"a": {"b": 3.0, "f": 3.0}}
    assert source.skips_bad
    assert source.skipped == 6
    assert source.bad[1] == f"{tmp_path}/e.csv row 1 has no 'item'"
    assert source.bad[3] == f"{tmp_path}/e.csv row 3 has the w 'none'; a weight is a number from 0 on"
    (tmp_path / "e.csv").write_text("user,item,w\n" + "\n".join(rows[:-1]) + "\n")
    with pytest.raises(InputError, match=r"e\.csv row 1 has no 'item'"):
        list(open_edges(open_files([str(tmp_path / "e.csv")]), "user", "item", memory=0, folder=None).batches())


def test_negative_weights_where_they_may_be() -> None:
    assert bags_of(opened([("a", "b", -1.0)], "user", "item", "w", negative=True)) == {"a": {"b": -1.0}}


def test_no_edges_are_no_items() -> None:
    source = opened([])
    assert list(source.batches()) == []
    assert source.count() == 0
    with pytest.raises(IndexError):
        source.locate(0)


def test_wrong_columns_are_told_before_anything_is_read() -> None:
    with pytest.raises(InputError, match=r"no column 'users'; .* \(did you mean 'user'\?\)"):
        opened(SHOP, "users", "item")
    with pytest.raises(OptionError, match="must differ, not user, user"):
        opened(SHOP, "user", "user")
    with pytest.raises(InputError, match="column 'w' is double: the ends of edges must be integers or text"):
        opened(SHOP, "w", "item")
    mixed = open_source(pa.table({"a": [1], "b": ["x"]}))
    with pytest.raises(InputError, match="the ends of undirected edges must be of one type"):
        open_edges(mixed, "a", "b", undirected=True, memory=0, folder=None)
    with pytest.raises(InputError, match="no column 'w'; its columns are: user, items"):
        list(opened(SHOP).batches(["w"]))


def test_an_item_column_of_the_usual_name_gives_way() -> None:
    source = open_edges(
        open_source(pa.table({"items": ["x"], "buyer": ["b"]})), "items", "buyer", memory=0, folder=None
    )
    assert source.schema().names == ["items", "buyer"]
    assert rows_of(source) == {"x": ["b"]}
    assert source.natural_id == "items"


def test_items_of_edges_are_copied_like_rows(tmp_path: Path) -> None:
    source = opened(SHOP, "user", "item", "w")
    copy_rows(source, np.array([False, True]), tmp_path / "kept.jsonl")
    assert json.loads((tmp_path / "kept.jsonl").read_text()) == {
        "user": "bob",
        "items": [{"element": "tea", "weight": 2.5}],
    }
    copy_rows(source, None, tmp_path / "kept.parquet")
    assert pq.read_table(tmp_path / "kept.parquet").column("user").to_pylist() == ["ann", "bob"]


def test_sets_of_edges_are_hashed_like_other_sets() -> None:
    (batch,) = opened(SHOP).batches(["items"])
    sets = element_sets(batch.rows.column("items"))
    expected = element_sets(pa.array([["tea", "milk"], ["tea"]]))
    assert sets.values.tolist() == expected.values.tolist()
