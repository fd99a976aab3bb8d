"""How the run's clusters and pairs spread: sizes, similarities, and the S-curve with what was measured on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lookalike.page.certificate import band_chart
from lookalike.page.charts import Axis, bar, columns, counts_axis, dot, frame, path_line, percent, vertical
from lookalike.page.fields import Fields, count, number, records, words
from lookalike.page.headline import unit
from lookalike.page.layout import Section, figure, numbers_foldout, table
from lookalike.page.markup import Markup, join, tag
from lookalike.page.numbers import of_all, probability, ratio, whole
from lookalike.theory.curve import candidate_probability
from lookalike.theory.draw import bands_of_rows
from lookalike.theory.families import FAMILIES, Array

__all__ = ["curve", "spread"]

_HEIGHT = 220
_POINTS = 161
_CHANCE = "chance of becoming a candidate"
# The lower end of the enlarged part of the curve: the last of these that leaves room for every error bar.
_LOWER_ENDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)


def spread(report: Fields) -> Section | None:
    """The sizes of the clusters, and the similarities of the pairs."""
    cards = [_sizes(report), _similarities(report)]
    if not any(cards):
        return None
    return Section("spread", "Clusters and pairs", tag("div", *cards, class_="stack"))


def curve(report: Fields) -> Section | None:
    """The S-curve of the plan with the measured points, and the hits of each band."""
    cards = [_curves(report), band_chart(report)]
    if not any(cards):
        return None
    lead = (
        "Items that agree in a whole band of their sketches become candidates, and the more alike two items are, the "
        "likelier that is."
    )
    if records(report, "curve"):
        lead += " Where the measured points leave the curve, the run did not do what it planned."
    return Section("curve", "Plan and measurement", tag("div", *cards, class_="stack"), lead)


def _sizes(report: Fields) -> Markup | None:
    """A histogram on its side: a row for each class of sizes."""
    rows = [row for row in records(report, "cluster_sizes") if count(row, "clusters")]
    if not rows:
        return None
    noun = unit(report)
    most = max(max(count(row, "clusters") or 0, count(row, "items") or 0) for row in rows)
    clusters, items = (sum(count(row, key) or 0 for row in rows) for key in ("clusters", "items"))
    body = []
    for row in rows:
        inside, all_items = count(row, "clusters") or 0, count(row, "items")
        bars = join([bar([(inside / most, "curve")]), bar([((all_items or 0) / most, "quiet")])])
        body.append([_size(row), bars, whole(inside), whole(all_items), of_all(all_items, items)])
    heads = ["size", "", "clusters", f"{noun}s", "share"]
    swatches = [
        tag("span", tag("span", class_="swatch curve"), "clusters"),
        tag("span", tag("span", class_="swatch quiet"), f"{noun}s in them"),
    ]
    note = tag("p", f"{whole(clusters)} clusters of at least two hold {whole(items)} {noun}s.", class_="note")
    legend = tag("p", *swatches, class_="legend")
    return tag(
        "div",
        tag("h3", "Cluster sizes"),
        legend,
        table("Cluster sizes", heads, body, class_="narrow"),
        note,
        class_="card",
    )


def _size(row: Fields) -> str:
    low, high = count(row, "from"), count(row, "to")
    return whole(low) if high is None or low == high else f"{whole(low)}–{whole(high)}"


def _similarities(report: Fields) -> Markup | None:
    """A histogram of the found pairs."""
    boxes = [
        (low, high, float(count(row, "pairs") or 0))
        for row in records(report, "similarities")
        if (low := number(row, "from")) is not None and (high := number(row, "to")) is not None
    ]
    if not any(pairs for _, _, pairs in boxes):
        return None
    x = Axis(min(low for low, _, _ in boxes), max(max(high for _, high, _ in boxes), 1e-9))
    y = counts_axis([pairs for _, _, pairs in boxes])
    titled = [(low, high, pairs, f"{_range(low, high)}: {pairs:,.0f} pairs") for low, high, pairs in boxes]
    drawn = columns(x, y, _HEIGHT, titled, ["curve"] * len(titled))
    total = sum(pairs for _, _, pairs in boxes)
    chart = frame(f"Similarities of {total:,.0f} pairs", _HEIGHT, drawn, x, y, across=x.ticks(5))
    scale = " The upright axis is logarithmic." if y.log else ""
    threshold = number(report, "threshold")
    begins = "" if threshold is None else f", from the threshold of {threshold:g} on"
    caption = f"{total:,.0f} pairs were found{begins}.{scale}"
    rows = [[_range(low, high), whole(pairs), of_all(pairs, total)] for low, high, pairs in boxes]
    numbers = numbers_foldout("Similarities of the pairs", ["similarity", "pairs", "share"], rows)
    drawn_with_axes = figure("Similarities", chart, caption, upright="pairs", across=_across(report))
    return tag("div", drawn_with_axes, numbers, class_="card")


def _across(report: Fields) -> str:
    """The name of an axis of similarities."""
    measure = words(report, "measure")
    return f"{measure.capitalize()} similarity" if measure in FAMILIES else "similarity"


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _curves(report: Fields) -> Markup | None:
    """The whole curve, and the part from the threshold on enlarged, where the pairs are."""
    bands, rows = count(report, "bands"), count(report, "rows_per_band")
    threshold, measure = number(report, "threshold"), words(report, "measure")
    if not bands or not rows or measure not in FAMILIES or threshold is None or not 0.0 < threshold <= 1.0:
        return None

    def found(s: Array) -> Array:
        return candidate_probability(s, bands, rows, measure)

    recall = candidate_probability(threshold, bands, rows, measure)

    points = [row for row in records(report, "curve") if 0.0 <= (number(row, "similarity") or 0.0) <= 1.0]
    whole_curve = _plot(found, points, threshold, Axis(0.0, 1.0), Axis(0.0, 1.0), shaded=True)
    plan = bands_of_rows(bands, rows)
    at = probability(recall)
    caption = join(
        [
            f"{plan}: a pair at the threshold becomes a candidate with probability {at}. ",
            tag("span", tag("span", class_="swatch missed"), "missed", class_="key"),
            " ",
            tag("span", tag("span", class_="swatch spent"), "compared in vain", class_="key"),
        ]
    )
    charts = [figure("The S-curve", whole_curve, caption, upright=_CHANCE, across=_across(report))]
    if points and threshold < 1.0:
        ends = [number(row, key) for row in points for key in ("low", "measured")]
        least = min([recall, *(end for end in ends if end is not None)])
        lower = max(end for end in _LOWER_ENDS if end <= max(0.0, least - 0.1 * (1.0 - least)))
        part = _plot(found, points, threshold, Axis(threshold, 1.0), Axis(lower, 1.0), shaded=False)
        said = "What was measured, with 95% intervals, on the curve of the plan."
        charts.append(figure("From the threshold on, enlarged", part, said, upright=_CHANCE, across=_across(report)))
    numbers = _figures_of_points(points, found) if points else None
    return tag("div", tag("div", *charts, class_="halves"), numbers, class_="card")


def _figures_of_points(points: list[Fields], found: Callable[[Array], Array]) -> Markup:
    heads = ["similarity", "pairs", "measured", "low", "high", "plan"]
    body = []
    places = np.array([number(row, "similarity") or 0.0 for row in points])
    for row, s, planned in zip(points, places, found(places), strict=True):
        measured = [probability(number(row, key)) for key in ("measured", "low", "high")]
        body.append([ratio(s), whole(count(row, "pairs")), *measured, probability(planned)])
    return numbers_foldout("Measured points on the S-curve", heads, body)


def _plot(
    found: Callable[[Array], Array], points: list[Fields], threshold: float, x: Axis, y: Axis, *, shaded: bool
) -> Markup:
    """The curve between the ends of the axes, the threshold, and the measured points with their error bars."""

    def line(low: float, high: float) -> list[tuple[float, float]]:
        similarities = np.linspace(low, high, _POINTS)
        return [(x.at(s), y.at(p)) for s, p in zip(similarities, found(similarities), strict=True)]

    inside: list[str] = []
    if shaded:
        below, above = line(0.0, threshold), line(threshold, 1.0)
        inside.append(path_line([*below, (x.at(threshold), 0.0)], "spent", closed=True))
        inside.append(path_line([*above, (x.at(threshold), 1.0)], "missed", closed=True))
        at = percent(x.at(threshold))
        inside.append(tag("line", x1=at, x2=at, y1="0", y2=_HEIGHT, class_="threshold"))
        side = {"dx": "-8", "class_": "note left"} if threshold > 0.3 else {"dx": "8", "class_": "note"}
        inside.append(tag("text", f"threshold {threshold:g}", x=at, y=_HEIGHT - 12, **side))
    inside.append(path_line(line(x.low, x.high), "curve"))
    inside += filter(None, (_point(row, x, y, small=shaded) for row in points))
    label = f"The chance of becoming a candidate, for similarities from {x.low:g} to {x.high:g}; "
    label += f"{len(points)} measured points" if points else "nothing measured"
    return frame(label, _HEIGHT, inside, x, y, across=x.ticks(5))


def _point(row: Fields, x: Axis, y: Axis, *, small: bool) -> Markup | None:
    s, measured = number(row, "similarity"), number(row, "measured")
    if s is None or measured is None or not x.low <= s <= x.high:
        return None
    low, high = number(row, "low"), number(row, "high")
    spots = [vertical(y, measured if each is None else each, _HEIGHT) for each in (measured, low, high)]
    span = "" if low is None or high is None else f" ({probability(low)} to {probability(high)})"
    title = f"similarity {ratio(s)}: {probability(measured)}{span} of {whole(count(row, 'pairs'))} pairs"
    return dot(x.at(s), spots[0], spots[1], spots[2], title, small=small)
