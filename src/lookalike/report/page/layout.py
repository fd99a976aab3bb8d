"""What the sections are made of: headings, tables, figures, lists of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookalike.report.page.markup import Markup, foldout, join, tag

__all__ = ["Section", "figure", "numbers_foldout", "table", "terms", "unordered"]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that the table of contents names."""

    id: str
    title: str
    body: Markup
    lead: str | None = None

    def markup(self) -> Markup:
        heading = tag("h2", self.title, id=f"{self.id}-title")
        lead = tag("p", self.lead, class_="lead") if self.lead else None
        return tag("section", heading, lead, self.body, id=self.id, aria_labelledby=f"{self.id}-title")


def table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1, class_: str | None = None
) -> Markup:
    """A table whose first column heads its rows; the first `text` columns are words, the others figures.

    A column without a name holds bars: they repeat what a figure beside them says.
    """
    kinds = ["bars" if not head else "" if number < text else "figure" for number, head in enumerate(heads)]
    top = [
        tag("th", head, scope="col", class_=kind or None) if head else tag("td", class_=kind)
        for head, kind in zip(heads, kinds, strict=True)
    ]
    body = []
    for row in rows:
        cells = [tag("td", cell, class_=kind or None) for cell, kind in zip(row, kinds, strict=True)]
        cells[0] = tag("th", row[0], scope="row")
        body.append(tag("tr", *cells))
    inside = [tag("caption", caption, class_="hidden"), tag("thead", tag("tr", *top)), tag("tbody", *body)]
    # What scrolls must be reached by the keyboard, and what is reached needs a name.
    return tag(
        "div", tag("table", *inside, class_=class_), class_="scroll", tabindex=0, role="region", aria_label=caption
    )


def figure(title: str, chart: str, caption: str, *, upright: str, across: str) -> Markup:
    """A chart with its title above, what there is to say below, and the names of its axes."""
    inside = [tag("p", upright, class_="upright"), chart, tag("p", across, class_="across")]
    return tag("figure", tag("h3", title), tag("div", *inside, class_="room"), tag("figcaption", caption))


def numbers_foldout(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """The figures of a chart as a table, folded."""
    return foldout("The figures", table(caption, heads, rows), class_="figures")


def terms(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Terms and what they are; a pair without a description is left out."""
    return tag("dl", join(tag("div", tag("dt", term), tag("dd", what)) for term, what in pairs if what))


def unordered(items: Sequence[str], class_: str | None = None) -> Markup:
    return tag("ul", *(tag("li", item) for item in items), class_=class_)
