"""What a machine may be like: other locales, full devices, names that are no text, no home; and ids that act."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, without_compiling

LOOKALIKE = [sys.executable, "-m", "lookalike"]
TEXT = "one two three four five six seven"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
ODD = os.fsdecode(b"odd\xff\x1b[31m\n.txt")


def command(*arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*LOOKALIKE, *map(str, arguments)], capture_output=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Three text files, one of them with a name that is not UTF-8 and would colour a terminal."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("a.txt", "ü.txt", ODD):
        (folder / name).write_text(TEXT)
    return folder


def test_a_name_that_is_not_utf8_is_an_id_spelled_out(run: Run, texts: Path, tmp_path: Path) -> None:
    spelled = f"{texts}/odd\\xff"
    done = run("clusters", texts, "-o", tmp_path / "clusters.jsonl", "--json")
    assert done.code == 0
    ids = [json.loads(line)["id"] for line in (tmp_path / "clusters.jsonl").read_text().splitlines()]
    assert sorted(ids) == [f"{texts}/a.txt", f"{spelled}\x1b[31m\n.txt", f"{texts}/ü.txt"]
    assert f"{spelled}\x1b[31m\n.txt" in done.json["inputs"]


def test_files_with_such_names_are_read_copied_and_written(run: Run, texts: Path, tmp_path: Path) -> None:
    for name in ("b.txt", "c.txt"):
        (texts / name).write_text(f"{TEXT} {name} and more words that differ {name * 9}")
    done = run("dedup", texts, "-o", tmp_path / "run", "--keep", "prefer:path=" + f"{texts}/odd")
    assert done.code == 0, done.err
    json.loads((tmp_path / "run" / "report.json").read_text())
    assert "\x1b" not in (tmp_path / "run" / "report.html").read_text()
    source, target = tmp_path / os.fsdecode(b"in\xfe.jsonl"), tmp_path / os.fsdecode(b"out\xfe.jsonl")
    source.write_text(json.dumps({"text": TEXT}) + "\n" + json.dumps({"text": TEXT}) + "\n")
    assert run("dedup", source, "-o", target, "-q").code == 0
    assert target.read_text() == json.dumps({"text": TEXT}) + "\n"
    assert (
        run("dedup", source, "-o", target).error == f"{tmp_path}/out\\xfe.jsonl exists; use --overwrite to replace it"
    )
    assert run("dedup", source, "-o", tmp_path / os.fsdecode(b"run\xfe"), "-q").code == 0
    missing = tmp_path / os.fsdecode(b"no\xfe.jsonl")
    assert run("pairs", missing).error == f"{tmp_path}/no\\xfe.jsonl: no such file or folder"


ACTING = "\x1b]0;title\x07\x1b[2J\r\x9b31m\u202ehidden"


def test_nothing_in_ids_names_or_texts_acts_on_a_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    rows = [{"id": f"{ACTING} {number}", "text": f"{TEXT} {ACTING}"} for number in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, two = tmp_path / "one.txt", tmp_path / f"two{ACTING.replace('/', '')}.txt"
    one.write_text(f"{TEXT}\n{ACTING}\n")
    two.write_text(f"{TEXT}\nother {ACTING}\n")
    shown = [
        run("pairs", path, "--id", "id"),
        run("clusters", path, "--id", "id"),
        run("dedup", path, "--id", "id"),
        run("compare", one, two),
        run("pairs", path, "--id", ACTING),
        run("pairs", path, "--tokens", f"{ACTING}:x"),
        run("pairs", path, f"--{ACTING}"),
        run("pairs", two.with_suffix(".nothing")),
    ]
    for done in shown:
        acting = {each for each in done.out + done.err if not each.isprintable() and each != "\n"}
        assert not acting, done
    assert r"\x1b]0;title\x07" in shown[0].out.replace("\n", "")
    # Data for programs is exact.
    (pair,) = map(json.loads, run("pairs", path, "--id", "id", "-o", "-").out.splitlines())
    assert (pair["a"], pair["b"]) == (rows[0]["id"], rows[1]["id"])
    assert run("dedup", path, "--id", "id", "-o", "-").out == json.dumps(rows[0]) + "\n"
    report = run("dedup", path, "--id", "id", "-o", tmp_path / "run", "--json").json
    assert report["largest_clusters"][0]["kept"]["id"] == rows[0]["id"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert not set("\x1b\x07\x9b\r") & set(page)


SHOWN = [
    ["--help"], ["dedup", "--help"], ["pairs", "--help"], ["clusters", "--help"], ["neighbors", "--help"],
    ["compare", "--help"], ["plan", "--help"], ["demo", "--help"], ["--version"], ["plan"], ["plan", "--json"],
    ["pairs", "TEXTS"], ["pairs", "TEXTS", "--json"], ["clusters", "TEXTS"], ["dedup", "TEXTS"],
    ["pairs", "TEXTS", "-o", "-"], ["compare", "TEXTS/a.txt", "TEXTS/odd"], ["nonsense"],
]  # fmt: skip

# Runs one command after another, as the shell would, in one process: a start takes most of a second.
DRIVER = """
import json, os, sys
from lookalike.cli.main import run
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["lookalike", *arguments]
    codes.append(run())
    print("#", file=sys.stderr, flush=True)
