"""What was seen before: how many new items are like known ones, and how many of such matches were found."""

from __future__ import annotations

from lookalike.report.page.fields import Fields, count, record, words
from lookalike.report.page.layout import Section, table
from lookalike.report.page.markup import name, tag
from lookalike.report.page.measure import with_signs
from lookalike.report.page.numbers import of_all, whole

__all__ = ["known"]


def known(report: Fields) -> Section | None:
    """What became of the new items, and what the audit says of the look-up."""
    data = record(report, "known")
    if not data:
        return None
    new = count(data, "new")
    rows = [
        ["seen before", "removed", "removed for a known item"],
        ["duplicates of one another", "removed_among_new", "removed for a new item"],
        ["kept", "kept", "like nothing that is known, and like no new item that is kept"],
        ["added", "added", "known from now on"],
        ["replaced", "replaced", "of these, in the place of a known item with the same id"],
    ]
    shown = [
        [title, why, whole(count(data, field)), of_all(count(data, field), new)]
        for title, field, why in rows
        if count(data, field) is not None
    ]
    statement, recall = (words(data, field)[:2000] for field in ("statement", "recall_statement"))
    body = tag(
        "div",
        table("New items", ["new items", "what became of them", "items", "share"], shown, text=2),
        tag("p", _sentence(recall)) if recall else None,
        tag(
            "p",
            "Of each new item only the best match among the known ones is listed. The certificate is about pairs of "
            "new items; this sample is about new items and known ones, and what it alone found is among the results.",
            class_="note",
        ),
        class_="card",
    )
    lead = _sentence(statement) if statement else None
    return Section("known", f"Seen before, in {name(words(data, 'name'))}", body, lead)


def _sentence(text: str) -> str:
    return text[:1].upper() + with_signs(text[1:]) + "."
