"""Requests of all kinds, right and wrong, to servers of indexes of all forms: none may be answered by 5xx.

    python -m benchmarks.fuzz_server [--examples 200] [--seed 0]

The requests are made by schemathesis (`pip install schemathesis`) of what the server says of itself at /openapi.json:
such as it allows, and such as it does not.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import lookalike
from benchmarks.serve import start

# What an index is made with, and its first item; without one, the first request that adds decides what items are.
_FORMS: dict[str, tuple[dict[str, Any], Any]] = {
    "text": ({}, "a text of some words to begin with"),
    "sets": ({}, ["a", "b", "c"]),
    "vectors": ({"measure": "cosine"}, [0.5, 1.5, -1.0]),
    "bags": ({"measure": "weighted-jaccard"}, {"a": 1.0, "b": 2.5}),
    "bits": ({"measure": "hamming"}, [True, False, True, True] * 8),
    "distances": ({"measure": "euclidean", "max_distance": 1.0}, [0.5, 1.5]),
    "nothing": ({}, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--form", choices=_FORMS, action="append")
    chosen = parser.parse_args()
    if importlib.util.find_spec("schemathesis") is None:
        raise SystemExit("schemathesis is not installed: pip install schemathesis")
    failed = []
    for name in chosen.form or _FORMS:
        options, first = _FORMS[name]
        scratch = Path(tempfile.mkdtemp(prefix="lookalike-fuzz-"))
        try:
            with lookalike.Index.create(scratch / "seen.idx", **options) as index:
                if first is not None:
                    index.add("first", first)
            process, address = start(scratch / "seen.idx", 2)
            done = subprocess.run(
                [
                    sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run",
                    f"{address}/openapi.json", "--checks", "not_a_server_error", "--mode", "all",
                    "--max-examples", str(chosen.examples), "--seed", str(chosen.seed),
                    "--suppress-health-check", "all",
                ],
                capture_output=True, text=True, check=False, cwd=scratch,
            )  # fmt: skip
            process.send_signal(signal.SIGTERM)
            code = process.wait()
            assert process.stderr is not None
            said = process.stderr.read()
            bad = bool(done.returncode or code or said)
            summary = [line.strip() for line in done.stdout.splitlines() if "generated" in line or "Failures" in line]
            print(f"{name}: {'FAILED' if bad else 'no 5xx'}; {'; '.join(summary)}; exit code {code}")
            if bad:
                failed.append(name)
                print(done.stdout[-6_000:], done.stderr[-2_000:], said[-6_000:])
        finally:
            shutil.rmtree(scratch)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
