"""How it was done: expected and actual cost, the plan and the options, every count, and the command that repeats it."""

from __future__ import annotations

from lookalike.report.page.charts import bar, share_bar
from lookalike.report.page.fields import Fields, count, number, record, records, strings, words
from lookalike.report.page.headline import unit
from lookalike.report.page.layout import Section, table, terms, unordered
from lookalike.report.page.markup import Markup, cut, foldout, join, name, tag
from lookalike.report.page.measure import compares_all, is_distance, is_identity, measured, of_text, plan_words, told
from lookalike.report.page.numbers import NONE, bytes_text, of_all, probability, seconds_text, whole
from lookalike.report.page.span_section import cuts_spans
from lookalike.wording.phrases import counted

__all__ = ["command", "cost", "method"]

_MOST_INPUTS = 200
_FEW_INPUTS = 4
_LONGEST_COMMAND = 50_000  # a shell may have written out every file of a crawl

_COUNTS = (
    ("rows", "rows read", ""),
    ("items", "items", "compared with each other"),
    ("null", "null", "no text, not compared"),
    ("empty", "empty", "no shingles: match identical items only"),
    ("short", "short", "fewer tokens than a shingle: compared as one shingle"),
    ("bad_items", "bad items", "cannot be compared: kept, without a match"),
    ("invalid_utf8", "invalid UTF-8", "invalid bytes replaced by U+FFFD"),
    ("html_fallback", "pages without a main text", "all their visible text was compared"),
    ("html_broken", "of these, broken pages", "could not be parsed"),
    ("dropped_shingles", "ignored shingles", "they occur in too many documents"),
    ("emptied_items", "emptied items", "all their shingles occur in too many documents"),
    ("few_words", "few words", "paragraphs or lines too short to remove"),
    ("seldom", "rarely repeated", "repeated too rarely to remove"),
    ("skipped_rows", "rows skipped", "could not be read"),
    ("references", "references", "items of the other collection"),
    ("identical", "identical copies", "of an earlier item, compared only once"),
    ("refused_identical", "refused copies", "identical by hash, but not in fact"),
    ("refused_matches", "refused matches", "similar by hash, but not in fact"),
    ("candidates", "candidates", "shared a band"),
    ("candidates_rejected", "candidates rejected", "verified, but below the threshold"),
    ("matches", "matches", "at or above the threshold; identical items count once"),
    ("pairs", "pairs", "including identical items"),
    ("pairs_left_out", "pairs not written", "too many"),
    ("largest_bucket", "largest bucket", "items with the same band"),
    ("giant_buckets", "giant buckets", "too large to compare all pairs"),
    ("giant_items", "items in giant buckets", ""),
    ("led_items", "led items", "in giant buckets, compared with a few leaders only"),
    ("unexamined_items", "unexamined items", "in giant buckets, not compared with all others"),
    ("unaudited_items", "unaudited items", "too large for the audit"),
    ("clusters", "clusters", "of at least two"),
    ("largest_cluster", "largest cluster", "items"),
    ("kept", "kept", ""),
    ("removed", "removed", ""),
    ("words", "words", "of all documents"),
    ("bytes", "bytes", "of their texts"),
    ("spans", "spans cut", ""),
    ("spanned_documents", "documents that lost a span", ""),
    ("words_removed", "words cut", ""),
    ("bytes_removed", "bytes cut", ""),
    ("compared_stretches", "runs compared word by word", "with equal hashes, copy and original"),
    ("rehashed", "times hashed again", "since different words had the same hashes"),
)

# The same where items are no text, where larger is farther, and where every pair was compared.
_NO_TEXT = {"null": "no value, not compared", "empty": "nothing to compare: null, bad or without elements"}
_DISTANCE = {
    "candidates_rejected": "verified, but too far apart",
    "matches": "within the maximum distance; identical items count once",
}
_ALL = {"candidates": "pairs not ruled out by a quick check"}

# What only some options count, only text has, and only bands; it is shown all the same where it is not 0.
_OPTIONS_ONLY = (
    "html_fallback",
    "html_broken",
    "dropped_shingles",
    "emptied_items",
    "refused_identical",
    "refused_matches",
)
_TEXT_ONLY = ("short", "invalid_utf8")
_BANDS_ONLY = ("largest_bucket", "giant_buckets", "giant_items", "led_items", "unexamined_items")

_OPTIONS = (
    ("column", "column"),
    ("id", "id"),
    ("unit", "unit"),
    ("span_words", "words of a span"),
    ("measure", "measure"),
    ("threshold", "threshold"),
    ("compared", "compared"),
    ("normalize", "normalize"),
    ("verify", "verify"),
    ("cluster", "cluster"),
    ("keep", "keep"),
    ("seed", "seed"),
)

