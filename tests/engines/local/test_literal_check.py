"""verify="text": the same results where nothing collides, and the true ones where something was made to collide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import OptionError
from lookalike.twin.hashing import PUBLIC
from tests.near_copies import near_copies
from tests.reference.forgery import forged_bytes, forged_words
from tests.templates import templates

SENTENCE = "the quick brown fox jumped over fifteen lazy dogs near our old river bank today"
TEXTS = [*near_copies(5, families=30), "", "", "?!", "short", "short", "SHORT!"]


@pytest.fixture(scope="module")
def forged() -> str:
    return " ".join(forged_words(SENTENCE.split(), PUBLIC))


def everything(items: Any, verb: str, **options: Any) -> list[Any]:
    result = getattr(lookalike, verb)(items, **options)
    assert result.report["refused_matches"] == result.report["refused_identical"] == 0
    return [
        result.table.to_pylist(),
        *([result.removed.to_pylist(), result.pairs.to_pylist()] if verb == "dedup" else []),
    ]


@pytest.mark.parametrize("verb", ["pairs", "clusters", "dedup"])
@pytest.mark.parametrize(
    "options",
    [
        {"shingle": "word:2"},
        {"shingle": "char:5", "bands": 20, "rows": 3},
        {"shingle": "word:1:bag", "memory": "64MB"},
        {"shingle": "word:1", "tokens": str.split},
        {"shingle": "word:2", "measure": "containment"},
        {"exact": True},
        {"exact": True, "normalize": ["lower", "punctuation"]},
    ],
    ids=str,
)
def test_ordinary_texts_have_the_same_results(verb: str, options: dict[str, Any]) -> None:
    limit = {} if "exact" in options else {"threshold": 0.5}
    # What only the audit found has no text to be compared by, and is left out of `verify="text"`.
    exact = everything(TEXTS, verb, audit=0, **limit, **options)
    assert exact[0]
    assert everything(TEXTS, verb, audit=0, verify="text", **limit, **options) == exact


@pytest.mark.parametrize("verb", ["pairs", "clusters", "dedup"])
@pytest.mark.parametrize("options", [{}, {"bands": 3, "rows": 2}, {"measure": "containment"}], ids=str)
def test_ordinary_sets_have_the_same_results(verb: str, options: dict[str, Any]) -> None:
    """Of templates, so that there are giant buckets with leaders among them."""
    for items in (templates("around", 1, threshold=0.6), [{str(x) for x in item} for item in templates("chain", 2)]):
        exact = everything(items, verb, threshold=0.6, audit=0, **options)
        assert exact[0]
        assert everything(items, verb, threshold=0.6, audit=0, verify="text", **options) == exact


def test_groups_and_another_collection_have_the_same_results() -> None:
    table = pa.table({"text": TEXTS, "part": [str(i % 2) for i in range(len(TEXTS))]})
    options: dict[str, Any] = {"shingle": "word:2", "threshold": 0.5}
    assert everything(table, "dedup", group_by="part", **options) == everything(
        table, "dedup", group_by="part", verify="text", **options
    )
    assert everything(TEXTS[40:], "dedup", against=TEXTS[:40], **options) == everything(
        TEXTS[40:], "dedup", against=TEXTS[:40], verify="text", **options
    )


@pytest.mark.parametrize(
    "options", [{}, {"shingle": "word:2"}, {"measure": "containment"}, {"bands": 4, "rows": 2}], ids=str
)
def test_what_was_made_to_collide_is_not_removed_and_not_listed(forged: str, options: dict[str, Any]) -> None:
    items = [forged, SENTENCE]
    assert lookalike.dedup(items, **options).removed.num_rows == 1
    for verb in (lookalike.pairs, lookalike.clusters, lookalike.dedup):
        result = verb(items, verify="text", **options)
        assert result.report["pairs"] == 0
        assert (result.report["refused_identical"], result.report["refused_matches"]) == (1, 1)
        assert result.report["verify"] == "text"
    assert lookalike.dedup(items, verify="text", **options).removed.num_rows == 0
    warned = lookalike.dedup(items, verify="text", **options).report
    assert warned["items"] == 2


def test_the_real_copies_of_what_was_forged_are_still_found(forged: str) -> None:
    """The forged text comes first and leads all of them by its fingerprint, and keeps nothing but itself."""
    near = SENTENCE.replace("today", "yesterday")
    items = {"forged": forged, "real": SENTENCE, "copy": SENTENCE.upper(), "near": near, "other": "something else"}
    options: dict[str, Any] = {"shingle": "word:1", "threshold": 0.8, "verify": "text"}
    removed = lookalike.dedup(items, **options).removed.to_pylist()
    assert removed == [
        {"id": "copy", "kept": "real", "similarity": 1.0},
        {"id": "near", "kept": "real", "similarity": 14 / 16},
    ]
    assert {(a, b): s for a, b, s in lookalike.pairs(items, **options)} == {
        ("copy", "real"): 1.0, ("copy", "near"): 14 / 16, ("near", "real"): 14 / 16,
    }  # fmt: skip


def test_a_pair_has_the_similarity_of_its_texts(forged: str) -> None:
    """Five of the words collide only, so that ten of twenty are shared, and not all fifteen."""
    mixed = " ".join([*forged.split()[:5], *SENTENCE.split()[5:], "and", "more"])
    options: dict[str, Any] = {"shingle": "word:1", "threshold": 0.4}
    ((_, _, by_hash),) = lookalike.pairs([mixed, SENTENCE], **options)
    ((_, _, by_text),) = lookalike.pairs([mixed, SENTENCE], verify="text", **options)
    assert (by_hash, by_text) == (15 / 17, 10 / 22)
    assert len(lookalike.pairs([mixed, SENTENCE], verify="text", shingle="word:1", threshold=0.5)) == 0


def test_sets_of_strings_are_compared_by_their_strings() -> None:
    target = [f"element {i}".encode() for i in range(8)]
    made = [forged_bytes(each, b"forged %d" % i, PUBLIC) for i, each in enumerate(target)]
    items = pa.table({"items": pa.array([made, target, target], pa.list_(pa.binary()))})
    assert [(a, b) for a, b, _ in lookalike.pairs(items)] == [(0, 1), (0, 2), (1, 2)]
    for options in ({}, {"exact": True}, {"measure": "containment"}):
        assert [(a, b) for a, b, _ in lookalike.pairs(items, verify="text", **options)] == [(1, 2)]


def test_people_are_warned_of_items_that_were_made_to_collide(forged: str, tmp_path: Path) -> None:
    from lookalike.report.plain_data import warnings

    report = lookalike.dedup([forged, SENTENCE], verify="text").report
    assert warnings(report) == [
        "1 item identical by hash, but not in fact: somebody made the hashes collide",
        "1 pair alike by hash, but not in fact: somebody made the hashes collide",
    ]


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([[0.5, 1.0]], {}, "verify=text is for the Jaccard similarity and containment of text and sets"),
        (["a"], {"measure": "weighted-jaccard"}, "verify=text is for the Jaccard similarity and containment"),
        (["a"], {"max_share": 0.5}, "verify=text cannot be combined with max_share, because it compares all tokens"),
        (["a"], {"exact": True, "normalize": "digits", "bands": 2, "rows": 2}, "exact matches identical items only"),
    ],
)
def test_it_is_for_text_and_sets(items: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        lookalike.pairs(items, verify="text", **options)
