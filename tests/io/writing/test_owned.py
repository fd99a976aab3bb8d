"""Folders of ours: only what the mark names is replaced or removed, whatever happens in between."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lookalike.errors import OutputError
from lookalike.io.checksums import seal, unseal
from lookalike.io.writing import owned
from lookalike.io.writing.owned import MARK, OwnedFolder


def listing(folder: Path) -> dict[str, str]:
    """All files but the mark, with what they hold."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and MARK not in path.name
    }


def begun(path: Path) -> OwnedFolder:
    folder = OwnedFolder(path, "run")
    folder.begin()
    return folder


def put(folder: OwnedFolder, **files: str) -> None:
    """Stage files; an underscore in a name is a slash."""
    names = {name.replace("_", "/"): text for name, text in files.items()}
    folder.claim([f".partial/{name}" for name in names])
    for name, text in names.items():
        path = folder.path / ".partial" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_what_is_claimed_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = OwnedFolder(tmp_path / "work", "work")
    folder.begin()
    folder.claim(["a", "deep/b", "deep/c", "never made"])
    for name in ("a", "deep/b", "deep/.c.part", "mine", "deep/mine"):
        (folder.path / name).parent.mkdir(exist_ok=True)
        (folder.path / name).write_text(name)
    again = OwnedFolder(folder.path, "work")
    assert again.look()
    again.remove()
    assert listing(folder.path) == {"mine": "mine", "deep/mine": "deep/mine"}
    last = OwnedFolder(folder.path, "work")
    assert last.look(), "the next run may use the folder"
    assert last.names == []


def test_a_folder_that_we_made_goes_and_one_that_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    for name in ("ours", "theirs"):
        folder = begun(tmp_path / name)
        folder.claim(["deep/a"])
        (folder.path / "deep").mkdir()
        (folder.path / "deep" / "a").write_text("")
        folder.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    assert list((tmp_path / "theirs").iterdir()) == []


def test_a_file_of_somebody_can_not_be_claimed(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    for name in ("a", ".b.part"):
        (folder.path / name).write_text("mine")
    (folder.path / "c").symlink_to("nowhere")
    for name in ("a", "b", "c"):
        with pytest.raises(OutputError, match=r"exists and was not made by lookalike"):
            folder.claim(["fine", name])
    assert OwnedFolder(folder.path, "run").look()
    assert folder.names == []
    folder.remove()
    assert sorted(path.name for path in folder.path.iterdir()) == [".b.part", MARK, "a", "c"]


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "..", ""])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    folder = begun(tmp_path / "run")
    with pytest.raises(OutputError, match="would be outside of"):
        folder.claim([name])


def test_nothing_is_written_or_removed_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a").write_text("mine")
    folder = begun(tmp_path / "run")
    folder.claim(["deep/a", "b"])
    (folder.path / "deep").symlink_to(tmp_path / "home")
    (folder.path / "b").symlink_to(tmp_path / "home" / "a")
    with pytest.raises(OutputError, match="deep is a link: nothing is written or removed behind it"):
        folder.claim(["deep/c"])
    folder.remove()
    assert listing(tmp_path / "home") == {"a": "mine"}
    assert (folder.path / "b").is_symlink()


@pytest.mark.parametrize("text", ["", "{}", "[1]", seal({}), seal([])])
def test_a_mark_that_can_not_be_read_protects_everything(tmp_path: Path, text: str) -> None:
    folder = begun(tmp_path / "run")
    folder.claim(["a"])
    (folder.path / "a").write_text("")
    (folder.path / MARK).write_text(text)
    with pytest.raises(OutputError, match=r"lookalike\.json, which tells what is ours, cannot be read") as error:
        OwnedFolder(folder.path, "run").look()
    assert "\n" not in str(error.value)
    assert (folder.path / "a").exists()


