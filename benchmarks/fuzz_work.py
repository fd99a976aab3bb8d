"""Damage what a killed run left behind, resume it, and compare every byte with the undisturbed run.

    python -m benchmarks.fuzz_work [--minutes 10] [--seed 0] [--trial NUMBER]

Runs of several kinds are killed in each of their stages, also while results are moved to their places and while the
work folder is removed. Of such a state, one file in three trials of four, two or three in the others, are damaged: cut,
emptied, extended, some bytes flipped, overwritten with zeros, removed, swapped with another, or replaced by one of
another state. Then the run is resumed. It must end with the bytes of the undisturbed run, or with one line that says
what is wrong; after that `--overwrite` must give those bytes, or be refused with one line, too (where the mark is
damaged). A traceback, a signal or other bytes are a fault, and so is a file that is left over. A file of somebody else,
put into each folder, must stay.

Each trial is a process of its own, forked from this one, which has loaded everything but run nothing. With `--trial`
only the trial of this number is run.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.kill import digest
from lookalike.io.writing.owned import MARK

CANARY = "thesis.txt"
SECONDS = 120

KINDS = {
    "text": ["--id", "id", "--shingle", "word:2"],
    "weighted": ["--measure", "weighted-jaccard", "--shingle", "word:1", "--keep", "longest"],
    "skipping": ["--skip-bad", "--shingle", "word:2", "--report-by", "site", "--bands", "300", "--rows", "3"],
    "spilling": ["--memory", "100MB", "--bands", "400", "--rows", "3", "--shingle", "word:1"],
}
STAGES = ("reading and sketching", "reading what must be compared", "comparing candidates", "writing", "writing pairs")


@dataclass(frozen=True)
class State:
    """What a killed run left, and the result that it must come to."""

    kind: str
    stage: str
    folder: Path


def collection(folder: Path, rng: random.Random) -> None:
    """Three files of short texts, many of them near-copies."""
    folder.mkdir()
    texts: list[str] = []
    for _ in range(6000):
        words = rng.choice(texts).split() if texts and rng.random() < 0.3 else []
        words = words or [f"w{rng.randrange(10**5)}" for _ in range(12)]
        words[rng.randrange(len(words))] = f"w{rng.randrange(10**5)}"
        texts.append(" ".join(words))
    for number, name in enumerate(("a.jsonl", "b.jsonl", "c.jsonl")):
        rows = (
            json.dumps({"id": f"{i:05}", "text": text, "site": f"s{i % 3}"}) + "\n"
            for i, text in enumerate(texts)
            if i % 3 == number
        )
        (folder / name).write_text("".join(rows))


def forked(work: Callable[[], int], log: Path) -> int:
    """The exit status of `work`, done by a process of its own; below 0 for a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            for number in (1, 2):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            signal.alarm(SECONDS)
            code = work()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dedup(home: Path, output: str, options: list[str], kill_in: tuple[str, int] | None = None) -> int:
    """Run the command in a folder; SIGKILL at a step of a stage."""
    from lookalike.cli import job, main, terminal
    from lookalike.io.writing.owned import OwnedFolder
    from lookalike.wording.progress import Progress, Stage

    os.chdir(home)
    wanted, step = kill_in or ("", 0)
    steps: Counter[str] = Counter()

    def count(name: str) -> None:
        steps[name] += 1
        if name == wanted and steps[name] > step:
            os.kill(os.getpid(), signal.SIGKILL)

    class Counting(Stage):
        def __init__(self, name: str) -> None:
            self.name = name

        def advance(self, amount: float = 1) -> None:
            count(self.name)

    class Bars(Progress):
        @contextlib.contextmanager
        def stage(self, name: str, total: float | None = None, unit: str = "items") -> Iterator[Stage]:
            count(name)
            yield Counting(name)

    real_staged, real_remove = OwnedFolder._is_staged, OwnedFolder.remove

    def staged(self: OwnedFolder, name: str) -> bool:
        count("moving")
        return real_staged(self, name)

    def remove(self: OwnedFolder, names: Iterable[str] | None = None) -> None:
        count("removing")
        real_remove(self, names)

    setattr(OwnedFolder, "_is_staged", staged)  # noqa: B010
    setattr(OwnedFolder, "remove", remove)  # noqa: B010
    for module in (job, terminal):
        setattr(module, "progress_for", lambda quiet: Bars())  # noqa: B010
    sys.argv = ["lookalike", "dedup", "in/a.jsonl", "in/b.jsonl", "in/c.jsonl", "-o", output, *options]
    return main.run()


def truncate(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(max(1, path.stat().st_size)))


def empty(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"")


def extend(path: Path, rng: random.Random) -> None:
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.choice((1, 8, 16, 1000))))


def flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 3, 50))):
        if data:
            # Half of the time in the beginning, where headers are.
            data[rng.randrange(min(len(data), rng.choice((200, len(data)))))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def zero(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    begin = rng.randrange(len(data) + 1)
    end = min(len(data), begin + rng.choice((1, 512, 4096)))
    data[begin:end] = bytes(end - begin)
    path.write_bytes(data)


def remove(path: Path, rng: random.Random) -> None:
    path.unlink()


SIMPLE = (truncate, empty, extend, flip, flip, flip, zero, remove)


def damage(home: Path, states: list[State], rng: random.Random) -> str:
    """Damage some files of a state; what was done."""
    done: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        files = [path for path in sorted((home / "run").rglob("*")) if path.is_file() and path.name != CANARY]
        # Marks and notes are read first and would hide all else.
        likely = [path for path in files if path.suffix != ".json" or rng.random() < 0.2] or files
        if not likely:
            return "; ".join(done)
        path = rng.choice(likely)
        what = rng.choice((*SIMPLE, "swap", "other"))
        if what == "swap":
            other = rng.choice(files)
            data = path.read_bytes()
            path.write_bytes(other.read_bytes())
            other.write_bytes(data)
        elif what == "other":
            twin = rng.choice(states).folder / path.relative_to(home)
            if not twin.is_file():
                continue
            shutil.copyfile(twin, path)
        else:
            what(path, rng)  # type: ignore[operator]
        done.append(f"{getattr(what, '__name__', what)} {path.relative_to(home)}")
    return "; ".join(done)


def one_line(text: str) -> bool:
    lines = [line for line in text.splitlines() if not line.endswith(": made again")]
    return len(lines) == 1 and lines[0].startswith("lookalike: ") and "Traceback" not in text


class Fuzz:
    """Undisturbed results, states to damage, and the trials on them."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self.scratch = scratch
        self.seed = seed
        self.log = scratch / "log"
        self.whole: dict[str, dict[str, str]] = {}
        self.errors: Counter[str] = Counter()
        self.states: list[State] = []

    def prepare(self) -> None:
        source = self.scratch / "in"
        collection(source, random.Random(self.seed))
        for kind, options in KINDS.items():
            home = self._home(f"whole-{kind}")
            code = forked(lambda home=home, options=options: dedup(home, "run", options), self.log)  # type: ignore[misc]
            assert code == 0, self.log.read_text()
            self.whole[kind] = digest(home / "run")
            for stage in (*STAGES, "moving", "removing"):
                for step in (0, 1, 2, 4):
                    state = self._home(f"{kind}-{stage.replace(' ', '-')}-{step}")
                    wanted = (stage, step)
                    code = forked(
                        lambda home=state, options=options, wanted=wanted: dedup(home, "run", options, wanted),  # type: ignore[misc]
                        self.log,
                    )
                    if code == -signal.SIGKILL and (state / "run").exists():
                        for folder in [state / "run", *(path for path in (state / "run").rglob("*") if path.is_dir())]:
                            (folder / CANARY).write_text("years of work")
                        self.states.append(State(kind, stage, state))

    def _home(self, name: str) -> Path:
        """A folder with the input in it, as it stands to all runs."""
        home = self.scratch / name
        home.mkdir()
        (home / "in").symlink_to(self.scratch / "in")
        return home

    def trial(self, number: int) -> tuple[str, str]:
        """How the trial of a number ended: (in a word, what was wrong)."""
        rng = random.Random(f"{self.seed} {number}")
        state = rng.choice(self.states)
        home = self.scratch / "trial"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(state.folder, home, symlinks=True)
        canaries = sorted(path.relative_to(home) for path in home.rglob(CANARY))
        what = f"{state.kind}, killed in {state.stage!r}: {damage(home, self.states, rng)}"
        options = KINDS[state.kind]
        code = forked(lambda: dedup(home, "run", [*options, "--resume"]), self.log)
        text = self.log.read_text(errors="replace")
        gone = [path for path in canaries if not (home / path).exists()]
        if gone:
            return "bad", f"{what}: {gone[0]} is gone"
        if code == 0:
            others = self._others(home, state.kind)
            again = "made again" if ": made again" in text else "not needed"
            return ("bad", f"{what}: other bytes in {', '.join(others)}") if others else (again, "")
        if code not in (1, 2) or not one_line(text):
            return "bad", f"{what}: exit {code}: {text[-2000:]}"
        self.errors[re.sub(r"'.*'|\(.*\)|\d+", "…", text.splitlines()[-1])] += 1
        code = forked(lambda: dedup(home, "run", [*options, "--overwrite"]), self.log)
        second = self.log.read_text(errors="replace")
        if code == 0 and not self._others(home, state.kind):
            return "refused, then overwritten", ""
        if code in (1, 2) and one_line(second):
            return "refused", ""
        return "bad", f"{what}: {text.strip()}; then --overwrite: exit {code}: {second[-2000:]}"

    def _others(self, home: Path, kind: str) -> list[str]:
        """The files that are not as the undisturbed run left them: changed, missing, or left over."""
        found, whole = digest(home / "run"), self.whole[kind]
        # Where somebody's file stays in the work folder, our mark does, too.
        ours = {name for name in found.keys() | whole if Path(name).name != CANARY} - {f"work/{MARK}"}
        return sorted(name for name in ours if found.get(name) != whole.get(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial", type=int, metavar="NUMBER")
    chosen = parser.parse_args()
    load()
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-fuzz-"))
    counts: Counter[str] = Counter()
    try:
        fuzz = Fuzz(scratch, chosen.seed)
        fuzz.prepare()
        print(f"{len(fuzz.states)} states of {len(KINDS)} kinds of runs")
        end = time.monotonic() + 60 * chosen.minutes
        for number in itertools.count(1) if chosen.trial is None else [chosen.trial]:
            if time.monotonic() >= end:
                break
            how, wrong = fuzz.trial(number)
            counts[how] += 1
            if wrong:
                print(f"trial {number}: {wrong}", flush=True)
        print(f"{sum(counts.values())} trials: " + ", ".join(f"{count} {how}" for how, count in counts.most_common()))
        for error, count in fuzz.errors.most_common():
            print(f"{count:6} {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(bool(counts["bad"]))


def load() -> Any:
    """Import what a run needs, so that its processes begin with it."""
    from lookalike.cli import main
    from lookalike.represent import weights
    from lookalike.runs import run_folder

    return main, run_folder, weights


if __name__ == "__main__":
    main()
