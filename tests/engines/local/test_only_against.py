"""Items removed for those of another collection and for nothing else: by plain comparison of all pairs of the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike
from lookalike import OptionError
from tests.engines.local.test_across import CASES, halves
from tests.limited import limited


def expected(own: pa.Table, other: pa.Table, options: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """What each item goes for by the pairs of the two: the most similar, of equal ones the same or the first one."""
    found = lookalike.pairs(own, against=other, **options)
    assert found.plan is None or found.plan.exhaustive
    scale = found.found.config.scale
    best: dict[str, tuple[float, bool, int, float]] = {}
    place = {name: at for at, name in enumerate(other["id"].to_pylist())}
    for row in found.table.to_pylist():
        mine, theirs = (row["a"], row["b"]) if row["a"][0] == "a" else (row["b"], row["a"])
        told = row[scale.column]
        # Of a set inside another both shares tell whether they are the same.
        same = told == row.get("b_in_a")
        better = (told if scale.column == "similarity" else -told, same, -place[theirs], told)
        best[mine] = max(best.get(mine, better), better)
    names = other["id"].to_pylist()
    return {mine: (names[-at], told) for mine, (_, _, at, told) in best.items()}


@pytest.mark.parametrize("bucket", [None, 3])
@pytest.mark.parametrize("case", CASES)
def test_an_item_goes_for_the_most_similar_one_of_the_other_collection(
    case: str, bucket: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, options, bands = CASES[case]
    own, other = halves(make())
    options = options | {"column": "item", "id": "id"}
    goes = expected(own, other, options)
    if bucket is not None:
        limited(monkeypatch, bucket=bucket)
        options = options | bands
    result = lookalike.dedup(own, against=other, only_against=True, **options)
    column = result.found.config.scale.column
    removed = {row["id"]: (row["kept"], row[column]) for row in result.removed.to_pylist()}
    assert removed == goes
    assert 10 < len(removed) <= len(own)
    assert all(row["against"] for row in result.removed.to_pylist())
    # Near-duplicates among the kept stay.
    kept = [name for name in own["id"].to_pylist() if name not in goes]
    assert result.kept.tolist() == [name not in goes for name in own["id"].to_pylist()]
    assert result.table["id"].to_pylist() == kept
    assert result.report["removed"] == result.report["removed_against"] == len(goes)


def test_the_report_tells_which_items_were_hit() -> None:
    own, other = halves(CASES["text"][0]())
    options: dict[str, Any] = {"column": "item", "id": "id", **CASES["text"][1]}
    matched = lookalike.pairs(own, against=other, **options).table["b"].to_pylist()
    report = lookalike.dedup(own, against=other, only_against=True, **options).report
    hit = {row["id"]: row["matches"] for row in report["hit_items"]}
    assert hit == {name: matched.count(name) for name in matched}
    assert list(hit.values()) == sorted(hit.values(), reverse=True)
    assert report["items_hit"] == len(hit) > 50


def test_a_sample_says_what_is_left() -> None:
    """Bands that miss much and no mending of it: of each missed pair the audit saw, one item is still there."""
    own, other = halves(CASES["text"][0]())
    options: dict[str, Any] = {"column": "item", "id": "id", "threshold": 0.5, "shingle": "word:2"}
    found = lookalike.dedup(
        own, against=other, only_against=True, **options, bands=2, rows=6, verify="sketch", audit=10_000
    )
    certificate = found.report["certificate"]
    truth = expected(own, other, options)
    rows = dict(zip(own["id"].to_pylist(), own["item"].to_pylist(), strict=True))
    left = {name for name in truth if rows[name].strip(".")} - set(found.removed["id"].to_pylist())
    assert 0 < len(left) <= certificate["left"]["high"]
    assert "the other collection" in certificate["statement"]


def test_what_does_not_go_with_it_is_refused(tmp_path: Path) -> None:
    texts = ["a b"]
    with pytest.raises(OptionError, match=r"^only_against needs another collection"):
        lookalike.dedup(texts, only_against=True)
    with pytest.raises(OptionError, match=r"^keep cannot be combined with only_against"):
        lookalike.dedup(texts, against=texts, only_against=True, keep="longest")
    with pytest.raises(OptionError, match=r"^cluster cannot be combined with only_against"):
        lookalike.dedup(texts, against=texts, only_against=True, cluster="components")
    lookalike.Index.create(tmp_path / "seen.idx").close()
    with pytest.raises(OptionError, match="only_against"):
        lookalike.dedup(texts, against=tmp_path / "seen.idx", only_against=True)


def test_references_that_are_too_short_for_their_similarity_are_said_to_need_containment() -> None:
    questions = [f"which planet {i} of all planets has the most moons known today" for i in range(5)]
    pages = [f"{' '.join(f'word{i}x{j}' for j in range(200))} {text}" for i, text in enumerate(questions)]
    found = lookalike.dedup(pages, against=questions, only_against=True)
    (said,) = (line for line in found.report["warnings"] if "containment" in line)
    assert said == (
        "no match, and half of the references have 8 shingles or fewer, half of the items 208 or more: too different "
        "in length for a Jaccard similarity of 0.8; "
        "measure (--measure) containment finds short texts inside longer ones"
    )
    within = lookalike.dedup(pages, against=questions, only_against=True, measure="containment")
    alike = lookalike.dedup(pages, against=pages[:3], only_against=True)
    for other, removed in ((within, 5), (alike, 3)):
        assert len(other.removed) == removed
        assert not [line for line in other.report["warnings"] if "containment" in line]
