"""Items to look at: the largest clusters, and pairs side by side with their differences marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lookalike.report.page.differences import beginning, differing
from lookalike.report.page.fields import Fields, count, number, record, records, words
from lookalike.report.page.headline import unit
from lookalike.report.page.inline_pictures import picture
from lookalike.report.page.layout import Section
from lookalike.report.page.markup import Markup, cut, foldout, join, name, tag
from lookalike.report.page.measure import is_distance, missed_by, of_text, told, told_of
from lookalike.report.page.numbers import NONE, of_all, whole

__all__ = ["folds", "largest_clusters", "pair_foldout", "sample_pairs"]

_SNIPPET = 140
_MOST_CLUSTERS, _MOST_MEMBERS, _MOST_PAIRS, _MOST_NEAR = 10, 5, 12, 4
_OPEN_PAIRS = 3
# Characters of an item, folded ones among them: with that a page of texts stays below a megabyte.
_CLUSTER_TEXT, _PAIR_TEXT = 4_000, 10_000


def largest_clusters(report: Fields) -> Section | None:
    """The largest clusters, folded: the kept item, and some of those that it stands for."""
    clusters = records(report, "largest_clusters")[:_MOST_CLUSTERS]
    if not clusters:
        return None
    items, noun = count(report, "items"), unit(report)
    folded = [_cluster(report, each, items, noun) for each in clusters]
    lead: str = "The item that was kept, and some of those it stands for."
    if any(_marks(member, "marks") for each in clusters for member in records(each, "members")):
        lead = join([lead, " What the kept one has not is ", tag("mark", "marked"), "."])
    return Section("clusters", "The largest clusters", tag("div", *folded, class_="folds"), lead)


def sample_pairs(report: Fields) -> Section | None:
    """Pairs side by side: found ones from the least alike on, and some that just missed."""
    pairs = records(report, "sample_pairs")[:_MOST_PAIRS]
    near = records(report, "near_misses")[:_MOST_NEAR]
    if not pairs and not near:
        return None
    lead: str = _lead(pairs, near)
    if any(_marks(each, side) for each in [*pairs, *near] for side in ("marks_a", "marks_b")):
        lead = join([lead, " What only one of the two has is ", tag("mark", "marked"), "."])
    body = [folds(pair_foldout(report, each, open=place < _OPEN_PAIRS) for place, each in enumerate(pairs))]
    if near:
        body.append(_near_misses(report, near))
    return Section("pairs", "Sample pairs", join(filter(None, body)), lead)


def _lead(pairs: Sequence[Fields], near: Sequence[Fields]) -> str:
    found = "Found pairs, from the least alike to the most" if pairs else ""
    missed = "pairs that just missed" if near else ""
    said = ", and below them some ".join(filter(None, (found, missed)))
    return f"{said[:1].upper()}{said[1:]}."


def _near_misses(report: Fields, near: Sequence[Fields]) -> Markup:
    """Pairs that were compared, and are none of the results."""
    side = "beyond the largest distance" if is_distance(report) else "below the threshold"
    at = number(report, "threshold")
    said = f"These were compared and are {side}{'' if at is None else f' of {at:g}'}: they are no results."
    label = tag("span", "not matched", class_="badge removed")
    folded = folds(pair_foldout(report, each, label=label) for each in near)
    return tag("div", tag("h3", "Not matched"), tag("p", said, class_="note"), folded, class_="near")


def folds(folded: Iterable[Markup]) -> Markup | None:
    """What unfolds, one below the other."""
    inside = list(folded)
    return tag("div", *inside, class_="folds") if inside else None


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
    class_ = "members pictures" if words(kept, "picture") else "members"
    return foldout(summary, tag("div", *shown, class_=class_), rest)


def _badge(report: Fields, member: Fields) -> str:
    near = told_of(report, member)
    return "not compared" if near == NONE else f"{told(report)} {near}"


def _style(report: Fields) -> str:
    """The class of what an item holds; digits stand below digits."""
    return "text digits" if words(report, "form") in ("vectors", "bits") else "text"


def _member(item: Fields, role: str, class_: str, style: str) -> Markup:
    head = tag("p", tag("span", role, class_=f"badge {class_}"), _where(item), class_="who")
    return tag("article", head, _content(item, _marks(item, "marks"), style, _CLUSTER_TEXT))


def pair_foldout(report: Fields, pair: Fields, *, open: bool = False, label: Markup | None = None) -> Markup:
    """Two items side by side, and how alike they are; with a `label` they are no match."""
    a, b = record(pair, "a"), record(pair, "b")
    sides = [(a, _marks(pair, "marks_a")), (b, _marks(pair, "marks_b"))]
    summary = join(
        [
            label,
            tag("b", told_of(report, pair) if label is None else missed_by(report, pair), class_="large"),
            tag("span", name(words(a, "id"), 60), " and ", name(words(b, "id"), 60), class_="soft"),
            tag("bdi", _snippet(words(a, "text")), class_="snippet"),
        ]
    )
    # Two texts may have nothing in common; of other items nobody may know.
    compared = any(marks for _, marks in sides) or of_text(report)
    shown = []
    for item, marks in sides:
        head = tag("p", _where(item), class_="who")
        body = _content(item, marks or ([[0, 0]] if compared else []), _style(report), _PAIR_TEXT)
        shown.append(tag("article", head, body))
    pictures = any(words(item, "picture") for item, _ in sides)
    both = tag("div", *shown, class_="halves pictures" if pictures else "halves")
    return foldout(summary, both, _without_marks(report, pair, both), open=open)


def _without_marks(report: Fields, pair: Fields, shown: Markup) -> Markup | None:
    """Why nothing is marked in two texts that are not the same."""
    if not of_text(report) or "<mark>" in shown or number(pair, told(report)) in (None, 1.0):
        return None
    is_cut = any(record(pair, side).get("cut") is True for side in "ab")
    said = "What is shown of both has the same words." if is_cut else "Both have the same words in the same order."
    return tag("p", said, class_="note")


def _content(item: Fields, marks: Sequence[object], style: str, most: int) -> Markup | None:
    """What an item is: a picture, or a text in which what is outside of `marks` is marked; without marks nothing is."""
    text, left_out = cut(words(item, "text"), most)
    seen = picture(item)
    if seen is not None or not text:
        return seen
    body = differing(text, marks) if marks else beginning(text)
    is_cut = left_out or item.get("cut") is True
    rest = tag("span", " … the rest is not shown", class_="cut") if is_cut else None
    return tag("div", join([body, rest]), class_=style, dir="auto")


def _marks(pair: Fields, key: str) -> Sequence[object]:
    found = pair.get(key)
    return found if isinstance(found, (list, tuple)) else []


def _where(item: Fields) -> Markup:
    """The id, and file and row where they are given."""
    file, row = words(item, "file"), count(item, "row")
    beside = tag("span", name(file), f" row {row:,}" if row is not None else None, class_="soft") if file else None
    return join([name(words(item, "id")), beside])


def _snippet(text: str) -> str:
    return " ".join(text[: 4 * _SNIPPET].split())[:_SNIPPET]
