"""`min_words` and `min_count`: headings survive, and only what really repeats goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from lookalike import OptionError

FOOT = "This page was written by somebody for everybody and may be copied by all of you."
PAGES = [
    f"NAME\n\npage {number} is about {word} and nothing else in the world\n\nDESCRIPTION\n\n{FOOT}"
    for number, word in enumerate(["cats", "dogs", "birds", "fish"])
]
TWICE = "A paragraph that stands in two pages only, and not in any of the others at all."
ALL = [*PAGES, f"{PAGES[0]}\n\n{TWICE}", f"SEE ALSO\n\n{TWICE}"]


def test_headings_stay_and_what_repeats_goes() -> None:
    result = lookalike.dedup(PAGES, unit="paragraph", shingle="word:3", min_words=5)
    assert result.table["text"].to_pylist() == [PAGES[0], *(page.removesuffix(FOOT) for page in PAGES[1:])]
    assert (result.report["few_words"], result.report["items"], result.report["removed"]) == (8, 8, 3)
    plain = lookalike.dedup(PAGES, unit="paragraph", shingle="word:3").table["text"].to_pylist()
    assert not any("NAME" in text for text in plain[1:])


@pytest.mark.parametrize(("least", "gone", "seldom"), [(2, {FOOT, TWICE}, 0), (3, {FOOT}, 2), (6, set(), 6)])
def test_what_is_repeated_too_seldom_stays(least: int, gone: set[str], seldom: int) -> None:
    """Of the first page there are two, so its own paragraph is there twice, too."""
    result = lookalike.dedup(ALL, unit="paragraph", shingle="word:3", min_words=5, min_count=least)
    before, after = "\n".join(ALL), "\n".join(result.table["text"].to_pylist())
    for each in (FOOT, TWICE):
        assert after.count(each) == (1 if each in gone else before.count(each))
    assert result.report["seldom"] == seldom
    assert ("left" in result.report["certificate"]) == (seldom == 0)


def test_whole_documents_may_be_repeated_some_times() -> None:
    texts = ["one two three four"] * 3 + ["five six seven eight"] * 2
    result = lookalike.dedup(texts, shingle="word:1", min_count=3)
    assert result.kept.tolist() == [True, False, False, True, True]
    assert lookalike.dedup(texts, shingle="word:1", cluster="components", min_count=4).kept.all()


def test_a_small_run_and_a_run_folder_have_the_same(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ALL * 20}), tmp_path / "docs.parquet", row_group_size=7)
    options: dict[str, Any] = {"unit": "paragraph", "shingle": "word:3", "min_words": 5, "min_count": 3}
    whole = lookalike.dedup(tmp_path / "docs.parquet", **options)
    small = lookalike.dedup(tmp_path / "docs.parquet", **options, memory="64MB", threads=1)
    assert small.table == whole.table and small.removed == whole.removed
    whole.save(tmp_path / "run")
    run = lookalike.Run.open(tmp_path / "run")
    assert run.kept == whole.table
    assert (run.options["min_words"], run.options["min_count"]) == (5, 3)


def test_what_they_do_not_go_with() -> None:
    with pytest.raises(OptionError, match="min_words needs unit"):
        lookalike.dedup(["a"], min_words=3)
    with pytest.raises(OptionError, match="min_count is 1"):
        lookalike.dedup(["a"], min_count=1)
    with pytest.raises(OptionError, match="min_count cannot be combined with only_against"):
        lookalike.dedup(["a"], against=["a"], only_against=True, min_count=3)


def test_an_item_of_an_index_counts(tmp_path: Path) -> None:
    with lookalike.Index.create(tmp_path / "seen.idx", shingle="word:1") as index:
        index.add("old", "one two three four")
    texts = ["one two three four", "five six seven", "one two three four"]
    for least, kept in ((2, [False, True, False]), (3, [False, True, False]), (4, [True, True, True])):
        result = lookalike.dedup(texts, against=tmp_path / "seen.idx", min_count=least)
        assert result.kept.tolist() == kept
    for least, kept in ((3, [False, True, False]), (4, [True, True, True])):
        result = lookalike.dedup(texts, against=["one two three four"], shingle="word:1", min_count=least)
        assert result.kept.tolist() == kept
