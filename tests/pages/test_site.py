"""The site is built, each link and anchor leads somewhere, and nothing comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.blocks import PAGES, ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `--strict` a broken link or anchor, or a page outside of the navigation, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    names = [name.removeprefix("docs/").removesuffix(".md") for name in PAGES if name.startswith("docs/")]
    pages = {"index" if name == "README" else name for name in names} | {"changelog", "examples/index"}
    assert [name for name in sorted(pages) if not (site / f"{name}.html").exists()] == []


def test_no_script_font_or_picture_comes_from_elsewhere(site: Path) -> None:
    loaded = r"<(?:script|img|iframe)[^>]*\ssrc=\"?(?:https?:)?//|<link[^>]*\shref=\"?https?://|url\(https?://"
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert [path.name for path in files if re.search(loaded, path.read_text(encoding="utf-8"))] == []


def test_options_in_a_line_of_text_are_kept_on_one_line(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert '<code><span class="option">--audit</span></code>' in page
    assert re.findall(r"<code>--[a-z]", page) == []
    assert "styles/code.css" in page and ".option" in (site / "styles" / "code.css").read_text(encoding="utf-8")


def _anchors(page: Path) -> set[str]:
    """The anchors of a page in the repository, as GitHub and MkDocs make them of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", each).strip().lower()) for each in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_in_the_repository_lead_to_files_and_headings(name: str) -> None:
    page = PAGES[name]
    for link, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
        target = (page.parent / link).resolve() if link else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), f"{link}#{anchor}"
