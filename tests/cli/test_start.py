"""Ctrl-C while the program is being loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Sends the signal to itself when a library is asked for, by whichever way the program comes to that.
INTERRUPTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {library!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["lookalike", "pairs", "nothing.jsonl"]
{how}
"""


@pytest.mark.parametrize("library", ["typer", "lookalike.cli.main", "pyarrow", "llvmlite", "numpy"])
def test_ctrl_c_while_libraries_are_loaded_is_one_line(library: str) -> None:
    code = INTERRUPTED.format(library=library, how="from lookalike.cli.start import main; main()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("lookalike: interrupted; ")


def test_an_ignored_signal_stays_ignored() -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + INTERRUPTED.format(
        library="typer", how="from lookalike.cli.start import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "lookalike: nothing.jsonl: no such file or folder\n")
