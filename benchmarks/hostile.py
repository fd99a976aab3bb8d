"""Small hostile collections of every form, measure and option against plain Python: is anything lost, or false?

    python -m benchmarks.hostile --trials 5000 --seed 0
    python -m benchmarks.hostile --trial 1234        one of them, with all that it is

Each trial is made from its number: a collection (`hostile_items.py`), a verb with its options and a way to hand the
items over (`hostile_trials.py`, `hostile_ways.py`). What comes out is held against the truth (`hostile_truth.py`):
every pair that is listed is true and has its exact similarity (`hostile_judge.py`); what stays and what goes follows
the rule (`hostile_clusters.py`); threads, memory, the order of the items and the kind of file change nothing; an error
is one that the documents announce. Warnings, other exceptions, a process that ends and one that takes more than a
minute are findings.

Where all pairs are compared, none may be missed. Where bands are used, the plan says how likely each true pair is to be
missed. Pairs of one trial are missed together, so each trial counts once, with the share F of its pairs that it missed,
of which the plan's mean is e. Trials are independent, and for independent F in [0, 1] (Hoeffding 1963, theorem 1)

    P(mean of F >= x) <= exp(-n · KL(x ‖ mean of e)),

whatever the distribution of each. The last column of the table is that bound; below 10⁻⁶, shared out over all rows, it
is a finding. Pairs that the plan misses with a chance of next to nothing are looked at trial by trial (`ALARM`).
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import subprocess
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

__all__ = ["bound", "main", "run_trial", "summary"]

PATIENCE = 60
FAMILY = 1e-6
# Trials that one process runs before another takes over.
STRETCH = 1000


def run_trial(seed: int, number: int, folder: Path) -> dict[str, Any]:
    """One trial, and what it showed."""
    from benchmarks.hostile_judge import judge
    from benchmarks.hostile_trials import draw

    begun = time.perf_counter()
    trial = draw(seed, number)
    shown: dict[str, Any] = {"trial": number, "measure": trial.measure, "verb": trial.verb, "form": trial.form}
    try:
        shown |= asdict(judge(trial, folder))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        shown |= {"findings": [f"{type(error).__name__} in {where}: {error}"], "pairs": 0, "missed": 0, "expected": 0.0}
    return shown | {"what": str(trial), "seconds": time.perf_counter() - begun}


def bound(mean: float, expected: float, trials: int) -> float:
    """The chance that the mean of so many independent shares is as large, by Hoeffding's theorem 1."""
    if mean <= expected or trials == 0:
        return 1.0
    if expected <= 0:
        return 0.0
    apart = mean * math.log(mean / expected)
    apart += (1 - mean) * math.log((1 - mean) / (1 - expected)) if mean < 1 else 0.0
    return math.exp(-trials * apart)


def summary(shown: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """The table by measure and verb, and what is beyond the plan."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for each in shown:
        rows[each["measure"], each["verb"]].append(each)
    head = (
        f"{'measure':17} {'verb':10} {'trials':>6} {'refused':>7} {'pairs':>10} {'missed':>8} {'expected':>10}  chance"
    )
    lines, beyond = [head], []
    for (measure, verb), trials in sorted(rows.items()):
        counted = [each for each in trials if each["expected"] > 0 and each["pairs"]]
        mean = sum(each["missed"] / each["pairs"] for each in counted) / max(1, len(counted))
        plan = sum(each["expected"] / each["pairs"] for each in counted) / max(1, len(counted))
        chance = bound(mean, plan, len(counted))
        lines.append(f"{measure:17} {verb:10} {_sums(trials)}  {chance:.2g}")
        if chance < FAMILY / len(rows):
            beyond.append(f"{measure}, {verb}: {mean:.4f} of the pairs of a trial are missed, and {plan:.4f} planned")
    lines.append(f"{'all':17} {'':10} {_sums(shown)}")
    return "\n".join(lines), beyond


def _sums(trials: list[dict[str, Any]]) -> str:
    refused = sum(bool(each.get("refused")) for each in trials)
    pairs, missed, expected = (sum(each[name] for each in trials) for name in ("pairs", "missed", "expected"))
    return f"{len(trials):6,} {refused:7,} {pairs:10,} {missed:8,} {expected:10,.1f}"


def _child(seed: int, first: int, end: int) -> None:
    """Run trials and tell each in a line, its number before it begins: whoever reads it knows where a process ended."""
    faulthandler.enable()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        for number in range(first, end):
            print(number, flush=True)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            print(json.dumps(run_trial(seed, number, Path(folder)), default=float), flush=True)
    faulthandler.cancel_dump_traceback_later()


def _run(seed: int, first: int, end: int) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    while first < end:
        last = min(end, first + STRETCH)
        command = [sys.executable, "-m", "benchmarks.hostile", "--seed", str(seed), "--child", str(first), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith("{"):
                    shown.append(json.loads(line))
                    _tell(shown[-1])
                    if len(shown) % 500 == 0:
                        print(f"{len(shown):,} trials", file=sys.stderr, flush=True)
                elif line.strip().isdigit():
                    first = int(line)
        if child.returncode:
            ended = {"trial": first, "findings": [f"the process ended with {child.returncode}"], "what": ""}
            shown.append(
                {"measure": "?", "verb": "?", "pairs": 0, "missed": 0, "expected": 0.0, "seconds": 0.0} | ended
            )
            _tell(shown[-1])
        first = first + 1 if child.returncode else last
    return shown


def _tell(shown: dict[str, Any]) -> None:
    for finding in shown["findings"][:3]:
        print(f"trial {shown['trial']}: {finding}\n    {shown['what']}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial", type=int, help="run this one alone")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(given.seed, *given.child)
        return
    if given.trial is not None:
        with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
            print(json.dumps(run_trial(given.seed, given.trial, Path(folder)), default=float, indent=2))
        return
    begun = time.perf_counter()
    shown = _run(given.seed, given.first, given.first + given.trials)
    table, beyond = summary(shown)
    print(table)
    findings = sum(bool(each["findings"]) for each in shown) + len(beyond)
    print(*beyond, sep="\n", end="\n" if beyond else "")
    print(f"{len(shown):,} trials in {time.perf_counter() - begun:.0f} s, {findings:,} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
