"""Patterns of file names against Python's own, and what that does not do: end where links lead in circles."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest

from lookalike.errors import InputError
from lookalike.io import open_files
from lookalike.io.reading.patterns import matches

FILES = ["a/x.txt", "a/b/y.txt", "a/b/c/z.txt", "q.txt", ".h/s.txt", "a/.hidden.txt", "w*d/[x].txt", "a/b/x.txt"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    [
        "**", "**/*.txt", "a/**", "a/**/*.txt", "a/**/c/*.txt", "**/b/**", "**/b/**/*.txt", "*/**/z.txt", "./**/*.txt",
        "**/.h/*", "**/**/*.txt", "w*/**", "*.txt", "a/?.txt", "a/[xy].txt", "nothing/**", "**/nothing", "a/**/x.txt",
    ],
)  # fmt: skip
def test_patterns_match_what_python_s_do(tree: Path, pattern: str) -> None:
    for each in (pattern, f"{tree}/{pattern}"):
        found = set(glob.glob(each, recursive=True))  # noqa: PTH207
        assert matches(each) == sorted(name for name in found if Path(name).is_file())


def test_links_that_lead_in_circles_end(tree: Path) -> None:
    for name in ("one", "two", "three"):
        (tree / "a" / "b" / name).symlink_to(tree)
        (tree / name).symlink_to(".")
    expected = ["a/b/c/z.txt", "a/b/x.txt", "a/b/y.txt", "a/x.txt", "q.txt", "w*d/[x].txt"]
    assert matches("**/*.txt") == expected
    assert sorted(open_files([f"{tree}/**/*.txt"]).files) == [f"{tree}/{name}" for name in expected]


def test_a_folder_behind_a_link_is_entered_once_by_its_own_name_if_it_has_one(tree: Path, tmp_path: Path) -> None:
    (tree / "a0-link").symlink_to("a")
    assert matches("**/z.txt") == ["a/b/c/z.txt"]
    (tree / "a" / "up").symlink_to("../.h")
    assert matches("a/**/*.txt") == ["a/b/c/z.txt", "a/b/x.txt", "a/b/y.txt", "a/up/s.txt", "a/x.txt"]
    (tree / "a" / "gone").symlink_to("nowhere")
    (tree / "a" / "self").symlink_to("self")
    assert matches("a/**/s.txt") == ["a/up/s.txt"]


def test_a_folder_of_pictures_says_how_to_read_them(tmp_path: Path) -> None:
    for name in ("a.png", "b.JPG", "c.gif"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(InputError, match=r"holds pictures: use --images"):
        open_files([str(tmp_path)])
    with pytest.raises(InputError, match=r"a.png: is a picture: use --images"):
        open_files([str(tmp_path / "a.png")])
    with pytest.raises(InputError, match=r"a.png: is a picture"):
        open_files([f"{tmp_path}/*.png"])


def test_a_folder_of_other_binary_files_has_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    with pytest.raises(InputError, match="no data or text files in this folder"):
        open_files([str(tmp_path)])
