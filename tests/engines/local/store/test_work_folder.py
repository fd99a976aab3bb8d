"""The work folder: whose run it is, what is finished in it, and that a temporary one goes."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lookalike.engines.local.store.work_folder import Work, spilling
from lookalike.errors import OptionError, OutputError
from lookalike.io.checksums import seal, unseal

RUN: dict[str, Any] = {
    "threshold": 0.8,
    "keep": "first",
    "inputs": [{"name": "a.jsonl", "size": 5}, {"name": "b.jsonl", "size": 6}],
}


def begun(folder: Path, what: dict[str, Any] = RUN, *, resume: bool = False) -> Work:
    work = Work(folder)
    work.begin(what, resume=resume)
    return work


def test_a_finished_stage_is_found_again_with_what_it_counted(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "work"
    work = begun(folder)
    assert work.finished("sketch") is None
    work.finish("sketch", {"items": 7})
    again = begun(folder, resume=True)
    assert again.finished("sketch") == {"items": 7}
    assert again.finished("found") is None
    again.finish("found", 3)
    last = begun(folder, resume=True)
    assert (last.finished("sketch"), last.finished("found")) == ({"items": 7}, 3)


def test_a_run_that_is_there_is_not_started_again_by_accident(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(OutputError, match=r"holds an unfinished run: continue it with --resume"):
        begun(tmp_path)


def test_resuming_where_nothing_was_begun_begins(tmp_path: Path) -> None:
    work = begun(tmp_path / "new", resume=True)
    work.finish("sketch", 1)
    assert begun(tmp_path / "new", resume=True).finished("sketch") == 1


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_of_ours_that_are_of_no_known_run_are_not_taken_for_this_one_s(tmp_path: Path) -> None:
    work = begun(tmp_path / "work")
    work.files(["sketch-000000.bin"])[0].write_bytes(b"of another run")
    assert work.begun
    (tmp_path / "work" / "run.json").unlink()
    again = begun(tmp_path / "work", resume=True)
    assert listing(tmp_path / "work") == [".lookalike.json", "run.json"]
    assert not again.begun


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_of_somebody_is_refused_and_left_as_it_is(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "sketch-000000.bin").write_bytes(b"mine")
    with pytest.raises(OutputError, match="is not empty and was not made by lookalike"):
        begun(tmp_path, resume=resume)
    with pytest.raises(OutputError, match="is not empty and was not made by lookalike"):
        Work(tmp_path).remove()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"sketch-000000.bin": b"mine"}


def test_what_somebody_put_beside_our_files_stays(tmp_path: Path) -> None:
    work = begun(tmp_path / "work")
    work.files(["sketch-000000.bin"])[0].write_bytes(b"ours")
    (tmp_path / "work" / "thesis.bin").write_bytes(b"mine")
    with pytest.raises(OutputError, match=r"thesis\.bin exists and was not made by lookalike"):
        work.files(["thesis.bin"])
    work.remove()
    assert listing(tmp_path / "work") == [".lookalike.json", "thesis.bin"]
    begun(tmp_path / "work").files(["sketch-000000.bin"])


@pytest.mark.parametrize("exchanged", [".lookalike.json", "run.json"])
def test_a_mark_and_a_note_of_two_runs_are_not_believed(tmp_path: Path, exchanged: str) -> None:
    """The same run twice: a mark of an earlier moment does not name all files, and they would be left behind."""
    work, other = tmp_path / "work", tmp_path / "other"
    begun(other)
    begun(work).files(["frequencies.bin"])[0].write_bytes(b"ours")
    (work / exchanged).write_bytes((other / exchanged).read_bytes())
    actions: list[Callable[[], Any]] = [
        lambda: begun(work, resume=True), Work(work).remove, lambda: Work(work).unfinished,
    ]  # fmt: skip
    for act in actions:
        with pytest.raises(
            OutputError, match=r"\.lookalike\.json, .* and .*run\.json are of two runs: nothing there is"
        ):
            act()
    assert listing(work) == [".lookalike.json", "frequencies.bin", "run.json"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"threshold": 0.9}, "threshold was 0.8 and is 0.9 now"),
        ({"keep": "last"}, "keep was 'first' and is 'last' now"),
        ({"seed": 3}, "seed was None and is 3 now"),
        ({"inputs": [{"name": "a.jsonl", "size": 5}]}, "the inputs were a.jsonl, b.jsonl and are a.jsonl now"),
        ({"inputs": [{"name": "a.jsonl", "size": 5}, {"name": "b.jsonl", "size": 9}]}, "b.jsonl has changed since"),
    ],
)
def test_another_run_is_refused_with_what_has_changed(tmp_path: Path, changed: dict[str, Any], why: str) -> None:
    begun(tmp_path).finish("sketch", 1)
    with pytest.raises(OptionError, match=r"cannot be resumed: .*; start again with --overwrite$") as error:
        begun(tmp_path, RUN | changed, resume=True)
    assert why in str(error.value)
    assert begun(tmp_path, resume=True).finished("sketch") == 1


def test_what_json_makes_alike_is_no_change(tmp_path: Path) -> None:
    """A tuple is a list once it was written."""
    begun(tmp_path, RUN | {"columns": ("a", "b")})
    begun(tmp_path, RUN | {"columns": ("a", "b")}, resume=True)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"run": 5}', seal([]), seal({"run": 5}), seal(RUN)[:-9]])
def test_a_broken_note_is_one_line_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    begun(tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(OutputError, match=r"run\.json cannot be read \(.*\): start again with --overwrite") as error:
        begun(tmp_path, resume=True)
    assert "\n" not in str(error.value)


def test_the_note_is_replaced_in_one_step(tmp_path: Path) -> None:
    work = begun(tmp_path)
    work.finish("sketch", 1)
    with pytest.raises(TypeError):
        work.finish("broken", object())
    assert list(unseal((tmp_path / "run.json").read_text())["stages"]) == ["sketch"]
    assert listing(tmp_path) == [".lookalike.json", "run.json"]


def test_without_a_folder_there_is_a_temporary_one_where_it_is_asked_for(tmp_path: Path) -> None:
    work = Work(spill_to=tmp_path)
    work.begin(RUN, resume=False)
    work.finish("sketch", 1)
    assert not work.resumable
    assert work.finished("sketch") is None
    assert list(tmp_path.iterdir()) == []
    folder = work.folder
    assert folder.parent == tmp_path
    assert work.folder == folder
    (folder / "rows.bin").write_bytes(b"x")
    work.close()
    assert list(tmp_path.iterdir()) == []
    work.close()


def test_closing_leaves_a_folder_that_can_be_resumed_and_removing_does_not(tmp_path: Path) -> None:
    work = begun(tmp_path / "work")
    assert work.resumable
    assert work.folder == tmp_path / "work"
    work.close()
    assert (tmp_path / "work" / "run.json").exists()
    work.remove()
    assert not (tmp_path / "work").exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"^cannot write to the work folder .*file/work: "):
        begun(tmp_path / "file" / "work")
    with pytest.raises(OutputError, match="cannot write to the work folder"):
        Work(spill_to=tmp_path / "missing").folder  # noqa: B018


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_with_what_is_needed(number: int) -> None:
    with (
        pytest.raises(
            OutputError, match=r"no space left .* work folder w: about 2\.5 GB are needed there; .*--workdir"
        ),
        spilling("w", 2_500_000_000),
    ):
        raise OSError(number, "full")
    with pytest.raises(OutputError, match="more is needed there"), spilling("w"):
        raise OSError(number, "full")