# Fields that stand elsewhere on the page, or say in another way what stands there.
_ELSEWHERE = {"bands", "rows_per_band", "recall_at_threshold", "command", "finished", "lookalike", "hash_spec"}
_ELSEWHERE |= {"candidates_rejected_share", "precision", "told_as", "whole", "form", "width"}


def cost(report: Fields) -> Section | None:
    """Expected against actual, and the time of each stage."""
    parts = [_expected(report), _stages(report)]
    if not any(parts):
        return None
    return Section("cost", "Time, memory and disk", tag("div", *parts, class_="stack"))


def method(report: Fields) -> Section | None:
    """The plan in words, the options, every count, the inputs."""
    blocks = [
        _block("Options", _options(report)),
        _block("Counts", _counts(report)),
        _inputs(report),
        _skipped(report),
    ]
    if not any(blocks):
        return None
    return Section("method", "Method", join(blocks), _words(report))


def command(report: Fields) -> Section | None:
    """The command that repeats the run."""
    text, rest = cut(words(report, "command"), _LONGEST_COMMAND)
    if not text:
        return None
    # Half a command must not be copied.
    button = None if rest else tag("button", "Copy", type="button", data_copy="command-text", hidden=True)
    block = tag(
        "div", tag("pre", tag("code", text, " …" if rest else None, id="command-text")), button, class_="command"
    )
    made = [f"lookalike {words(report, 'lookalike')}" if words(report, "lookalike") else ""]
    made.append(f"hash specification {words(report, 'hash_spec')}" if words(report, "hash_spec") else "")
    note = (
        f"With {' and '.join(filter(None, made))}: the same input and seed give the same result." if any(made) else ""
    )
    return Section("command", "Repeat this run", join([block, tag("p", note, class_="note") if note else None]))


def _expected(report: Fields) -> Markup | None:
    expected, actual = record(report, "expected"), record(report, "actual")
    rows = []
    for key, label, text in (
        ("seconds", "time", seconds_text),
        ("memory", "memory", bytes_text),
        ("disk", "disk", bytes_text),
    ):
        planned, took = number(expected, key), number(actual, key)
        if planned is None and took is None:
            continue
        most = max(planned or 0.0, took or 0.0)
        bars = join([share_bar(planned, most, "quiet"), share_bar(took, most, "curve")])
        rows.append([label, bars, text(planned), text(took), f"{took / planned:.2f} ×" if took and planned else NONE])
    if not rows:
        return None
    swatches = [
        tag("span", tag("span", class_="swatch quiet"), "expected"),
        tag("span", tag("span", class_="swatch curve"), "actual"),
    ]
    heads = ["", "", "expected", "actual", "ratio"]
    shown = table("Expected and actual cost", heads, rows, class_="narrow")
    return tag("div", tag("h3", "Expected and actual"), tag("p", *swatches, class_="legend"), shown, class_="card")


def _stages(report: Fields) -> Markup | None:
    stages = records(report, "stages")
    if not stages:
        return None
    seconds = [number(row, "seconds") or 0.0 for row in stages]
    total, most = sum(seconds), max(seconds)
    heads, class_ = ["stage", "", "time", "share"], "narrow stages"
    # Of an engine with many machines: what its tasks took.
    with_tasks = any("tasks" in row for row in stages)
    if with_tasks:
        heads, class_ = [*heads, "tasks", "CPU", "longest task", "data to tasks"], "stages"
    rows = []
    for row, took in zip(stages, seconds, strict=True):
        cells = [words(row, "name"), bar([(took / most, "curve")] if most else []), seconds_text(took)]
        cells.append(of_all(took, total))
        if with_tasks:
            cells += [whole(number(row, "tasks")), seconds_text(number(row, "cpu_seconds"))]
            cells += [seconds_text(number(row, "longest_task")), bytes_text(number(row, "bytes"))]
        rows.append(cells)
    shown = table("Time of each stage", heads, rows, class_=class_)
    return tag("div", tag("h3", "Stages"), shown, class_="card")


