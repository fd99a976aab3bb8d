"""Same items, same result, without exception: whatever the memory, the threads, the sizes of batches and pieces, the
format and the places that the items come from.

The reference is a run over the items in memory, by one thread, with room for everything. Each way is another one that
Hypothesis makes up: files of a format, cut anywhere, with row groups, pages and blocks of any size, read in batches of
any size by any number of threads, with so little memory that things are spilled, or not.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike
from lookalike import api
from lookalike.config import make_config
from lookalike.engines import planning
from lookalike.io.reading import blocks, line_ranges
from lookalike.io.reading.formats import parquet
from tests.near_copies import near_copies

pytestmark = pytest.mark.no_cover

ROWS = 240


def texts() -> list[str | None]:
    """Families of near copies, some items identical, some empty, one of which all others are but a small part."""
    out: list[str | None] = [*near_copies(5, families=60)]
    out = out[: ROWS - 20] + [out[i] for i in range(0, 60, 4)] + ["", None, "", "…", " ".join(map(str, out[:30]))]
    return out[:ROWS]


def sets() -> list[list[str] | None]:
    return [None if text is None else sorted(set(text.split())) for text in texts()]


def bags() -> list[list[dict[str, Any]] | None]:
    return [
        None if row is None else [{"element": each, "weight": float(1 + len(each) % 5)} for each in row]
        for row in sets()
    ]


def vectors() -> list[list[float]]:
    rng = np.random.default_rng(0)
    near = rng.normal(size=(ROWS // 3, 12)).repeat(3, axis=0) + rng.normal(size=(ROWS, 12)) * 0.1
    # Of sixteen bits or so, which every format writes and reads as they are.
    return (np.round(near * 256) / 256).tolist()  # type: ignore[no-any-return]


def bits() -> list[list[int]]:
    rng = np.random.default_rng(1)
    near = rng.integers(2, size=(ROWS // 3, 64)).repeat(3, axis=0) ^ (rng.random((ROWS, 64)) < 0.05)
    return near.tolist()  # type: ignore[no-any-return]


WEIGHTED = pa.list_(pa.struct([("element", pa.string()), ("weight", pa.float64())]))
FLOATS = pa.list_(pa.float32())
CASES: dict[str, tuple[Callable[[], list[Any]], pa.DataType, dict[str, Any]]] = {
    "jaccard of text": (texts, pa.string(), {"threshold": 0.5, "shingle": "word:2"}),
    "jaccard of lines": (texts, pa.string(), {"threshold": 0.5, "shingle": "word:1", "unit": "line"}),
    "jaccard without the frequent": (texts, pa.string(), {"threshold": 0.5, "shingle": "word:1", "max_share": 0.2}),
    "jaccard of sets": (sets, pa.list_(pa.string()), {"threshold": 0.5}),
    "jaccard in groups": (texts, pa.string(), {"threshold": 0.5, "shingle": "word:1", "group_by": "group"}),
    "identical": (texts, pa.string(), {"exact": True}),
    "containment": (sets, pa.list_(pa.string()), {"measure": "containment", "threshold": 0.8}),
    "weighted jaccard": (bags, WEIGHTED, {"measure": "weighted-jaccard", "threshold": 0.5}),
    "tf-idf": (texts, pa.string(), {"measure": "weighted-jaccard", "shingle": "word:1", "threshold": 0.5}),
    "bm25": (texts, pa.string(), {"measure": "cosine", "weights": "bm25", "shingle": "word:1", "threshold": 0.6}),
    "cosine": (vectors, FLOATS, {"measure": "cosine", "threshold": 0.9}),
    "euclidean": (vectors, FLOATS, {"measure": "euclidean", "max_distance": 0.5}),
    "manhattan": (vectors, FLOATS, {"measure": "manhattan", "max_distance": 1.5}),
    "hamming": (bits, pa.list_(pa.int64()), {"measure": "hamming", "threshold": 0.9}),
}
# Bands and rows by a sample of the first rows, so that everything is hashed, grouped and compared.
MANY = {"_FEW_ROWS": 10, "LONG_RUN": 100, "_SAMPLE_ROWS": 120, "_SCANNED": 0}


@dataclass(frozen=True)
class Way:
    """How the items are stored and read."""

    format: str
    cuts: tuple[int, ...]
    group: int
    page: int
    block: int
    batch: int
    threads: int
    memory: int


WAYS = st.builds(
    Way,
    format=st.sampled_from(["memory", "parquet", "jsonl", "jsonl.gz", "arrow"]),
    cuts=st.lists(st.integers(0, ROWS), max_size=3).map(lambda cuts: tuple(sorted(cuts))),
    group=st.sampled_from([1, 7, 60, 1000]),
    page=st.sampled_from([64, 1000, 1 << 20]),
    block=st.sampled_from([100, 3000, 8 << 20]),
    batch=st.sampled_from([200, 5000, 16 << 20]),
    threads=st.sampled_from([1, 2, 5]),
    memory=st.sampled_from([400_000, 64 << 20, 4 << 30]),
)


@functools.cache
def table_of(case: str) -> pa.Table:
    make, kind, _ = CASES[case]
    items = make()
    count = len(items)
    return pa.table({
        "id": [f"i{i * 7919 % count}" for i in range(count)],
        "group": [i % 2 for i in range(count)],
        "score": [i * 31 % 17 for i in range(count)],
        "items": pa.array(items, kind),
    })  # fmt: skip


def stored(table: pa.Table, way: Way, folder: Path) -> Any:
    """The items as a way has them."""
    if way.format == "memory":
        return pa.concat_tables([table.slice(begin, end - begin) for begin, end in stretches(way.cuts, len(table))])
    paths = []
    for number, (begin, end) in enumerate(stretches(way.cuts, len(table))):
        part, path = table.slice(begin, end - begin), folder / f"{number}.{way.format}"
        if not len(part) and way.format != "parquet":
            continue
        if way.format == "parquet":
            pq.write_table(part, path, row_group_size=way.group, data_page_size=way.page, write_batch_size=4)
        elif way.format == "arrow":
            with pa.ipc.new_file(str(path), part.schema) as writer:
                writer.write_table(part, max_chunksize=way.group)
        else:
            lines = "\n".join(json.dumps(row) for row in part.to_pylist()).encode()
            path.write_bytes(lines if way.format == "jsonl" else pa.compress(lines, "gzip", asbytes=True))
        paths.append(path)
    return paths


def stretches(cuts: tuple[int, ...], count: int) -> list[tuple[int, int]]:
    ends = [min(cut, count) for cut in cuts]
    return list(zip([0, *ends], [*ends, count], strict=True))


@contextmanager
def sizes(way: Way | None) -> Iterator[None]:
    """Pieces, blocks and batches of a way's sizes; plans as for large collections."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in MANY.items():
            patch.setattr(planning, name, value)
        if way is not None:
            patch.setattr(line_ranges, "BLOCK_BYTES", way.block)
            patch.setattr(blocks, "BLOCK_BYTES", way.block)
            patch.setattr(parquet, "_SMALL_GROUP", way.page)
            patch.setattr(api, "batch_bytes_for", lambda memory, threads: way.batch)
            # Less than may be asked for, so that even this little is spilled.
            patch.setattr(api, "make_config", lambda **given: replace(make_config(**given), memory=way.memory))
        yield


