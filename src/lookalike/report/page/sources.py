"""How much each source lost: by input file, or by the column that names the source."""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.report.page.charts import bar
from lookalike.report.page.fields import Fields, count, record, records, words
from lookalike.report.page.headline import unit
from lookalike.report.page.layout import Section, table
from lookalike.report.page.markup import Markup, foldout, name, tag
from lookalike.report.page.numbers import of_all, whole
from lookalike.wording.phrases import counted

__all__ = ["sources"]

_SHOWN = 20  # rows before the fold
_MOST = 300  # rows in all: the page stays small, and report.json has the others


def sources(report: Fields) -> Section | None:
    """A row for each source, those that lost most first."""
    data = record(report, "sources")
    rows = sorted(records(data, "rows"), key=lambda row: (-(_removed(row) or 0), words(row, "name")))
    # Where each file is one item, such as a picture, they have nothing to tell.
    if not rows or (len(rows) > 1 and all(count(row, "items") == 1 for row in rows)):
        return None
    by = words(data, "by") or "file"
    noun = unit(report)
    parts: list[str | None] = [_table(rows[:_SHOWN], by, noun)]
    folded = rows[_SHOWN:_MOST]
    if folded:
        parts.append(foldout(f"{len(folded):,} more", _table(folded, by, noun), class_="figures"))
    left_out = len(rows[_MOST:]) + (count(data, "left_out") or 0)
    if left_out:
        lost = counted(left_out, "source")
        parts.append(tag("p", f"{lost} with fewer removed {noun}s not shown.", class_="note"))
    lead = f"How many {noun}s of each {_source(by)} were removed, the largest number first."
    return Section("sources", "Removal by source", tag("div", *parts, class_="card"), lead)


def _source(by: str) -> str:
    return "file" if by == "file" else f"value of “{by}”"


def _table(rows: Sequence[Fields], by: str, noun: str) -> Markup:
    heads = [by, "", "share", "removed", "kept", f"{noun}s"]
    return table(f"Removal by {by}", heads, [_row(row) for row in rows], class_="sources")


def _row(row: Fields) -> list[str]:
    items, kept, removed = count(row, "items"), count(row, "kept"), _removed(row)
    share = (removed or 0) / items if items else 0.0
    # A bar over the whole width, so that rows compare as shares.
    parts = bar([(share, "removed")], track=True)
    return [name(words(row, "name")), parts, of_all(removed, items), whole(removed), whole(kept), whole(items)]


def _removed(row: Fields) -> int | None:
    """Counted, or what is not kept."""
    items, kept = count(row, "items"), count(row, "kept")
    if count(row, "removed") is not None or items is None or kept is None:
        return count(row, "removed")
    return max(0, items - kept)
