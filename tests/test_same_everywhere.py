"""The same items have the same plan and the same results from every format and place, with any amount of memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike.engines import planning
from lookalike.engines.local import frequency_pass as frequencies
from lookalike.engines.local.store.work_folder import Work
from lookalike.represent.document_counts import Frequencies
from tests.near_copies import near_copies
from tests.plain_sets import plain_sets

pytestmark = pytest.mark.no_cover

ROWS = 360


def texts() -> list[str]:
    """Some long ones first, so that the beginning of a file says little about the number of its rows."""
    out = near_copies(3, families=90)[:ROWS]
    return [" ".join([text] * 6) if i < 40 else text for i, text in enumerate(out)]


def sets() -> list[list[str]]:
    return [sorted(set(text.split())) for text in texts()]


def weighted() -> list[list[dict[str, Any]]]:
    return [[{"element": each, "weight": float(1 + len(each) % 5)} for each in row] for row in sets()]


def vectors() -> list[list[float]]:
    rng = np.random.default_rng(0)
    near = rng.normal(size=(ROWS // 3, 12)).repeat(3, axis=0) + rng.normal(size=(ROWS, 12)) * 0.1
    # Of sixteen bits or so, which every format writes and reads as they are.
    return (np.round(near * 256) / 256).tolist()  # type: ignore[no-any-return]


def bits() -> list[list[int]]:
    rng = np.random.default_rng(1)
    near = rng.integers(2, size=(ROWS // 3, 64)).repeat(3, axis=0) ^ (rng.random((ROWS, 64)) < 0.05)
    return near.tolist()  # type: ignore[no-any-return]


CASES: dict[str, tuple[Callable[[], list[Any]], pa.DataType, dict[str, Any]]] = {
    "text": (texts, pa.string(), {"threshold": 0.5, "shingle": "word:2"}),
    "text without the frequent": (texts, pa.string(), {"threshold": 0.5, "shingle": "word:1", "max_share": 0.2}),
    "sets": (sets, pa.list_(pa.string()), {"threshold": 0.5}),
    "tf-idf": (texts, pa.string(), {"measure": "weighted-jaccard", "shingle": "word:1", "threshold": 0.5}),
    "bm25": (texts, pa.string(), {"measure": "cosine", "weights": "bm25", "shingle": "word:1", "threshold": 0.6}),
    "counts": (texts, pa.string(), {"measure": "weighted-jaccard", "weights": "count", "threshold": 0.5}),
    "bags": (
        weighted,
        pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float64())])),
        {"measure": "weighted-jaccard", "threshold": 0.5},
    ),
    "vectors": (vectors, pa.list_(pa.float32()), {"measure": "cosine", "threshold": 0.9}),
    "euclidean": (vectors, pa.list_(pa.float32()), {"measure": "euclidean", "max_distance": 0.5}),
    "bits": (bits, pa.list_(pa.int64()), {"measure": "hamming", "threshold": 0.9}),
}

JACCARD = ("text", "text without the frequent", "sets")

# Everything compared; the plan of the options alone; bands and rows by a sample of the first rows.
SCALES: dict[str, dict[str, int]] = {
    "few": {},
    "some": {"_FEW_ROWS": 10},
    "many": {"_FEW_ROWS": 10, "LONG_RUN": 100, "_SAMPLE_ROWS": 120, "_SCANNED": 0},
}


def stored(items: list[Any], kind: pa.DataType, folder: Path) -> dict[str, Any]:
    """The items in memory and in files of all formats that hold them."""
    table = pa.table({"id": [f"i{i}" for i in range(len(items))], "items": pa.array(items, kind)})
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    pq.write_table(table, folder / "x.parquet", row_group_size=70)
    (folder / "x.jsonl").write_text(lines)
    # Blank lines are no rows.
    (folder / "x.jsonl.gz").write_bytes(gzip.compress(("\n" + lines.replace("\n", "\n\n")).encode()))
    with pa.ipc.new_file(str(folder / "x.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=50)
    return {"memory": table, **{path.name: path for path in sorted(folder.iterdir())}}


@pytest.mark.parametrize("scale", list(SCALES))
@pytest.mark.parametrize("case", list(CASES))
def test_plans_and_pairs_are_the_same_from_everywhere(
    case: str, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SCALES[scale].items():
        monkeypatch.setattr(planning, name, value)
    make, kind, options = CASES[case]
    found = {}
    for name, items in stored(make(), kind, tmp_path).items():
        for memory in ("64MB", "2GB") if name in ("memory", "x.jsonl.gz") else ("200MB",):
            result = lookalike.pairs(items, id="id", column="items", memory=memory, **options)
            plan = result.plan
            assert plan is not None
            assert plan.exhaustive == (scale == "few" or (scale == "some" and case not in JACCARD))
            found[name, memory] = (plan.bands, plan.rows, plan.width, plan.items, result.table.to_pylist())
    first = found["memory", "64MB"]
    assert len(first[-1]) > 20, "something is found"
    for place, each in found.items():
        assert each == first, place


def test_a_long_run_is_planned_on_its_data_in_memory_too(tmp_path: Path) -> None:
    """220,000 sets, as there were when plans in memory and from files differed."""
    rng = np.random.default_rng(2)
    flat = pa.array(rng.integers(0, 60, 220_000 * 5))
    table = pa.table({"items": pa.FixedSizeListArray.from_arrays(flat, 5).cast(pa.list_(pa.int64()))})
    pq.write_table(table, tmp_path / "x.parquet")
    from lookalike.config import make_config
    from lookalike.io import open_source
    from lookalike.items.collection import open_collection

    plans = []
    for items in (table, tmp_path / "x.parquet"):
        config = make_config(threshold=0.5, sets="items")
        planned, expected = planning.plan_run(open_collection(open_source(items), None, config), config)
        assert planned is not None
        assert expected is not None
        assert planned.items == expected.items == 220_000
        plans.append((planned.bands, planned.rows))
    assert plans[0] == plans[1] != (lookalike.plan(0.5).bands, lookalike.plan(0.5).rows)


def test_counts_are_the_same_in_memory_and_in_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    documents = [set(rng.integers(1, 2**40, 3000).tolist()) for _ in range(5)]
    values = np.array(sorted(set().union(*documents)), np.uint64)
    for exact in (1 << 20, 100):
        held = Frequencies(exact=exact, width=4096)
        filed = Frequencies(
            exact=exact, width=4096, allocate=frequencies._allocated(Work(tmp_path), 0)
        )  # fmt: skip
        for counted in (held, filed):
            counted.add(plain_sets(documents))
        assert held.of(values).tolist() == filed.of(values).tolist()
        again = Frequencies.from_state(filed.state())
        assert again.of(values).tolist() == filed.of(values).tolist()
    assert list(tmp_path.iterdir()) == []


def test_rows_are_counted_as_they_are_read(tmp_path: Path) -> None:
    from lookalike.config import make_config
    from lookalike.io import open_source
    from lookalike.items.from_rows import open_items

    (tmp_path / "a.jsonl").write_text('\n{"text": "a b"}\n   \n{"text": "c"}')
    (tmp_path / "a.csv").write_text('text\n"a\nb"\nc\n')
    (tmp_path / "lines.txt").write_text("a\n\nb")
    config = make_config()
    for name, kind, limit, rows in (
        ("a.jsonl", None, None, 2),
        ("a.jsonl", None, 1, 1),
        ("a.csv", None, None, 2),
        ("lines.txt", "lines", None, 3),
    ):
        items = open_items(open_source(tmp_path / name, format=kind, limit=limit), config)
        assert items.count_rows() == rows == sum(batch.rows.size for batch in items.batches())
    broken = tmp_path / "b.jsonl"
    broken.write_text('{"text": "a"}\n{"text"\n{"text": "b"}\n')
    assert open_items(open_source(broken, skip_bad=True), config).count_rows() == 2
