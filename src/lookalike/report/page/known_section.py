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
        ["seen before", "removed", "removed: matches a known item"],
        ["duplicates of each other", "removed_among_new", "removed: matches another new item"],
        ["kept", "kept", "no match among the known items or the kept new items"],
        ["added", "added", "now part of the index"],
        ["replaced", "replaced", "of these, in place of a known item with the same id"],
    ]
    shown = [
        [title, why, whole(count(data, field)), of_all(count(data, field), new)]
        for title, field, why in rows
        if count(data, field) is not None
    ]
    statement, recall = (words(data, field)[:2000] for field in ("statement", "recall_statement"))
    body = tag(
        "div",
        table("New items", ["new items", "result", "items", "share"], shown, text=2),
        tag("p", _sentence(recall)) if recall else None,
        tag(
            "p",
            "Only the best known match of each new item is listed. The certificate covers pairs of new items; this "
            "sample covers new items and known ones. The results include every match that the sample found.",
            class_="note",
        ),
        class_="card",
    )
    lead = _sentence(statement) if statement else None
    return Section("known", f"Seen before, in {name(words(data, 'name'))}", body, lead)


def _sentence(text: str) -> str:
    return text[:1].upper() + with_signs(text[1:]) + "."
