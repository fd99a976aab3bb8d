"""A tuning to look at: what is proposed and why, what was seen, and pairs from high to low, by the parts of the report.

the proposal     the options, the reason, how well it agrees with a truth
nearest          how alike each item is to its nearest, and where the threshold lies
agreement        where there is a truth: precision, recall and F1 at each threshold, with their intervals
trials           every shingle that was tried
pairs            from high to low, in two parts: what would match, and what would not
"""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.report.page.charts import Axis, columns, counts_axis, frame, path_line, percent
from lookalike.report.page.document import document
from lookalike.report.page.examples_section import folds, pair_foldout
from lookalike.report.page.fields import Fields, count, number, record, records, sentences, values, words
from lookalike.report.page.layout import Section, figure, numbers_foldout, table, unordered
from lookalike.report.page.markup import Markup, join, tag
from lookalike.report.page.measure import axis_title
from lookalike.report.page.numbers import of_all, probability, whole
from lookalike.wording.phrases import counted

__all__ = ["tuning_page"]

_HEIGHT = 200
_OPEN_PAIRS = 2
_CURVES = (("f1", "F1"), ("precision", "precision"), ("recall", "recall"))
# Of the figures of the curves every so manyth is in the table.
_STEP = 0.05


def tuning_page(data: Fields) -> str:
    """The page of a tuning, from its report and `pairs`: one file that loads nothing."""
    made = (_notes, _nearest, _agreement, _trials, _pairs, _use)
    sections = [section for make in made if (section := make(data)) is not None]
    return document(_title(data), _headline(data), sections, data)


def _chosen(data: Fields) -> Fields:
    trials = records(data, "trials")
    return trials[min(count(data, "chosen") or 0, len(trials) - 1)] if trials else {}


def _threshold(data: Fields) -> float:
    return number(record(data, "options"), "threshold") or 0.0


def _title(data: Fields) -> str:
    shingle = words(record(data, "options"), "shingle")
    return f"Threshold {_threshold(data):.2f}" + (f" with {shingle}" if shingle else "")


def _headline(data: Fields) -> Markup:
    reason = words(data, "reason")
    return tag(
        "header",
        tag("h1", _title(data)),
        tag("p", f"{reason[:1].upper()}{reason[1:]}.", class_="meaning"),
        _tiles(data),
        class_="headline",
    )


def _best(data: Fields) -> Fields:
    """The agreement at the proposed threshold; nothing without a truth."""
    at = _threshold(data)
    return next((each for each in records(_chosen(data), "agreements") if number(each, "threshold") == at), {})


def _tiles(data: Fields) -> Markup:
    noun, items, sampled = words(data, "noun") or "item", count(data, "items"), count(data, "sampled")
    best, among = _best(data), number(data, "words")
    held = "all held against the others" if items == sampled else f"{whole(sampled)} held against the others"
    shown = [
        (f"{noun}s", whole(items), held),
        ("with a match", of_all(number(data, "matched"), 1.0), f"at {_threshold(data):.2f}"),
        ("different words", whole(among), f"the median of all {noun}s") if among is not None else None,
    ]
    for key, label in _CURVES if best else ():
        shown.append((label, f"{number(best, key) or 0.0:.3f}", f"95% interval {_interval(best, key)}"))
    tiles = [
        tag("div", tag("dt", label), tag("dd", shown_figure), tag("dd", note, class_="note"))
        for label, shown_figure, note in filter(None, shown)
    ]
    return tag("dl", *tiles, class_="figures-large")


def _interval(agreement: Fields, key: str) -> str:
    low, high = _ends(agreement, key)
    return f"{low:.3f} to {high:.3f}"


def _ends(agreement: Fields, key: str) -> tuple[float, float]:
    found = values(agreement, f"{key}_interval")
    at = number(agreement, key) or 0.0
    return (found[0], found[1]) if len(found) == 2 else (at, at)


def _notes(data: Fields) -> Section | None:
    found = sentences(data, "notes")
    return Section("notes", "To keep in mind", tag("div", unordered(found), class_="warnings")) if found else None


