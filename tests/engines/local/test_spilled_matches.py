"""Whole runs of which only the matches are spilled: every table and the report are those of a run that held them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lookalike.budget import Budget
from lookalike.config import make_config
from lookalike.engines.local.pipeline import Found, find
from lookalike.engines.local.result_tables import clusters_table, most_similar, pairs_table, removed_table
from lookalike.engines.local.store.work_folder import Work
from lookalike.io import open_source
from lookalike.report.examples import examples
from lookalike.report.plain_data import cluster_report, report
from lookalike.runs.results import Pairs
from tests.limited import limited
from tests.near_copies import near_copies
from tests.templates import templates

pytestmark = pytest.mark.no_cover

TEXTS = near_copies(7, families=14, copies=6)
ROWS = pa.table(
    {"id": [f"{7 * i % 101:03}" for i in range(len(TEXTS))], "text": TEXTS, "n": [i % 5 for i in range(98)]}
)

Force = Callable[[int, int], None]


@pytest.fixture
def force(monkeypatch: pytest.MonkeyPatch) -> Force:
    """Hold so many matches, and read so many at a time."""

    def forced(held: int, stretch: int) -> None:
        monkeypatch.setattr(Budget, "matches", property(lambda _: 16 * held))
        monkeypatch.setattr("lookalike.engines.local.store.matches.STRETCH", stretch)
        monkeypatch.setattr("lookalike.engines.local.store.matches._LEAST", min(stretch, 3))
        monkeypatch.setattr("lookalike.engines.local.unfolding.STRETCH", stretch)

    return forced


def run_of(verb: str, items: Any, work: Work | None = None, **options: Any) -> Found:
    shingle = None if isinstance(items, list) and isinstance(items[0], set) else "word:2"
    chosen: dict[str, Any] = {"shingle": shingle, "threshold": 0.2, "bands": 60, "rows": 2} | options
    return find(open_source(items), make_config(**chosen), verb=verb, work=work)


def told(run: Found) -> list[Any]:
    """Everything that a run tells, but how it was computed."""
    tables, data = [pairs_table(run)], report(run)
    if run.matched.clustering is not None:
        tables += [clusters_table(run), removed_table(run)]
        data |= cluster_report(run) | examples(run)
    del data["spilled"], data["stages"]
    return [[table.to_pylist() for table in tables], json.dumps(data)]


SMALL = [(1, 1), (5, 2), (40, 7)]
OPTIONS: dict[str, dict[str, Any]] = {
    "representative": {},
    "longest": {"keep": "longest", "id": "id"},
    "column": {"keep": "max:n", "id": "id"},
    "components": {"cluster": "components", "keep": "last"},
    "unverified": {"verify": "none"},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("verb", ["dedup", "clusters", "pairs"])
def test_spilled_matches_change_nothing(force: Force, verb: str, name: str) -> None:
    options = {key: value for key, value in OPTIONS[name].items() if verb != "pairs" or key in ("id", "verify")}
    held = run_of(verb, ROWS, **options)
    whole = told(held)
    assert held.matched.spilled == 0
    assert len(held.matched.matches) > 100
    for most, stretch in SMALL:
        force(most, stretch)
        run = run_of(verb, ROWS, **options)
        assert run.matched.spilled >= 16 * 100
        assert told(run) == whole


@pytest.mark.parametrize("kind", ["around", "chain", "mixed"])
@pytest.mark.parametrize("cluster", ["representative", "components"])
def test_matches_that_leaders_find_twice_are_spilled_and_count_once(
    force: Force, monkeypatch: pytest.MonkeyPatch, cluster: str, kind: str
) -> None:
    """Lists of more than three items are left to leaders, and their kept items are examined again."""
    limited(monkeypatch, bucket=3)
    items = templates(kind, 3, items=60)
    options: dict[str, Any] = {"threshold": 0.6, "cluster": cluster, "keep": "longest"}
    whole = told(run_of("dedup", items, **options))
    for most, stretch in SMALL[:2]:
        force(most, stretch)
        run = run_of("dedup", items, **options)
        assert run.matched.spilled > 0 < run.counts.led_items
        assert told(run) == whole


def test_a_run_that_stopped_after_matching_is_taken_up_with_its_spilled_matches(force: Force, tmp_path: Path) -> None:
    whole = told(run_of("dedup", ROWS))
    for memory in (9, 2, 1000):
        force(memory, 4)
        work = Work(tmp_path / "work")
        work.begin({}, resume=memory != 9)
        assert (work.finished("found") is None) == (memory == 9)
        assert told(run_of("dedup", ROWS, work)) == whole
    assert list((tmp_path / "work").glob(".*")) == [tmp_path / "work" / ".lookalike.json"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "arrow"])
def test_pairs_are_written_as_they_are_made(
    force: Force, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """The same bytes whatever was spilled, and never more than a batch at a time."""
    monkeypatch.setattr("lookalike.engines.local.unfolding.BATCH", 64)
    written = []
    for most, stretch in [(10**6, 10**6), *SMALL]:
        force(most, stretch)
        result = Pairs(run_of("pairs", ROWS, id="id"))
        path = tmp_path / f"{most}.{ending}"
        result.save(path)
        assert "table" not in vars(result)
        written.append(path.read_bytes())
        assert len(result) == result.table.num_rows > 64
        assert {len(batch) for batch in result.table.to_batches()[:-1]} == {64}
        best = result.table.sort_by([("similarity", "descending")]).slice(0, 9)
        assert most_similar(result.found, 9).to_pylist() == best.to_pylist()
    assert len(set(written)) == 1


def test_no_pairs_are_a_table_of_no_rows(tmp_path: Path) -> None:
    result = Pairs(run_of("pairs", pa.table({"id": ["x", "y"], "text": ["a b c d", "e f g h"]}), id="id"))
    result.save(tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == "a,b,similarity\n"
    assert (len(result), result.table.num_rows, most_similar(result.found, 5).num_rows) == (0, 0, 0)