VERBS: dict[str, dict[str, Any]] = {"pairs": {}, "clusters": {"cluster": "components"}, "dedup": {"keep": "max:score"}}


def told(verb: str, items: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Everything that a run finds, but how long it took and what it spilled."""
    result = getattr(lookalike, verb)(items, id="id", column="items", **VERBS[verb], **options)
    found = result.found
    out = {"table": result.table.to_pylist(), "counts": asdict(found.counts)}
    if verb == "dedup":
        out["removed"], out["kept"] = result.removed.to_pylist(), result.kept.tolist()
        out["table"] = [{name: row[name] for name in ("id", "score")} for row in out["table"]]
    plan, audit = found.plan, found.sketched.audit
    out["plan"] = None if plan is None else (plan.bands, plan.rows, plan.width, plan.items)
    if audit is not None:
        out["audit"] = {name: np.asarray(value).tolist() for name, value in asdict(audit).items()}
    return out


@functools.cache
def expected(case: str, verb: str) -> dict[str, Any]:
    with sizes(None):
        return told(verb, table_of(case), {**CASES[case][2], "threads": 1})


@pytest.mark.parametrize("case", list(CASES))
@settings(max_examples=14)
@given(way=WAYS, verb=st.sampled_from(list(VERBS)))
def test_nothing_but_the_items_decides_on_the_result(
    case: str, way: Way, verb: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    verb = "dedup" if "unit" in CASES[case][2] else verb
    items = stored(table_of(case), way, tmp_path_factory.mktemp("way"))
    with sizes(way):
        found = told(verb, items, {**CASES[case][2], "threads": way.threads})
    reference = expected(case, verb)
    assert reference["table"], "something is found"
    for name in reference:
        assert found[name] == reference[name], name
