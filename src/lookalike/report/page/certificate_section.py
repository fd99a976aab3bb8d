"""The certificate: what share of the pairs was found, by three measurements that are each blind to something else.

The estimate trusts that the plan was carried out, the band test checks that it was, and the audit trusts nothing but
sees no further than its sample. The page says so beside each, and draws both intervals over one axis.
"""

from __future__ import annotations

from lookalike.report.page.charts import Axis, columns, frame, path_line, percent
from lookalike.report.page.fields import Fields, count, number, record, records, sentences, values, words
from lookalike.report.page.headline import unit
from lookalike.report.page.layout import Section, figure, numbers_foldout, table, unordered
from lookalike.report.page.markup import Markup, foldout, join, name, tag
from lookalike.report.page.measure import compares_all, is_distance, told, told_of, with_signs
from lookalike.report.page.numbers import probability, whole
from lookalike.report.page.other_section import only_other
from lookalike.wording.phrases import counted

__all__ = ["band_chart", "certificate"]

# The left end of the axis of recall: the last of these that leaves room for every interval.
_LEFT_ENDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_MOST_MISSED = 50
_HEIGHT = 150


def certificate(report: Fields) -> Section | None:
    """The statement, the intervals, the three parts, what is left, and what to keep in mind."""
    data = record(report, "certificate")
    statement, notes = words(data, "statement")[:2000], sentences(data, "notes")
    parts = [_estimate(report, data), _band_test(report, data), _audit(report, data)]
    body = [
        tag("p", _sentence(with_signs(statement)), class_="statement") if statement else None,
        _left(report, data),
        _intervals(report, data),
        tag("div", *parts, class_="thirds") if any(parts) else None,
        _missed(report, data),
        tag("div", tag("h3", "Notes"), unordered(notes), class_="notes") if notes else None,
    ]
    if not any(body):
        return None
    return Section("certificate", "The certificate", join(body))


def band_chart(report: Fields) -> Markup | None:
    """How often each band was hit, and how often it should have been."""
    data = record(record(report, "certificate"), "bands")
    hits = values(data, "hits")
    if not hits:
        return None
    expected = _expected(data, len(hits))
    deviations = values(data, "z")
    top = max([*hits, *expected])
    charts = [_hits(data, hits, expected, Axis(0.0, top * 1.04 or 1.0))]
    if len(deviations) == len(hits):
        charts.append(_deviations(data, deviations))
    heads = ["band", "hits", "expected", "standard deviations"]
    rows = [
        [str(each + 1), whole(hit), whole(expected[each]) if expected else "–", _signed(deviations, each)]
        for each, hit in enumerate(hits)
    ]
    numbers = numbers_foldout("Hits in each band", heads, rows)
    return tag("div", tag("div", *charts, class_="halves"), numbers, class_="card")


def _hits(data: Fields, hits: list[float], expected: list[float], y: Axis) -> Markup:
    x = Axis(0.5, len(hits) + 0.5)
    titles = [f"band {each + 1}: {hit:,.0f} hits" for each, hit in enumerate(hits)]
    inside: list[str] = [*columns(x, y, _HEIGHT, _boxes(hits, titles), _classes(data, len(hits), "quiet"))]
    if expected:
        points = [(x.at(each + end), y.at(value)) for each, value in enumerate(expected) for end in (0.5, 1.5)]
        inside.append(path_line(points, "expected"))
    label = f"Hits in each of {counted(len(hits), 'band')}; {_band_words(data)}"
    chart = frame(label, _HEIGHT, inside, x, y, across=_band_ticks(len(hits)))
    caption = "How many of the found pairs agree in each band" + ("; dashed: expected." if expected else ".")
    return figure("Hits in each band", chart, caption, upright="pairs", across="band")


def _deviations(data: Fields, deviations: list[float]) -> Markup:
    x, most = Axis(0.5, len(deviations) + 0.5), max(4.0, *(1.1 * abs(each) for each in deviations))
    y = Axis(-most, most)
    titles = [f"band {each + 1}: {_signed(deviations, each)}" for each in range(len(deviations))]
    drawn = columns(x, y, _HEIGHT, _boxes(deviations, titles), _classes(data, len(deviations), "curve"))
    label = f"How far each of {counted(len(deviations), 'band')} is from what is expected; {_band_words(data)}"
    chart = frame(label, _HEIGHT, drawn, x, y, across=_band_ticks(len(deviations)))
    caption = _sentence(_band_words(data))
    return figure("Deviations from expected hits", chart, caption, upright="standard deviations", across="band")


def _boxes(values: list[float], titles: list[str]) -> list[tuple[float, float, float, str]]:
    """Columns around 1, 2, 3 …, with some air between them."""
    return [(each + 0.62, each + 1.38, value, titles[each]) for each, value in enumerate(values)]


