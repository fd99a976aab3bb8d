"""The S-curve of a plan as text for a terminal, and as an SVG picture.

Text: a braille character is a cell of 2 x 4 dots (U+2800 plus one bit per dot), so 64 x 16 characters carry a
line of 128 x 64 dots. Dot column c of n stands for the similarity s = c/(n - 1), or for that share of the
largest distance, dot row d of m for the probability 1 - d/(m - 1). Neighbouring columns are joined by vertical
runs of dots, or the steep part would come out as scattered points.

    bit of the dot in a cell     left  right
                          row 0     1      8
                          row 1     2     16
                          row 2     4     32
                          row 3    64    128

Example: a line along the top of a cell is 1 + 8 = 9, the character U+2809.

SVG: one self-contained picture with a background of its own, so that it reads on white and on dark pages. The
two shaded areas are the two errors of `curve.py`: right of the threshold above the curve (false negatives)
and left of it below the curve (false positives). The curve of a distance falls, and its errors lie on the other
sides; their areas are shares of the whole plot, as those of a similarity are.
"""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from lookalike.theory.checks import whole
from lookalike.theory.curve import false_negatives, false_positives, missed_probability, panels

if TYPE_CHECKING:
    from rich.text import Text

    from lookalike.theory.planner import Plan

__all__ = ["bands_of_rows", "coloured_curve", "counted", "probability_text", "svg", "terminal_curve"]

BRAILLE = 0x2800
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
LEFT = 6  # columns before the plot: a label of four, a blank and the axis
RIGHT = 2  # columns after it: half of the last label

INK, SOFT, GRID, PAPER = "#1f2933", "#5b6770", "#e3e7ea", "#ffffff"
CURVE, NEGATIVE, POSITIVE = "#1a5fb4", "#d1495b", "#e9a23b"
# Of the legend: a swatch with the blank after it, and a letter of 13 pixels in a wide font.
_SWATCH, _LETTER = 21, 7.6
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


def probability_text(p: float) -> str:
    """Four digits, without ever rounding up to a certainty: 0.99996 is `above 0.9999`."""
    if p >= 1.0:
        return "1"
    return "above 0.9999" if p > 0.99995 else f"{p:.4f}"


