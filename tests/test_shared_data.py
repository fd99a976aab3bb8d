"""Real data with exact truth: precision 1, and recall as planned, from both sides.

A true pair of similarity s is found with probability P(s), the S-curve. Pairs of one family (a component of the truth)
rise and fall together, families do so independently of each other. So there are two tests of the number found:

- of one pair from each family, over all seeds: independent trials, refused where the exact tail of their sum (the
  Poisson-binomial distribution) is below 1e-6 on either side;
- of all pairs: a sum of variables in families has a variance of at most Σ over families of (Σ sqrt(P(1 - P)))², as if
  each family were fully dependent; refused beyond five such standard errors on either side.

A recall of 0.99 leaves little to miss, so the same is measured for a plan that asks for 0.6: one that found more than
it should would show there.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.theory import expected_recall
from lookalike.twin.text import shingles
from tests.reference.sets import jaccard

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LOWER = frozenset({"lower"})
TAIL = 1e-6
SEEDS = range(3)

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="NOT TESTED ON REAL DATA: there is no folder ../shared/data beside the project"
)

Truth = dict[tuple[str, str], float]


def read_docs(name: str) -> dict[str, str]:
    with (DATA / name / "docs.jsonl").open(encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


def read_truth(name: str) -> Truth:
    rows = (line.split("\t") for line in (DATA / name / "exact_jaccard.tsv").read_text(encoding="utf-8").splitlines())
    return {(min(a, b), max(a, b)): float(similarity) for a, b, similarity in rows}


@pytest.fixture(scope="module")
def spdx() -> tuple[Any, Truth, dict[str, Any]]:
    """The licences, without two whose Chinese sentences the truth takes for one word each."""
    docs = {name: text for name, text in read_docs("spdx").items() if not name.startswith("MulanPSL")}
    truth = {pair: s for pair, s in read_truth("spdx").items() if pair[0] in docs and pair[1] in docs}
    assert len(truth) == 1586
    return docs, truth, {"shingle": "word:3"}


@pytest.fixture(scope="module")
def tags() -> tuple[Any, Truth, dict[str, Any]]:
    lines = (DATA / "citeulike_item_tags" / "sets.txt").read_text().splitlines()
    return [{int(tag) for tag in line.split()} for line in lines], read_truth("citeulike_item_tags"), {}


def edge_rows() -> list[tuple[str, str]]:
    """(article, tag) of the first articles, and tags that stand in several of them."""
    lines = (DATA / "citeulike_item_tags" / "sets.txt").read_text().splitlines()[:2500]
    rows = [(f"a{i}", f"t{tag}") for i, line in enumerate(lines) for tag in line.split()]
    count = Counter(tag for _, tag in rows)
    return [(article, tag) for article, tag in rows if count[tag] >= 4]


def sets_of(rows: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    sets: dict[str, set[str]] = defaultdict(set)
    for name, element in rows:
        sets[name].add(element)
    return sets


def all_alike(sets: dict[str, set[str]], threshold: float) -> Truth:
    """Every pair at or above the threshold, by counting what it shares."""
    inverted, shared = sets_of((element, name) for name, each in sets.items() for element in each), Counter[Any]()
    for names in inverted.values():
        shared.update(combinations(sorted(names), 2))
    exact = {(a, b): n / (len(sets[a]) + len(sets[b]) - n) for (a, b), n in shared.items()}
    return {pair: similarity for pair, similarity in exact.items() if similarity >= threshold}


def edge_case(rows: list[tuple[str, str]], of: str, *, undirected: bool = False) -> tuple[Any, Truth, dict[str, Any]]:
    table = pa.table({"article": [a for a, _ in rows], "tag": [t for _, t in rows]})
    by = "tag" if of == "article" else "article"
    ends = [(a, t) if of == "article" else (t, a) for a, t in rows]
    ends += [(b, a) for a, b in ends] if undirected else []
    return lookalike.edges(table, of, by, undirected=undirected), all_alike(sets_of(ends), 0.5), {}


@pytest.fixture(scope="module")
def articles() -> tuple[Any, Truth, dict[str, Any]]:
    return edge_case(edge_rows(), "article")


@pytest.fixture(scope="module")
def labels() -> tuple[Any, Truth, dict[str, Any]]:
    return edge_case(edge_rows(), "tag")


@pytest.fixture(scope="module")
def vertices() -> tuple[Any, Truth, dict[str, Any]]:
    return edge_case(edge_rows(), "article", undirected=True)


def tails(found: int, chances: Sequence[float]) -> tuple[float, float]:
    """P(X <= found) and P(X >= found) for the sum X of independent trials with these chances."""
    mass = np.ones(1)
    for chance in chances:
        mass = np.convolve(mass, [1.0 - chance, chance])
    return float(mass[: found + 1].sum()), float(mass[found:].sum())


def check_found(true: Truth, chances: dict[tuple[str, str], float], runs: list[set[tuple[str, str]]]) -> str:
    """Refuse a number of found pairs that the curve does not explain; what was measured, for the reader."""
    graph = networkx.Graph(list(true))
    families = [set(each) for each in networkx.connected_components(graph)]
    of_family = [[pair for pair in true if pair[0] in family] for family in families]

    # The pair whose fate is least sure, chosen before anything is looked at.
    chosen = [min(pairs, key=lambda pair: (abs(chances[pair] - 0.5), pair)) for pairs in of_family]
    hits = sum(pair in run for run in runs for pair in chosen)
    below, above = tails(hits, [chances[pair] for pair in chosen] * len(runs))
    assert below > TAIL, f"{hits} of {len(chosen) * len(runs)} independent pairs found: too few"
    assert above > TAIL, f"{hits} of {len(chosen) * len(runs)} independent pairs found: too many"

    found, expected = sum(map(len, runs)), len(runs) * sum(chances.values())
    spread = [sum(math.sqrt(chances[pair] * (1.0 - chances[pair])) for pair in pairs) for pairs in of_family]
    error = math.sqrt(len(runs) * sum(each**2 for each in spread))
    # Bernstein: families are found or missed independently, each at most as a whole.
    largest, log = max(map(len, of_family), default=0), math.log(2.0 / TAIL)
    most = largest * log / 3.0 + math.sqrt((largest * log / 3.0) ** 2 + 2.0 * error**2 * log)
    assert abs(found - expected) <= most + 1e-6, f"{found} pairs found, {expected:.1f} +- {error:.1f} expected"
    total = len(runs) * len(true)
    if not total:
        return "nothing to find"
    return f"recall {found / total:.4f}, expected {expected / total:.4f} +- {error / total:.4f}"


@pytest.mark.parametrize("recall", [0.99, 0.6])
@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("collection", ["spdx", "tags", "articles", "labels", "vertices"])
def test_precision_is_one_and_recall_as_planned(
    collection: str,
    threshold: float,
    recall: float,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    items, truth, options = request.getfixturevalue(collection)
    true = {pair: similarity for pair, similarity in truth.items() if similarity >= threshold}
    runs = []
    for seed in SEEDS:
        # Without the audit, which would find what the bands miss.
        result = lookalike.pairs(items, threshold=threshold, recall=recall, seed=seed, audit=0, **options)
        pairs = {(min(str(a), str(b)), max(str(a), str(b))): similarity for a, b, similarity in result}
        assert pairs.keys() <= true.keys(), "a pair that is none"
        assert all(abs(true[pair] - similarity) <= 1e-6 for pair, similarity in pairs.items())
        runs.append(set(pairs))
    plan = result.plan
    assert plan is not None
    measured = check_found(true, {pair: plan.probability(s) for pair, s in true.items()}, runs)
    with capsys.disabled():
        print(f"\n{collection} at {threshold}, {plan.bands} x {plan.rows}, {len(true)} pairs: {measured}")  # noqa: T201


def test_the_plagiarised_articles_are_found_and_nothing_else() -> None:
    docs = read_docs("mccormick_1000")
    lines = (DATA / "mccormick_1000" / "truth_pairs.tsv").read_text().splitlines()
    truth = {frozenset(line.split("\t")) for line in lines}
    exact = [jaccard(*(shingles(docs[name].encode(), "word", 5, LOWER) for name in pair)) for pair in truth]
    # At the least similar of them, 0.96, the plan for 0.5 misses one with probability below 1e-100.
    assert min(exact) > 0.95
    result = lookalike.pairs(docs, threshold=0.5)
    assert {frozenset((a, b)) for a, b, _ in result} == truth
    assert len(lookalike.dedup(docs, threshold=0.5)) == 990


def test_chinese_pages_of_one_template_are_told_apart() -> None:
    """Every reported pair of a random sample has exactly its similarity, and every removed page matches its keeper."""
    path = DATA / "azure_zh_2000" / "docs.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        docs = {row["id"]: row["text"] for row in map(json.loads, lines)}
    result = lookalike.dedup(path, id="id", threshold=0.5)
    assert result.report["items"] == len(docs) == 2000
    pairs = result.pairs.to_pylist()
    assert len(pairs) > 100
    rows = random.Random(0).sample(pairs, 15)
    rows += [{"a": row["id"], "b": row["kept"], "similarity": row["similarity"]} for row in
             random.Random(1).sample(result.removed.to_pylist(), 15)]  # fmt: skip
    for row in rows:
        sets = [shingles(docs[row[name]].encode(), "word", 5, LOWER) for name in ("a", "b")]
        assert row["similarity"] == float(jaccard(*sets)) >= 0.5


@pytest.mark.parametrize("recall", [0.9, 0.99])
def test_the_nearest_of_real_queries_are_found_as_asked(recall: float) -> None:
    base, queries, top = (np.load(DATA / "glove_50k" / f"{name}.npy") for name in ("base", "queries", "top100"))
    result = lookalike.neighbors(base, queries, k=10, recall=recall)
    shares = [len(set(row) & set(best)) / 10 for row, best in zip(result, top[:, :10].tolist(), strict=True)]
    # The truth was computed in other digits: one of a thousand neighbours may differ where two are as near.
    assert np.mean(shares) >= recall - 0.001


def test_all_pairs_of_real_vectors_are_those_of_brute_force() -> None:
    base = np.load(DATA / "glove_50k" / "base.npy")[:12_000].astype(np.float32)
    wide = base.astype(np.float64) / np.linalg.norm(base.astype(np.float64), axis=1, keepdims=True)
    cosines = np.concatenate([wide[at : at + 2000] @ wide.T for at in range(0, len(wide), 2000)])
    left, right = np.nonzero(np.triu(cosines >= 0.7, k=1))
    truth = dict(zip(zip(left.tolist(), right.tolist(), strict=True), cosines[left, right].tolist(), strict=True))
    found = {(a, b): s for a, b, s in lookalike.pairs(base, threshold=0.7)}
    assert found == pytest.approx(truth)
    runs = [
        {(a, b) for a, b, _ in lookalike.pairs(base, threshold=0.7, bands=40, rows=11, seed=s, audit=0)}
        for s in range(12)
    ]
    assert all(run <= truth.keys() for run in runs)
    expected = float(expected_recall(list(truth.values()), 40, 11, "cosine")[0])
    shares = [len(run) / len(truth) for run in runs]
    # All pairs share the random directions of a seed, so the spread between seeds is the error.
    assert abs(np.mean(shares) - expected) < 5 * np.std(shares, ddof=1) / math.sqrt(len(shares))
