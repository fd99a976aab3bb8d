"""Text that is not UTF-8, wherever a table can hold it: read with replacement and counted, or refused with a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.errors import InputError

BROKEN = pa.array([b"one two three four \xff", b"one two three four", b"other words altogether \xfe"]).view(pa.string())
LISTS = pa.ListArray.from_arrays([0, 2, 4, 5], pa.array([b"a", b"\xff", b"a", b"\xff", b"c"]).view(pa.string()))
BAGS = pa.ListArray.from_arrays(
    [0, 2, 4, 5],
    pa.StructArray.from_arrays(
        [pa.array([b"a", b"\xff", b"a", b"\xff", b"c"]).view(pa.string()), pa.array([1.0, 2, 1, 2, 1])],
        names=["element", "weight"],
    ),
)

MAPS = pa.MapArray.from_arrays(
    [0, 2, 4, 5], pa.array([b"a", b"\xff", b"a", b"\xff", b"c"]).view(pa.string()), pa.array([1.0, 2, 1, 2, 1])
)


@pytest.fixture(params=["parquet", "arrow", "memory"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A table with such text in every column, in a file or in memory."""
    table = pa.table({"text": BROKEN, "items": LISTS, "bag": BAGS, "map": MAPS, "name": BROKEN, "id": ["x", "y", "z"]})
    path = tmp_path / f"in.{request.param}"
    if request.param == "memory":
        return table
    if request.param == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    return str(path)


@pytest.mark.parametrize(
    "options",
    [
        {"column": "text", "shingle": "word:1"},
        {"column": "text", "exact": True},
        {"column": ["text", "name"], "shingle": "word:1"},
        {"column": "text", "tokens": str.split, "shingle": "word:1"},
        {"sets": "items"},
        {"column": "bag", "measure": "weighted-jaccard"},
        {"column": "map", "measure": "weighted-jaccard"},
        {"column": "text", "group_by": "name"},
        {"column": "text", "id": "id"},
    ],
    ids=str,
)
def test_items_are_read_whatever_their_bytes_are(given: Any, options: dict[str, Any], tmp_path: Path) -> None:
    for verb in (lookalike.pairs, lookalike.clusters, lookalike.dedup):
        result = verb(given, threshold=0.5, **options)
        repr(result)
        result.report  # noqa: B018
    result.save(tmp_path / "run")
    result.save(tmp_path / "kept.jsonl")


@pytest.mark.parametrize("unit", ["line", "paragraph"])
def test_units_of_such_text_are_read(given: Any, unit: Any, tmp_path: Path) -> None:
    lookalike.dedup(given, column="text", unit=unit).save(tmp_path / "kept.jsonl")


def test_columns_beside_the_items_are_read(given: Any, tmp_path: Path) -> None:
    lookalike.dedup(given, column="text", report_by="name").save(tmp_path / "run")
    seen = []

    def first(row: dict[str, Any]) -> int:
        seen.append(row["name"])
        return len(seen)

    lookalike.dedup(given, column="text", keep=first)
    assert len(seen) == 3


def test_an_id_that_is_not_utf8_is_an_error(given: Any) -> None:
    with pytest.raises(InputError, match=r"the id column 'name' holds \w+: ids must be whole numbers or text"):
        lookalike.pairs(given, column="text", id="name")
