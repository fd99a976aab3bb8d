"""Kill a process that writes to an index, again and again, and look whether all that it acknowledged is there.

    python -m benchmarks.index_kill                  50 kills of a process that only adds, 50 of one that changes things
    python -m benchmarks.index_kill --kills 500 --seed 7

The child adds, replaces and removes, and says before and after each step what it does. Tables and volumes are so small
that it flushes, merges and begins new volumes all the time. What it was about to do when it was killed may have been
done or not; everything else must be exactly as it said.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lookalike.index import Index, log_sizes

__all__ = ["Truth", "check", "make_small", "run_and_kill", "start", "text_of"]

_WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]
# What an index holds: the version of each item.
Truth = dict[int, int]
# How many ids there are among which items are replaced and removed.
_CHANGING = 60


def text_of(number: int, version: int = 0) -> str:
    """The text of an item: 40 words, unlike those of all other items and versions."""
    return " ".join(random.Random(1_000_003 * version + number).choices(_WORDS, k=40))


def make_small(table: int = 32, volume: int = 8192) -> None:
    """From now on tables and volumes are small, so that everything that is rare happens all the time."""
    log_sizes.FIRST_TABLE = log_sizes.LAST_TABLE = table
    log_sizes.FIRST_VOLUME = log_sizes.LAST_VOLUME = volume
    log_sizes.LEFT_IN_LOG = 3


def _tell(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def _write(folder: str, mode: str, first: int, seed: int) -> None:
    """What the child does until it is killed. `first` is an id that was never used."""
    make_small()
    rng = random.Random(seed)
    with Index.open(folder) as index:
        there = {int(each): int(index.get(each)) for each in index}
        number = first
        while True:
            if mode == "add":
                _tell("begin", "add", number, 0)
                index.add(number, text_of(number), 0)
                _tell("done")
                number += 1
                continue
            chosen = rng.randrange(_CHANGING)
            version = there.get(chosen)
            if version is None:
                # Versions go on where they were, so that what was removed is told from what is new.
                version = there[chosen] = rng.randrange(1, 1 << 30)
                _tell("begin", "add", chosen, version)
                index.add(chosen, text_of(chosen, version), version)
            elif rng.random() < 0.7:
                version = there[chosen] = version + 1
                _tell("begin", "replace", chosen, version)
                index.replace(chosen, text_of(chosen, version), version)
            else:
                del there[chosen]
                _tell("begin", "remove", chosen, 0)
                index.remove(chosen)
            _tell("done")


def start(folder: Path, mode: str, first: int, seed: int) -> subprocess.Popen[str]:
    """A process that writes to an index until it is killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.index_kill", "--child", str(folder), mode, str(first), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )


def run_and_kill(
    folder: Path, mode: str, truth: Truth, first: int, rng: random.Random
) -> tuple[int, tuple[str, int, int] | None]:
    """Let a child write for a while and kill it. `truth` is brought up to date.

    Returns how many steps were acknowledged, and the one that was begun and not: what it was, id, version.
    """
    child = start(folder, mode, first, rng.randrange(1 << 30))
    assert child.stdout is not None
    steps, begun, left = 0, None, rng.randrange(1, 400)
    for line in child.stdout:
        what, *rest = line.split()
        if what == "begin":
            begun = (rest[0], int(rest[1]), int(rest[2]))
        else:
            assert begun is not None
            _apply(truth, begun)
            begun, steps = None, steps + 1
        left -= 1
        if left == 0:
            # What it says until it is dead is read to the end.
            child.send_signal(signal.SIGKILL)
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL, f"the child ended by itself with {child.returncode}"
    return steps, begun


def _apply(truth: Truth, step: tuple[str, int, int]) -> None:
    what, number, version = step
    if what == "remove":
        del truth[number]
    else:
        truth[number] = version


def check(index: Index, truth: Truth, begun: tuple[str, int, int] | None = None, sample: int | None = None) -> Truth:
    """What the index holds, after checking that it is what it must hold; `sample` items are looked up."""
    ids = [int(each) for each in index]
    twice = {each for each in ids if ids.count(each) > 1} if len(set(ids)) < len(ids) else set()
    assert not twice, f"ids that are there twice: {twice}"
    assert len(index) == len(ids), f"len is {len(index)}, and there are {len(ids)} ids"
    missing = [number for number in ids if number not in index]
    assert not missing, f"ids that are there and are not found: {missing[:5]}"
    found = {number: int(index.get(number)) for number in ids}
    allowed = [truth]
    if begun is not None:
        after = dict(truth)
        _apply(after, begun)
        allowed.append(after)
    assert found in allowed, (
        f"while {begun}: lost {[(n, v, found.get(n)) for n, v in truth.items() if found.get(n) != v][:5]}, "
        f"not expected {[(n, v, truth.get(n)) for n, v in found.items() if truth.get(n) != v][:5]}"
    )
    numbers = list(found)
    for number in numbers if sample is None else random.Random(len(numbers)).sample(numbers, min(sample, len(numbers))):
        answer = index.query(text_of(number, found[number]))
        told = [(match.id, match.similarity, match.payload) for match in answer]
        assert told == [(number, 1.0, found[number])], f"item {number}, version {found[number]}: {answer}"
    return found


def kills(folder: Path, mode: str, count: int, rng: random.Random, *, quiet: bool = False) -> int:
    """Kill so many times, checking each time; how many steps were acknowledged."""
    Index.create(folder, threshold=0.8).close()
    truth: Truth = {}
    acknowledged, first = 0, 0
    for kill in range(count):
        steps, begun = run_and_kill(folder, mode, truth, first, rng)
        acknowledged += steps
        with Index.open(folder, readonly=True) as index:
            check(index, truth, begun, 50)
        with Index.open(folder) as index:
            truth = check(index, truth, begun, 50)
            own = 10**9 + kill
            index.add(own, text_of(own), 0)
            assert [match.id for match in index.query(text_of(own))] == [own]
            index.remove(own)
        first = max([first, *truth]) + 1 if mode == "add" else 0
        if not quiet:
            print(f"{mode}, kill {kill + 1}: {steps} steps, then {begun}; {len(truth)} items")
    return acknowledged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        folder, mode, first, seed = given.child
        _write(folder, mode, int(first), int(seed))
    make_small()
    print(f"seed {given.seed}")
    for mode in ("add", "change"):
        scratch = Path(tempfile.mkdtemp(prefix="lookalike-index-kill-"))
        try:
            steps = kills(scratch / "index", mode, given.kills, random.Random(given.seed))
            print(f"{mode}: {given.kills} kills, {steps:,} steps were acknowledged, and nothing is wrong")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
