"""The pictures: the line passes where the curve does, and the shaded areas have the size of the errors."""

import itertools
import re
from xml.etree import ElementTree

import pytest

from lookalike.errors import OptionError
from lookalike.theory import (
    Plan,
    coloured_curve,
    false_negatives,
    false_positives,
    plan,
    svg,
    terminal_curve,
)
from lookalike.theory.draw import bands_of_rows, counted, probability_text

SVG = "{http://www.w3.org/2000/svg}"
PLANS = [
    plan(),
    plan(0.55, bands=20, rows=5),
    plan(1.0),
    plan(0.05, 0.5),
    plan(0.9, measure="cosine"),
    plan(0.37, bands=1, rows=1),
]
IDS = [repr(each) for each in PLANS]
DISTANCES = [
    plan(3.0, measure="euclidean"),
    plan(0.00123, measure="manhattan"),
    plan(123_456.0, measure="euclidean", bands=20, rows=4),
    plan(0.5, measure="lr:1.5", bands=10, rows=3),
]
ALL_PAIRS = [
    plan(1.5, measure="lr:3", exhaustive=True),
    plan(0.9, measure="cosine", items=1000, set_size=64, exhaustive=True),
]


def drawn(character: str) -> bool:
    return character == "●" or 0x2800 < ord(character) <= 0x28FF


@pytest.mark.parametrize("chosen", PLANS, ids=IDS)
@pytest.mark.parametrize(("width", "height"), [(72, 16), (80, 24), (56, 8)])
def test_the_curve_passes_through_the_cells_of_its_values(chosen: Plan, width: int, height: int) -> None:
    # The plot starts after six columns and one line; its dots are 2 x 4 to a cell, the first and the last
    # standing for 0 and 1.
    lines = [line.ljust(width) for line in terminal_curve(chosen, width, height).splitlines()]
    dots_across, dots_down = 2 * (width - 8), 4 * height
    for dot in range(0, dots_across, 5):
        p = chosen.probability(dot / (dots_across - 1))
        row = round((1 - p) * (dots_down - 1)) // 4
        assert drawn(lines[1 + row][6 + dot // 2])


@pytest.mark.parametrize("chosen", PLANS, ids=IDS)
def test_the_line_has_no_gaps(chosen: Plan) -> None:
    lines = [line.ljust(72)[6:70] for line in terminal_curve(chosen).splitlines()[1:17]]
    columns = [[row for row in range(16) if drawn(lines[row][column])] for column in range(64)]
    for rows in columns:
        assert rows == list(range(rows[0], rows[-1] + 1))
    for before, after in itertools.pairwise(columns):
        assert after[-1] >= before[0] - 1


@pytest.mark.parametrize("chosen", PLANS, ids=IDS)
@pytest.mark.parametrize("width", [56, 72, 80])
def test_a_terminal_curve_is_plain_text_within_its_width(chosen: Plan, width: int) -> None:
    text = terminal_curve(chosen, width=width, height=10)
    lines = text.splitlines()
    assert len(lines) == 10 + 5
    assert all(len(line) <= width and line == line.rstrip() for line in lines)
    assert "\x1b" not in text
    for label in ("1.00 ┤", "0.00 ┤", "0.0 ", "1.0", f"similarity ({chosen.measure})"):
        assert label in text


@pytest.mark.parametrize("chosen", PLANS, ids=IDS)
def test_the_threshold_is_marked_from_its_label_to_the_axis(chosen: Plan) -> None:
    lines = terminal_curve(chosen).splitlines()
    column = 6 + round(chosen.threshold * 127) // 2
    assert lines[0][column] == "▼"
    assert f"threshold {chosen.threshold:g}" in lines[0]
    marks = [line.ljust(72)[column] for line in lines[1:17]]
    assert marks.count("●") == 1
    assert all(mark == "┊" or drawn(mark) for mark in marks)
    assert lines[17][column] in "┴┼"


def test_the_default_curve_looks_like_an_s() -> None:
    lines = terminal_curve(plan()).splitlines()
    assert lines[16].startswith("0.00 ┤⣀⣀⣀⣀⣀⣀⣀⣀")
    assert lines[1].endswith("●⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉")
    assert lines[-1] == "16 bands of 6 rows: 0.9923 found at 0.8"


def test_a_picture_too_small_to_read_is_refused() -> None:
    with pytest.raises(OptionError, match="width=20: a whole number of at least 56"):
        terminal_curve(plan(), width=20)
    with pytest.raises(OptionError, match="height=100: a whole number of at least 280"):
        svg(plan(), height=100)


def test_the_coloured_curve_has_the_same_characters() -> None:
    text = coloured_curve(plan())
    assert text.plain == terminal_curve(plan())
    assert {str(span.style) for span in text.spans} == {"cyan", "yellow", "bright_black"}


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = [pair.split(",") for pair in element.attrib["points"].split()]
    return [(float(x), float(y)) for x, y in pairs]


def by_id(root: ElementTree.Element, name: str) -> ElementTree.Element:
    (found,) = [element for element in root.iter() if element.get("id") == name]
    return found


def polygon_area(corners: list[tuple[float, float]]) -> float:
    """Shoelace formula."""
    following = corners[1:] + corners[:1]
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(corners, following, strict=True))) / 2


