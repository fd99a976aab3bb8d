"""Weights and frequent shingles: what a pass over all documents decides."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lookalike
from lookalike.errors import OptionError

MENU = "home products about contact search help login cart news terms privacy imprint"


def words(text: str) -> list[str]:
    return text.split()


def stories(count: int = 40) -> list[str]:
    """Pages of different words under one menu; each third page is the page before with one word changed."""
    pages: list[str] = []
    for i in range(count):
        own = [f"w{i}x{j}" for j in range(20)] + ["the", "the", "of"]
        if i % 3 == 2:
            own = words(pages[-1].removeprefix(MENU))
            own[4] = f"changed{i}"
        pages.append(" ".join([MENU, *own]))
    return pages


def truth(pages: list[str], weigh: str) -> dict[tuple[int, int], float]:
    counts = [Counter(words(page)) for page in pages]
    df = Counter(word for each in counts for word in each)
    n, mean = len(pages), sum(each.total() for each in counts) / len(pages)
    bags = []
    for each in counts:
        bag = {}
        for word, tf in each.items():
            if weigh == "count":
                bag[word] = float(tf)
            elif weigh == "tf-idf":
                bag[word] = tf * math.log(1 + n / df[word])
            else:
                idf = math.log(1 + (n - df[word] + 0.5) / (df[word] + 0.5))
                bag[word] = idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * each.total() / mean))
        bags.append(bag)
    out = {}
    for i in range(len(bags)):
        for j in range(i):
            keys = bags[i].keys() | bags[j].keys()
            pairs = [(bags[i].get(key, 0.0), bags[j].get(key, 0.0)) for key in keys]
            out[j, i] = sum(map(min, pairs)) / sum(map(max, pairs))
    return out


@pytest.mark.parametrize("weigh", ["tf-idf", "bm25", "count"])
def test_weighted_jaccard_of_texts_is_that_of_its_formula(weigh: Any) -> None:
    pages = stories()
    result = lookalike.pairs(
        pages, measure="weighted-jaccard", weights=weigh, shingle="word:1", threshold=0.3, recall=0.9999
    )
    expected = {pair: s for pair, s in truth(pages, weigh).items() if s >= 0.3}
    found = {(a, b): s for a, b, s in result}
    # Weights are float32, each off by 6e-8 at most, and so is no quotient of their sums by more than twice that.
    assert found == pytest.approx(expected, rel=1e-6)


def test_cosine_of_texts_goes_by_tf_idf() -> None:
    pages = stories()
    found = {(a, b) for a, b, _ in lookalike.pairs(pages, measure="cosine", shingle="word:1", threshold=0.7)}
    assert found == {(i - 1, i) for i in range(2, 40, 3)}


def test_what_stands_everywhere_is_left_out_and_counted() -> None:
    pages = stories()
    near = {(a, b) for a, b, _ in lookalike.pairs(pages, shingle="word:1", threshold=0.2)}
    assert len(near) == 40 * 39 // 2, "the menu alone makes all pages alike"
    result = lookalike.pairs(pages, shingle="word:1", threshold=0.2, max_share=0.5)
    assert {(a, b) for a, b, _ in result} == {(i - 1, i) for i in range(2, 40, 3)}
    assert result.report["dropped_shingles"] == 40 * (len(words(MENU)) + 2)
    assert result.report["emptied_items"] == 0


def test_what_stands_everywhere_is_left_out_with_all_its_repeats() -> None:
    """Of bags too: the menu stands there three times, and twice of that would make all pages alike."""
    pages = [f"{MENU} {MENU} {page} {page}" for page in stories()]
    result = lookalike.pairs(pages, shingle="word:1:bag", threshold=0.2, max_share=0.5)
    assert {(a, b) for a, b, _ in result} == {(i - 1, i) for i in range(2, 40, 3)}
    once = lookalike.pairs(stories(), shingle="word:1", threshold=0.2, max_share=0.5)
    assert result.report["dropped_shingles"] == once.report["dropped_shingles"]


def test_a_document_that_loses_everything_is_like_nothing_but_its_copies() -> None:
    pages = [*stories(), MENU, MENU, "home products about contact"]
    result = lookalike.dedup(pages, shingle="word:1", threshold=0.3, max_share=0.5)
    assert result.report["emptied_items"] == 3
    assert {row["id"] for row in result.removed.to_pylist() if row["id"] >= 40} == {41}


def test_frequencies_count_the_other_collection_too_and_threads_change_nothing() -> None:
    pages = stories(60)
    one, two = (
        lookalike.dedup(
            pages[30:], against=pages[:30], measure="weighted-jaccard", shingle="word:1", threads=threads, threshold=0.6
        )
        for threads in (1, 4)
    )
    assert one.removed.equals(two.removed)
    assert one.table.num_rows == 20
    both = truth([*pages[:30], *pages[30:]], "tf-idf")
    for row in one.removed.to_pylist():
        pair = sorted((row["id"] + 30, row["kept"] + (0 if row["against"] else 30)))
        assert row["similarity"] == pytest.approx(both[pair[0], pair[1]], rel=1e-6)


def test_what_is_frequent_in_the_other_collection_only_is_left_out_too() -> None:
    own = [f"{'menu ' if i < 2 else ''}a{i} b{i} c{i}" for i in range(10)]
    other = [f"menu d{i} e{i}" for i in range(30)]
    result = lookalike.dedup(own, against=other, shingle="word:1", max_share=0.5)
    assert result.report["dropped_shingles"] == 2
    assert lookalike.dedup(own, shingle="word:1", max_share=0.5).report["dropped_shingles"] == 0


def test_an_interrupted_run_does_not_count_again(tmp_path: Path) -> None:
    from lookalike.config import make_config
    from lookalike.engines.local import frequency_pass as frequencies
    from lookalike.engines.local.store.work_folder import Work
    from lookalike.io import open_source
    from lookalike.items.collection import open_collection
    from lookalike.wording.progress import SILENT

    config = make_config(measure="weighted-jaccard", shingle="word:1")
    collection = open_collection(open_source(stories()), None, config)
    work = Work(tmp_path / "work")
    work.begin({}, resume=False)
    first = frequencies.count_frequencies(collection, config, work, SILENT)
    again = Work(tmp_path / "work")
    again.begin({}, resume=True)
    second = frequencies.count_frequencies(None, config, again, SILENT)  # type: ignore[arg-type]
    assert second.documents == first.documents == 40
    assert second.mean_length == first.mean_length


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "tfidf"}, "weights is 'tfidf': it must be one of tf-idf, bm25, count"),
        ({"weights": "bm25"}, "weights need a weighted measure"),
        ({"max_share": 0}, "max_share is 0: it must be above 0 and below 1"),
        ({"max_share": 0.5, "exact": True}, "exact cannot be combined with html or max_share"),
        ({"html": True, "unit": "line"}, "html takes whole pages and cannot be combined with unit='line'"),
    ],
)
def test_options_that_do_not_go_together_are_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        lookalike.dedup(["a"], **options)


def test_the_main_text_of_web_pages_decides() -> None:
    story = "".join(
        f"<p>Sentence number {i} tells what happened on the day of the great flood in the valley.</p>"
        for i in range(12)
    )
    other = "".join(
        f"<p>Paragraph {i} of a recipe: knead the dough, let it rest for an hour, and bake it.</p>" for i in range(12)
    )
    menus = ["".join(f"<li><a href='/{m}{i}'>{m} entry {i}</a></li>" for i in range(60)) for m in ("shop", "forum")]
    pages = [
        f"<html><body><nav><ul>{m}</ul></nav><article>{a}</article></body></html>"
        for a in (story, other)
        for m in menus
    ]
    plain = {(a, b) for a, b, _ in lookalike.pairs(pages, shingle="word:3", threshold=0.5)}
    main = {(a, b) for a, b, _ in lookalike.pairs(pages, shingle="word:3", threshold=0.9, html=True)}
    assert main == {(0, 1), (2, 3)}
    assert plain != main
