"""Every block of every page is run, or says why it cannot be."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import lookalike
from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)
from tests.pages.blocks import PAGES, blocks, run_python, run_shell
from tests.pages.settings import prepare

RUN_HERE = ("python", "sh", "pycon")
# What is shown and not run: output, and files of other programs.
SHOWN = ("", "ini", "text")
# Pages whose blocks need a server or other things of their own.
ELSEWHERE = {
    "docs/server.md": "tests/server/test_server_page.py",
    "docs/spans.md": "tests/cli/test_spans_page.py",
    "examples/README.md": "tests/examples",
}
# Blocks that nothing here can run, with the reasons that stand before them.
NOT_RUN = {
    "README.md": ["the tests are run by it"],
    "docs/large-collections.md": ["the run above was not interrupted"],
    "docs/run-an-index.md": ["needs Redis"],
    "docs/runs.md": ["needs DuckDB"],
    "docs/spark.md": ["needs Spark"] * 6,
    "docs/tutorial.md": ["the tests run in an environment where it is installed", "the tests run the block above"],
}
RUNNABLE = [
    name for name in PAGES
    if name not in ELSEWHERE and any(each.language in RUN_HERE and not each.not_run for each in blocks(name))
]  # fmt: skip


@pytest.mark.parametrize("page", RUNNABLE)
def test_the_blocks_of_a_page_run_and_give_what_stands_below_them(
    page: str,
    run: Run,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(page)
    names: dict[str, Any] = {}
    examples: dict[str, Any] = {"lookalike": lookalike}
    for block in blocks(page):
        if block.not_run:
            continue
        if block.language == "python":
            run_python(block.text, names)
        elif block.language == "sh":
            run_shell(block.text, run)
        elif block.language == "pycon":
            parsed = doctest.DocTestParser().get_doctest(block.text, examples, page, page, 0)
            assert doctest.DocTestRunner(verbose=False).run(parsed, clear_globs=False).failed == 0, block.text
    for value in names.values():
        if hasattr(value, "close") and type(value).__module__.startswith("lookalike"):
            value.close()


def test_what_is_not_run_says_why_and_is_listed_here() -> None:
    told = {page: [each.not_run for each in blocks(page) if each.not_run] for page in PAGES if page not in ELSEWHERE}
    assert {page: why for page, why in told.items() if why} == NOT_RUN


def test_every_block_has_a_language_that_is_known() -> None:
    odd = {(page, each.language) for page in PAGES for each in blocks(page)}
    assert {(page, language) for page, language in odd if language not in (*RUN_HERE, *SHOWN)} == set()


def test_no_block_is_overlooked() -> None:
    for page, path in PAGES.items():
        fences = len(re.findall(r"^ *```", path.read_text(encoding="utf-8"), re.MULTILINE))
        assert fences == 2 * len(blocks(page)), page