def test_a_mark_with_another_name_in_it_is_not_believed(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    folder.claim(["result"])
    mark = folder.path / MARK
    mark.write_text(mark.read_text().replace("result", "thesis"))
    with pytest.raises(OutputError, match="its checksum is wrong"):
        OwnedFolder(folder.path, "run").look()


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(OutputError, match="run is the run folder of a run: choose another folder"):
        OwnedFolder(tmp_path / "run", "work").look()


def test_an_unfinished_mark_makes_no_folder_full(tmp_path: Path) -> None:
    (tmp_path / f".{MARK}.part").write_text("{")
    begun(tmp_path).remove()
    assert list(tmp_path.iterdir()) == []


def test_new_files_take_the_place_of_old_ones_and_others_stay(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    put(folder, report="1", kept_a="1", kept_b="1", gone_x="1")
    folder.publish("report")
    assert listing(folder.path) == {"report": "1", "kept/a": "1", "kept/b": "1", "gone/x": "1"}
    for name in ("kept/mine", ".report.part", "kept/.a.part"):
        (folder.path / name).write_text("mine")
    (folder.path / "report").chmod(0o600)
    put(folder, report="2", kept_b="2", new_c="2")
    folder.publish("report")
    assert listing(folder.path) == {
        "report": "2", "kept/b": "2", "new/c": "2", "kept/mine": "mine", ".report.part": "mine", "kept/.a.part": "mine",
    }  # fmt: skip
    assert (folder.path / "report").stat().st_mode & 0o777 == 0o600
    assert sorted(folder.names) == ["kept/b", "new/c", "report"]
    assert not (folder.path / "gone").exists()


def test_a_file_of_somebody_in_the_way_of_a_result_stays_until_it_is_moved(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    put(folder, report="1", kept_a="1")
    (folder.path / "kept").mkdir()
    (folder.path / "kept" / "a").write_text("mine")
    with pytest.raises(OutputError, match=r"kept/a exists and was not made by lookalike: move it, then continue"):
        folder.publish("report")
    (folder.path / "kept" / "a").rename(tmp_path / "a")
    again = OwnedFolder(folder.path, "run")
    again.look()
    again.publish("report")
    assert listing(folder.path) == {"report": "1", "kept/a": "1"}


class _Killed(BaseException):
    """The program ended here."""


CALLS = ("unlink", "replace", "rename", "rmdir", "mkdir")


def dying(monkeypatch: pytest.MonkeyPatch, after: int) -> Callable[[], int]:
    """Every change of the disk counts; the one after so many does not happen any more, nor any other."""
    count = 0

    def counted(name: str) -> Callable[..., object]:
        real = getattr(Path, name)

        def call(self: Path, *arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count > after:
                raise _Killed
            return real(self, *arguments, **options)

        return call

    for name in CALLS:
        monkeypatch.setattr(Path, name, counted(name))
    return lambda: count


@pytest.mark.parametrize("then", ["resume", "overwrite", "abandon"])
def test_a_move_that_is_killed_anywhere_ends_well_and_spares_what_came_in_between(tmp_path: Path, then: str) -> None:
    """Before each change of the disk in turn; afterwards somebody puts files where results are still to come."""
    total = after = 0
    while after <= total:
        root = tmp_path / f"{then}-{after}"
        folder = begun(root)
        put(folder, report="1", kept_a="1", kept_b="1")
        folder.publish("report")
        put(folder, report="2", kept_b="2", kept_c="2", deep_d="2")
        with pytest.MonkeyPatch.context() as patch:
            count = dying(patch, after)
            try:
                folder.publish("report")
                total = count()
            except _Killed:
                total = after + 1
        state = listing(root)
        # A report is there only with all that belongs to it, the old or the new.
        if "report" in state and not any(name.startswith(".partial") for name in state):
            whole = {"1": {"kept/a", "kept/b"}, "2": {"kept/b", "kept/c", "deep/d"}}[state["report"]]
            assert {name for name in state if name != "report"} == whole
        mine = root / "kept" / "c"
        put_mine = not mine.exists() and mine.parent.exists()
        if put_mine:
            mine.write_text("mine")
        again = OwnedFolder(root, "run")
        assert again.look()
        if then == "resume":
            if put_mine and (root / ".partial" / "kept" / "c").exists():
                with pytest.raises(OutputError, match="kept/c exists and was not made"):
                    again.publish("report")
                assert mine.read_text() == "mine"
                mine.unlink()
            if again.staged:
                again.publish("report")
            assert listing(root) == {"report": "2", "kept/b": "2", "kept/c": "2", "deep/d": "2"}
        elif then == "overwrite":
            again.settle()
            again.remove([f".partial/{name}" for name in again.staged])
            put(again, report="3", kept_b="3")
            again.publish("report")
            assert listing(root) == {"report": "3", "kept/b": "3"} | ({"kept/c": "mine"} if put_mine else {})
        else:
            again.remove()
            assert listing(root) == ({"kept/c": "mine"} if put_mine else {})
        after += 1
    assert total > 10


def test_a_claim_that_is_killed_leaves_a_mark_that_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begun(tmp_path / "run")
    folder.claim(["a"])

    def killed(path: Path) -> None:
        raise _Killed

    monkeypatch.setattr(owned, "replacing", lambda path: killed(path))
    with pytest.raises(_Killed):
        folder.claim(["b"])
    assert unseal((folder.path / MARK).read_text())["files"] == ["a"]


def test_names_that_are_no_text_are_kept_in_the_mark(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    name = os.fsdecode(b"caf\xe9.jsonl")
    folder.claim([name])
    again = OwnedFolder(folder.path, "run")
    again.look()
    assert again.names == [name]


def test_a_file_of_somebody_among_what_is_staged_stays_where_it_is(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    put(folder, report="1", kept_a="1", kept_deep_b="1")
    (folder.path / ".partial" / "kept" / "deep" / "mine").write_text("mine")
    folder.publish("report")
    assert listing(folder.path) == {
        "report": "1", "kept/a": "1", "kept/deep/b": "1", ".partial/kept/deep/mine": "mine",
    }  # fmt: skip