def _classes(data: Fields, bands: int, usual: str) -> list[str]:
    wrong = _suspicious(data)
    return ["bad" if each in wrong else usual for each in range(bands)]


def _band_ticks(bands: int) -> list[float]:
    return [1.0, *(tick for tick in Axis(1.0, float(bands)).ticks(6) if tick > 1.0 and tick == int(tick))]


def _estimate(report: Fields, data: Fields) -> Markup | None:
    recall = record(data, "estimate")
    if number(recall, "recall") is None:
        return None
    result = f"{probability(number(recall, 'recall'))}"
    found, total = count(recall, "found"), count(recall, "total")
    counted_pairs = f"{counted(found, 'pair')} found of an estimated {whole(total)}. " if found and total else ""
    return _part(
        "The estimate",
        result,
        "recall of the plan" + _interval(recall),
        f"{counted_pairs}Each found pair is weighted by the probability that the plan finds a pair of its "
        f"{told(report)} (Horvitz–Thompson). It cannot detect errors in carrying out the plan.",
    )


def _band_test(report: Fields, data: Fields) -> Markup | None:
    bands = record(data, "bands")
    hits = values(bands, "hits")
    if not hits:
        return None
    wrong = len(_suspicious(bands))
    result = f"{wrong} of {len(hits)} suspicious" if wrong else f"{len(hits)} of {len(hits)} as expected"
    return _part(
        "The band test",
        result,
        _band_words(bands),
        f"Compares the hits of each band with the number that the {_plural(report)} of the found pairs predict. "
        "It detects a broken or biased band, but not pairs lost elsewhere.",
        state="bad" if wrong else "good",
    )


def _audit(report: Fields, data: Fields) -> Markup | None:
    audit = record(data, "audit")
    sampled = count(audit, "sampled")
    if sampled is None:
        return None
    pairs, found, full = count(audit, "pairs"), count(audit, "found"), count(audit, "full")
    overruled = _disagrees(data)
    how = ", one by one," if compares_all(report) else " and without sketches"
    why = [
        f"{counted(sampled, 'random item')} compared exactly{how} with all later items. It can detect any kind of "
        "error, as far as its sample reaches.",
        f"{counted(full, 'sampled item')} had more matches than the audit checks; the rest are not included."
        if full
        else "",
        "Its interval and that of the estimate do not overlap: pairs are lost for another reason than the plan."
        if overruled
        else _hidden(audit),
    ]
    return _part(
        "The audit",
        f"{whole(found)} of {whole(pairs)}" if pairs else "no pairs",
        "pairs of the sample found" + _interval(audit) if pairs else "in the sample",
        " ".join(filter(None, why)),
        state="bad" if overruled else None,
    )


def _part(title: str, result: str, note: str, why: str, state: str | None = None) -> Markup:
    return tag(
        "div",
        tag("h3", title),
        tag("p", result, class_=f"result {state}" if state else "result"),
        tag("p", note, class_="note"),
        tag("p", why),
        class_="card part",
    )


def _left(report: Fields, data: Fields) -> Markup | None:
    """What people care about after `dedup`: how many of the kept still have a near-duplicate among the kept."""
    left = record(data, "left")
    items, low, high = count(left, "items"), count(left, "low"), count(left, "high")
    if items is None:
        return None
    kept, noun = count(report, "kept"), unit(report)
    among = f"Of the {counted(kept, noun)} kept" if kept is not None else f"Of the kept {noun}s"
    if high == 0:
        what = "matches the other collection" if only_other(report) else "has a near-duplicate left"
        return tag("p", f"{among}, none {what}: every pair was compared.", class_="left-over")
    span = f" (95% interval {low:,} to {high:,})" if low is not None and high is not None else ""
    many = f"about {items:,}" if items else "probably none"
    if only_other(report):
        text = f"{among}, {many}{span} still {'matches' if items <= 1 else 'match'} the other collection."
    else:
        text = f"{among}, {many}{span} still {'has' if items <= 1 else 'have'} a near-duplicate."
    return tag("p", text, class_="left-over")


