"""Items to look at: the best where they can be read again, those that were caught where not."""

from __future__ import annotations

from typing import Any

import pytest

import lookalike


def _items() -> dict[str, set[int]]:
    sets = {f"s{number}": set(range(1000 * number, 1000 * number + 40)) for number in range(60)}
    copies = {
        f"c{number}-{copy}": sets[f"s{number}"] - {1000 * number + copy} for number in range(9) for copy in range(6)
    }
    return sets | copies


def _texts(examples: dict[str, Any]) -> list[str]:
    clusters = [item["text"] for each in examples["largest_clusters"] for item in (each["kept"], *each["members"])]
    return clusters + [item["text"] for pair in examples["sample_pairs"] for item in (pair["a"], pair["b"])]


def test_examples_are_read_again_where_that_is_cheap() -> None:
    found = lookalike.dedup(_items()).full_report()
    assert [each["size"] for each in found["largest_clusters"]] == [7] * 9
    assert [len(each["members"]) for each in found["largest_clusters"]] == [3] * 9
    assert len(found["sample_pairs"]) == 12
    assert all(_texts(found))


def test_of_a_large_collection_there_is_what_was_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.report.examples._FEW_BYTES", 0)
    result = lookalike.dedup(_items())
    found = result.full_report()
    caught = set(result.found.matched.specimens.values())
    assert found["sample_pairs"]
    assert set(_texts(found)) <= caught | {""}


def test_pairs_spread_from_the_least_alike_to_the_most() -> None:
    found = lookalike.dedup(_items()).full_report()["sample_pairs"]
    similarities = [pair["similarity"] for pair in found]
    assert similarities == sorted(similarities)
    assert (similarities[0], similarities[-1]) == (38 / 40, 39 / 40)


def test_examples_of_paragraphs_are_paragraphs() -> None:
    paragraph = "one and the same paragraph, which all of the documents begin with"
    documents = [f"{paragraph}\n\nparagraph number {number} of another kind altogether" for number in range(3)]
    found = lookalike.dedup(documents, unit="paragraph", shingle="word:2").full_report()
    assert found["largest_clusters"][0]["kept"]["text"] == paragraph
