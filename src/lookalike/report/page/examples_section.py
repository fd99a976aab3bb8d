"""Items to look at: the largest clusters, and pairs side by side with their differences marked."""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.report.page.fields import Fields, count, record, records, words
from lookalike.report.page.headline import unit
from lookalike.report.page.layout import Section
from lookalike.report.page.markup import Markup, cut, differing, first_difference, foldout, join, name, tag
from lookalike.report.page.measure import of_text, told, told_of
from lookalike.report.page.numbers import NONE, of_all, whole

__all__ = ["largest_clusters", "sample_pairs"]

_SNIPPET = 140
_CLUSTER_TEXT = 600
_PAIR_TEXT = 1200
_BEFORE = 160  # characters before the first difference, where a text is too long to be shown from its beginning
_MOST_CLUSTERS, _MOST_MEMBERS, _MOST_PAIRS = 10, 5, 12
_OPEN_PAIRS = 3


def largest_clusters(report: Fields) -> Section | None:
    """The largest clusters, folded: the kept item, and some of those that it stands for."""
    clusters = records(report, "largest_clusters")[:_MOST_CLUSTERS]
    if not clusters:
        return None
    items, noun = count(report, "items"), unit(report)
    folded = [_cluster(report, each, items, noun) for each in clusters]
    lead = "The item that was kept, and some of those it stands for."
    return Section("clusters", "The largest clusters", tag("div", *folded, class_="folds"), lead)


def sample_pairs(report: Fields) -> Section | None:
    """Pairs from the least alike on, side by side."""
    pairs = records(report, "sample_pairs")[:_MOST_PAIRS]
    if not pairs:
        return None
    folded = [_pair(report, each, open=place < _OPEN_PAIRS) for place, each in enumerate(pairs)]
    lead: str = "From the least alike pair on; long items are cut."
    if any(_marks(each, side) for each in pairs for side in ("marks_a", "marks_b")):
        lead = join([lead, " What only one of the two has is ", tag("mark", "marked"), "."])
    return Section("pairs", "Sample pairs", tag("div", *folded, class_="folds"), lead)


def _cluster(report: Fields, cluster: Fields, items: int | None, noun: str) -> Markup:
    size, kept = count(cluster, "size"), record(cluster, "kept")
    # A share worth reading is one that a warning could be about.
    share = of_all(size, items) if items and size and size >= 0.01 * items else ""
    summary = join(
        [
            tag("b", whole(size), class_="large"),
            tag("span", f"{noun}s" + (f", {share} of all" if share else ""), class_="soft"),
            tag("bdi", _snippet(words(kept, "text") or words(kept, "id")), class_="snippet"),
        ]
    )
    members = records(cluster, "members")[:_MOST_MEMBERS]
    style = _style(report)
    shown = [_member(kept, "kept", "kept", style)]
    shown += [_member(each, _badge(report, each), "removed", style) for each in members]
    more = (size or 0) - 1 - len(members)
    rest = tag("p", f"and {more:,} more", class_="note") if more > 0 else None
    return foldout(summary, tag("div", *shown, class_="members"), rest)


def _badge(report: Fields, member: Fields) -> str:
    near = told_of(report, member)
    return "not compared" if near == NONE else f"{told(report)} {near}"


def _style(report: Fields) -> str:
    """The class of what an item holds; digits stand below digits."""
    return "text digits" if words(report, "form") in ("vectors", "bits") else "text"


def _member(item: Fields, role: str, class_: str, style: str) -> Markup:
    text, rest = cut(words(item, "text"), _CLUSTER_TEXT)
    head = tag("p", tag("span", role, class_=f"badge {class_}"), _where(item), class_="who")
    body = join([text, tag("span", " …", class_="cut") if rest else None])
    return tag("article", head, tag("div", body, class_=style, dir="auto") if text else None)


def _pair(report: Fields, pair: Fields, *, open: bool) -> Markup:
    a, b = record(pair, "a"), record(pair, "b")
    sides = [(a, _marks(pair, "marks_a")), (b, _marks(pair, "marks_b"))]
    start = _start([(words(item, "text"), marks) for item, marks in sides])
    summary = join(
        [
            tag("b", told_of(report, pair), class_="large"),
            tag("span", name(words(a, "id"), 60), " and ", name(words(b, "id"), 60), class_="soft"),
            tag("bdi", _snippet(words(a, "text")), class_="snippet"),
        ]
    )
    compared = any(marks for _, marks in sides) or of_text(report)
    shown = []
    for item, marks in sides:
        text = words(item, "text")
        body = differing(text, marks if compared else [[0, len(text)]], start, _PAIR_TEXT)
        head = tag("p", _where(item), class_="who")
        shown.append(tag("article", head, tag("div", body, class_=_style(report), dir="auto")))
    return foldout(summary, tag("div", *shown, class_="halves"), open=open)


def _marks(pair: Fields, key: str) -> Sequence[object]:
    found = pair.get(key)
    return found if isinstance(found, (list, tuple)) else []


def _start(sides: list[tuple[str, Sequence[object]]]) -> int:
    """Where to begin: at the beginning, or shortly before the first difference of texts that are too long."""
    if max(len(text) for text, _ in sides) <= _PAIR_TEXT:
        return 0
    found = [at for text, marks in sides if (at := first_difference(text, marks)) is not None]
    return max(0, min(found) - _BEFORE) if found and min(found) > _PAIR_TEXT // 2 else 0


def _where(item: Fields) -> Markup:
    """The id, and file and row where they are given."""
    file, row = words(item, "file"), count(item, "row")
    beside = tag("span", name(file), f" row {row:,}" if row is not None else None, class_="soft") if file else None
    return join([name(words(item, "id")), beside])


def _snippet(text: str) -> str:
    return " ".join(text[: 4 * _SNIPPET].split())[:_SNIPPET]