def _intervals(report: Fields, data: Fields) -> Markup | None:
    """The intervals below each other over one axis that ends at 1."""
    planned = number(report, "recall_at_threshold")
    threshold = number(report, "threshold")
    plan: Fields = {"recall": planned}
    at = "–" if threshold is None else f"{threshold:g}"
    rows = [
        (label, fields)
        for label, fields in (
            ("Together", record(data, "recall")),
            ("The estimate, over all pairs", record(data, "estimate")),
            ("The audit, over its sample", record(data, "audit")),
            ("The plan: every pair compared" if compares_all(report) else f"The plan, for a pair at {at}", plan),
        )
        if number(fields, "recall") is not None
    ]
    if not rows or rows[0][1] is plan:
        return None
    ends = [number(fields, key) for _, fields in rows for key in ("low", "recall")]
    least = min(end for end in ends if end is not None)
    axis = Axis(max(end for end in _LEFT_ENDS if end <= max(0.0, least - 0.1 * (1 - least))), 1.0)
    ticks = axis.ticks(5)
    lines = []
    for label, fields in rows:
        value = probability(number(fields, "recall"))
        lines.append(tag("div", tag("span", label), _whisker(axis, ticks, fields), tag("b", value), class_="interval"))
    marks = [tag("text", f"{tick:g}", x=percent(axis.at(tick)), y="14", class_="below") for tick in ticks]
    scale = tag("svg", *marks, class_="scale", aria_hidden="true", width="100%", height=18)
    lines.append(tag("div", tag("span"), scale, tag("b"), class_="interval"))
    where = "within the maximum distance" if is_distance(report) else "at or above the threshold"
    caption = tag("figcaption", f"Recall: the share of all pairs {where} that was found, with 95% intervals.")
    return tag("figure", *lines, caption, class_="card intervals")


def _whisker(axis: Axis, ticks: list[float], fields: Fields) -> Markup:
    """A point and its interval."""
    recall, low, high = (number(fields, key) for key in ("recall", "low", "high"))
    parts = [
        tag("line", x1=percent(axis.at(tick)), x2=percent(axis.at(tick)), y1="0", y2="100%", class_="grid")
        for tick in ticks
    ]
    if low is not None and high is not None:
        left, right = axis.at(low), axis.at(high)
        width = max(right - left, 0.004)
        parts.append(tag("rect", x=percent(left), width=percent(width), y="11", height="10", rx="5", class_="span"))
    kind = "point" if low is not None else "point hollow"
    parts.append(tag("circle", cx=percent(axis.at(recall or 0.0)), cy="16", r="5.5", class_=kind))
    label = f"{probability(recall)}{_interval(fields)}"
    return tag("svg", *parts, class_="whisker", role="img", aria_label=label, width="100%", height=32)


def _missed(report: Fields, data: Fields) -> Markup | None:
    """The pairs of the audit's sample that the run did not find."""
    missed = records(record(data, "audit"), "missed")
    if not missed:
        return None
    rows = [[name(words(each, "a")), name(words(each, "b")), told_of(report, each)] for each in missed[:_MOST_MISSED]]
    more = len(missed) - len(rows)
    rest = tag("p", f"{more:,} more in report.json.", class_="note") if more else None
    heads = ["a", "b", told(report)]
    found = table("Pairs that only the audit found", heads, rows, text=2)
    return foldout(f"{counted(len(missed), 'pair')} that only the audit found", found, rest)


def _plural(report: Fields) -> str:
    return "distances" if is_distance(report) else "similarities"


def _disagrees(data: Fields) -> bool:
    return bool(record(data, "recall").get("contradiction"))


def _hidden(audit: Fields) -> str:
    hidden = number(audit, "hidden")
    if hidden is None:
        return ""
    alarm = f"It raises an alarm where an error loses more than {hidden:.1%} of the pairs"
    return f"{alarm}; less shows in the interval alone."


def _interval(fields: Fields) -> str:
    low, high = number(fields, "low"), number(fields, "high")
    return "" if low is None or high is None else f", 95% interval {probability(low)} to {probability(high)}"


def _expected(data: Fields, bands: int) -> list[float]:
    """The expected hits of each band: one figure for all, or one each."""
    each = values(data, "expected")
    if len(each) == bands:
        return each
    one = number(data, "expected")
    return [] if one is None else [one] * bands


def _suspicious(data: Fields) -> set[int]:
    """The numbers of the bands out of line, from 0 as in the data."""
    return {round(each) for each in values(data, "suspicious")}


def _band_words(data: Fields) -> str:
    """Which band stands out most, or which are out of line."""
    deviations = values(data, "z")
    wrong = sorted(_suspicious(data))
    if wrong:
        named = ", ".join(str(each + 1) for each in wrong[:8]) + (" …" if len(wrong) > 8 else "")
        return f"suspicious: band {named}"
    if not deviations:
        return "no band is suspicious"
    worst = max(range(len(deviations)), key=lambda each: abs(deviations[each]))
    return f"the largest deviation is in band {worst + 1}: {abs(deviations[worst]):.1f} standard deviations"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _signed(deviations: list[float], number: int) -> str:
    return f"{deviations[number]:+.2f}".replace("-", "−") if number < len(deviations) else "–"
