"""Charts as inline SVG that grow and shrink with the page while their letters keep their size.

A picture with a view box shrinks its letters with it, and on a phone nobody reads them. So positions across are shares
of the width (`x="37%"`), positions down are pixels, and labels stand outside the plot, in the padding of the figure.
Only a line of many points needs a view box; it gets one of its own, stretched, with a stroke that does not scale.

Colours are classes of the style sheet. Each chart has a label that says what it shows; the figures themselves stand in
a table beside or below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lookalike.report.page.markup import Markup, tag
from lookalike.report.page.numbers import short

__all__ = [
    "Axis",
    "bar",
    "columns",
    "counts_axis",
    "dot",
    "frame",
    "path_line",
    "percent",
    "pixels",
    "share_bar",
    "steps",
    "vertical",
]

_UNIT = 1000.0  # the view box of a line
_LEAST = 0.004  # the least width of a bar or a column


@dataclass(frozen=True, slots=True)
class Axis:
    """The range from `low` to `high`, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of the value: 0 at `low`, 1 at `high`, clipped."""
        if self.log:
            value, low, high = (math.log(max(each, 1e-300)) for each in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0

    def ticks(self, about: int) -> list[float]:
        """Round values, about as many as asked for."""
        if self.log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high) + 1e-9) + 1)
            every = max(1, math.ceil(len(powers) / about))
            return [10.0**power for power in powers if power % every == 0]
        step = steps(self.high - self.low, about)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 10) for number in range(first, last + 1)]


def steps(width: float, about: int) -> float:
    """1, 2 or 5 times a power of ten, so that `about` of them fill the width at most."""
    least = width / about if width > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least * (1 - 1e-9))


def counts_axis(counts: Sequence[float]) -> Axis:
    """From nothing to a little above the largest; logarithmic where a few columns would dwarf all others."""
    positive = sorted(each for each in counts if each > 0)
    if not positive:
        return Axis(0.0, 1.0)
    if positive[-1] > 50 * positive[len(positive) // 2]:
        return Axis(0.5, positive[-1] * 1.3, log=True)
    return Axis(0.0, positive[-1] * 1.04)


def frame(label: str, height: int, inside: Sequence[str], x: Axis, y: Axis, *, across: Sequence[float]) -> Markup:
    """A plot with horizontal grid lines and its labels: `across` names the ticks below, those beside are round."""
    parts: list[str] = []
    for value in y.ticks(4):
        at = vertical(y, value, height)
        parts.append(tag("line", x1="0", x2="100%", y1=at, y2=at, class_="grid"))
        parts.append(tag("text", _label(value, y), x="-10", y=at, dy=".32em", class_="left"))
    parts.extend(inside)
    parts.append(tag("line", x1="0", x2="100%", y1=height, y2=height, class_="axis"))
    parts.extend(tag("text", f"{value:g}", x=percent(x.at(value)), y=height + 20, class_="below") for value in across)
    return tag("svg", *parts, class_="plot", role="img", aria_label=label, width="100%", height=height)


def columns(
    x: Axis, y: Axis, height: int, boxes: Sequence[tuple[float, float, float, str]], classes: Sequence[str]
) -> list[Markup]:
    """Columns from a base of 0 (the lower end of a logarithmic axis): from, to, value, and what to say about it."""
    parts = []
    base = height * (1.0 - y.at(0.0))
    for (low, high, value, title), class_ in zip(boxes, classes, strict=True):
        width = max(x.at(high) - x.at(low), _LEAST)
        left = min(x.at(low), 1.0 - width)
        end = height * (1.0 - y.at(value))
        # What is not nothing is seen.
        tall = max(abs(base - end), 1.5 if value else 0.0)
        rect = {"x": percent(left), "width": percent(width), "y": pixels(min(end, base)), "height": pixels(tall)}
        parts.append(tag("rect", tag("title", title), class_=f"column {class_}", **rect))
    return parts


def path_line(points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    """A line, or an area, through points given as shares of width and height (0, 0 is the lower left corner)."""
    spots = " ".join(f"{_UNIT * x:.0f},{_UNIT * (1 - y):.1f}" for x, y in points)
    shape = tag("polygon" if closed else "polyline", points=spots, class_=class_, vector_effect="non-scaling-stroke")
    box = f"0 0 {_UNIT:.0f} {_UNIT:.0f}"
    return tag("svg", shape, viewBox=box, preserveAspectRatio="none", width="100%", height="100%", class_="stretch")


def dot(x: float, y: str, low: str, high: str, title: str, *, small: bool) -> Markup:
    """A measured point with its error bar; x is a share of the width, the others are pixels."""
    at = percent(x)
    whisker = tag("line", x1=at, x2=at, y1=low, y2=high)
    return tag(
        "g", whisker, tag("circle", cx=at, cy=y, r="2" if small else "3.5"), tag("title", title), class_="measured"
    )


def bar(parts: Sequence[tuple[float, str]], *, tall: bool = False, track: bool = False) -> Markup:
    """One bar of several parts, each a share of the width and a class; what they mean stands beside it in words.

    A `track` behind it shows the whole, for bars that are shares of it.
    """
    # What is not nothing is seen; where that makes the parts longer than the bar, all give way a little.
    shown = [(max(width, _LEAST), class_) for width, class_ in parts if width > 0]
    scale = 1.0 / max(1.0, sum(width for width, _ in shown))
    boxes, left = [], 0.0
    for width, class_ in shown:
        boxes.append(tag("rect", x=percent(left), width=percent(width * scale), height="100%", class_=class_))
        left += width * scale
    kind = "bar tall" if tall else "bar track" if track else "bar"
    return tag("svg", *boxes, class_=kind, aria_hidden="true")


def share_bar(part: float | None, total: float | None, class_: str) -> Markup:
    """A bar as long as the share of the part in the total; empty where it is not known."""
    share = part / total if part is not None and total else 0.0
    return bar([(min(1.0, max(0.0, share)), class_)])


def percent(share: float) -> str:
    """A share as a length of SVG."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def pixels(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")


def vertical(y: Axis, value: float, height: int) -> str:
    """The distance of a value from the top of a plot."""
    return pixels(height * (1.0 - y.at(value)))


def _label(value: float, axis: Axis) -> str:
    return short(value) if axis.log or axis.high > 1.5 else f"{value:g}"