os.write(int(os.environ["TELL"]), json.dumps(codes).encode())
os._exit(0)
"""


def driven(texts: Path, commands: list[list[str]], stdout: int, environment: dict[str, str]) -> tuple[list[int], bytes]:
    """The exit codes of some commands, and what they left on standard error."""
    (texts / "odd").write_text(TEXT)
    filled = [[each.replace("TEXTS", str(texts)) for each in arguments] for arguments in commands]
    reading, writing = os.pipe()
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(filled)], stdout=stdout, stderr=subprocess.PIPE, check=True,
        env=os.environ | environment | {"TELL": str(writing)}, pass_fds=[writing],
    )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        return json.loads(told.read()), done.stderr


def test_an_ascii_terminal_gets_everything_without_a_traceback(texts: Path, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        codes, err = driven(texts, SHOWN, out.fileno(), ASCII)
    assert codes == [2 if arguments == ["nonsense"] else 0 for arguments in SHOWN]
    assert b"Traceback" not in err
    assert err.isascii()
    shown = (tmp_path / "out").read_bytes()
    # Rows for another program are UTF-8 in any locale; this test's only names of files are ASCII or spelled out.
    assert shown.replace("ü".encode(), b"").isascii()


def test_data_on_standard_output_is_exact_in_an_ascii_locale(tmp_path: Path) -> None:
    path = tmp_path / "ü.csv"
    path.write_text("id,text\nä,one two three\nö,four five six\n", encoding="utf-8")
    done = command("dedup", path, "-o", "-", "-q", env=os.environ | ASCII)
    assert done.stdout == path.read_bytes()
    report = command("clusters", path, "--id", "id", "--json", "-q", env=os.environ | ASCII)
    assert json.loads(report.stdout)["inputs"] == [str(path)] or "\\xc3\\xbc" in json.loads(report.stdout)["inputs"][0]
    done = command("pairs", path, "-c", "größe", env=os.environ | ASCII)
    assert done.returncode == 1
    assert done.stderr.isascii()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_device_is_one_line_and_an_exit_code(texts: Path) -> None:
    commands = [[*arguments, *(["-q"] if "TEXTS" in arguments else [])] for arguments in SHOWN if len(arguments) != 1]
    with Path("/dev/full").open("wb") as full:
        codes, err = driven(texts, commands, full.fileno(), {})
    assert codes == [1] * len(commands)
    said = [without_compiling(each) for each in err.decode().split("#\n")[:-1]]
    assert all(each.count("\n") == 1 and "o space left" in each for each in said), said


@pytest.mark.parametrize("name", ["~nobody-at-all/out.jsonl", "~nobody-at-all/run"])
def test_a_home_that_is_not_known_is_one_line(run: Run, docs: Path, name: str) -> None:
    assert "~ has no home folder here" in run("dedup", docs, "-o", name).error
    assert run("pairs", "~nobody-at-all/x.jsonl").error == "~nobody-at-all/x.jsonl: no such file or folder"
