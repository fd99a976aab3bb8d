"""The head of the page: what went in, what came out, and what to look at first."""

from __future__ import annotations

from lookalike.report.page.charts import bar
from lookalike.report.page.fields import Fields, count, number, sentences, strings, words
from lookalike.report.page.layout import Section, unordered
from lookalike.report.page.markup import Markup, join, tag
from lookalike.report.page.measure import is_identity, limit, measured, told
from lookalike.report.page.numbers import of_all, whole
from lookalike.report.page.other_section import only_other
from lookalike.report.page.span_section import cuts_spans, span_headline, span_title
from lookalike.wording.phrases import counted

__all__ = ["headline", "title", "unit", "warnings"]


def unit(report: Fields) -> str:
    """What an item is: a document, a paragraph, a line."""
    return words(report, "unit")[:60] or "item"


def title(report: Fields) -> str:
    """The page in one line."""
    if cuts_spans(report):
        return span_title(report)
    items, kept, noun = count(report, "items"), count(report, "kept"), unit(report)
    among = f" among {counted(items, noun)}" if items is not None else ""
    if kept is not None:
        return f"{kept:,} of {counted(items, noun)} kept" if items is not None else f"{counted(kept, noun)} kept"
    for key in ("clusters", "pairs"):
        found = count(report, key)
        if found is not None:
            return counted(found, key[:-1]) + among
    return counted(items, noun) if items is not None else "A run without numbers"


def headline(report: Fields) -> Markup:
    """The title, what it means, the bar of kept and removed, and the large figures."""
    if cuts_spans(report):
        return tag("header", tag("h1", span_title(report)), *span_headline(report), class_="headline")
    return tag(
        "header",
        tag("h1", title(report)),
        tag("p", _meaning(report), class_="meaning"),
        _balance(report),
        _figures(report),
        class_="headline",
    )


def warnings(report: Fields) -> Section | None:
    """What deserves a look, one line each."""
    found = sentences(report, "warnings")
    if not found:
        return None
    heading = "1 warning" if len(found) == 1 else f"{len(strings(report, 'warnings'))} warnings"
    return Section("warnings", heading, tag("div", unordered(found), class_="warnings"))


def _removed(report: Fields) -> int | None:
    items, kept = count(report, "items"), count(report, "kept")
    if count(report, "removed") is not None or items is None or kept is None:
        return count(report, "removed")
    return max(0, items - kept)


def _meaning(report: Fields) -> str:
    """What the removed items and the kept ones have to do with each other."""
    noun, removed = unit(report), _removed(report)
    identity = is_identity(report)
    alike = f"{measured(report)} {limit(report)}".strip()
    if count(report, "kept") is None or removed is None:
        if number(report, "threshold") is None:
            return ""
        linked = "Clusters of pairs" if count(report, "clusters") is not None else "Pairs"
        return "Identical items." if identity else f"{linked} at {alike}."
    if only_other(report):
        alike = "" if identity else f" at {alike}"
        if not removed:
            return f"Nothing was removed: no {noun} matches an item of the other collection{alike}."
        gone = f"{removed:,} {noun}s were removed" if removed > 1 else f"One {noun} was removed"
        among = f"{noun.capitalize()}s were not compared with each other."
        return f"{gone}, matching an item of the other collection{alike}. {among}"
    if not removed:
        return f"Nothing was removed: no two {noun}s " + ("are identical." if identity else f"match at {alike}.")
    gone = f"{removed:,} {noun}s were removed, each" if removed > 1 else f"One {noun} was removed,"
    if identity:
        return f"{gone} identical to one that was kept."
    if words(report, "verify") not in ("exact", "text"):
        return f"{gone} as a likely near-duplicate of one that was kept, without its exact {told(report)}."
    if words(report, "cluster") == "representative":
        return f"{gone} verified to match the one kept in its place, at {alike}."
    return f"{gone} in one cluster with one that was kept, linked by pairs at {alike}."


def _balance(report: Fields) -> Markup | None:
    """One bar for all items: kept, removed as near-duplicates, removed as identical copies."""
    items, kept, removed = count(report, "items"), count(report, "kept"), _removed(report)
    if not items or kept is None or removed is None:
        return None
    # Where only items of another collection count, copies are not removed as such.
    identical = 0 if only_other(report) else count(report, "identical") or 0
    # Every identical copy is removed, unless groups or another collection changed what is compared.
    same = identical if identical <= removed else 0
    parts = [
        ("kept", "kept", kept),
        ("removed", "removed as near-duplicates" if same else "removed", removed - same),
        ("identical", "removed as identical copies", same),
    ]
    if removed and same == removed:
        parts = [parts[0], parts[2]]
    legend = [
        join(
            [
                tag("span", class_=f"swatch {class_}"),
                tag("b", whole(size)),
                " " + what,
                tag("span", of_all(size, items), class_="soft"),
            ]
        )
        for class_, what, size in parts
        if size or class_ == "kept"
    ]
    boxes = bar([(size / items, class_) for class_, _, size in parts], tall=True)
    return tag("div", boxes, unordered(legend, "legend"), class_="balance")


def _figures(report: Fields) -> Markup | None:
    """The large figures."""
    noun, items = unit(report), count(report, "items")
    removed = _removed(report)
    shown = [
        (f"{noun}s in", whole(items), _files(report)) if items is not None else None,
        ("kept", whole(count(report, "kept")), of_all(count(report, "kept"), items))
        if count(report, "kept") is not None
        else None,
        ("removed", whole(removed), of_all(removed, items)) if removed is not None else None,
        _clusters(report),
        _pairs(report),
    ]
    tiles = [
        tag("div", tag("dt", label), tag("dd", figure), tag("dd", note, class_="note") if note else None)
        for label, figure, note in filter(None, shown)
    ]
    return tag("dl", *tiles, class_="figures-large") if tiles else None


def _files(report: Fields) -> str:
    inputs = strings(report, "inputs")
    return f"from {counted(len(inputs), 'file')}" if inputs else ""


def _clusters(report: Fields) -> tuple[str, str, str] | None:
    clusters, largest = count(report, "clusters"), count(report, "largest_cluster")
    if clusters is None or only_other(report):
        return None
    return "clusters", whole(clusters), f"the largest of {largest:,}" if largest else ""


def _pairs(report: Fields) -> tuple[str, str, str] | None:
    pairs, at = count(report, "pairs"), limit(report)
    if pairs is None:
        return None
    note = f"at {at}" if at and not is_identity(report) else ""
    return "pairs found", whole(pairs), "not compared" if words(report, "verify") == "none" else note