def _nearest(data: Fields) -> Section | None:
    """The histogram of how alike each item is to its nearest."""
    counts = values(_chosen(data), "nearest")
    if not counts:
        return None
    noun, step = words(data, "noun") or "item", 1.0 / len(counts)
    x, y, at = Axis(0.0, 1.0), counts_axis(counts), _threshold(data)
    ranges = [f"{step * place:.2f} to {step * (place + 1):.2f}" for place in range(len(counts))]
    boxes = [
        (step * place, step * (place + 1), each, f"{ranges[place]}: {counted(round(each), noun)}")
        for place, each in enumerate(counts)
    ]
    classes = ["curve" if step * (place + 0.5) >= at else "quiet" for place in range(len(counts))]
    drawn = [*columns(x, y, _HEIGHT, boxes, classes), _line_at(x, at)]
    label = f"How alike each {noun} is to its nearest; the threshold is {at:.2f}"
    chart = frame(label, _HEIGHT, drawn, x, y, across=x.ticks(5))
    caption = f"Dashed: the threshold of {at:.2f}." + (" The upright axis is logarithmic." if y.log else "")
    shown = figure(f"How alike each {noun} is to its nearest", chart, caption, upright=f"{noun}s", across=_axis(data))
    rows = [[ranges[place], whole(each), of_all(each, sum(counts))] for place, each in enumerate(counts)]
    numbers = numbers_foldout(f"How alike each {noun} is to its nearest", ["similarity", f"{noun}s", "share"], rows)
    return Section("nearest", "What is near", tag("div", shown, numbers, class_="card"))


def _axis(data: Fields) -> str:
    return axis_title({"measure": words(data, "measure")})


def _line_at(x: Axis, threshold: float) -> Markup:
    at = percent(x.at(threshold))
    return tag("line", x1=at, x2=at, y1="0", y2=_HEIGHT, class_="threshold")


def _agreement(data: Fields) -> Section | None:
    """Precision, recall and F1 by the threshold, each in its interval."""
    agreements = records(_chosen(data), "agreements")
    if not agreements:
        return None
    ends = [number(each, "threshold") or 0.0 for each in agreements]
    x, y = Axis(min(ends), max(*ends, 1e-9)), Axis(0.0, 1.0)
    drawn: list[Markup] = []
    for key, _ in _CURVES:
        lows, highs = zip(*(_ends(each, key) for each in agreements), strict=True)
        upper = [(x.at(at), y.at(high)) for at, high in zip(ends, highs, strict=True)]
        lower = [(x.at(at), y.at(low)) for at, low in zip(ends, lows, strict=True)]
        drawn.append(path_line([*upper, *reversed(lower)], f"interval-of {key}", closed=True))
    for key, _ in _CURVES:
        points = [(x.at(at), y.at(number(each, key) or 0.0)) for at, each in zip(ends, agreements, strict=True)]
        drawn.append(path_line(points, f"agreement {key}"))
    drawn.append(_line_at(x, _threshold(data)))
    legend = [tag("span", tag("span", class_=f"swatch {key}"), label) for key, label in _CURVES]
    label = "Precision, recall and F1 at each threshold, with intervals at 95%"
    chart = frame(label, _HEIGHT, drawn, x, y, across=x.ticks(5))
    truth = count(data, "truth")
    caption = f"Held against {counted(truth, 'true pair')}. " if truth else ""
    caption += f"Shaded: 95% intervals. Dashed: {_threshold(data):.2f}, where F1 is highest."
    shown = figure("Agreement with the truth", chart, caption, upright="share", across="threshold")
    wanted = [each for each in agreements if _is_shown(number(each, "threshold") or 0.0, _threshold(data))]
    heads = ["threshold", "pairs", *(head for _, label in _CURVES for head in (label, "95% interval"))]
    rows = [
        [f"{number(each, 'threshold') or 0.0:.2f}", whole(number(each, "pairs"))]
        + [cell for key, _ in _CURVES for cell in (f"{number(each, key) or 0.0:.3f}", _interval(each, key))]
        for each in wanted
    ]
    numbers = numbers_foldout("Agreement with the truth at some thresholds", heads, rows)
    body = tag("div", tag("p", *legend, class_="legend"), shown, numbers, class_="card")
    return Section("agreement", "By the truth", body)


