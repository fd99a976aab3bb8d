"""Large collections from the command line: kill and resume, another collection, groups, annotated rows, the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.engines.local.store.matches import Matches
from lookalike.runs.run_folder import RunFolder
from tests.cli.conftest import Run
from tests.near_copies import near_copies


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Two files of near-copies; most copies of a text are in the other file."""
    folder = tmp_path / "crawl"
    folder.mkdir()
    texts = near_copies(1, families=40, words=60)
    for name, part in (("a", texts[::2]), ("b", texts[1::2])):
        ids = [f"{name}{i}" for i in range(len(part))]
        table = pa.table({"id": ids, "text": part, "site": [f"s{i % 3}" for i in range(len(part))]})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=40)
    return folder


@pytest.mark.parametrize(("threads", "stages"), [(1, 5), (2, 4)])  # with several, tables are made beside the copy
def test_a_run_that_is_killed_in_any_stage_goes_on_and_gives_the_same_bytes(
    crawl: Path, threads: int, stages: int
) -> None:
    killed = [sys.executable, "-m", "benchmarks.kill", str(crawl / "a.parquet"), "--moments", "2"]
    done = subprocess.run(
        [*killed, "--", "--shingle", "word:3", "--threads", str(threads)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("identical") == done.stdout.count("killed") >= stages + 2
    assert "DIFFERENT" not in done.stdout


def test_a_run_folder_holds_everything_and_no_trace_of_the_work(run: Run, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run("dedup", crawl, "-o", out, "--id", "id", "--shingle", "word:3", "--workdir", tmp_path / "scratch")
    assert done.code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        ".lookalike.json", "clusters.parquet", "kept", "pairs.parquet", "removed.parquet", "report.html", "report.json",
        "run.json",
    ]  # fmt: skip
    assert sorted(path.name for path in (out / "kept").iterdir()) == ["a.parquet", "b.parquet"]
    assert list((tmp_path / "scratch").iterdir()) == []
    report = json.loads((out / "report.json").read_text())
    assert report["certificate"]["statement"] in done.err
    assert report["sources"]["by"] == "file"
    assert {source["name"] for source in report["sources"]["rows"]} == {str(crawl / f"{name}.parquet") for name in "ab"}
    assert sum(source["kept"] for source in report["sources"]["rows"]) == report["kept"]
    assert report["command"].startswith("lookalike ")
    assert (out / "report.html").read_text().lower().startswith("<!doctype html>")
    assert report["sample_pairs"] and report["largest_clusters"]


def test_a_small_memory_gives_the_same_bytes(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lookalike.config.LEAST_MEMORY", 1)
    outputs = []
    for memory in ("30kB", "4GB"):
        out = tmp_path / memory
        assert run("dedup", crawl, "-o", out, "--shingle", "word:3", "--memory", memory).code == 0
        tables = {path.name: path.read_bytes() for path in out.glob("*.parquet")}
        # Row groups that would not fit are cut into smaller ones, so of these the rows are compared.
        outputs.append((tables, {path.name: pq.read_table(path) for path in (out / "kept").iterdir()}))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("output", ["pairs.parquet", "pairs.jsonl", "pairs.csv", "pairs.arrow", "-"])
def test_pairs_that_do_not_fit_are_spilled_and_written_as_the_same_bytes(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """8 kB hold 31 matches, of 98."""
    monkeypatch.setattr("lookalike.config.LEAST_MEMORY", 1)
    spilled: list[str] = []
    spill, memory = Matches._spill, ""

    def counting(self: Matches) -> None:
        spilled.append(memory)
        spill(self)

    monkeypatch.setattr(Matches, "_spill", counting)
    (tmp_path / "scratch").mkdir()
    written: list[str | bytes] = []
    for memory in ("8kB", "4GB"):
        target = "-" if output == "-" else tmp_path / memory / output
        common = ("--id", "id", "--shingle", "word:3", "-t", "0.3", "--memory", memory, "-o", target)
        done = run("pairs", crawl, *common, "--workdir", tmp_path / "scratch")
        assert done.code == 0
        assert list((tmp_path / "scratch").iterdir()) == []
        written.append(done.out if output == "-" else Path(target).read_bytes())
    assert written[0] == written[1]
    assert len(written[0]) > 400
    assert set(spilled) == {"8kB"}


def test_an_unfinished_run_is_not_overwritten_by_accident(run: Run, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    RunFolder(out).begin({"threshold": 0.8})
    assert "holds an unfinished run: continue it with --resume" in run("dedup", crawl, "-o", out).error
    assert "cannot be resumed" in run("dedup", crawl, "-o", out, "--resume").error
    assert (out / "work" / "run.json").exists()
    assert run("dedup", crawl, "-o", out, "--overwrite").code == 0
    again = run("dedup", crawl, "-o", out, "--resume")
    assert (again.code, again.err) == (0, f"{out} is a finished run: nothing to do\n")
    assert "give it with -o" in run("dedup", crawl, "-o", tmp_path / "x.parquet", "--resume").error
    assert "give one of them" in run("dedup", crawl, "-o", out, "--resume", "--overwrite").error


def test_changed_options_and_inputs_are_refused(run: Run, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    kill = "import os, lookalike.engines.local.matched as m\nm.Matched.save = lambda *a: os._exit(9)\n"
    command = f"{kill}from lookalike.cli.main import main\nmain()"
    arguments = ["dedup", str(crawl), "-o", str(out), "-q"]
    assert subprocess.run([sys.executable, "-c", command, *arguments], check=False).returncode == 9
    assert "threshold was 0.8 and is 0.7 now" in run("dedup", crawl, "-o", out, "-t", "0.7", "--resume").error
    table = pq.read_table(crawl / "a.parquet")
    pq.write_table(table.slice(1), crawl / "a.parquet")
    assert f"{crawl / 'a.parquet'} has changed since" in run("dedup", crawl, "-o", out, "--resume").error
    assert (out / "work").exists()


def test_what_another_collection_has_is_removed_and_told(run: Run, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(
        "dedup", crawl / "b.parquet", "--against", crawl / "a.parquet", "-o", out, "--id", "id", "--shingle", "word:3"
    )
    assert done.code == 0
    removed = pq.read_table(out / "removed.parquet").to_pylist()
    report = json.loads((out / "report.json").read_text())
    assert sum(row["against"] for row in removed) == report["removed_against"] > 0
    assert report["hits"] == [{"name": str(crawl / "a.parquet"), "removed": report["removed_against"]}]
    assert all(row["kept"].startswith("a" if row["against"] else "b") for row in removed)
    assert [path.name for path in (out / "kept").iterdir()] == ["b.parquet"]
    assert f"{report['removed_against']:,} documents removed because of a match in the other collection" in done.err


def test_groups_are_deduplicated_one_by_one(run: Run, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run("dedup", crawl, "-o", out, "--id", "id", "--shingle", "word:3", "--group-by", "site", "--report-by", "site")
    site = {row["id"]: row["site"] for name in "ab" for row in pq.read_table(crawl / f"{name}.parquet").to_pylist()}
    removed = pq.read_table(out / "removed.parquet").to_pylist()
    assert removed
    assert all(site[row["id"]] == site[row["kept"]] for row in removed)
    sources = json.loads((out / "report.json").read_text())["sources"]
    assert sources["by"] == "site"
    assert {row["name"] for row in sources["rows"]} == {"s0", "s1", "s2"}


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_annotated_rows_are_all_there_and_say_what_they_are(run: Run, crawl: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"all.{ending}"
    assert run("dedup", crawl, "-o", out, "--id", "id", "--shingle", "word:3", "--annotate").code == 0
    plain = tmp_path / "run"
    run("dedup", crawl, "-o", plain, "--id", "id", "--shingle", "word:3")
    rows = run("pairs", out, "--json", "--exact", "--column", "text", "--id", "id").json
    assert rows["items"] == pq.read_table(crawl).num_rows
    removed = {row["id"]: row for row in pq.read_table(plain / "removed.parquet").to_pylist()}
    if ending == "parquet":
        annotated = pq.read_table(out).to_pylist()
        assert {row["id"]: row["duplicate_of"] for row in annotated if row["duplicate_of"]} == {
            name: row["kept"] for name, row in removed.items()
        }
        assert all((row["cluster"] is None) == (row["cluster_size"] == 1) for row in annotated)


def test_a_column_without_names_cannot_tell_removals_apart(run: Run, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a b", "c d"], "nest": [{"x": 1}, {"x": 2}]}), tmp_path / "x.parquet")
    done = run("dedup", tmp_path / "x.parquet", "-c", "text", "--report-by", "nest", "-o", tmp_path / "run")
    assert "report_by: its column holds struct<x: int64>" in done.error