@pytest.mark.parametrize("chosen", PLANS, ids=IDS)
def test_the_shaded_areas_have_the_size_of_the_two_errors(chosen: Plan) -> None:
    root = ElementTree.fromstring(svg(chosen))
    line = points(by_id(root, "curve"))
    left, right, top = line[0][0], line[-1][0], line[-1][1]
    bottom = float(by_id(root, "threshold").attrib["y2"])
    unit = (right - left) * (bottom - top)
    # 300 trapezoids err by at most h²/12 times the change of the slope, here below 2e-4; points are
    # rounded to 0.005 pixels, which is below 1e-4 of the height.
    negative = polygon_area(points(by_id(root, "false-negatives"))) / unit
    positive = polygon_area(points(by_id(root, "false-positives"))) / unit
    options = (chosen.threshold, chosen.bands, chosen.rows, chosen.measure)
    assert negative == pytest.approx(false_negatives(*options), abs=3e-4)
    assert positive == pytest.approx(false_positives(*options), abs=3e-4)
    fills = {by_id(root, f"false-{kind}").attrib["fill"] for kind in ("negatives", "positives")}
    assert len(fills) == 2


@pytest.mark.parametrize("chosen", PLANS, ids=IDS)
def test_the_svg_line_runs_through_the_curve(chosen: Plan) -> None:
    root = ElementTree.fromstring(svg(chosen, width=900, height=500))
    line = points(by_id(root, "curve"))
    left, right, top = line[0][0], line[-1][0], line[-1][1]
    bottom = float(by_id(root, "threshold").attrib["y2"])
    xs = [x for x, _ in line]
    assert xs == sorted(xs)
    mark = by_id(root, "threshold").attrib
    assert mark["x1"] == mark["x2"]
    assert float(mark["x1"]) == pytest.approx(left + chosen.threshold * (right - left), abs=0.01)
    for i in range(0, 301, 20):
        s = chosen.threshold * i / 300
        assert (bottom - line[i][1]) / (bottom - top) == pytest.approx(chosen.probability(s), abs=1e-4)


def test_the_svg_stands_alone_and_says_what_it_shows() -> None:
    picture = svg(plan())
    root = ElementTree.fromstring(picture)
    assert root.attrib["viewBox"] == "0 0 760 440"
    assert root.find(f"{SVG}rect") is not None
    words = " ".join(text for text in root.itertext() if text.strip())
    assert "16 bands of 6 rows: expected recall 0.9923 at jaccard 0.8" in words
    assert "false negatives, area 0.0002" in words
    assert "false positives, area 0.2192" in words
    assert "similarity (jaccard)" in words
    assert "probability of becoming a candidate" in words
    for foreign in ("href", "<script", "@import", "url("):
        assert foreign not in picture
    assert picture.count("http") == 1


def test_an_area_too_small_for_its_digits_is_not_called_zero() -> None:
    assert "false negatives, area below 0.0001" in svg(plan(0.8, bands=100, rows=5))
    assert "false negatives, area 0.0000" in svg(plan(1.0))


def test_a_probability_is_never_rounded_up_to_certainty() -> None:
    assert probability_text(0.99234) == "0.9923"
    assert probability_text(0.99999) == "above 0.9999"
    assert probability_text(1.0) == "1"


def test_counts_are_read_in_words() -> None:
    assert counted(1, "row") == "1 row"
    assert bands_of_rows(1200, 1) == "1,200 bands of 1 row"


