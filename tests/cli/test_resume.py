"""What may happen before a run is resumed: other data, other options, damaged files; and input that changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.kill import digest
from lookalike.engines.local.compare_pass import SecondPass
from lookalike.engines.local.matched import Matched
from lookalike.engines.local.store.work_folder import Work
from lookalike.io.reading.watch import Watch
from lookalike.io.writing.owned import OwnedFolder
from lookalike.runs.results import Dedup
from tests.cli.conftest import Run
from tests.near_copies import near_copies

OPTIONS = ["--id", "id", "--shingle", "word:3"]
TEXTS = near_copies(1, families=40, words=60)


def write(path: Path, seed: int | None = None) -> None:
    """The documents, shuffled if there is a seed; they keep their ids."""
    order = np.arange(len(TEXTS)) if seed is None else np.random.default_rng(seed).permutation(len(TEXTS))
    rows = {"id": [f"{i}" for i in order], "text": [TEXTS[i] for i in order]}
    if path.suffix == ".parquet":
        pq.write_table(pa.table(rows), path, row_group_size=40)
    else:
        lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in zip(*rows.values(), strict=True))
        path.write_text("".join(lines))


@pytest.fixture(params=["parquet", "jsonl"])
def crawl(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / f"crawl.{request.param}"
    write(path)
    return path


def before(monkeypatch: pytest.MonkeyPatch, of: Any, name: str, do: Callable[[], None]) -> None:
    """Do something before a method is called for the first time."""
    real = getattr(of, name)
    done: list[bool] = []

    def call(*arguments: Any, **options: Any) -> Any:
        if not done:
            done.append(True)
            do()
        return real(*arguments, **options)

    monkeypatch.setattr(of, name, call)


@pytest.mark.parametrize(
    ("of", "method", "output"),
    [
        (SecondPass, "read", "run"),
        (SecondPass, "read", "clean"),
        (Matched, "save", "run"),
        (Dedup, "write_kept", "run"),
        (Dedup, "write_kept", "clean"),
    ],
)
def test_the_same_rows_in_another_order_are_noticed_while_a_run_goes_on(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: Any, method: str, output: str
) -> None:
    """Between the passes: before items are read again, before what was found is noted, before rows are copied."""
    target = tmp_path / (output if output == "run" else f"clean{crawl.suffix}")

    def shuffle() -> None:
        write(tmp_path / f"new{crawl.suffix}", seed=1)
        (tmp_path / f"new{crawl.suffix}").replace(crawl)

    before(monkeypatch, of, method, shuffle)
    done = run("dedup", crawl, "-o", target, *OPTIONS)
    assert done.error == f"{crawl} has changed during the run: start again, and do not change it meanwhile"
    assert done.code == 1
    assert not target.exists()


def test_content_that_changes_behind_a_file_s_back_is_noticed_when_it_is_read_again(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Size and time may lie; the items do not."""
    monkeypatch.setattr(Watch, "check", lambda *_: None)
    before(monkeypatch, SecondPass, "read", lambda: write(crawl, seed=1))
    done = run("dedup", crawl, "-o", tmp_path / "run", *OPTIONS)
    assert f"{crawl} row " in done.error
    assert "has changed during the run" in done.error


def killed(tmp_path: Path, *arguments: object, stdin: bytes | None = None, at: str = "Dedup.write_kept") -> None:
    """Run a command in a process that is killed when it calls a function of some module."""
    where = {
        "Dedup": "runs.results",
        "RunFolder": "runs.run_folder",
        "OwnedFolder": "io.writing.owned",
        "sync": "io.writing.owned",
    }
    code = f"import os, lookalike.{where[at.partition('.')[0]]} as m\nm.{at} = lambda *a, **k: os._exit(9)\n"
    code += "from lookalike.cli.main import main\nmain()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    assert subprocess.run(command, check=False, input=stdin, cwd=tmp_path).returncode == 9