def counted(count: int, noun: str) -> str:
    """`1 band`, `1,200 bands`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def bands_of_rows(bands: int, rows: int) -> str:
    """`16 bands of 6 rows`."""
    return f"{counted(bands, 'band')} of {counted(rows, 'row')}"


def terminal_curve(plan: "Plan", width: int = 72, height: int = 16) -> str:
    """The S-curve in `width` columns, the plot in `height` lines; plain text, five more lines around it."""
    width, height = whole("width", width, least=56), whole("height", height, least=8)
    columns = width - LEFT - RIGHT
    cells = _curve_cells(plan, columns, height)
    mark = _cell_of(plan.threshold / plan.top, columns)
    on_curve = _dot_row(plan.probability(plan.threshold), height) // 4
    lines = [_centred_on(_limit(plan), LEFT + mark, width)]
    ticks = {_dot_row(p, height) // 4: f"{p:.2f}" for p in (0.0, 0.25, 0.5, 0.75, 1.0)}
    for row in range(height):
        text = [chr(BRAILLE + cell) if cell else " " for cell in cells[row]]
        if row == on_curve:
            text[mark] = "●"
        elif text[mark] == " ":
            text[mark] = "┊"
        label = ticks.get(row)
        axis = f"{label} ┤" if label else "     │"
        lines.append((axis + "".join(text)).rstrip())
    lines.extend(_axis(plan, columns, mark))
    lines.append((" " * LEFT + _across(plan).center(columns)).rstrip())
    found = probability_text(plan.expected_recall)
    shape = plan.shape if plan.exhaustive else bands_of_rows(plan.bands, plan.rows)
    lines.append(f"{shape}: {found} found at {plan.threshold:g}")
    return "\n".join(lines)


def coloured_curve(plan: "Plan", width: int = 72, height: int = 16) -> "Text":
    """`terminal_curve` with the curve, the threshold and the axes in colours, for `rich`."""
    from rich.text import Text

    text = Text(terminal_curve(plan, width, height), no_wrap=True)
    text.highlight_regex("[\u2801-\u28ff]+", "cyan")
    text.highlight_regex("[●┊▼]|(threshold|max distance) [0-9.e+-]+", "yellow")
    text.highlight_regex("[│┤┼┬─└┴]+", "bright_black")
    return text


def svg(plan: "Plan", width: int = 760, height: int = 440) -> str:
    """The S-curve as a self-contained SVG picture of `width` x `height` pixels."""
    width, height = whole("width", width, least=480), whole("height", height, least=280)
    left, right, top, bottom = 68, width - 28, 92, height - 58

    def at(s: float, p: float) -> str:
        return f"{left + s / plan.top * (right - left):.2f},{bottom - p * (bottom - top):.2f}"

    below = np.linspace(0.0, plan.threshold, 301)
    above = np.linspace(plan.threshold, plan.top, 301)
    curve_below = [at(s, p) for s, p in zip(below, plan.probability(below), strict=True)]
    curve_above = [at(s, p) for s, p in zip(above, plan.probability(above), strict=True)]
    # What should be found lies above a similarity, and below a distance.
    wanted, others = (curve_below, curve_above) if plan.is_distance else (curve_above, curve_below)
    ends = ((0.0, plan.threshold), (plan.threshold, plan.top))
    (wanted_from, wanted_to), (others_from, others_to) = ends if plan.is_distance else ends[::-1]
    positive = [at(others_from, 0.0), *others, at(others_to, 0.0)]
    negative = [at(wanted_from, 1.0), *wanted, at(wanted_to, 1.0)]
    at_x, at_y = (float(part) for part in at(plan.threshold, plan.expected_recall).split(","))

    title = (
        f"{plan.shape}: expected recall {probability_text(plan.expected_recall)} at {plan.measure} {plan.threshold:g}"
    )
    # Letters of this weight are about 0.58 as wide as they are tall.
    size = min(17.0, (width - left - 12) / (0.58 * len(title)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="{FONT}" font-size="13" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
        f'<text x="{left}" y="34" font-size="{size:.4g}" font-weight="600">{escape(title)}</text>',
        *_legend(plan, left, right),
        *_grid(plan, left, right, top, bottom),
        _area("false-positives", positive, POSITIVE),
        _area("false-negatives", negative, NEGATIVE),
        f'<polyline id="curve" points="{" ".join(curve_below + curve_above[1:])}" fill="none" '
        f'stroke="{CURVE}" stroke-width="2.5" stroke-linejoin="round"/>',
        f'<line id="threshold" x1="{at_x}" y1="{top}" x2="{at_x}" y2="{bottom}" stroke="{INK}" '
        'stroke-width="1.2" stroke-dasharray="5 4"/>',
        f'<circle cx="{at_x}" cy="{at_y}" r="4.5" fill="{CURVE}" stroke="{PAPER}" stroke-width="1.5"/>',
        _threshold_label(plan, at_x, bottom),
        *_axis_titles(plan, left, right, top, bottom),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _curve_cells(plan: "Plan", columns: int, height: int) -> list[list[int]]:
    """Braille bits of the curve, `height` lines of `columns` cells."""
    dots = 2 * columns
    curve = plan.probability(plan.top * np.arange(dots) / (dots - 1))
    dot_rows = [_dot_row(float(p), height) for p in curve]
    cells = [[0] * columns for _ in range(height)]
    previous = dot_rows[0]
    for column, row in enumerate(dot_rows):
        # A run goes from this dot to just beside the one before: down where the curve rises, up where it falls.
        for dot in range(min(row, previous + 1), max(row + 1, previous)):
            cells[dot // 4][column // 2] |= DOTS[dot % 4][column % 2]
        previous = row
    return cells


def _dot_row(p: float, height: int) -> int:
    """The dot row of a probability, 0 at the top."""
    return round((1.0 - p) * (4 * height - 1))


def _cell_of(share: float, columns: int) -> int:
    """The column of characters at a share of the axis."""
    return round(share * (2 * columns - 1)) // 2


def _centred_on(label: str, column: int, width: int) -> str:
    """`label` and a pointer at `column`, the label on the side that has room."""
    if column > len(label) and column > width // 2:
        return f"{label} ▼".rjust(column + 1)
    return " " * column + f"▼ {label}"


def _limit(plan: "Plan") -> str:
    """The name of the line at the threshold."""
    return f"{'max distance' if plan.is_distance else 'threshold'} {plan.threshold:g}"


def _across(plan: "Plan") -> str:
    """What the horizontal axis has."""
    return f"{'distance' if plan.is_distance else 'similarity'} ({plan.measure})"


def _ticks(plan: "Plan", parts: int) -> list[tuple[float, str]]:
    """Where the horizontal axis has its numbers, as shares of it; for a distance, the threshold is among them."""
    if not plan.is_open:
        return [(i / parts, f"{i / parts:.1f}") for i in range(parts + 1)]
    values = [plan.top * i / parts for i in range(parts + 1)]
    return [(i / parts, f"{each:,.0f}" if 1e3 <= each < 1e9 else f"{each:.3g}") for i, each in enumerate(values)]


def _axis(plan: "Plan", columns: int, mark: int) -> list[str]:
    """The horizontal axis with its ticks, and its labels."""
    axis, labels = ["─"] * columns, [" "] * (columns + LEFT + RIGHT)
    axis[mark] = "┴"
    ticks = _ticks(plan, 6 if plan.is_open else 5)
    if plan.is_open and max(len(label) for _, label in ticks) + 2 > columns // 6:
        ticks = _ticks(plan, 3)
    for share, label in ticks:
        cell = _cell_of(share, columns)
        axis[cell] = "┼" if cell == mark else "┬"
        start = min(LEFT + cell - len(label) // 2, len(labels) - len(label))
        labels[start : start + len(label)] = label
    return ["     └" + "".join(axis), "".join(labels).rstrip()]


def _area(name: str, points: list[str], colour: str) -> str:
    return f'<polygon id="{name}" points="{" ".join(points)}" fill="{colour}" fill-opacity="0.55"/>'


def _grid(plan: "Plan", left: int, right: int, top: int, bottom: int) -> list[str]:
    """Grid lines with their numbers: similarity in tenths, a distance in sixths, probability in fifths."""
    parts = []
    for share, label in _ticks(plan, 6 if plan.is_open else 10):
        x = left + share * (right - left)
        parts.append(f'<line x1="{x:.2f}" y1="{top}" x2="{x:.2f}" y2="{bottom}" stroke="{GRID}"/>')
        parts.append(f'<text x="{x:.2f}" y="{bottom + 18}" text-anchor="middle" fill="{SOFT}">{label}</text>')
    for i in range(6):
        y = bottom - i / 5 * (bottom - top)
        parts.append(f'<line x1="{left}" y1="{y:.2f}" x2="{right}" y2="{y:.2f}" stroke="{GRID}"/>')
        parts.append(f'<text x="{left - 9}" y="{y + 4.5:.2f}" text-anchor="end" fill="{SOFT}">{i / 5:.1f}</text>')
    return parts


def _legend(plan: "Plan", left: int, right: int) -> list[str]:
    """Two swatches under the title, each with the size of its area; one below the other where the room is short."""
    if plan.exhaustive:
        texts = "false negatives: none", "compared in vain: all others"
    else:
        missed, passed = _errors(plan)
        texts = f"false negatives, area {_area_text(missed)}", f"false positives, area {_area_text(passed)}"
    widths = [_SWATCH + _LETTER * len(text) for text in texts]
    beside = left + widths[0] + _SWATCH
    second = (beside, 53) if beside + widths[1] <= right else (left, 71)
    parts = []
    for (x, y), colour, text in zip(((left, 53), second), (NEGATIVE, POSITIVE), texts, strict=True):
        parts.append(f'<rect x="{x:g}" y="{y}" width="14" height="14" rx="2" fill="{colour}" fill-opacity="0.7"/>')
        parts.append(f'<text x="{x + _SWATCH:g}" y="{y + 11.5}">{text}</text>')
    return parts


def _errors(plan: "Plan") -> tuple[float, float]:
    """The two areas as shares of the plot: false negatives and false positives."""
    options = plan.threshold, plan.bands, plan.rows
    if not plan.is_distance:
        return false_negatives(*options, plan.measure), false_positives(*options, plan.measure)
    near, near_weight = panels(0.0, plan.threshold)
    far, far_weight = panels(plan.threshold, plan.top)
    missed = np.sum(near_weight * missed_probability(near, plan.bands, plan.rows, plan.family))
    passed = np.sum(far_weight * plan.probability(far))
    return float(missed) / plan.top, float(passed) / plan.top


def _area_text(size: float) -> str:
    return "below 0.0001" if 0.0 < size < 0.0001 else f"{size:.4f}"


def _threshold_label(plan: "Plan", x: float, bottom: int) -> str:
    """The name of the dashed line, at its foot: on its right, where nothing is drawn, while there is room."""
    shift, anchor = (7, "start") if plan.threshold <= 0.8 * plan.top else (-7, "end")
    place = f'x="{x + shift:.2f}" y="{bottom - 10}" text-anchor="{anchor}"'
    return f"<text {place}>{_limit(plan)}</text>"


def _axis_titles(plan: "Plan", left: int, right: int, top: int, bottom: int) -> list[str]:
    middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
    return [
        f'<text x="{middle_x}" y="{bottom + 42}" text-anchor="middle">{escape(_across(plan))}</text>',
        f'<text transform="translate(22 {middle_y}) rotate(-90)" text-anchor="middle">'
        "probability of becoming a candidate</text>",
    ]
