"""Agreement with a truth, by counting, and what a truth may look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lookalike.errors import InputError
from lookalike.tuning.gold import agreements, gold_of_labels, read_gold


def test_precision_recall_and_f1_are_those_of_sets() -> None:
    rng = np.random.default_rng(0)
    pairs = sorted({tuple(sorted(rng.choice(40, 2, replace=False).tolist())) for _ in range(150)})
    scores = rng.random(len(pairs))
    truth = {pair for pair, score in zip(pairs, scores, strict=True) if rng.random() < score} | {(38, 39), (0, 39)}
    gold = read_gold([(f"x{a}", f"x{b}") for a, b in truth], [f"x{i}" for i in range(40)], None)
    assert len(gold) == len(truth) and gold.unknown == 0
    ends = [end for pair in truth for end in pair]
    assert gold.most() == max(ends.count(end) for end in ends)
    left, right = np.array(pairs).T
    for each in agreements(gold, left, right, scores, 40):
        found = {pair for pair, score in zip(pairs, scores, strict=True) if score >= each.threshold}
        both = len(found & truth)
        assert each.pairs == len(found)
        assert each.precision == (both / len(found) if found else 1.0)
        assert each.recall == both / len(truth)
        assert each.f1 == pytest.approx(2 * both / (len(found) + len(truth)))
        for share, (low, high) in (
            (each.precision, each.precision_interval),
            (each.recall, each.recall_interval),
            (each.f1, each.f1_interval),
        ):
            assert 0.0 <= low <= share + 1e-12 and share - 1e-12 <= high <= 1.0


def test_the_interval_of_f1_holds_the_true_one_as_often_as_it_says() -> None:
    """Of 400 collections of 300 pairs that are found or not, and true or not, with known chances."""
    rng = np.random.default_rng(1)
    held, trials, n = 0, 400, 300
    found_true, found_false, missed = 0.6, 0.2, 0.2
    expected = 2 * found_true / (found_true + found_false + found_true + missed)
    for _ in range(trials):
        kind = rng.choice(3, n, p=[found_true, found_false, missed])
        left = 2 * np.arange(n)
        ids = list(range(2 * n))
        gold = read_gold([(int(a), int(a) + 1) for a in left[kind != 1]], ids, None)
        there = kind != 2
        [one] = agreements(gold, left[there], left[there] + 1, np.full(there.sum(), 0.7), 2 * n, np.array([0.5]))
        held += one.f1_interval[0] <= expected <= one.f1_interval[1]
    # Four standard deviations of a share of 0.95 among 400.
    assert held / trials == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / trials))


@pytest.mark.parametrize("text", ["a\tb\nb\tc\n", "a,b\nb,c\n", "a b\n\nc b\n", '"a","b"\n"b","c"\n'])
def test_a_truth_is_a_file_of_pairs(text: str, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text(text)
    gold = read_gold(tmp_path / "gold.tsv", ["a", "b", "c"], None)
    assert (gold.left.tolist(), gold.right.tolist()) == ([0, 1], [1, 2])


def test_of_two_collections_either_may_come_first() -> None:
    gold = read_gold([("x", 7), (8, "y"), ("z", 9), ("x", "y")], ["x", "y"], [7, 8, 9])
    assert (gold.left.tolist(), gold.right.tolist(), gold.unknown) == ([0, 1], [0, 1], 2)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([("p", "q")], "none of the 1 known matches has both ids in the input"),
        (["ab"], "truth holds 'ab': pairs of two ids are needed"),
        ("missing.tsv", "missing.tsv cannot be read"),
    ],
)
def test_what_is_no_truth_is_said(truth: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_gold(truth, ["a", "b"], None)


def test_a_line_without_two_ids_is_named(tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("a b\nalone\n")
    with pytest.raises(InputError, match=r"gold.tsv line 2: expected two ids"):
        read_gold(tmp_path / "gold.tsv", ["a", "b"], None)


def test_items_with_one_label_are_the_same() -> None:
    rng = np.random.default_rng(2)
    own, other = ([each or None for each in rng.choice(["a", "b", "c", ""], size).tolist()] for size in (20, 15))
    found = gold_of_labels(pa.array(own), None)
    pairs = {(i, j) for i in range(20) for j in range(i + 1, 20) if own[i] is not None and own[i] == own[j]}
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == pairs and len(found) == len(pairs) > 20
    found = gold_of_labels(pa.array(own), pa.array(other))
    across = {(i, j) for i in range(20) for j in range(15) if own[i] is not None and own[i] == other[j]}
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == across and len(found) == len(across)
    with pytest.raises(InputError, match="no two items have the same label"):
        gold_of_labels(pa.array(["a", "b", None, None]), None)
