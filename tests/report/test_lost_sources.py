"""Which file's losses are worth a warning: not those that follow from which item stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike

TEXTS = [f"text number {number} has words w{number} x{number} y{number} of its own" for number in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files: 40 texts, and 60 texts of which the first 40 are the same."""
    pq.write_table(pa.table({"text": TEXTS[:40]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "b.parquet")
    return tmp_path


def lost(folder: Path, **options: Any) -> list[str]:
    warnings = lookalike.dedup(folder, shingle="word:2", **options).report["warnings"]
    return [Path(each.split(" lost ")[0]).name for each in warnings if " lost " in each]


def test_what_is_like_an_earlier_file_goes_and_that_is_no_surprise(folder: Path) -> None:
    assert lost(folder) == []
    assert lost(folder, keep="last") == []
    # Nothing says that the longest are in one of the two.
    assert lost(folder, keep="longest") == ["b.parquet"]


def test_a_first_file_that_loses_most_to_itself_is_worth_a_warning(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": TEXTS[:20] * 3}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": TEXTS[30:]}), tmp_path / "b.parquet")
    assert lost(tmp_path) == ["a.parquet"]
    assert lost(tmp_path, keep="last") == []