def _is_shown(threshold: float, proposed: float) -> bool:
    return threshold == proposed or abs(threshold / _STEP - round(threshold / _STEP)) < 1e-6


def _trials(data: Fields) -> Section | None:
    trials = records(data, "trials")
    if not trials:
        return None
    with_truth = any(records(each, "agreements") for each in trials)
    heads = ["shingle", "threshold", "with a match", "alike at random", *(["best F1", "at"] if with_truth else [])]
    rows = []
    for each in trials:
        cells = [words(each, "shingle") or "–", f"{number(each, 'threshold') or 0.0:.2f}"]
        cells += [of_all(number(each, "matched"), 1.0), probability(number(each, "alike_at_random"))]
        best = max(records(each, "agreements"), key=lambda one: number(one, "f1") or 0.0, default=None)
        if with_truth and best is not None:
            cells += [f"{number(best, 'f1') or 0.0:.3f}", f"{number(best, 'threshold') or 0.0:.2f}"]
        rows.append(cells)
    reasons = [": ".join(filter(None, (words(each, "shingle"), words(each, "reason")))) for each in trials]
    tried = table("What was tried", heads, rows, class_="tried")
    body = tag("div", tried, tag("div", unordered(reasons), class_="notes"), class_="card")
    lead = "The threshold, and the items with a match at it, are what the neighbours propose."
    if with_truth:
        lead += " The best F1, and the threshold that it is at, come from the known matches."
    return Section("trials", "What was tried", body, lead)


def _pairs(data: Fields) -> Section | None:
    """Pairs from high to low, and where the threshold parts them."""
    pairs, at = records(data, "pairs"), _threshold(data)
    if not pairs:
        return None
    told: Fields = {"form": words(data, "form"), "threshold": at}
    above = [each for each in pairs if (number(each, "similarity") or 0.0) >= at]
    below = [each for each in pairs if (number(each, "similarity") or 0.0) < at]
    label = tag("span", "below", class_="badge removed")
    parts = [
        _part(f"From {at:.2f} up", [pair_foldout(told, each, open=_last(above, each)) for each in above]),
        _part(
            f"Below {at:.2f}",
            [pair_foldout(told, each, label=label, open=place < _OPEN_PAIRS) for place, each in enumerate(below)],
        ),
    ]
    lead: str = "Those next to the threshold are open."
    if any(each.get(key) for each in pairs for key in ("marks_a", "marks_b")):
        lead = join([lead, " What only one of the two has is ", tag("mark", "marked"), "."])
    return Section("pairs", "Pairs from high to low", join(filter(None, parts)), lead)


def _last(pairs: Sequence[Fields], pair: Fields) -> bool:
    return any(each is pair for each in pairs[-_OPEN_PAIRS:])


def _part(title: str, folded: list[Markup]) -> Markup | None:
    return tag("div", tag("h3", title), folds(folded), class_="near") if folded else None


def _use(data: Fields) -> Section | None:
    """The options to copy."""
    options = record(data, "options")
    if not options:
        return None
    measure, shingle = words(options, "measure"), words(options, "shingle")
    parts = ["" if measure in ("", "jaccard") else f"--measure {measure}", f"--shingle {shingle}" if shingle else ""]
    line = " ".join(filter(None, [*parts, f"-t {_threshold(data):.2f}"]))
    button = tag("button", "Copy", type="button", data_copy="command-text", hidden=True)
    block = tag("div", tag("pre", tag("code", line, id="command-text")), button, class_="command")
    note = tag("p", "Options of pairs, clusters and dedup.", class_="note")
    return Section("use", "To use it", join([block, note]))
