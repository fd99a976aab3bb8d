"""Run a trial, and hold what came out against the truth: every difference is a line that says which rule was broken."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lookalike
from benchmarks.hostile_clusters import judge_clusters
from benchmarks.hostile_run import Answer, Verdict, ends, run
from benchmarks.hostile_trials import Trial, shuffled
from benchmarks.hostile_truth import Truth, raw_of, shingles_of, truth_of
from benchmarks.hostile_ways import hand_over
from lookalike.errors import LookalikeError
from lookalike.report.explain import compare_texts
from lookalike.shingle import parse_shingle

__all__ = ["judge"]

# The signatures of cosine may lose one pair in 100,000 beside what the bands lose (docs/internals.md).
SIGNATURE_LOSS = 1e-5
# Under any dependence of pairs on one another, more than `missed` of them are missed with a chance of at most
# expected / missed (Markov). Below this chance one trial of 10,000 is a finding by itself, 10⁻⁶ for all of them.
ALARM = 1e-10
# Errors that the documents announce, by what may cause them.
REFUSED = [
    r"^there are no items",
    r"holds lists of 0 and 1, all of one length",
    r"holds rows of \d+ numbers, and \S+ takes sets",
    r"there are no (items|queries)",
    r"holds null: an item must be",
    r"holds only nulls$",
    r"and those to compare with are sets",
    r"components, and those to compare with have",
    r"^which column holds the items",
    r"reach .* at most$",
    r"items: an array of \d+ x 0 has no vectors",
]


def judge(trial: Trial, folder: Path) -> Verdict:
    """Run the trial and compare."""
    verdict = Verdict()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if trial.verb == "neighbors":
                _judge_neighbors(trial, verdict)
            elif trial.verb == "compare":
                _judge_comparison(trial, verdict)
            else:
                _judge_run(trial, folder, verdict)
        except LookalikeError as error:
            verdict.refused = f"{type(error).__name__}: {error}"
            if not any(re.search(known, str(error)) for known in REFUSED):
                verdict.findings.append(f"refused: {verdict.refused}")
    verdict.findings += [
        f"warned: {each.category.__name__}: {each.message} ({each.filename}:{each.lineno})" for each in caught
    ]
    return verdict


def _judge_run(trial: Trial, folder: Path, verdict: Verdict) -> None:
    values, limit = trial.drawn.values, trial.options.get("limit")
    values = values[:limit]
    truth = truth_of(trial.form, values, trial.options, trial.groups and trial.groups[: len(values)], trial.references)
    own_bad = [i for i, bad in enumerate(truth.bad) if bad]
    if own_bad and not trial.options.get("skip_bad"):
        _must_refuse(trial, folder, own_bad, verdict)
        return
    answer = run(trial, folder, trial.way, trial.options)
    places = {each: i for i, each in enumerate(_names(trial, len(values)))}
    _judge_pairs(trial, truth, answer, places, verdict)
    if trial.verb != "pairs":
        judge_clusters(trial, truth, answer, places, verdict)
    if trial.again and trial.way != "cli" and not verdict.findings:
        _judge_again(trial, folder, answer, verdict)


def _names(trial: Trial, n: int) -> list[Any]:
    """What the engine calls the items: their ids or numbers; units by the number of their document and their own."""
    if trial.documents is None:
        return list(trial.ids or range(n))
    return [(document, i - trial.documents.index(document)) for i, document in enumerate(trial.documents)]


def _judge_again(trial: Trial, folder: Path, answer: Answer, verdict: Verdict) -> None:
    """The same with other threads, another memory, from another place, or in another order."""
    again, way, names = trial.again, trial.way, ["pairs", "clusters", "removed"]
    if "shuffle" in again:
        plan = answer.plan
        steady = plan is None or plan.exhaustive or (plan.recall is None and not trial.options["audit"])
        if not steady or trial.ids is None or trial.verb != "pairs" or trial.references or "limit" in trial.options:
            return
        other = run(shuffled(trial), folder, "dict" if way == "dict" else "table", trial.options)
        if other.plan is not None and other.plan.width != plan.width:
            return
    else:
        way = _other_way(trial) if "audit" in again else way
        other = run(trial, folder, way, trial.options | again)
    for name in names:
        ours, theirs = getattr(answer, name), getattr(other, name)
        if ours is not None and ours.to_pylist() != theirs.to_pylist():
            difference = _first_difference(ours, theirs)
            verdict.findings.append(f"not the same {name} with {again}, by {way}: {difference}")


def _first_difference(ours: pa.Table, theirs: pa.Table) -> str:
    mine, other = ours.to_pylist(), theirs.to_pylist()
    at = next((i for i, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), min(len(mine), len(other)))
    return f"{len(mine)} and {len(other)} rows, {mine[at : at + 1]} and {other[at : at + 1]}"


def _other_way(trial: Trial) -> str:
    """The same table from another place; items that have none are given as they were."""
    return {"table": "parquet", "parquet": "table", "arrow": "table", "jsonl": "parquet", "csv": "csv"}.get(
        trial.way, trial.way
    )


def _must_refuse(trial: Trial, folder: Path, bad: list[int], verdict: Verdict) -> None:
    try:
        run(trial, folder, trial.way, trial.options)
    except LookalikeError as error:
        verdict.refused = str(error)
        named = re.search(r"\bthe item (holds|has|is zero)", str(error))
        if not named and not any(re.search(known, str(error)) for known in REFUSED):
            verdict.findings.append(f"refused for another reason than item {bad[0]}: {error}")
        return
    verdict.findings.append(f"item {bad[0]} cannot be compared, and nothing was said")


# Pairs


def _judge_pairs(trial: Trial, truth: Truth, answer: Answer, places: Mapping[Any, int], verdict: Verdict) -> None:
    if answer.pairs is None:
        return
    a, b, told = ends(answer.pairs, truth, places)
    i, j = np.minimum(a, b), np.maximum(a, b)
    found = np.zeros(truth.must.shape, bool)
    found[i, j] = True
    if found.sum() < len(i) or (i == j).any():
        verdict.findings.append("a pair stands there twice, or an item with itself")
    verify = trial.options.get("verify", "exact")
    same = np.array(truth.first, int)[i] == np.array(truth.first, int)[j]
    scores = truth.score[i, j]
    if verify in ("exact", "text"):
        allowed = np.array([truth.slack(each) for each in np.unique(scores)])[
            np.searchsorted(np.unique(scores), scores)
        ]
        odd = ~truth.may[i, j] | ~(np.abs(told - scores) <= allowed)
    elif verify == "none":
        odd = ~same & ~np.isnan(told)
    else:
        odd = ~same & ~((told >= 0) & (told <= 1))
    for at in np.flatnonzero(odd)[:3]:
        verdict.findings.append(f"items {i[at]} and {j[at]} are listed with {told[at]}, and have {scores[at]}")
    _judge_order(trial, truth, answer.pairs, a, b, verdict)
    complete = not answer.led and trial.options.get("cluster") != "components" and answer.plan != "unknown"
    if complete and verify != "sketch":
        _judge_missed(trial, truth, found, answer, verdict)


def _judge_order(trial: Trial, truth: Truth, table: pa.Table, a: Any, b: Any, verdict: Verdict) -> None:
    """The smaller id is a, and rows are sorted; of containment a is the smaller item, and b_in_a the other way."""
    if trial.references or trial.documents is not None:
        return
    rank = np.argsort(np.argsort(trial.ids)) if trial.ids else np.arange(len(truth.first))
    order = rank[a] * len(rank) + rank[b]
    if (np.diff(order) <= 0).any():
        verdict.findings.append("pairs are not sorted")
    if trial.measure != "containment":
        if (rank[a] >= rank[b]).any():
            verdict.findings.append("a is not the smaller id")
        return
    sizes = np.array(truth.sizes, float)
    other = np.where(sizes[b] > 0, np.rint(truth.score[a, b] * sizes[a]) / np.maximum(sizes[b], 1), truth.score[a, b])
    told = table.column("b_in_a").to_numpy()
    odd = (sizes[a] > sizes[b]) | ((sizes[a] == sizes[b]) & (rank[a] > rank[b])) | (told != other)
    for at in np.flatnonzero(odd)[:2]:
        sizes_told = f"{sizes[a[at]]:g} and {sizes[b[at]]:g} elements"
        verdict.findings.append(f"items {a[at]} and {b[at]} have {sizes_told}, and b_in_a {told[at]}, not {other[at]}")


def _judge_missed(trial: Trial, truth: Truth, found: Any, answer: Answer, verdict: Verdict) -> None:
    i, j = np.nonzero(truth.must)
    scores, chances = truth.score[i, j], np.zeros(len(i))
    # An audit of a quarter of 1,000 items is one of them all, and what it knows is not missed.
    audited = trial.options["audit"] == 1000 and len(truth.first) <= 250 and "verify" not in trial.options
    if answer.plan is not None and not answer.plan.exhaustive and len(i) and not audited:
        first = np.array(truth.first, int)
        chances = 1.0 - np.asarray(answer.plan.probability(scores))
        if trial.measure == "cosine" and trial.form == "vectors":
            chances = np.minimum(1.0, chances + SIGNATURE_LOSS)
        chances[first[i] == first[j]] = 0.0
    missed = ~found[i, j]
    verdict.pairs, verdict.missed, verdict.expected = len(i), int(missed.sum()), float(chances.sum())
    # Pairs with less of a chance to be missed first: those up to each place are a test of their own.
    order = np.argsort(chances, kind="stable")
    some, most = np.cumsum(missed[order]), np.cumsum(chances[order])
    odd = np.flatnonzero((some > 0) & (most < ALARM * np.maximum(some, 1)))
    if len(odd):
        at = order[np.flatnonzero(missed[order])[0]]
        which = f"such as items {i[at]} and {j[at]}, which have {scores[at]}"
        verdict.findings.append(f"{int(some[odd[-1]])} pairs are missed that are found for sure, {which}")


# The nearest, and two texts


def _judge_neighbors(trial: Trial, verdict: Verdict) -> None:
    """Exactly the best k by the true scores; where two are equal but for the last digits, either may come first."""
    values, asked = trial.drawn.values, trial.references
    options: dict[str, Any] = {"measure": trial.measure, "threshold": 1.0}
    if trial.measure != "cosine":
        options = {"measure": trial.measure, "max_distance": 1.0}
    truth = truth_of("vectors", values, options, None)
    absent = [bad or value is None for bad, value in zip(truth.bad, values, strict=True)]
    native = hand_over(trial, Path(), "native", slice(asked, None))
    queries = hand_over(trial, Path(), "native", slice(0, asked)) if asked else None
    try:
        result = lookalike.neighbors(native, queries, **trial.options)
    except LookalikeError as error:
        if not (any(absent) or len(values) - asked == 0):
            raise
        verdict.refused = str(error)
        return
    if any(absent) and not trial.options["skip_bad"]:
        verdict.findings.append("some vectors cannot be compared, and nothing was said")
        return
    sign = -1.0 if truth.is_distance else 1.0
    base = [i for i in range(asked, len(values)) if not absent[i]]
    rows: dict[int, list[tuple[int, float]]] = {}
    for row in result.table.to_pylist():
        told = row["distance" if truth.is_distance else "similarity"]
        rows.setdefault(row["query"] + (0 if asked else asked), []).append((row["id"] + asked, told))
    for query in [i for i in (range(asked) if asked else base) if not absent[i]]:
        scores = sorted((sign * truth.score[query, i] for i in base if i != query), reverse=True)
        listed = rows.get(query, [])
        if len(listed) != min(trial.options["k"], len(scores)):
            verdict.findings.append(f"query {query} has {len(listed)} neighbours of {len(scores)}")
        for (item, told), best in zip(listed, scores, strict=False):
            score = truth.score[query, item]
            slack = truth.slack(score) + truth.slack(abs(best))
            if not abs(told - score) <= slack or (
                result.plan.method == "exact" and not abs(sign * told - best) <= slack
            ):
                verdict.findings.append(f"query {query}: {item} at {told} has {score}, the best is {sign * best}")
    verdict.pairs = sum(map(len, rows.values()))


def _judge_comparison(trial: Trial, verdict: Verdict) -> None:
    a, b = trial.drawn.values[:2]
    shingle = parse_shingle(trial.options.get("shingle", "word:5"), normalize=trial.options.get("normalize"))
    found = compare_texts(raw_of(a), raw_of(b), shingle)
    sets = []
    for text in (a, b):
        listed = shingles_of(text, trial.options)
        sets.append({(x, listed[:at].count(x)) for at, x in enumerate(listed)} if shingle.bag else set(listed))
    either = len(sets[0] | sets[1])
    if (found.size_a, found.size_b, found.both) != (len(sets[0]), len(sets[1]), len(sets[0] & sets[1])):
        verdict.findings.append(f"the texts share {len(sets[0] & sets[1])} of {either}, not {found.both}")
    verdict.pairs = int(either > 0 and math.isclose(found.similarity, len(sets[0] & sets[1]) / either))
