"""Run a trial: by the library, or by the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lookalike
from benchmarks.hostile_trials import Trial
from benchmarks.hostile_truth import Truth
from benchmarks.hostile_ways import hand_over
from lookalike.engines.local.result_tables import pairs_table
from lookalike.errors import LookalikeError

__all__ = ["Answer", "Verdict", "called", "ends", "run"]


@dataclass
class Verdict:
    """What a trial showed: differences; and how many pairs were there, were missed, and may be expected to be."""

    findings: list[str] = field(default_factory=list)
    pairs: int = 0
    missed: int = 0
    expected: float = 0.0
    refused: str = ""


@dataclass
class Answer:
    """What the engine said: tables, the rows that stay, its plan, and whether it looked at all that it should."""

    pairs: pa.Table | None = None
    clusters: pa.Table | None = None
    removed: pa.Table | None = None
    kept: list[bool] | None = None
    plan: Any = None
    led: bool = False
    unexamined: int = 0
    texts: list[str] | None = None


def run(trial: Trial, folder: Path, way: str, options: dict[str, Any]) -> Answer:
    own = slice(trial.references, None)
    items = hand_over(trial, folder, way, own)
    against = hand_over(trial, folder, way, slice(0, trial.references)) if trial.references else None
    if way == "cli":
        return _run_program(trial, folder, options, items, against)
    given = {name: value for name, value in options.items() if not (name == "measure" and options.get("exact"))}
    if options.get("exact"):
        given.pop("threshold")
    if against is not None:
        given["against"] = against
    result = getattr(lookalike, trial.verb)(items, **given)
    found = result.found
    answer = Answer(plan=result.plan, led=bool(found.counts.led_items), unexamined=found.counts.unexamined_items)
    answer.pairs = pairs_table(found)
    result.report  # noqa: B018 (it must not fail)
    repr(result)
    if trial.verb == "clusters":
        answer.clusters = result.table
    elif trial.verb == "dedup":
        answer.clusters, answer.removed, answer.kept = result.clusters, result.removed, result.kept.tolist()
        if trial.documents is not None:
            answer.kept, answer.texts = result._kept_items.tolist(), result.table.column("text").to_pylist()
        elif trial.number % 4 == 0 and trial.way != "edges":
            _check_written(trial, folder, result)
    return answer


def _check_written(trial: Trial, folder: Path, result: Any) -> None:
    """What is written as kept, and as annotated, is what the answer says."""
    kept = folder / "kept.parquet"
    result.write_kept(kept, overwrite=True)
    if pq.read_table(kept).num_rows != sum(result.kept):
        raise AssertionError("the file of kept rows has another number of them")
    marked = folder / "marked.parquet"
    result.write_kept(marked, overwrite=True, annotate=True)
    duplicate = [each is not None for each in pq.read_table(marked).column("duplicate_of").to_pylist()]
    if duplicate != [not each for each in result.kept.tolist()]:
        raise AssertionError("the annotated rows tell other duplicates than the answer")


def _run_program(trial: Trial, folder: Path, options: dict[str, Any], items: str, against: str | None) -> Answer:
    out = folder / ("run" if trial.verb == "dedup" else f"{trial.verb}.parquet")
    words = [trial.verb, items, "-o", str(out), "--quiet", "--overwrite"]
    words += ["--against", against] if against else []
    for name, value in options.items():
        if name == "tokens":
            words += ["--tokens", "benchmarks.hostile_trials:letters"]
        elif (name in ("measure", "threshold") and options.get("exact")) or value is False:
            continue
        else:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    done = subprocess.run([sys.executable, "-m", "lookalike", *words], capture_output=True, text=True, check=False)
    if done.returncode in (1, 2) and done.stderr.count("\n") == 1:
        raise LookalikeError(done.stderr.strip().removeprefix("error: "))
    if done.returncode:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    if trial.verb == "pairs":
        return Answer(pairs=pq.read_table(out), plan="unknown")
    if trial.verb == "clusters":
        return Answer(clusters=pq.read_table(out), plan="unknown")
    pairs, clusters, removed = (pq.read_table(out / f"{name}.parquet") for name in ("pairs", "clusters", "removed"))
    gone = set(removed.column("id").to_pylist())
    own = trial.ids[trial.references :] if trial.ids else list(range(len(trial.drawn.values)))
    kept = [each not in gone for each in own[: options.get("limit")]]
    return Answer(pairs, clusters, removed, kept, "unknown", led=True)


def ends(table: pa.Table, truth: Truth, places: Mapping[Any, int]) -> tuple[Any, Any, Any]:
    """The items of each row of a table of pairs, and what is told of them; NaN where nothing is."""
    a, b = (np.array([places[each] for each in called(table, name)], int) for name in ("a", "b"))
    told = table.column("distance" if truth.is_distance else "similarity").to_pandas().to_numpy(float)
    return a, b, told


def called(table: pa.Table, name: str) -> list[Any]:
    """The names in a column of ids: with the number of the unit, where there is one beside it."""
    unit = {"a": "a_unit", "b": "b_unit", "id": "unit", "kept": "kept_unit"}[name]
    ids = table.column(name).to_pylist()
    return list(zip(ids, table.column(unit).to_pylist(), strict=True)) if unit in table.column_names else ids
