"""What only a process of its own shows: signals, pipes, terminals, full disks."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import without_compiling

LOOKALIKE = [sys.executable, "-m", "lookalike.cli.main"]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60,000 short documents: a second or two of work."""
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    rng = random.Random(0)
    words = [f"w{i}" for i in range(2000)]
    with path.open("w") as out:
        for number in range(60_000):
            out.write(json.dumps({"id": number, "text": " ".join(rng.choices(words, k=60))}) + "\n")
    return path


def test_an_error_is_one_line_on_standard_error_without_a_traceback(tmp_path: Path) -> None:
    done = subprocess.run([*LOOKALIKE, "pairs", tmp_path / "no.jsonl"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"lookalike: {tmp_path}/no.jsonl: no such file or folder\n"
    done = subprocess.run([*LOOKALIKE, "pairs", "x", "-t", "2"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lookalike: threshold is 2.0: it must be above 0 and up to 1\n"


# The command line, which tells when it makes the first shingles, and then waits to be told to go on.
ANNOUNCING = """
import os, sys
from lookalike.represent import shingle_kernels as shingle
tell, told = int(sys.argv.pop(1)), int(sys.argv.pop(1))
shingle_words = shingle.shingle_words
def announcing(*arguments):
    shingle.shingle_words = shingle_words
    os.write(tell, b"busy")
    os.read(told, 1)
    return shingle_words(*arguments)
shingle.shingle_words = announcing
from lookalike.cli.main import main
main()
"""


@contextlib.contextmanager
def in_the_middle(arguments: list[str | Path]) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of its job, which goes on when the block ends."""
    told, tell = os.pipe()
    wait, go = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", ANNOUNCING, str(tell), str(wait), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=(tell, wait),
        )
        os.close(tell)
        os.close(wait)
        # Kernels may have to be compiled first; a process that ends closes its end of the pipe.
        assert select.select([told], [], [], 600)[0], "the process never came to its job"
        assert os.read(told, 4) == b"busy", "the process ended before its job began"
        yield process
    finally:
        os.close(go)
        os.close(told)


@pytest.mark.parametrize(
    ("output", "number", "code", "word"),
    [
        ("clean.jsonl", signal.SIGINT, 130, "interrupted"),
        ("run", signal.SIGINT, 130, "interrupted"),
        ("run", signal.SIGTERM, 143, "terminated"),
    ],
)
def test_a_signal_leaves_one_line_and_nothing_else(
    many: Path, tmp_path: Path, output: str, number: int, code: int, word: str
) -> None:
    with in_the_middle(["dedup", many, "-o", tmp_path / output, "--bands", "200", "--rows", "5"]) as process:
        process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == code
    assert out == ""
    assert without_compiling(err) == f"lookalike: {word}; no incomplete output is kept\n"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(many: Path) -> None:
    command = " ".join(LOOKALIKE)
    for job in (f"dedup {many} -o -", f"plan --json && {command} dedup {many} --limit 9000 -o - -q"):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f"({command} {job}) | head -1"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert len(done.stdout.splitlines()) == 1
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert "nobody reads" not in done.stderr


def test_a_full_disk_is_one_line_and_leaves_nothing(many: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: both are refused writes in the middle of a file."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    for name in ("clean.jsonl", "clean.parquet", "run"):
        done = subprocess.run(
            [*LOOKALIKE, "dedup", many, "--limit", "9000", "-o", tmp_path / name, "-q"],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limited,
        )
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("lookalike: the file became larger than the system allows while writing")
        assert list(tmp_path.iterdir()) == []


def test_a_run_does_not_load_what_libraries_only_look_for(docs: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from lookalike.cli.main import run; code = run(); "
        "print(code, 'pandas' in sys.modules); "
        "import pandas, pyarrow; print(pyarrow.table({'a': [1]}).to_pandas()['a'].tolist())"
    )
    arguments = ["dedup", docs, "-o", tmp_path / "run", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    # It can still be used by whoever asks for it.
    assert done.stdout.splitlines() == ["0 False", "[1]"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_caller_closed_do_no_harm(docs: Path, tmp_path: Path, closed: str) -> None:
    out = tmp_path / "clean.jsonl"
    command = f"{sys.executable} -m lookalike.cli.main dedup {docs} -o {out} {closed}"
    assert subprocess.run(["sh", "-c", command], check=False, capture_output=True).returncode == 0
    assert out.read_text().count("\n") == 2
    assert not any("compiling" in line or "kept" in line for line in out.read_text().splitlines())


@pytest.mark.parametrize("arguments", ["--version", "--help", "dedup --help", "plan"])
def test_nobody_has_to_read_to_the_end(arguments: str) -> None:
    command = f"{sys.executable} -m lookalike.cli.main {arguments} | true"
    done = subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def on_a_terminal(arguments: list[str]) -> tuple[int, str, str]:
    """Run with standard error on a terminal of its own; exit code, standard output, what the terminal got."""
    ours, theirs = pty.openpty()
    # A bar waits for its stage to take a second; a test does not.
    code = "from lookalike.cli import main, terminal; terminal._PATIENCE = 0.0; main.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = b""
    while True:
        if select.select([ours], [], [], 60)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            shown += part
            if not part:
                break
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    os.close(ours)
    return process.wait(timeout=600), out, shown.decode()


def test_progress_is_shown_on_a_terminal_only_and_never_on_standard_output(many: Path) -> None:
    job = ["pairs", str(many), "--limit", "20000", "--json"]
    code, out, shown = on_a_terminal(job)
    assert code == 0
    assert json.loads(out)["items"] == 20_000
    assert "reading and sketching" in shown
    assert "MB/s" in shown

    code, out, shown = on_a_terminal([*job, "--quiet"])
    assert (code, shown) == (0, "")
    assert json.loads(out)["items"] == 20_000

    done = subprocess.run([*LOOKALIKE, *job], capture_output=True, text=True, check=True)
    assert "sketching" not in done.stderr


def test_two_columns_of_standard_input_are_joined_and_rows_come_back_as_they_were() -> None:
    rows = b'{"a": "x y", "b": "z"}\n{"a": "x", "b": "y z"}\n{"a": "p", "b": "q"}\n'
    done = subprocess.run(
        [*LOOKALIKE, "dedup", "-", "-c", "a", "-c", "b", "-o", "-", "-q"], input=rows, capture_output=True, check=True
    )
    assert done.stdout == b'{"a": "x y", "b": "z"}\n{"a": "p", "b": "q"}\n'
    assert without_compiling(done.stderr.decode()) == ""


HIDING = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("click", "pandas", "polars", "datasets", "networkx", "pytest", "hypothesis"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
"""


def test_the_command_line_needs_nothing_but_what_the_package_depends_on(tmp_path: Path) -> None:
    """What only the extras and the development tools bring is hidden from the process."""
    (tmp_path / "x.jsonl").write_text('{"text": "same words"}\n{"text": "Same words"}\n')
    code = HIDING + "from lookalike.cli.main import main; main()"
    for arguments in (["dedup", "x.jsonl", "-o", "-", "-q"], ["pairs", "x.jsonl", "--json"], ["plan"], ["nonsense"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == (2 if arguments == ["nonsense"] else 0), done.stderr


def test_a_terminal_without_unicode_gets_question_marks_and_no_traceback() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*LOOKALIKE, "plan"], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "16 bands of 6 rows" in done.stdout


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "lookalike", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("lookalike ")
