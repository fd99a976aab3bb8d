"""`--engine spark` on the command line: the run folder of the local engine, and the same tables in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from lookalike import Run
from lookalike.cli import main
from tests.engines.spark.test_spark_dedup import rows_of
from tests.engines.spark.test_spark_files import shuffled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OPTIONS = ("-c", "text", "-t", "0.5", "--shingle", "word:2", "--bands", "5", "--rows", "3")


def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["lookalike", *map(str, arguments)])
    return main.run()


def two_files(folder: Path) -> None:
    folder.mkdir()
    table = shuffled()
    pq.write_table(table.slice(0, 150), folder / "a.parquet")
    pq.write_table(table.slice(150), folder / "b.parquet")


def test_dedup_writes_the_run_folder_of_the_local_engine(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    two_files(Path("in"))
    on_spark = ("dedup", "in", "--engine", "spark", "--work", tmp_path / "work", *OPTIONS, "--annotate", "-o", "far")
    assert command(monkeypatch, *on_spark) == 0
    said = capfd.readouterr().err
    assert command(monkeypatch, "dedup", "in", *OPTIONS, "--annotate", "-o", "near") == 0
    # The headline tells the engine and the time; all other lines are the same.
    assert said.splitlines()[-8:] == capfd.readouterr().err.splitlines()[-8:]
    far, near = Run.open("far"), Run.open("near")
    for name in ("removed", "pairs", "clusters"):
        assert getattr(far, name).equals(getattr(near, name)), name
    assert far.kept.column_names == near.kept.column_names
    assert far.kept.sort_by("id").to_pylist() == near.kept.sort_by("id").to_pylist()
    assert (far.options, far.plan, far.certificate) == (near.options, near.plan, near.certificate)
    assert far.take([3, 200]).equals(near.take([3, 200]))
    assert sum(batch.num_rows for batch in far.batches("pairs")) == far.counts["pairs"]
    assert repr(far).splitlines()[0].replace("far", "near") == repr(near).splitlines()[0]
    assert "<html" in far.report_html.read_text()
    assert command(monkeypatch, *on_spark) == 1
    assert "use --overwrite" in capfd.readouterr().err
    assert command(monkeypatch, *on_spark, "--resume") == 0
    assert "nothing to do" in capfd.readouterr().err


def test_pairs_go_to_an_address(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    two_files(tmp_path / "in")
    address = f"file://{tmp_path}/far"
    exact = ("pairs", tmp_path / "in", "-c", "text", "--exact", "--json")
    assert command(monkeypatch, *exact, "--engine", "spark", "--parts", 2, "-o", address) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["output"] == address
    far = Run.open(tmp_path / "far")
    assert far.tables == ["pairs"]
    assert repr(far).startswith(f"{tmp_path / 'far'}: {report['pairs']} pairs of 306 ")
    assert command(monkeypatch, *exact, "-o", tmp_path / "near.parquet") == 0
    assert rows_of(far.pairs) == rows_of(pq.read_table(tmp_path / "near.parquet"))


def test_without_an_output_the_largest_clusters_are_shown(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("one two\nthree four\none two\n")
    how = ("clusters", tmp_path / "a.txt", "--format", "lines", "--exact")
    assert command(monkeypatch, *how, "--engine", "spark") == 0
    far = capfd.readouterr()
    assert command(monkeypatch, *how) == 0
    assert far.out == capfd.readouterr().out
    assert "1 cluster among 3 items, on Spark" in far.err
