"""Whatever is asked for, in whatever order, a file that is not ours stays: a canary in every folder that is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lookalike.io.writing.owned import MARK
from lookalike.runs.run_folder import RunFolder
from tests.cli.conftest import Run


def canaries(folder: Path) -> None:
    """A file of the user's in each folder that a run might take for its own."""
    for name in ("thesis.txt", "kept/thesis.txt", "work/thesis.txt", ".partial/thesis.txt", ".old/thesis.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("years of work")


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


HOW: list[list[str]] = [[], ["--overwrite"], ["--resume"]]
WRONG: list[list[str]] = [[], ["-c", "nothing"], ["-t", "7"], ["--id", "n2"]]


@pytest.mark.parametrize("wrong", WRONG, ids=["fine", "no column", "bad option", "no id"])
@pytest.mark.parametrize("how", HOW, ids=["plain", "overwrite", "resume"])
def test_a_work_folder_that_is_named_keeps_everything_that_is_in_it(
    run: Run, docs: Path, tmp_path: Path, how: list[str], wrong: list[str]
) -> None:
    canaries(tmp_path / "p")
    before = state(tmp_path / "p")
    done = run("dedup", docs, "-o", tmp_path / "run", "--workdir", tmp_path / "p", *how, *wrong)
    assert (done.code == 0) == (not wrong)
    assert state(tmp_path / "p") == before
    assert [path.name for path in (tmp_path / "p").iterdir() if ".work" in path.name] == []
    assert (tmp_path / "run").exists() == (not wrong)


@pytest.mark.parametrize("workdir", [".", "..", "in", "out"])
@pytest.mark.parametrize("how", HOW, ids=["plain", "overwrite", "resume"])
def test_a_work_folder_that_holds_input_or_output_is_safe(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: list[str], workdir: str
) -> None:
    home = tmp_path / "home"
    for name in ("in", "out"):
        canaries(home / name)
    docs.rename(home / "in" / "docs.jsonl")
    before = state(home)
    monkeypatch.chdir(home)
    assert run("dedup", "in/docs.jsonl", "-o", "out/run", "--workdir", workdir, *how).code == 0
    after = state(home)
    assert {name: data for name, data in after.items() if not name.startswith("out/run/")} == before
    assert "out/run/kept/docs.jsonl" in after


@pytest.mark.parametrize("how", HOW, ids=["plain", "overwrite", "resume"])
@pytest.mark.parametrize("name", ["kept", "work", "report.json", "run.json", ".partial", "thesis.txt", "work/run.json"])
def test_a_folder_of_somebody_is_refused_whatever_its_files_are_called(
    run: Run, docs: Path, tmp_path: Path, how: list[str], name: str
) -> None:
    out = tmp_path / "out"
    if "." in Path(name).name[1:]:
        (out / name).parent.mkdir(parents=True)
        (out / name).write_text("{}")
    else:
        canaries(out / name)
    before = state(out)
    done = run("dedup", docs, "-o", out, *how)
    assert done.error == (f"{out} is not empty and was not made by lookalike: choose another folder")
    assert state(out) == before


@pytest.mark.parametrize("workdir", [False, True])
def test_what_somebody_puts_into_a_run_folder_stays_when_another_run_takes_its_place(
    run: Run, docs: Path, tmp_path: Path, workdir: bool
) -> None:
    out = tmp_path / "run"
    more = ["--workdir", tmp_path / "w"] if workdir else []
    assert run("dedup", docs, "-o", out, *more).code == 0
    for name in ("notes.txt", "kept/mine.jsonl", ".partial/mine", "kept/deep/mine"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("mine")
    other = tmp_path / "other.jsonl"
    docs.rename(other)
    assert run("dedup", other, "-o", out, "--overwrite", *more).code == 0
    assert {name for name, data in state(out).items() if data == b"mine"} == {
        "notes.txt", "kept/mine.jsonl", ".partial/mine", "kept/deep/mine",
    }  # fmt: skip
    assert not (out / "kept" / "docs.jsonl").exists(), "the old result"
    assert (out / "kept" / "other.jsonl").exists()
    assert run("dedup", other, "-o", out, "--overwrite", "-c", "nothing", *more).code == 1
    assert (out / "report.json").exists(), "a run that is refused leaves the old one"


def test_a_file_of_somebody_where_a_result_would_go_is_named_and_stays(run: Run, docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("dedup", docs, "-o", out).code == 0
    (out / "kept" / "other.jsonl").write_text("mine")
    other = tmp_path / "other.jsonl"
    other.write_bytes(docs.read_bytes())
    before = state(out)
    done = run("dedup", other, "-o", out, "--overwrite")
    assert done.error.endswith("exists and was not made by lookalike: move it, or choose another folder")
    assert state(out) == before
    (out / "kept" / "other.jsonl").unlink()
    assert run("dedup", other, "-o", out, "--overwrite").code == 0
    assert (out / "kept" / "other.jsonl").exists()


def test_a_file_that_came_into_the_way_during_a_run_is_named_and_the_run_goes_on_when_it_is_moved(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, mine = tmp_path / "run", tmp_path / "run" / "kept" / "docs.jsonl"
    real = RunFolder.publish

    def publish(self: RunFolder) -> None:
        mine.parent.mkdir()
        mine.write_text("mine")
        real(self)

    monkeypatch.setattr(RunFolder, "publish", publish)
    done = run("dedup", docs, "-o", out)
    assert done.error == f"{mine} exists and was not made by lookalike: move it, then continue with --resume"
    assert run("dedup", docs, "-o", out, "--resume").code == 1
    assert mine.read_text() == "mine"
    mine.unlink()
    monkeypatch.undo()
    assert run("dedup", docs, "-o", out, "--resume").code == 0
    assert json.loads(mine.read_text().splitlines()[0])["id"] == "a"


def test_a_link_in_a_run_folder_is_not_followed(run: Run, docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("dedup", docs, "-o", out).code == 0
    home = tmp_path / "home"
    canaries(home)
    (home / "docs.jsonl").write_text("mine")
    before = state(home)
    for name in ("kept", ".partial"):
        if (out / name).exists():
            (out / name / "docs.jsonl").unlink()
            (out / name).rmdir()
        (out / name).symlink_to(home)
        done = run("dedup", docs, "-o", out, "--overwrite")
        assert f"{name} is a link: nothing is written or removed behind it" in done.error
        assert state(home) == before
        (out / name).unlink()
        assert run("dedup", docs, "-o", out, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in", "-o", "in/run"], "in/run lies in the input folder in: write somewhere else"),
        ([".", "-o", "run"], "run lies in the input folder .: write somewhere else"),
        (["in/docs.jsonl", "-o", "link", "--overwrite"], "link is not empty and was not made by lookalike"),
        (["in/docs.jsonl", "--against", "in", "-o", "run"], "in/docs.jsonl is also in the other collection"),
        (["other.jsonl", "--against", "in", "-o", "in/run"], "in/run lies in the input folder in"),
        (["in", "-o", "run", "--workdir", "in"], "the work folder in/lookalike-run-"),
        (["in/docs.jsonl", "-o", "run", "--workdir", "run"], "the work folder run/lookalike-run-"),
        (["in", "--workdir", "in"], "the work folder in/lookalike-"),
        (["**/*.jsonl", "-o", "run"], "run lies where the pattern **/*.jsonl looks for input"),
    ],
)
def test_what_lies_inside_one_another_is_refused_before_anything_is_touched(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    canaries(tmp_path / "in")
    (tmp_path / "other.jsonl").write_bytes(docs.read_bytes())
    docs.rename(tmp_path / "in" / "docs.jsonl")
    (tmp_path / "link").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    before = state(tmp_path)
    for how in ([], ["--overwrite"], ["--resume"]):
        if "--overwrite" in arguments and how:
            continue
        if "-o" not in arguments and how == ["--resume"]:
            continue
        assert run("dedup", *arguments, *how).error.startswith(message)
        assert state(tmp_path) == before


def test_a_result_is_no_input_of_the_run_that_replaces_it(run: Run, docs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("dedup", docs, "-o", out).code == 0
    before = state(out)
    for how in ("--overwrite", "--resume"):
        done = run("dedup", out / "kept" / "docs.jsonl", "-o", out, how)
        assert "docs.jsonl lies in the output folder" in done.error
        assert state(out) == before


def test_two_runs_share_a_work_folder(docs: Path, tmp_path: Path) -> None:
    """Both are killed in the middle; each goes on with its own."""
    kill = "import os, lookalike.engines.local.matched as m\nm.Matched.save = lambda *a: os._exit(9)\n"
    command = f"{kill}from lookalike.cli.main import main\nmain()"
    work = tmp_path / "w"
    for name, threshold in (("one", "0.8"), ("two", "0.7")):
        arguments = ["dedup", str(docs), "-o", str(tmp_path / name), "-t", threshold, "--workdir", str(work), "-q"]
        assert subprocess.run([sys.executable, "-c", command, *arguments], check=False).returncode == 9
    assert len(list(work.iterdir())) == 2
    assert all((folder / MARK).exists() for folder in work.iterdir())
    for name, threshold in (("one", "0.8"), ("two", "0.7")):
        arguments = ["dedup", str(docs), "-o", str(tmp_path / name), "-t", threshold, "-q", "--resume"]
        main = [sys.executable, "-m", "lookalike.cli.main"]
        done = subprocess.run([*main, *arguments], check=False, capture_output=True, text=True)
        assert f"keeps its state in {os.path.realpath(work)}" in done.stderr
        done = subprocess.run([*main, *arguments, "--workdir", work], check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads((tmp_path / name / "report.json").read_text())["threshold"] == float(threshold)
    assert list(work.iterdir()) == []


def test_an_unfinished_run_that_is_started_again_elsewhere_leaves_nothing_behind(docs: Path, tmp_path: Path) -> None:
    kill = "import os, lookalike.engines.local.matched as m\nm.Matched.save = lambda *a: os._exit(9)\n"
    command = f"{kill}from lookalike.cli.main import main\nmain()"
    canaries(tmp_path / "w")
    before = state(tmp_path / "w")
    arguments = ["dedup", str(docs), "-o", str(tmp_path / "run"), "-q"]
    more = ["--workdir", str(tmp_path / "w")]
    assert subprocess.run([sys.executable, "-c", command, *arguments, *more], check=False).returncode == 9
    assert state(tmp_path / "w") != before
    main = [sys.executable, "-m", "lookalike.cli.main"]
    assert subprocess.run([*main, *arguments, "--overwrite"], check=False).returncode == 0
    assert state(tmp_path / "w") == before


@pytest.mark.parametrize("how", HOW, ids=["plain", "overwrite", "resume"])
def test_an_archive_that_leads_out_of_the_run_folder_is_refused_before_it_is_made(
    run: Run, tmp_path: Path, how: list[str]
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "authorized_keys.txt").write_text("mine")
    deep = "a/b/c/d/e/f"
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as packed:
        packed.writestr(f"{deep}/one.txt", "one text")
        packed.writestr(f"{deep}/../../../../.ssh/authorized_keys.txt", "another text")
    before = state(tmp_path)
    done = run("dedup", f"zip://**::{tmp_path / 'evil.zip'}", "-o", tmp_path / "run", *how)
    assert done.error == (
        f"zip://{deep}/../../../../.ssh/authorized_keys.txt: "
        "a file of this name would leave the output folder; rename it"
    )
    assert state(tmp_path) == before


def test_overwriting_a_file_keeps_it_private(run: Run, docs: Path, tmp_path: Path) -> None:
    for command in ("dedup", "pairs", "clusters"):
        out = tmp_path / f"{command}.jsonl"
        out.write_text("old")
        out.chmod(0o600)
        assert run(command, docs, "-o", out, "--overwrite").code == 0
        assert out.stat().st_mode & 0o777 == 0o600
        assert out.read_text() != "old"


def test_a_file_of_somebody_in_the_work_folder_does_not_stop_the_next_run(docs: Path, run: Run, tmp_path: Path) -> None:
    kill = "import os, lookalike.engines.local.matched as m\nm.Matched.save = lambda *a: os._exit(9)\n"
    command = f"{kill}from lookalike.cli.main import main\nmain()"
    arguments = ["dedup", str(docs), "-o", str(tmp_path / "run"), "-q"]
    assert subprocess.run([sys.executable, "-c", command, *arguments], check=False).returncode == 9
    mine = tmp_path / "run" / "work" / "thesis.txt"
    mine.write_text("mine")
    for how in ("--overwrite", "--overwrite", "--resume"):
        assert run(*arguments, how).code == 0
        assert mine.read_text() == "mine"


def test_a_run_whose_state_is_in_its_folder_is_not_begun_again_elsewhere(docs: Path, run: Run, tmp_path: Path) -> None:
    kill = "import os, lookalike.engines.local.matched as m\nm.Matched.save = lambda *a: os._exit(9)\n"
    command = f"{kill}from lookalike.cli.main import main\nmain()"
    out = tmp_path / "run"
    arguments = ["dedup", str(docs), "-o", str(out), "-q"]
    assert subprocess.run([sys.executable, "-c", command, *arguments], check=False).returncode == 9
    more = [*arguments, "--workdir", tmp_path / "w"]
    assert run(*more, "--resume").error == (
        f"the run in {out} keeps its state in {out / 'work'}: continue without --workdir"
    )
    assert f"{out / 'work'} holds an unfinished run" in run(*more).error
    assert run(*more, "--overwrite").code == 0
    assert not (out / "work").exists()
