"""The whole page: its head with the policy that keeps it from loading anything, the contents, the sections.

The policy names the style sheet and the script by their SHA-256, so no other script or style runs in the page, and
`default-src 'none'` forbids every request. Bars are SVG with lengths as attributes, since `style="…"` would need a hole
in the policy. The icon is a data address, else a server is asked for one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources

from lookalike.report.page.certificate_section import certificate
from lookalike.report.page.examples_section import largest_clusters, sample_pairs
from lookalike.report.page.fields import Fields, words
from lookalike.report.page.headline import headline, title, warnings
from lookalike.report.page.known_section import known
from lookalike.report.page.layout import Section
from lookalike.report.page.markup import Markup, tag
from lookalike.report.page.numbers import when
from lookalike.report.page.other_section import other
from lookalike.report.page.palette import style_variables
from lookalike.report.page.run import command, cost, method
from lookalike.report.page.sources import sources
from lookalike.report.page.span_section import largest_spans
from lookalike.report.page.spread import curve, spread

__all__ = ["document", "page"]

SECTIONS: tuple[Callable[[Fields], Section | None], ...] = (
    warnings,
    certificate,
    known,
    other,
    sources,
    spread,
    curve,
    largest_clusters,
    sample_pairs,
    largest_spans,
    cost,
    method,
    command,
)


def page(report: Fields) -> str:
    """`report.html` from the data of `report.json`: one file that loads nothing."""
    sections = [section for make in SECTIONS if (section := make(report)) is not None]
    return document(title(report), headline(report), sections, report, "The same data is in report.json.")


def document(titled: str, header: Markup, sections: list[Section], report: Fields, foot: str = "") -> str:
    """A page with its title, the header, and sections, which the contents name; `foot` is its last sentence."""
    version = f"lookalike {words(report, 'lookalike')}".strip()
    made = f"Made by {version}. {foot}".strip()
    body = _body(header, sections, words(report, "finished"), made)
    return f"<!doctype html>\n{tag('html', _head(titled), body, lang='en')}\n"


def _head(titled: str) -> Markup:
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{titled} · lookalike"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )


def _body(header: Markup, sections: list[Section], finished: str, made: str) -> Markup:
    switch = tag("button", type="button", id="theme", hidden=True, aria_label="Light or dark")
    top = tag(
        "div",
        tag("span", _logo(), "lookalike", class_="brand"),
        tag("span", when(finished), class_="soft") if finished else None,
        switch,
        class_="top",
    )
    links = [tag("li", tag("a", section.title, href=f"#{section.id}")) for section in sections]
    contents = tag("nav", tag("ul", *links), aria_label="Contents") if links else None
    main = tag("main", header, *(section.markup() for section in sections))
    # Last, when all that the script touches is there.
    script = tag("script", Markup(_asset("page.js")))
    return tag(
        "body",
        top,
        tag("div", contents, tag("div", main, tag("footer", made)), class_="layout" if contents else "layout bare"),
        script,
    )


def _logo() -> Markup:
    """Two sets and what they share."""
    circles = [tag("circle", cx="9", cy="10", r="7.5"), tag("circle", cx="19", cy="10", r="7.5")]
    return tag("svg", *circles, viewBox="0 0 28 20", width="28", height="20", aria_hidden="true", class_="logo")


@cache
def _asset(file: str) -> str:
    text = resources.files("lookalike.report.page").joinpath(file).read_text(encoding="utf-8")
    return style_variables() + "\n" + text if file.endswith(".css") else text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
