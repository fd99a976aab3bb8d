"""What does not go with `--engine spark` is refused in one line, before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.errors import OutputError
from lookalike.runs.spark_run_folder import AddressedRun
from tests.cli.conftest import Run

REFUSED = {
    "memory": (["--memory", "1GB"], "memory does not go with --engine spark"),
    "limit": (["--limit", "5"], "limit does not go with --engine spark: give it fewer files"),
    "workdir": (["--workdir", "w"], "give a folder that all machines can reach with --work"),
    "an index": (["--against", "redis://localhost/0"], "an index works on one machine only"),
    "edges": (["--edges", "a,b"], "edges does not go with --engine spark"),
    "unit": (["--unit", "line"], "unit is not supported on Spark"),
    "format": (["--format", "npy"], "Spark reads parquet, jsonl"),
    "parts": (["--parts", "0"], "parts is 0"),
    "resume": (["--resume", "-o", "run"], "give it with --work"),
    "a file": (["-o", "kept.parquet"], "a run on Spark writes a folder"),
    "standard output": (["-o", "-"], "a run on Spark writes a folder"),
    "a work folder elsewhere": (["--work", "s3://b/w", "-o", "run"], "-o must be an address, too"),
    "overwrite": (["--overwrite", "-o", "s3://b/run"], "overwrite is for folders of this machine"),
    "a folder of others": (["-o", "."], "is not empty and was not made by lookalike"),
}


@pytest.mark.parametrize("options, message", REFUSED.values(), ids=REFUSED)
def test_options_of_one_machine_are_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lookalike.engines.spark.spark_files.open_session", None)
    Path("a.jsonl").write_text('{"text": "a"}\n')
    assert message in run("dedup", "a.jsonl", "--engine", "spark", *options).error


def test_standard_input_and_nothing_at_all_are_refused(run: Run) -> None:
    assert "standard input is on one machine" in run("pairs", "-", "--engine", "spark").error
    assert "no input: give files" in run("pairs", "--engine", "spark").error


def test_options_of_spark_are_refused_on_one_machine(run: Run, tmp_path: Path) -> None:
    for name in ("--master", "--work"):
        assert "add --engine spark" in run("pairs", tmp_path, name, "x").error
    assert "give it with -o" in run("clusters", tmp_path, "--resume").error


def test_an_address_must_be_new_or_of_the_same_run(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/run"
    first = AddressedRun(address, resume=False)
    assert not first.begin({"verb": "dedup", "threshold": 0.5})
    with pytest.raises(OutputError, match="continue it with --resume"):
        AddressedRun(address, resume=False).check()
    again = AddressedRun(address, resume=True)
    assert not again.begin({"verb": "dedup", "threshold": 0.5})
    with pytest.raises(Exception, match="is another one"):
        again.begin({"verb": "dedup", "threshold": 0.6})
    again.write("report.json", "{}")
    assert again.begin({"verb": "dedup", "threshold": 0.5})
    assert again.report() == {}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="was not made by lookalike"):
        AddressedRun(f"file://{tmp_path}/other", resume=True).check()