def test_standard_input_with_other_data_is_not_taken_for_the_same_run(run: Run, crawl: Path, tmp_path: Path) -> None:
    data = crawl.read_bytes()
    killed(tmp_path, "dedup", "-", "-o", tmp_path / "run", *OPTIONS, stdin=data)
    write(crawl, seed=1)
    done = run("dedup", "-", "-o", tmp_path / "run", *OPTIONS, "--resume", stdin=crawl.read_bytes())
    assert "cannot be resumed: - has changed since; start again with --overwrite" in done.error
    assert run("dedup", "-", "-o", tmp_path / "run", *OPTIONS, "--resume", stdin=data).code == 0
    assert run("dedup", "-", "-o", tmp_path / "whole", *OPTIONS, stdin=data).code == 0
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")


def test_an_archive_with_other_data_is_not_taken_for_the_same_run(run: Run, tmp_path: Path) -> None:
    def packed(seed: int | None) -> None:
        write(tmp_path / "crawl.jsonl", seed)
        with zipfile.ZipFile(tmp_path / "crawl.zip", "w") as archive:
            archive.writestr("crawl.jsonl", (tmp_path / "crawl.jsonl").read_text())

    packed(None)
    given = f"zip://*.jsonl::{tmp_path / 'crawl.zip'}"
    killed(tmp_path, "dedup", given, "-o", tmp_path / "run", *OPTIONS)
    packed(1)
    done = run("dedup", given, "-o", tmp_path / "run", *OPTIONS, "--resume")
    assert "crawl.jsonl has changed since; start again with --overwrite" in done.error


