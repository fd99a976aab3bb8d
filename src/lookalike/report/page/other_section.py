"""What was found of another collection, where items are removed for nothing else: which of its items, and how often."""

from __future__ import annotations

from lookalike.report.page.fields import Fields, count, records, strings, words
from lookalike.report.page.layout import Section, table
from lookalike.report.page.markup import name, tag
from lookalike.report.page.numbers import whole
from lookalike.wording.phrases import counted

__all__ = ["only_other", "other"]

_MOST = 20


def only_other(report: Fields) -> bool:
    """Whether items are removed only for those of another collection."""
    return words(report, "only_against") == "yes"


def other(report: Fields) -> Section | None:
    """The items of the other collection that were found most often."""
    hit = count(report, "items_hit")
    if not only_other(report) or hit is None:
        return None
    files = ", ".join(words({"file": file}, "file") for file in strings(report, "against")[:_MOST])
    of = f" of {files}" if files else " of the other collection"
    lead = f"{counted(hit, 'item')}{of} found in the input."
    rows = [[name(words(each, "id")), whole(count(each, "matches"))] for each in records(report, "hit_items")[:_MOST]]
    if not rows:
        return Section("other", "Found of the other collection", tag("div", class_="card"), lead)
    body = tag(
        "div",
        table("Items of the other collection", ["item", "matching items of the input"], rows),
        tag("p", f"The {len(rows)} found most often.", class_="note") if hit > len(rows) else None,
        class_="card",
    )
    return Section("other", "Found of the other collection", body, lead)
