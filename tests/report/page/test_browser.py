"""The page in a real browser: silent, alone, readable in light and dark and on a phone. Needs Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lookalike.report.page import page
from tests.report.page.browser import Browser, chromium, open_browser
from tests.report.page.example import hostile_report, rich_report

PROGRAM = chromium()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

REPORTS = {"rich": rich_report, "hostile": hostile_report, "empty": dict}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with open_browser(PROGRAM, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, report in REPORTS.items():
        (folder / f"{name}.html").write_text(page(report()), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in REPORTS}


GROUND = "getComputedStyle(document.body).backgroundColor"


def ground(browser: Browser) -> Any:
    return browser.evaluate(GROUND)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_asks_for_nothing_and_complains_about_nothing(
    browser: Browser, files: dict[str, Path], name: str, dark: bool
) -> None:
    browser.visit(files[name], dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert browser.screenshot()
    assert [asked for asked in browser.requests() if not asked.startswith("data:")] == [files[name].as_uri()]
    assert browser.complaints() == []


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_page_is_never_wider_than_its_window(browser: Browser, files: dict[str, Path], name: str, width: int) -> None:
    browser.visit(files[name], width=width)
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_light_and_dark_look_different(browser: Browser, files: dict[str, Path]) -> None:
    browser.visit(files["rich"])
    light, light_ground = browser.screenshot(), ground(browser)
    browser.visit(files["rich"], dark=True)
    assert ground(browser) != light_ground
    assert browser.screenshot() != light


def test_a_print_is_light(browser: Browser, files: dict[str, Path]) -> None:
    browser.visit(files["rich"])
    ink = "getComputedStyle(document.body).color"
    light = browser.evaluate(ink)
    browser.visit(files["rich"], dark=True)
    assert browser.evaluate(ink) != light
    browser.visit(files["rich"], dark=True, media="print")
    assert browser.evaluate(ink) == light


def test_the_switch_changes_the_colours_and_is_remembered(browser: Browser, files: dict[str, Path]) -> None:
    browser.visit(files["rich"])
    light = ground(browser)
    browser.evaluate("document.getElementById('theme').click()")
    assert ground(browser) != light

    def is_remembered() -> bool:
        browser.visit(files["empty"])
        return browser.until(f"{GROUND} !== {json.dumps(light)}", seconds=1)

    # What one process stores, another one that has begun meanwhile may never see: a page that is opened later does.
    assert any(is_remembered() for _ in range(30))
    browser.evaluate("document.getElementById('theme').click()")
    assert ground(browser) == light
    browser.evaluate("localStorage.clear()")


def test_the_copy_button_does_something(browser: Browser, files: dict[str, Path]) -> None:
    browser.visit(files["rich"])
    label = "document.querySelector('[data-copy]').textContent"
    assert browser.evaluate(label) == "Copy"
    # The label goes back by itself, so what it said in between is noted.
    browser.evaluate(
        f"""window.said = []; const button = document.querySelector('[data-copy]');
        new MutationObserver(() => said.push({label})).observe(button, {{ childList: true }}); button.click();"""
    )
    assert browser.until("said.includes('Copied') || said.includes('Selected')")


def test_without_its_script_the_page_is_complete(browser: Browser, files: dict[str, Path]) -> None:
    browser.visit(files["rich"])
    text = "document.querySelector('main').innerText"
    with_script = browser.evaluate(text)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.visit(files["rich"])
        without = browser.evaluate(text)
        buttons = browser.evaluate("[...document.querySelectorAll('button')].filter(b => b.offsetParent).length")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert without == with_script.replace("\nCopy", "")
    assert buttons == 0


def test_the_policy_stops_scripts_styles_and_requests(browser: Browser, files: dict[str, Path]) -> None:
    browser.visit(files["rich"])
    before = ground(browser)
    browser.evaluate(
        """document.body.insertAdjacentHTML('beforeend',
        '<img src="https://evil.example/x.png" onerror="window.ran = 1"><style>body { background: red }</style>');
        const script = document.createElement('script'); script.textContent = 'window.ran = 1';
        document.body.append(script);"""
    )
    refused = browser.evaluate("fetch('https://evil.example/').then(() => 'fetched', () => 'refused')")
    assert refused == "refused"
    assert browser.evaluate("window.ran === undefined")
    assert ground(browser) == before
    assert any("Content Security Policy" in each for each in browser.complaints())
