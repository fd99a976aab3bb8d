"""A recall of 1: all pairs are compared, however many there are, and none is missed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import lookalike
from lookalike.errors import OptionError

RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(2200, 12)).astype(np.float32)
VECTORS[1100:] = VECTORS[:1100] + 0.35 * RNG.normal(size=(1100, 12)).astype(np.float32)


def texts(seed: int = 0) -> list[str]:
    """More than are compared for nothing, with copies in which up to half of the words are others."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(5_000)]
    first = [rng.choices(words, k=40) for _ in range(1_300)]
    again = [[rng.choice(words) if rng.random() < rng.random() / 2 else word for word in text] for text in first]
    return [" ".join(text) for text in first + again]


def cosine() -> set[tuple[int, int]]:
    unit = VECTORS.astype(np.float64) / np.linalg.norm(VECTORS.astype(np.float64), axis=1)[:, None]
    return {(int(a), int(b)) for a, b in np.argwhere(np.triu(unit @ unit.T >= 0.8, 1))}


def euclidean() -> set[tuple[int, int]]:
    apart = np.linalg.norm(VECTORS[:, None].astype(np.float64) - VECTORS.astype(np.float64), axis=2)
    return {(int(a), int(b)) for a, b in np.argwhere(np.triu(apart <= 1.4, 1))}


def hamming() -> set[tuple[int, int]]:
    bits = VECTORS > 0
    return {(int(a), int(b)) for a, b in np.argwhere(np.triu((bits[:, None] == bits).mean(axis=2) >= 0.9, 1))}


@pytest.mark.parametrize(
    ("items", "options", "truth"),
    [
        (VECTORS, {"threshold": 0.8}, cosine),
        (VECTORS, {"measure": "euclidean", "max_distance": 1.4}, euclidean),
        (VECTORS > 0, {"measure": "hamming", "threshold": 0.9}, hamming),
    ],
    ids=["cosine", "euclidean", "hamming"],
)
def test_vectors_and_bits(items: Any, options: dict[str, Any], truth: Any) -> None:
    found = lookalike.pairs(items, recall=1.0, audit=0, **options)
    assert found.plan is not None and found.plan.exhaustive and found.plan.expected_recall == 1.0
    expected = truth()
    assert {(a, b) for a, b, _ in found} == expected and len(expected) > 100


@pytest.mark.parametrize("verb", ["pairs", "dedup"])
def test_texts_that_bands_would_be_made_for(verb: str) -> None:
    rows = texts()
    sets = [set(text.split()) for text in rows]
    expected = {
        (a, b) for a in range(1300) for b in range(1300, 2600) if len(sets[a] & sets[b]) / len(sets[a] | sets[b]) >= 0.5
    }
    options: dict[str, Any] = {"shingle": "word:1", "threshold": 0.5}
    planned = lookalike.pairs(rows, **options).plan
    assert planned is not None and not planned.exhaustive
    if verb == "pairs":
        found = lookalike.pairs(rows, recall=1.0, **options)
        assert {(a, b) for a, b, _ in found} == expected and len(expected) > 500
        assert found.report["certificate"]["statement"].startswith(f"found {len(expected):,} pairs with ")
    else:
        removed = lookalike.dedup(rows, recall=1.0, **options).removed
        assert {(row["kept"], row["id"]) for row in removed.to_pylist()} == expected


def test_what_does_not_go_with_it() -> None:
    for options, message in (
        ({"verify": "sketch"}, "recall=1 compares all pairs exactly"),
        ({"verify": "none"}, "recall=1 compares all pairs exactly"),
    ):
        with pytest.raises(OptionError, match=message):
            lookalike.pairs(["a b"], recall=1.0, **options)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="recall=1 is not possible for an index"):
        lookalike.Index.create(None, recall=1.0)
    table = {"v": list(VECTORS[:20]), "g": ["a"] * 20}
    import pyarrow as pa

    with pytest.raises(OptionError, match="which does not go with group_by"):
        lookalike.pairs(pa.table(table), vectors="v", recall=1.0, group_by="g", threshold=0.9)
    assert str(lookalike.plan(0.8, 1.0)).startswith("every pair compared for jaccard >= 0.8")
