"""Every example runs, finds what it planted and nothing else, and prints what examples/README.md shows."""

from __future__ import annotations

import importlib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from examples.news import TOPICS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")


def run(name: str) -> Any:
    return importlib.import_module(f"examples.{name}").main()


def groups(found: list[list[str]]) -> set[frozenset[str]]:
    return {frozenset(group) for group in found}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_examples_lists_each_with_its_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(name)
    assert f"## [{name}.py]({name}.py)" in README
    assert f"```\n{capsys.readouterr().out}```" in README


def test_the_page_of_examples_lists_no_others() -> None:
    assert README.count("\n## ") == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_read_at_a_glance(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 55


def test_web_pages_are_told_apart_by_their_main_text() -> None:
    whole, found = run("web_pages")
    # As they are, pages of one site are alike whatever they say, and no mirror is like its original.
    news, mirror = ([f"{site}.example/{n}" for n in range(count)] for site, count in (("news", 10), ("mirror", 3)))
    assert whole == {*combinations(news, 2), *combinations(mirror, 2)}
    towns = ("ashford", "bewley", "corby", "dunmore", "elston", "farley", "granby", "hexley")
    farm = frozenset(f"locks-{town}.example" for town in towns)
    assert groups(found) == {farm, *(frozenset({f"news.example/{n}", f"mirror.example/{n}"}) for n in range(3))}


def test_news_clusters_are_the_stories() -> None:
    articles, found = run("news")
    stories = {topic: frozenset(each for each in articles if each.endswith(topic)) for topic in TOPICS}
    assert sum(map(len, stories.values())) == len(articles)
    assert groups(found) == {versions for versions in stories.values() if len(versions) > 1}


def test_training_data_loses_what_is_repeated_and_nothing_else() -> None:
    tables = run("training_data")
    texts = {name: table["text"].to_pylist() for name, table in tables.items()}
    assert texts["no near-copies"] == texts["crawled"][:200]
    notice = "This site uses cookies"
    assert sum(text.count(notice) for text in texts["no near-copies"]) == 200
    assert sum(text.count(notice) for text in texts["no repeated lines"]) == 1
    everything = "\n".join(texts["no test set"]).lower()
    for question in texts["exam"]:
        assert question.lower() in "\n".join(texts["no repeated lines"]).lower()
        assert question.lower() not in everything
    # Each document still has the two paragraphs of its own.
    own = [text.split("\n\n")[1:3] for text in texts["crawled"][:200]]
    assert all(part.lower() in everything for parts in own for part in parts)


def test_twins_have_similar_tastes_and_the_box_has_the_buyers_of_the_record() -> None:
    users, products = run("tastes")
    assert [pair[:2] for pair in users] == [(fan, f"{fan}'s twin") for fan in ("folk fan 3", "jazz fan 0")]
    assert [pair[:2] for pair in products] == [("box of hits", "hits")]


def test_second_accounts_have_the_neighbours_of_the_first() -> None:
    pairs = run("vertices")
    assert len(pairs) == 3
    assert all(other == f"{one} again" for one, other, _ in pairs)


def test_the_bots_of_a_farm_click_alike() -> None:
    assert groups(run("clicks")) == {frozenset(f"{farm} bot {n}" for n in range(6)) for farm in ("red", "blue")}


def test_versions_of_a_picture_are_found_by_pixels_and_by_bits() -> None:
    planted = {frozenset({f"{n}.png", f"{n}-small.jpg", f"{n}-bright.webp"}) for n in (4, 9)}
    by_pixels, by_hash = run("pictures")
    assert groups(by_pixels) == groups(by_hash) == planted


def test_the_nearest_embedding_is_the_one_that_was_meant() -> None:
    answers, first, recall = run("embeddings")
    assert [answer.split()[1] for answer in answers] == ["ferry", "clock", "bread"]
    assert first == 1.0
    # Comparing all is the cheapest way here, so the exact ten are found.
    assert recall == 1.0


def test_old_pages_are_recognised_and_new_ones_are_not() -> None:
    seen, new = run("seen_before")
    assert seen == {"/moved": "/old/120", "/dated": "/old/7"}
    assert new == ["/quotes", "/new", "/also-new"]
