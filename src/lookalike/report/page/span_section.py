"""What the page says of a run that cuts repeated spans, instead of items that are kept or removed."""

from __future__ import annotations

from lookalike.report.page.charts import bar
from lookalike.report.page.fields import Fields, count, record, records, strings, words
from lookalike.report.page.layout import Section, table, unordered
from lookalike.report.page.markup import Markup, cut, foldout, join, name, tag
from lookalike.report.page.numbers import bytes_text, of_all, whole
from lookalike.wording.phrases import counted

__all__ = ["cuts_spans", "largest_spans", "span_headline", "span_title"]

_MOST, _TEXT, _SNIPPET = 20, 1200, 140


def cuts_spans(report: Fields) -> bool:
    """Whether spans were cut out of documents."""
    return count(report, "spans") is not None


def span_title(report: Fields) -> str:
    """The page in one line."""
    spans, touched, documents = (count(report, key) for key in ("spans", "spanned_documents", "items"))
    return f"{counted(spans or 0, 'span')} cut out of {whole(touched)} of {counted(documents or 0, 'document')}"


def span_headline(report: Fields) -> list[Markup | None]:
    """What that means, the bar of the words that stay and that go, and the large figures."""
    total, gone = count(report, "words"), count(report, "words_removed")
    boxes = None
    if total and gone is not None:
        parts = [("kept", "words kept", total - gone), ("removed", "words cut", gone)]
        legend = [
            join(
                [
                    tag("span", class_=f"swatch {class_}"),
                    tag("b", whole(size)),
                    f" {what}",
                    tag("span", of_all(size, total), class_="soft"),
                ]
            )
            for class_, what, size in parts
        ]
        chart = bar([(size / total, class_) for class_, _, size in parts], tall=True)
        boxes = tag("div", chart, unordered(legend, "legend"), class_="balance")
    return [tag("p", _meaning(report), class_="meaning"), boxes, _figures(report)]


def _meaning(report: Fields) -> str:
    least = whole(count(report, "span_words"))
    where = "in the other collection" if words(report, "only_against") == "yes" else "somewhere earlier"
    if not count(report, "spans"):
        return f"Nothing was cut: no {least} words in a row stand {where}, too."
    return (
        f"Every run of at least {least} words that stands {where}, too, was cut; where it stands first it stayed. "
        "Words are the same if they are so as the options normalise them."
    )


def _figures(report: Fields) -> Markup:
    """The large figures."""
    documents = count(report, "items")
    inputs = strings(report, "inputs")
    shown = [
        ("documents in", whole(documents), f"from {counted(len(inputs), 'file')}" if inputs else ""),
        (
            "lost a span",
            whole(count(report, "spanned_documents")),
            of_all(count(report, "spanned_documents"), documents),
        ),
        ("nothing left", whole(count(report, "removed")), of_all(count(report, "removed"), documents)),
        ("bytes cut", bytes_text(count(report, "bytes_removed")), f"of {bytes_text(count(report, 'bytes'))}"),
    ]
    tiles = [
        tag("div", tag("dt", label), tag("dd", figure), tag("dd", note, class_="note") if note else None)
        for label, figure, note in shown
    ]
    return tag("dl", *tiles, class_="figures-large")


def largest_spans(report: Fields) -> Section | None:
    """The longest spans that were cut, folded, each with the documents that it was and is in."""
    spans = records(report, "largest_spans")[:_MOST]
    if not spans:
        return None
    folded = [_span(each) for each in spans]
    lead = "What was cut, and where its first words stand for the first time; removed.parquet has all of them."
    return Section("spans", "The longest spans", tag("div", *folded, class_="folds"), lead)


def _span(span: Fields) -> Markup:
    text, rest = cut(words(span, "text"), _TEXT)
    summary = join(
        [
            tag("b", whole(count(span, "words")), class_="large"),
            tag("span", "words of ", name(words(record(span, "cut"), "id"), 60), class_="soft"),
            tag("bdi", words(span, "text")[:_SNIPPET], class_="snippet"),
        ]
    )
    sides = [("cut from", record(span, "cut")), ("first in", record(span, "kept"))]
    rows = [[what, name(words(at, "id")), whole(count(at, "word")), whole(count(at, "begin"))] for what, at in sides]
    heads = ["place", "document", "words before", "characters before"]
    places = table("Where it was, and where it stands first", heads, rows, text=2)
    body = join([text, tag("span", " …", class_="cut") if rest else None])
    return foldout(summary, tag("article", tag("div", body, class_="text", dir="auto")), places)
