"""Clusters, and what stays: held against the rule by which an item stays or goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.hostile_run import Answer, Verdict, called, ends
from benchmarks.hostile_trials import Trial, by_mark
from benchmarks.hostile_truth import Truth
from benchmarks.hostile_ways import documents_of

__all__ = ["judge_clusters"]


def keep_order(trial: Trial, truth: Truth, n: int) -> list[int]:
    """The run's own items, best to keep first."""
    own = list(range(trial.references, n))
    keep = trial.options["keep"]
    ids: Sequence[Any] = trial.ids or range(n)
    if keep == "last":
        own.reverse()
    elif keep in ("longest", "shortest"):
        own.sort(key=lambda i: ((-1 if keep == "longest" else 1) * truth.lengths[i], ids[i]))
    elif keep is by_mark:
        assert trial.marks is not None
        marks = trial.marks
        own.sort(key=lambda i: (by_mark({"mark": marks[i]}), ids[i]))
    elif keep != "first":
        assert trial.marks is not None
        marks = trial.marks
        own.sort(key=lambda i: (_rank(keep, marks[i]), ids[i]))
    if trial.options["measure"] == "containment" and not trial.options.get("exact"):
        own.sort(key=lambda i: -truth.sizes[i])
    return own


def _rank(keep: str, mark: int | None) -> tuple[bool, int]:
    """The place of a mark among others; what has none comes last, or counts as not preferred."""
    if keep.startswith("prefer"):
        return False, {2: 0, 0: 1}.get(-1 if mark is None else mark, 2)
    return mark is None, (mark or 0) * (-1 if keep == "max:mark" else 1)


def judge_clusters(trial: Trial, truth: Truth, answer: Answer, places: Mapping[Any, int], verdict: Verdict) -> None:
    n = len(truth.first)
    order = [*range(trial.references), *keep_order(trial, truth, n)]
    keeper = list(range(n))
    told: dict[int, float | None] = {}
    scale = "distance" if truth.is_distance else "similarity"
    assert answer.clusters is not None
    # Of units the table of clusters tells only the document that stands for them; the removed ones tell all.
    table = answer.clusters if trial.documents is None else answer.removed
    assert table is not None
    rows = zip(called(table, "id"), called(table, "kept"), table.column(scale).to_pylist(), strict=True)
    for name, kept_name, value in rows:
        keeper[places[name]], told[places[name]] = places[kept_name], value
    if answer.removed is not None:
        gone = [places[each] for each in called(answer.removed, "id")]
        kept = [places[each] for each in called(answer.removed, "kept")]
        removed = dict(zip(gone, zip(kept, answer.removed.column(scale).to_pylist(), strict=True), strict=True))
        if removed != {i: (keeper[i], told[i]) for i in range(trial.references, n) if keeper[i] != i}:
            verdict.findings.append("removed and clusters tell different things")
        assert answer.kept is not None
        if answer.kept != [keeper[i] == i for i in range(trial.references, n)]:
            verdict.findings.append("kept and removed items are not all items")
        if answer.texts is not None:
            left = ["".join(each) for each in documents_of(trial, answer.kept) if each]
            if answer.texts != left:
                verdict.findings.append("the documents have not the units that are kept")
    verify = trial.options.get("verify", "exact")
    components = trial.options["cluster"] == "components"
    for i, j in enumerate(keeper):
        if keeper[j] != j:
            verdict.findings.append(f"item {i} goes for {j}, which goes itself")
        if i == j or verify in ("none", "sketch"):
            continue
        score = truth.score[i, j]
        if not components and not truth.may[min(i, j), max(i, j)] and truth.first[i] != truth.first[j]:
            verdict.findings.append(f"item {i} goes for {j}, and they have {score}")
        value = told[i]
        if value is None or not abs(value - score) <= truth.slack(score):
            verdict.findings.append(f"item {i} goes for {j} at {value}, and they have {score}")
    if components:
        _judge_components(trial, truth, answer, keeper, order, verdict)
    elif answer.pairs is not None:
        _judge_greedy(trial, truth, answer, places, keeper, order, verdict)


def _judge_greedy(
    trial: Trial,
    truth: Truth,
    answer: Answer,
    places: Mapping[Any, int],
    keeper: list[int],
    order: list[int],
    verdict: Verdict,
) -> None:
    """Walk the items in keep order: one stays if it is like none that stays, and otherwise goes for the most alike."""
    assert answer.pairs is not None
    first = np.array(truth.first, int)
    best: dict[int, int] = {}
    for i in order:
        best.setdefault(truth.first[i], i)
    a, b, told = ends(answer.pairs, truth, places)
    like = np.full(truth.must.shape, -np.inf)
    # What was not verified counts as alike, all the same.
    like[a, b] = like[b, a] = np.nan_to_num(-told if truth.is_distance else told, nan=1.0)
    stays: list[int] = []
    for i in order:
        if best[first[i]] != i:
            continue
        scores = like[i, stays]
        if i < trial.references or not (scores > -np.inf).any():
            stays.append(i)
        elif keeper[i] != stays[int(np.argmax(scores))]:
            rule = stays[int(np.argmax(scores))]
            verdict.findings.append(f"item {i} goes for {keeper[i]}, and {rule} is the most like it that stays")
    for i in order[trial.references :]:
        stands = best[truth.first[i]]
        if (stands in stays) != (keeper[stands] == stands) or (i != stands and keeper[i] != keeper[stands]):
            verdict.findings.append(
                f"item {i} goes for {keeper[i]}; the rule has {stands} {'stay' if stands in stays else 'go'}"
            )
    plan = answer.plan
    sure = plan is None or (plan != "unknown" and plan.exhaustive)
    if sure and not answer.unexamined and trial.options.get("verify", "exact") in ("exact", "text"):
        kept = np.array(keeper) == np.arange(len(keeper))
        left = np.argwhere(truth.must & kept[:, None] & kept[None, :])
        if len(left):
            pair = int(left[0][0]), int(left[0][1])
            verdict.findings.append(f"{len(left)} pairs of items stay, such as {pair}: {truth.score[pair]}")


def _judge_components(
    trial: Trial, truth: Truth, answer: Answer, keeper: list[int], order: list[int], verdict: Verdict
) -> None:
    n = len(keeper)
    if trial.options.get("verify", "exact") in ("none", "sketch"):
        return
    inside, outside = _connected(n, truth.must), _connected(n, truth.may)
    place = {i: at for at, i in enumerate(order)}
    best: dict[int, int] = {}
    for i in order:
        best.setdefault(keeper[i], i)
    for i in range(n):
        if outside[i] != outside[keeper[i]]:
            verdict.findings.append(f"item {i} is in the cluster of {keeper[i]}, and not connected with it")
        if best[keeper[i]] != keeper[i]:
            verdict.findings.append(f"{keeper[i]} stands for {i}, and {best[keeper[i]]} comes before it ({place[i]})")
    plan = answer.plan
    if (plan is None or (plan != "unknown" and plan.exhaustive)) and not answer.unexamined:
        for i in range(n):
            if keeper[i] != keeper[inside[i]]:
                verdict.findings.append(f"items {i} and {inside[i]} are connected, and in different clusters")
                break


def _connected(n: int, edges: np.ndarray[Any, Any]) -> list[int]:
    label = list(range(n))

    def root(i: int) -> int:
        while label[i] != i:
            label[i] = label[label[i]]
            i = label[i]
        return i

    for i, j in zip(*np.nonzero(edges), strict=True):
        a, b = root(int(i)), root(int(j))
        label[max(a, b)] = min(a, b)
    return [root(i) for i in range(n)]