@pytest.mark.parametrize("chosen", DISTANCES + ALL_PAIRS, ids=repr)
@pytest.mark.parametrize("width", [56, 72, 80])
def test_the_terminal_curve_of_a_distance_runs_over_three_times_what_counts(chosen: Plan, width: int) -> None:
    lines = [line.ljust(width) for line in terminal_curve(chosen, width, 12).splitlines()]
    assert all(len(line) == width for line in lines)
    dots = 2 * (width - 8)
    for dot in range(0, dots, 5):
        row = round((1 - chosen.probability(chosen.top * dot / (dots - 1))) * 47) // 4
        assert drawn(lines[1 + row][6 + dot // 2])
    name = "max distance" if chosen.is_distance else "threshold"
    assert lines[0][6 + round(chosen.threshold / chosen.top * (dots - 1)) // 2] == "▼"
    assert f"{name} {chosen.threshold:g}" in lines[0]


@pytest.mark.parametrize("width", [56, 72, 80])
def test_numbers_below_the_axis_keep_apart_and_name_the_threshold(width: int) -> None:
    for chosen in DISTANCES:
        labels = terminal_curve(chosen, width).splitlines()[-3].split()
        assert len(labels) in (4, 7)
        values = [float(label.replace(",", "")) for label in labels]
        # Three digits are shown.
        assert values == pytest.approx([chosen.top * i / (len(labels) - 1) for i in range(len(labels))], rel=5e-3)


@pytest.mark.parametrize("chosen", DISTANCES, ids=repr)
def test_the_areas_of_a_distance_are_those_of_its_errors(chosen: Plan) -> None:
    root = ElementTree.fromstring(svg(chosen))
    line = points(by_id(root, "curve"))
    assert [y for _, y in line] == sorted(y for _, y in line)
    left, right, top = line[0][0], line[-1][0], line[0][1]
    bottom = float(by_id(root, "threshold").attrib["y2"])
    unit = (right - left) * (bottom - top)
    # The derivation of the tolerance is that of similarities above.
    words = " ".join(text for text in root.itertext() if text.strip())
    for kind in ("negatives", "positives"):
        area = polygon_area(points(by_id(root, f"false-{kind}"))) / unit
        told = re.search(f"false {kind}, area (below )?([0-9.]+)", words)
        assert told is not None
        assert area == pytest.approx(float(told[2]), abs=4e-4)
    assert f"max distance {chosen.threshold:g}" in words
    assert f"distance ({chosen.measure})" in words


@pytest.mark.parametrize("chosen", ALL_PAIRS, ids=repr)
def test_a_plan_that_compares_all_pairs_misses_none(chosen: Plan) -> None:
    words = " ".join(text for text in ElementTree.fromstring(svg(chosen)).itertext() if text.strip())
    assert "every pair compared: expected recall 1" in words
    assert "false negatives: none" in words
    assert "area" not in words
    assert terminal_curve(chosen).endswith(f"every pair compared: 1 found at {chosen.threshold:g}")


def test_a_long_title_stays_inside_the_picture() -> None:
    for chosen in (plan(), *DISTANCES):
        title = ElementTree.fromstring(svg(chosen)).find(f"{SVG}text")
        assert title is not None and title.text is not None
        assert 0.58 * float(title.attrib["font-size"]) * len(title.text) <= 760 - 68


@pytest.mark.parametrize("width", [480, 760])
def test_the_two_parts_of_the_legend_keep_apart_and_inside_the_picture(width: int) -> None:
    """DejaVu Sans, the widest font that browsers fall back to, has 7.5 pixels a letter at this size."""
    for chosen in (plan(), plan(0.8, bands=20, rows=5), plan(0.8, bands=100, rows=5), *DISTANCES, *ALL_PAIRS):
        root = ElementTree.fromstring(svg(chosen, width=width))
        swatches = [each for each in root.iter(f"{SVG}rect") if each.attrib["width"] == "14"]
        texts = [each for each in root.iter(f"{SVG}text") if (each.text or "").startswith(("false ", "compared "))]
        ends = [float(each.attrib["x"]) + 7.5 * len(each.text or "") for each in texts]
        assert len(swatches) == len(texts) == 2 and max(ends) <= width
        beside = swatches[0].attrib["y"] == swatches[1].attrib["y"]
        assert not beside or ends[0] < float(swatches[1].attrib["x"])
