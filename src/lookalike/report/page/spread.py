"""How the run's clusters and pairs spread: sizes, similarities or distances, and the S-curve with what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookalike.report.page.certificate_section import band_chart
from lookalike.report.page.charts import Axis, bar, columns, counts_axis, dot, frame, path_line, percent, vertical
from lookalike.report.page.fields import Fields, count, number, records, words
from lookalike.report.page.headline import unit
from lookalike.report.page.layout import Section, figure, numbers_foldout, table
from lookalike.report.page.markup import Markup, join, tag
from lookalike.report.page.measure import amount, axis_title, is_boundless, is_distance, plan_words, told
from lookalike.report.page.numbers import of_all, probability, whole
from lookalike.theory.curve import candidate_probability
from lookalike.theory.families import FAMILIES, Array, family_of, is_stable
from lookalike.wording.phrases import counted

__all__ = ["curve", "spread"]

_HEIGHT = 220
_POINTS = 161
_CHANCE = "chance of becoming a candidate"
# The lower end of the enlarged part of the curve: the last of these that leaves room for every error bar.
_LOWER_ENDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)


def spread(report: Fields) -> Section | None:
    """The sizes of the clusters, and how alike the pairs are."""
    cards = [_sizes(report), _nearness(report)]
    if not any(cards):
        return None
    return Section("spread", "Clusters and pairs", tag("div", *cards, class_="stack"))


def curve(report: Fields) -> Section | None:
    """The S-curve of the plan with the measured points, and the hits of each band."""
    cards = [_curves(report), band_chart(report)]
    if not any(cards):
        return None
    lead = (
        "Two items become a candidate if their sketches agree in a whole band. The more similar they are, the likelier "
        "that is."
    )
    if records(report, "curve"):
        lead += " If measured points lie off the curve, the run did not follow its plan."
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
    note = tag("p", f"{counted(clusters, 'cluster')} of two or more hold {counted(items, noun)}.", class_="note")
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


def _nearness(report: Fields) -> Markup | None:
    """A histogram of the found pairs by similarity, or by distance: what is nearest stands at its end of the axis."""
    far = is_distance(report)
    boxes = [
        (low, high, float(count(row, "pairs") or 0))
        for row in records(report, "distances" if far else "similarities")
        if (low := number(row, "from")) is not None and (high := number(row, "to")) is not None
    ]
    # Where nothing was compared, only identical items have a similarity, and it says nothing of the others.
    if not any(pairs for _, _, pairs in boxes) or words(report, "verify") == "none":
        return None
    ends = [end for low, high, _ in boxes for end in (low, high)]
    x = Axis(min(ends), max(*ends, 1e-9))
    if far:
        x = Axis(0.0, max(x.high, number(report, "threshold") or 0.0))
    y = counts_axis([pairs for _, _, pairs in boxes])
    titled = [(low, high, pairs, f"{_range(low, high)}: {counted(round(pairs), 'pair')}") for low, high, pairs in boxes]
    drawn = columns(x, y, _HEIGHT, titled, ["curve"] * len(titled))
    total, plural = sum(pairs for _, _, pairs in boxes), "Distances" if far else "Similarities"
    chart = frame(f"{plural} of {counted(round(total), 'pair')}", _HEIGHT, drawn, x, y, across=x.ticks(5))
    caption = f"{counted(round(total), 'pair')} found{_reach(report)}."
    for low, _, pairs in (each for each in boxes if each[0] == each[1] and each[2]):
        beyond = " and beyond" if is_boundless(report) else ""
        caption += f" The narrow column shows the {counted(round(pairs), 'pair')} at {low:g}{beyond}."
    if y.log:
        caption += " The vertical axis is logarithmic."
    rows = [[_range(low, high), whole(pairs), of_all(pairs, total)] for low, high, pairs in boxes]
    numbers = numbers_foldout(f"{plural} of the pairs", [told(report), "pairs", "share"], rows)
    drawn_with_axes = figure(plural, chart, caption, upright="pairs", across=axis_title(report))
    return tag("div", drawn_with_axes, numbers, class_="card")


def _reach(report: Fields) -> str:
    """Between which values pairs count."""
    threshold = number(report, "threshold")
    if threshold is None:
        return ""
    if is_distance(report):
        return f", up to the maximum distance {threshold:g}"
    return f", at or above the threshold {threshold:g}"


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


@dataclass(frozen=True, slots=True)
class _Curve:
    """What the plan says of every similarity or distance, and what was measured."""

    found: Callable[[Array], Array]
    points: list[Fields]
    threshold: float
    # Whether smaller is nearer, so that the curve falls.
    far: bool
    report: Fields

    @classmethod
    def of(cls, report: Fields) -> _Curve | None:
        """The curve of a plan with bands."""
        bands, rows, width = count(report, "bands"), count(report, "rows_per_band"), number(report, "width")
        threshold, measure, far = number(report, "threshold"), words(report, "measure"), is_distance(report)
        if not bands or not rows or threshold is None or threshold <= 0.0:
            return None
        # A similarity may be told as what it leaves of so much.
        most = number(report, "whole")
        if far and most is None:
            if not is_stable(measure) or width is None or width <= 0.0:
                return None
            family = family_of(measure, width)
        elif measure in FAMILIES and threshold <= (most or 1.0):
            family = FAMILIES[measure]
        else:
            return None
        places = [(row, number(row, told(report))) for row in records(report, "curve")]
        points = [row for row, at in places if 0.0 <= (at or 0.0) <= (threshold if far else 1.0)]

        def found(s: Array) -> Array:
            return candidate_probability(1.0 - np.minimum(s / most, 1.0) if most else s, bands, rows, family)

        return cls(found, points, threshold, far, report)

    @property
    def recall(self) -> float:
        """The chance at the threshold."""
        return float(self.found(np.array([self.threshold]))[0])

    @property
    def wanted(self) -> Axis:
        """The part of the axis that counts."""
        return Axis(0.0, self.threshold) if self.far else Axis(self.threshold, 1.0)

    @property
    def whole(self) -> Axis:
        return Axis(0.0, 3.0 * self.threshold if self.far else 1.0)


def _curves(report: Fields) -> Markup | None:
    """The whole curve, and the part that counts enlarged, where the pairs are."""
    curve = _Curve.of(report)
    if curve is None:
        return None
    recall, across = curve.recall, axis_title(report)
    pair = "at the maximum distance" if curve.far else "at the threshold"
    caption = join(
        [
            f"{plan_words(report)}: a pair {pair} becomes a candidate with probability {probability(recall)}. ",
            tag("span", tag("span", class_="swatch missed"), "missed", class_="key"),
            " ",
            tag("span", tag("span", class_="swatch spent"), "false candidates", class_="key"),
        ]
    )
    whole_curve = _plot(curve, curve.whole, Axis(0.0, 1.0), shaded=True)
    charts = [figure("The S-curve", whole_curve, caption, upright=_CHANCE, across=across)]
    if curve.points and (curve.far or curve.threshold < 1.0):
        ends = [number(row, key) for row in curve.points for key in ("low", "measured")]
        least = min([recall, *(end for end in ends if end is not None)])
        lower = max(end for end in _LOWER_ENDS if end <= max(0.0, least - 0.1 * (1.0 - least)))
        part = _plot(curve, curve.wanted, Axis(lower, 1.0), shaded=False)
        said = "Measured values with 95% intervals, and the curve of the plan."
        title = "Up to the maximum distance, enlarged" if curve.far else "Above the threshold, enlarged"
        charts.append(figure(title, part, said, upright=_CHANCE, across=across))
    numbers = _figures_of_points(curve) if curve.points else None
    return tag("div", tag("div", *charts, class_="halves"), numbers, class_="card")


def _figures_of_points(curve: _Curve) -> Markup:
    kind = told(curve.report)
    heads = [kind, "pairs", "measured", "low", "high", "plan"]
    body = []
    places = np.array([number(row, kind) or 0.0 for row in curve.points])
    for row, s, planned in zip(curve.points, places, curve.found(places), strict=True):
        interval = [probability(number(row, key)) for key in ("measured", "low", "high")]
        body.append([amount(curve.report, s), whole(count(row, "pairs")), *interval, probability(planned)])
    return numbers_foldout("Measured points on the S-curve", heads, body)


def _plot(curve: _Curve, x: Axis, y: Axis, *, shaded: bool) -> Markup:
    """The curve between the ends of the axes, the threshold, and the measured points with their error bars."""

    def line(part: Axis) -> list[tuple[float, float]]:
        places = np.linspace(part.low, part.high, _POINTS)
        return [(x.at(s), y.at(p)) for s, p in zip(places, curve.found(places), strict=True)]

    inside: list[str] = []
    if shaded:
        wanted = curve.wanted
        others = Axis(wanted.high, x.high) if curve.far else Axis(0.0, wanted.low)
        inside.append(_area(line(others), 0.0, "spent"))
        inside.append(_area(line(wanted), 1.0, "missed"))
        place = x.at(curve.threshold)
        at = percent(place)
        inside.append(tag("line", x1=at, x2=at, y1="0", y2=_HEIGHT, class_="threshold"))
        # Beside the line, on the side that has room.
        side = {"dx": "-8", "class_": "note left"} if place > 0.4 else {"dx": "8", "class_": "note"}
        label = f"{'max distance' if curve.far else 'threshold'} {curve.threshold:g}"
        inside.append(tag("text", label, x=at, y=_HEIGHT - 12, **side))
    inside.append(path_line(line(x), "curve"))
    inside += filter(None, (_point(curve.report, row, x, y, small=shaded) for row in curve.points))
    kind = "distances" if curve.far else "similarities"
    label = f"The chance of becoming a candidate, for {kind} from {x.low:g} to {x.high:g}; "
    label += f"{len(curve.points)} measured points" if curve.points else "nothing measured"
    return frame(label, _HEIGHT, inside, x, y, across=x.ticks(5))


def _area(line: list[tuple[float, float]], base: float, class_: str) -> Markup:
    """What lies between a line and the lower or upper end of the plot."""
    return path_line([(line[0][0], base), *line, (line[-1][0], base)], class_, closed=True)


def _point(report: Fields, row: Fields, x: Axis, y: Axis, *, small: bool) -> Markup | None:
    s, chance = number(row, told(report)), number(row, "measured")
    if s is None or chance is None or not x.low <= s <= x.high:
        return None
    low, high = number(row, "low"), number(row, "high")
    spots = [vertical(y, chance if each is None else each, _HEIGHT) for each in (chance, low, high)]
    span = "" if low is None or high is None else f" ({probability(low)} to {probability(high)})"
    title = f"{told(report)} {amount(report, s)}: {probability(chance)}{span} of {whole(count(row, 'pairs'))} pairs"
    return dot(x.at(s), spots[0], spots[1], spots[2], title, small=small)