def _words(report: Fields) -> str:
    """The way from items to what is kept, as far as the fields tell it."""
    noun, threshold = unit(report), number(report, "threshold")
    said = []
    if cuts_spans(report):
        said.append("Hashes of runs of words found what may occur twice; each was then compared word by word.")
    elif is_identity(report):
        said.append(f"Only identical {noun}s match.")
    elif words(report, "compared"):
        said.append(_compared(report))
    plan = plan_words(report)
    if plan and threshold is not None:
        chance = probability(number(report, "recall_at_threshold"))
        said.append(
            f"Candidates were found by sketches in {plan}: "
            f"two {noun}s with {measured(report)} {threshold:g} become a candidate with probability {chance}."
        )
    if compares_all(report):
        said.append(
            f"Every pair of {noun}s was compared, without sketches: no pair is missed, and every {told(report)} is "
            f"exact."
        )
    said.append(
        {
            "exact": f"Every candidate was verified with its exact {told(report)}.",
            "text": f"Every match was verified with the exact {told(report)} of the items themselves, not of hashes.",
            "sketch": f"Candidates were judged by their sketches, not by exact {told(report)}.",
            "none": "Candidates were not verified.",
        }.get(words(report, "verify") if plan else "", "")
    )
    return " ".join(filter(None, said))


def _compared(report: Fields) -> str:
    kind = words(report, "compared")
    if of_text(report):
        weights = words(report, "weights")[:60]
        what = f"by its {kind} shingles, weighted by {weights}" if weights else f"as a set of {kind} shingles"
        return f"Each {unit(report)} was compared {what}."
    # Not "the vectors were compared as vectors".
    return f"The items were compared as {'sets with weights' if kind == 'bags' else kind}."


def _options(report: Fields) -> Markup | None:
    shown: list[tuple[str, Markup]] = []
    for key, label in _OPTIONS:
        if key == "normalize" and not of_text(report):
            continue
        value = words(report, key) or ", ".join(strings(report, key))
        if key == "threshold" and number(report, key) is not None:
            value, label = f"{number(report, key):g}", "max distance" if is_distance(report) else label
        if not value and key in report:
            value = "none"
        shown.append((label, name(value) if value else Markup()))
    others = [key for key in _others(report) if words(report, key) and not _counts_something(report, key)]
    shown += [(_label(key), name(words(report, key))) for key in others]
    return terms(shown) if any(value for _, value in shown) else None


def _counts(report: Fields) -> Markup | None:
    others = [(key, _label(key), "") for key in _others(report) if _counts_something(report, key)]
    hints, hidden = _hints(report)
    rows = [
        (label, whole(count(report, key)), hints.get(key, hint))
        for key, label, hint in (*_COUNTS, *others)
        if count(report, key) is not None and (count(report, key) or key not in hidden)
    ]
    if not rows:
        return None
    body = [
        tag("div", tag("dt", label, tag("small", hint) if hint else None), tag("dd", figure, class_="figure"))
        for label, figure, hint in rows
    ]
    return tag("dl", *body, class_="counts")


def _hints(report: Fields) -> tuple[dict[str, str], set[str]]:
    """What to say about counts instead, and those that are not worth a line while they are 0."""
    hints, hidden = dict[str, str](), {*_OPTIONS_ONLY}
    if not of_text(report):
        hints |= _NO_TEXT
        hidden |= {*_TEXT_ONLY}
    if is_distance(report):
        hints |= _DISTANCE
    if compares_all(report):
        hints |= _ALL
        hidden |= {*_BANDS_ONLY}
    return hints, hidden


def _others(report: Fields) -> list[str]:
    """Fields that this page has no place for. They are shown all the same: nothing that a run says gets lost here."""
    known = {key for key, _ in _OPTIONS} | {key for key, _, _ in _COUNTS} | _ELSEWHERE
    return [key for key in report if key not in known]


def _counts_something(report: Fields, key: str) -> bool:
    return isinstance(report[key], int) and count(report, key) is not None


def _label(key: str) -> str:
    return key.replace("_", " ")[:200]


def _inputs(report: Fields) -> Markup | None:
    inputs = strings(report, "inputs")
    if not inputs:
        return None
    listed: list[str] = [name(each) for each in inputs[:_MOST_INPUTS]]
    if len(inputs) > _MOST_INPUTS:
        listed.append(f"and {len(inputs) - _MOST_INPUTS:,} more in report.json")
    if len(inputs) <= _FEW_INPUTS:
        return _block("Inputs", unordered(listed, "plain"))
    return foldout(counted(len(inputs), "input file"), unordered(listed, "plain"), class_="figures")


def _skipped(report: Fields) -> Markup | None:
    examples = strings(report, "skipped_examples")
    if not examples:
        return None
    listed = [name(each, 300) for each in examples[:20]]
    bad, skipped = count(report, "bad_items"), count(report, "skipped_rows")
    what = "Items that cannot be compared" if bad and not skipped else "Skipped rows"
    if bad and skipped:
        what += ", and items that cannot be compared"
    return foldout(f"{what}: examples", unordered(listed, "plain"), class_="figures")


def _block(title: str, inside: Markup | None) -> Markup | None:
    return tag("div", tag("h3", title), inside, class_="card") if inside else None
