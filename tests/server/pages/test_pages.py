"""The pages in a real browser: alone, silent, readable on a phone and in the dark. Needs Chromium."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.page.browser import Browser, chromium, open_browser
from tests.server.conftest import TEXTS, Server, make_index, serving

PROGRAM = chromium()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with open_browser(PROGRAM, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(make_index(tmp_path_factory.mktemp("pages") / "seen.idx")) as started:
        yield started


LOOK = """(() => {{
    document.getElementById("text").value = {text!r};
    document.querySelector("button").click();
}})()"""
SUMMARY = 'document.getElementById("summary").textContent'


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_is_alone_silent_and_fits_a_phone(browser: Browser, served: Server, path: str, dark: bool) -> None:
    browser.visit(served.address + path, dark=dark, width=400)
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 400
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == dark
    assert browser.screenshot()
    assert [each for each in browser.requests() if not each.startswith("data:")] == [served.address + path]
    assert browser.complaints() == []


def test_a_text_that_is_pasted_is_shown_beside_its_match_with_the_differences_marked(
    browser: Browser, served: Server
) -> None:
    pasted = TEXTS["cat"].replace("while", "minute") + " <b>& more</b>"
    browser.visit(served.address + "/", width=400)
    browser.evaluate(LOOK.format(text=pasted))
    assert browser.until(f'{SUMMARY}.startsWith("One match")')
    marked = "[...document.querySelectorAll('.match {}')].map(each => each.textContent).join('')"
    assert browser.evaluate(marked.format("ins")) == "minute <b>& more</b>"
    assert browser.evaluate(marked.format("del")) == "while"
    assert browser.evaluate("document.documentElement.scrollWidth") <= 400
    assert browser.evaluate("document.querySelector('.match b').textContent") == '"cat"'
    browser.evaluate(LOOK.format(text="nothing that is known here at all"))
    assert browser.until(f'{SUMMARY} === "Nothing is like this."')
    browser.evaluate("document.getElementById('threshold').value = '0.1'")
    browser.evaluate(LOOK.format(text=pasted))
    assert browser.until(f'{SUMMARY}.includes("threshold is 0.1")')
    # The browser itself tells of the answer that was an error.
    assert len(browser.complaints()) == 1