def test_a_finished_run_is_not_taken_for_another_one(run: Run, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ["dedup", crawl, "-o", out, *OPTIONS]
    assert run(*command).code == 0
    whole = digest(out)
    again = run(*command, "--resume")
    assert (again.code, again.err) == (0, f"{out} is a finished run: nothing to do\n")
    assert run(*command, "--resume", "--json", "-q").json["removed"] > 0
    refused = "is finished and was another one: "
    assert f"{refused}threshold was 0.8 and is 0.7 now" in run(*command, "-t", "0.7", "--resume").error
    assert f"{refused}annotate was False and is True now" in run(*command, "--annotate", "--resume").error
    assert f"{refused}limit was None and is 9 now" in run(*command, "--limit", "9", "--resume").error
    tokens = ["--tokens", "builtins:list", "--resume"]
    assert f"{refused}tokens was None and is 'builtins:list' now" in run(*command, *tokens).error
    other = tmp_path / "other.jsonl"
    write(other, seed=1)
    assert f"{refused}the inputs were" in run("dedup", other, "-o", out, *OPTIONS, "--resume").error
    assert (
        f"{refused}the files to compare with were none and are {other} now"
        in run(*command, "--against", other, "--resume").error
    )
    os.utime(crawl, ns=(0, 0))
    assert f"{refused}{crawl} has changed since" in run(*command, "--resume").error
    assert digest(out) == whole
    (out / "run.json").write_text("{}")
    assert (
        "run.json cannot be read (it has no checksum): start again with --overwrite" in run(*command, "--resume").error
    )


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 16
    path.write_bytes(data)


def extended(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(64))


def swapped(path: Path) -> None:
    other = next(each for each in sorted(path.parent.glob("*.bin")) if each != path)
    data = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(data)


DAMAGES: list[Callable[[Path], None]] = [truncated, emptied, flipped, extended, Path.unlink, swapped]


COMMAND = ["dedup", "a.jsonl", "--shingle", "word:3", "--max-share", "0.9"]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that were killed before all results were there (run) and just then (moving), and one that was not."""
    folder = tmp_path_factory.mktemp("stopped")
    write(folder / "a.jsonl")
    killed(folder, *COMMAND, "-o", "run", at="RunFolder.publish")
    killed(folder, *COMMAND, "-o", "moving", at="OwnedFolder.publish")
    main = [sys.executable, "-m", "lookalike.cli.main"]
    assert subprocess.run([*main, *COMMAND, "-o", "whole"], check=False, cwd=folder).returncode == 0
    return folder


FILES = [
    *(f"run/work/{name}.bin" for name in ("sketch-000000", "frequencies", "found", "matches")),
    "run/.partial/kept/a.jsonl",
    *(f"moving/.partial/{name}" for name in ("kept/a.jsonl", "pairs.parquet", "report.json")),
]


# Only work files have others of their kind beside them.
CASES = [(file, damage) for file in FILES for damage in DAMAGES if damage is not swapped or "work" in Path(file).parts]


@pytest.mark.parametrize(("file", "damage"), CASES)
def test_a_damaged_work_file_is_named_and_made_again(
    run: Run, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(stopped, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    damage(Path(file))
    out = Path(file).parts[0]
    done = run(*COMMAND, "-o", out, "--resume")
    assert done.code == 0
    assert f"{file} is " in done.err or damage is swapped, "of two that were swapped the first is named"
    assert ": made again\n" in done.err
    assert digest(Path(out)) == digest(Path("whole"))


@pytest.mark.parametrize("damage", DAMAGES[:4])
def test_a_damaged_note_of_the_run_is_one_clear_error_and_can_be_started_again(
    run: Run, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(stopped, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    if damage is extended:
        with Path("run/work/run.json").open("a") as file:
            file.write("{}")
    else:
        damage(Path("run/work/run.json"))
    command = [*COMMAND, "-o", "run"]
    done = run(*command, "--resume")
    assert done.error.startswith("run/work/run.json cannot be read (")
    assert done.error.endswith("): start again with --overwrite")
    assert run(*command, "--overwrite").code == 0
    assert digest(Path("run")) == digest(Path("whole"))


@pytest.mark.parametrize("damage", DAMAGES[:3])
@pytest.mark.parametrize("where", ["run", "run/work"])
def test_a_damaged_mark_protects_everything(
    run: Run, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None], where: str
) -> None:
    shutil.copytree(stopped, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    damage(Path(where, ".lookalike.json"))
    files = sorted(Path("run").rglob("*"))
    for how in ("--resume", "--overwrite"):
        done = run(*COMMAND, "-o", "run", how)
        assert done.error.startswith(f"{where}/.lookalike.json, which tells what is ours, cannot be read")
    assert sorted(Path("run").rglob("*")) == files


@pytest.mark.parametrize("where", ["run", "run/work"])
def test_a_mark_of_another_run_protects_everything(
    run: Run, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Believed, it would leave files behind that it does not name, or results where nobody looks for them."""
    shutil.copytree(stopped, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    shutil.copyfile(where.replace("run", "moving", 1) + "/.lookalike.json", f"{where}/.lookalike.json")
    files = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    for how in ("--resume", "--overwrite"):
        assert run(*COMMAND, "-o", "run", how).error == (
            f"{where}/.lookalike.json, which tells what is ours, and run/work/run.json are of two runs: "
            "nothing there is touched; choose another folder, or remove it yourself"
        )
    assert {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()} == files


def test_the_mark_of_a_finished_run_does_not_leave_results_where_they_were_staged(
    run: Run, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names no run, as that of one does whose results are in their places; these are not."""
    shutil.copytree(stopped, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    shutil.copyfile("whole/.lookalike.json", "moving/.lookalike.json")
    files = sorted(Path("moving").rglob("*"))
    assert "are of two runs" in run(*COMMAND, "-o", "moving", "--resume").error
    assert sorted(Path("moving").rglob("*")) == files


def interrupted_after(monkeypatch: pytest.MonkeyPatch, of: Any, name: str, run: Run, *command: object) -> None:
    """Run a command that is interrupted as soon as a method has returned."""
    real = getattr(of, name)

    def call(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(of, name, call)
        assert run(*command).code == 130


def test_results_that_are_in_their_places_stay_when_the_work_folder_was_not_removed_any_more(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["dedup", crawl, "-o", tmp_path / "run", *OPTIONS]
    interrupted_after(monkeypatch, OwnedFolder, "publish", run, *command)
    whole = digest(tmp_path / "run")
    assert "work/run.json" in whole
    done = run(*command, "--resume")
    assert (done.code, done.err) == (0, f"{tmp_path / 'run'} is a finished run: nothing to do\n")
    assert digest(tmp_path / "run") == {name: value for name, value in whole.items() if not name.startswith("work/")}


def test_a_run_that_takes_the_place_of_another_is_resumed_from_its_very_beginning(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of the run folder gets to know of the new run last."""
    command = ["dedup", crawl, "-o", tmp_path / "run", *OPTIONS]
    killed(tmp_path, *command, at="RunFolder.publish")
    interrupted_after(monkeypatch, Work, "begin", run, *command, "--overwrite")
    assert run(*command, "--resume").code == 0
    assert run("dedup", crawl, "-o", tmp_path / "whole", *OPTIONS).code == 0
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")


def test_chunks_of_an_earlier_attempt_are_not_mixed_with_new_ones(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass that leaves out bad rows begins again; with more memory it makes fewer chunks than are there."""
    monkeypatch.setattr("lookalike.config.LEAST_MEMORY", 1)
    for name in "abcdefgh":
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": f"{name} {i}"}) + "\n" for i in range(30)))
    monkeypatch.chdir(tmp_path)
    command = ["dedup", "*.jsonl", "--skip-bad", "--bands", "2000", "--rows", "2"]
    assert run(*command, "-o", "whole", "--memory", "4GB").code == 0
    patched = "import lookalike.config as c\nc.LEAST_MEMORY = 1\nimport os, lookalike.engines.local.parts\n"
    patched += "import lookalike.engines.local.pipeline as p\np.fold_items = lambda *a: os._exit(9)\n"
    code = f"{patched}from lookalike.cli.main import main\nmain()"
    small = [sys.executable, "-c", code, *command, "-o", "run", "--memory", "1MB"]
    assert subprocess.run(small, check=False).returncode == 9
    chunks = sorted(Path("run/work").glob("sketch-*.bin"))
    assert len(chunks) > 2
    chunks[0].unlink()
    assert subprocess.run([*small[:-1], "4GB", "--resume"], check=False, capture_output=True).returncode == 9
    assert len(list(Path("run/work").glob("sketch-*.bin"))) == 1
    assert run(*command, "-o", "run", "--resume").code == 0
    assert digest(Path("run")) == digest(Path("whole"))


@pytest.mark.parametrize("at", ["OwnedFolder._move", "sync"])
def test_a_result_that_was_being_moved_to_its_place_is_moved_on(run: Run, crawl: Path, tmp_path: Path, at: str) -> None:
    command = ["dedup", crawl, "-o", tmp_path / "run", *OPTIONS]
    killed(tmp_path, *command, at=at)
    assert run("dedup", crawl, "-o", tmp_path / "whole", *OPTIONS).code == 0
    done = run(*command, "--resume")
    assert (done.code, done.err) == (0, f"{tmp_path / 'run'} is a finished run: nothing to do\n")
    assert digest(tmp_path / "run") == digest(tmp_path / "whole")
    assert not (tmp_path / "run" / "work").exists()


def test_results_that_were_moved_to_their_places_stay_there(
    run: Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill after the last file was moved and before the work folder was removed leaves nothing to move."""
    real = OwnedFolder.publish

    def publish(*given: Any, **options: Any) -> None:
        real(*given, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(OwnedFolder, "publish", publish)
    assert run("dedup", crawl, *OPTIONS, "-o", tmp_path / "run").code != 0
    monkeypatch.undo()
    assert (tmp_path / "run" / "work").exists()
    before = digest(tmp_path / "run" / "kept")
    done = run("dedup", crawl, *OPTIONS, "-o", tmp_path / "run", "--resume")
    assert done.code == 0, done.err
    assert digest(tmp_path / "run" / "kept") == before != {}
    assert not (tmp_path / "run" / "work").exists()


def test_what_a_kill_at_the_very_end_leaves_of_the_work_is_removed(run: Run, crawl: Path, tmp_path: Path) -> None:
    """The mark of the work folder is the last file of it that goes, and the folder goes after that."""
    command = ["dedup", crawl, "-o", tmp_path / "run", *OPTIONS]
    assert run(*command).code == 0
    whole = digest(tmp_path / "run")
    OwnedFolder(tmp_path / "run" / "work", "work").begin()
    assert "nothing to do" in run(*command, "--resume").err
    assert digest(tmp_path / "run") == whole
