"""Kill a run at random moments and inside every stage, resume it, and compare every byte with the undisturbed run.

    python -m benchmarks.kill FILE.parquet [--moments 20] [-- OPTIONS OF DEDUP]

A moment is drawn evenly from the time that the undisturbed run took. A stage is killed when it has done about half of
what it does: the progress that a stage reports counts its steps. What is compared: all files of the run folder; of
`report.json` everything but times and memory; of the mark not whether the run made the folder, which nobody knows where
it was killed between making and marking it. Nothing of the work folder may be left.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lookalike.io.checksums import unseal
from lookalike.io.writing.owned import MARK

# Runs `lookalike` and kills itself at a step of a stage: argv = stage, step, arguments of lookalike. The stage "" is
# never entered; its steps are counted and printed instead.
_CHILD = """
import os, signal, sys, contextlib
from lookalike.wording.progress import Progress, Stage
from lookalike.cli import dedup, job, terminal
wanted, step = sys.argv[1], int(sys.argv[2])
steps = {}
class Counting(Stage):
    def __init__(self, name): self.name = name
    def advance(self, amount=1):
        steps[self.name] = steps.get(self.name, 0) + 1
        if self.name == wanted and steps[self.name] >= step:
            os.kill(os.getpid(), signal.SIGKILL)
class Bars(Progress):
    @contextlib.contextmanager
    def stage(self, name, total=None, unit="items"):
        steps.setdefault(name, 0)
        if name == wanted and step == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        yield Counting(name)
terminal.progress_for = job.progress_for = lambda quiet: Bars()
sys.argv = ["lookalike", *sys.argv[3:]]
from lookalike.cli.main import run
code = run()
if not wanted:
    import json
    print(json.dumps(steps))
sys.exit(code)
"""

# What a report says about one run of the program and not about its result.
_OF_THE_RUN = ("actual", "finished", "command", "stages", "spilled", "seconds")


def digest(folder: Path) -> dict[str, str]:
    """What stands in each file of a run folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name == "report.html":
            continue
        data = path.read_bytes()
        if path.name in ("report.json", MARK):
            told: dict[str, Any] = unseal(data.decode()) if path.name == MARK else json.loads(data)
            left_out = ("made",) if path.name == MARK else _OF_THE_RUN
            data = json.dumps({name: value for name, value in told.items() if name not in left_out}).encode()
        found[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    chosen, of_dedup = parser.parse_args(arguments[:end]), arguments[end + 1 :]
    rng = random.Random(chosen.seed)
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-kill-"))
    base = ["dedup", str(chosen.file), "--quiet", *of_dedup]

    def child(stage: str, step: int, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD, stage, str(step), *base, *more], stdout=subprocess.PIPE, text=True
        )

    try:
        begun = time.perf_counter()
        process = child("", 0, "-o", str(scratch / "whole"))
        steps = json.loads(process.communicate()[0].splitlines()[-1])
        seconds = time.perf_counter() - begun
        whole = digest(scratch / "whole")
        print(f"undisturbed: {seconds:.1f} s, {len(whole)} files; stages {steps}")
        trials: list[tuple[str, str, int, float | None]] = [
            (f"in {name!r}", name, max(0, count // 2), None) for name, count in steps.items()
        ]
        trials += [(f"at {at:.2f} s", "", 0, at) for at in (rng.uniform(0, seconds) for _ in range(chosen.moments))]
        bad = 0
        for what, stage, step, moment in trials:
            run = scratch / "run"
            shutil.rmtree(run, ignore_errors=True)
            process = child(stage or "nothing", step, "-o", str(run))
            if moment is not None:
                time.sleep(moment)
                process.send_signal(signal.SIGKILL)
            process.communicate()
            killed = process.returncode == -signal.SIGKILL
            if killed:
                resumed = child("nothing", 0, "-o", str(run), "--resume")
                resumed.communicate()
                if resumed.returncode:
                    bad += 1
                    print(f"killed {what}: resuming failed with {resumed.returncode}")
                    continue
            found = digest(run)
            differ = sorted(name for name in found.keys() | whole.keys() if found.get(name) != whole.get(name))
            bad += bool(differ)
            told = f"DIFFERENT: {', '.join(differ)}" if differ else "identical"
            print(f"killed {what}: " + ("" if killed else "had finished; ") + told)
        print(f"{len(trials)} trials, {bad} bad")
        sys.exit(bool(bad))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
